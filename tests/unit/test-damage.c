// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every single metadata block of a set destroyed in turn, on either member, in every way:
 * check finds each, and repair makes a set of it that holds what it has to hold, or says
 * of which extents it does not know.
 */
#include <errno.h>

#include "cut.h"
#include "fusionctl.h"
#include "image-blocks.h"
#include "role.h"

static const char *const damage_name[NR_DAMAGES] = {
	"zeroed", "random", "one bit flipped", "an older version",
};

static struct {
	unsigned int tried, found, harmless, refused, repaired_all, repaired_some;
} count;

/* -- what has to come of it -------------------------------------------------- */

static bool report_names(const struct report *r, int dev, u64 block)
{
	for (unsigned int i = 0; i < r->nr; i++)
		if (r->f[i].dev == dev && r->f[i].block == block)
			return true;
	return false;
}

static void open_image(struct image *im, bool writable, struct meta *meta)
{
	char *path[2] = { im->path[FUSION_FAST], im->path[FUSION_SLOW] };

	REQUIRE(!fus_meta_open(2, path, writable, meta));
}

static bool bitmap_same(const struct image *im, const struct meta_state *st, u32 lext)
{
	const struct meta_open *open = fus_state_open_find(st, lext);
	const bool is_open = fusion_word_mapped(st->word[lext]) &&
			     fusion_word_state(st->word[lext]) == FUSION_OPEN;

	if (!open || !is_open)
		return !open && !is_open;
	return !memcmp(open->bitmap, im->bitmap[lext], im->side[0].sb.extent_sectors / 64);
}

/* What a repair that was cut short has told already. */
static struct {
	u8 *doubt;
	bool missing_txns;
} told;

/* Does the set hold what it must, but for extents that @rb has doubts about? */
static void compare(struct image *im, const struct meta_state *st, const struct rebuild *rb,
		    bool without_last, const char *what, int dev, u64 block, u64 txn)
{
	for (u32 lext = 0; lext < st->nr_lexts; lext++) {
		if (rb && rb->doubt && rb->doubt[lext])
			continue;
		if (st->word[lext] == im->word[lext] && bitmap_same(im, st, lext))
			continue;
		/* its shadow has the same, if it was handed over */
		if (rb && rb->replica_exact &&
		    fusion_word_state(im->shadow[lext]) == (u32)FUSION_SHADOW &&
		    st->word[lext] == fusion_word_set_state(im->shadow[lext], FUSION_STABLE))
			continue;
		if (without_last && im->changed[lext] + 1 == im->side[0].next_txn)
			continue;
		/* of a transaction that is gone nobody knows the extents */
		if (rb && (rb->missing_txns || told.missing_txns) && im->changed[lext] == txn)
			continue;
		if (told.doubt && told.doubt[lext])
			continue;
		REQUIRE(0, "%s block %llu %s: extent %u is %x, not %x", fus_role_name[dev],
			(unsigned long long)block, what, lext, st->word[lext], im->word[lext]);
	}
}

/* Repair in place; the set must be clean after it. */
static void repair_image(struct image *im, int dev, u64 block, const char *what, bool without_last,
			 u64 txn)
{
	struct meta meta;
	struct report r = { 0 };
	struct rebuild rb;
	struct meta_state st;
	bool last = without_last;
	const char *why;

	open_image(im, true, &meta);
	REQUIRE(meta.known);
	REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
	compare(im, &rb.st, &rb, last, what, dev, block, txn);
	if (rb.missing_txns)
		REQUIRE_EQ(rb.missing_txns, 1);
	if (rb.exact || (!rb.nr[DOUBT_LOST] && !rb.nr[DOUBT_OLD] && !rb.missing_txns))
		count.repaired_all++;
	else
		count.repaired_some++;
	REQUIRE(!fus_meta_write(&meta, &rb.st, rb.exact, rb.set, meta.m[FAST].heat));
	fus_meta_free(&meta);

	open_image(im, false, &meta);
	fus_meta_check(&meta, &r);
	REQUIRE(!r.count[LEVEL_ERROR] && !r.count[LEVEL_WARNING], "%s block %llu %s: after repair: "
		"%s", fus_role_name[dev], (unsigned long long)block, what,
		fus_report_worst(&r)->text);
	REQUIRE(!fusion_sb_match(fus_meta_sb(&meta, FAST), fus_meta_sb(&meta, SLOW), &why),
		"%s block %llu %s: after repair: %s", fus_role_name[dev], (unsigned long long)block,
		what, why);
	for (int side = 0; side < 2; side++) {
		REQUIRE(!fus_state_init(&st, meta.geo[0].nr_lexts));
		REQUIRE(fus_state_load(&meta, fus_meta_sb(&meta, side), &st, NULL));
		REQUIRE(!memcmp(st.word, rb.st.word, st.nr_lexts * sizeof(*st.word)));
		REQUIRE_EQ(st.nr_open, rb.st.nr_open);
		fus_state_free(&st);
	}
	fus_report_free(&r);
	fus_meta_free(&meta);
	fus_rebuild_free(&rb);
}

