// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rebuild a state from what is left: the active map copy; where its blocks are damaged, the other
 * map copy and the replica; and every whole transaction of the journal.
 *
 * Records are absolute, so replaying a chain from too early a point does no harm: the last record
 * of each extent counts. What is certain, and what is not:
 *
 *   - an extent whose last change is in a chain without gaps up to the end is certain;
 *   - so is one whose block of the active map copy is good, unless transactions are missing
 *     after it;
 *   - an entry of the older map copy is certain if all transactions since that copy are
 *     present, otherwise it may be out of date.
 *
 * If two extents claim one slot, the one with the newer evidence keeps it. If the evidence is
 * equal, neither does: losing data is better than showing it to the wrong reader. A shadow never
 * keeps a slot in which another extent lies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "meta-base.h"
#include "meta-shadow.h"

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough to rebuild the map; close programs and "
			"try again");
}

static void doubt(struct rebuild *rb, u32 lext, enum doubt how)
{
	rb->doubt[lext] = max_t(u8, rb->doubt[lext], how);
}

void fus_rebuild_drop(struct rebuild *rb, u32 lext)
{
	rb->st.word[lext] = FUSION_WORD_UNMAPPED;
	fus_state_open_drop(&rb->st, lext);
	rb->stamp[lext] = FROM_NOTHING;
	rb->doubt[lext] = DOUBT_LOST;
}

/* -- the journal ---------------------------------------------------------------- */

struct apply_ctx {
	struct rebuild *rb;
	const struct fusion_sb *geo;
	const bool *bad;	/* only extents of these map blocks, if given */
};

static int apply(void *ctx, const struct meta_txn *t, const struct fusion_record *rec)
{
	const struct apply_ctx *c = ctx;
	struct rebuild *rb = c->rb;

	/* it is about all extents, and of the last one only those are known that came before */
	if (rec->op == FUSION_OP_POINT)
		return c->bad ? 0 : fus_state_apply(&rb->st, c->geo, rec);
	if (c->bad && !c->bad[rec->lext / FUSION_MAP_PER_BLOCK])
		return 0;
	rb->stamp[rec->lext] = t->seq + FROM_MAP;
	rb->doubt[rec->lext] = 0;
	return fus_state_apply(&rb->st, c->geo, rec);
}

/*
 * Leave out a ring that fus_meta_write() had begun when power failed: it begins a chain of its own,
 * and no superblock came to name it. What its transaction says was never true of the set.
 */
static void drop_never_in_force(const struct fusion_sb *sb, struct meta_journal *j)
{
	u32 n = 0;

	for (u32 i = 0; i < j->nr; i++) {
		const bool begins = !j->t[i].prev_csum && j->t[i].seq > 1;
		const bool named = sb && (j->t[i].seq < sb->replay_seq ||
					  (j->t[i].seq == sb->replay_seq && !sb->replay_csum));

		if (!sb || !begins || named)
			j->t[n++] = j->t[i];
	}
	j->nr = n;
}

static int touch(void *ctx, const struct meta_txn *t, const struct fusion_record *rec)
{
	const struct apply_ctx *c = ctx;

	(void)t;
	if (rec->op != FUSION_OP_POINT)
		doubt(c->rb, rec->lext, DOUBT_OLD);
	return 0;
}

/* A transaction with impossible records counts as missing. */
static int apply_txn(const struct meta *meta, const struct meta_txn *t, struct apply_ctx *c,
		     bool *done)
{
	int err = fus_journal_apply(meta, c->rb->dev, t, apply, c);

	*done = !err;
	return err == -ENOMEM ? no_memory() : 0;
}

static u32 first_from(const struct meta_journal *j, u64 seq)
{
	u32 i = 0;

	while (i < j->nr && j->t[i].seq < seq)
		i++;
	return i;
}

/* Replay the transactions from @from to the end, and count the missing ones. */
static int apply_tail(const struct meta *meta, const struct meta_journal *j, u32 from,
		      const struct fusion_sb *sb, struct rebuild *rb)
{
	struct apply_ctx c = { .rb = rb, .geo = &meta->geo[rb->dev] };
	u64 txn = sb ? sb->replay_txn : from < j->nr ? j->t[from].txn : 0;
	bool done;
	int rc;

	for (u32 i = from; i < j->nr; i++) {
		const struct meta_txn *t = &j->t[i];

		rc = apply_txn(meta, t, &c, &done);
		if (rc)
			return rc;
		if (t->txn > txn)
			rb->missing_txns += t->txn - txn;
		if (done)
			rb->txns++;
		else
			rb->missing_txns++;
		txn = t->txn + 1;
	}
	return 0;
}

