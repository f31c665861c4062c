// SPDX-License-Identifier: GPL-2.0-only
/*
 * spindle: common parts of every drive: a bounded queue, completions in order of time, flushes,
 * statistics.
 */
#include "dm-spindle.h"

/**
 * spindle_transfer_ns() - how long a transfer takes
 * @sectors: its length
 * @mb_per_s: rate, in 10^6 bytes per second
 *
 * Return: nanoseconds.
 */
u64 spindle_transfer_ns(u64 sectors, u32 mb_per_s)
{
	return div_u64(sectors * 512 * 1000, mb_per_s);
}

/**
 * spindle_complete_at() - an admitted command will complete at a known time
 * @d: drive
 * @io: the command, on no list
 * @when: the time
 */
void spindle_complete_at(struct spindle_drive *d, struct spindle_io *io, u64 when)
{
	struct list_head *pos;

	io->done_at = when;
	for (pos = d->timed.prev; pos != &d->timed; pos = pos->prev)
		if (list_entry(pos, struct spindle_io, list)->done_at <= when)
			break;
	list_add(&io->list, pos);
}

static struct spindle_io *first_io(const struct list_head *list)
{
	return list_empty(list) ? NULL :
	       list_entry(list->next, struct spindle_io, list);
}

/* A flush waits for all commands before it, and all after it for the flush. */
static void admit(struct spindle_drive *d, u64 t)
{
	struct spindle_io *io;

	while (!d->flush && d->admitted < d->p.depth) {
		io = first_io(&d->host);
		if (!io || (io->op == SPINDLE_FLUSH && d->admitted))
			break;
		list_del_init(&io->list);
		d->admitted++;
		io->since = t;

		if (io->op == SPINDLE_FLUSH)
			d->flush = io;
		else if (io->op == SPINDLE_DISCARD)
			spindle_complete_at(d, io, t + d->p.overhead_us * (u64)NSEC_PER_USEC);
		else if (spindle_is_ssd(d))
			spindle_ssd_start(d, io, t);
		else
			spindle_hdd_start(d, io, t);
	}
}

/* Everything that can begin at @t begins. */
static void step(struct spindle_drive *d, u64 t)
{
	bool working;

	admit(d, t);
	if (!spindle_is_ssd(d))
		spindle_hdd_kick(d, t);

	if (d->flush && list_empty(&d->flush->list) && !spindle_dirty(d)) {
		u64 cost = d->p.overhead_us * (u64)NSEC_PER_USEC;

		if (spindle_is_ssd(d))
			cost += spindle_ssd_flush_ns(d);
		spindle_complete_at(d, d->flush, t + cost);
	}

	working = d->outstanding || spindle_dirty(d);
	if (working && !d->working)
		d->busy_since = t;
	else if (!working && d->working)
		d->stats.busy_ns += t - d->busy_since;
	d->working = working;
}

static void complete(struct spindle_drive *d, struct spindle_io *io)
{
	if (io == d->flush)
		d->flush = NULL;
	d->admitted--;
	d->outstanding--;
	list_move_tail(&io->list, &d->done);
}

/**
 * spindle_next() - time of the next event
 * @d: drive
 *
 * Return: U64_MAX if there is none before the next command comes.
 */
u64 spindle_next(const struct spindle_drive *d)
{
	struct spindle_io *io = first_io(&d->timed);
	u64 next = io ? io->done_at : U64_MAX;

	if (!spindle_is_ssd(d) && d->hdd.busy && d->hdd.end < next)
		next = d->hdd.end;
	return next;
}

/**
 * spindle_advance() - let happen what is over by now
 * @d: drive; completed commands are appended to @d->done
 * @now: the time
 */
