// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set that is released: the steps that make its slow member a plain disk. The extents whose home
 * is no data slot lie on the fast member, in the places that transit.c gives them, and the rest is
 * at home already. Whenever this is interrupted, there is one of these:
 *
 * - The disk has a superblock of the set, or lacks signatures and has all else: the fast member has
 *   everything, and each step can be repeated or undone. No program recognises the disk.
 * - It has all signatures, and no superblock of the set: it has the content, and may have been in
 *   use since. Nothing is ever written to it again.
 * - The state is COMMITTED: the same, whatever is on the disk by now. Without any signature, it is
 *   that state alone which tells.
 */
#include <stdlib.h>
#include <linux/crc32c.h>

#include "error.h"
#include "fusionctl.h"
#include "progress.h"
#include "transit.h"
#include "dm-fusion-codec.h"

/* Of all copies, in order. */
static int sum_copies(const struct transit *t, u32 *csum)
{
	const size_t bytes = (size_t)t->sb.extent_sectors << 9;
	u8 *buf = fus_offline_buffer(bytes);
	int rc = buf ? 0 : FC_FAILED;

	*csum = ~0U;
	for (u32 i = 0; i < t->moved && !rc; i++) {
		rc = fus_transit_get_copy(t, i, buf);
		if (!rc)
			*csum = crc32c(*csum, buf, bytes);
	}
	free(buf);
	return rc;
}

int fus_release_begin(struct transit *t, const struct fusion_sb *const supers[2])
{
	const struct fusion_transit tr = t->sb.transit;
	int rc;

	t->sb = *supers[FAST];
	t->sb.incompat = FUSION_INCOMPAT_IN_TRANSIT;
	t->sb.transit = tr;
	for (int dev = 0; dev < 2; dev++)
		t->generation[dev] = supers[dev]->generation + 1;
	t->marked = true;
	t->gone = tr.nr_magics;
	rc = sum_copies(t, &t->sb.transit.copy_csum);
	return rc ? rc : fus_transit_put_supers(t, t->other, true);
}

/* What is behind the slots is neither the set's nor, until it is written, the content's. */
int fus_release_clear(const struct transit *t)
{
	const u64 slots = (u64)t->sb.slow_first_slot + t->sb.nr_slow_slots;

	return fus_transit_zero(t, t->disk, slots * t->sb.extent_sectors << 9,
				t->sb.transit.disk_sectors << 9);
}

/* Behind the slots, and behind the end of a set that is smaller than the disk. */
static int clear_rest(const struct transit *t)
{
	const u64 slots = (u64)t->sb.slow_first_slot + t->sb.nr_slow_slots;
	const u64 from = max_t(u64, slots, t->content) * t->sb.extent_sectors << 9;

	return fus_transit_zero(t, t->disk, from, t->sb.transit.disk_sectors << 9);
}

/* A copy that cannot be read may say it. */
enum release_begun fus_release_begun(const struct offline *fast)
{
	u8 *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	enum release_begun begun = buf ? RELEASE_NOT_BEGUN : RELEASE_UNKNOWN;
	struct fusion_sb sb;
	const char *why;

	for (int i = 0; i < 2 && buf && begun != RELEASE_BEGUN; i++) {
		const u64 blocknr = FUSION_SUPER_BLOCKNR(i);

		if (fus_offline_read(fast, blocknr * FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE, buf))
			begun = RELEASE_UNKNOWN;
		else if (!fusion_sb_unpack_transit(buf, blocknr, fast->sectors, &sb, &why) &&
			 fusion_sb_in_transit(&sb))
			begun = RELEASE_BEGUN;
	}
	free(buf);
	return begun;
}

int fus_release_write(struct transit *t)
{
	int rc;

	fus_progress_begin("writing the content to the disk", &fus_progress_mib, 0);
	rc = fus_transit_check_copies(t);
	/* by itself, it must not be taken for a member any more */
	if (!rc && t->marked)
		rc = fus_transit_put_supers(t, t->disk, true);
	if (!rc)
		rc = clear_rest(t);
	if (!rc)
		rc = fus_transit_put_back(t, true);
	if (!rc)
		rc = fus_transit_put_magics_back(t);
	t->whole = !rc && t->sb.transit.nr_magics;
	/* so that nothing is written to the disk after this, whatever becomes of its signatures */
	t->sb.transit.state = FUSION_TRANSIT_COMMITTED;
	if (!rc)
		rc = fus_transit_put_supers(t, t->other, true);
	fus_progress_end();
	return rc;
}

int fus_release_finish(struct transit *t)
{
	int rc = fus_release_write(t);

	return rc ? rc : fus_release_wipe(t);
}

