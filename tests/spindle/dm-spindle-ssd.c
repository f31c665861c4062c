// SPDX-License-Identifier: GPL-2.0-only
/*
 * spindle: the model of an SSD.
 *
 * Two kinds of resource, each served in order of arrival. The controller and
 * its link are one: every command costs it the overhead and the transfer. The
 * flash channels are several, each owning every n-th stripe: a command occupies
 * each channel it touches for one access per stripe. The two work in parallel
 * and a command is complete when both have done their part. As nothing is ever
 * reordered, the end is known at the beginning.
 *
 * A flush that has something to make durable takes flush_us, and so does each
 * FUA write, after the write itself and one at a time.
 */
#include "dm-spindle.h"

static u64 reserve(u64 *free, u64 t, u64 ns)
{
	if (*free < t)
		*free = t;
	*free += ns;
	return *free;
}

/**
 * spindle_ssd_start() - serve an admitted read or write
 * @d: drive
 * @io: the command
 * @t: the time
 */
void spindle_ssd_start(struct spindle_drive *d, struct spindle_io *io, u64 t)
{
	const struct spindle_params *p = &d->p;
	bool write = io->op == SPINDLE_WRITE;
	u64 access = (write ? p->write_us : p->read_us) * (u64)NSEC_PER_USEC;
	u64 flush = p->flush_us * (u64)NSEC_PER_USEC;
	u64 stripe = div_u64(io->start, p->stripe_kib * 2);
	u64 last = div_u64(io->end - 1, p->stripe_kib * 2);
	u64 work, ends, done;
	u32 channel;

	work = p->overhead_us * (u64)NSEC_PER_USEC +
	       spindle_transfer_ns(io->end - io->start, write ? p->write_rate : p->read_rate);
	done = reserve(&d->ssd.controller_free, t, work);
	for (; stripe <= last; stripe++) {
		div_u64_rem(stripe, p->channels, &channel);
		ends = reserve(&d->ssd.channel_free[channel], t, access);
		work += access;
		if (ends > done)
			done = ends;
	}

	if (write && io->fua) {
		done = reserve(&d->ssd.flush_free, done, flush);
		work += flush;
	} else if (write) {
		d->ssd.dirty = true;
	}
	spindle_worked(d, io->start, work);
	spindle_complete_at(d, io, done);
}

/**
 * spindle_ssd_flush_ns() - how long making everything durable takes
 * @d: drive; has no unflushed writes afterwards
 *
 * Return: nanoseconds.
 */
u64 spindle_ssd_flush_ns(struct spindle_drive *d)
{
	u64 ns = d->ssd.dirty ? d->p.flush_us * (u64)NSEC_PER_USEC : 0;

	d->ssd.dirty = false;
	return ns;
}
