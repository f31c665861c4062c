// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: a set that grows or shrinks while it is loaded.
 *
 * If the table line has another length than the set and says "resize", or another size of a member,
 * the constructor gives fs->sb the geometry to come. All memory is allocated for that, before the
 * table of the set as it is gets suspended; only the map has room for both. What is read from disk
 * is bounded by fs->sb_next, the geometry that was found (INV5).
 *
 * A set that shrinks must have been closed cleanly, and what it gives up must be empty (INV10). So
 * the set as it was does not miss it either, should the change of geometry not be committed.
 */
#include <linux/mm.h>

#include "dm-fusion.h"

/* -- what the table line wants --------------------------------------------------------------- */

/* The size that a member is to have, by the table line; without it, that of the set as it is. */
static u64 fusion_wanted_sectors(const struct fusion *fs, enum fusion_dev dev)
{
	return fs->resize_sectors[dev] ?: fusion_sb_dev_sectors(&fs->sb, dev);
}

/* Give fs->sb the geometry that the table line wants. Return: 0 or a negative errno. */
static int fusion_resize_geometry(struct fusion *fs, u64 fast, u64 slow)
{
	const sector_t want = fs->ti->len;
	struct fusion_misfit misfit;
	int r;

	fs->grows = want > fusion_sb_sectors(&fs->sb);
	if (fs->grows && (fs->resize_sectors[FUSION_FAST] || fs->resize_sectors[FUSION_SLOW])) {
		DMERR("a set that grows takes all of its members: leave out their sizes");
		return -EINVAL;
	}
	if (fs->grows) {
		r = fusion_sb_grow(&fs->sb, bdev_nr_sectors(fs->dev[FUSION_FAST]->bdev),
				   bdev_nr_sectors(fs->dev[FUSION_SLOW]->bdev), want >> fs->shift,
				   &misfit);
	} else {
		fs->shrinks = true;
		r = fusion_sb_shrink(&fs->sb, fast, slow, want >> fs->shift, &misfit);
	}
	if (r)
		DMERR("device length cannot be %llu sectors: %s", (unsigned long long)want,
		      misfit.what);
	return r ? -EINVAL : 0;
}

/* The line of a set that has been resized says nothing new, so it can be loaded again. */
int fusion_resize_plan(struct fusion *fs, char **error)
{
	const u64 fast = fusion_wanted_sectors(fs, FUSION_FAST);
	const u64 slow = fusion_wanted_sectors(fs, FUSION_SLOW);
	sector_t len = fusion_sb_sectors(&fs->sb), want = fs->ti->len;

	fs->nr_words = fs->sb.nr_lexts;
	if (!fs->resize && (fs->resize_sectors[FUSION_FAST] || fs->resize_sectors[FUSION_SLOW])) {
		*error = "fast_sectors and slow_sectors need resize on";
		return -EINVAL;
	}
	if (want == len && fast == fs->sb.self_sectors && slow == fs->sb.peer_sectors)
		return 0;
	if (fs->dev[FUSION_OLD] || fusion_sb_has_old(&fs->sb)) {
		DMERR("the set cannot be resized while a member is being replaced: wait for that");
		*error = "A member of the set is being replaced; see the kernel log";
		return -EBUSY;
	}
	if ((fs->resize_sectors[FUSION_FAST] | fs->resize_sectors[FUSION_SLOW]) &
	    (FUSION_BLOCK_SECTORS - 1)) {
		*error = "fast_sectors and slow_sectors must be multiples of 8";
		return -EINVAL;
	}
	if (!fs->resize || !want || want & (fs->sb.extent_sectors - 1) ||
	    want >> fs->shift > FUSION_MAX_LEXTS) {
		DMERR("device length must be %llu sectors, not %llu", (unsigned long long)len,
		      (unsigned long long)want);
		*error = "Device length does not match the set; see the kernel log";
		return -EINVAL;
	}
	if (fs->sb_next.layout_seq != fs->sb.layout_seq) {
		*error = "Slow device does not know of the last resize yet; load the table without";
		return -EAGAIN;
	}
	if (fusion_resize_geometry(fs, fast, slow)) {
		*error = fs->shrinks ?
			 "The set cannot shrink to the device length; see the kernel log" :
			 "The set cannot grow to the device length; see the kernel log";
		return -EINVAL;
	}
	fs->nr_words = max(fs->nr_words, fs->sb.nr_lexts);
	return 0;
}

/* -- what is found when the set is loaded ---------------------------------------------------- */

