// SPDX-License-Identifier: GPL-2.0-only
/* A map, or a replica, rebuilt from a replica that names shadows. */
#include "cut.h"
#include "meta-base.h"
#include "shadow-set.h"

static void zero(struct image *im, int dev, u64 block)
{
	memset(im->mem[dev] + block * FUSION_BLOCK_SIZE, 0, FUSION_BLOCK_SIZE);
}

/* The map and its journal are gone: only the replica is left. */
static void lose_map(struct image *im)
{
	const struct fusion_sb *sb = &im->side[FAST].sb;

	for (u32 i = 0; i < sb->map_blocks; i++)
		for (int set = 0; set < FUSION_NR_SETS; set++)
			zero(im, FAST, sb->map_start[FAST][set] + i);
	for (u32 i = 0; i < sb->journal_blocks[FAST]; i++)
		zero(im, FAST, sb->journal_start[FAST] + i);
}

/* How the activation ended. Only what is handed over has what the extent has. */
enum end { CRASHED, CLOSED, HANDED_OVER, NR_ENDS };

/* The slot of its shadow has become the place of the extent. */
static void lies_in_shadow(const struct rebuild *rb, u32 lext, u32 shadow, enum doubt doubt)
{
	REQUIRE_EQ(rb->st.word[lext], fusion_word_set_state(shadow, FUSION_STABLE));
	REQUIRE_EQ(rb->doubt[lext], doubt);
}

/*
 * A shadow that is handed over has what the extent has, and one of another clean close what it had
 * at the last point. Nothing else is the place of one.
 */
static void from_replica(void)
{
	static struct image im;
	u32 n[NR_ENDS][2] = { 0 };

	for (int end = CRASHED; end < NR_ENDS; end++) {
		struct rebuild rb;
		struct meta meta;

		make(&im, 90 + end, end != CRASHED);
		if (end == HANDED_OVER)
			image_hand_over(&im);
		lose_map(&im);
		open_image(&im, &meta);
		REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
		REQUIRE_EQ(rb.replica_same, end != CRASHED);
		for (u32 i = 0; i < rb.st.nr_lexts; i++) {
			const u32 shadow = im.shadow[i];

			if (!shadow)
				continue;
			if (end != CRASHED && fusion_word_state(shadow) == (u32)FUSION_SHADOW) {
				lies_in_shadow(&rb, i, shadow, end == HANDED_OVER ? DOUBT_NONE :
										    DOUBT_OLD);
				n[end][1]++;
			} else {
				REQUIRE_EQ(rb.st.word[i], FUSION_WORD_UNMAPPED);
				REQUIRE_EQ(rb.doubt[i], DOUBT_LOST);
				n[end][0]++;
			}
		}
		REQUIRE(n[end][0] && !n[end][1] == (end == CRASHED));
		REQUIRE(!fus_any_shadow(rb.st.word, rb.st.nr_lexts));
		REQUIRE(fus_state_check(&rb.st, fus_meta_sb(&meta, FAST), NULL));
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
		image_free(&im);
	}
}

/* A superblock that nobody can read may be a later one, by which nothing was handed over. */
static void single_superblock(void)
{
	static struct image im;

	for (int dev = 0; dev < 2; dev++) {
		struct rebuild rb;
		struct meta meta;
		u32 n = 0;

		make(&im, 95, true);
		image_hand_over(&im);
		lose_map(&im);
		zero(&im, dev, FUSION_SUPER_BLOCKNR(!(im.side[dev].sb.generation & 1)));
		open_image(&im, &meta);
		REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
		for (u32 i = 0; i < rb.st.nr_lexts; i++)
			if (im.shadow[i] && fusion_word_state(im.shadow[i]) == (u32)FUSION_SHADOW) {
				lies_in_shadow(&rb, i, im.shadow[i], DOUBT_OLD);
				n++;
			}
		REQUIRE(n);
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
		image_free(&im);
	}
}

