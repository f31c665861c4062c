// SPDX-License-Identifier: GPL-2.0-only
/*
 * The content of a closed set as a file for libblkid, which knows nothing of maps. Signatures are
 * near the beginning and the end; between them only the mirrors of btrfs, which magics.c looks for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error.h"
#include "fusionctl.h"
#include "homing.h"

/* The second header of LUKS is up to 4 MiB from the beginning. */
#define WINDOW_BYTES	(8ULL << 20)

static const u64 mirrors[] = { 64ULL << 20, 256ULL << 30 };

static bool is_looked_at(const struct meta_state *st, u64 es, u32 lext)
{
	const u64 from = lext * es, end = from + es, all = st->nr_lexts * es;

	if (from < WINDOW_BYTES || end + WINDOW_BYTES > all)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(mirrors); i++)
		if (mirrors[i] >= from && mirrors[i] < end)
			return true;
	return false;
}

static int put(int fd, const u8 *buf, size_t bytes, u64 offset)
{
	while (bytes) {
		ssize_t n = pwrite(fd, buf, bytes, offset);

		if (n <= 0)
			return fus_fail(FC_FAILED, "memory", "not enough for a part of the "
					"content; close programs and try again");
		buf += n;
		offset += n;
		bytes -= n;
	}
	return 0;
}

int fus_window_open(const struct meta *meta, const struct meta_state *st)
{
	const u64 es = (u64)meta->geo[FAST].extent_sectors << 9;
	int fd = memfd_create("fusion", MFD_CLOEXEC);
	u8 *buf = fus_offline_buffer(es);
	int rc = buf ? 0 : FC_FAILED;

	if (!rc && (fd < 0 || ftruncate(fd, st->nr_lexts * es)))
		rc = fus_fail(FC_FAILED, "memory", "cannot make a file in it: %s; close programs "
			      "and try again", strerror(errno));
	for (u32 lext = 0; lext < st->nr_lexts && !rc; lext++) {
		if (!is_looked_at(st, es, lext) || !fusion_word_mapped(st->word[lext]))
			continue;
		rc = fus_homing_get(meta, st, lext, buf);
		if (!rc)
			rc = put(fd, buf, es, lext * es);
	}
	free(buf);
	if (rc && fd >= 0)
		close(fd);
	return rc ? -1 : fd;
}