static void try_one(struct image *im, int dev, u64 block, enum damage how, u64 txn)
{
	const bool live = is_live(im, dev, block), last = is_last_txn(im, dev, block);
	const char *what = damage_name[how];
	struct report r = { 0 };
	struct meta_state st;
	struct meta meta;
	bool named;

	open_image(im, false, &meta);
	fus_meta_check(&meta, &r);
	named = report_names(&r, dev, block);
	count.tried++;
	/* a newest superblock that got lost makes its member one of the past */
	if (how == STALE && is_super(block) && fus_report_has(&r, "past")) {
		count.refused++;
		fus_report_free(&r);
		fus_meta_free(&meta);
		return;
	}
	count.found += named;
	if (!named) {
		/* an equal one, a piece of a torn transaction, or nothing that anyone reads */
		REQUIRE(!live || last || (how == STALE && is_super(block)),
			"%s block %llu %s was not found", fus_role_name[dev],
			(unsigned long long)block, what);
		REQUIRE(!r.count[LEVEL_ERROR], "%s block %llu %s: %s", fus_role_name[dev],
			(unsigned long long)block, what, fus_report_worst(&r)->text);
		REQUIRE(!fus_state_init(&st, meta.geo[0].nr_lexts));
		REQUIRE(fus_state_load(&meta, fus_meta_sb(&meta, FAST), &st, NULL));
		compare(im, &st, NULL, last && dev == FUSION_FAST, what, dev, block, 0);
		fus_state_free(&st);
		count.harmless++;
	}
	fus_report_free(&r);
	fus_meta_free(&meta);
	repair_image(im, dev, block, what, last && dev == FUSION_FAST, txn);
}

/* The transaction of the map that the block belongs to, or 0. */
static u64 txn_of(const struct image *im, int dev, u64 block)
{
	return dev == FUSION_FAST && is_ring(im, dev, block) ?
	       get_le(im->mem[dev] + block * FUSION_BLOCK_SIZE + 40, 8) : 0;
}

/* Each block of both members, damaged in each way; everything is put back in between. */
static void try_all(struct image *im)
{
	u64 blocks[2];
	u8 *keep[2];

	memset(&count, 0, sizeof(count));
	for (int dev = 0; dev < 2; dev++) {
		blocks[dev] = dev ? (u64)im->side[1].sb.slow_first_slot *
				    im->side[1].sb.extent_sectors / FUSION_BLOCK_SECTORS :
				    im->side[0].sb.fast_data_start / FUSION_BLOCK_SECTORS;
		keep[dev] = malloc(blocks[dev] * FUSION_BLOCK_SIZE);
		memcpy(keep[dev], im->mem[dev], blocks[dev] * FUSION_BLOCK_SIZE);
	}
	for (int dev = 0; dev < 2; dev++) {
		for (u64 block = 0; block < blocks[dev]; block++) {
			for (int how = 0; how < NR_DAMAGES; how++) {
				const u64 txn = txn_of(im, dev, block);

				/* what was never written is all the same */
				if (!is_metadata(im, dev, block) ||
				    (!im->written[dev][block] && how != RANDOM) ||
				    !destroy(im, dev, block, how))
					continue;
				try_one(im, dev, block, how, txn);
				for (int d = 0; d < 2; d++)
					memcpy(im->mem[d], keep[d], blocks[d] * FUSION_BLOCK_SIZE);
			}
		}
	}
	free(keep[0]);
	free(keep[1]);
	printf("# %u blocks destroyed: %u named by check, %u not and without consequence, 0 "
	       "accepted wrong, %u refused as of the past; repair: %u without loss, %u with a loss "
	       "it told\n", count.tried, count.found, count.harmless, count.refused,
	       count.repaired_all, count.repaired_some);
}

/* Give it a life that ends in order. Then it loses nothing by any single block. */
static void close_and_try(struct image *im, bool hand_over)
{
	for (int i = 0; i < 3; i++) {
		image_activate(im);
		image_work(im, 30);
		image_close(im);
	}
	if (hand_over)
		image_hand_over(im);
	try_all(im);
	REQUIRE_EQ(count.repaired_some, 0);
	image_free(im);
}

static void closed_set(void)
{
	static struct image im;

	image_format(&im, 1, FAST_SECTORS, SLOW_SECTORS);
	close_and_try(&im, false);
}

