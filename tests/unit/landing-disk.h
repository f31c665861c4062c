/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fast member with a landing log, of which a power cut leaves any sectors that were not flushed,
 * and of a commit the first records: what the writers of test-landing-crash.c and
 * test-landing-versions.c have in common.
 */
#ifndef LANDING_DISK_H
#define LANDING_DISK_H

#include <errno.h>

#include "dm-fusion-landing.h"
#include "unit.h"

#define SLOTS		8U
#define BLOCKS		16U
#define SIZE		(BLOCKS * FUSION_BLOCK_SIZE)
#define AHEAD		2U		/* segments that are open ahead */
#define MAX_OPS		64U

struct part {
	struct fusion_segment seg;	/* key 0: the slot is free */
	u8 live[4];
};

struct op {
	int op;				/* enum fusion_landing_op, or one of the writer's own */
	struct part part;
	struct fusion_landed landed;
	u32 lext;
};

static struct fusion_sb sb;
static u64 seed;
static u8 cache[SLOTS][SIZE], disk[SLOTS][SIZE];
static struct part parts[SLOTS];	/* durable */
static struct fusion_landed from;	/* the same */
static struct part mem[SLOTS];		/* what the writer knows, by slot */
static struct fusion_landed at;		/* where the writer is */
static u64 last_segno;			/* of all segments that ever were */
static u64 flushed_seq;
static bool cut;			/* power has failed */

static bool chance(u32 n)
{
	return !rnd_below(&seed, n);
}

static void disk_init(void)
{
	example_sb(&sb, 128 * 128, 512 * 128, 128);
	sb.flags = 0;
	memset(cache, 0, sizeof(cache));
	memset(disk, 0, sizeof(disk));
	memset(parts, 0, sizeof(parts));
	memset(mem, 0, sizeof(mem));
	from = FUSION_LANDED_NOWHERE;
	at = from;
	last_segno = 0;
	flushed_seq = 0;
	cut = false;
}

/* Of what is in the cache, any sectors are on the disk. */
static void power_cut(void)
{
	const u32 likely = 1 + rnd_below(&seed, 6);
	u32 slot, s;

	for (slot = 0; slot < SLOTS; slot++)
		for (s = 0; s < SIZE / 512; s++)
			if (memcmp(disk[slot] + s * 512, cache[slot] + s * 512, 512) &&
			    chance(likely))
				memcpy(disk[slot] + s * 512, cache[slot] + s * 512, 512);
	memcpy(cache, disk, sizeof(cache));
	cut = true;
}

static u8 *block_of(const struct fusion_segment *seg, u32 pos)
{
	return cache[seg->slot] + pos * FUSION_BLOCK_SIZE;
}

/* -- commits ------------------------------------------------------------------------------- */

static struct op ops[MAX_OPS];
static u32 nr_ops;

static struct op *add_op(int op)
{
	REQUIRE(nr_ops < MAX_OPS);
	ops[nr_ops] = (struct op){ .op = op };
	return &ops[nr_ops++];
}

static void record_segment(struct part *part)
{
	add_op(FUSION_OP_SEGMENT)->part = *part;
}

static void record_free(struct part *part)
{
	add_op(FUSION_OP_SEGFREE)->part = *part;
	part->seg.key = 0;
}

/* Each record goes through its disk format. */
static void apply_op(const struct op *op)
{
	u8 record[24 + 4];
	struct fusion_segment seg;
	const char *why;

	switch (op->op) {
	case FUSION_OP_LANDED:
		fusion_landed_pack(&op->landed, (void *)record);
		REQUIRE_EQ(fusion_landed_unpack(&sb, record, sizeof(record), &from, &why), 0);
		return;
	case FUSION_OP_SEGFREE:
		fusion_segfree_pack(&op->part.seg, (void *)record);
		REQUIRE_EQ(fusion_segment_unpack(&sb, record, 16, &seg, &why), 0);
		if (parts[seg.slot].seg.segno == seg.segno)
			parts[seg.slot].seg.key = 0;
		return;
	default:
		break;
	}
	seg = op->part.seg;
	seg.live = op->part.live;
	fusion_segment_pack(&sb, &seg, record);
	REQUIRE_EQ(fusion_segment_unpack(&sb, record, sizeof(record), &seg, &why), 0);
	memcpy(parts[seg.slot].live, seg.live, sizeof(parts[0].live));
	parts[seg.slot].seg = seg;
}

/* -- segments ------------------------------------------------------------------------------ */

static struct part *part_of(u64 segno)
{
	u32 i;

	for (i = 0; i < SLOTS; i++)
		if (mem[i].seg.key && mem[i].seg.segno == segno)
			return &mem[i];
	return NULL;
}

/* Open segments up to a number of them behind where the log is. */
static void open_ahead(void)
{
	u32 first = rnd_below(&seed, SLOTS), i, k, n = 0;

	for (i = 0; i < SLOTS; i++)
		n += mem[i].seg.key && mem[i].seg.segno >= at.segno;
	for (k = 0; k < SLOTS && n <= AHEAD; k++) {
		i = (first + k) % SLOTS;
		if (mem[i].seg.key)
			continue;
		last_segno = max(last_segno + 1, at.segno);
		mem[i].seg = (struct fusion_segment){ .slot = i, .segno = last_segno,
						      .key = rnd(&seed) | 1 };
		memset(mem[i].live, 0xff, 2);
		record_segment(&mem[i]);
		n++;
	}
}

static struct fusion_segment list[SLOTS];

static u32 list_segments(void)
{
	u32 i, k, nr = 0;

	for (i = 0; i < SLOTS; i++) {
		if (!parts[i].seg.key)
			continue;
		for (k = nr++; k && list[k - 1].segno > parts[i].seg.segno; k--)
			list[k] = list[k - 1];
		list[k] = parts[i].seg;
		list[k].live = parts[i].live;
	}
	return nr;
}

static const void *read_block(void *ctx, const struct fusion_segment *seg, u32 pos)
{
	(void)ctx;
	return block_of(seg, pos);
}

#endif