/*
 * Without a superblock nothing tells where the map copy stands in the journal: what is missing
 * before the last chain may have come after it. So may the transactions before the gap, and what
 * they say may be out of date. Only a ring that fus_meta_write() began has nothing before it: its
 * map copy was flushed first.
 */
static int doubt_before(const struct meta *meta, const struct meta_journal *j, u32 tail,
			struct rebuild *rb)
{
	struct apply_ctx c = { .rb = rb, .geo = &meta->geo[rb->dev] };

	if (!tail || tail == j->nr || !j->t[tail].prev_csum)
		return 0;
	if (j->t[tail].txn > j->t[tail - 1].txn + 1)
		rb->missing_txns += j->t[tail].txn - j->t[tail - 1].txn - 1;
	for (u32 i = 0; i < tail; i++)
		if (fus_journal_apply(meta, rb->dev, &j->t[i], touch, &c) == -ENOMEM)
			return no_memory();
	return 0;
}

/* -- the map -------------------------------------------------------------------- */

static const struct meta_block *map_block(const struct meta *meta, const struct rebuild *rb,
					  int set, u32 index)
{
	return set < 0 ? NULL : &meta->m[rb->dev].set[set].block[index];
}

static void take_block(const struct meta *meta, struct rebuild *rb, int set, u32 index, u64 stamp)
{
	const size_t first = (size_t)index * FUSION_MAP_PER_BLOCK;
	const u32 n = fusion_map_entries(&meta->geo[rb->dev], index);

	memcpy(rb->st.word + first, meta->m[rb->dev].set[set].word + first,
	       n * sizeof(*rb->st.word));
	for (u32 i = 0; i < n; i++)
		rb->stamp[first + i] = stamp;
}

static void doubt_block(const struct meta *meta, struct rebuild *rb, u32 index, enum doubt how)
{
	for (u32 i = 0; i < fusion_map_entries(&meta->geo[rb->dev], index); i++)
		doubt(rb, index * FUSION_MAP_PER_BLOCK + i, how);
}

/*
 * Return: whether the ring has everything since map copy @b was written, given that the chain
 * begins with @t. In a set that was closed cleanly, the previous map copy was written when it was
 * opened, or later: it is enough that the chain goes back to the previous epoch.
 */
static bool reaches_back(const struct meta *meta, const struct rebuild *rb, const struct base *b,
			 const struct meta_txn *t)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, rb->dev);

	if (!sb)
		return false;
	if (b->replay_seq)
		return t->seq <= b->replay_seq;
	return (sb->flags & FUSION_SB_CLEAN) && (t->epoch < sb->epoch || t->seq == 1);
}

/*
 * Fill in the damaged blocks of the active map copy from the older one and the journal before it.
 */
static int patch_map(const struct meta *meta, const struct meta_journal *j, u32 end,
		     const struct base *a, const bool *bad, struct rebuild *rb)
{
	struct apply_ctx c = { .rb = rb, .geo = &meta->geo[rb->dev], .bad = bad };
	const struct base b = fus_older_base(meta, rb, a);
	const u32 start = fus_journal_chain(j, end);
	/* the chain has to lead up to the active map copy */
	const bool linked = end && a->replay_seq &&
			    j->t[end - 1].seq + j->t[end - 1].count == a->replay_seq;
	bool exact = linked ? reaches_back(meta, rb, &b, &j->t[start]) :
		     b.replay_seq && b.replay_seq == a->replay_seq;
	bool done;
	int rc;

	for (u32 i = 0; i < meta->geo[rb->dev].map_blocks; i++) {
		const struct meta_block *block = map_block(meta, rb, b.set, i);

		if (!bad[i])
			continue;
		if (!block || block->why) {
			doubt_block(meta, rb, i, DOUBT_LOST);
			continue;
		}
		take_block(meta, rb, b.set, i, FROM_OLDER);
		/* newer than the active map copy: from an interrupted checkpoint */
		if (!exact || block->generation > a->generation ||
		    (b.generation && block->generation != b.generation))
			doubt_block(meta, rb, i, DOUBT_OLD);
	}
	for (u32 i = start; linked && i < end; i++) {
		rc = apply_txn(meta, &j->t[i], &c, &done);
		if (rc)
			return rc;
	}
	/* a map copy may say that a shadow is out of date, or gone, without a record of that */
	for (u32 lext = 0; lext < rb->st.nr_lexts; lext++)
		if (bad[lext / FUSION_MAP_PER_BLOCK] && fusion_names_shadow(rb->st.word[lext]))
			fus_rebuild_drop(rb, lext);
	return 0;
}