/* The same with a replica that names shadows, so that it does not know all that the map says. */
static void closed_with_shadows(void)
{
	static struct image im;

	for (int hand_over = 0; hand_over < 2; hand_over++) {
		image_format(&im, 1, 2 * FAST_SECTORS, SLOW_SECTORS);
		image_name_shadows(&im);
		close_and_try(&im, hand_over);
	}
}

/*
 * Closed soon after a checkpoint that was asked for: dm-fusion-checkpoint.c writes no map copy
 * then, but the bitmaps of partial extents, behind which replay begins.
 */
static void closed_by_repeat(void)
{
	static struct image im;
	struct image_side *s = &im.side[FUSION_FAST];

	image_format(&im, 1, FAST_SECTORS, SLOW_SECTORS);
	for (int i = 0; i < 3; i++) {
		image_activate(&im);
		image_work(&im, 30);
		/* asked: all heat, not clean */
		image_checkpoint(&im, FUSION_FAST, s->sb.epoch, true);
		s->sb.flags = 0;
		s->sb.generation++;
		image_super(&im, FUSION_FAST);
		/* blocks of partial extents are written and flushed; no word changes */
		for (int k = 0; k < 3; k++) {
			u32 lext;

			for (lext = 0; lext < s->sb.nr_lexts; lext++)
				if (fusion_word_mapped(im.word[lext]) &&
				    fusion_word_state(im.word[lext]) == FUSION_OPEN) {
					const u32 op = FUSION_OP_OPEN, old = im.word[lext];

					im.bitmap[lext][0] ^= 1 + k;
					im.changed[lext] = s->next_txn;
					image_commit(&im, FUSION_FAST, &lext, &old, &op, 1);
					break;
				}
			REQUIRE(lext < s->sb.nr_lexts);
		}
		/* fusion_checkpoint() without a map copy, and both copies of the superblock */
		s->sb.replay_seq = s->next_seq;
		s->sb.replay_txn = s->next_txn;
		s->sb.replay_csum = s->csum;
		image_opens(&im, FUSION_FAST);
		s->sb.flags = FUSION_SB_CLEAN;
		for (int k = 0; k < 2; k++) {
			s->sb.generation++;
			image_super(&im, FUSION_FAST);
		}
		image_checkpoint(&im, FUSION_SLOW, im.side[FUSION_SLOW].sb.epoch, true);
	}
	try_all(&im);
	REQUIRE_EQ(count.repaired_some, 0);
	image_free(&im);
}

/* One whose power failed. */
static void crashed_set(void)
{
	static struct image im;

	for (int shadows = 0; shadows < 2; shadows++) {
		image_format(&im, 2, FAST_SECTORS, SLOW_SECTORS);
		if (shadows)
			image_name_shadows(&im);
		image_activate(&im);
		image_work(&im, 50);
		image_close(&im);
		image_activate(&im);
		image_work(&im, 57);
		try_all(&im);
		image_free(&im);
	}
}

/* One whose power failed while it was opened: the slow member is one epoch ahead. */
static void interrupted_opening(void)
{
	static struct image im;

	for (int closed = 0; closed < 2; closed++) {
		image_format(&im, 5 + closed, FAST_SECTORS, SLOW_SECTORS);
		image_activate(&im);
		image_work(&im, 50);
		image_close(&im);
		image_activate(&im);
		image_work(&im, 20);
		if (closed)
			image_close(&im);
		image_activate_slow(&im);
		try_all(&im);
		image_free(&im);
	}
}

/* One that was never used. */
static void new_set(void)
{
	static struct image im;

	image_format(&im, 3, FAST_SECTORS, SLOW_SECTORS);
	try_all(&im);
	REQUIRE_EQ(count.repaired_some, 0);
	image_free(&im);
}

/* Both copies of a member's superblock: the other member, and the journal, say enough. */
static void both_copies(void)
{
	static struct image im;
	const size_t bytes = 2 << 20;
	u8 *keep[2] = { malloc(bytes), malloc(bytes) };

	memset(&count, 0, sizeof(count));
	for (int crashed = 0; crashed < 2; crashed++) {
		image_format(&im, 8, FAST_SECTORS, SLOW_SECTORS);
		for (int i = 0; i < 3; i++) {
			image_activate(&im);
			image_work(&im, 37);
			if (i < 2 || !crashed)
				image_close(&im);
		}
		for (int dev = 0; dev < 2; dev++)
			memcpy(keep[dev], im.mem[dev], bytes);
		for (int dev = 0; dev < 2; dev++) {
			for (int copy = 0; copy < 2; copy++)
				destroy(&im, dev, FUSION_SUPER_BLOCKNR(copy), RANDOM);
			repair_image(&im, dev, FUSION_SUPER_BLOCKNR(0), "both copies", false, 0);
			for (int d = 0; d < 2; d++)
				memcpy(im.mem[d], keep[d], bytes);
		}
		image_free(&im);
	}
	REQUIRE_EQ(count.repaired_all, 4);
	free(keep[0]);
	free(keep[1]);
}

