// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disks with content that become members: power fails in every write, and of what was not flushed
 * by then, any sectors are lost. After each failure there is the disk as it was, or a set that can
 * be completed and can be undone; that is judged by the bytes, and by what libblkid recognises.
 */
#include "unit.h"
#include "transit-judge.h"

#include "fusionctl.h"
#include "error.h"
#include "probe.h"
#include "transit.h"

/* -- what adopt does ------------------------------------------------------------------------- */

static bool plan(const struct kind *k, struct transit *t)
{
	struct fusion_misfit misfit;
	struct fus_content c;
	struct fusion_sb sb;

	example_sb(&sb, k->sectors[FAST], k->sectors[SLOW], k->extent_sectors);
	sb.compat = 0;
	sb.ro_compat = 0;
	sb.epoch = 0;
	sb.flags = FUSION_SB_CLEAN;
	sb.active_set = 0;
	sb.set_generation = 1;
	sb.replay_seq = 1;
	sb.replay_txn = 1;
	sb.replay_csum = 0;
	REQUIRE(!fusion_sb_plan_landing(&sb, k->landing, &misfit), "%s", misfit.what);
	look(k->disk, &c);
	REQUIRE(c.nr == k->magics, "%s: %s, %u", k->type, c.text, c.nr);
	memset(t, 0, sizeof(*t));
	for (int dev = 0; dev < 2; dev++)
		t->o[dev] = device(k, dev);
	return fus_transit_plan(t, &sb, k->disk, &c);
}

static int adopt(const struct kind *k)
{
	struct transit t;
	int rc;

	REQUIRE(plan(k, &t));
	rc = fus_transit_prepare(&t);
	if (!rc)
		rc = fus_transit_commit(&t);
	return rc ? rc : fus_transit_finish(&t);
}

static bool reread(const struct kind *k, struct transit *t, enum transit_at *at)
{
	memset(t, 0, sizeof(*t));
	t->o[0] = device(k, k->disk);
	t->o[1] = device(k, !k->disk);
	if (fus_transit_read(t, FUSION_TRANSIT_ADOPT))
		return false;
	REQUIRE(t->disk == k->disk && t->o[k->disk].fd == world.fd[k->disk]);
	REQUIRE(!fus_transit_judge(t, at), "%s %s", fus_last_error()->subject,
		fus_last_error()->what);
	return true;
}

/* If the disk is a member by itself, as salvage sees it, then with its map. */
static void require_no_half_member(const struct kind *k)
{
	static u32 words[FUSION_MAP_PER_BLOCK];
	struct fusion_sb sb;
	const char *why;

	if (!is_member(k, k->disk, &sb))
		return;
	for (u32 i = 0; i < sb.map_blocks; i++)
		REQUIRE(!fusion_map_unpack(&sb, sb.active_set, i, sb.set_generation,
					   world.mem[k->disk] + (sb.map_start[k->disk][0] + i) *
					   FUSION_BLOCK_SIZE, words, &why), "%s", why);
}

/* Once an undoing has discarded the other member, or before there is one. */
static void require_untouched(const struct kind *k)
{
	REQUIRE(disk_is_as_it_was(k));
	require_recognised(k);
}

/*
 * After a failure: go on or back, and perhaps fail again in that. Return: whether it has ended.
 */
static bool go_on(const struct kind *k, bool back, unsigned int writes)
{
	enum transit_at at;
	struct fusion_sb sb;
	struct transit t;
	int rc;

	power_on(~0U);
	if (!reread(k, &t, &at)) {
		if (is_member(k, !k->disk, &sb))
			require_set(k, true);
		else
			require_untouched(k);
		return true;
	}
	require_no_half_member(k);
	if (at == TRANSIT_THERE)
		require_untouched(k);
	else if (at == TRANSIT_GONE)
		require_nothing(k->disk);
	power_on(writes);
	rc = at == TRANSIT_THERE ? fus_transit_discard(&t) :
	     back ? fus_transit_undo(&t) : fus_transit_resume(&t, at);
	if (world.dead)
		return false;
	REQUIRE(!rc, "%s %s", fus_last_error()->subject, fus_last_error()->what);
	if (at == TRANSIT_THERE || back)
		require_untouched(k);
	else
		require_set(k, false);
	return true;
}

/* -- tests ----------------------------------------------------------------------------------- */

