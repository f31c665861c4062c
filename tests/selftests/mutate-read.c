// SPDX-License-Identifier: GPL-2.0-only
/* mutate: decode the set, for what has to be known of it. */
#include <stdlib.h>

#include "mutate-inside.h"

struct walk {
	struct image *im;
	int dev;
	struct fusion_replay r;
};

static const void *walk_read(void *ctx, u32 pos)
{
	struct walk *w = ctx;

	return image_block(w->im, w->dev, w->im->sb[w->dev].journal_start[w->dev] + pos);
}

static int walk_apply(void *ctx, const struct fusion_record *rec)
{
	struct walk *w = ctx;
	struct image *im = w->im;

	if (im->last[w->dev] && w->r.next_seq >= im->last_txn[w->dev])
		im->last[w->dev][rec->lext] = 1;
	return 0;
}

static const char *find_super(struct image *im, int dev)
{
	const char *why = NULL;
	struct fusion_sb one;
	bool found = false;

	for (int copy = 0; copy < 2; copy++) {
		const u64 blocknr = FUSION_SUPER_BLOCKNR(copy);

		if (fusion_sb_unpack(image_block(im, dev, blocknr), blocknr, im->size[dev] / 512,
				     &one, &why))
			continue;
		if (!found || one.generation > im->sb[dev].generation)
			im->sb[dev] = one;
		found = true;
	}
	return found ? NULL : why;
}

static const char *find_last_txn(struct image *im, int dev)
{
	static struct walk w;	/* it has the text of the error */
	const struct fusion_journal_block *b;

	w = (struct walk){ .im = im, .dev = dev, .r = {
		.sb = &im->sb[dev], .read = walk_read, .apply = walk_apply, .ctx = &w,
	} };
	if (fusion_replay(&w.r))
		return w.r.why;
	im->next_seq[dev] = w.r.next_seq;
	im->last_txn[dev] = w.r.next_seq;
	if (w.r.next_seq == im->sb[dev].replay_seq)
		return NULL;
	b = (void *)image_block(im, dev, fusion_journal_blocknr(&im->sb[dev], w.r.next_seq - 1));
	im->last_txn[dev] -= le16toh(b->count);
	im->last[dev] = calloc(im->sb[dev].nr_lexts, 1);
	return !im->last[dev] || fusion_replay(&w.r) ? "out of memory" : NULL;
}

const char *image_read(struct image *im)
{
	const char *why = NULL;

	for (int dev = 0; dev < FUSION_NR_DEVS && !why; dev++) {
		why = find_super(im, dev);
		if (!why)
			why = find_last_txn(im, dev);
	}
	return why;
}