/* -- a repair that is cut short ---------------------------------------------- */

/* Repair up to the write @n. Returns false if it came to its end before. */
static bool repair_until(struct image *im, unsigned int n)
{
	struct rebuild rb;
	struct meta meta;
	int rc;

	open_image(im, true, &meta);
	REQUIRE(!fus_rebuild_state(&meta, FAST, &rb));
	free(told.doubt);
	told.doubt = rb.doubt;
	rb.doubt = NULL;
	told.missing_txns = rb.missing_txns;
	cut_at(n);
	rc = fus_meta_write(&meta, &rb.st, rb.exact, rb.set, meta.m[FAST].heat);
	cut_over();
	fus_rebuild_free(&rb);
	fus_meta_free(&meta);
	return rc;
}

/* The map as the kernel would load it. */
static void require_opens(struct image *im, unsigned int n)
{
	struct meta_state st;
	struct meta meta;
	const char *why;

	open_image(im, false, &meta);
	REQUIRE(fus_meta_sb(&meta, FAST) && fus_meta_sb(&meta, SLOW), "cut at write %u", n);
	REQUIRE(!fusion_sb_match(fus_meta_sb(&meta, FAST), fus_meta_sb(&meta, SLOW), &why),
		"cut at write %u: %s", n, why);
	REQUIRE(!fus_state_init(&st, meta.geo[0].nr_lexts));
	REQUIRE(fus_state_load(&meta, fus_meta_sb(&meta, FAST), &st, NULL), "cut at write %u", n);
	compare(im, &st, NULL, false, "cut short", 0, n, 0);
	fus_state_free(&st);
	fus_meta_free(&meta);
}

/*
 * @block of the fast member is damaged, and the repair of it cut at each write. If the set
 * could be opened before, it can at any time; and another repair ends well.
 */
static unsigned int cut_repair(struct image *im, u64 block, bool opens)
{
	const size_t bytes = 2 << 20;
	u8 *keep[2] = { malloc(bytes), malloc(bytes) };
	const u64 txn = txn_of(im, FUSION_FAST, block);
	unsigned int n = 0, cuts = 0;
	bool was_cut;

	for (int dev = 0; dev < 2; dev++)
		memcpy(keep[dev], im->mem[dev], bytes);
	do {
		was_cut = false;
		for (int seed = 0; seed < 12; seed++) {
			destroy(im, FUSION_FAST, block, RANDOM);
			cut.seed = n * 12 + seed;
			was_cut |= repair_until(im, n);
			cuts++;
			if (opens)
				require_opens(im, n);
			repair_image(im, FUSION_FAST, block, "cut short", false, txn);
			for (int dev = 0; dev < 2; dev++)
				memcpy(im->mem[dev], keep[dev], bytes);
		}
		n++;
	} while (was_cut);
	free(told.doubt);
	memset(&told, 0, sizeof(told));
	free(keep[0]);
	free(keep[1]);
	return cuts;
}

static void cut_short(void)
{
	static struct image im;
	const struct image_side *s = &im.side[FUSION_FAST];
	unsigned int cuts = 0;
	u64 middle;

	quiet();
	image_format(&im, 9, FAST_SECTORS, SLOW_SECTORS);
	for (int i = 0; i < 2; i++) {
		image_activate(&im);
		image_work(&im, 30);
		if (!i)
			image_close(&im);
	}
	/* the older superblock, the active map, the middle of the journal */
	cuts += cut_repair(&im, FUSION_SUPER_BLOCKNR(!(s->sb.generation & 1)), true);
	cuts += cut_repair(&im, s->sb.map_start[FUSION_FAST][s->sb.active_set], false);
	middle = (s->sb.replay_seq + s->next_seq) / 2;
	cuts += cut_repair(&im, fusion_journal_blocknr(&s->sb, middle), false);
	printf("# %u repairs cut short\n", cuts);
	REQUIRE(cuts > 60);
	image_free(&im);
}

static const struct unit_test tests[] = {
	{ "a new set", new_set },
	{ "a set that was closed", closed_set },
	{ "a set that was closed, with shadows", closed_with_shadows },
	{ "a set that was closed soon after a checkpoint", closed_by_repeat },
	{ "a set whose power failed", crashed_set },
	{ "a set whose opening was interrupted", interrupted_opening },
	{ "both copies of a superblock", both_copies },
	{ "a repair that is cut short", cut_short },
};

UNIT_TESTS(tests)
