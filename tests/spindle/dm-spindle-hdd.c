// SPDX-License-Identifier: GPL-2.0-only
/*
 * spindle: the model of a disk.
 *
 * Layout: @heads tracks make a cylinder; every track holds what passes the head
 * at the media rate in one revolution. The first sector of each track is skewed
 * against that of the one before by the time it takes to get there, so that a
 * transfer that runs on over tracks never waits. With that, one number says all
 * about a sector: its layout time, when it would pass the head in a transfer
 * from sector 0 at time 0. It passes the head whenever the time is the layout
 * time modulo the rotation, and the difference of two sectors' layout times is
 * the time of the transfer between them.
 *
 * Seek: the square of the time grows linearly with the distance, from
 * seek_track_us for one cylinder to seek_full_us for all. Writing needs
 * write_settle_us more after a seek over more than one cylinder.
 *
 * The arm chooses among all waiting commands and all dirty extents of the write cache: it serves
 * the one whose first sector the head reaches first. But once the oldest is older than age_ms, it
 * serves the oldest every second time. If it did so every time, a queue too long for the bound
 * would always be served in order of arrival.
 *
 * Write cache: slots, each with one contiguous dirty extent, which adjacent writes extend. A write
 * is acknowledged when it is in the cache; one with FUA, or larger than the cache, when it is on
 * the platter. Writes wait for room in order of arrival.
 *
 * Read-ahead: after a read the head, unless it has other work, reads on into the track buffer,
 * until that is readahead KiB beyond the end of the request; twice as much before that is kept. A
 * read of buffered data, or of data in the write cache, costs only the interface, as does a cached
 * write.
 */
#include "dm-spindle.h"

static u64 us(u32 n)
{
	return n * (u64)NSEC_PER_USEC;
}

static u64 layout_ns(const struct spindle_drive *d, u64 lba)
{
	const struct spindle_hdd *h = &d->hdd;
	u64 track = div64_u64(lba, h->track_sectors);
	u64 cylinder = div_u64(track, d->p.heads);

	return cylinder * h->cylinder_ns +
	       (track - cylinder * d->p.heads) * h->track_ns +
	       div64_u64((lba - track * h->track_sectors) * h->rotation,
			 h->track_sectors);
}

/* The sector whose layout time it is; the next one in the skew between tracks. */
static u64 layout_lba(const struct spindle_drive *d, u64 ns)
{
	const struct spindle_hdd *h = &d->hdd;
	u64 cylinder = div64_u64(ns, h->cylinder_ns);
	u64 track, sector;

	ns -= cylinder * h->cylinder_ns;
	track = min_t(u64, div64_u64(ns, h->track_ns), d->p.heads - 1);
	ns -= track * h->track_ns;
	sector = min(div64_u64(ns * h->track_sectors, h->rotation),
		     h->track_sectors);
	return (cylinder * d->p.heads + track) * h->track_sectors + sector;
}

/* Transfer of the sectors [@from, @to), @to > @from. */
static u64 span_ns(const struct spindle_drive *d, u64 from, u64 to)
{
	return layout_ns(d, to - 1) + d->hdd.sector_ns - layout_ns(d, from);
}

static u64 cylinder_of(const struct spindle_drive *d, u64 track)
{
	return div_u64(track, d->p.heads);
}

static u64 seek_ns(const struct spindle_drive *d, u64 from, u64 to, bool write)
{
	u64 a = cylinder_of(d, from), b = cylinder_of(d, to);
	u64 distance = a < b ? b - a : a - b;
	u64 least = us(d->p.seek_track_us), most = us(d->p.seek_full_us);
	u64 square;

	if (!distance)
		return from == to ? 0 : us(d->p.head_switch_us);
	if (distance == 1)
		return least;
	square = least * least +
		 mul_u64_u64_div_u64(most * most - least * least, distance - 1,
				     d->hdd.cylinders - 2);
	return int_sqrt64(square) + (write ? us(d->p.write_settle_us) : 0);
}