/* -- open extents --------------------------------------------------------------- */

static int collect(void *ctx, const struct meta_txn *t, const struct fusion_record *rec)
{
	struct apply_ctx *c = ctx;

	(void)t;
	return fusion_op_has_bitmap(rec->op) ? fus_state_apply(&c->rb->st, c->geo, rec) : 0;
}

/* Find an older bitmap for each open extent that has none, or the extent is lost. */
static int find_bitmaps(const struct meta *meta, const struct meta_journal *j, struct rebuild *rb)
{
	const struct fusion_sb *geo = &meta->geo[rb->dev];
	struct rebuild old = { .dev = rb->dev };
	struct apply_ctx c = { .rb = &old, .geo = geo };
	int rc;

	rc = fus_state_init(&old.st, geo->nr_lexts);
	if (rc)
		return rc;
	for (u32 i = 0; i < j->nr && !rc; i++)
		if (fus_journal_apply(meta, rb->dev, &j->t[i], collect, &c) == -ENOMEM)
			rc = no_memory();
	for (u32 i = rb->st.nr_open; i-- > 0;)
		if (rb->st.open[i]->word != rb->st.word[rb->st.open[i]->lext])
			fus_state_open_drop(&rb->st, rb->st.open[i]->lext);
	for (u32 lext = 0; lext < geo->nr_lexts && !rc; lext++) {
		const u32 word = rb->st.word[lext];
		const struct meta_open *found;

		if (!fusion_word_mapped(word) || fusion_word_state(word) != FUSION_OPEN ||
		    fus_state_open_find(&rb->st, lext))
			continue;
		found = rb->replica_same ? fus_state_open_find(&rb->replica, lext) : NULL;
		if (!found || found->word != word) {
			found = fus_state_open_find(&old.st, lext);
			doubt(rb, lext, DOUBT_OLD);
		}
		if (!found || found->word != word)
			fus_rebuild_drop(rb, lext);
		else
			rc = fus_rebuild_open(rb, found);
	}
	fus_state_free(&old.st);
	return rc;
}

/* -- slots ---------------------------------------------------------------------- */

/* Return: whether extent @a has better evidence than @b. */
static int compare(const struct rebuild *rb, u32 a, u32 b)
{
	if (rb->stamp[a] != rb->stamp[b])
		return rb->stamp[a] > rb->stamp[b] ? 1 : -1;
	return (rb->doubt[b] > rb->doubt[a]) - (rb->doubt[a] > rb->doubt[b]);
}

/* The numbers of fast slots, and behind them those of slow ones. */
static size_t owner_index(const struct fusion_sb *geo, u32 word)
{
	return fus_slot_number(geo, word) + (fusion_word_dev(word) == FUSION_SLOW ?
					     fus_slots_of(geo, FUSION_FAST) : 0);
}

/* Beside the number of an extent: another one has equal evidence, so this one is dropped too. */
#define TIED	0x80000000U

/*
 * The owner of a slot keeps its evidence until all have claimed it, so that what is worse than two
 * which are tied does not get it.
 */
static void claim(struct rebuild *rb, u32 lext, u32 *owner)
{
	int better;

	if (*owner == U32_MAX) {
		*owner = lext;
		return;
	}
	better = compare(rb, lext, *owner & ~TIED);
	if (better > 0) {
		fus_rebuild_drop(rb, *owner & ~TIED);
		*owner = lext;
		return;
	}
	fus_rebuild_drop(rb, lext);
	if (!better)
		*owner |= TIED;
}

static void drop_tied(struct rebuild *rb, const u32 *owner, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (owner[i] != U32_MAX && owner[i] & TIED)
			fus_rebuild_drop(rb, owner[i] & ~TIED);
}

