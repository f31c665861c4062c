// SPDX-License-Identifier: GPL-2.0-only
/*
 * A disk in transit: the steps that write. Each ends with a flush. An interruption leaves one of
 * these, which fus_transit_read() tells apart:
 *
 * - All signatures are there: the disk has its content, and may have been changed since. Nothing
 *   but the signatures is ever written to it before they are gone, or restored last.
 * - Some are gone: so is no other sector, and the copies are complete.
 * - All are gone: the copies are complete, and the disk may have metadata of the set already if the
 *   state is COMMITTED. That holds even if a program has written a signature since. The
 *   copies change only once a superblock of the other member no longer has the bit, and then only
 *   through the set itself, which cannot be opened before all superblocks are without it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/crc32c.h>

#include "error.h"
#include "fusionctl.h"
#include "progress.h"
#include "transit.h"
#include "dm-fusion-codec.h"

#define CHUNK_BLOCKS	256U

static int put(const struct transit *t, int dev, u64 offset, size_t bytes, const void *buf)
{
	int err = fus_offline_write(&t->o[dev], offset, bytes, buf);

	return err ? fus_transit_failed(t, dev, "write", err) : 0;
}

static int get(const struct transit *t, int dev, u64 offset, size_t bytes, void *buf)
{
	int err = fus_offline_read(&t->o[dev], offset, bytes, buf);

	return err ? fus_transit_failed(t, dev, "read", err) : 0;
}

int fus_transit_flush(const struct transit *t, int dev)
{
	int err = fus_offline_sync(&t->o[dev]);

	return err ? fus_transit_failed(t, dev, "flush", err) : 0;
}

static size_t extent_bytes(const struct transit *t)
{
	return (size_t)t->sb.extent_sectors << 9;
}

static u64 disk_bytes(const struct transit *t)
{
	return t->sb.transit.disk_sectors << 9;
}

/* The part of an extent that lies on the disk. */
static size_t bytes_on_disk(const struct transit *t, u32 lext)
{
	return min_t(u64, extent_bytes(t), disk_bytes(t) - (u64)lext * extent_bytes(t));
}

int fus_transit_get_extent(const struct transit *t, u32 lext, u8 *buf)
{
	const size_t bytes = bytes_on_disk(t, lext);

	memset(buf + bytes, 0, extent_bytes(t) - bytes);
	return get(t, t->disk, (u64)lext * extent_bytes(t), bytes, buf);
}

/* -- superblocks ----------------------------------------------------------------------------- */

/* Both copies, the older one first. */
int fus_transit_put_supers(struct transit *t, int dev, bool in_transit)
{
	void *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	int rc = buf ? 0 : FC_FAILED;
	struct fusion_sb sb;

	if (in_transit)
		fus_transit_sb(t, dev, &sb);
	else
		fus_transit_sb_after(t, dev, &sb);
	/* at least that of the map, and still into the older copy first */
	if (t->generation[dev] < sb.set_generation)
		t->generation[dev] = sb.set_generation +
				     ((sb.set_generation ^ t->generation[dev]) & 1);
	for (int i = 0; i < 2 && !rc; i++) {
		sb.generation = t->generation[dev]++;
		sb.write_time = time(NULL);
		fusion_sb_pack(&sb, FUSION_SUPER_BLOCKNR(sb.generation & 1), buf);
		rc = put(t, dev, FUSION_SUPER_BLOCKNR(sb.generation & 1) * FUSION_BLOCK_SIZE,
			 FUSION_BLOCK_SIZE, buf);
		if (!rc)
			rc = fus_transit_flush(t, dev);
	}
	free(buf);
	return rc;
}

/* -- map and journal ------------------------------------------------------------------------- */

static u32 pack_map(const struct transit *t, const struct fusion_sb *sb, u32 first, char *buf)
{
	u32 words[FUSION_MAP_PER_BLOCK], n = min(sb->map_blocks - first, CHUNK_BLOCKS);

	for (u32 j = 0; j < n; j++) {
		const u32 lext = (first + j) * FUSION_MAP_PER_BLOCK;
		const u32 nr = fusion_map_entries(sb, first + j);

		if (t->word)
			memcpy(words, t->word + lext, nr * sizeof(*words));
		else
			fus_transit_words(t, lext, nr, words);
		fusion_map_pack(sb, sb->active_set, first + j, sb->set_generation, words,
				buf + (size_t)j * FUSION_BLOCK_SIZE);
	}
	return n;
}

