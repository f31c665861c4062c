// SPDX-License-Identifier: GPL-2.0-only
/* A disk: what it is like, its content from inside and outside, and its format. */
#include "dm-fusion-stale.h"

#include "disk.h"

/* -- life ------------------------------------------------------------------------ */

struct sim_disk *disk_alloc(const struct sim_disk *like)
{
	struct sim_disk *d = sim_alloc(sizeof(*d), false);

	*d = *like;
	d->bdev.disk = d;
	d->readonly = false;
	d->block_bytes = 512;
	d->fault_kinds = 0;
	d->bad = NEVER;
	d->completed = 0;
	d->block = sim_alloc(d->nr_blocks * sizeof(*d->block), true);
	d->own = sim_alloc(d->nr_blocks * sizeof(*d->own), true);
	d->stamp = sim_alloc(d->nr_data * sizeof(*d->stamp), false);
	d->seq = sim_alloc((d->nr_blocks * FUSION_BLOCK_SECTORS + d->nr_data) * sizeof(*d->seq),
			   true);
	INIT_LIST_HEAD(&d->cache);
	return d;
}

struct sim_disk *sim_disk_new(enum fusion_dev role, const struct fusion_sb *sb, bool discards,
			      bool fua)
{
	struct sim_disk like = {
		.role = role,
		.discards = discards,
		.fua = fua,
	};

	if (role == FUSION_FAST) {
		like.sectors = sb->self_sectors;
		like.nr_blocks = sb->heat_start + sb->heat_blocks;
		like.data_start = sb->fast_data_start;
		like.nr_data = sb->nr_fast_slots * sb->extent_sectors;
	} else {
		like.sectors = sb->peer_sectors;
		like.nr_blocks = sb->map_start[FUSION_SLOW][1] + sb->map_blocks;
		if (sb->stale_places)
			like.nr_blocks = sb->stale_start + fusion_stale_size(sb, sb->stale_places);
		like.data_start = (u64)sb->slow_first_slot * sb->extent_sectors;
		like.nr_data = sb->nr_slow_slots * sb->extent_sectors;
	}
	return disk_alloc(&like);
}

struct block_device *sim_disk_bdev(struct sim_disk *disk)
{
	return &disk->bdev;
}

void sim_disk_set_faults(struct sim_disk *disk, unsigned int kinds, u32 one_in)
{
	disk->fault_kinds = one_in ? kinds : 0;
	disk->fault_one_in = one_in;
}

void sim_disk_set_readonly(struct sim_disk *disk, bool readonly)
{
	disk->readonly = readonly;
}

void sim_disk_set_sectors(struct sim_disk *disk, u64 sectors)
{
	disk->sectors = sectors;
}

void sim_disk_set_block_bytes(struct sim_disk *disk, unsigned int bytes)
{
	disk->block_bytes = bytes;
}

void sim_disk_set_tears(struct sim_disk *disk, bool tears)
{
	disk->tears = tears;
}

void sim_disk_set_through(struct sim_disk *disk, bool through)
{
	disk->through = through;
}

void sim_disk_set_bad(struct sim_disk *disk, u64 blocknr)
{
	disk->bad = blocknr;
}

void sim_disk_set_worn(struct sim_disk *disk, u64 blocknr)
{
	disk->worn = blocknr;
}

u32 sim_disk_bad(const struct sim_disk *disk)
{
	return disk->bad;
}

/* -- content --------------------------------------------------------------------- */

bool disk_locate(const struct sim_disk *d, u64 sector, u32 nr, u32 *where)
{
	if (sector + nr <= (u64)d->nr_blocks * FUSION_BLOCK_SECTORS) {
		*where = sector;
		return true;
	}
	if (sector < d->data_start || sector + nr > d->data_start + d->nr_data)
		sim_fail("access to sectors %llu+%u of the %s disk, where nothing is", sector, nr,
			 d->role == FUSION_FAST ? "fast" : "slow");
	*where = sector - d->data_start;
	return false;
}

u8 *disk_own_block(struct sim_disk *d, u32 nr)
{
	u8 *old = d->block[nr];

	if (!d->own[nr]) {
		d->block[nr] = sim_alloc(FUSION_BLOCK_SIZE, true);
		if (old)
			memcpy(d->block[nr], old, FUSION_BLOCK_SIZE);
		d->own[nr] = true;
	}
	return d->block[nr];
}

void entry_persist_sector(struct sim_disk *d, const struct sim_entry *e, u32 i)
{
	u32 s = e->sector + i;

	if (e->meta)
		memcpy(disk_own_block(d, s / FUSION_BLOCK_SECTORS) +
		       s % FUSION_BLOCK_SECTORS * 512, e->raw + i * 512, 512);
	else
		d->stamp[s] = e->stamps ? e->stamps[i] : 0;
}

bool entry_covers_bad(const struct sim_disk *d, const struct sim_entry *e)
{
	u64 bad = (u64)d->bad * FUSION_BLOCK_SECTORS;

	return e->meta && e->sector <= bad && bad + FUSION_BLOCK_SECTORS <= e->sector + e->nr;
}

u32 *entry_seq(struct sim_disk *d, const struct sim_entry *e, u32 i)
{
	return &d->seq[e->sector + i + (e->meta ? 0 : d->nr_blocks * FUSION_BLOCK_SECTORS)];
}

