// SPDX-License-Identifier: GPL-2.0-only
/* A look into the target: is each copy of what was read as what it is a copy of (INV24)? */
#include "dm-fusion.h"

#include "disk.h"
#include "invariants.h"

/* What a block of a slot has for who reads it. */
static void see_block(const struct fusion *fs, u32 dev, u64 sector, u64 *stamps)
{
	static u64 all[EXTENT_SECTORS];
	const u64 within = (sector - fs->base[dev]) % EXTENT_SECTORS;

	sim_disk_see_extent(fs->dev[dev]->bdev->disk, sector - within, all);
	memcpy(stamps, all + within, FUSION_BLOCK_SECTORS * sizeof(*stamps));
}

static void check_content(const struct fusion *fs, u32 pos, u32 lext, u32 block)
{
	u64 copy[FUSION_BLOCK_SECTORS], slow[FUSION_BLOCK_SECTORS];
	const u32 word = fs->map[lext];

	see_block(fs, FUSION_FAST, fusion_land_sector(fs, pos), copy);
	/* that may be the disk which leaves */
	see_block(fs, fusion_word_disk(fs, word), fusion_word_sector(fs, word) +
		  block * FUSION_BLOCK_SECTORS, slow);
	if (memcmp(copy, slow, sizeof(copy)))
		sim_fail("INV24: the copy of block %u of extent %u is another one", block, lext);
}

static void check_copy(const struct fusion *fs, u32 pos)
{
	const struct fusion_land *land = &fs->land;
	const struct fusion_land_entry *e = &land->entry[pos];
	const u32 block = e->block & ~FUSION_COPY_KEY, word = fs->map[e->lext];

	if (!(e->block & FUSION_COPY_KEY) || fusion_land_find(land, e->lext, e->block) != pos)
		sim_fail("copies: the one at position %u is not found", pos);
	if (!fusion_copies_lent(land, pos / land->blocks))
		sim_fail("copies: position %u has one, and is not lent", pos);
	if (!fusion_word_mapped(word) || fusion_word_dev(word) != FUSION_SLOW ||
	    fusion_word_state(word) == FUSION_OPEN)
		sim_fail("INV24: extent %u has copies, and the word %x", e->lext, word);
	if (fusion_land_find(land, e->lext, block) != FUSION_LAND_NONE ||
	    fusion_land_flies(land, e->lext, block, block + 1))
		sim_fail("INV24: block %u of extent %u has a copy, and is in the log", block,
			 e->lext);
}

/* What is lent is nobody else's, and the log has not got there. */
static void check_shelf(const struct fusion *fs, u32 i, unsigned long **taken)
{
	const struct fusion_land_segment *seg = &fs->land.segment[i];

	if (seg->state == FUSION_LAND_UNUSED) {
		if (!test_bit(seg->slot, fs->slots.used[FUSION_FAST].bits))
			sim_fail("INV24: copies are in fast slot %u, which is free", seg->slot);
		if (fusion_fenced(&fs->slots.fence, FUSION_FAST, seg->slot))
			sim_fail("INV9: copies are in fast slot %u, inside the fence", seg->slot);
		if (__test_and_set_bit(seg->slot, taken[FUSION_FAST]))
			sim_fail("INV3: copies share fast slot %u", seg->slot);
	} else if (seg->nr_live || seg->end ||
		   (fs->land.at_place == i && fs->land.at.segno == seg->segno)) {
		sim_fail("INV24: copies are in segment %llu, which is used", seg->segno);
	}
}

void check_copies(const void *private, unsigned long **taken)
{
	const struct fusion *fs = private;
	const struct fusion_land *land = &fs->land;
	const struct fusion_copies *c = land->copies;
	static u32 looks;
	u32 lent = 0, left = 0, slots = 0, nr = 0, fills = 0, groups = 0, pos, i;

	for (i = 0; i < land->max; i++) {
		lent += c->shelf[i] == FUSION_SHELF_LENT;
		left += c->shelf[i] == FUSION_SHELF_LEFT;
		slots += c->shelf[i] != FUSION_SHELF_NONE &&
			 land->segment[i].state == FUSION_LAND_UNUSED;
		if (c->shelf[i] != FUSION_SHELF_NONE)
			check_shelf(fs, i, taken);
	}
	if (lent != c->nr_shelves || left != c->nr_left || slots != land->nr_lent)
		sim_fail("copies: %u places lent, %u left, %u slots; %u, %u, %u counted", lent,
			 left, slots, c->nr_shelves, c->nr_left, land->nr_lent);
	for (pos = 0; pos < land->max * land->blocks; pos++) {
		if (!fusion_copies_lent(land, pos / land->blocks) ||
		    !(land->entry[pos].flags & FUSION_COPY_HERE))
			continue;
		nr++;
		check_copy(fs, pos);
		/* reading is slow */
		if (c->shelf[pos / land->blocks] == FUSION_SHELF_LENT &&
		    !(looks++ % 8))
			check_content(fs, pos, land->entry[pos].lext,
				      land->entry[pos].block & ~FUSION_COPY_KEY);
	}
	for (i = 0; i < FUSION_FILLS; i++)
		fills += c->fill[i].state != FUSION_FILL_FREE;
	for (i = 0; i < ARRAY_SIZE(c->group); i++)
		groups += c->group[i].copies;
	if (nr != c->nr || groups != nr || fills != c->nr_fills)
		sim_fail("copies: %u, %u in groups, and %u fills; %u and %u counted", nr, groups,
			 fills, c->nr, c->nr_fills);
}
