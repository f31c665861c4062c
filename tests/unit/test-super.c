// SPDX-License-Identifier: GPL-2.0-only
/* Superblocks: round trip, and what damage must not get through. */
#include <errno.h>
#include <linux/stddef.h>

#include "super.h"

/* Offset of every field: the format, spelled out once more. */
#define AT(field, offset)	static_assert(offsetof(struct fusion_super, field) == (offset))
AT(h, 0);
AT(signature, 32);
AT(version, 48);
AT(role, 52);
AT(incompat, 56);
AT(ro_compat, 64);
AT(compat, 72);
AT(generation, 80);
AT(flags, 88);
AT(epoch, 92);
AT(dev_uuid, 96);
AT(peer_uuid, 112);
AT(label, 128);
AT(self, 192);
AT(peer, 288);
AT(self_sectors, 384);
AT(peer_sectors, 392);
AT(create_time, 400);
AT(extent_sectors, 408);
AT(nr_lexts, 412);
AT(journal_start, 416);
AT(journal_blocks, 424);
AT(map_blocks, 428);
AT(map_start, 432);
AT(heat_start, 448);
AT(heat_blocks, 456);
AT(nr_fast_slots, 460);
AT(fast_data_start, 464);
AT(slow_first_slot, 472);
AT(nr_slow_slots, 476);
AT(log_start, 480);
AT(log_blocks, 488);
AT(spare_fast, 492);
AT(spare_slow, 496);
AT(layout_seq, 500);
AT(active_set, 504);
AT(replay_csum, 508);
AT(set_generation, 512);
AT(replay_seq, 520);
AT(replay_txn, 528);
AT(slow_map_start, 536);
AT(activation, 552);
AT(prev_activation, 560);
AT(peer_generation, 568);
AT(peer_seq, 576);
AT(write_time, 584);
AT(open_time, 592);
AT(host_id, 600);
AT(host_name, 616);
AT(settings_mask, 680);
AT(setting, 688);
static_assert(sizeof(struct fusion_super) == 816);
#define IN_TRANSIT(f, o) static_assert(FUSION_TRANSIT_OFFSET + \
				       offsetof(struct fusion_super_transit, f) == (o))
IN_TRANSIT(kind, 960);
IN_TRANSIT(state, 964);
IN_TRANSIT(dev, 968);
IN_TRANSIT(nr_magics, 972);
IN_TRANSIT(magic, 976);
IN_TRANSIT(disk_sectors, 1040);
IN_TRANSIT(content_id, 1048);
IN_TRANSIT(copy_csum, 1052);
IN_TRANSIT(place, 1056);
static_assert(sizeof(struct fusion_super_transit) == 112);
#define RENEWED(f, o) static_assert(FUSION_TRANSIT_OFFSET + \
				    offsetof(struct fusion_super_renewal, f) == (o))
RENEWED(kind, 960);
RENEWED(state, 964);
RENEWED(dev, 968);
RENEWED(was_set, 976);
RENEWED(was_dev, 992);
static_assert(sizeof(struct fusion_super_renewal) == 64);

static void same(const char *name, const void *a, const void *b, size_t offset, size_t size)
{
	REQUIRE(!memcmp(a + offset, b + offset, size), "%s", name);
}

static void require_same(const struct fusion_sb *a, const struct fusion_sb *b)
{
#define SAME(f)	same(#f, a, b, offsetof(struct fusion_sb, f), sizeof_field(struct fusion_sb, f))
	SAME(set_uuid);
	SAME(dev_uuid);
	SAME(peer_uuid);
	REQUIRE(!strcmp(a->label, b->label));
	SAME(self);
	SAME(peer);
	SAME(role);
	SAME(incompat);
	SAME(ro_compat);
	SAME(compat);
	SAME(generation);
	SAME(flags);
	SAME(epoch);
	SAME(self_sectors);
	SAME(peer_sectors);
	SAME(create_time);
	SAME(extent_sectors);
	SAME(nr_lexts);
	SAME(journal_start);
	SAME(journal_blocks);
	SAME(map_blocks);
	SAME(map_start);
	SAME(heat_start);
	SAME(heat_blocks);
	SAME(nr_fast_slots);
	SAME(fast_data_start);
	SAME(slow_first_slot);
	SAME(nr_slow_slots);
	SAME(spare_fast);
	SAME(spare_slow);
	SAME(active_set);
	SAME(replay_csum);
	SAME(set_generation);
	SAME(replay_seq);
	SAME(replay_txn);
	SAME(landing_slots);
	SAME(layout_seq);
	SAME(activation);
	SAME(prev_activation);
	SAME(peer_at);
	SAME(write_time);
	SAME(open_time);
	SAME(host_id);
	REQUIRE(!strcmp(a->host_name, b->host_name));
	SAME(settings_mask);
	SAME(setting);
	SAME(transit);
}

