/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: where things are: extents, words, slots. Part of dm-fusion.h, as it looks into struct
 * fusion.
 */
#ifndef DM_FUSION_PLACES_H
#define DM_FUSION_PLACES_H

static inline u32 fusion_lext(const struct fusion *fs, sector_t sector)
{
	return sector >> fs->shift;
}

static inline sector_t fusion_offset(const struct fusion *fs, sector_t sector)
{
	return sector & (((sector_t)1 << fs->shift) - 1);
}

/*
 * The disk that a mapped word lies on: its member, or FUSION_OLD. All that sends I/O to a slot asks
 * this. Context: any.
 */
static inline unsigned int fusion_word_disk(const struct fusion *fs, u32 word)
{
	const enum fusion_dev dev = fusion_word_dev(word);

	return unlikely(fusion_word_slot(word) >= fs->old_slot[dev]) ? FUSION_OLD : dev;
}

/* The bit of a slot of the old member in the bitmaps of fs->old. */
static inline u32 fusion_old_index(const struct fusion *fs, u32 word)
{
	return fusion_word_slot(word) - fs->old_slot[fs->old.dev];
}

/* The member that a disk is, or was. */
static inline enum fusion_dev fusion_disk_dev(const struct fusion *fs, unsigned int disk)
{
	return unlikely(disk == FUSION_OLD) ? fs->old.dev : disk;
}

/*
 * Does an extent lie where it has to leave: inside the fence, or on the old member? Nobody gets its
 * slot. Context: the mover, or fs->lock held.
 */
static inline bool fusion_word_leaves(const struct fusion *fs, u32 word)
{
	return fusion_word_mapped(word) && (fusion_word_disk(fs, word) == FUSION_OLD ||
					    fusion_word_fenced(&fs->slots.fence, word));
}

static inline struct block_device *fusion_word_bdev(const struct fusion *fs, u32 word)
{
	return fs->dev[fusion_word_disk(fs, word)]->bdev;
}

static inline sector_t fusion_word_sector(const struct fusion *fs, u32 word)
{
	return fs->base[fusion_word_disk(fs, word)] +
	       ((sector_t)fusion_word_slot(word) << fs->shift);
}

/* Slots of @dev have numbers below this. */
static inline u32 fusion_slot_end(const struct fusion *fs, enum fusion_dev dev)
{
	return fusion_sb_slot_end(&fs->sb, dev);
}

/*
 * Slots of a member that are for migration, and those that neither the landing log nor copies of
 * what was read have, but that the log may want at any time. fs->lock held, or for a hint.
 */
static inline u32 fusion_spares(const struct fusion *fs, enum fusion_dev dev)
{
	if (dev == FUSION_SLOW)
		return fs->sb.spare_slow;
	if (!fs->land.max)
		return fs->sb.spare_fast;
	return fs->sb.spare_fast + fs->land.max - READ_ONCE(fs->land.nr) -
	       READ_ONCE(fs->land.nr_lent);
}

/* @nr without the spares of the member. */
static inline u32 fusion_beside_spares(const struct fusion *fs, enum fusion_dev dev, u32 nr)
{
	return nr - min(nr, fusion_spares(fs, dev));
}

/* Held slots outside the fence: the update of the replica that comes frees them. fs->lock held. */
static inline u32 fusion_slots_freed_soon(const struct fusion *fs)
{
	return fs->replica.nr_held - fs->slots.fence.nr_held;
}

/*
 * Slots outside the fence that are free, or that fusion_shadow_yield() makes so at once. fs->lock
 * held.
 */
static inline u32 fusion_slots_at_hand(const struct fusion *fs, enum fusion_dev dev)
{
	u32 shadows = fs->shadows.nr - fs->shadows.nr_named;

	return fs->slots.nr_free[dev] + (dev == FUSION_SLOW ? shadows : 0);
}

/* The same, and those that are being discarded. fs->lock held. */
static inline u32 fusion_slots_free(const struct fusion *fs, enum fusion_dev dev)
{
	const struct fusion_discards *d = &fs->slots.discards[dev];

	return fusion_slots_at_hand(fs, dev) + d->in_flight -
	       fusion_fence_overlap(&fs->slots.fence, dev, d->first, d->in_flight);
}

/*
 * Held slots outside the fence, and those of shadows that the replica names: an update of it makes
 * them available, after fusion_shadow_yield(). fs->lock held.
 */
static inline u32 fusion_slots_held(const struct fusion *fs)
{
	return fusion_slots_freed_soon(fs) + fs->shadows.nr_named;
}

/* Slots that are free, or will be after an update of the replica. fs->lock held. */
static inline u32 fusion_slots_obtainable(const struct fusion *fs, enum fusion_dev dev)
{
	bool held = dev == FUSION_SLOW && !fs->replica.failed;

	return fusion_slots_free(fs, dev) + (held ? fusion_slots_held(fs) : 0);
}

static inline u32 fusion_open_blocks(const struct fusion *fs)
{
	return 1U << (fs->shift - 3);
}

static inline bool fusion_open_full(const struct fusion *fs, const struct fusion_open *open)
{
	return open->nr_valid == fusion_open_blocks(fs);
}

/* Is a block of it lost? fs->lock held. */
static inline bool fusion_open_has_lost(const struct fusion *fs, const struct fusion_open *open)
{
	return open->lost && !fusion_open_full(fs, open);
}

#endif
