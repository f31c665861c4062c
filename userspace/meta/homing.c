// SPDX-License-Identifier: GPL-2.0-only
/* Homing: every extent of a closed set goes to the place that it has on a plain disk. */
#include <errno.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "error.h"
#include "fusionctl.h"
#include "homing.h"
#include "progress.h"

#define BATCH_BYTES	(1024ULL << 20)
#define BATCH_LEAST	64U
#define BATCH_MOST	65536U
#define ZERO_BYTES	(256ULL << 20)	/* at once: it may take seconds */

static size_t extent_bytes(const struct homing *h)
{
	return (size_t)h->t->sb.extent_sectors << 9;
}

static u64 place_of(const struct fusion_sb *sb, u32 word)
{
	return fusion_slot_sector(sb, fusion_word_dev(word), fusion_word_slot(word)) << 9;
}

/* -- content ----------------------------------------------------------------------------------- */

static bool is_valid(const struct meta_open *open, u32 block)
{
	return open->bitmap[block / 8] >> block % 8 & 1;
}

int fus_homing_get(const struct meta *meta, const struct meta_state *st, u32 lext, u8 *buf)
{
	const struct fusion_sb *sb = &meta->geo[FAST];
	const size_t bytes = (size_t)sb->extent_sectors << 9;
	const struct meta_open *open;
	const u32 word = st->word[lext];
	int err;

	if (!fusion_word_mapped(word)) {
		memset(buf, 0, bytes);
		return 0;
	}
	err = fus_offline_read(&meta->m[fusion_word_dev(word)].o, place_of(sb, word), bytes, buf);
	if (err)
		return fus_meta_io_failed(meta, fusion_word_dev(word), "read", err);
	if (fusion_word_state(word) != FUSION_OPEN)
		return fus_log_put(meta, st, lext, buf);
	open = fus_state_open_find(st, lext);
	if (!open)
		return fus_fail(FC_DAMAGED, meta->m[FAST].o.path, "partial extent %u has no "
				"bitmap; run fusionctl check", lext);
	for (u32 i = 0; i < bytes / FUSION_BLOCK_SIZE; i++)
		if (!is_valid(open, i))
			memset(buf + (size_t)i * FUSION_BLOCK_SIZE, 0, FUSION_BLOCK_SIZE);
	return 0;
}

/* In place, only what was never written: a write that is torn must not harm the rest. */
static int put_holes(const struct homing *h, const struct homing_move *m)
{
	const struct meta_open *open = fus_state_open_find(&h->st, m->lext);
	const struct offline *o = &h->meta->m[fusion_word_dev(m->to)].o;
	const u64 at = place_of(&h->t->sb, m->to);
	void *zero = fus_offline_buffer(FUSION_BLOCK_SIZE);
	int err = 0;

	if (!zero)
		return FC_FAILED;
	for (u32 i = 0; open && i < extent_bytes(h) / FUSION_BLOCK_SIZE && !err; i++)
		if (!is_valid(open, i))
			err = fus_offline_write(o, at + (u64)i * FUSION_BLOCK_SIZE,
						FUSION_BLOCK_SIZE, zero);
	free(zero);
	return err ? fus_meta_io_failed(h->meta, fusion_word_dev(m->to), "write", err) : 0;
}

static int copy(const struct homing *h, const struct homing_move *m, u8 *buf)
{
	const int dev = fusion_word_dev(m->to);
	int rc, err;

	if (homing_stays(m))
		return put_holes(h, m);
	rc = fus_homing_get(h->meta, &h->st, m->lext, buf);
	if (rc)
		return rc;
	err = fus_offline_write(&h->meta->m[dev].o, place_of(&h->t->sb, m->to), extent_bytes(h),
				buf);
	return err ? fus_meta_io_failed(h->meta, dev, "write", err) : 0;
}

/* -- state ------------------------------------------------------------------------------------- */

