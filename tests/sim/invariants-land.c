// SPDX-License-Identifier: GPL-2.0-only
/* A look into the target: does its landing log agree with the map, and with itself? */
#include "dm-fusion.h"
#include "dm-fusion-land-batch.h"
#include "dm-fusion-landing.h"

#include "invariants.h"

#define MAX_LEXTS	1024U

/*
 * Entries count only for extents that are whole, on the slow member (INV18). Those of one that has
 * just moved to the fast one die before the mover does anything else.
 */
static void check_entry(const struct fusion *fs, u32 pos)
{
	const struct fusion_land_entry *e = &fs->land.entry[pos];
	u32 word = fs->map[e->lext];

	if (fusion_land_find(&fs->land, e->lext, e->block) != pos)
		sim_fail("landing log: block %u of extent %u is not found at position %u",
			 e->block, e->lext, pos);
	if (!test_bit(e->lext, fs->land.has))
		sim_fail("landing log: extent %u has entries, and no bit", e->lext);
	if (fusion_word_mapped(word) && fusion_word_state(word) == FUSION_STABLE &&
	    fusion_word_dev(word) == FUSION_FAST &&
	    (fs->mover.work.work.running || fusion_mode(fs) != FUSION_RW))
		return;
	if (!fusion_word_mapped(word) || fusion_word_dev(word) != FUSION_SLOW ||
	    fusion_word_state(word) == FUSION_OPEN)
		sim_fail("INV18: extent %u has entries, and the word %x", e->lext, word);
}

static bool has_bit(const struct fusion_land *land, const u8 *bitmaps, u32 pos)
{
	return bitmaps[pos / land->blocks * land->bitmap_bytes + pos % land->blocks / 8] >>
	       pos % land->blocks % 8 & 1;
}

/* What has died is alive after a power cut, so writes with FUA have to wait. */
static void check_dead(const struct fusion *fs, u32 pos)
{
	const struct fusion_land *land = &fs->land;
	const u8 steps = land->segment[pos / land->blocks].steps;
	const bool dying = steps && !(steps & BIT(FUSION_LAND_NEW));

	if ((has_bit(land, land->killed, pos) || (dying && has_bit(land, land->dying, pos))) &&
	    !test_bit(land->entry[pos].lext, land->has))
		sim_fail("landing log: a dead block of extent %u is not recorded, and has no bit",
			 land->entry[pos].lext);
}

static void check_segment(const struct fusion *fs, u32 i, unsigned long **taken)
{
	const struct fusion_land *land = &fs->land;
	const struct fusion_land_segment *seg = &land->segment[i];
	u32 pos, nr = 0;

	if (!test_bit(seg->slot, fs->slots.used[FUSION_FAST].bits))
		sim_fail("INV21: a segment lies on fast slot %u, which is free", seg->slot);
	if (__test_and_set_bit(seg->slot, taken[FUSION_FAST]))
		sim_fail("INV3: a segment shares fast slot %u", seg->slot);
	for (pos = 0; pos < land->blocks; pos++) {
		check_dead(fs, i * land->blocks + pos);
		if (!has_bit(land, land->live, i * land->blocks + pos))
			continue;
		nr++;
		if (pos >= seg->end)
			sim_fail("landing log: an entry behind the end of its segment");
		check_entry(fs, i * land->blocks + pos);
	}
	if (nr != seg->nr_live)
		sim_fail("landing log: %u entries in a segment, %u counted", nr, seg->nr_live);
	if (nr && seg->state != FUSION_LAND_LISTED)
		sim_fail("INV21: a segment that is freed has %u entries", nr);
	if (!nr && seg->state == FUSION_LAND_LISTED && seg->segno < land->ended.segno &&
	    !seg->dirty && !seg->steps && !land->all && fusion_mode(fs) == FUSION_RW)
		sim_fail("landing log: a segment without entries stays");
	if (land->broken && seg->segno >= land->ended.segno && fusion_mode(fs) == FUSION_RW &&
	    !land->nr_batches)
		sim_fail("landing log: segment %llu is opened behind where it was given up",
			 seg->segno);
	if (seg->segno >= land->next_segno)
		sim_fail("landing log: segment %llu is from the future", seg->segno);
	if (seg->segno < land->ended.segno && seg->state == FUSION_LAND_LISTED && !seg->ends &&
	    !seg->dirty && !land->all && fs->loaded && !fs->read_only && land->opens)
		sim_fail("landing log: nobody records where segment %llu ends", seg->segno);
}

/* The @i-th of the blocks on their way is that at @pos; its extent is still whole, and slow. */
static void check_flight(const struct fusion *fs, u32 i, u32 pos)
{
	const struct fusion_land *land = &fs->land;
	const struct fusion_land_entry *e = &land->entry[pos];
	u32 word = fs->map[e->lext];

	if (i >= land->nr_flight ||
	    land->flight[(land->flight_first + i) % FUSION_LAND_FLIGHT] != pos)
		sim_fail("landing log: the block at position %u is not on its way", pos);
	if (!test_bit(e->lext, land->has))
		sim_fail("landing log: extent %u has blocks on their way, and no bit", e->lext);
	if (!fusion_word_mapped(word) || fusion_word_dev(word) != FUSION_SLOW ||
	    fusion_word_state(word) == FUSION_OPEN)
		sim_fail("INV18: extent %u has blocks on their way, and the word %x", e->lext,
			 word);
}

