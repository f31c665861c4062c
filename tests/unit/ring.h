/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A journal as a committer would write it, or a replica's log, in a ring in memory,
 * with a record of what a replay has to find. For the tests of journal and replay.
 */
#ifndef RING_H
#define RING_H

#include <errno.h>

#include "unit.h"

#define RING_BLOCKS	64U		/* the smallest journal */
#define MAX_HISTORY	4096U		/* transactions in a test */
#define MAX_RECORDS	65536U

/* A record and its bitmap. */
struct kept_record {
	struct fusion_record rec;
	u8 bitmap[512];
};

/* A transaction in the history, and where its records end. */
struct kept_txn {
	u64 seq;
	u32 count;
	u32 nr_records;			/* of this and all before */
};

struct ring {
	struct fusion_sb sb;
	u64 seed;
	u8 block[RING_BLOCKS][FUSION_BLOCK_SIZE];

	/* the committer's position */
	u64 next_seq;
	u64 next_txn;
	u32 csum;

	u32 nr_txns;			/* of the history */
	u32 nr_records;
	u32 first_txn;			/* after the checkpoint */

	/* what replay did */
	u32 nr_applied;
	u32 nr_wrong;
	u32 unreadable;			/* ring position, or U32_MAX */
	u32 unreadable_too;		/* another one */
	u32 refuse;			/* record to refuse, or U32_MAX */
	u32 reads;
	u32 vanish;			/* read from which on all is empty, or U32_MAX */
};

/*
 * All that was ever committed. Apart from the ring, so that the ring can be copied to return
 * to an earlier state of it.
 */
static struct kept_txn ring_txn[MAX_HISTORY];
static struct kept_record ring_record[MAX_RECORDS];

static inline u8 *fus_ring_block(struct ring *g, u64 seq)
{
	return g->block[seq % RING_BLOCKS];
}

/* The member whose rings these are, for all sources of a program. */
__attribute__((weak)) enum fusion_dev ring_dev;

/* An empty journal from @seq on, in a ring full of what was on the disk before. */
static inline void ring_init(struct ring *g, u32 extent_sectors, u64 seq, u64 seed)
{
	struct fusion_sb fast;

	memset(g, 0, sizeof(*g));
	g->seed = seed;
	example_sb(&fast, 128ULL * extent_sectors, 512ULL * extent_sectors, extent_sectors);
	g->sb = fast;
	if (ring_dev == FUSION_SLOW)
		fusion_sb_for_slow(&fast, &g->sb);
	g->sb.journal_blocks[ring_dev] = RING_BLOCKS;
	g->sb.replay_seq = seq;
	g->next_seq = seq;
	g->next_txn = g->sb.replay_txn;
	g->csum = g->sb.replay_csum;
	g->unreadable = U32_MAX;
	g->unreadable_too = U32_MAX;
	g->refuse = U32_MAX;
	g->vanish = U32_MAX;
	rnd_fill(&g->seed, g->block, sizeof(g->block));
}

static inline u32 ring_rnd_word(struct ring *g, enum fusion_state state)
{
	const struct fusion_sb *sb = &g->sb;

	if (rnd_below(&g->seed, 2))
		return fusion_word(state, FUSION_FAST, rnd_below(&g->seed, sb->nr_fast_slots));
	return fusion_word(state, FUSION_SLOW,
			   sb->slow_first_slot + rnd_below(&g->seed, sb->nr_slow_slots));
}

static inline void ring_rnd_record(struct ring *g, struct kept_record *k)
{
	const struct fusion_sb *sb = &g->sb;

	memset(k, 0, sizeof(*k));
	k->rec.lext = rnd_below(&g->seed, sb->nr_lexts);
	k->rec.op = FUSION_OP_OPEN + rnd_below(&g->seed, 4);
	k->rec.old = rnd_below(&g->seed, 2) ? FUSION_WORD_UNMAPPED :
		     ring_rnd_word(g, FUSION_STABLE);
	switch (k->rec.op) {
	case FUSION_OP_OPEN:
		k->rec.new = ring_rnd_word(g, FUSION_OPEN);
		rnd_fill(&g->seed, k->bitmap, sb->extent_sectors / 64);
		break;
	case FUSION_OP_UNMAP:
		k->rec.new = FUSION_WORD_UNMAPPED;
		break;
	default:
		k->rec.new = ring_rnd_word(g, FUSION_STABLE);
	}
}

/* Fill @block with up to @nr random records, kept in the history. */
static inline void ring_fill(struct ring *g, void *block, u32 nr)
{
	fusion_journal_init(block);
	while (nr--) {
		struct kept_record *k = &ring_record[g->nr_records];

		REQUIRE(g->nr_records < MAX_RECORDS);
		ring_rnd_record(g, k);
		k->rec.bitmap = k->bitmap;
		if (!fusion_journal_add(&g->sb, block, &k->rec))
			break;
		g->nr_records++;
	}
}