/* From @t on, when does the head that sets out for @lba at @t get to it? */
static u64 reach(const struct spindle_drive *d, u64 lba, bool write, u64 t, u64 *seek)
{
	const struct spindle_hdd *h = &d->hdd;
	u64 there, angle, wanted;

	*seek = seek_ns(d, h->track, div64_u64(lba, h->track_sectors), write);
	there = t + *seek;
	div64_u64_rem(there, h->rotation, &angle);
	div64_u64_rem(layout_ns(d, lba), h->rotation, &wanted);
	if (wanted < angle)
		wanted += h->rotation;
	return there + wanted - angle;
}

/* The track buffer's end at @t, which moves while the head reads ahead. */
static u64 buffer_end(const struct spindle_drive *d, u64 t)
{
	const struct spindle_hdd *h = &d->hdd;

	if (!h->ahead || t <= h->ahead_from)
		return h->buf_end;
	return min(layout_lba(d, layout_ns(d, h->buf_end) + t - h->ahead_from),
		   h->ahead_limit);
}

/* The idle head, there at @from, reads on from the end of the track buffer. */
static void read_ahead(struct spindle_drive *d, u64 from)
{
	struct spindle_hdd *h = &d->hdd;

	h->ahead_from = from;
	h->ahead_limit = min(h->buf_end + d->p.readahead * 2, h->capacity);
	h->ahead = h->ahead_limit > h->buf_end;
}

static void stop_read_ahead(struct spindle_drive *d, u64 t)
{
	struct spindle_hdd *h = &d->hdd;

	if (!h->ahead)
		return;
	h->buf_end = buffer_end(d, t);
	h->track = div64_u64(h->buf_end - 1, h->track_sectors);
	h->ahead = false;
}

/* A sequential reader got to @end: keep ahead of it. */
static void extend_read_ahead(struct spindle_drive *d, u64 end, u64 t)
{
	struct spindle_hdd *h = &d->hdd;
	u64 limit = min(end + d->p.readahead * 2, h->capacity);
	u64 seek;

	if (h->busy || (h->ahead && limit <= h->ahead_limit))
		return;
	if (h->ahead && buffer_end(d, t) < h->ahead_limit) {
		h->ahead_limit = limit;
		return;
	}
	stop_read_ahead(d, t);
	if (h->buf_end < limit)
		read_ahead(d, reach(d, h->buf_end, false, t, &seek));
}

static bool in_write_cache(const struct spindle_drive *d, const struct spindle_io *io)
{
	const struct spindle_slot *s;

	for (s = d->hdd.slots; s < d->hdd.slots + d->p.cache_slots; s++)
		if (io->start >= s->start && io->end <= s->end)
			return true;
	return false;
}

/* Data goes over the interface without the arm. */
static void transfer(struct spindle_drive *d, struct spindle_io *io, u64 t)
{
	struct spindle_hdd *h = &d->hdd;

	h->link_free = max(h->link_free, t) +
		       spindle_transfer_ns(io->end - io->start, d->p.interface);
	spindle_complete_at(d, io, h->link_free + us(d->p.overhead_us));
}

static bool serve_hit(struct spindle_drive *d, struct spindle_io *io, u64 t)
{
	struct spindle_hdd *h = &d->hdd;
	bool buffered;

	if (io->op != SPINDLE_READ)
		return false;
	buffered = io->start >= h->buf_start && io->end <= buffer_end(d, t);
	if (!buffered && !in_write_cache(d, io))
		return false;
	list_del_init(&io->list);
	d->stats.read_hits++;
	transfer(d, io, t);
	if (buffered)
		extend_read_ahead(d, io->end, t);
	return true;
}

/*
 * The dirty extent that @io goes to: one that it rewrites or extends, or else a free slot. The
 * extent that the arm is writing still grows, but parts that the head may have passed do not change
 * any more.
 */
