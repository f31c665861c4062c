// SPDX-License-Identifier: GPL-2.0-only
/* Superblocks: round trip, and what damage must not get through. */
#include <errno.h>
#include <linux/stddef.h>

#include "geometry.h"
#include "unit.h"

#define FAST_SECTORS	(512ULL << 11)
#define SLOW_SECTORS	((4096ULL << 11) + 5)

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

static struct fusion_sb fast_sb(void)
{
	struct fusion_sb sb;

	example_sb(&sb, FAST_SECTORS, SLOW_SECTORS, 2048);
	sb.generation = 1002;
	sb.layout_seq = 3;
	sb.activation = 0x1234567890abcdef;
	sb.prev_activation = 0xfedcba9876543210;
	sb.peer_at = (struct fusion_progress){ 71, 72 };
	sb.write_time = 1764000000;
	sb.open_time = 1763000000;
	memset(sb.host_id, 0x42, sizeof(sb.host_id));
	strcpy(sb.host_name, "desk");
	sb.settings_mask = 5;
	sb.setting[2] = 4711;
	return sb;
}

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
		  "incompat 0xffffffffffffffff (member being replaced, disk in transit, "
		  "lost blocks, shadow copies, landing log)" },
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

static void test_match(void)
{
	const struct fusion_sb fast = fast_sb();
	struct fusion_sb slow, a, b;
	const char *why = NULL;

	fusion_sb_for_slow(&fast, &slow);
	slow.flags &= ~FUSION_SB_CLEAN;
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);

	REQUIRE_EQ(fusion_sb_match(&slow, &fast, &why), -EXDEV);
	REQUIRE(strstr(why, "swapped"));
	REQUIRE_EQ(fusion_sb_match(&fast, &fast, &why), -EXDEV);
	REQUIRE_EQ(fusion_sb_match(&slow, &slow, &why), -EXDEV);

#define MISMATCH(change, error) do {					\
	a = fast;							\
	b = slow;							\
	change;								\
	why = NULL;							\
	REQUIRE_EQ(fusion_sb_match(&a, &b, &why), error);		\
	REQUIRE(why);							\
} while (0)
	MISMATCH(b.set_uuid[15] ^= 1, -EXDEV);
	MISMATCH(b.dev_uuid[0] ^= 1, -EXDEV);
	MISMATCH(b.peer_uuid[0] ^= 1, -EXDEV);
	MISMATCH(a.dev_uuid[0] ^= 1, -EXDEV);
	MISMATCH(a.peer_uuid[0] ^= 1, -EXDEV);
	MISMATCH(a.extent_sectors *= 2, -EXDEV);
	MISMATCH(a.nr_lexts--, -EXDEV);
	MISMATCH(a.map_start[FUSION_FAST][1]++, -EXDEV);
	MISMATCH(b.spare_slow++, -EXDEV);
	MISMATCH(b.self_sectors--, -EXDEV);
	MISMATCH(b.peer_sectors--, -EXDEV);
	MISMATCH(b.epoch--, -ESTALE);
	MISMATCH(b.epoch += 2, -ESTALE);
	MISMATCH(a.epoch++, -ESTALE);
	/* closed in order since: with another fast member */
	MISMATCH(b.epoch++; b.flags |= FUSION_SB_CLEAN, -ESTALE);
	MISMATCH(b.epoch++; b.flags |= FUSION_SB_CLEAN; b.prev_activation = b.activation, -ESTALE);
	REQUIRE(strstr(why, "the fast member is from before"));
	MISMATCH(b.epoch += 2; b.prev_activation = b.activation, -ESTALE);
	MISMATCH(a.epoch++; b.prev_activation = b.activation, -ESTALE);
	REQUIRE(strstr(why, "the slow member is from before"));
	MISMATCH(b.layout_seq++, -EXDEV);
	/* the same number of activations, but others */
	MISMATCH(a.activation++, -ESTALE);
	MISMATCH(b.activation++, -ESTALE);
	MISMATCH(b.epoch++, -ESTALE);

	/* the slow member's superblock is written first, with the epoch to come */
	slow.epoch++;
	slow.prev_activation = slow.activation;
	slow.activation = 99;
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);
	/* state that is the fast member's alone does not matter */
	slow.active_set = 0;
	slow.replay_seq = 5;
	slow.generation = 2;
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);
	slow.epoch--;
	slow.activation = slow.prev_activation;
	slow.flags |= FUSION_SB_CLEAN;
	REQUIRE(!fusion_sb_match(&fast, &slow, &why), "%s", why);
}

static void test_reached(void)
{
	struct fusion_progress claim = { 1002, 50 };
	struct fusion_sb fast = fast_sb(), slow;

	fusion_sb_for_slow(&fast, &slow);
	fast.flags &= ~FUSION_SB_CLEAN;
	slow.flags &= ~FUSION_SB_CLEAN;
	REQUIRE(fusion_sb_reached(&fast, false, 50, &claim));
	REQUIRE(fusion_sb_reached(&slow, false, 50, &claim));
	REQUIRE(fusion_sb_reached(&slow, false, 51, &claim));
	REQUIRE(!fusion_sb_reached(&fast, false, 49, &claim));
	REQUIRE(!fusion_sb_reached(&slow, false, 49, &claim));

	/* the newer copy may be the one that is damaged; never two of them */
	claim.generation = 1003;
	REQUIRE(!fusion_sb_reached(&fast, false, 50, &claim));
	REQUIRE(fusion_sb_reached(&fast, true, 50, &claim));
	REQUIRE(!fusion_sb_reached(&slow, true, 49, &claim));
	claim.generation = 1004;
	REQUIRE(!fusion_sb_reached(&fast, true, 50, &claim));

	/* where the log of a member ends that was closed in order is of no interest */
	claim.generation = 1002;
	fast.flags |= FUSION_SB_CLEAN;
	slow.flags |= FUSION_SB_CLEAN;
	REQUIRE(fusion_sb_reached(&slow, false, 1, &claim));
	REQUIRE(!fusion_sb_reached(&fast, false, 1, &claim));
	claim.generation = 1003;
	REQUIRE(!fusion_sb_reached(&slow, false, 50, &claim));
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
	{ "super: edge values in each field", test_mutate_one },
	{ "super: edge values in several fields at once", test_mutate_many },
	{ "super: members that are one set, or not", test_match },
	{ "super: logical blocks of a member", test_block_size },
	{ "super: a member that has got as far as the other one saw", test_reached },
};

UNIT_TESTS(tests)
