// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set whose fast member is lost goes on with another one: what becomes of each extent, and what a
 * power cut leaves, at each write.
 */
#include "cut.h"
#include "lost.h"
#include "shadow-set.h"

/* What the set has, before and after. */
struct lost_set {
	struct image im;
	bool closed;
	u8 *was[2];		/* the members before it */
	struct meta meta;
	struct rebuild rb;
	struct lost_plan plan;
};

static void begin(struct lost_set *l, u64 seed, bool closed, bool remains)
{
	memset(l, 0, sizeof(*l));
	l->closed = closed;
	make(&l->im, seed, closed);
	/* the new disk is empty, or has been the member in another life */
	if (remains)
		forget(&l->im, FUSION_FAST);
	else
		memset(l->im.mem[FUSION_FAST], 0, l->im.bytes[FUSION_FAST]);
	for (int dev = 0; dev < 2; dev++) {
		l->was[dev] = malloc(l->im.bytes[dev]);
		memcpy(l->was[dev], l->im.mem[dev], l->im.bytes[dev]);
	}
}

static void put_back(struct lost_set *l)
{
	for (int dev = 0; dev < 2; dev++)
		memcpy(l->im.mem[dev], l->was[dev], l->im.bytes[dev]);
}

static void end(struct lost_set *l)
{
	for (int dev = 0; dev < 2; dev++)
		free(l->was[dev]);
	image_free(&l->im);
}

/* Let the members be opened otherwise. */
static void let_go(struct lost_set *l)
{
	fus_meta_free(&l->meta);
	l->meta.m[0].o.fd = -1;
	l->meta.m[1].o.fd = -1;
}

static void close_meta(struct lost_set *l)
{
	fus_lost_plan_free(&l->plan);
	fus_rebuild_free(&l->rb);
	let_go(l);
}

static void plan(struct lost_set *l, bool stale)
{
	memset(&l->meta, 0, sizeof(l->meta));
	l->meta.m[1].o.fd = -1;
	REQUIRE(!fus_offline_open(l->im.path[FUSION_SLOW], OFFLINE_WRITE, &l->meta.m[0].o));
	REQUIRE(!fus_meta_read(&l->meta));
	REQUIRE(fus_meta_sb(&l->meta, FUSION_SLOW));
	REQUIRE(!fus_rebuild_state(&l->meta, FUSION_SLOW, &l->rb));
	REQUIRE(!fus_lost_plan(&l->meta, &l->rb, stale, &l->plan));
}

/* What has to become of an extent. */
static u32 due(const struct lost_set *l, u32 lext, bool stale)
{
	const u32 word = image_word(&l->im, FUSION_SLOW, lext);

	if (fusion_names_shadow(word))
		return fusion_word_state(word) == (u32)FUSION_SHADOW || stale ?
		       fusion_word(FUSION_STABLE, FUSION_SLOW, fusion_word_slot(word)) :
		       FUSION_WORD_LOST;
	if (!fusion_word_mapped(word))
		return l->closed ? FUSION_WORD_UNMAPPED : FUSION_WORD_LOST;
	return fusion_word_dev(word) == FUSION_SLOW ? word : FUSION_WORD_LOST;
}

static void check_plan(const struct lost_set *l, bool stale)
{
	const struct fusion_sb *sb = &l->im.side[FUSION_SLOW].sb;
	u32 lost = 0, partly = 0;

	for (u32 lext = 0; lext < sb->nr_lexts; lext++) {
		const u32 word = l->plan.st.word[lext];
		const struct meta_open *open = fus_state_open_find(&l->plan.st, lext);

		/* too many are lost in part */
		if (word != due(l, lext, stale) && fusion_word_lost(word))
			REQUIRE(l->plan.partly == fusion_open_limit(sb) / 8);
		else
			REQUIRE_EQ(word, due(l, lext, stale));
		lost += fusion_word_lost(word) || (open && open->lost);
		partly += open && open->lost;
		if (!open)
			continue;
		REQUIRE_EQ(open->word, word);
		REQUIRE_EQ(open->lost, !l->closed);
		REQUIRE(!memcmp(open->bitmap, l->im.bitmap[lext], sizeof(open->bitmap)));
	}
	REQUIRE_EQ(l->plan.lost, lost);
	REQUIRE_EQ(l->plan.partly, partly);
	REQUIRE(l->plan.shadows && l->plan.outdated);
	REQUIRE(l->closed == !l->plan.unknown_sectors);
}

