// SPDX-License-Identifier: GPL-2.0-only
/* The instants of points, as the module's tracepoint tells of them (INV16). */
#include <stdlib.h>

#include "dm-fusion.h"

#include "points.h"
#include "sim.h"

/* What one extent had. */
struct had {
	struct had *next;
	const struct fusion *fs;
	u64 second;
	u32 lext;
	u32 slot;		/* 0: none, though metadata was written since the last point */
	u64 stamps[EXTENT_SECTORS];
};

/* The slow slot in which its content at the instant is, or will be; 0: it has none. */
static u32 slot_of(const struct fusion *fs, u32 lext, u32 fast)
{
	const struct fusion_point *p = &fs->shadows.point;
	u32 i;

	for (i = 0; i < p->nr; i++)
		if (p->jobs[i].move.lext == lext)
			return fusion_word_slot(p->jobs[i].new);
	return fs->shadows.of[fast].slot & ~FUSION_SHADOW_FLAGS;
}

static void keep_one(const struct fusion *fs, u64 second, u32 lext)
{
	u32 word = fs->map[lext], fast = fusion_word_slot(word);
	struct had *had;

	if (!fusion_word_mapped(word) || fusion_word_disk(fs, word) != FUSION_FAST ||
	    fusion_word_state(word) == FUSION_OPEN || !slot_of(fs, lext, fast))
		return;
	had = calloc(1, sizeof(*had));
	had->fs = fs;
	had->second = second;
	had->lext = lext;
	had->slot = slot_of(fs, lext, fast);
	sim_disk_see_extent(fs->dev[FUSION_FAST]->bdev->disk,
			    fusion_slot_sector(&fs->sb, FUSION_FAST, fast), had->stamps);
	had->next = world->points;
	world->points = had;
}

/* Metadata of a set that was written after its last point. */
struct since {
	const struct fusion *fs;
	u32 nr;
	u64 made[];			/* by extent: number of that point plus 1; 0: none */
};

void sim_points_forget(struct sim_world *w)
{
	free(w->since);
	w->since = NULL;
}

static struct since *since_of(const struct fusion *fs)
{
	struct since *since = world->since;

	if (since && since->fs == fs && since->nr == fs->sb.nr_lexts)
		return since;
	sim_points_forget(world);
	since = calloc(1, sizeof(*since) + fs->sb.nr_lexts * sizeof(u64));
	since->fs = fs;
	since->nr = fs->sb.nr_lexts;
	world->since = since;
	return since;
}

u64 points_made(const void *private)
{
	const struct fusion *fs = private;

	return fs->shadows.point.made;
}

void points_written(const void *private, u64 sector, u32 nr, u64 made)
{
	const struct fusion *fs = private;
	struct since *since;
	u32 lext;

	if (world->shared || !nr || fs->shadows.point.made != made)
		return;
	since = since_of(fs);
	for (lext = sector / EXTENT_SECTORS; lext <= (sector + nr - 1) / EXTENT_SECTORS; lext++)
		since->made[lext] = made + 1;
}

/* A part of it is lost, so it cannot be completed, and is in no point. */
static bool partly_lost(const struct fusion *fs, u32 lext)
{
	const struct fusion_open *open = NULL;

	if (fusion_word_state(fs->map[lext]) == FUSION_OPEN)
		open = fusion_open_find((struct fusion *)fs, lext);
	return open && open->lost;
}

/*
 * Metadata that was written by then is in the point, also in extents that were written for the
 * first time: a tree whose root is in the point has its leaves there.
 */
static void keep_missing(const struct fusion *fs, u64 second, u32 lext)
{
	u32 word = fs->map[lext];
	struct had *had;

	if (since_of(fs)->made[lext] != fs->shadows.point.made + 1 || !fusion_word_mapped(word) ||
	    fusion_word_disk(fs, word) != FUSION_FAST ||
	    slot_of(fs, lext, fusion_word_slot(word)) || fs->shadows.point.left_out ||
	    partly_lost(fs, lext))
		return;
	had = calloc(1, sizeof(*had));
	had->fs = fs;
	had->second = second;
	had->lext = lext;
	had->next = world->points;
	world->points = had;
}

