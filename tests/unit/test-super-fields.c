// SPDX-License-Identifier: GPL-2.0-only
/* Superblocks: any number in any field leads to no impossible geometry. */
#include <errno.h>
#include <linux/stddef.h>

#include "geometry.h"
#include "super.h"

/* Numbers in the superblock; @free ones may have any value. */
static const struct field {
	const char *name;
	unsigned int offset;
	unsigned int size;
	bool free;
} fields[] = {
#define FIELD(f, any)	{ #f, offsetof(struct fusion_super, f), \
			  sizeof_field(struct fusion_super, f), any }
	FIELD(h.blocknr, false),
	FIELD(version, false),
	FIELD(role, false),
	FIELD(incompat, false),
	FIELD(ro_compat, true),
	FIELD(compat, true),
	FIELD(generation, false),
	FIELD(flags, false),
	FIELD(epoch, false),
	FIELD(self_sectors, false),
	FIELD(peer_sectors, false),
	FIELD(create_time, true),
	FIELD(extent_sectors, false),
	FIELD(nr_lexts, false),
	FIELD(journal_start, false),
	FIELD(journal_blocks, false),
	FIELD(map_blocks, false),
	FIELD(map_start[0], false),
	FIELD(map_start[1], false),
	FIELD(heat_start, false),
	FIELD(heat_blocks, false),
	FIELD(nr_fast_slots, false),
	FIELD(fast_data_start, false),
	FIELD(slow_first_slot, false),
	FIELD(nr_slow_slots, false),
	FIELD(log_start, false),
	FIELD(log_blocks, false),
	FIELD(spare_fast, false),
	FIELD(spare_slow, false),
	FIELD(active_set, false),
	FIELD(replay_csum, true),
	FIELD(set_generation, false),
	FIELD(replay_seq, false),
	FIELD(replay_txn, false),
	FIELD(layout_seq, true),
	FIELD(slow_map_start[0], false),
	FIELD(slow_map_start[1], false),
	FIELD(activation, true),
	FIELD(prev_activation, true),
	FIELD(peer_generation, false),
	FIELD(peer_seq, false),
	FIELD(write_time, true),
	FIELD(open_time, true),
	FIELD(settings_mask, true),
	FIELD(setting[0], true),
	FIELD(setting[31], true),
};

/* Edge values for a number that was @old. */
static u64 edge_value(unsigned int n, u64 old, const u8 *block)
{
	static const u64 fixed[] = {
		0, 1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 1011, 1012, 1013,
		2047, 2048, 2049, 16384, 16385, 32768, 65535, 65536,
		(1U << 28) - 1, 1U << 28, (1U << 28) + 1, (1U << 29) - 2, (1U << 29) - 1,
		1U << 29, 1U << 30, (1U << 31) - 1, 1U << 31, U32_MAX - 1, U32_MAX,
		1ULL << 32, 1ULL << 43, 1ULL << 49, 1ULL << 52, (1ULL << 52) + 1,
		1ULL << 54, 1ULL << 55, 1ULL << 60, 1ULL << 61, 1ULL << 62, (1ULL << 62) + 1,
		1ULL << 63, U64_MAX - 2048, U64_MAX - 8, U64_MAX - 1, U64_MAX,
	};
	const struct field *f;

	if (n < ARRAY_SIZE(fixed))
		return fixed[n];
	n -= ARRAY_SIZE(fixed);
	switch (n) {
	case 0: return old - 1;
	case 1: return old + 1;
	case 2: return old / 2;
	case 3: return old * 2;
	case 4: return old ^ 128;
	case 5: return -old;
	}
	/* another field's number, in blocks or in sectors */
	n -= 6;
	f = &fields[n / 3 % ARRAY_SIZE(fields)];
	old = get_le(block + f->offset, f->size);
	return n % 3 == 0 ? old : n % 3 == 1 ? old * 8 : old / 8;
}

#define NR_EDGES	(51 + 6 + 3 * ARRAY_SIZE(fields))

/*
 * What a superblock says that is accepted must be possible, and must not lead
 * out of the device. Return: was it accepted?
 */
static bool accepted(const u8 *block, u64 dev_sectors)
{
	struct fusion_sb sb;
	const char *why = NULL;
	const int err = fusion_sb_unpack(block, 0, dev_sectors, &sb, &why);

	if (err) {
		REQUIRE(why);
		REQUIRE(err == -EILSEQ || err == -EPROTONOSUPPORT || err == -ENOSPC, "%d", err);
		return false;
	}
	REQUIRE(sb.role <= FUSION_SLOW && sb.self_sectors <= dev_sectors);
	why = geometry_wrong(&sb);
	REQUIRE(!why, "%s", why);
	REQUIRE(sb.generation && sb.set_generation && sb.replay_seq && sb.replay_txn);
	REQUIRE(sb.active_set <= 1);
	REQUIRE(sb.generation + 1 < 1ULL << 63 && sb.replay_seq + 16384 < 1ULL << 63);
	REQUIRE(sb.epoch + 1 > sb.epoch);
	REQUIRE(!(sb.incompat & ~FUSION_INCOMPAT_KNOWN));
	return true;
}

static void mutate_one(const struct fusion_sb *sb)
{
	u8 block[FUSION_BLOCK_SIZE], orig[FUSION_BLOCK_SIZE];
	unsigned int i, n;

	fusion_sb_pack(sb, 0, orig);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];
		const u64 old = get_le(orig + f->offset, f->size);
		unsigned int rejected = 0;

		for (n = 0; n < NR_EDGES; n++) {
			memcpy(block, orig, sizeof(block));
			put_le(block + f->offset, f->size, edge_value(n, old, orig));
			reseal(block);
			if (!accepted(block, sb->self_sectors))
				rejected++;
		}
		REQUIRE(f->free ? !rejected : rejected > 0, "%s: %u rejected", f->name, rejected);
	}
}

static void test_mutate_one(void)
{
	struct fusion_sb sb = fast_sb(), slow;

	fusion_sb_for_slow(&sb, &slow);
	mutate_one(&sb);
	mutate_one(&slow);
	example_sb(&sb, 8192, 8192, 128);
	sb.generation = 1002;
	fusion_sb_for_slow(&sb, &slow);
	mutate_one(&sb);
	mutate_one(&slow);
}

/* Two to five fields at once: numbers that are wrong together may look right one by one. */
static void test_mutate_many(void)
{
	struct fusion_sb sb = fast_sb();
	u8 block[FUSION_BLOCK_SIZE], orig[FUSION_BLOCK_SIZE];
	unsigned int i, k, nr_accepted = 0;
	u64 seed = 5;

	fusion_sb_pack(&sb, 0, orig);
	for (i = 0; i < 200000; i++) {
		memcpy(block, orig, sizeof(block));
		for (k = 2 + rnd_below(&seed, 4); k; k--) {
			const struct field *f = &fields[rnd_below(&seed, ARRAY_SIZE(fields))];
			const u64 old = get_le(block + f->offset, f->size);

			put_le(block + f->offset, f->size,
			       edge_value(rnd_below(&seed, NR_EDGES), old, block));
		}
		reseal(block);
		/* the device may be of any size when all its superblock says is doubted */
		nr_accepted += accepted(block, i % 2 ? sb.self_sectors : 1ULL << 55);
	}
	REQUIRE(nr_accepted > 100, "%u", nr_accepted);
}

static const struct unit_test tests[] = {
	{ "super: edge values in each field", test_mutate_one },
	{ "super: edge values in several fields at once", test_mutate_many },
};

UNIT_TESTS(tests)
