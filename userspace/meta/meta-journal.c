// SPDX-License-Identifier: GPL-2.0-only
/*
 * The whole transactions in a ring, at any place: for repair, which needs those that
 * fusion_replay() does not reach, and for dump. Each is still replayed by fusion_replay(), on a
 * ring that holds nothing else.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "meta.h"

bool fus_journal_sane(const struct fusion_journal_block *b)
{
	/* an epoch must have a successor */
	return le64_to_cpu(b->seq) < FUSION_MAX_COUNTER &&
	       le64_to_cpu(b->txn) < FUSION_MAX_COUNTER &&
	       le32_to_cpu(b->epoch) < U32_MAX - 1 &&
	       le64_to_cpu(b->peer_generation) <= FUSION_MAX_COUNTER &&
	       le64_to_cpu(b->peer_seq) <= FUSION_MAX_COUNTER;
}

const struct fusion_journal_block *fus_ring_block(const struct meta *meta, int dev, u64 seq)
{
	const struct fusion_sb *geo = &meta->geo[dev];
	const struct meta_ring *ring = &meta->m[dev].ring;
	const u64 blocknr = fusion_journal_blocknr(geo, seq);
	const u64 pos = blocknr - geo->journal_start[dev];
	const struct fusion_journal_block *b =
		(const void *)(ring->block + pos * FUSION_BLOCK_SIZE);

	if (ring->unreadable[pos] || fusion_block_check(geo, FUSION_MAGIC_JOURNAL, blocknr, b) ||
	    le64_to_cpu(b->seq) != seq || !fus_journal_sane(b))
		return NULL;
	return b;
}

/* Return: whether a whole transaction begins with this block. */
static bool whole(const struct meta *meta, int dev, const struct fusion_journal_block *b,
		  struct meta_txn *t)
{
	*t = (struct meta_txn){
		.seq = le64_to_cpu(b->seq),
		.txn = le64_to_cpu(b->txn),
		.epoch = le32_to_cpu(b->epoch),
		.count = le16_to_cpu(b->count),
		.prev_csum = le32_to_cpu(b->prev_csum),
		.csum = le32_to_cpu(b->h.csum),
	};
	if (le16_to_cpu(b->index) || !t->count || t->count > meta->geo[dev].journal_blocks[dev])
		return false;
	for (u32 i = 1; i < t->count; i++) {
		b = fus_ring_block(meta, dev, t->seq + i);
		if (!b || le64_to_cpu(b->txn) != t->txn || le32_to_cpu(b->epoch) != t->epoch ||
		    le16_to_cpu(b->index) != i || le16_to_cpu(b->count) != t->count ||
		    le32_to_cpu(b->prev_csum) != t->csum)
			return false;
		t->csum = le32_to_cpu(b->h.csum);
	}
	return true;
}

static int by_seq(const void *a, const void *b)
{
	const struct meta_txn *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

int fus_journal_list(const struct meta *meta, int dev, struct meta_journal *j)
{
	const u32 nr = meta->geo[dev].journal_blocks[dev];
	const struct meta_ring *ring = &meta->m[dev].ring;

	j->nr = 0;
	j->t = calloc(nr, sizeof(*j->t));
	if (!j->t)
		return fus_fail(FC_FAILED, "memory", "not enough for the journal; close programs "
				"and try again");
	for (u32 pos = 0; pos < nr; pos++) {
		const struct fusion_journal_block *b =
			(const void *)(ring->block + (size_t)pos * FUSION_BLOCK_SIZE);
		const u64 seq = le64_to_cpu(b->seq);

		/* the block itself, valid and in its place */
		if (fus_ring_block(meta, dev, seq) == b && whole(meta, dev, b, &j->t[j->nr]))
			j->nr++;
	}
	qsort(j->t, j->nr, sizeof(*j->t), by_seq);
	return 0;
}

void fus_journal_free(struct meta_journal *j)
{
	free(j->t);
	j->t = NULL;
	j->nr = 0;
}

bool fus_txn_follows(const struct meta_txn *a, const struct meta_txn *b)
{
	return b->seq == a->seq + a->count && b->txn == a->txn + 1 && b->prev_csum == a->csum;
}

static bool is_valid(const struct meta *meta, int dev, u64 seq)
{
	const struct fusion_sb *geo = &meta->geo[dev];
	const u64 blocknr = fusion_journal_blocknr(geo, seq);
	const u64 pos = blocknr - geo->journal_start[dev];

	return !meta->m[dev].ring.unreadable[pos] &&
	       !fusion_block_check(geo, FUSION_MAGIC_JOURNAL, blocknr,
				   meta->m[dev].ring.block + pos * FUSION_BLOCK_SIZE);
}

u32 fus_journal_chain(const struct meta_journal *j, u32 end)
{
	u32 i = end;

	while (i && (i == end || fus_txn_follows(&j->t[i - 1], &j->t[i])))
		i--;
	return i;
}

bool fus_journal_complete(const struct meta *meta, int dev, const struct meta_journal *j)
{
	const u32 first = fus_journal_chain(j, j->nr), blocks = meta->geo[dev].journal_blocks[dev];
	const struct meta_txn *t = &j->t[first], *last = &j->t[j->nr - 1];

	if (!j->nr)
		return false;
	/* the map copy is flushed before a chain begins */
	if (!t->prev_csum)
		return true;
	if (first && j->t[first - 1].seq + j->t[first - 1].count == t->seq)
		return false;
	/* power may have failed in the transaction after the last one, which has no more blocks */
	for (u64 seq = last->seq + last->count + min(FUSION_TXN_BLOCKS, blocks / 4);
	     seq < t->seq + blocks; seq++)
		if (!is_valid(meta, dev, seq))
			return false;
	return true;
}

struct one_ctx {
	const struct meta *meta;
	const struct meta_txn *t;
	int dev;
	record_fn fn;
	void *ctx;
};

static const void *read_one(void *ctx, u32 pos)
{
	static const u8 empty[FUSION_BLOCK_SIZE];
	const struct one_ctx *c = ctx;
	const struct meta_ring *ring = &c->meta->m[c->dev].ring;
	const u32 blocks = c->meta->geo[c->dev].journal_blocks[c->dev];
	u64 first = fusion_journal_blocknr(&c->meta->geo[c->dev], c->t->seq) -
		    c->meta->geo[c->dev].journal_start[c->dev];

	if ((pos + blocks - first) % blocks >= c->t->count)
		return empty;
	return ring->block + (size_t)pos * FUSION_BLOCK_SIZE;
}

static int apply_one(void *ctx, const struct fusion_record *rec)
{
	const struct one_ctx *c = ctx;

	/* of a landing log that was turned off since */
	if (fusion_op_is_landing(rec->op) && !fus_has_landing(&c->meta->geo[c->dev]))
		return 0;
	return c->fn(c->ctx, c->t, rec);
}

int fus_journal_apply(const struct meta *meta, int dev, const struct meta_txn *t, record_fn fn,
		      void *ctx)
{
	struct fusion_sb sb = meta->geo[dev];
	struct one_ctx c = { meta, t, dev, fn, ctx };
	struct fusion_replay rp = {
		.sb = &sb, .read = read_one, .apply = apply_one, .ctx = &c,
	};

	/* from before, perhaps: as fus_meta_read() */
	sb.incompat |= FUSION_INCOMPAT_DAMAGED | (dev == FAST ? FUSION_INCOMPAT_LANDING : 0);
	sb.replay_seq = t->seq;
	sb.replay_txn = t->txn;
	sb.replay_csum = t->prev_csum;
	sb.epoch = t->epoch;
	return fusion_replay(&rp);
}
