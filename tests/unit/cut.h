/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power that fails while fusionctl writes: wraps fus_offline_write() and fus_offline_sync(), with
 * the linker's --wrap.
 */
#ifndef CUT_H
#define CUT_H

#include <errno.h>

#include "unit.h"
#include "meta.h"
#include "nobody.h"

#define MAX_UNSYNCED	256

/* Power fails at a write; of what was not flushed by then any part may be lost. */
static struct {
	bool armed, dead;
	unsigned int writes_left;
	u64 seed;
	unsigned int nr;
	struct {
		const struct offline *o;
		u64 offset;
		size_t bytes;
		void *was;
	} unsynced[MAX_UNSYNCED];
} cut;

int __real_fus_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf);
int __real_fus_offline_sync(const struct offline *o);
int __wrap_fus_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf);
int __wrap_fus_offline_sync(const struct offline *o);

/* Any of its sectors are as before. */
static void lose_sectors(unsigned int i)
{
	for (size_t at = 0; at < cut.unsynced[i].bytes; at += 512)
		if (rnd_below(&cut.seed, 2))
			__real_fus_offline_write(cut.unsynced[i].o, cut.unsynced[i].offset + at,
						 512, (char *)cut.unsynced[i].was + at);
}

static void lose_some(void)
{
	while (cut.nr--) {
		/* none of it stays, its first sector, some, or all */
		const size_t parts = cut.unsynced[cut.nr].bytes / 512;
		const size_t stays[] = { 0, 1, rnd_below(&cut.seed, parts), parts };
		const size_t from = 512 * stays[rnd_below(&cut.seed, 4)];

		if (!rnd_below(&cut.seed, 4)) {
			lose_sectors(cut.nr);
			free(cut.unsynced[cut.nr].was);
			continue;
		}
		__real_fus_offline_write(cut.unsynced[cut.nr].o, cut.unsynced[cut.nr].offset + from,
					 cut.unsynced[cut.nr].bytes - from,
					 (char *)cut.unsynced[cut.nr].was + from);
		free(cut.unsynced[cut.nr].was);
	}
	cut.nr = 0;
}

int __wrap_fus_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf)
{
	if (!cut.armed)
		return __real_fus_offline_write(o, offset, bytes, buf);
	if (cut.dead)
		return -EIO;
	REQUIRE(cut.nr < MAX_UNSYNCED);
	cut.unsynced[cut.nr].o = o;
	cut.unsynced[cut.nr].offset = offset;
	cut.unsynced[cut.nr].bytes = bytes;
	cut.unsynced[cut.nr].was = malloc(bytes);
	REQUIRE(!fus_offline_read(o, offset, bytes, cut.unsynced[cut.nr++].was));
	if (__real_fus_offline_write(o, offset, bytes, buf))
		return -EIO;
	if (cut.writes_left--)
		return 0;
	cut.dead = true;
	lose_some();
	return -EIO;
}

int __wrap_fus_offline_sync(const struct offline *o)
{
	unsigned int i, n = 0;

	if (cut.armed && cut.dead)
		return -EIO;
	for (i = 0; i < cut.nr; i++) {
		if (cut.unsynced[i].o == o)
			free(cut.unsynced[i].was);
		else
			cut.unsynced[n++] = cut.unsynced[i];
	}
	cut.nr = n;
	return __real_fus_offline_sync(o);
}

/* From here on, until cut_over(), power fails at write @n. */
static inline void cut_at(unsigned int n)
{
	cut.armed = true;
	cut.dead = false;
	cut.writes_left = n;
}

/* What was written without a flush stays. */
static inline void cut_over(void)
{
	cut.armed = false;
	while (cut.nr)
		free(cut.unsynced[--cut.nr].was);
}

#endif
