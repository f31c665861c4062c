// SPDX-License-Identifier: GPL-2.0-only
/* A disk as it is found after a cut of the power, or after a reset. */
#include "disk.h"

static bool survives(enum sim_loss loss, u32 share, u32 left, u64 *rng)
{
	switch (loss) {
	case SIM_LOSE_ALL:
		return false;
	case SIM_LOSE_NONE:
		return true;
	case SIM_LOSE_LATEST:
		return left >= share >> 5;
	default:
		return rnd_below(rng, 256) < share;
	}
}

static void settle_entry(struct sim_disk *d, struct sim_disk *from, struct sim_entry *e,
			 enum sim_loss loss, u32 share, u32 left, u64 *rng)
{
	u32 piece = e->nr, i;
	bool kept = false, whole = true;

	if (loss == SIM_LOSE_SECTORS)
		piece = 1;
	else if (loss == SIM_LOSE_BLOCKS)
		piece = FUSION_BLOCK_SECTORS;
	for (i = 0; i < e->nr; i++) {
		if (!(i % piece))
			kept = survives(loss, share, left, rng);
		if (!kept) {
			whole = false;
			continue;
		}
		/* a later one got there for good */
		if (*entry_seq(from, e, i) > e->seq)
			continue;
		entry_persist_sector(d, e, i);
	}
	if (whole && entry_covers_bad(d, e))
		d->bad = NEVER;
}

struct sim_disk *sim_disk_after_cut(struct sim_disk *from, enum sim_loss loss, u64 *rng, bool own)
{
	struct sim_disk *d = disk_alloc(from);
	u32 share = 1 + rnd_below(rng, 255), left = 0, i;
	struct sim_entry *e;

	memcpy(d->block, from->block, d->nr_blocks * sizeof(*d->block));
	memcpy(d->stamp, from->stamp, d->nr_data * sizeof(*d->stamp));
	list_for_each_entry(e, &from->cache, list)
		left++;
	d->bad = from->bad;
	list_for_each_entry(e, &from->cache, list) {
		settle_entry(d, from, e, loss, share, --left, rng);
		/* a sector of it, and so its block, until it is written again; one at a time */
		if (from->tears && e->meta && e->seq == NEVER && !rnd_below(rng, 4) &&
		    d->bad == NEVER)
			d->bad = (e->sector + rnd_below(rng, e->nr)) / FUSION_BLOCK_SECTORS;
	}
	for (i = 0; own && i < d->nr_blocks; i++)
		if (d->block[i])
			disk_own_block(d, i);
	return d;
}

static void copy_entry(struct sim_disk *d, const struct sim_entry *e)
{
	struct sim_entry *copy = sim_alloc(sizeof(*copy), false);

	*copy = *e;
	copy->lost = false;
	if (e->raw) {
		copy->raw = sim_alloc(e->nr * 512, false);
		memcpy(copy->raw, e->raw, e->nr * 512);
	}
	if (e->stamps) {
		copy->stamps = sim_alloc(e->nr * sizeof(u64), false);
		memcpy(copy->stamps, e->stamps, e->nr * sizeof(u64));
	}
	/* what was in flight is through */
	if (copy->seq == NEVER)
		copy->seq = ++d->completed;
	list_add_tail(&copy->list, &d->cache);
}

struct sim_disk *sim_disk_after_reset(struct sim_disk *from, u64 *rng)
{
	struct sim_disk *d = disk_alloc(from);
	const struct sim_entry *e;

	memcpy(d->block, from->block, d->nr_blocks * sizeof(*d->block));
	memcpy(d->stamp, from->stamp, d->nr_data * sizeof(*d->stamp));
	memcpy(d->seq, from->seq,
	       (d->nr_blocks * FUSION_BLOCK_SECTORS + d->nr_data) * sizeof(*d->seq));
	d->completed = from->completed;
	d->bad = from->bad;
	list_for_each_entry(e, &from->cache, list)
		if ((e->seq != NEVER && !e->lost) || rnd_below(rng, 2))
			copy_entry(d, e);
	return d;
}