/* Write the map of a member, or compare the written one with it. */
static int do_map(const struct transit *t, int dev, bool verify)
{
	const size_t bytes = (size_t)CHUNK_BLOCKS * FUSION_BLOCK_SIZE;
	char *buf = fus_offline_buffer(bytes), *is = fus_offline_buffer(bytes);
	int rc = buf && is ? 0 : FC_FAILED;
	struct fusion_sb sb;
	u32 n;

	fus_transit_sb(t, dev, &sb);
	for (u32 i = 0; i < sb.map_blocks && !rc; i += n) {
		const u64 at = (sb.map_start[dev][sb.active_set] + i) * FUSION_BLOCK_SIZE;

		n = pack_map(t, &sb, i, buf);
		fus_progress_add((u64)n * FUSION_BLOCK_SIZE);
		if (!verify) {
			rc = put(t, dev, at, (size_t)n * FUSION_BLOCK_SIZE, buf);
			continue;
		}
		rc = get(t, dev, at, (size_t)n * FUSION_BLOCK_SIZE, is);
		if (!rc && memcmp(buf, is, (size_t)n * FUSION_BLOCK_SIZE))
			rc = fus_fail(FC_FAILED, t->o[dev].path, "does not return what was written "
				      "to it (map block %u); replace the device", i);
	}
	free(buf);
	free(is);
	return rc;
}

int fus_transit_zero(const struct transit *t, int dev, u64 offset, u64 end)
{
	const size_t most = (size_t)CHUNK_BLOCKS * FUSION_BLOCK_SIZE;
	void *buf = fus_offline_buffer(most);
	int rc = buf ? 0 : FC_FAILED;

	while (offset < end && !rc) {
		const size_t n = min_t(u64, most, end - offset);

		rc = put(t, dev, offset, n, buf);
		fus_progress_add(n);
		offset += n;
	}
	free(buf);
	return rc;
}

static int put_journal(const struct transit *t, int dev)
{
	const u64 start = t->sb.journal_start[dev];

	return fus_transit_zero(t, dev, start * FUSION_BLOCK_SIZE,
				(start + t->sb.journal_blocks[dev]) * FUSION_BLOCK_SIZE);
}

/* -- to the other member --------------------------------------------------------------------- */

static int copy_extents(struct transit *t, u32 *csum)
{
	u8 *buf = fus_offline_buffer(extent_bytes(t));
	int rc = buf ? 0 : FC_FAILED;

	*csum = ~0U;
	for (u32 i = 0; i < t->moved && !rc; i++) {
		rc = fus_transit_get_extent(t, fus_transit_lext(t, i), buf);
		if (rc)
			break;
		*csum = crc32c(*csum, buf, extent_bytes(t));
		rc = put(t, t->other, fus_transit_copy_sector(t, i) << 9, extent_bytes(t), buf);
		fus_progress_add(extent_bytes(t));
	}
	free(buf);
	return rc;
}

/* Read everything back, and the disk again: a program may write to it that asks nobody. */
static int verify(struct transit *t)
{
	bool same;
	int rc;

	rc = fus_transit_check_both(t, &same);
	if (!rc && !same)
		rc = fus_fail(FC_BUSY, t->o[t->disk].path, "changed while it was copied; end the "
			      "program that writes to it");
	return rc ? rc : do_map(t, t->other, true);
}

int fus_transit_write_plan(struct transit *t)
{
	t->sb.transit.state = FUSION_TRANSIT_PLANNED;
	t->sb.transit.copy_csum = 0;
	return fus_transit_put_supers(t, t->other, true);
}

int fus_transit_prepare(struct transit *t)
{
	struct fusion_transit *tr = &t->sb.transit;
	int rc;

	tr->state = FUSION_TRANSIT_PREPARING;
	tr->copy_csum = 0;
	fus_progress_begin("copying", &fus_progress_mib, t->moved * extent_bytes(t));
	rc = fus_transit_put_supers(t, t->other, true);
	if (!rc)
		rc = put_journal(t, t->other);
	if (!rc)
		rc = do_map(t, t->other, false);
	if (!rc)
		rc = copy_extents(t, &tr->copy_csum);
	if (!rc)
		rc = fus_transit_flush(t, t->other);
	if (!rc)
		rc = verify(t);
	tr->state = FUSION_TRANSIT_PREPARED;
	/* both copies, so that none says that the signatures are there once they may be gone */
	if (!rc)
		rc = fus_transit_put_supers(t, t->other, true);
	fus_progress_end();
	return rc;
}

/* -- the signatures -------------------------------------------------------------------------- */