static void test_round_trip(void)
{
	struct fusion_sb sb = fast_sb(), slow, again, back;
	u8 block[FUSION_BLOCK_SIZE];
	const char *why = NULL;

	sb.generation++;
	fusion_sb_pack(&sb, 8, block);
	REQUIRE(!fusion_sb_unpack(block, 8, FAST_SECTORS, &back, &why), "%s", why);
	require_same(&sb, &back);

	fusion_sb_for_slow(&sb, &slow);
	REQUIRE_EQ(slow.role, FUSION_SLOW);
	REQUIRE_EQ(slow.self_sectors, SLOW_SECTORS);
	REQUIRE(!strcmp(slow.self.model, "slow model") && !strcmp(slow.peer.model, "fast model"));
	slow.generation++;
	fusion_sb_pack(&slow, 0, block);
	REQUIRE(!fusion_sb_unpack(block, 0, SLOW_SECTORS, &back, &why), "%s", why);
	require_same(&slow, &back);

	fusion_sb_for_slow(&slow, &again);
	again.role = FUSION_FAST;
	again.generation = sb.generation;
	require_same(&sb, &again);

	/* a label as long as can be has no NUL on disk, but one in memory */
	memset(sb.label, 'x', FUSION_LABEL_SIZE);
	sb.label[FUSION_LABEL_SIZE] = 0;
	fusion_sb_pack(&sb, 8, block);
	REQUIRE(!fusion_sb_unpack(block, 8, FAST_SECTORS, &back, &why), "%s", why);
	REQUIRE_EQ(strlen(back.label), FUSION_LABEL_SIZE);
	require_same(&sb, &back);
}

static void test_bit_flips(void)
{
	struct fusion_sb sb = fast_sb(), back;
	u8 block[FUSION_BLOCK_SIZE];
	const char *why;
	unsigned int bit;

	fusion_sb_pack(&sb, 0, block);
	for (bit = 0; bit < BLOCK_BITS; bit++) {
		const bool in_magic = bit / 32 == 1;
		int err;

		why = NULL;
		flip_bit(block, bit);
		err = fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why);
		REQUIRE(err == (in_magic ? -ENODATA : -EILSEQ) && why, "bit %u: %d", bit, err);
		flip_bit(block, bit);
	}
	REQUIRE(!fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why));
}

/* The error each kind of trouble has. */
static void test_errors(void)
{
	const struct fusion_sb sb = fast_sb();
	struct fusion_super *d;
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_sb odd, back;
	const char *why;
	u64 seed = 4;

	d = (void *)block;
	memset(block, 0, sizeof(block));
	REQUIRE_EQ(fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why), -ENODATA);
	rnd_fill(&seed, block, sizeof(block));
	REQUIRE_EQ(fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why), -ENODATA);

	fusion_sb_pack(&sb, 0, block);
	REQUIRE_EQ(fusion_sb_unpack(block, 8, FAST_SECTORS, &back, &why), -EILSEQ);
	/* each generation has its copy */
	fusion_sb_pack(&sb, 8, block);
	REQUIRE_EQ(fusion_sb_unpack(block, 8, FAST_SECTORS, &back, &why), -EILSEQ);
	REQUIRE(strstr(why, "other copy"));
	odd = sb;
	odd.generation++;
	fusion_sb_pack(&odd, 0, block);
	REQUIRE_EQ(fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why), -EILSEQ);
	fusion_sb_pack(&odd, 8, block);
	REQUIRE_EQ(fusion_sb_unpack(block, 8, FAST_SECTORS, &back, &why), 0);
	fusion_sb_pack(&sb, 0, block);
	REQUIRE_EQ(fusion_sb_unpack(block, 0, FAST_SECTORS - 1, &back, &why), -ENOSPC);
	REQUIRE_EQ(fusion_sb_unpack(block, 0, 0, &back, &why), -ENOSPC);
	REQUIRE_EQ(fusion_sb_unpack(block, 0, U64_MAX, &back, &why), 0);

	fusion_sb_pack(&sb, 0, block);
	d->signature[15] ^= 1;
	reseal(block);
	REQUIRE_EQ(fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why), -EILSEQ);

	fusion_sb_pack(&sb, 0, block);
	d->label[FUSION_LABEL_SIZE - 1] = 'x';
	reseal(block);
	REQUIRE_EQ(fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why), -EILSEQ);
}