/*
 * The active map copy is damaged, and of the journal before it nothing is left. The older map copy
 * knows fast slots, which may be out of date; a shadow that was handed over is better.
 */
static void with_older_copy(void)
{
	static struct image im;
	const struct fusion_sb *sb = &im.side[FAST].sb;
	u32 n[NR_ENDS][3] = { 0 };

	for (int end = CRASHED; end < NR_ENDS; end++) {
		struct rebuild rb;
		struct meta meta;
		u32 *before;

		make(&im, 100 + end, false);
		before = malloc(sb->nr_lexts * sizeof(*before));
		image_checkpoint(&im, FAST, sb->epoch, false);
		memcpy(before, im.word, sb->nr_lexts * sizeof(*before));
		image_work(&im, 8);
		if (end == CRASHED)
			image_checkpoint(&im, FAST, sb->epoch, false);
		else
			image_close(&im);
		if (end == HANDED_OVER)
			image_hand_over(&im);
		zero(&im, FAST, sb->map_start[FAST][sb->active_set]);
		for (u64 seq = sb->replay_seq - 10; seq < sb->replay_seq; seq++)
			zero(&im, FAST, fusion_journal_blocknr(sb, seq));
		if (end != HANDED_OVER)
			zero(&im, FAST, FUSION_SUPER_BLOCKNR(!(sb->generation & 1)));
		open_image(&im, &meta);
		REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
		REQUIRE_EQ(rb.bad_blocks, 1);
		for (u32 i = 0; i < min(rb.st.nr_lexts, FUSION_MAP_PER_BLOCK); i++) {
			const u32 shadow = im.shadow[i];
			const bool current = fusion_word_state(shadow) == (u32)FUSION_SHADOW;
			const bool fast = fusion_word_mapped(before[i]) &&
					  fusion_word_dev(before[i]) == FUSION_FAST;

			if (!shadow)
				continue;
			if (end == HANDED_OVER && current) {
				lies_in_shadow(&rb, i, shadow, DOUBT_NONE);
				n[end][0]++;
			} else if (end == CLOSED && current && !fast) {
				lies_in_shadow(&rb, i, shadow, DOUBT_OLD);
				n[end][0]++;
			} else if (fast && rb.doubt[i] == DOUBT_OLD) {
				REQUIRE_EQ(rb.st.word[i], before[i]);
				n[end][1]++;
			} else {
				/* or its slot is that of another one */
				REQUIRE_EQ(rb.doubt[i], DOUBT_LOST);
				n[end][2] += !fast;
			}
		}
		free(before);
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
		image_free(&im);
	}
	REQUIRE(n[HANDED_OVER][0] && n[CLOSED][0] && n[CLOSED][1] && n[CRASHED][1] && n[CRASHED][2],
		"%u %u %u %u %u", n[HANDED_OVER][0], n[CLOSED][0], n[CLOSED][1], n[CRASHED][1],
		n[CRASHED][2]);
}

/* No superblock on the fast member: the replica vouches for the map, but only if it agrees. */
static void no_superblock(void)
{
	static struct image im;

	for (int i = 0; i < 3; i++) {
		const bool agrees = i == 1;
		struct rebuild rb;
		struct meta meta;

		make(&im, 110, true);
		/* of a partial extent it lacks the bitmap */
		if (i == 2)
			im.shadow[find(&im, 0, FUSION_OPEN, FUSION_FAST, false)] =
				fusion_shadow_word(FUSION_SHADOW, image_free_slot(&im, SLOW, 0));
		/* as the kernel does: how far the fast member has got */
		im.side[SLOW].sb.peer_at.generation = im.side[FAST].sb.generation;
		im.side[SLOW].sb.peer_at.seq = im.side[FAST].next_seq;
		close_again(&im);
		if (!i)
			im.word[find(&im, 0, FUSION_STABLE, FUSION_FAST, true)] =
				FUSION_WORD_UNMAPPED;
		if (!i)
			image_map(&im, FAST, im.side[FAST].sb.active_set,
				  im.side[FAST].sb.set_generation);
		forget(&im, FAST);
		open_image(&im, &meta);
		REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
		REQUIRE_EQ(rb.from_replica, agrees);
		REQUIRE(!agrees || !memcmp(rb.st.word, im.word, rb.st.nr_lexts * sizeof(*im.word)));
		REQUIRE(!fus_any_shadow(rb.st.word, rb.st.nr_lexts));
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
		image_free(&im);
	}
}