/* It is called for each try: the last one before the point is what counts. */
void sim_trace_fusion_point(struct fusion *fs, u64 second);
void sim_trace_fusion_point(struct fusion *fs, u64 second)
{
	struct had *had;
	u32 lext;

	if (world->shared)
		return;
	for (had = world->points; had; had = had->next)
		if (had->fs == fs && had->second == second && !had->slot)
			had->second = 0;
	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		if (fusion_point_covers(fs, lext))
			keep_one(fs, second, lext);
		keep_missing(fs, second, lext);
	}
}

/*
 * Has the extent no such shadow any more? It has gone down, so the slot is its own, or was
 * discarded. Either may come again, with the same slot, and newer than the point.
 */
static bool is_over(const struct had *had)
{
	const struct fusion *fs = had->fs;
	u32 word = fs->map[had->lext];

	return !fusion_word_mapped(word) || fusion_word_dev(word) != FUSION_FAST ||
	       slot_of(fs, had->lext, fusion_word_slot(word)) != had->slot;
}

/* Slots are free, and others get them, only after an update of the replica. */
void sim_trace_fusion_replica(struct fusion *fs, u64 txn, u64 generation, int error);
void sim_trace_fusion_replica(struct fusion *fs, u64 txn, u64 generation, int error)
{
	struct had *had;

	for (had = world->points; had; had = had->next)
		if (had->fs == fs && had->second && had->slot && is_over(had))
			had->second = 0;
}

/* Rounds leave what the next point is to replace, and leave no extent without the shadow it had. */
void sim_trace_fusion_shadow(struct fusion *fs, u32 lext, u32 former, u32 slot, bool point)
{
	if (former && !point && !fusion_has_shadow(fs, fs->map[lext]))
		sim_fail("extent %u: a round takes slow slot %u away, and leaves no shadow", lext,
			 former);
	if (world->shared || point || !former ||
	    since_of(fs)->made[lext] != fs->shadows.point.made + 1)
		return;
	sim_fail("INV16: extent %u: a round replaces slow slot %u by %u, newer than the point",
		 lext, former, slot);
}

void sim_trace_fusion_move(struct fusion *fs, u32 lext, u32 old, u32 new, int outcome);
void sim_trace_fusion_move(struct fusion *fs, u32 lext, u32 old, u32 new, int outcome)
{
	struct had *had;

	for (had = world->points; had; had = had->next)
		if (had->fs == fs && had->lext == lext && had->slot && outcome == FUSION_MOVED)
			had->second = 0;
}

bool point_had(const void *private, u64 second, u32 lext, u32 slot, const u64 *found)
{
	const struct had *had;
	bool any = false;
	u32 s;

	for (had = world->parent ? world->parent->points : NULL; had; had = had->next) {
		if (had->fs != private || had->second != second || had->lext != lext ||
		    !had->slot || had->slot != slot || is_over(had))
			continue;
		any = true;
		if (!memcmp(had->stamps, found, sizeof(had->stamps)))
			return true;
		for (s = 0; had->stamps[s] == found[s]; s++)
			;
		sim_log("slow slot %u, sector %u of extent %u: %llx, had %llx", slot, s, lext,
			found[s], had->stamps[s]);
	}
	return !any;
}

int point_unnamed(const void *private, u64 second, const u32 *word)
{
	const struct had *had;

	for (had = world->parent ? world->parent->points : NULL; had; had = had->next) {
		if (had->fs != private || had->second != second)
			continue;
		if (!had->slot || (!is_over(had) &&
				   word[had->lext] != fusion_shadow_word(FUSION_SHADOW, had->slot)))
			return had->lext;
	}
	return -1;
}

void sim_points_free(struct sim_world *w)
{
	struct had *had;

	sim_points_forget(w);
	while (w->points) {
		had = w->points;
		w->points = had->next;
		free(had);
	}
}
