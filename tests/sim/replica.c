// SPDX-License-Identifier: GPL-2.0-only
/* The map on the slow member, read as by someone who has lost the fast one. */
#include "model.h"
#include "replica.h"

#define MAX_LEXTS	1024U
#define MAX_BLOCKS	DIV_ROUND_UP(MAX_LEXTS, FUSION_MAP_PER_BLOCK)

struct replica {
	struct sim_disk *disk;
	struct fusion_sb sb;
	u32 word[MAX_BLOCKS * FUSION_MAP_PER_BLOCK];
	u32 valid[MAX_LEXTS];	/* bitmaps of OPEN extents */
	bool recorded[MAX_LEXTS];	/* an OPEN extent has its bitmap from the log */
};

static void load_super(struct replica *rep)
{
	struct fusion_sb one;
	const char *why = "";
	unsigned int copy;
	bool found = false;

	for (copy = 0; copy < 2; copy++) {
		u64 nr = FUSION_SUPER_BLOCKNR(copy);

		if (fusion_sb_unpack(sim_disk_block(rep->disk, nr), nr,
				     bdev_nr_sectors(sim_disk_bdev(rep->disk)), &one, &why))
			continue;
		if (!found || one.generation > rep->sb.generation)
			rep->sb = one;
		found = true;
	}
	if (!found)
		sim_fail("replica: no superblock: %s", why);
}

static void load_map(struct replica *rep)
{
	const struct fusion_sb *sb = &rep->sb;
	const char *why;
	u32 i;

	if (sb->nr_lexts > MAX_LEXTS || sb->map_blocks > MAX_BLOCKS)
		sim_fail("replica: a map of %u extents in %u blocks", sb->nr_lexts, sb->map_blocks);
	for (i = 0; i < sb->map_blocks; i++) {
		u64 nr = sb->map_start[FUSION_SLOW][sb->active_set] + i;

		if (fusion_map_unpack(sb, sb->active_set, i, sb->set_generation,
				      sim_disk_block(rep->disk, nr),
				      rep->word + i * FUSION_MAP_PER_BLOCK, &why))
			sim_fail("replica: map block %u: %s", i, why);
	}
}

static const void *read_log(void *ctx, u32 pos)
{
	struct replica *rep = ctx;

	return sim_disk_block(rep->disk, rep->sb.journal_start[FUSION_SLOW] + pos);
}

static int apply_record(void *ctx, const struct fusion_record *rec)
{
	struct replica *rep = ctx;

	rep->word[rec->lext] = rec->new;
	rep->valid[rec->lext] = 0;
	rep->recorded[rec->lext] = rec->bitmap;
	if (rec->bitmap)
		memcpy(&rep->valid[rec->lext], rec->bitmap, sizeof(rep->valid[0]));
	return 0;
}

static void load_log(struct replica *rep)
{
	struct fusion_replay replay = {
		.sb = &rep->sb,
		.read = read_log,
		.apply = apply_record,
		.ctx = rep,
	};

	if (fusion_replay(&replay))
		sim_fail("replica: log: %s", replay.why);
}

/* What a slot named for the extent may hold: the extent's own data, of whatever time. */
static void check_slot(struct replica *rep, u32 lext)
{
	u32 word = rep->word[lext], s;
	u64 start = fusion_slot_sector(&rep->sb, FUSION_SLOW, fusion_word_slot(word));

	if (fusion_word_state(word) == FUSION_OPEN && !rep->recorded[lext])
		sim_fail("replica: extent %u is open but has no bitmap", lext);
	for (s = 0; s < EXTENT_SECTORS; s++) {
		u64 stamp;

		if (fusion_word_state(word) == FUSION_OPEN &&
		    !(rep->valid[lext] & 1U << s / FUSION_BLOCK_SECTORS))
			continue;
		stamp = sim_disk_stamp(rep->disk, start + s);
		if (stamp && !model_stamp_is_of(stamp, lext * EXTENT_SECTORS + s))
			sim_fail("replica: extent %u, sector %u, lies where %llx is (INV6)", lext,
				 s, stamp);
	}
}

void check_replica(struct sim_disk *slow)
{
	struct replica *rep = sim_alloc(sizeof(*rep), true);
	unsigned long taken[BITS_TO_LONGS(MAX_LEXTS)] = {};
	u32 lext;

	rep->disk = slow;
	load_super(rep);
	load_map(rep);
	load_log(rep);
	for (lext = 0; lext < rep->sb.nr_lexts; lext++) {
		u32 word = rep->word[lext];

		if (!fusion_word_mapped(word) || fusion_word_dev(word) != FUSION_SLOW)
			continue;
		if (__test_and_set_bit(fusion_word_slot(word), taken))
			sim_fail("replica: extent %u shares its slot", lext);
		check_slot(rep, lext);
	}
	sim_free(rep);
}
