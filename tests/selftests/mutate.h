/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mutate: change the metadata of a set in memory in ways that never happen in normal use, with
 * knowledge of its structure: a field of a superblock, of a map block, of a journal block or one of
 * its records, on either member, to a value at an edge or to any value; one or some of them.
 *
 * A mutation is sealed, to test the bounds, or it is rot: damage by a disk, which a checksum
 * reveals.
 */
#ifndef MUTATE_H
#define MUTATE_H

#include <linux/kernel.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "dm-fusion-codec.h"

/* A set, closed or left open, decoded by the codec. */
struct image {
	u8 *mem[FUSION_NR_DEVS];
	size_t size[FUSION_NR_DEVS];
	struct fusion_sb sb[FUSION_NR_DEVS];	/* the newer copy */
	u64 next_seq[FUSION_NR_DEVS];		/* first journal block that does not count */
	u64 last_txn[FUSION_NR_DEVS];		/* first block of the last transaction */
	u8 *last[FUSION_NR_DEVS];		/* for each extent: is it in that? */
};

struct mutation {
	u64 state;		/* of the random numbers */
	bool rot;
	unsigned int blocks;	/* of rot */
	bool torn_tail;		/* the last transaction of the journal is part of it */
	char what[512];		/* for people */
};

/* Decode the members. Return: NULL, or an error. */
const char *image_read(struct image *im);

/* Mutate @im, drawn from @m->state; the rest of @m is filled in. */
void mutate(struct image *im, struct mutation *m);

/* A number below @limit, the next one of @state. */
u32 mutate_below(u64 *state, u32 limit);

#endif
