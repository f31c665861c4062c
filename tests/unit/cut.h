/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power that fails while fusionctl writes: wraps offline_write() and offline_sync(), with
 * the linker's --wrap.
 */
#ifndef CUT_H
#define CUT_H

#include <errno.h>

#include "unit.h"
#include "meta.h"

#define MAX_UNSYNCED	256

/* Power fails at a write; of what was not flushed by then any part may be lost. */
static struct {
	bool armed;
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

int __real_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf);
int __real_offline_sync(const struct offline *o);
int __wrap_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf);
int __wrap_offline_sync(const struct offline *o);

static void lose_some(void)
{
	while (cut.nr--) {
		if (rnd_below(&cut.seed, 2))
			__real_offline_write(cut.unsynced[cut.nr].o, cut.unsynced[cut.nr].offset,
					     cut.unsynced[cut.nr].bytes, cut.unsynced[cut.nr].was);
		free(cut.unsynced[cut.nr].was);
	}
	cut.nr = 0;
}

int __wrap_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf)
{
	if (!cut.armed)
		return __real_offline_write(o, offset, bytes, buf);
	if (!cut.writes_left--) {
		lose_some();
		cut.writes_left = 0;
		return -EIO;
	}
	REQUIRE(cut.nr < MAX_UNSYNCED);
	cut.unsynced[cut.nr].o = o;
	cut.unsynced[cut.nr].offset = offset;
	cut.unsynced[cut.nr].bytes = bytes;
	cut.unsynced[cut.nr].was = malloc(bytes);
	REQUIRE(!offline_read(o, offset, bytes, cut.unsynced[cut.nr++].was));
	return __real_offline_write(o, offset, bytes, buf);
}

int __wrap_offline_sync(const struct offline *o)
{
	unsigned int i, n = 0;

	for (i = 0; i < cut.nr; i++) {
		if (cut.unsynced[i].o == o)
			free(cut.unsynced[i].was);
		else
			cut.unsynced[n++] = cut.unsynced[i];
	}
	cut.nr = n;
	return __real_offline_sync(o);
}

#endif
