// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fast member has no superblock, and a part of its journal is gone. repair does not guess: it
 * takes the replica of the last close, or refuses.
 */
#include "backup-set.h"

static void erase_blocks(struct image *im, u64 first, u64 nr)
{
	memset(im->mem[FAST] + first * FUSION_BLOCK_SIZE, 0, nr * FUSION_BLOCK_SIZE);
}

static void erase_ring(struct image *im)
{
	const struct fusion_sb *sb = &im->side[FAST].sb;

	erase_blocks(im, sb->journal_start[FAST], sb->journal_blocks[FAST]);
}

/* The slow member has seen all of the fast one, as the kernel has it at the end. */
static void close_seen(struct image *im)
{
	struct image_side *fast = &im->side[FAST], *slow = &im->side[SLOW];

	image_checkpoint(im, FAST, fast->sb.epoch, true);
	slow->sb.peer_at = (struct fusion_progress){ fast->sb.generation, fast->next_seq };
	image_checkpoint(im, SLOW, slow->sb.epoch, true);
}

static void rebuild(struct image *im, struct rebuild *rb)
{
	char *path[2] = { im->path[FAST], im->path[SLOW] };
	struct meta meta;

	REQUIRE(!fus_meta_open(2, path, false, &meta));
	REQUIRE(!fus_rebuild_state(&meta, FAST, rb));
	fus_meta_free(&meta);
}

static void expect_all(struct image *im, const struct rebuild *rb)
{
	REQUIRE(!rb->gap && !rb->nr[DOUBT_OLD] && !rb->nr[DOUBT_LOST] && !rb->missing_txns);
	for (u32 lext = 0; lext < rb->st.nr_lexts; lext++) {
		const struct meta_open *open = fus_state_open_find(&rb->st, lext);

		REQUIRE(rb->st.word[lext] == im->word[lext], "extent %u", lext);
		REQUIRE(!open || !memcmp(open->bitmap, im->bitmap[lext],
					 fusion_bitmap_bytes(FUSION_MIN_EXTENT_SECTORS)));
	}
}

/* What is wrong is told. */
static void expect_told(struct image *im, const struct rebuild *rb)
{
	for (u32 lext = 0; lext < rb->st.nr_lexts; lext++)
		REQUIRE(rb->st.word[lext] == im->word[lext] || rb->gap || rb->missing_txns ||
			rb->doubt[lext], "extent %u", lext);
}

/*
 * After a clean close the replica has all of it, whatever of its journal the fast member has lost.
 * The map copy has to prove that, since the replica may have lost its own end.
 */
static void test_closed(void)
{
	struct rebuild rb;
	struct image im;

	for (u64 seed = 1; seed <= 12; seed++) {
		const struct fusion_sb *sb = &im.side[FAST].sb;
		const bool damaged = seed % 3 == 1;

		backups_begin();
		make(&im, seed, LIFE_OPEN);
		close_seen(&im);
		forget(&im, FAST);
		if (seed % 2)
			erase_ring(&im);
		if (damaged)
			erase_blocks(&im, sb->map_start[FAST][sb->active_set], 1);
		rebuild(&im, &rb);
		REQUIRE(rb.from_replica == !damaged);
		expect_told(&im, &rb);
		if (!damaged)
			expect_all(&im, &rb);
		fus_rebuild_free(&rb);
		if (!damaged) {
			REQUIRE_EQ(run(cmd_repair, &im, NULL, false), 1);
			/* and repair writes what it can find again in the same way */
			forget(&im, FAST);
			rebuild(&im, &rb);
			REQUIRE(rb.from_replica);
			expect_all(&im, &rb);
			fus_rebuild_free(&rb);
		}
		image_free(&im);
		backups_end();
	}
}

/* A replica of a close before the last is not taken. */
static void test_earlier_close(void)
{
	struct rebuild rb;
	struct image im;
	u8 *slow;

	for (u64 seed = 20; seed < 24; seed++) {
		backups_begin();
		make(&im, seed, LIFE_OPEN);
		close_seen(&im);
		slow = malloc(im.bytes[SLOW]);
		memcpy(slow, im.mem[SLOW], im.bytes[SLOW]);
		image_activate(&im);
		image_work(&im, 10);
		if (seed % 2)
			close_seen(&im);
		memcpy(im.mem[SLOW], slow, im.bytes[SLOW]);
		free(slow);
		forget(&im, FAST);
		erase_ring(&im);
		rebuild(&im, &rb);
		REQUIRE(!rb.from_replica);
		REQUIRE(rb.gap);
		fus_rebuild_free(&rb);
		refused(cmd_repair, &im, NULL, false, FC_REFUSED, "--force to use the map as");
		image_free(&im);
		backups_end();
	}
}

/* After a crash only the journal has the last moves. */
static void test_crashed(void)
{
	struct rebuild rb;
	struct image im;
	u64 lost;

	for (u64 seed = 30; seed < 42; seed++) {
		struct image_side *fast = &im.side[FAST];

		backups_begin();
		make(&im, seed, LIFE_OPEN);
		im.side[SLOW].sb.peer_at = (struct fusion_progress){ 1, fast->next_seq };
		im.side[SLOW].sb.generation++;
		image_super(&im, SLOW);
		forget(&im, FAST);
		/* all of it is still there */
		rebuild(&im, &rb);
		REQUIRE(!rb.from_replica);
		expect_all(&im, &rb);
		fus_rebuild_free(&rb);
		switch (seed % 3) {
		case 0:
			lost = fast->next_seq - fast->last_txn_seq;
			for (u64 seq = fast->last_txn_seq; seq < fast->next_seq; seq++)
				erase_blocks(&im, fusion_journal_blocknr(&fast->sb, seq), 1);
			rebuild(&im, &rb);
			REQUIRE_EQ(rb.gap, GAP_END);
			REQUIRE_EQ(rb.gap_blocks, lost);
			break;
		case 1:
			erase_ring(&im);
			rebuild(&im, &rb);
			REQUIRE_EQ(rb.gap, GAP_END);
			break;
		default:
			/* the beginning, and all that is older */
			for (u64 seq = max(fast->next_seq, fast->sb.journal_blocks[FAST] + 1ULL) -
				       fast->sb.journal_blocks[FAST];
			     seq < fast->last_txn_seq; seq++)
				erase_blocks(&im, fusion_journal_blocknr(&fast->sb, seq), 1);
			rebuild(&im, &rb);
			REQUIRE_EQ(rb.gap, GAP_BEGIN);
		}
		fus_rebuild_free(&rb);
		refused(cmd_repair, &im, NULL, false, FC_REFUSED, "--force to use the map as");
		REQUIRE_EQ(run(cmd_repair, &im, NULL, true), 1);
		image_free(&im);
		backups_end();
	}
}

/* A set that was never opened has no journal, and nothing is missing. */
static void test_new(void)
{
	struct rebuild rb;
	struct image im;

	backups_begin();
	make(&im, 50, LIFE_NEW);
	forget(&im, FAST);
	rebuild(&im, &rb);
	expect_all(&im, &rb);
	fus_rebuild_free(&rb);
	REQUIRE_EQ(run(cmd_repair, &im, NULL, false), 1);
	image_free(&im);
	backups_end();
}

static const struct unit_test tests[] = {
	{ "closed cleanly: the replica has it", test_closed },
	{ "a replica of an earlier close", test_earlier_close },
	{ "crashed: a part of the journal is gone", test_crashed },
	{ "never opened", test_new },
};

UNIT_TESTS(tests);