/* The first one is what programs look for; until the last one is gone, all of it can come back. */
int fus_transit_commit(struct transit *t)
{
	const struct fusion_transit *tr = &t->sb.transit;
	const u8 none[512] = { 0 };
	int rc = 0;

	for (unsigned int i = 0; i < tr->nr_magics && !rc; i++)
		rc = fus_transit_put_magic(t, tr->magic[i], none);
	if (!rc)
		t->gone = tr->nr_magics;
	return rc;
}

/* -- the disk becomes a member --------------------------------------------------------------- */

/*
 * From @at up to the first slot, without the map copy that is written next, and without the room
 * behind each region: the set reads nothing there before it has written it. But other programs
 * look for signatures in the first MiB.
 */
static int clear_head(const struct transit *t, u64 at, u64 head)
{
	const struct fusion_sb *sb = &t->sb;
	const bool slow = t->disk == FUSION_SLOW;
	const u64 *map = sb->map_start[t->disk];
	/* what is behind it must not be taken for a stale list */
	const u64 end = slow && sb->stale_start ? sb->stale_start : head / FUSION_BLOCK_SIZE;
	/* in blocks, in the order in which they lie there: where the room of each is */
	const u64 room[][2] = {
		{ map[0] + (sb->active_set ? sb->map_blocks : 0), map[1] },
		{ map[1] + (sb->active_set ? 0 : sb->map_blocks),
		  slow ? end : sb->heat_start },
		{ slow ? head / FUSION_BLOCK_SIZE : sb->heat_start + sb->heat_blocks,
		  head / FUSION_BLOCK_SIZE },
	};
	int rc = 0;

	for (unsigned int i = 0; i < sizeof(room) / sizeof(room[0]) && !rc; i++) {
		const u64 from = max_t(u64, room[i][0] * FUSION_BLOCK_SIZE,
				       FUSION_GUARD_SECTORS * 512ULL);
		const u64 to = room[i][1] * FUSION_BLOCK_SIZE;

		if (from >= to)
			continue;
		rc = fus_transit_zero(t, t->disk, at, from);
		at = to;
	}
	return rc ? rc : fus_transit_zero(t, t->disk, at, head);
}

/* Everything on the disk that is not a data slot has been copied. */
static int clear_disk(const struct transit *t)
{
	const struct fusion_sb *sb = &t->sb;
	const bool slow = t->disk == FUSION_SLOW;
	const u32 first = slow ? sb->slow_first_slot : 0;
	const u32 nr = fusion_sb_nr_slots(sb, t->disk);
	const u64 head = fusion_slot_sector(sb, t->disk, first) << 9;
	const u64 tail = fusion_slot_sector(sb, t->disk, first + nr) << 9;
	const u64 copy[2] = {
		FUSION_SUPER_BLOCKNR(0) * FUSION_BLOCK_SIZE,
		FUSION_SUPER_BLOCKNR(1) * FUSION_BLOCK_SIZE,
	};
	int rc;

	rc = fus_transit_zero(t, t->disk, copy[0] + FUSION_BLOCK_SIZE, copy[1]);
	if (!rc)
		rc = clear_head(t, copy[1] + FUSION_BLOCK_SIZE, head);
	return rc ? rc : fus_transit_zero(t, t->disk, tail, disk_bytes(t));
}

int fus_transit_put_member(struct transit *t)
{
	int rc;

	/* so that it can be found, and is not taken for an empty disk */
	rc = fus_transit_put_supers(t, t->disk, true);
	if (!rc)
		rc = clear_disk(t);
	if (!rc)
		rc = do_map(t, t->disk, false);
	if (!rc)
		rc = fus_transit_flush(t, t->disk);
	if (!rc)
		rc = do_map(t, t->disk, true);
	if (!rc)
		rc = fus_transit_put_supers(t, t->disk, false);
	if (!rc)
		rc = fus_transit_put_supers(t, t->other, false);
	return rc;
}

int fus_transit_finish(struct transit *t)
{
	int rc;

	fus_progress_begin("writing the metadata", &fus_progress_mib, 0);
	/* from here on a signature on the disk does not mean that it has its content */
	t->sb.transit.state = FUSION_TRANSIT_COMMITTED;
	rc = fus_transit_put_supers(t, t->other, true);
	if (!rc)
		rc = fus_transit_put_member(t);
	fus_progress_end();
	return rc;
}

int fus_transit_resume(struct transit *t, enum transit_at at)
{
	int rc = fus_transit_check_copies(t);

	/* with all of them gone, a superblock of the set may be in their place */
	if (!rc && at == TRANSIT_SOME)
		rc = fus_transit_commit(t);
	return rc ? rc : fus_transit_finish(t);
}

/* -- and back -------------------------------------------------------------------------------- */

