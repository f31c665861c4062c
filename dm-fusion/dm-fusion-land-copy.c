// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: copies of a round of the drain: blocks of the landing log are read to pages, and
 * written to their places on the slow member; or over the copy of an extent that moves to the fast
 * one.
 *
 * A place on the slow member is live: when the lease is over, another machine may have taken the
 * set, and have written the same block to it. A free slot of the fast one may have another use
 * then. So the read and the write are two steps. The read ends when the fast member likes; then the
 * mover looks at the gate, right before it sends the write. If it has to wait for the heartbeat,
 * the copy does so in its epoch, as batches of the log do.
 *
 * Some copies are under way at once, in a ring: all are read ahead, and written in the order in
 * which they began, which is that of the member. A round has its pages from its beginning. If there
 * are few, its copies are shorter, or fewer; some pages there are always.
 */
#include <linux/blk-cgroup.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "dm-fusion.h"

/* Pages that are kept between rounds: writers wait for the drain just when memory is short. */
#define KEPT	FUSION_LAND_COPIES

/**
 * struct fusion_land_copies - copies under way
 * @fs: device
 * @max: how many there may be at once
 * @longest: blocks that one may have
 * @begun: how many have begun so far; the next one is copy[@begun % @max]
 * @seen: of these, have been read, and their writes were sent, or they are over
 * @over: of these, have been returned by fusion_land_copy_ended()
 * @under_way: reads and writes that @ended has to be waited for
 * @shut: there is no heartbeat: none of those under way is written any more
 * @ended: counts reads and writes that have ended
 * @page: pages of all
 * @copy: the ring
 */
struct fusion_land_copies {
	struct fusion *fs;
	u32 max;
	u32 longest;
	u32 begun;
	u32 seen;
	u32 over;
	u32 under_way;
	bool shut;
	struct completion ended;
	struct page *page[FUSION_LAND_COPIES * FUSION_LAND_COPY_BLOCKS];
	struct fusion_land_copy *copy;
};

/* -- pages ----------------------------------------------------------------------------------- */

struct fusion_land_copies *fusion_land_copies_new(struct fusion *fs)
{
	struct fusion_land_copies *all = kvzalloc(sizeof(*all), GFP_KERNEL);
	u32 i;

	if (!all)
		return NULL;
	all->fs = fs;
	init_completion(&all->ended);
	all->copy = kvcalloc(FUSION_LAND_COPIES, sizeof(*all->copy), GFP_KERNEL);
	for (i = 0; all->copy && i < KEPT; i++) {
		all->page[i] = alloc_page(GFP_KERNEL);
		if (!all->page[i])
			break;
	}
	if (i == KEPT)
		return all;
	fusion_land_copies_free(all);
	return NULL;
}

void fusion_land_copies_free(struct fusion_land_copies *all)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all->page) && all->page[i]; i++)
		__free_page(all->page[i]);
	kvfree(all->copy);
	kvfree(all);
}

void fusion_land_copies_get(struct fusion_land_copies *all, u32 max, u32 longest, gfp_t gfp)
{
	u32 nr = KEPT;

	max = min(max, FUSION_LAND_COPIES);
	longest = min(longest, FUSION_LAND_COPY_BLOCKS);
	for (; nr < max * longest; nr++) {
		all->page[nr] = alloc_page(gfp);
		if (!all->page[nr])
			break;
	}
	all->max = max;
	all->longest = min(nr / max, longest);
}

void fusion_land_copies_put(struct fusion_land_copies *all)
{
	u32 i;

	for (i = KEPT; i < ARRAY_SIZE(all->page) && all->page[i]; i++) {
		__free_page(all->page[i]);
		all->page[i] = NULL;
	}
}

u32 fusion_land_copies_longest(const struct fusion_land_copies *all)
{
	return all->longest;
}

/* -- a copy ---------------------------------------------------------------------------------- */

