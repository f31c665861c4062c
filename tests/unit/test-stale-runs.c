// SPDX-License-Identifier: GPL-2.0-only
/* The stale list: runs that are cut short anywhere, and what is read of it. */
#include "dm-fusion-stale.h"
#include "stale-set.h"

#define PLACES	6U
#define SECTORS	(FUSION_BLOCK_SIZE / 512)

static struct fusion_sb sb;
static u8 block[FUSION_BLOCK_SIZE];

static void begin(void)
{
	stale_set(&sb, 128, PLACES);
}

#define BLOCKS	(2 + 2 * PLACES)

/* The region, and what it should say: of the last run that is complete, and of one cut short. */
struct disk {
	u8 mem[BLOCKS][FUSION_BLOCK_SIZE];
	u32 copy[PLACES];
	u16 want[PLACES];		/* a bit for each entry */
	u16 torn[PLACES];
	u64 run;
	u32 left;			/* sectors until the cut */
	u32 sum[PLACES];		/* of the copies that count */
	u32 new_sum[PLACES];
	bool dark[BLOCKS];
	const void *later[BLOCKS];	/* what is there from the second time on */
};

static struct disk disk;
static u16 seen[PLACES];
static u32 nr_unreadable;
static u32 nr_back;			/* how often it was read from a lower block on */
static u64 last_read;
static u32 nr_reads[BLOCKS];

static const void *read_disk(void *ctx, u64 blocknr)
{
	const u64 i = blocknr - sb.stale_start;

	(void)ctx;
	REQUIRE(i < BLOCKS);
	nr_back += i < last_read;
	last_read = i;
	if (disk.dark[i])
		return NULL;
	return nr_reads[i]++ && disk.later[i] ? disk.later[i] : disk.mem[i];
}

static int see(void *ctx, u32 place, const struct fusion_stale_entry *e)
{
	(void)ctx;
	REQUIRE_EQ(e->lext, place);
	seen[place] |= 1 << e->pos;
	return 0;
}

static void see_dark(void *ctx, u32 copy, u32 place)
{
	(void)ctx;
	REQUIRE(disk.dark[2 + copy * PLACES + place] || disk.later[2 + copy * PLACES + place]);
	nr_unreadable++;
}

static struct fusion_stale_scan scan_disk(void)
{
	static struct fusion_stale_seen found[FUSION_STALE_COPIES * PLACES];
	struct fusion_stale_scan scan = {
		.sb = &sb, .seen = found, .read = read_disk, .entry = see,
		.unreadable = see_dark,
	};

	memset(seen, 0, sizeof(seen));
	memset(nr_reads, 0, sizeof(nr_reads));
	nr_unreadable = 0;
	nr_back = 0;
	last_read = 0;
	REQUIRE(!fusion_stale_scan(&scan));
	return scan;
}

/* Return: is it there? All that there is in it is in its first sector. */
static bool write_block(u64 blocknr)
{
	const u32 nr = min_t(u32, disk.left, SECTORS);

	memcpy(disk.mem[blocknr - sb.stale_start], block, nr * 512);
	disk.left -= nr;
	return nr;
}

static bool write_list(u32 place, u16 bits)
{
	struct fusion_stale_list list = { .run = disk.run, .segno = bits ? 1 : 0 };
	struct fusion_stale_entry e[16];
	u32 pos;

	for (pos = 0; pos < 16; pos++)
		if (bits >> pos & 1)
			e[list.total++] = (struct fusion_stale_entry){ place, pos, pos };
	disk.new_sum[place] = fusion_stale_pack(&sb, !disk.copy[place], place, 0, &list, e, block);
	return write_block(fusion_stale_blocknr(&sb, !disk.copy[place], place, 0));
}

/* A run, of which @sectors get to the disk. Return: is it complete? */
static bool run(u64 *rng, u32 sectors, bool again)
{
	struct fusion_stale_head h = { .run = ++disk.run, .time = disk.run };
	bool changed[PLACES];
	u16 now[PLACES];
	u32 i;

	disk.left = sectors;
	for (i = 0; i < PLACES; i++) {
		now[i] = rnd_below(rng, 3) ? disk.want[i] : rnd(rng);
		changed[i] = again || now[i] != disk.want[i];
	}
	for (i = 0; i < PLACES; i++) {
		h.nr_lists += !!now[i];
		h.nr_blocks += __builtin_popcount(now[i]);
		disk.new_sum[i] = disk.sum[i];
		if (changed[i] && !write_list(i, now[i]))
			return false;
		h.sum += disk.new_sum[i];
		if (changed[i])
			disk.torn[i] = now[i];
	}
	fusion_stale_head_pack(&sb, &h, block);
	if (!write_block(fusion_stale_head_blocknr(&sb, h.run % 2)))
		return false;
	for (i = 0; i < PLACES; i++) {
		disk.copy[i] ^= changed[i];
		disk.want[i] = now[i];
		disk.torn[i] = 0;
		disk.sum[i] = disk.new_sum[i];
	}
	return true;
}