void spindle_advance(struct spindle_drive *d, u64 now)
{
	struct spindle_io *io;
	u64 t;

	for (t = spindle_next(d); t <= now && t != U64_MAX; t = spindle_next(d)) {
		if (!spindle_is_ssd(d) && d->hdd.busy && d->hdd.end == t)
			spindle_hdd_finish(d);
		for (io = first_io(&d->timed); io && io->done_at == t;
		     io = first_io(&d->timed))
			complete(d, io);
		step(d, t);
	}
}

static void count(struct spindle_drive *d, const struct spindle_io *io)
{
	struct spindle_stats *s = &d->stats;
	u64 len = io->end - io->start;

	switch (io->op) {
	case SPINDLE_READ:
		s->reads++;
		s->read_sectors += len;
		break;
	case SPINDLE_WRITE:
		s->writes++;
		s->write_sectors += len;
		s->fuas += io->fua;
		break;
	case SPINDLE_FLUSH:
		s->flushes++;
		break;
	case SPINDLE_DISCARD:
		s->discards++;
		s->discard_sectors += len;
		break;
	}
	d->outstanding++;
	if (d->outstanding > s->queue_max)
		s->queue_max = d->outstanding;
}

/**
 * spindle_submit() - a command reaches the drive
 * @d: drive
 * @io: the command; the drive's until it is on @d->done
 * @now: the time
 */
void spindle_submit(struct spindle_drive *d, struct spindle_io *io, u64 now)
{
	spindle_advance(d, now);
	count(d, io);
	list_add_tail(&io->list, &d->host);
	step(d, now);
}

/**
 * spindle_dirty() - how much is in the volatile write cache of a disk
 * @d: drive
 *
 * Return: sectors, 0 with an SSD.
 */
u64 spindle_dirty(const struct spindle_drive *d)
{
	return spindle_is_ssd(d) ? 0 : d->hdd.dirty;
}

/**
 * spindle_idle() - ask whether nothing is outstanding and nothing is left to destage
 * @d: drive
 *
 * Return: whether that is so.
 */
bool spindle_idle(const struct spindle_drive *d)
{
	return !d->working;
}

/**
 * spindle_stats_read() - the statistics up to now
 * @d: drive
 * @s: where to put them
 * @now: the time
 */
void spindle_stats_read(const struct spindle_drive *d, struct spindle_stats *s,
			u64 now)
{
	*s = d->stats;
	if (d->working)
		s->busy_ns += now - d->busy_since;
}

/**
 * spindle_stats_reset() - count from zero; the drive's state stays
 * @d: drive
 * @now: the time
 */
void spindle_stats_reset(struct spindle_drive *d, u64 now)
{
	d->stats = (struct spindle_stats) { .queue_max = d->outstanding };
	d->busy_since = now;
}

/**
 * spindle_watch() - count apart what is done to some sectors, all from zero
 * @d: drive
 * @start: the first one
 * @end: the one after the last
 * @now: the time
 */
void spindle_watch(struct spindle_drive *d, u64 start, u64 end, u64 now)
{
	d->watch_start = start;
	d->watch_end = end;
	spindle_stats_reset(d, now);
}

/**
 * spindle_worked() - an arm, or channels, were occupied
 * @d: drive
 * @start: first sector of what it was for
 * @ns: how long
 */
void spindle_worked(struct spindle_drive *d, u64 start, u64 ns)
{
	d->stats.work_ns += ns;
	if (start < d->watch_start || start >= d->watch_end)
		return;
	d->stats.watched++;
	d->stats.watched_ns += ns;
}

/**
 * spindle_init() - a drive, idle, with empty caches, its arm on the first track
 * @d: drive
 * @p: its parameters, checked
 * @capacity: its size in sectors, not 0
 */
void spindle_init(struct spindle_drive *d, const struct spindle_params *p,
		  u64 capacity)
{
	*d = (struct spindle_drive) { .p = *p };
	INIT_LIST_HEAD(&d->host);
	INIT_LIST_HEAD(&d->timed);
	INIT_LIST_HEAD(&d->done);
	if (!spindle_is_ssd(d))
		spindle_hdd_init(d, capacity);
}
