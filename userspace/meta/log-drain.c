// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is in the landing log of a closed set, as the content of its extents: put over what their
 * slots have, or written to these. Such a block lies in an extent of the slow member (INV18), so a
 * write that is torn by a power cut harms nothing: the log still has the block, and hides it.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "progress.h"

#define CHUNK_BLOCKS	256U

/* Index of the first one that is not below @block. */
static u64 find(const struct log_blocks *has, u64 block)
{
	u64 lo = 0, hi = has->nr;

	while (lo < hi) {
		const u64 mid = lo + (hi - lo) / 2;

		if (has->block[mid] < block)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int fus_log_put(const struct meta *meta, const struct meta_state *st, u32 lext, u8 *buf)
{
	const u32 blocks = fusion_segment_blocks(&meta->geo[FAST]);
	const struct log_blocks *has = &st->log.has;
	const u64 first = (u64)lext * blocks;
	int err = 0;

	for (u64 i = find(has, first); i < has->nr && has->block[i] - first < blocks && !err; i++)
		err = fus_offline_read(&meta->m[FAST].o, has->at[i] * FUSION_BLOCK_SIZE,
				       FUSION_BLOCK_SIZE,
				       buf + (has->block[i] - first) * FUSION_BLOCK_SIZE);
	return err ? fus_meta_io_failed(meta, FAST, "read", err) : 0;
}

/* A block of the set, and where it goes. */
struct drained {
	u64 to, from, block;
};

static int by_place(const void *a, const void *b)
{
	const u64 x = ((const struct drained *)a)->to, y = ((const struct drained *)b)->to;

	return x < y ? -1 : x > y;
}

/* In the order in which they lie on the slow member, which may be a disk. */
static struct drained *in_order(const struct fusion_sb *sb, const struct meta_state *st)
{
	const u32 blocks = fusion_segment_blocks(sb);
	const struct log_blocks *has = &st->log.has;
	struct drained *d = malloc(has->nr * sizeof(*d));

	for (u64 i = 0; d && i < has->nr; i++) {
		const u32 slot = fusion_word_slot(st->word[has->block[i] / blocks]);

		d[i].to = fusion_slot_sector(sb, SLOW, slot) / FUSION_BLOCK_SECTORS +
			  has->block[i] % blocks;
		d[i].from = has->at[i];
		d[i].block = has->block[i];
	}
	if (d)
		qsort(d, has->nr, sizeof(*d), by_place);
	return d;
}

/*
 * Nothing else has its newest version. An open set does without it once that is written again, or
 * discarded.
 */
static int unreadable(const struct meta *meta, const struct drained *d, int err)
{
	const struct fusion_sb *sb = &meta->geo[FAST];

	return fus_fail(FC_FAILED, meta->m[FAST].o.path,
			"block %llu cannot be read (%s), which has the "
			"newest version of the sectors %llu-%llu of %s, in extent %llu; open the "
			"set, write or discard these, which may mean to delete a file, and try "
			"again", (unsigned long long)d->from, strerror(-err),
			(unsigned long long)d->block * FUSION_BLOCK_SECTORS,
			(unsigned long long)(d->block + 1) * FUSION_BLOCK_SECTORS - 1, sb->label,
			(unsigned long long)d->block / fusion_segment_blocks(sb));
}

/* The first ones, as far as they go side by side; *nr of them. */
static int drain_run(const struct meta *meta, const struct drained *d, u64 most, u8 *buf, u32 *nr)
{
	u32 n = 0;
	int err;

	do {
		err = fus_offline_read(&meta->m[FAST].o, d[n].from * FUSION_BLOCK_SIZE,
				       FUSION_BLOCK_SIZE, buf + (size_t)n * FUSION_BLOCK_SIZE);
		if (err)
			return unreadable(meta, &d[n], err);
	} while (++n < min_t(u64, most, CHUNK_BLOCKS) && d[n].to == d[0].to + n);
	*nr = n;
	err = fus_offline_write(&meta->m[SLOW].o, d[0].to * FUSION_BLOCK_SIZE,
				(size_t)n * FUSION_BLOCK_SIZE, buf);
	return err ? fus_meta_io_failed(meta, SLOW, "write", err) : 0;
}

int fus_log_drain(const struct meta *meta, const struct meta_state *st,
		  int (*may_write)(void *ctx), void *ctx)
{
	const u64 nr = st->log.has.nr;
	struct drained *d;
	u32 n = 0;
	u8 *buf;
	int rc;

	if (!nr)
		return 0;
	d = in_order(&meta->geo[FAST], st);
	buf = fus_offline_buffer(CHUNK_BLOCKS * FUSION_BLOCK_SIZE);
	rc = buf && d ? 0 : FC_FAILED;
	if (buf && !d)
		fus_fail(FC_FAILED, "memory", "not enough; close programs and try again");
	fus_progress_begin("emptying the landing log", &fus_progress_mib, nr * FUSION_BLOCK_SIZE);
	for (u64 i = 0; i < nr && !rc; i += n) {
		rc = may_write ? may_write(ctx) : 0;
		if (!rc)
			rc = drain_run(meta, &d[i], nr - i, buf, &n);
		fus_progress_add((u64)n * FUSION_BLOCK_SIZE);
	}
	if (!rc)
		rc = fus_meta_flush(meta, SLOW);
	fus_progress_end();
	free(buf);
	free(d);
	return rc;
}