static void test_plan(void)
{
	static struct lost_set l;

	for (u64 seed = 0; seed < 8; seed++) {
		begin(&l, 50 + seed, seed & 1, false);
		plan(&l, seed & 2);
		check_plan(&l, seed & 2);
		close_meta(&l);
		end(&l);
	}
}

/* Write it; power fails at write @n. Return: whether it was completed. */
static bool carry_out(struct lost_set *l, unsigned int n)
{
	static const struct fusion_disk_ident ident = { .model = "new" };
	bool done;

	plan(l, false);
	REQUIRE(!fus_offline_open(l->im.path[FUSION_FAST], OFFLINE_WRITE,
				  &l->meta.m[FUSION_FAST].o));
	/* as the verb does */
	forget(&l->im, FUSION_FAST);
	cut_at(n);
	done = !fus_lost_write(&l->meta, &l->plan, &ident);
	cut_over();
	REQUIRE(done == !cut.dead);
	let_go(l);
	return done;
}

static unsigned int count_writes(struct lost_set *l)
{
	REQUIRE(carry_out(l, ~0U));
	close_meta(l);
	put_back(l);
	return ~0U - cut.writes_left;
}

/* The replica may call partial extents lost until its log has them. */
static void compare(const struct lost_set *l, const struct meta_state *st, bool whole)
{
	for (u32 lext = 0; lext < st->nr_lexts; lext++) {
		const struct meta_open *a = fus_state_open_find(&l->plan.st, lext);
		const struct meta_open *b = fus_state_open_find(st, lext);

		if (!whole && a && fusion_word_lost(st->word[lext]))
			continue;
		REQUIRE_EQ(st->word[lext], l->plan.st.word[lext]);
		REQUIRE(!a == !b);
		REQUIRE(!a || (a->lost == b->lost &&
			       !memcmp(a->bitmap, b->bitmap, sizeof(a->bitmap))));
	}
}

/* It is the new set. @whole: completed */
static void judge_new(struct lost_set *l, bool whole)
{
	const struct fusion_sb *sb[2];
	struct report r = { 0 };
	struct meta_state st;
	struct meta meta;
	const char *why;

	open_image(&l->im, &meta);
	for (int dev = 0; dev < 2; dev++) {
		sb[dev] = fus_meta_sb(&meta, dev);
		REQUIRE(sb[dev]);
		REQUIRE(!(sb[dev]->incompat & FUSION_INCOMPAT_DAMAGED) == !l->plan.lost);
		REQUIRE(sb[dev]->flags & FUSION_SB_CLEAN);
		REQUIRE(!fus_state_init(&st, sb[dev]->nr_lexts));
		REQUIRE(fus_state_load(&meta, sb[dev], &st, NULL));
		compare(l, &st, whole || dev == FUSION_FAST);
		fus_state_free(&st);
	}
	REQUIRE(!fusion_sb_match(sb[FUSION_FAST], sb[FUSION_SLOW], &why), "%s", why);
	fus_meta_check(&meta, &r);
	REQUIRE(!r.count[LEVEL_ERROR], "%s", fus_report_worst(&r)->text);
	if (whole)
		REQUIRE(!r.count[LEVEL_WARNING], "%s", fus_report_worst(&r)->text);
	REQUIRE(fus_report_has(&r, "lost") == !!l->plan.lost);
	fus_report_free(&r);
	fus_meta_free(&meta);
}

/* A new disk that was written is known again; one that has been a member is none. */
static void judge_begun(const struct lost_set *l, struct fusion_sb *disk)
{
	const struct fusion_sb *slow = fus_meta_sb(&l->meta, FUSION_SLOW);

	REQUIRE(fus_lost_begun(slow, disk));
	disk->peer_at.generation = slow->generation;
	REQUIRE(!fus_lost_begun(slow, disk));
}