static struct spindle_slot *find_slot(struct spindle_drive *d,
				      const struct spindle_io *io, u64 t)
{
	struct spindle_hdd *h = &d->hdd;
	struct spindle_slot *s, *free = NULL;
	u64 changeable;

	for (s = h->slots; s < h->slots + d->p.cache_slots; s++) {
		if (s->start == s->end) {
			free = free ?: s;
			continue;
		}
		changeable = h->busy && s == h->slot && t >= h->begin ?
			     s->end : s->start;
		if (io->start >= changeable && io->start <= s->end)
			return s;
	}
	return free;
}

/* Writes go to the cache, in order, while it has room. */
static void fill_cache(struct spindle_drive *d, u64 t)
{
	struct spindle_hdd *h = &d->hdd;
	struct spindle_slot *s;
	struct spindle_io *io;
	u64 more;

	while (!list_empty(&h->waiting)) {
		io = list_entry(h->waiting.next, struct spindle_io, list);
		s = find_slot(d, io, t);
		if (!s)
			return;
		if (s->start == s->end)
			more = io->end - io->start;
		else
			more = io->end > s->end ? io->end - s->end : 0;
		if (h->dirty + more > d->p.cache_kib * 2)
			return;

		if (s->start == s->end)
			*s = (struct spindle_slot) { io->start, io->start, t };
		s->end += more;
		h->dirty += more;
		if (h->busy && s == h->slot)
			h->end = h->begin + span_ns(d, s->start, s->end);
		list_del_init(&io->list);
		d->stats.cached++;
		transfer(d, io, t);
	}
}

/**
 * spindle_hdd_start() - take in an admitted read or write
 * @d: drive
 * @io: the command
 * @t: the time; spindle_hdd_kick() follows
 */
void spindle_hdd_start(struct spindle_drive *d, struct spindle_io *io, u64 t)
{
	struct spindle_hdd *h = &d->hdd;

	if (serve_hit(d, io, t))
		return;
	if (io->op == SPINDLE_WRITE && !io->fua &&
	    io->end - io->start <= d->p.cache_kib * 2) {
		list_add_tail(&io->list, &h->waiting);
		fill_cache(d, t);
	} else {
		list_add_tail(&io->list, &h->queue);
	}
}

/* A job for the arm, and how it gets there. */
struct job {
	struct spindle_io *io;
	struct spindle_slot *slot;
	u64 first;
	u64 since;
	u64 begin;
	u64 seek;
};

static bool overdue(const struct spindle_drive *d, const struct job *job, u64 t)
{
	return t - job->since >= d->p.age_ms * (u64)NSEC_PER_MSEC;
}

static struct job choose(struct spindle_drive *d, u64 t)
{
	struct spindle_hdd *h = &d->hdd;
	struct job job, best = { .begin = U64_MAX }, oldest = { .since = U64_MAX };
	bool reading = h->ahead && buffer_end(d, t) < h->ahead_limit;
	u64 base = h->ahead_from - layout_ns(d, h->buf_end);
	struct spindle_slot *s;
	struct list_head *pos;

	stop_read_ahead(d, t);

	for (pos = h->queue.next; pos != &h->queue; pos = pos->next) {
		job = (struct job) { .io = list_entry(pos, struct spindle_io, list) };
		job.first = job.io->start;
		job.since = job.io->since;
		if (job.io->op == SPINDLE_READ && job.first >= h->buf_start &&
		    job.first <= h->buf_end && job.io->end > h->buf_end)
			job.first = h->buf_end;
		if (reading && job.first == h->buf_end && job.io->op == SPINDLE_READ)
			job.begin = base + layout_ns(d, job.first);
		else
			job.begin = reach(d, job.first, job.io->op == SPINDLE_WRITE,
					  t, &job.seek);
		if (job.begin < best.begin)
			best = job;
		if (job.since < oldest.since)
			oldest = job;
	}
	for (s = h->slots; s < h->slots + d->p.cache_slots; s++) {
		if (s->start == s->end)
			continue;
		job = (struct job) { .slot = s, .first = s->start, .since = s->since };
		job.begin = reach(d, job.first, true, t, &job.seek);
		if (job.begin < best.begin)
			best = job;
		if (job.since < oldest.since)
			oldest = job;
	}