int fus_transit_discard(struct transit *t)
{
	int rc = 0;

	/* one after the other: as long as there is one, it tells that the set is in transit */
	for (int i = 0; i < 2 && !rc; i++) {
		const u64 at = FUSION_SUPER_BLOCKNR(i) * FUSION_BLOCK_SIZE;

		rc = fus_transit_zero(t, t->other, at, at + FUSION_BLOCK_SIZE);
		if (!rc)
			rc = fus_transit_flush(t, t->other);
	}
	return rc;
}

/* The copy of an extent, without what comes back later. */
static int get_copy(const struct transit *t, u32 nr, u8 *buf)
{
	int rc = fus_transit_get_copy(t, nr, buf);

	if (!rc)
		fus_transit_blank_magics(t, fus_transit_lext(t, nr), buf);
	return rc;
}

/* All but the two blocks whose superblocks tell, until then, that this is the disk. */
static int put_extents_back(const struct transit *t, u8 *buf)
{
	const u64 copy1 = FUSION_SUPER_BLOCKNR(1) * FUSION_BLOCK_SIZE;
	int rc = 0;

	for (u32 i = 0; i < t->moved && !rc; i++) {
		const u32 lext = fus_transit_lext(t, i);
		const u64 at = (u64)lext * extent_bytes(t);

		rc = get_copy(t, i, buf);
		if (!rc && lext)
			rc = put(t, t->disk, at, bytes_on_disk(t, lext), buf);
		if (rc || lext)
			continue;
		rc = put(t, t->disk, FUSION_BLOCK_SIZE, copy1 - FUSION_BLOCK_SIZE,
			 buf + FUSION_BLOCK_SIZE);
		if (!rc)
			rc = put(t, t->disk, copy1 + FUSION_BLOCK_SIZE,
				 extent_bytes(t) - copy1 - FUSION_BLOCK_SIZE,
				 buf + copy1 + FUSION_BLOCK_SIZE);
	}
	return rc ? rc : fus_transit_flush(t, t->disk);
}

static int put_first_blocks_back(const struct transit *t, u8 *buf)
{
	int rc = get_copy(t, 0, buf);

	for (int i = 0; i < 2 && !rc; i++) {
		const u64 at = FUSION_SUPER_BLOCKNR(i) * FUSION_BLOCK_SIZE;

		rc = put(t, t->disk, at, FUSION_BLOCK_SIZE, buf + at);
	}
	return rc ? rc : fus_transit_flush(t, t->disk);
}

int fus_transit_put_back(const struct transit *t, bool verify)
{
	u8 *buf = fus_offline_buffer(extent_bytes(t));
	int rc = buf ? 0 : FC_FAILED;
	bool same = true;

	if (!rc)
		rc = put_extents_back(t, buf);
	if (!rc && verify)
		rc = fus_transit_compare(t, &same);
	if (!rc && !same)
		rc = fus_fail(FC_FAILED, t->o[t->disk].path, "does not return what was written to "
			      "it; replace the device");
	if (!rc)
		rc = put_first_blocks_back(t, buf);
	free(buf);
	return rc;
}

int fus_transit_put_magics_back(const struct transit *t)
{
	const struct fusion_transit *tr = &t->sb.transit;
	u8 data[512];
	int rc = 0;

	for (unsigned int i = tr->nr_magics; i && !rc; i--) {
		rc = fus_transit_copy_of(t, tr->magic[i - 1], data);
		if (!rc)
			rc = fus_transit_put_magic(t, tr->magic[i - 1], data);
	}
	return rc;
}

int fus_transit_undo(struct transit *t)
{
	struct fusion_transit *tr = &t->sb.transit;
	const bool committed = tr->state == FUSION_TRANSIT_COMMITTED;
	int rc;

	fus_progress_begin("writing the content back", &fus_progress_mib, 0);
	rc = fus_transit_check_copies(t);
	/* one that has ended in part must not be taken for a set from here on */
	if (!rc)
		rc = fus_transit_put_supers(t, t->other, true);
	if (!rc && t->marked)
		rc = fus_transit_put_supers(t, t->disk, true);
	/* with some signatures there, nothing else has changed, and the disk may be in use soon */
	if (!rc && (committed || t->gone == tr->nr_magics))
		rc = fus_transit_put_back(t, false);
	/* now the signatures tell again */
	tr->state = FUSION_TRANSIT_PREPARED;
	if (!rc && committed)
		rc = fus_transit_put_supers(t, t->other, true);
	if (!rc)
		rc = fus_transit_put_magics_back(t);
	if (!rc)
		rc = fus_transit_discard(t);
	fus_progress_end();
	return rc;
}