/* It is as it was, as far as the slow member tells. */
static void judge_old(struct lost_set *l)
{
	struct lost_plan had = l->plan;
	struct fusion_sb sb;
	const char *why;

	memset(&l->plan, 0, sizeof(l->plan));
	fus_rebuild_free(&l->rb);
	let_go(l);
	plan(l, false);
	compare(l, &had.st, true);
	REQUIRE_EQ(l->rb.exact, true);
	for (int i = 0; i < 2; i++)
		if (!fusion_sb_unpack(l->im.mem[FUSION_FAST] + FUSION_SUPER_BLOCKNR(i) *
				      FUSION_BLOCK_SIZE, FUSION_SUPER_BLOCKNR(i), UINT64_MAX, &sb,
				      &why))
			judge_begun(l, &sb);
	fus_lost_plan_free(&had);
}

static bool is_new(const struct lost_set *l)
{
	struct fusion_sb sb, best = { 0 };
	const char *why;

	for (int i = 0; i < 2; i++)
		if (!fusion_sb_unpack(l->im.mem[FUSION_SLOW] + FUSION_SUPER_BLOCKNR(i) *
				      FUSION_BLOCK_SIZE, FUSION_SUPER_BLOCKNR(i), UINT64_MAX, &sb,
				      &why) && sb.generation > best.generation)
			best = sb;
	return memcmp(best.peer_uuid, l->im.side[FUSION_SLOW].sb.peer_uuid, 16);
}

static void test_cut(void)
{
	unsigned int seen[2] = { 0 };
	static struct lost_set l;

	for (unsigned int set = 0; set < 4; set++) {
		unsigned int writes, n;

		begin(&l, 70 + set, set & 1, set & 2);
		REQUIRE(l.im.nr_open > 3);
		writes = count_writes(&l);
		for (n = 0; n <= writes; n++) {
			cut.seed = 1000 * set + n;
			/* the zeros at the beginning are all alike */
			if (n > 8 && n + 40 < writes && n % 7)
				continue;
			if (carry_out(&l, n)) {
				REQUIRE_EQ(n, writes);
				judge_new(&l, true);
			} else if (is_new(&l)) {
				seen[1]++;
				judge_new(&l, false);
			} else {
				seen[0]++;
				judge_old(&l);
				close_meta(&l);
				REQUIRE(carry_out(&l, ~0U));
				judge_new(&l, true);
			}
			close_meta(&l);
			put_back(&l);
		}
		end(&l);
	}
	printf("# %u cuts left the old set, %u the new one\n", seen[0], seen[1]);
	REQUIRE(seen[0] > 20 && seen[1] > 4);
}

/* A block of the map is damaged: the replica has it, with what is lost. */
static void test_rebuilt(void)
{
	static struct lost_set l;
	const struct fusion_sb *sb;
	struct rebuild rb;
	struct meta meta;

	for (u64 seed = 0; seed < 4; seed++) {
		begin(&l, 90 + seed, seed & 1, false);
		REQUIRE(carry_out(&l, ~0U));
		REQUIRE(l.plan.lost && (l.closed || l.plan.partly));
		open_image(&l.im, &meta);
		sb = fus_meta_sb(&meta, FUSION_FAST);
		memset(l.im.mem[FUSION_FAST] + sb->map_start[FUSION_FAST][sb->active_set] *
		       FUSION_BLOCK_SIZE, 0, FUSION_BLOCK_SIZE);
		REQUIRE(!fus_meta_read_again(&meta));
		REQUIRE(!fus_rebuild_state(&meta, FUSION_FAST, &rb));
		REQUIRE(!rb.exact && !rb.nr[DOUBT_OLD] && !rb.nr[DOUBT_LOST]);
		compare(&l, &rb.st, true);
		/* and what is written has it again */
		REQUIRE(!fus_meta_write(&meta, &rb.st, false, rb.set, meta.m[FUSION_FAST].heat));
		fus_rebuild_free(&rb);
		fus_meta_free(&meta);
		judge_new(&l, true);
		close_meta(&l);
		end(&l);
	}
}

static const struct unit_test tests[] = {
	{ "lost: what becomes of each extent", test_plan },
	{ "lost: power fails in any write", test_cut },
	{ "lost: the map is rebuilt", test_rebuilt },
};

UNIT_TESTS(tests)