/* What only another version knows is refused, or said, by name. */
static void test_unknown(void)
{
	static const char newer[] = "has features of a newer version: ";
	static const struct {
		u32 version;
		u64 incompat;
		u32 flags;
		u64 ro_compat;
		int err;
		const char *text;
	} cases[] = {
		{ 2, 0, FUSION_SB_CLEAN | FUSION_SB_NEEDS_CHECK, 0, 0, "" },
		{ 3, 0, 0, 0, -EPROTONOSUPPORT,
		  "has format version 3, the newest that is supported is 2" },
		{ U32_MAX, ~0ULL, ~0U, ~0ULL, -EPROTONOSUPPORT,
		  "has format version 4294967295, the newest that is supported is 2" },
		{ 1, 1, 0, 0, -EPROTONOSUPPORT,
		  "has format version 1, from before the first release" },
		{ 0, 0, 0, 0, -EPROTONOSUPPORT,
		  "has format version 0, from before the first release" },
		{ 2, 1ULL << 63, 8, 1, -EPROTONOSUPPORT, "incompat 0x8000000000000000" },
		{ 2, 0x20, 0, 0, -EPROTONOSUPPORT, "incompat 0x20" },
		{ 2, 0x10, 0, 0, -EPROTONOSUPPORT, "incompat 0x10 (landing log)" },
		{ 2, ~0ULL, 0, 0, -EPROTONOSUPPORT,
		  "incompat 0xfffffffffffffff2 (disk in transit, landing log)" },
		{ 2, 3, 0, 0, -EPROTONOSUPPORT, "incompat 0x2 (disk in transit)" },
		{ 2, 0, 0x80000005, 1, -EPROTONOSUPPORT, "flags 0x80000004" },
		{ 2, 0, 1, 1ULL << 62, 0, "ro_compat 0x4000000000000000" },
	};
	struct fusion_sb sb = fast_sb(), back;
	char text[FUSION_UNKNOWN_TEXT];
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_super *d = (struct fusion_super *)block;
	const char *why;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *wanted = cases[i].text;

		fusion_sb_pack(&sb, 0, block);
		d->version = cpu_to_le32(cases[i].version);
		d->incompat = cpu_to_le64(cases[i].incompat);
		d->flags = cpu_to_le32(cases[i].flags);
		d->ro_compat = cpu_to_le64(cases[i].ro_compat);
		d->compat = cpu_to_le64(~0ULL);
		reseal(block);
		REQUIRE_EQ(fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why), cases[i].err);
		memset(text, 'x', sizeof(text));
		fusion_sb_unknown(&back, text);
		if (cases[i].version == FUSION_VERSION && *wanted) {
			REQUIRE(!strncmp(text, newer, sizeof(newer) - 1), "%s", text);
			memmove(text, text + sizeof(newer) - 1, sizeof(text) - sizeof(newer) + 1);
		}
		REQUIRE(!strcmp(text, wanted), "'%s' instead of '%s'", text, wanted);
	}
}

/* What is just possible is accepted. */
static void test_limits(void)
{
	struct fusion_sb sb = fast_sb(), back;
	u8 block[FUSION_BLOCK_SIZE];
	const char *why = NULL;

	sb.spare_fast = 1;
	sb.spare_slow = sb.nr_slow_slots - 1;
	sb.nr_lexts = sb.nr_fast_slots;
	sb.generation = 1ULL << 62;
	sb.set_generation = 1ULL << 62;
	sb.replay_seq = 1ULL << 62;
	sb.replay_txn = 1ULL << 62;
	sb.epoch = U32_MAX - 1;
	fusion_sb_pack(&sb, 0, block);
	REQUIRE(!fusion_sb_unpack(block, 0, FAST_SECTORS, &back, &why), "%s", why);
	require_same(&sb, &back);
}

/* Logical blocks that a member may have: the kernel, and create, ask the same. */
static void test_block_size(void)
{
	static const u32 fits[] = { 512, 1024, 2048, 4096 };
	static const u32 too_large[] = { 8192, 16384, 32768, 65536 };

	for (unsigned int i = 0; i < ARRAY_SIZE(fits); i++) {
		REQUIRE(fusion_block_size_fits(fits[i]));
		REQUIRE(!fusion_block_size_fits(too_large[i]));
	}
}

static const struct unit_test tests[] = {
	{ "super: round trip", test_round_trip },
	{ "super: every single bit flip is found", test_bit_flips },
	{ "super: errors by kind", test_errors },
	{ "super: what is unknown is named", test_unknown },
	{ "super: extreme values that are possible", test_limits },
	{ "super: logical blocks of a member", test_block_size },
};

UNIT_TESTS(tests)