void entry_persist(struct sim_disk *d, const struct sim_entry *e)
{
	u32 i;

	for (i = 0; i < e->nr; i++) {
		u32 *seq = entry_seq(d, e, i);

		if (*seq > e->seq)
			continue;
		*seq = e->seq;
		entry_persist_sector(d, e, i);
	}
	/* a sector that was written again can be read */
	if (entry_covers_bad(d, e))
		d->bad = NEVER;
}

void entry_free(struct sim_entry *e)
{
	list_del(&e->list);
	sim_free(e->raw);
	sim_free(e->stamps);
	sim_free(e);
}

/* -- from outside -------------------------------------------------------------------- */

const void *sim_disk_block(const struct sim_disk *d, u64 blocknr)
{
	static const u8 zeros[FUSION_BLOCK_SIZE];

	if (blocknr >= d->nr_blocks)
		sim_fail("no metadata in block %llu", blocknr);
	return d->block[blocknr] ?: zeros;
}

unsigned int sim_disk_super(struct sim_disk *d, struct fusion_sb *sb)
{
	struct fusion_sb one;
	unsigned int copy, found = 0;
	const char *why;

	for (copy = 0; copy < 2; copy++) {
		u64 nr = FUSION_SUPER_BLOCKNR(copy);

		if (fusion_sb_unpack_landing(sim_disk_block(d, nr), nr, d->sectors, &one, &why))
			continue;
		if (!found++ || one.generation > sb->generation)
			*sb = one;
	}
	return found;
}

void sim_disk_set_block(struct sim_disk *d, u64 blocknr, const void *block)
{
	if (blocknr >= d->nr_blocks)
		sim_fail("no metadata in block %llu", blocknr);
	memcpy(disk_own_block(d, blocknr), block, FUSION_BLOCK_SIZE);
}

u32 sim_disk_blocks(const struct sim_disk *d)
{
	return d->nr_blocks;
}

bool sim_disk_written(const struct sim_disk *d)
{
	return d->completed;
}

u64 sim_disk_stamp(const struct sim_disk *d, u64 sector)
{
	u32 where;

	if (disk_locate(d, sector, 1, &where))
		sim_fail("no data in sector %llu", sector);
	return d->stamp[where];
}

void sim_disk_set_stamp(struct sim_disk *d, u64 sector, u64 stamp)
{
	u32 where;

	if (disk_locate(d, sector, 1, &where))
		sim_fail("no data in sector %llu", sector);
	d->stamp[where] = stamp;
}

bool sim_disk_tearable(const struct sim_disk *d)
{
	const struct sim_entry *e;

	list_for_each_entry(e, &d->cache, list)
		if (e->seq == NEVER && e->meta && e->nr > FUSION_BLOCK_SECTORS)
			return true;
	return false;
}

/* -- format ---------------------------------------------------------------------- */

void sim_disk_lose_data(struct sim_disk *d, u64 *rng)
{
	u32 i;

	for (i = 0; i < d->nr_data; i++)
		d->stamp[i] = rnd(rng) | 1ULL << 63;
}

void sim_disk_format(struct sim_disk *d, const struct fusion_sb *fast, const u32 *words,
		     u64 *rng)
{
	u8 block[FUSION_BLOCK_SIZE];
	struct fusion_sb sb = *fast;
	u32 none[FUSION_MAP_PER_BLOCK];
	u32 i;

	/* Remains of foreign content must never be read through the device. */
	sim_disk_lose_data(d, rng);
	memset32(none, FUSION_WORD_UNMAPPED, FUSION_MAP_PER_BLOCK);
	if (d->role == FUSION_SLOW)
		fusion_sb_for_slow(fast, &sb);
	/* as if power had failed while an older version turned the log off */
	if (d->role == FUSION_SLOW && d->stamp[0] & 1)
		sb.incompat &= ~FUSION_INCOMPAT_LANDING;
	if (words)
		sb.incompat |= FUSION_INCOMPAT_DAMAGED;
	for (i = 0; i < sb.map_blocks; i++) {
		fusion_map_pack(&sb, sb.active_set, i, sb.set_generation,
				words && !i ? words : none, block);
		sim_disk_set_block(d, sb.map_start[d->role][sb.active_set] + i, block);
	}
	for (i = 0; i < 2; i++) {
		u64 blocknr;

		sb.generation = fast->generation + i;
		blocknr = FUSION_SUPER_BLOCKNR(sb.generation & 1);
		fusion_sb_pack(&sb, blocknr, block);
		sim_disk_set_block(d, blocknr, block);
	}
}

/* -- the kernel's questions ------------------------------------------------------ */

sector_t bdev_nr_sectors(struct block_device *bdev)
{
	return bdev->disk->sectors;
}

unsigned int bdev_logical_block_size(struct block_device *bdev)
{
	return bdev->disk->block_bytes;
}

bool bdev_write_cache(struct block_device *bdev)
{
	return !bdev->disk->through;
}

bool bdev_fua(struct block_device *bdev)
{
	return bdev->disk->fua;
}

unsigned int bdev_max_discard_sectors(struct block_device *bdev)
{
	return bdev->disk->discards ? U32_MAX >> SECTOR_SHIFT : 0;
}