static int resolve_slots(const struct meta *meta, struct rebuild *rb)
{
	const struct fusion_sb *geo = &meta->geo[rb->dev];
	const size_t slots = fus_slots_of(geo, FUSION_FAST) + fus_slots_of(geo, FUSION_SLOW);
	u32 *owner = malloc(2 * slots * sizeof(*owner)), *shadow_of;
	u32 lext;

	if (!owner)
		return no_memory();
	memset(owner, 0xff, 2 * slots * sizeof(*owner));
	shadow_of = owner + slots;
	for (lext = 0; lext < geo->nr_lexts; lext++) {
		const u32 word = rb->st.word[lext];

		/* the replica does not record changes of fast slots */
		if (fus_word_is_place(word) &&
		    (rb->dev == FAST || fusion_word_dev(word) == FUSION_SLOW))
			claim(rb, lext, &owner[owner_index(geo, word)]);
	}
	for (lext = 0; lext < geo->nr_lexts; lext++) {
		const u32 word = rb->st.word[lext];

		if (!fusion_names_shadow(word))
			continue;
		if (owner[owner_index(geo, word)] != U32_MAX)
			fus_rebuild_drop(rb, lext);
		else
			claim(rb, lext, &shadow_of[owner_index(geo, word)]);
	}
	drop_tied(rb, owner, 2 * slots);
	free(owner);
	return 0;
}

/* ---------------------------------------------------------------------------------------- */

static int build(const struct meta *meta, const struct meta_journal *j, struct rebuild *rb)
{
	const u32 blocks = meta->geo[rb->dev].map_blocks;
	const struct base a = fus_newest_base(meta, rb);
	const u32 tail = a.replay_seq ? first_from(j, a.replay_seq) : fus_journal_chain(j, j->nr);
	bool *bad = calloc(blocks, sizeof(*bad));
	int rc;

	if (!bad)
		return no_memory();
	rb->set = a.set;
	if (fus_meta_sb(meta, rb->dev))
		rb->st.point = fus_meta_sb(meta, rb->dev)->point;
	for (u32 i = 0; i < blocks; i++) {
		const struct meta_block *b = map_block(meta, rb, a.set, i);

		bad[i] = !b || b->why || b->generation != a.generation;
		if (!bad[i])
			take_block(meta, rb, a.set, i, FROM_MAP);
		else
			rb->bad_blocks++;
	}
	rc = fus_replica_load(meta, rb);
	if (!rc && fus_replica_is_last(meta, rb)) {
		free(bad);
		return fus_replica_take(rb);
	}
	if (!rc && rb->bad_blocks)
		rc = patch_map(meta, j, tail, &a, bad, rb);
	if (!rc)
		rc = fus_replica_use(bad, rb);
	free(bad);
	if (!rc && !fus_meta_sb(meta, rb->dev))
		rc = doubt_before(meta, j, tail, rb);
	if (!rc)
		rc = apply_tail(meta, j, tail, fus_meta_sb(meta, rb->dev), rb);
	if (!rc)
		fus_shadows_judge(fus_meta_sb(meta, rb->dev), rb);
	if (!rc)
		rc = find_bitmaps(meta, j, rb);
	if (!rc)
		rc = resolve_slots(meta, rb);
	if (!rc && rb->dev == FAST && !fus_meta_sb(meta, FAST))
		fus_find_gap(meta, j, &a, rb);
	return rc;
}

int fus_rebuild_state(const struct meta *meta, int dev, struct rebuild *rb)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, dev);
	struct meta_journal j = { 0 };
	u32 lext;
	int rc;

	memset(rb, 0, sizeof(*rb));
	rb->set = -1;
	rb->dev = dev;
	rc = fus_state_init(&rb->st, meta->geo[rb->dev].nr_lexts);
	if (rc)
		return rc;
	if (sb && fus_state_load(meta, sb, &rb->st, NULL)) {
		rb->exact = true;
		rb->set = sb->active_set;
		return 0;
	}
	fus_state_free(&rb->st);
	rb->stamp = calloc(meta->geo[rb->dev].nr_lexts, sizeof(*rb->stamp));
	rb->doubt = calloc(meta->geo[rb->dev].nr_lexts, sizeof(*rb->doubt));
	if (!rb->stamp || !rb->doubt)
		return no_memory();
	rc = fus_state_init(&rb->st, meta->geo[rb->dev].nr_lexts);
	if (!rc)
		rc = fus_journal_list(meta, rb->dev, &j);
	drop_never_in_force(sb, &j);
	if (!rc)
		rc = build(meta, &j, rb);
	fus_journal_free(&j);
	for (lext = 0; lext < rb->st.nr_lexts && !rc; lext++)
		rb->nr[rb->doubt[lext]]++;
	return rc;
}

void fus_rebuild_free(struct rebuild *rb)
{
	fus_state_free(&rb->st);
	fus_state_free(&rb->replica);
	free(rb->stamp);
	free(rb->doubt);
	memset(rb, 0, sizeof(*rb));
}
