/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: how much an access weighs. Pure code, inlined into map(): each bio is weighed.
 *
 * A fast member gains the seek that it saves. So what counts is whether the slow member would have
 * to seek. It does not if an access continues where another has just ended, and beside a large
 * transfer a seek is small.
 *
 * A stream is known by the sector at which it would continue. It keeps its place in a small table
 * while it is within one MiB, so that two streams seldom meet. A bio that finds its place taken
 * does not get it. It only shortens the run noted there by its own length. So random accesses, most
 * of which come once, do not wipe out a stream, and a stream that has ended makes room.
 */
#ifndef DM_FUSION_STREAM_H
#define DM_FUSION_STREAM_H

#include <linux/compiler.h>
#include <linux/hash.h>
#include <linux/minmax.h>
#include <linux/types.h>

/* Weight of a small access. The least weight that counts is a quarter of it. */
#define FUSION_HEAT_TOUCH	4U

/* From here on a run is a stream. */
#define FUSION_STREAM_RUN	2048U
#define FUSION_STREAM_PLACE_SHIFT	11U

/* Bios of at least this size are streams, at which the slow member is good: they weigh nothing. */
#define FUSION_STREAM_SECTORS	512U

/* Places for streams. With four times as many places as streams, few collide. */
#define FUSION_STREAM_BITS	8U

/**
 * struct fusion_streams - where each stream would continue
 * @at: the streams, by a hash of that place
 *
 * Each CPU has its own, so that none shares a cache line. All zeros to begin with. A stream whose
 * bios move to another CPU starts over there.
 */
struct fusion_streams {
	struct fusion_stream {
		u32 next;	/* sector, modulo 2^32 */
		u32 run;	/* sectors so far, at most some MiB; 0: none */
	} at[1U << FUSION_STREAM_BITS];
};

/* How much an access matters. */
enum fusion_urgency {
	FUSION_BACKGROUND,	/* idle I/O class: counts for nothing */
	FUSION_NORMAL,
	FUSION_URGENT,		/* file-system metadata: counts twice */
};

/* The place of the stream whose last sector this is. */
static inline struct fusion_stream *fusion_stream_place(struct fusion_streams *streams, u32 sector)
{
	return &streams->at[hash_32(sector >> FUSION_STREAM_PLACE_SHIFT, FUSION_STREAM_BITS)];
}

/* Note a bio. Return: sectors that came one after another, with it. */
static inline u32 fusion_stream_run_length(struct fusion_streams *streams, u32 sector, u32 sectors)
{
	struct fusion_stream *from = fusion_stream_place(streams, sector - 1);
	struct fusion_stream *to = fusion_stream_place(streams, sector + sectors - 1);
	u32 run = READ_ONCE(from->run);

	if (READ_ONCE(from->next) == sector && run) {
		run = min(run, 2 * FUSION_STREAM_RUN) + sectors;
		if (from != to)
			WRITE_ONCE(from->run, 0);
	} else {
		run = READ_ONCE(to->run);
		if (run > sectors) {
			WRITE_ONCE(to->run, run - sectors);
			return sectors;
		}
		run = sectors;
	}
	WRITE_ONCE(to->next, sector + sectors);
	WRITE_ONCE(to->run, run);
	return run;
}

/* The weight of an access that is no part of a stream: see fusion_weigh(). */
static inline unsigned int fusion_weight(u32 sectors, enum fusion_urgency urgency)
{
	unsigned int weight = FUSION_HEAT_TOUCH;

	if (unlikely(sectors >= 64))
		weight = sectors >= FUSION_STREAM_SECTORS ? 0 : weight / (sectors >= 256 ? 4 : 2);
	if (urgency == FUSION_BACKGROUND)
		return 0;
	return urgency == FUSION_URGENT ? 2 * weight : weight;
}

/**
 * fusion_weigh() - the weight of an access
 * @streams: those of this CPU; moving to another CPU meanwhile does no harm
 * @sector: first sector on the device
 * @sectors: number of sectors, more than 0
 * @urgency: how much the access matters
 *
 * A small access counts 4, a larger one less. An access of 256 KiB or more counts nothing, nor does
 * one that continues a sequence of 1 MiB.
 *
 * Context: any; lockless, lossy. Return: heat, 0..8, for fusion_policy_touch().
 */
static inline unsigned int fusion_weigh(struct fusion_streams *streams, u64 sector, u32 sectors,
					enum fusion_urgency urgency)
{
	if (fusion_stream_run_length(streams, sector, sectors) >= FUSION_STREAM_RUN)
		return 0;
	return fusion_weight(sectors, urgency);
}

#endif