	h->aged = !h->aged && overdue(d, &oldest, t);
	return h->aged ? oldest : best;
}

/**
 * spindle_hdd_kick() - send the arm to its next job, if it is free
 * @d: drive
 * @t: the time
 */
void spindle_hdd_kick(struct spindle_drive *d, u64 t)
{
	struct spindle_hdd *h = &d->hdd;
	struct list_head *pos, *next;
	struct job job;
	u64 track, last;

	if (h->busy)
		return;
	for (pos = h->queue.next; pos != &h->queue; pos = next) {
		next = pos->next;
		serve_hit(d, list_entry(pos, struct spindle_io, list), t);
	}
	if (list_empty(&h->queue) && !h->dirty)
		return;

	job = choose(d, t);
	last = job.io ? job.io->end : job.slot->end;
	h->busy = true;
	h->io = job.io;
	h->slot = job.slot;
	h->sent = t;
	h->begin = job.begin;
	h->end = job.begin + span_ns(d, job.first, last);

	if (job.io)
		list_del_init(&job.io->list);
	if (job.io && job.io->op == SPINDLE_READ && job.first != h->buf_end) {
		h->buf_start = job.first;
		h->buf_end = job.first;
	}

	track = div64_u64(job.first, h->track_sectors);
	d->stats.seeks += cylinder_of(d, track) != cylinder_of(d, h->track);
	d->stats.seek_ns += job.seek;
	d->stats.aged += h->aged;
	if (job.begin > t + job.seek)
		d->stats.rotate_ns += job.begin - t - job.seek;
}

/**
 * spindle_hdd_finish() - the arm has done its job; the time is @d->hdd.end
 * @d: drive; spindle_hdd_kick() follows
 */
void spindle_hdd_finish(struct spindle_drive *d)
{
	struct spindle_hdd *h = &d->hdd;
	u64 t = h->end, keep = d->p.readahead * 4;
	u64 last = h->io ? h->io->end : h->slot->end;

	h->busy = false;
	h->track = div64_u64(last - 1, h->track_sectors);
	d->stats.transfer_ns += t - h->begin;
	spindle_worked(d, h->io ? h->io->start : h->slot->start, t - h->sent);

	if (h->slot) {
		d->stats.destages++;
		h->dirty -= last - h->slot->start;
		h->slot->start = last;
		h->slot = NULL;
		fill_cache(d, t);
		return;
	}

	if (h->io->op == SPINDLE_READ) {
		h->buf_end = last;
		if (last > keep && h->buf_start < last - keep)
			h->buf_start = last - keep;
		read_ahead(d, t);
	}
	spindle_complete_at(d, h->io, t + us(d->p.overhead_us));
	h->io = NULL;
}

/**
 * spindle_hdd_init() - work out the geometry
 * @d: drive, zeroed but for its parameters
 * @capacity: in sectors
 */
void spindle_hdd_init(struct spindle_drive *d, u64 capacity)
{
	const struct spindle_params *p = &d->p;
	struct spindle_hdd *h = &d->hdd;
	u64 sectors;

	INIT_LIST_HEAD(&h->queue);
	INIT_LIST_HEAD(&h->waiting);

	h->rotation = div_u64(60 * (u64)NSEC_PER_SEC, p->rpm);
	sectors = div_u64(h->rotation * p->rate, 512 * 1000);
	h->track_sectors = sectors < 8 ? 8 : sectors & ~7ULL;
	h->sector_ns = div64_u64(h->rotation, h->track_sectors);
	h->track_ns = h->rotation + us(p->head_switch_us);
	h->cylinder_ns = p->heads * h->track_ns +
			 us(p->seek_track_us) - us(p->head_switch_us);
	h->capacity = capacity;
	h->cylinders = div64_u64(capacity - 1, h->track_sectors * p->heads) + 1;
}
