// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a map copy does not have, written as the first transaction of a journal: the bitmaps of open
 * extents, and on the fast member the segments of the landing log and how far that has got.
 */
#include <stdlib.h>

#include "error.h"
#include "fusionctl.h"
#include "meta.h"

static u32 opens_per_block(const struct fusion_sb *sb)
{
	return FUSION_JOURNAL_PAYLOAD / (u32)(sizeof(struct fusion_journal_record) +
					      fusion_bitmap_bytes(sb->extent_sectors));
}

static u32 open_blocks(const struct fusion_sb *sb, const struct meta_state *st)
{
	return DIV_ROUND_UP(st->nr_open, opens_per_block(sb));
}

static u32 segments_per_block(const struct fusion_sb *sb)
{
	return FUSION_JOURNAL_PAYLOAD / fusion_record_bytes(sb, FUSION_OP_SEGMENT);
}

static u32 segment_blocks(const struct fusion_sb *sb, const struct meta_state *st)
{
	return DIV_ROUND_UP(st->log.nr, segments_per_block(sb));
}

/* Has the log got anywhere? Then the last block says how far. */
static bool has_landed(const struct meta_state *st)
{
	return !fusion_landed_nowhere(&st->log.from);
}

/* Number of blocks that all of it needs. */
u32 fus_meta_open_blocks(const struct fusion_sb *sb, const struct meta_state *st)
{
	const u32 log = fus_has_landing(sb) ? segment_blocks(sb, st) + has_landed(st) : 0;

	return open_blocks(sb, st) + log;
}

/* Record @i, of which there are @per_block in a block. */
static void pack(const struct fusion_sb *sb, char *buf, u32 i, u32 per_block,
		 const struct fusion_record *rec)
{
	char *block = buf + (size_t)(i / per_block) * FUSION_BLOCK_SIZE;

	if (!(i % per_block))
		fusion_journal_init(block);
	fusion_journal_add(sb, block, rec);
}

static void pack_log(const struct fusion_sb *sb, const struct meta_state *st, char *buf)
{
	struct fusion_record rec = { .op = FUSION_OP_SEGMENT };

	for (u32 i = 0; i < st->log.nr; i++) {
		rec.segment = st->log.seg[i]->seg;
		pack(sb, buf, i, segments_per_block(sb), &rec);
	}
	rec = (struct fusion_record){ .op = FUSION_OP_LANDED, .landed = st->log.from };
	if (has_landed(st))
		pack(sb, buf + (size_t)segment_blocks(sb, st) * FUSION_BLOCK_SIZE, 0, 1,
		     &rec);
}

/* Pack all of it; *nr blocks. NULL after a message. */
static char *pack_opens(const struct fusion_sb *sb, const struct meta_state *st, u32 *nr)
{
	char *buf;

	*nr = fus_meta_open_blocks(sb, st);
	buf = fus_offline_buffer((size_t)*nr * FUSION_BLOCK_SIZE);
	for (u32 i = 0; buf && i < st->nr_open; i++) {
		const struct meta_open *open = st->open[i];
		const struct fusion_record rec = {
			.lext = open->lext, .new = open->word, .bitmap = open->bitmap,
			.old = sb->role == FUSION_FAST ? open->word : FUSION_WORD_UNMAPPED,
			.op = open->lost ? FUSION_OP_PARTLY_LOST : FUSION_OP_OPEN,
		};

		pack(sb, buf, i, opens_per_block(sb), &rec);
	}
	if (buf && fus_has_landing(sb))
		pack_log(sb, st, buf + (size_t)open_blocks(sb, st) * FUSION_BLOCK_SIZE);
	return buf;
}

int fus_meta_put_opens(const struct meta *meta, const struct fusion_sb *sb,
		       const struct meta_state *st)
{
	/* from the previous epoch, as in an activation: the superblock in force names that one */
	struct fusion_sb before = *sb;
	u32 nr, csum = sb->replay_csum;
	char *buf = pack_opens(sb, st, &nr);
	int err, rc = buf ? 0 : FC_FAILED;

	before.epoch--;
	if (nr > sb->journal_blocks[sb->role])
		rc = fus_fail(FC_FAILED, meta->m[sb->role].o.path, "its journal is too small for "
			      "the bitmaps of %u open extents; give less", st->nr_open);
	for (u32 i = 0; i < nr && !rc; i++) {
		char *block = buf + (size_t)i * FUSION_BLOCK_SIZE;

		csum = fusion_journal_seal(&before, block, sb->replay_seq + i, sb->replay_txn, i,
					   nr, csum);
		err = fus_offline_write(&meta->m[sb->role].o,
					fusion_journal_blocknr(sb, sb->replay_seq + i) *
					FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE, block);
		if (err)
			rc = fus_meta_io_failed(meta, sb->role, "write", err);
	}
	free(buf);
	return rc;
}