/* Cut at each sector, and go on behind that as the module does: all lists are written again. */
static void test_cuts(void)
{
	struct fusion_stale_scan scan;
	u64 rng = 1, complete;
	u32 i, k;

	begin();
	memset(&disk, 0, sizeof(disk));
	scan = scan_disk();
	REQUIRE(!scan.found && !fusion_stale_whole(&scan));
	complete = 0;
	for (i = 0; i < 20000; i++) {
		if (run(&rng, rnd_below(&rng, 3) ? U32_MAX : rnd_below(&rng, 64), i && complete !=
			disk.run))
			complete = disk.run;
		scan = scan_disk();
		REQUIRE_EQ(scan.found, !!complete);
		REQUIRE_EQ(scan.head.run, complete);
		REQUIRE(!complete || fusion_stale_whole(&scan));
		for (k = 0; k < PLACES; k++)
			REQUIRE_EQ(seen[k], disk.want[k] | disk.torn[k]);
	}
}

/* What cannot be read, or was changed, is noticed. */
static void test_damage(void)
{
	struct fusion_stale_scan scan;
	u64 rng = 2;
	u32 i;

	begin();
	memset(&disk, 0, sizeof(disk));
	for (i = 0; i < 50; i++)
		run(&rng, U32_MAX, false);
	for (i = 0; i < PLACES; i++) {
		u8 *mem = disk.mem[2 + disk.copy[i] * PLACES + i];

		if (!disk.want[i])
			continue;
		mem[100] ^= 1;
		scan = scan_disk();
		REQUIRE(scan.found);
		REQUIRE_EQ(fusion_stale_whole(&scan), seen[i] == disk.want[i]);
		mem[100] ^= 1;
		disk.dark[2 + disk.copy[i] * PLACES + i] = true;
		scan = scan_disk();
		REQUIRE_EQ(nr_unreadable, 1);
		disk.dark[2 + disk.copy[i] * PLACES + i] = false;
	}
	scan = scan_disk();
	REQUIRE(fusion_stale_whole(&scan) && !scan.bad_heads);
	for (i = 0; i < 2; i++) {
		disk.dark[i] = true;
		scan = scan_disk();
		REQUIRE(scan.found);
		REQUIRE_EQ(scan.bad_heads, 1U << i);
		REQUIRE_EQ(scan.head.run, i == disk.run % 2 ? disk.run - 1 : disk.run);
		disk.dark[i] = false;
	}
}

/* A disk reads from one end to the other, twice at most. */
static void test_order(void)
{
	u64 rng = 4;
	u32 i;

	begin();
	memset(&disk, 0, sizeof(disk));
	for (i = 0; i < 50; i++) {
		run(&rng, U32_MAX, false);
		scan_disk();
		REQUIRE(nr_back <= 1, "%u", nr_back);
	}
}

/* Between two readings of a block of a list that counts, it changes. */
static void test_fickle(void)
{
	static u8 other[4][FUSION_BLOCK_SIZE];
	struct fusion_stale_scan scan;
	u64 rng = 5;
	u32 i, k;

	begin();
	memset(&disk, 0, sizeof(disk));
	for (i = 0; i < 50; i++)
		run(&rng, U32_MAX, false);
	for (i = 0; i < PLACES; i++) {
		const u32 at = 2 + disk.copy[i] * PLACES + i;

		if (!disk.want[i])
			continue;
		/* noise; entries out of bounds; the same but for one; that of another run */
		memset(other[0], 0xff, FUSION_BLOCK_SIZE);
		for (k = 1; k < ARRAY_SIZE(other); k++)
			memcpy(other[k], disk.mem[at], FUSION_BLOCK_SIZE);
		put_le(other[1] + 98, 2, 0xffff);
		put_le(other[2] + 96, 2, !get_le(other[2] + 96, 2));
		put_le(other[3] + 32, 8, get_le(other[3] + 32, 8) - 1);
		for (k = 0; k < ARRAY_SIZE(other); k++) {
			if (k)
				reseal(other[k]);
			disk.later[at] = other[k];
			scan = scan_disk();
			REQUIRE_EQ(scan.nr_lists, scan.head.nr_lists - 1);
			REQUIRE(!fusion_stale_whole(&scan));
			REQUIRE_EQ(nr_unreadable, 1);
		}
		disk.later[at] = NULL;
	}
}

static void test_closed(void)
{
	struct fusion_stale_scan scan;
	struct fusion_sb slow;
	u64 rng = 3;

	begin();
	memset(&disk, 0, sizeof(disk));
	run(&rng, U32_MAX, false);
	scan = scan_disk();
	fusion_sb_for_slow(&sb, &slow);
	slow.flags = FUSION_SB_CLEAN;
	slow.epoch = scan.head.epoch;
	REQUIRE(fusion_stale_closed(&scan, &slow));
	slow.epoch++;
	REQUIRE(!fusion_stale_closed(&scan, &slow));
	slow.epoch--;
	slow.flags = 0;
	REQUIRE(!fusion_stale_closed(&scan, &slow));
}

static const struct unit_test tests[] = {
	{ "stale: runs cut short at each sector", test_cuts },
	{ "stale: damage", test_damage },
	{ "stale: the order in which it is read", test_order },
	{ "stale: blocks that change while they are read", test_fickle },
	{ "stale: a set that was closed", test_closed },
};

UNIT_TESTS(tests)