/* Return: false: it came to its end before write @n. */
static bool repair_until(struct image *im, unsigned int n)
{
	struct rebuild rb;
	struct meta meta;
	int rc;

	open_image(im, &meta);
	REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
	cut_at(n);
	rc = fus_meta_write(&meta, &rb.st, rb.exact, rb.set, meta.m[FAST].heat);
	cut_over();
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
	return rc;
}

/*
 * The same, with a block of the journal that is gone: without the replica, it might be one that
 * counts. A repair that is cut short leaves that, or what it has written itself; which has no
 * journal, as there are no open extents.
 */
static void no_superblock_cut(void)
{
	static struct image im;
	const size_t bytes = 2 << 20;
	u8 *keep[2] = { malloc(bytes), malloc(bytes) };
	unsigned int n = 0, cuts = 0;
	bool was_cut;

	quiet();
	make(&im, 115, true);
	for (u32 i = 0; i < im.side[FAST].sb.nr_lexts; i++)
		if (fusion_word_mapped(im.word[i]))
			im.word[i] = fusion_word_set_state(im.word[i], FUSION_STABLE);
	image_close(&im);
	im.side[SLOW].sb.peer_at.generation = im.side[FAST].sb.generation;
	im.side[SLOW].sb.peer_at.seq = im.side[FAST].next_seq;
	close_again(&im);
	forget(&im, FAST);
	zero(&im, FAST, fusion_journal_blocknr(&im.side[FAST].sb, im.side[FAST].next_seq + 20));
	for (int dev = 0; dev < 2; dev++)
		memcpy(keep[dev], im.mem[dev], bytes);
	do {
		was_cut = false;
		for (int seed = 0; seed < 12; seed++) {
			struct rebuild rb;
			struct meta meta;

			cut.seed = n * 12 + seed;
			was_cut |= repair_until(&im, n);
			cuts++;
			open_image(&im, &meta);
			REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
			REQUIRE(!rb.gap && !rb.nr[DOUBT_OLD] && !rb.nr[DOUBT_LOST],
				"cut at write %u", n);
			REQUIRE(!memcmp(rb.st.word, im.word, rb.st.nr_lexts * sizeof(*im.word)));
			fus_rebuild_free(&rb);
			fus_meta_free(&meta);
			for (int dev = 0; dev < 2; dev++)
				memcpy(im.mem[dev], keep[dev], bytes);
		}
		n++;
	} while (was_cut);
	printf("# %u repairs cut short\n", cuts);
	REQUIRE(cuts > 60);
	image_free(&im);
	free(keep[0]);
	free(keep[1]);
}

/* Two claim one slot: the extent that lies there keeps it, and of two shadows neither does. */
static void doubles(void)
{
	static struct image im;

	for (int i = 0; i < 2; i++) {
		u32 a, b, word;
		struct rebuild rb;
		struct meta meta;

		make(&im, 120 + i, true);
		a = find(&im, 0, FUSION_STABLE, FUSION_FAST, true);
		b = find(&im, i ? 0 : a + 1, FUSION_STABLE, i ? FUSION_SLOW : FUSION_FAST, !i);
		im.shadow[a] = fusion_shadow_word(FUSION_SHADOW, fusion_word_slot(i ? im.word[b] :
									      im.shadow[b]));
		close_again(&im);
		open_image(&im, &meta);
		REQUIRE(!fus_rebuild_state(&meta, SLOW, &rb));
		REQUIRE(!rb.exact);
		REQUIRE_EQ(rb.doubt[a], DOUBT_LOST);
		word = rb.st.word[b];
		REQUIRE_EQ(word, i ? im.word[b] : FUSION_WORD_UNMAPPED);
		REQUIRE_EQ(rb.nr[DOUBT_LOST], i ? 1 : 2);
		REQUIRE(fus_state_check(&rb.st, fus_meta_sb(&meta, SLOW), NULL));
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
		image_free(&im);
	}
}