static void test_whole(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *k = &kinds[i];
		enum transit_at at;
		struct transit t;

		begin(k, i);
		reset(k);
		REQUIRE(!adopt(k), "%s: %s", k->type, fus_last_error()->what);
		require_set(k, false);
		require_cleared(k);
		/* it has ended: there is no way back, and nothing to finish */
		REQUIRE(!reread(k, &t, &at));
		end();
	}
}

/* In every write, and while it goes on or back, in any. */
static void test_cut(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *k = &kinds[i];
		unsigned int writes;

		begin(k, i);
		reset(k);
		REQUIRE(!adopt(k));
		writes = world.writes;
		for (unsigned int n = i % k->step; n < writes; n += k->step) {
			unsigned int more = 0;

			reset(k);
			power_on(n);
			REQUIRE(adopt(k) && world.dead);
			while (!go_on(k, rnd_below(&world.seed, 2), more < 3 ?
				      rnd_below(&world.seed, 50) : ~0U))
				more++;
			power_on(~0U);
		}
		end();
	}
}

/* After each of the last writes, in each write of the way back. */
static void test_cut_back(void)
{
	const struct kind *k = &kinds[0];
	unsigned int writes, n, m;

	begin(k, 78);
	reset(k);
	REQUIRE(!adopt(k));
	writes = world.writes;
	for (n = writes - 5; n < writes; n++) {
		/* the last one may end it: more tries for what follows */
		for (m = 0; m < (n + 1 < writes ? 50 : 150); m++) {
			reset(k);
			power_on(n);
			REQUIRE(adopt(k) && world.dead);
			if (!go_on(k, true, m < 50 ? m : 35 + m % 15))
				REQUIRE(go_on(k, m & 1, ~0U));
		}
	}
	end();
}

/* What differs once it was copied is noticed, before anything is written to the disk. */
static void test_verified(void)
{
	const struct kind *k = &kinds[0];
	struct transit t;
	unsigned int last;

	begin(k, 79);
	reset(k);
	REQUIRE(plan(k, &t) && !fus_transit_prepare(&t));
	/* after it come both superblocks */
	last = world.writes - 3;
	for (unsigned int i = 0; i < 5; i++) {
		const u32 nr = i < 4 ? i % 2 * (t.moved - 1) : 0;
		const u64 copy = fus_transit_copy_sector(&t, nr) << 9;
		const u64 at = (u64)fus_transit_lext(&t, nr) * t.sb.extent_sectors << 9;

		reset(k);
		world.rots = i < 2 ? world.mem[SLOW] + at : i < 4 ? world.mem[FAST] + copy :
			     world.mem[FAST] + t.sb.map_start[FAST][0] * FUSION_BLOCK_SIZE;
		world.rots_after = last;
		REQUIRE(plan(k, &t));
		REQUIRE_EQ(fus_transit_prepare(&t),
			   i < 2 ? FC_BUSY : i < 4 ? FC_DAMAGED : FC_FAILED);
		REQUIRE_EQ(world.writes, last + 1);
		world.rots = NULL;
	}
	end();
}

/* At each point where all is durable, both ways lead out. */
static void test_both_ways(void)
{
	const struct kind *k = &kinds[0];

	begin(k, 77);
	for (unsigned int from = 0; from < 3; from++) {
		for (int back = 0; back < 2; back++) {
			struct transit t;

			reset(k);
			REQUIRE(plan(k, &t) && !fus_transit_prepare(&t));
			if (from)
				REQUIRE(!fus_transit_commit(&t));
			if (from > 1) {
				power_on(8 + back);
				REQUIRE(fus_transit_finish(&t));
			}
			REQUIRE(go_on(k, back, ~0U));
			REQUIRE(disk_is_as_it_was(k) == (back || !from));
		}
	}
	end();
}

/* The disk may be used as long as it is recognised; what was copied is worth nothing then. */
static void test_used_meanwhile(void)
{
	const struct kind *k = &kinds[0];
	enum transit_at at;
	struct transit t;

	begin(k, 5);
	reset(k);
	REQUIRE(plan(k, &t) && !fus_transit_prepare(&t));
	world.mem[SLOW][1024 + 0x34] ^= 1;	/* mounted once more */
	world.mem[SLOW][100000] ^= 1;
	REQUIRE(reread(k, &t, &at));
	REQUIRE_EQ(at, TRANSIT_THERE);
	REQUIRE(!fus_transit_discard(&t) && !reread(k, &t, &at));
	world.mem[SLOW][1024 + 0x34] ^= 1;
	world.mem[SLOW][100000] ^= 1;
	require_untouched(k);
	end();
}

