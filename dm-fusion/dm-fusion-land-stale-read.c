// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the stale list that the slow member has when a set is opened, read by the first run.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dm-fusion.h"

u8 *fusion_stale_bits(const struct fusion_stale *s, u8 *bitmaps, u32 place)
{
	return bitmaps + (size_t)place * s->fs->land.bitmap_bytes;
}

int fusion_stale_rw(struct fusion_stale *s, enum req_op op, u64 blocknr, u32 nr)
{
	return fusion_rw_blocks(s->fs, &s->io, op | REQ_META, blocknr, 0, nr);
}

/* The part of it that the buffer holds. */
struct reader {
	struct fusion_stale *s;
	u64 start;
	u32 nr;
	bool told;	/* all copies of lists were read, and some of them told */
	bool late;	/* there is no time left */
};

/* As fusion_load_read_ring(). */
static const void *fusion_stale_read_block(void *ctx, u64 blocknr)
{
	struct reader *rd = ctx;
	const struct fusion_sb *sb = &rd->s->fs->sb;
	const u64 end = sb->stale_start + fusion_stale_size(sb, sb->stale_places);
	const u64 until = READ_ONCE(rd->s->until_ms);

	rd->late |= until && fusion_now_ms() >= until;
	if (rd->late)
		return NULL;
	if (blocknr < rd->start || blocknr - rd->start >= rd->nr) {
		rd->start = blocknr;
		rd->nr = min_t(u64, end - blocknr, FUSION_BUF_BLOCKS);
		if (fusion_stale_rw(rd->s, REQ_OP_READ, blocknr, rd->nr)) {
			/* Only the block asked for matters; its neighbours may be bad. */
			rd->nr = !fusion_stale_rw(rd->s, REQ_OP_READ, blocknr, 1);
			if (!rd->nr)
				return NULL;
		}
	}
	return page_address(rd->s->io.buf[blocknr - rd->start]);
}

static int fusion_stale_found(void *ctx, u32 copy, u32 i, const struct fusion_stale_seen *list,
			      bool counts)
{
	struct reader *rd = ctx;
	struct fusion_stale_place *place = &rd->s->place[i];

	rd->told = true;
	if (!counts) {
		place->again = true;
		return 0;
	}
	place->segno = list->segno;
	place->key = list->key;
	place->sum = list->sum;
	place->copy = copy;
	return 0;
}

/*
 * It may be read the next time, and then count: it is the one that is written next. If that was
 * found, it does count if it is read the next time: the other one is written.
 */
static void fusion_stale_unreadable(void *ctx, u32 copy, u32 i)
{
	struct reader *rd = ctx;

	if (!rd->told)
		rd->s->place[i].copy = !copy;
	rd->s->place[i].again = true;
}

/* Those of copies that do not count do no harm: such a list is written again. */
static int fusion_stale_found_entry(void *ctx, u32 i, const struct fusion_stale_entry *entry)
{
	struct reader *rd = ctx;

	fusion_stale_bits(rd->s, rd->s->listed, i)[entry->pos / 8] |= 1 << entry->pos % 8;
	return 0;
}

int fusion_stale_load(struct fusion_stale *s)
{
	const u32 places = s->fs->sb.stale_places;
	struct reader rd = { .s = s };
	struct fusion_stale_scan scan = {
		.sb = &s->fs->sb,
		.seen = s->seen,
		.read = fusion_stale_read_block,
		.list = fusion_stale_found,
		.entry = fusion_stale_found_entry,
		.unreadable = fusion_stale_unreadable,
		.ctx = &rd,
	};
	u32 i;

	fusion_stale_scan(&scan);
	if (rd.late) {
		memset(s->place, 0, places * sizeof(*s->place));
		memset(s->listed, 0, (size_t)places * s->fs->land.bitmap_bytes);
		return -EINTR;
	}
	kvfree(s->seen);
	s->seen = NULL;
	s->last_run = scan.last_run;
	s->loaded = true;
	s->bad_heads = scan.bad_heads;
	if (s->bad_heads && scan.found && !fusion_stale_whole(&scan)) {
		s->bad_heads |= BIT(scan.head.run % FUSION_STALE_COPIES);
		scan.found = false;
	}
	if (s->bad_heads) {
		/* lists that are not found may have the number of that run */
		s->last_run += 2;
		for (i = 0; i < places; i++)
			s->place[i].again = true;
	}
	s->next = scan.head;
	s->headless = scan.found;
	return 0;
}