bool fusion_resize_expected(const struct fusion *fs, const struct fusion_sb *fast)
{
	/* the slow member need not know of them, so they are no part of the layout */
	if (fast->landing_slots != fs->sb.landing_slots ||
	    fast->stale_places != fs->sb.stale_places || fast->stale_start != fs->sb.stale_start)
		return false;
	if (!fs->grows && !fs->shrinks)
		return fusion_sb_same_member(fast, &fs->sb);
	if (!fusion_sb_same_uuids(fast, &fs->sb) || fast->nr_lexts > fs->nr_words)
		return false;
	return fs->grows ? fusion_sb_grown_from(&fs->sb, fast) :
			   fusion_sb_shrunk_from(&fs->sb, fast);
}

/*
 * Do both superblock copies of a member, of which @sb is the newer one, say that it was closed
 * cleanly? Closing writes both. If the first one failed, it may be in the member's cache only, and
 * the next write would overwrite the last one that is durable.
 */
static bool fusion_resize_closed(struct fusion *fs, const struct fusion_sb *sb)
{
	struct fusion_sb *other = kmalloc(sizeof(*other), GFP_KERNEL);
	bool closed;

	closed = other && sb->flags & FUSION_SB_CLEAN && fusion_super_other(fs, sb, other) &&
		 other->generation == sb->generation - 1 && other->flags & FUSION_SB_CLEAN;
	kfree(other);
	return closed;
}

/* A set that shrinks was closed cleanly, so the replica says what the map says. */
int fusion_resize_allowed(struct fusion *fs, bool read_only)
{
	const struct fusion_sb *fast = &fs->sb_next, *slow = &fs->replica.sb;
	const char *name = dm_table_device_name(fs->ti->table);

	if (!fs->grows && !fs->shrinks)
		return 0;
	/* The constructor has looked, but another copy may have been read. Never two behind. */
	if (slow->layout_seq != fast->layout_seq) {
		DMERR("%s: the slow member does not know of the last resize yet", name);
		return -EAGAIN;
	}
	if (read_only) {
		DMERR("%s: a set that is opened read-only cannot %s", name,
		      fs->grows ? "grow" : "shrink");
		return -EROFS;
	}
	if (fs->shrinks && (!fusion_resize_closed(fs, fast) || !fusion_resize_closed(fs, slow))) {
		DMERR("%s: was not closed cleanly: open and close it before it shrinks", name);
		return -EAGAIN;
	}
	return 0;
}

/* Has an extent of the set as it was content, or lost some, at an end that is given up? */
static bool fusion_resize_in_the_way(const struct fusion *fs, u32 lext)
{
	u32 word = fs->map[lext];

	if (lext >= fs->sb.nr_lexts)
		return word != FUSION_WORD_UNMAPPED;
	return fusion_word_mapped(word) &&
	       !fusion_slot_valid(&fs->sb, fusion_word_dev(word), fusion_word_slot(word));
}

int fusion_resize_check(struct fusion *fs)
{
	u32 lext, nr = 0, first = 0;

	for (lext = 0; lext < fs->sb_next.nr_lexts; lext++) {
		if (!(lext % 65536))
			cond_resched();
		if (fusion_resize_in_the_way(fs, lext) && !nr++)
			first = lext;
	}
	if (!nr)
		return 0;
	if (first >= fs->sb.nr_lexts)
		DMERR("%s: cannot shrink: %u extents are in use behind its new end, from %u on",
		      dm_table_device_name(fs->ti->table), nr, first);
	else
		DMERR("%s: cannot shrink: %u extents are in the way, as extent %u on %s slot %u",
		      dm_table_device_name(fs->ti->table), nr, first,
		      fusion_word_dev(fs->map[first]) == FUSION_FAST ? "fast" : "slow",
		      fusion_word_slot(fs->map[first]));
	return -EBUSY;
}

int fusion_resize_clear_tails(struct fusion *fs)
{
	unsigned int dev;
	int r;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		u64 now = fusion_sb_dev_sectors(&fs->sb, dev);

		if (!fs->shrinks || now == fusion_sb_dev_sectors(&fs->sb_next, dev))
			continue;
		r = fusion_gate_ready(fs);
		if (!r)
			r = blkdev_issue_zeroout(fs->dev[dev]->bdev, now - FUSION_GUARD_SECTORS,
						 FUSION_GUARD_SECTORS, GFP_NOIO, 0);
		fusion_mark_written(fs, dev);
		if (r) {
			DMERR("%s: the last MiB of the %s member cannot be written (%d)",
			      dm_table_device_name(fs->ti->table),
			      dev == FUSION_FAST ? "fast" : "slow", r);
			return r;
		}
	}
	return 0;
}