/* Another disk, or a disk that was written to when it had no signature, is left alone. */
static void test_another_disk(void)
{
	static const u64 places[] = { 0, 4096, 60000, 1 << 20, (16 << 20) + 36 * 512 };
	const struct kind *k = &kinds[0];
	enum transit_at at;
	struct transit t;

	begin(k, 6);
	for (unsigned int i = 0; i < ARRAY_SIZE(places); i++) {
		const u64 byte = places[i];
		bool head = byte < (1 << 20), tail = byte >= (16 << 20);

		reset(k);
		REQUIRE(plan(k, &t) && !fus_transit_prepare(&t) && !fus_transit_commit(&t));
		world.mem[SLOW][byte] ^= 1;
		memset(&t, 0, sizeof(t));
		t.o[0] = device(k, SLOW);
		t.o[1] = device(k, FAST);
		REQUIRE(!fus_transit_read(&t, FUSION_TRANSIT_ADOPT));
		/* not compared: block 0, for a superblock of the set, and what was not copied */
		REQUIRE_EQ(!!fus_transit_judge(&t, &at), (head && byte >= 4096) || tail);
	}
	/* of another size; and the two devices swapped */
	reset(k);
	REQUIRE(plan(k, &t) && !fus_transit_prepare(&t));
	t.o[0] = device(k, SLOW);
	t.o[1] = device(k, FAST);
	t.o[0].sectors--;
	REQUIRE_EQ(fus_transit_read(&t, FUSION_TRANSIT_ADOPT), FC_MEMBER);
	t.o[0] = device(k, FAST);
	t.o[1] = device(k, SLOW);
	REQUIRE_EQ(fus_transit_read(&t, FUSION_TRANSIT_ADOPT), FC_MEMBER);
	end();
}

/* What a program writes to the disk that repairs its file system is not its content. */
static void test_signature_again(void)
{
	const struct kind *k = &kinds[0];
	enum transit_at at;
	struct transit t;

	begin(k, 8);
	for (unsigned int i = 0; i < 6; i++) {
		reset(k);
		REQUIRE(plan(k, &t) && !fus_transit_prepare(&t) && !fus_transit_commit(&t));
		power_on(6 + i / 2);
		REQUIRE(fus_transit_finish(&t));
		power_on(~0U);
		memcpy(world.mem[SLOW] + 1024, world.disk + 1024, 1024);
		/* group descriptors, over the other superblock */
		if (i % 2)
			memset(world.mem[SLOW] + 4096, 0xa5, 65536);
		require_recognised(k);
		REQUIRE(reread(k, &t, &at));
		REQUIRE(at == TRANSIT_GONE && fus_transit_again(&t));
		REQUIRE(!fus_transit_undo(&t), "%s", fus_last_error()->what);
		require_untouched(k);
	}
	end();
}

/* Copies that the other member does not return are not written anywhere. */
static void test_bad_copies(void)
{
	const struct kind *k = &kinds[0];
	enum transit_at at;
	struct transit t;
	u8 *before;

	begin(k, 7);
	reset(k);
	REQUIRE(plan(k, &t) && !fus_transit_prepare(&t) && !fus_transit_commit(&t));
	power_on(4);
	REQUIRE(fus_transit_finish(&t));
	power_on(~0U);
	world.mem[FAST][(fus_transit_copy_sector(&t, 3) << 9) + 1000] ^= 1;
	before = malloc(world.bytes[SLOW]);
	memcpy(before, world.mem[SLOW], world.bytes[SLOW]);
	REQUIRE(reread(k, &t, &at));
	REQUIRE_EQ(at, TRANSIT_GONE);
	REQUIRE_EQ(fus_transit_resume(&t, at), FC_DAMAGED);
	REQUIRE_EQ(fus_transit_undo(&t), FC_DAMAGED);
	REQUIRE(!memcmp(before, world.mem[SLOW], world.bytes[SLOW]));
	free(before);
	end();
}

static const struct unit_test tests[] = {
	{ "transit: a disk becomes a member", test_whole },
	{ "transit: power fails in any write, and again", test_cut },
	{ "transit: power fails in each write of the way back", test_cut_back },
	{ "transit: what was copied is read back", test_verified },
	{ "transit: from each step on and back", test_both_ways },
	{ "transit: the disk is used while it is prepared", test_used_meanwhile },
	{ "transit: another disk, or one that was written to", test_another_disk },
	{ "transit: a signature is there again", test_signature_again },
	{ "transit: copies that are damaged", test_bad_copies },
};

UNIT_TESTS(tests)