static void fusion_land_copy_done(struct bio *bio)
{
	struct fusion_land_copy *copy = bio->bi_private;
	struct fusion_land_copies *all = copy->all;

	copy->status = bio->bi_status;
	bio_uninit(bio);
	/* Pairs with the acquire in fusion_land_copy_came(): the copy may be used again. */
	smp_store_release(&copy->came, true);
	complete(&all->ended);
}

static bool fusion_land_copy_came(const struct fusion_land_copy *copy)
{
	/* Pairs with the release in fusion_land_copy_done(): @status, and what was read. */
	return smp_load_acquire(&copy->came);
}

/* Read or write its blocks. As for kcopyd, nobody waits for them: no REQ_SYNC. */
static void fusion_land_copy_io(struct fusion_land_copy *copy, enum fusion_dev disk, u64 sector,
				blk_opf_t opf)
{
	struct fusion_land_copies *all = copy->all;
	const u32 first = (copy - all->copy) * all->longest;
	u32 i;

	copy->came = false;
	all->under_way++;
	bio_init(&copy->bio, all->fs->dev[disk]->bdev, copy->vec, ARRAY_SIZE(copy->vec), opf);
	/* users wait for rounds: no limit of a group must hold them up */
	bio_associate_blkg_from_css(&copy->bio, blkcg_root_css);
	copy->bio.bi_iter.bi_sector = sector;
	for (i = 0; i < copy->nr; i++)
		__bio_add_page(&copy->bio, all->page[first + i], FUSION_BLOCK_SIZE, 0);
	copy->bio.bi_end_io = fusion_land_copy_done;
	copy->bio.bi_private = copy;
	submit_bio_noacct(&copy->bio);
}

struct fusion_land_copy *fusion_land_copy_next(struct fusion_land_copies *all)
{
	return all->begun - all->over < all->max ? &all->copy[all->begun % all->max] : NULL;
}

void fusion_land_copy_begin(struct fusion_land_copies *all, struct fusion_land_copy *copy,
			    u64 from)
{
	all->begun++;
	copy->all = all;
	copy->fate = FUSION_COPY_READ;
	fusion_land_copy_io(copy, FUSION_FAST, from, REQ_OP_READ);
}

/* It has been read. Send its write, or give it up. */
static void fusion_land_copy_write(struct fusion_land_copies *all, struct fusion_land_copy *copy)
{
	struct fusion *fs = all->fs;

	if (copy->status) {
		copy->fate = FUSION_COPY_UNREAD;
		return;
	}
	if (all->shut || fusion_gate_sure(fs)) {
		all->shut = true;
		copy->fate = FUSION_COPY_SHUT;
		return;
	}
	copy->fate = FUSION_COPY_WRITTEN;
	fusion_land_copy_io(copy, copy->dev, copy->to, REQ_OP_WRITE);
}

/* Write what has been read, in order. */
static void fusion_land_copies_write(struct fusion_land_copies *all)
{
	struct fusion_land_copy *copy;

	for (; all->seen < all->begun; all->seen++) {
		copy = &all->copy[all->seen % all->max];
		if (!fusion_land_copy_came(copy))
			break;
		fusion_land_copy_write(all, copy);
	}
}

struct fusion_land_copy *fusion_land_copy_ended(struct fusion_land_copies *all)
{
	struct fusion_land_copy *copy = &all->copy[all->over % all->max];

	for (;;) {
		fusion_land_copies_write(all);
		if (all->over < all->seen && fusion_land_copy_came(copy))
			break;
		/* Then those that end reads and writes have done with @all. */
		if (!all->under_way) {
			all->shut = false;
			return NULL;
		}
		wait_for_completion(&all->ended);
		all->under_way--;
	}
	all->over++;
	if (copy->fate == FUSION_COPY_WRITTEN && copy->status)
		copy->fate = FUSION_COPY_UNWRITTEN;
	fusion_leave(all->fs, &copy->io);
	return copy;
}
