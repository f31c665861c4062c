// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: how much an access weighs.
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
#include <linux/compiler.h>
#include <linux/hash.h>
#include <linux/minmax.h>

#include "dm-fusion-heat.h"

/* From here on a run is a stream. */
#define STREAM_RUN	2048U
#define PLACE_SHIFT	11U

/* The place of the stream whose last sector this is. */
static struct fusion_stream *fusion_stream_place(struct fusion_streams *streams, u32 sector)
{
	return &streams->at[hash_32(sector >> PLACE_SHIFT, FUSION_STREAM_BITS)];
}

/* Note a bio. Return: sectors that came one after another, with it. */
static u32 fusion_stream_run_length(struct fusion_streams *streams, u32 sector, u32 sectors)
{
	struct fusion_stream *from = fusion_stream_place(streams, sector - 1);
	struct fusion_stream *to = fusion_stream_place(streams, sector + sectors - 1);
	u32 run = READ_ONCE(from->run);

	if (READ_ONCE(from->next) == sector && run) {
		run = min(run, 2 * STREAM_RUN) + sectors;
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

unsigned int fusion_weigh(struct fusion_streams *streams, u64 sector, u32 sectors,
			  enum fusion_urgency urgency)
{
	unsigned int weight = FUSION_HEAT_TOUCH;

	if (sectors >= FUSION_STREAM_SECTORS)
		weight = 0;
	else if (sectors >= 256)
		weight /= 4;
	else if (sectors >= 64)
		weight /= 2;
	if (fusion_stream_run_length(streams, sector, sectors) >= STREAM_RUN ||
	    urgency == FUSION_BACKGROUND)
		weight = 0;
	return urgency == FUSION_URGENT ? 2 * weight : weight;
}