/* Two have equal evidence of a slot. A third one, with less, must not get what is not its own. */
static void tied(void)
{
	static struct image im;
	const struct fusion_sb *sb = &im.side[FAST].sb;
	const u32 c = FUSION_MAP_PER_BLOCK + 3;
	struct rebuild rb;
	struct meta meta;
	u32 slot;

	make(&im, 140, false);
	REQUIRE(c < sb->nr_lexts);
	slot = fusion_word(FUSION_STABLE, SLOW, image_free_slot(&im, SLOW, c));
	for (u32 i = 0; i < sb->nr_lexts; i++)
		if (im.word[i] == slot)
			im.word[i] = FUSION_WORD_UNMAPPED;
	im.word[c] = slot;
	image_checkpoint(&im, FAST, sb->epoch, false);
	im.word[c] = FUSION_WORD_UNMAPPED;
	im.word[1] = slot;
	im.word[2] = slot;
	image_checkpoint(&im, FAST, sb->epoch, false);
	zero(&im, FAST, sb->map_start[FAST][sb->active_set] + 1);
	for (u64 seq = sb->replay_seq - 10; seq < sb->replay_seq; seq++)
		zero(&im, FAST, fusion_journal_blocknr(sb, seq));
	zero(&im, FAST, FUSION_SUPER_BLOCKNR(!(sb->generation & 1)));
	forget(&im, SLOW);
	open_image(&im, &meta);
	REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
	REQUIRE_EQ(rb.bad_blocks, 1);
	REQUIRE_EQ(rb.doubt[1], DOUBT_LOST);
	REQUIRE_EQ(rb.doubt[2], DOUBT_LOST);
	REQUIRE_EQ(rb.doubt[c], DOUBT_LOST);
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
	image_free(&im);
}

/*
 * A block of the replica's map copy is gone. The older copy had shadows, of which it may have said
 * that they are outdated, or gone. And a point in the log says nothing of the first extent.
 */
static void lost_block(void)
{
	static struct image im;
	const struct fusion_sb *sb = &im.side[SLOW].sb;

	for (int both = 0; both < 2; both++) {
		struct rebuild rb;
		struct meta meta;
		u32 nr;

		make(&im, 130 + both, !both);
		if (both) {
			im.shadow[0] = 0;
			image_checkpoint(&im, SLOW, sb->epoch, false);
			image_new_point(&im);
			zero(&im, SLOW, sb->map_start[SLOW][!sb->active_set]);
		}
		zero(&im, SLOW, sb->map_start[SLOW][sb->active_set]);
		open_image(&im, &meta);
		REQUIRE(!fus_rebuild_state(&meta, SLOW, &rb));
		REQUIRE_EQ(rb.bad_blocks, 1);
		nr = min(rb.st.nr_lexts, FUSION_MAP_PER_BLOCK);
		if (both)
			REQUIRE_EQ(rb.doubt[0], DOUBT_LOST);
		else
			REQUIRE(!fus_any_shadow(rb.st.word, nr));
		REQUIRE_EQ(rb.st.point, im.point);
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
		image_free(&im);
	}
}

static const struct unit_test tests[] = {
	{ "repair by the replica alone", from_replica },
	{ "repair by a replica that may not be exact", single_superblock },
	{ "repair with an older map copy", with_older_copy },
	{ "repair without a superblock", no_superblock },
	{ "repair without a superblock, cut short", no_superblock_cut },
	{ "slots that are named twice", doubles },
	{ "slots that are named three times", tied },
	{ "a block of the replica that is lost", lost_block },
};

UNIT_TESTS(tests)
