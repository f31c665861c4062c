// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-powercut: a member and its volatile cache.
 *
 * The cache is a list of the writes since the last flush, in the order in which they were served. A
 * power cut goes through it and lets each write, or each sector of each, happen or not. So a sector
 * may end as any of the versions it had since the flush, not only as one of two, and never as an
 * older version than the durable one.
 *
 * An FUA write is on the list, too, as one that happens in any case. Older cached data of the same
 * sectors must not overwrite it.
 */
#include <linux/bitmap.h>
#include <linux/device-mapper.h>
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "dm-powercut.h"

/* If more is cached, the oldest writes become durable, as on any disk. */
#define CACHE_BYTES	(32U << 20)

/* Sectors that are copied together when a state is brought back. */
#define CHUNK		128U

/* Initial content of a disk: neither zeros nor anything that was written. */
#define STALE		0xa5

/**
 * struct cached - a write in the cache
 * @list: in powercut_disk.cache
 * @sector: first one
 * @nr: number of sectors
 * @fua: happens in any case
 * @data: NULL if it is all zeros
 */
struct cached {
	struct list_head list;
	u64 sector;
	u64 nr;
	bool fua;
	u8 *data;
};

static size_t bytes(u64 sectors)
{
	return sectors << SECTOR_SHIFT;
}

static u64 nr_chunks(const struct powercut_disk *disk)
{
	return DIV_ROUND_UP(disk->sectors, CHUNK);
}

static void touch(struct powercut_disk *disk, u64 sector, u64 nr)
{
	u64 first = sector / CHUNK;

	bitmap_set(disk->touched, first, (sector + nr - 1) / CHUNK - first + 1);
}

int powercut_disk_init(struct powercut_disk *disk, u64 sectors)
{
	memset(disk, 0, sizeof(*disk));
	INIT_LIST_HEAD(&disk->cache);
	disk->sectors = sectors;
	disk->now = vmalloc(bytes(sectors));
	disk->durable = vmalloc(bytes(sectors));
	disk->touched = kvcalloc(BITS_TO_LONGS(nr_chunks(disk)), sizeof(long), GFP_KERNEL);
	disk->recent = -1;
	if (!disk->now || !disk->durable || !disk->touched) {
		powercut_disk_exit(disk);
		return -ENOMEM;
	}
	memset(disk->now, STALE, bytes(sectors));
	memset(disk->durable, STALE, bytes(sectors));
	return 0;
}

/* Take the first write off the cache. */
static void forget(struct powercut_disk *disk, struct cached *w)
{
	disk->cache_bytes -= sizeof(*w) + (w->data ? bytes(w->nr) : 0);
	list_del(&w->list);
	kvfree(w->data);
	kfree(w);
}

void powercut_disk_exit(struct powercut_disk *disk)
{
	struct cached *w, *next;
	unsigned int i;

	list_for_each_entry_safe(w, next, &disk->cache, list)
		forget(disk, w);
	for (i = 0; i < POWERCUT_SAVES; i++)
		vfree(disk->saved[i]);
	kvfree(disk->touched);
	vfree(disk->durable);
	vfree(disk->now);
}

/* Let a part of a write happen. */
static void harden(struct powercut_disk *disk, const struct cached *w, u64 first, u64 nr)
{
	u8 *to = disk->durable + bytes(w->sector + first);

	if (w->data)
		memcpy(to, w->data + bytes(first), bytes(nr));
	else
		memset(to, 0, bytes(nr));
}

/* -- commands ------------------------------------------------------------------- */

void powercut_disk_read(struct powercut_disk *disk, struct bio *bio, u64 sector)
{
	u8 *from = disk->now + bytes(sector);
	struct bvec_iter iter;
	struct bio_vec bv;

	disk->reads++;
	bio_for_each_segment(bv, bio, iter) {
		memcpy_to_bvec(&bv, from);
		from += bv.bv_len;
	}
}

static struct cached *add(struct powercut_disk *disk, u64 sector, u64 nr, bool fua, bool data)
{
	struct cached *w = kzalloc(sizeof(*w), GFP_KERNEL);

	if (w && data) {
		w->data = kvmalloc(bytes(nr), GFP_KERNEL);
		if (!w->data) {
			kfree(w);
			w = NULL;
		}
	}
	if (!w)
		return NULL;
	w->sector = sector;
	w->nr = nr;
	w->fua = fua;
	list_add_tail(&w->list, &disk->cache);
	touch(disk, sector, nr);
	disk->cache_bytes += sizeof(*w) + (data ? bytes(nr) : 0);
	disk->fuas += fua;
	return w;
}

