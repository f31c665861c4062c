// SPDX-License-Identifier: GPL-2.0-only
/*
 * The landing log in simulated time: its segments, and an index of the blocks that it has. A
 * segment is free as soon as it is full and has no entry; the kernel frees it with the next commit.
 */
#include <stdlib.h>
#include <string.h>

#include "sim-engine.h"

/* One position in so many is that of a header: so large are batches under a load of some depth. */
#define HEADER_EVERY	8U

bool sim_land_init(struct sim_engine *e)
{
	struct sim_land *land = &e->land;
	const u32 max = e->sb.landing_slots;
	u32 positions;

	land->timer = SIM_NEVER;
	if (!max)
		return true;
	land->blocks = e->cfg->extent_bytes / SIM_BLOCK;
	positions = max * land->blocks;
	land->segment = calloc(max, sizeof(*land->segment));
	land->block = malloc(positions * sizeof(*land->block));
	land->next = malloc(positions * sizeof(*land->next));
	land->sweep = malloc(positions * sizeof(*land->sweep));
	land->nr_buckets = positions;
	land->bucket = malloc(positions * sizeof(*land->bucket));
	if (!land->segment || !land->block || !land->next || !land->bucket || !land->sweep)
		return false;
	memset(land->block, 0xff, positions * sizeof(*land->block));
	memset(land->bucket, 0xff, positions * sizeof(*land->bucket));
	for (u32 i = 0; i < max; i++)
		land->segment[i].slot = sim_take_slot(e, FUSION_FAST, 0);
	land->max = max;
	land->nr_free = max;
	land->at_segment = SIM_NO_POS;
	land->timer = 0;
	return true;
}

void sim_land_exit(struct sim_engine *e)
{
	free(e->land.sweep);
	free(e->land.bucket);
	free(e->land.next);
	free(e->land.block);
	free(e->land.segment);
}

u64 sim_land_free(const struct sim_land *land, u64 *total)
{
	*total = (u64)land->max * land->blocks;
	return (u64)land->nr_free * land->blocks +
	       (land->at_segment != SIM_NO_POS ? land->blocks - land->at : 0);
}

u64 sim_land_byte(const struct sim_engine *e, u32 pos)
{
	const struct sim_land *land = &e->land;

	return (fusion_slot_sector(&e->sb, FUSION_FAST, land->segment[pos / land->blocks].slot)
		<< 9) + (u64)(pos % land->blocks) * SIM_BLOCK;
}

/* -- the index ---------------------------------------------------------------------------- */

static u32 *bucket_of(const struct sim_land *land, u64 block)
{
	return &land->bucket[random64(block) % land->nr_buckets];
}

u32 sim_land_find(const struct sim_land *land, u64 block)
{
	u32 pos = *bucket_of(land, block);

	while (pos != SIM_NO_POS && land->block[pos] != block)
		pos = land->next[pos];
	return pos;
}

static void free_if_empty(struct sim_land *land, u32 i)
{
	struct sim_segment *seg = &land->segment[i];

	if (seg->nr_live || !seg->segno || i == land->at_segment)
		return;
	seg->segno = 0;
	land->nr_free++;
}

void sim_land_kill(struct sim_engine *e, u32 pos)
{
	struct sim_land *land = &e->land;
	u32 *link = bucket_of(land, land->block[pos]);
	struct sim_segment *seg = &land->segment[pos / land->blocks];

	while (*link != pos)
		link = &land->next[*link];
	*link = land->next[pos];
	land->block[pos] = SIM_NO_BLOCK;
	land->nr_live--;
	land->nr_filled -= !--seg->nr_live;
	free_if_empty(land, pos / land->blocks);
}

/* -- its end -------------------------------------------------------------------------------- */

static bool open_segment(struct sim_engine *e)
{
	struct sim_land *land = &e->land;
	u32 i = 0, was = land->at_segment;

	if (!land->nr_free)
		return false;
	while (land->segment[i].segno)
		i++;
	sim_copies_leave(e, i);
	land->segment[i].segno = ++land->segno;
	land->nr_free--;
	land->at_segment = i;
	land->at = 0;
	land->since_header = 0;
	if (was != SIM_NO_POS)
		free_if_empty(land, was);
	return true;
}

/* With headers, so many blocks take at most so many positions. */
static u32 positions(u32 nr)
{
	return nr + nr / HEADER_EVERY + 1;
}

bool sim_land_room(struct sim_engine *e, u32 nr)
{
	struct sim_land *land = &e->land;

	if (positions(nr) > land->blocks)
		return false;
	if (land->at_segment != SIM_NO_POS && land->at + positions(nr) <= land->blocks)
		return true;
	return open_segment(e);
}

u32 sim_land_put(struct sim_engine *e, u64 block)
{
	struct sim_land *land = &e->land;
	u32 old = sim_land_find(land, block), pos, *head = bucket_of(land, block);

	if (old != SIM_NO_POS)
		sim_land_kill(e, old);
	if (!land->since_header) {
		land->since_header = HEADER_EVERY;
		land->at++;
		land->end++;
	}
	land->since_header--;
	pos = land->at_segment * land->blocks + land->at++;
	land->end++;
	land->block[pos] = block;
	land->next[pos] = *head;
	*head = pos;
	land->nr_live++;
	land->nr_filled += !land->segment[land->at_segment].nr_live++;
	return pos;
}

const char *sim_land_check(const struct sim_engine *e)
{
	const struct sim_land *land = &e->land;
	u32 live = 0, filled = 0, nr_free = 0;

	for (u32 i = 0; i < land->max; i++) {
		u32 nr = 0;

		for (u32 k = 0; k < land->blocks; k++) {
			u32 pos = i * land->blocks + k, word;

			if (land->block[pos] == SIM_NO_BLOCK)
				continue;
			nr++;
			word = e->map[land->block[pos] / land->blocks];
			if (!fusion_word_mapped(word) || fusion_word_dev(word) == FUSION_FAST)
				return "an extent of the fast member has blocks in the log";
			if (sim_land_find(land, land->block[pos]) != pos)
				return "a block is in the log twice";
		}
		if (nr != land->segment[i].nr_live || (nr && !land->segment[i].segno))
			return "a segment of the log has another number of blocks";
		live += nr;
		filled += !!nr;
		nr_free += !land->segment[i].segno;
	}
	return live != land->nr_live || filled != land->nr_filled || nr_free != land->nr_free ?
	       "the log has another number of blocks" : NULL;
}