/* Its blocks by which restore --geometry would take it for the member, and all signatures. */
int fus_release_wipe(struct transit *t)
{
	const struct fusion_sb *sb = &t->sb;
	const u64 guard = FUSION_GUARD_SECTORS * 512ULL, bytes = sb->self_sectors << 9;
	const u64 copy1 = FUSION_SUPER_BLOCKNR(1) * FUSION_BLOCK_SIZE;
	const u64 map = (u64)sb->map_blocks * FUSION_BLOCK_SIZE;
	u64 from;
	int rc;

	fus_progress_begin("wiping the fast member", &fus_progress_mib, 0);
	rc = fus_transit_zero(t, t->other, FUSION_BLOCK_SIZE, copy1);
	if (!rc)
		rc = fus_transit_zero(t, t->other, copy1 + FUSION_BLOCK_SIZE, guard);
	from = sb->journal_start[FAST] * FUSION_BLOCK_SIZE;
	if (!rc)
		rc = fus_transit_zero(t, t->other, from, from + (u64)sb->journal_blocks[FAST] *
				      FUSION_BLOCK_SIZE);
	for (int i = 0; i < FUSION_NR_SETS && !rc; i++) {
		from = sb->map_start[FAST][i] * FUSION_BLOCK_SIZE;
		rc = fus_transit_zero(t, t->other, from, from + map);
	}
	from = sb->heat_start * FUSION_BLOCK_SIZE;
	if (!rc)
		rc = fus_transit_zero(t, t->other, from, from + (u64)sb->heat_blocks *
				      FUSION_BLOCK_SIZE);
	/* the slot of a copy may be where its signature is looked for */
	for (unsigned int i = 0; i < sb->transit.nr_magics && !rc; i++) {
		from = fus_transit_copy_place(t, sb->transit.magic[i]) &
		       ~(FUSION_BLOCK_SIZE - 1ULL);
		rc = fus_transit_zero(t, t->other, from, from + FUSION_BLOCK_SIZE);
	}
	if (!rc)
		rc = fus_transit_zero(t, t->other, bytes - guard, bytes);
	if (!rc)
		rc = fus_transit_flush(t, t->other);
	if (!rc)
		rc = fus_transit_discard(t);
	fus_progress_end();
	return rc;
}

/* -- and back -------------------------------------------------------------------------------- */

static int check_word(const struct transit *t, u32 lext, u32 word)
{
	if (word == FUSION_WORD_UNMAPPED && !fus_transit_goes(t, lext))
		return 0;
	if (word == fus_transit_word(t, lext))
		return 0;
	return fus_fail(FC_DAMAGED, t->o[t->other].path, "extent %u is in another place than where "
			"a release puts it; nothing was changed, have the device examined", lext);
}

/* The map of the fast member; there is nothing in its journal. */
static int load_map(struct transit *t)
{
	const struct fusion_sb *sb = &t->sb;
	u8 *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	const char *why;
	int err, rc;

	t->word = malloc((size_t)sb->map_blocks * FUSION_MAP_PER_BLOCK * sizeof(*t->word));
	rc = !buf ? FC_FAILED : t->word ? 0 :
	     fus_fail(FC_FAILED, "memory", "not enough; close programs and try again");
	for (u32 i = 0; i < sb->map_blocks && !rc; i++) {
		const u64 block = sb->map_start[FAST][sb->active_set] + i;
		u32 *word = t->word + (size_t)i * FUSION_MAP_PER_BLOCK;

		err = fus_offline_read(&t->o[FAST], block * FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE,
				       buf);
		if (err)
			rc = fus_transit_failed(t, FAST, "read", err);
		else if (fusion_map_unpack(sb, sb->active_set, i, sb->set_generation, buf, word,
					   &why))
			rc = fus_fail(FC_DAMAGED, t->o[FAST].path, "map block %u: %s; nothing was "
				      "changed, have the device examined", i, why);
		for (u32 n = 0; !rc && n < fusion_map_entries(sb, i); n++)
			rc = check_word(t, i * FUSION_MAP_PER_BLOCK + n, word[n]);
	}
	free(buf);
	return rc;
}

int fus_release_undo(struct transit *t)
{
	int rc;

	fus_progress_begin("writing the metadata", &fus_progress_mib, 0);
	rc = load_map(t);
	/*
	 * First, so that no step leaves a disk that is recognised by half of its content. As long
	 * as it has a superblock, it has no signature yet, whose place may be in that.
	 */
	if (!rc && !t->marked)
		rc = fus_transit_commit(t);
	if (!rc)
		rc = fus_transit_put_member(t);
	fus_progress_end();
	free(t->word);
	t->word = NULL;
	return rc;
}