static void trim_cache(struct powercut_disk *disk)
{
	struct cached *w;

	while (disk->cache_bytes > CACHE_BYTES) {
		w = list_first_entry(&disk->cache, struct cached, list);
		harden(disk, w, 0, w->nr);
		forget(disk, w);
	}
}

int powercut_disk_write(struct powercut_disk *disk, struct bio *bio, u64 sector, bool fua)
{
	struct cached *w = add(disk, sector, bio_sectors(bio), fua, true);
	struct bvec_iter iter;
	struct bio_vec bv;
	u8 *to;

	if (!w)
		return -ENOMEM;
	disk->writes++;
	to = w->data;
	bio_for_each_segment(bv, bio, iter) {
		memcpy_from_bvec(to, &bv);
		to += bv.bv_len;
	}
	memcpy(disk->now + bytes(sector), w->data, bytes(w->nr));
	trim_cache(disk);
	return 0;
}

int powercut_disk_zero(struct powercut_disk *disk, u64 sector, u64 nr, bool fua)
{
	if (!add(disk, sector, nr, fua, false))
		return -ENOMEM;
	disk->discards++;
	memset(disk->now + bytes(sector), 0, bytes(nr));
	return 0;
}

void powercut_disk_flush(struct powercut_disk *disk)
{
	struct cached *w, *next;

	disk->flushes++;
	if (disk->lies)
		return;
	list_for_each_entry_safe(w, next, &disk->cache, list) {
		harden(disk, w, 0, w->nr);
		forget(disk, w);
	}
}

/* -- without power ---------------------------------------------------------------- */

/* Let the sectors of a write happen that fate picks, @odds of 256. */
static void decide(struct powercut_disk *disk, struct cached *w, enum powercut_fate fate,
		   unsigned int odds, struct rnd_state *random)
{
	u64 unit = fate == POWERCUT_TORN ? 1 : w->nr;
	u64 i;

	for (i = 0; i < w->nr; i += unit) {
		if (w->fua || (prandom_u32_state(random) & 255) < odds) {
			harden(disk, w, i, unit);
			disk->kept += unit;
		} else {
			disk->dropped += unit;
		}
	}
}

void powercut_disk_cut(struct powercut_disk *disk, enum powercut_fate fate,
		       struct rnd_state *random)
{
	unsigned int odds = prandom_u32_state(random) & 255;
	struct cached *w, *next;

	if (fate == POWERCUT_ANY) {
		fate = 1 + prandom_u32_state(random) % (POWERCUT_FATES - 1);
		/* A cache that is emptied all the time, or only when it must be. */
		if (prandom_u32_state(random) & 1)
			odds = odds < 128 ? odds / 16 : 255 - (255 - odds) / 16;
	}
	if (fate == POWERCUT_DROP)
		odds = 0;
	if (fate == POWERCUT_KEEP)
		odds = 256;

	list_for_each_entry(w, &disk->cache, list)
		decide(disk, w, fate, odds, random);
	list_for_each_entry_safe(w, next, &disk->cache, list) {
		memcpy(disk->now + bytes(w->sector), disk->durable + bytes(w->sector),
		       bytes(w->nr));
		forget(disk, w);
	}
}

int powercut_disk_save(struct powercut_disk *disk, unsigned int nr)
{
	if (!disk->saved[nr])
		disk->saved[nr] = vmalloc(bytes(disk->sectors));
	if (!disk->saved[nr])
		return -ENOMEM;
	memcpy(disk->saved[nr], disk->durable, bytes(disk->sectors));
	bitmap_zero(disk->touched, nr_chunks(disk));
	disk->recent = nr;
	return 0;
}

int powercut_disk_load(struct powercut_disk *disk, unsigned int nr)
{
	unsigned long chunk;

	if (!disk->saved[nr])
		return -ENODATA;
	if (disk->recent != nr)
		bitmap_fill(disk->touched, nr_chunks(disk));
	for_each_set_bit(chunk, disk->touched, nr_chunks(disk)) {
		size_t start = bytes((u64)chunk * CHUNK);
		size_t size = min(bytes(CHUNK), bytes(disk->sectors) - start);

		memcpy(disk->durable + start, disk->saved[nr] + start, size);
		memcpy(disk->now + start, disk->saved[nr] + start, size);
	}
	bitmap_zero(disk->touched, nr_chunks(disk));
	disk->recent = nr;
	return 0;
}