/* The next transaction, of @count blocks; written where it belongs. */
static inline void ring_commit(struct ring *g, u32 count)
{
	struct kept_txn *t = &ring_txn[g->nr_txns++];
	u32 i;

	REQUIRE(g->nr_txns <= MAX_HISTORY);
	REQUIRE(g->next_seq + count <= g->sb.replay_seq + RING_BLOCKS);
	t->seq = g->next_seq;
	t->count = count;
	for (i = 0; i < count; i++) {
		u8 *block = fus_ring_block(g, g->next_seq);

		ring_fill(g, block, 1 + rnd_below(&g->seed, 8));
		g->csum = fusion_journal_seal(&g->sb, block, g->next_seq++, g->next_txn, i,
					      count, g->csum);
	}
	g->next_txn++;
	t->nr_records = g->nr_records;
}

/* A superblock from which nothing before has to be replayed. */
static inline void ring_checkpoint(struct ring *g)
{
	g->sb.replay_seq = g->next_seq;
	g->sb.replay_txn = g->next_txn;
	g->sb.replay_csum = g->csum;
	g->first_txn = g->nr_txns;
}

static inline u32 ring_room(const struct ring *g)
{
	return g->sb.replay_seq + RING_BLOCKS - g->next_seq;
}

/* -- replay ------------------------------------------------------------------- */

static inline u32 records_before(u32 txn)
{
	return txn ? ring_txn[txn - 1].nr_records : 0;
}

static inline const void *ring_read(void *ctx, u32 pos)
{
	static const u8 empty[FUSION_BLOCK_SIZE];
	struct ring *g = ctx;

	REQUIRE(pos < RING_BLOCKS);
	if (pos == g->unreadable || pos == g->unreadable_too)
		return NULL;
	return g->reads++ >= g->vanish ? empty : g->block[pos];
}

/* Is it the record that comes next in the history? */
static inline int ring_apply(void *ctx, const struct fusion_record *rec)
{
	struct ring *g = ctx;
	const struct fusion_sb *sb = &g->sb;
	const u32 at = records_before(g->first_txn) + g->nr_applied;
	const struct kept_record *k = &ring_record[at];

	REQUIRE(rec->lext < sb->nr_lexts);
	REQUIRE(rec->op == FUSION_OP_AWAY || rec->op == FUSION_OP_POINT ||
		fusion_word_valid(sb, rec->new));
	REQUIRE(rec->op == FUSION_OP_POINT || fusion_word_valid(sb, rec->old));
	REQUIRE(!rec->bitmap == !fusion_op_has_bitmap(rec->op));
	if (g->nr_applied == g->refuse)
		return -ENOMEM;
	g->nr_applied++;
	if (at >= g->nr_records || rec->lext != k->rec.lext || rec->new != k->rec.new ||
	    rec->old != k->rec.old || rec->op != k->rec.op ||
	    (rec->bitmap && memcmp(rec->bitmap, k->bitmap,
				   fusion_bitmap_bytes(sb->extent_sectors))))
		g->nr_wrong++;
	return 0;
}

static inline int ring_replay(struct ring *g, struct fusion_replay *r)
{
	memset(r, 0, sizeof(*r));
	r->sb = &g->sb;
	r->read = ring_read;
	r->apply = ring_apply;
	r->ctx = g;
	g->nr_applied = 0;
	g->nr_wrong = 0;
	g->reads = 0;
	return fusion_replay(r);
}

/*
 * The log of the replica is a journal like any: all tests but @caller, once more with it.
 */
static inline void ring_slow(void (*caller)(void))
{
	ring_dev = FUSION_SLOW;
	unit_run_others(caller);
	ring_dev = FUSION_FAST;
}

/* The replay must find all up to, not including, transaction @end of the history. */
static inline void ring_expect(struct ring *g, u32 end)
{
	const u32 nr = records_before(end) - records_before(g->first_txn);
	struct fusion_replay r;
	const int err = ring_replay(g, &r);

	REQUIRE(!err, "%d: %s", err, r.why);
	REQUIRE_EQ(g->nr_applied, nr);
	REQUIRE_EQ(r.nr_records, nr);
	REQUIRE_EQ(g->nr_wrong, 0);
	REQUIRE_EQ(r.next_txn, g->sb.replay_txn + end - g->first_txn);
	if (end == g->nr_txns) {
		REQUIRE_EQ(r.next_seq, g->next_seq);
		REQUIRE_EQ(r.csum, g->csum);
	} else {
		REQUIRE_EQ(r.next_seq, ring_txn[end].seq);
	}
}

/* The replay must fail, and must not have applied anything. */
static inline void ring_expect_error(struct ring *g, int error)
{
	struct fusion_replay r;
	const int err = ring_replay(g, &r);

	REQUIRE(err == error, "%d instead of %d: %s", err, error, r.why);
	REQUIRE(r.why);
	REQUIRE_EQ(g->nr_applied, 0);
}

#endif