static int load(const struct homing *h, struct meta_state *st)
{
	const struct fusion_sb *sb = fus_meta_sb(h->meta, FAST);
	int rc;

	if (!sb || !fus_meta_sb(h->meta, SLOW))
		return fus_fail(FC_DAMAGED, h->meta->m[FAST].o.path, "the superblock of a member "
				"is damaged; run fusionctl repair");
	rc = fus_state_init(st, h->meta->geo[FAST].nr_lexts);
	if (rc)
		return rc;
	if (fus_state_load(h->meta, sb, st, NULL))
		return fus_log_read(h->meta, sb, st);
	return fus_fail(FC_DAMAGED, h->meta->m[FAST].o.path, "its map or journal is damaged; run "
			"fusionctl check");
}

/*
 * Both members have the new map after this, in either copy of their superblocks. What they say is
 * read back: the next batch overwrites slots that only they say are free.
 */
static int commit(struct homing *h)
{
	struct meta_state st = { 0 };
	int rc;

	rc = fus_meta_write(h->meta, &h->st, true, -1, h->meta->m[FAST].heat);
	if (!rc)
		rc = fus_meta_read_again(h->meta);
	if (!rc)
		rc = load(h, &st);
	if (!rc && (st.nr_open != h->st.nr_open ||
		    memcmp(st.word, h->st.word, st.nr_lexts * sizeof(*st.word))))
		rc = fus_fail(FC_FAILED, h->meta->m[FAST].o.path, "does not return the map that "
			      "was written to it; have the device examined");
	if (rc) {
		fus_state_free(&st);
		return rc;
	}
	fus_state_free(&h->st);
	h->st = st;
	return 0;
}

/* Metadata is small, but must not take all the time. */
static u32 best_batch(const struct homing *h)
{
	const u64 map = (u64)h->t->sb.map_blocks * FUSION_BLOCK_SIZE;

	return clamp_t(u64, max(BATCH_BYTES, 32 * map) / extent_bytes(h), BATCH_LEAST, BATCH_MOST);
}

/* The last extent that lies on the disk, if its end does not. */
static int look_at_end(struct homing *h)
{
	const u64 disk = h->t->sb.transit.disk_sectors << 9, es = extent_bytes(h);
	const u32 lext = disk / es;
	u8 *buf;
	int rc;

	if (!(disk % es) || lext >= h->t->content || !fusion_word_mapped(h->st.word[lext]))
		return 0;
	buf = fus_offline_buffer(es);
	if (!buf)
		return FC_FAILED;
	rc = fus_homing_get(h->meta, &h->st, lext, buf);
	if (!rc)
		h->beyond_part = memchr_inv(buf + disk % es, 0, es - disk % es);
	free(buf);
	return rc;
}

int fus_homing_load(struct homing *h)
{
	return load(h, &h->st);
}

void fus_homing_count(struct homing *h)
{
	h->away = 0;
	h->strays = 0;
	h->blank = 0;
	h->beyond = 0;
	for (u32 lext = 0; lext < h->st.nr_lexts; lext++) {
		const bool mapped = fusion_word_mapped(h->st.word[lext]);

		if (lext >= h->t->content)
			h->beyond += mapped;
		else if (!fus_homing_away(h, lext))
			h->blank += !mapped;
		else
			h->away++;
		if (fus_homing_away(h, lext))
			h->strays += !fus_transit_goes(h->t, lext);
	}
}

int fus_homing_plan(struct homing *h)
{
	if (!h->batch)
		h->batch = best_batch(h);
	fus_homing_count(h);
	return look_at_end(h);
}

/* -- doing it ---------------------------------------------------------------------------------- */

static int may_write(const struct homing *h)
{
	return h->may_write ? h->may_write(h->ctx) : 0;
}

static void drop_beyond(struct homing *h)
{
	for (u32 lext = h->t->content; lext < h->st.nr_lexts; lext++) {
		h->st.word[lext] = FUSION_WORD_UNMAPPED;
		fus_state_open_drop(&h->st, lext);
	}
}

