// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: chains of blocks: the journal on the fast member, the replica's log on the slow one.
 */
#include <linux/mm.h>

#include "dm-fusion.h"

int fusion_chain_init(struct fusion_chain *chain, struct fusion_sb *sb)
{
	unsigned int i;

	chain->sb = sb;
	for (i = 0; i < FUSION_BUF_BLOCKS; i++) {
		chain->buf[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!chain->buf[i])
			return -ENOMEM;
	}
	return 0;
}

void fusion_chain_exit(struct fusion_chain *chain)
{
	unsigned int i;

	for (i = 0; i < FUSION_BUF_BLOCKS; i++)
		if (chain->buf[i])
			__free_page(chain->buf[i]);
}

void fusion_note_peer(struct fusion *fs, const struct fusion_chain *chain, struct fusion_sb *sb)
{
	const struct fusion_chain *other = chain == &fs->journal ? &fs->replica.log : &fs->journal;

	/* Before the commit of a join, the other member may still be another disk. */
	if (fs->old.joining)
		return;
	/* This only raises what @sb says, which was true when it was written. */
	fusion_progress_raise(&sb->peer_at, READ_ONCE(other->durable.generation),
			      READ_ONCE(other->durable.seq));
}

/* Blocks from next_seq on. In two bios if the ring wraps within them; the first one may flush. */
static int fusion_chain_rw(struct fusion *fs, struct fusion_chain *chain, blk_opf_t opf,
			   blk_opf_t preflush, unsigned int nr)
{
	const struct fusion_sb *sb = chain->sb;
	u64 ring = sb->journal_start[sb->role];
	u64 start = fusion_journal_blocknr(sb, chain->next_seq);
	unsigned int first_part = min_t(u64, nr, ring + sb->journal_blocks[sb->role] - start);
	int r;

	r = fusion_rw_blocks(fs, chain, opf | preflush, start, 0, first_part);
	if (!r && first_part < nr)
		r = fusion_rw_blocks(fs, chain, opf, ring, first_part, nr - first_part);
	return r;
}

int fusion_chain_write(struct fusion *fs, struct fusion_chain *chain, unsigned int nr)
{
	struct fusion_sb *sb = chain->sb;
	blk_opf_t fua = fusion_meta_fua(fs, sb->role);
	blk_opf_t opf = REQ_OP_WRITE | REQ_SYNC | REQ_META | fua, preflush;
	u32 csum = chain->prev_csum;
	unsigned int i;
	int r;

	if (WARN_ON_ONCE(nr > fusion_chain_free(chain)))
		return -ENOSPC;
	r = fusion_flush_before(fs, chain, &preflush);
	if (r)
		return r;
	fusion_note_peer(fs, chain, sb);
	for (i = 0; i < nr; i++)
		csum = fusion_journal_seal(sb, page_address(chain->buf[i]), chain->next_seq + i,
					   chain->next_txn, i, nr, csum);

	r = fusion_chain_rw(fs, chain, opf, preflush, nr);
	if (!r)
		r = fusion_flush_after(fs, sb->role, fua);
	if (r) {
		chain->unsure = max(chain->unsure, nr);
		return r;
	}
	chain->unsure = 0;
	chain->prev_csum = csum;
	WRITE_ONCE(chain->next_seq, chain->next_seq + nr);
	chain->next_txn++;
	fusion_note_durable(chain, 0, chain->next_seq);
	return 0;
}

int fusion_chain_settle(struct fusion *fs)
{
	struct fusion_chain *chain = &fs->journal;
	const unsigned int nr = chain->unsure;
	int r;

	/*
	 * What cannot be read is no transaction, and no block is written behind it. Without a
	 * heartbeat nothing is written: another machine may have taken the set over.
	 */
	if (!nr || fusion_gate_ready(fs) ||
	    fusion_chain_rw(fs, chain, REQ_OP_READ | REQ_META, 0, nr))
		return 0;
	r = fusion_chain_rw(fs, chain, REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_FUA, 0, nr);
	if (r)
		DMERR("%s: writing a failed transaction again failed: %d",
		      dm_table_device_name(fs->ti->table), r);
	else
		chain->unsure = 0;
	return r;
}