/* Batches follow each other from the end of the log on, in segments that are durably open. */
static void check_batches(const struct fusion *fs)
{
	const struct fusion_land *land = &fs->land;
	u32 i, k, flight = 0, sent = 0;

	for (i = 0; i < land->nr_batches; i++) {
		const struct fusion_land_batch *b =
			&land->batch[(land->first_batch + i) % FUSION_LAND_BATCHES];
		const struct fusion_land_segment *seg = &land->segment[b->place];

		if (b->seq != land->ended.seq + 1 + i)
			sim_fail("INV19: batch %llu is number %u behind batch %llu", b->seq, i,
				 land->ended.seq);
		if (seg->state != FUSION_LAND_LISTED || seg->steps & BIT(FUSION_LAND_NEW) ||
		    seg->segno < land->ended.segno)
			sim_fail("landing log: batch %llu in a segment that is not open", b->seq);
		if (b->pos + 1 + b->count > fusion_segment_room(&fs->sb))
			sim_fail("landing log: batch %llu has no room", b->seq);
		for (k = 0; k < b->count; k++, flight++)
			check_flight(fs, flight, b->place * land->blocks + b->pos + 1 + k);
		sent += b->state == FUSION_BATCH_SENT;
	}
	if (flight != land->nr_flight || sent != land->nr_sent || sent > FUSION_LAND_SENT)
		sim_fail("landing log: %u blocks fly, %u batches are sent; %u and %u counted",
			 flight, sent, land->nr_flight, land->nr_sent);
	if (land->flushed_seq > land->ended.seq)
		sim_fail("landing log: batch %llu is durable, and %llu has not ended",
			 land->flushed_seq, land->ended.seq + 1);
}

/* Writes wait only while something will let them go on. */
static void check_pace(const struct fusion *fs)
{
	const struct fusion_land_pace *pace = &fs->land.pace;
	const struct bio *bio;
	u64 last = max(pace->gained_ms, pace->admitted_ms);
	u32 nr = 0;

	for (bio = pace->waiting.head; bio; bio = bio->bi_next) {
		nr++;
		if (fusion_io((struct bio *)bio)->epoch != FUSION_NO_EPOCH)
			sim_fail("landing log: a write that waits is in an epoch");
	}
	if (nr != pace->nr_waiting)
		sim_fail("landing log: %u writes wait, %u counted", nr, pace->nr_waiting);
	if (nr && (!pace->on || !fs->land.opens || fs->mover.stopping || fs->mode != FUSION_RW))
		sim_fail("landing log: %u writes wait for a drain that does not go on", nr);
	if (nr && !pace->work.work.pending && !pace->work.work.running)
		sim_fail("landing log: nobody looks after %u writes that wait", nr);
	/* it has just run; otherwise its turn has come, and it has not run yet */
	if (nr && pace->work.timer.armed && pace->work.timer.expires > world->now_ns &&
	    fusion_now_ms() > last + 4000)
		sim_fail("landing log: writes wait, and nothing has happened for %llu ms",
			 fusion_now_ms() - last);
}

/* What is counted of extents is what there is, and who has no bit has nothing. */
static void check_extents(const struct fusion *fs)
{
	const struct fusion_land *land = &fs->land;
	static u32 nr[MAX_LEXTS];
	u32 lext, pos, i;

	memset(nr, 0, fs->sb.nr_lexts * sizeof(*nr));
	for (pos = 0; pos < land->max * land->blocks; pos++)
		if (has_bit(land, land->live, pos))
			nr[land->entry[pos].lext]++;
	for (i = 0; i < land->nr_flight; i++)
		nr[land->entry[land->flight[(land->flight_first + i) %
					    FUSION_LAND_FLIGHT]].lext]++;
	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		u32 counted = fusion_land_counted(land, lext);

		if (counted != FUSION_LAND_NONE && counted != nr[lext])
			sim_fail("landing log: extent %u has %u blocks, %u counted", lext, nr[lext],
				 counted);
		if (counted != FUSION_LAND_NONE && !test_bit(lext, land->has))
			sim_fail("landing log: extent %u has a place, and no bit", lext);
		if (counted == 0 && !land->dirty && !land->taken && fs->loaded && !fs->read_only &&
		    fusion_mode(fs) == FUSION_RW)
			sim_fail("landing log: extent %u keeps its bit", lext);
	}
}

void check_landing(const void *private, unsigned long **taken)
{
	const struct fusion *fs = private;
	const struct fusion_land *land = &fs->land;
	u32 i, nr = 0, dirty = 0, filled = 0, chained = 0, live = 0, pos;

	for (i = 0; i < land->max; i++) {
		if (land->segment[i].state == FUSION_LAND_UNUSED)
			continue;
		nr++;
		dirty += land->segment[i].dirty;
		live += land->segment[i].nr_live;
		filled += !!land->segment[i].nr_live;
		check_segment(fs, i, taken);
	}
	if (nr != land->nr || dirty != land->dirty || filled != land->nr_filled)
		sim_fail("landing log: %u segments, %u dirty, %u filled; %u, %u, %u counted",
			 nr, dirty, filled, land->nr, land->dirty, land->nr_filled);
	for (i = 0; i < 1U << land->hash_bits && land->max; i++)
		for (pos = land->bucket[i]; pos != FUSION_LAND_NONE; pos = land->next[pos])
			chained++;
	if (land->max)
		chained -= land->copies->nr;
	if (chained != live || live != land->nr_live)
		sim_fail("landing log: %u entries in buckets, %u in segments, %u counted", chained,
			 live, land->nr_live);
	if (land->max) {
		check_batches(fs);
		check_pace(fs);
		check_extents(fs);
		check_copies(fs, taken);
	}
}

u32 set_land_left(const void *private)
{
	const struct fusion_land *land = &((const struct fusion *)private)->land;

	/* the segment that is being filled stays, and those that are open ahead */
	return land->opens ? land->nr_live : land->nr;
}

u32 set_segments(const void *private)
{
	return ((const struct fusion *)private)->land.nr;
}