static int move_batch(struct homing *h, u8 *buf, u64 *done)
{
	int rc = may_write(h);

	if (rc)
		return rc;
	fus_homing_choose(h);
	if (!h->nr_moves)
		return fus_fail(FC_FAILED, h->meta->m[FAST].o.path, "%u extents cannot be moved; "
				"please report that", h->left);
	for (u32 i = 0; i < h->nr_moves && !rc; i++) {
		rc = i ? may_write(h) : 0;
		if (!rc)
			rc = copy(h, &h->move[i], buf);
		*done += extent_bytes(h);
		fus_progress_at(*done, NULL);
	}
	for (int dev = 0; dev < 2 && !rc; dev++)
		rc = fus_meta_flush(h->meta, dev);
	if (rc)
		return rc;
	for (u32 i = 0; i < h->nr_moves; i++) {
		h->st.word[h->move[i].lext] = h->move[i].to;
		fus_state_open_drop(&h->st, h->move[i].lext);
	}
	rc = may_write(h);
	if (!rc)
		rc = commit(h);
	if (!rc)
		fus_homing_done(h);
	return rc;
}

static int move_all(struct homing *h)
{
	u8 *buf = fus_offline_buffer(extent_bytes(h));
	int rc = buf ? 0 : FC_FAILED;
	u64 done = 0;

	/* those that make room come on top */
	fus_progress_begin("moving extents to their place", &fus_progress_mib,
			   h->left * (u64)extent_bytes(h));
	while (h->left && !rc)
		rc = move_batch(h, buf, &done);
	fus_progress_end();
	free(buf);
	return rc;
}

static int zero(const struct offline *o, u64 offset, u64 bytes, void *buf, size_t most)
{
	uint64_t range[2];
	int err = 0;

	while (bytes && !err) {
		u64 n = min(bytes, o->file ? most : ZERO_BYTES);

		range[0] = offset;
		range[1] = n;
		if (o->file)
			err = fus_offline_write(o, offset, n, buf);
		else if (ioctl(o->fd, BLKZEROOUT, range))
			err = -errno;
		offset += n;
		bytes -= n;
		fus_progress_add(n);
	}
	return err;
}

/* A free slot that is read after the release, unless something will be written there. */
static bool is_blank(const struct homing *h, u32 slot)
{
	return h->owner[SLOW][slot - h->t->sb.slow_first_slot] == NO_LEXT &&
	       !(slot < h->t->content && fus_transit_goes(h->t, slot));
}

static int zero_blanks(struct homing *h)
{
	const u32 first = h->t->sb.slow_first_slot, end = first + h->t->sb.nr_slow_slots;
	const struct offline *o = &h->meta->m[SLOW].o;
	const u64 es = extent_bytes(h);
	const u32 most = max_t(u64, ZERO_BYTES / es, 1);
	u8 *buf = fus_offline_buffer(es);
	int err = 0, rc = 0;
	u32 n;

	if (!buf)
		return FC_FAILED;
	fus_progress_begin("zeroing", &fus_progress_mib, h->blank * es);
	for (u32 slot = first; slot < end && !err && !rc; slot += n) {
		for (n = 0; n < most && slot + n < end && is_blank(h, slot + n); n++)
			;
		if (n)
			rc = may_write(h);
		if (n && !rc)
			err = zero(o, slot * es, n * es, buf, es);
		n += !n;
	}
	if (!err && !rc)
		err = fus_offline_sync(o);
	fus_progress_end();
	free(buf);
	return err ? fus_meta_io_failed(h->meta, SLOW, "write", err) : rc;
}

int fus_homing_run(struct homing *h, bool zero)
{
	int rc;

	rc = fus_log_drain(h->meta, &h->st, h->may_write, h->ctx);
	if (rc)
		return rc;
	/* it is empty, and begins again with the next map */
	fus_log_free(&h->st.log);
	drop_beyond(h);
	/*
	 * Even if nothing moves: after an interruption, one member may still have another map, and
	 * at the end no record may be left in the journal.
	 */
	rc = may_write(h);
	if (!rc)
		rc = commit(h);
	if (!rc)
		rc = fus_homing_begin(h);
	if (!rc)
		rc = move_all(h);
	if (!rc && zero)
		rc = zero_blanks(h);
	return rc;
}

void fus_homing_free(struct homing *h)
{
	fus_state_free(&h->st);
	for (int dev = 0; dev < 2; dev++)
		free(h->owner[dev]);
	free(h->ready);
	free(h->free);
	free(h->busy);
	free(h->move);
	memset(h, 0, sizeof(*h));
}
