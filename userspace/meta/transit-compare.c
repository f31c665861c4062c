// SPDX-License-Identifier: GPL-2.0-only
/* A disk in transit: the copies of its extents, compared with the disk and with their checksum. */
#include <stdlib.h>
#include <string.h>
#include <linux/crc32c.h>

#include "error.h"
#include "fusionctl.h"
#include "transit.h"
#include "dm-fusion-codec.h"

void fus_transit_blank_magics(const struct transit *t, u32 lext, u8 *buf)
{
	const struct fusion_transit *tr = &t->sb.transit;
	const u64 start = (u64)lext * t->sb.extent_sectors, end = start + t->sb.extent_sectors;

	for (unsigned int i = 0; i < tr->nr_magics; i++)
		if (tr->magic[i] >= start && tr->magic[i] < end)
			memset(buf + ((tr->magic[i] - start) << 9), 0, 512);
}

/* Of what is compared, leave out the sectors that a step may have changed by then. */
static void mask(const struct transit *t, u32 lext, u8 *buf)
{
	if (!fusion_transit_copied(&t->sb.transit))
		return;
	fus_transit_blank_magics(t, lext, buf);
	for (int i = 0; i < 2 && !lext; i++)
		memset(buf + FUSION_SUPER_BLOCKNR(i) * FUSION_BLOCK_SIZE, 0, FUSION_BLOCK_SIZE);
}

int fus_transit_get_copy(const struct transit *t, u32 nr, u8 *buf)
{
	int err = fus_offline_read(&t->o[t->other], fus_transit_copy_sector(t, nr) << 9,
				   (size_t)t->sb.extent_sectors << 9, buf);

	return err ? fus_transit_failed(t, t->other, "read", err) : 0;
}

/* Compare an extent of the disk with its copy, which is in @copy, in a buffer of that size. */
static int compare_one(const struct transit *t, u32 nr, u8 *copy, u8 *buf, bool *same)
{
	const size_t bytes = (size_t)t->sb.extent_sectors << 9;
	const u32 lext = fus_transit_lext(t, nr);
	const u64 left = (t->sb.transit.disk_sectors << 9) - (u64)lext * bytes;
	int rc = fus_transit_get_extent(t, lext, buf);

	if (rc)
		return rc;
	mask(t, lext, buf);
	mask(t, lext, copy);
	*same = !memcmp(buf, copy, min_t(u64, bytes, left));
	return 0;
}

/* All of them, or up to the first difference if no checksum is wanted. */
static int compare(const struct transit *t, u32 *csum, bool *same)
{
	const size_t bytes = (size_t)t->sb.extent_sectors << 9;
	u8 *copy = fus_offline_buffer(bytes), *buf = fus_offline_buffer(bytes);
	int rc = copy && buf ? 0 : FC_FAILED;

	*same = true;
	for (u32 i = 0; i < t->moved && (*same || csum) && !rc; i++) {
		rc = fus_transit_get_copy(t, i, copy);
		if (!rc && csum)
			*csum = crc32c(*csum, copy, bytes);
		if (!rc && *same)
			rc = compare_one(t, i, copy, buf, same);
	}
	free(copy);
	free(buf);
	return rc;
}

int fus_transit_compare(const struct transit *t, bool *same)
{
	return compare(t, NULL, same);
}

static int check_csum(const struct transit *t, u32 csum)
{
	return csum == t->sb.transit.copy_csum ? 0 :
	       fus_fail(FC_DAMAGED, t->o[t->other].path, "does not return what was copied to it; "
			"nothing was changed, have the device examined");
}

int fus_transit_check_both(const struct transit *t, bool *same)
{
	u32 csum = ~0U;
	int rc = compare(t, &csum, same);

	return rc ? rc : check_csum(t, csum);
}

int fus_transit_check_copies(const struct transit *t)
{
	const size_t bytes = (size_t)t->sb.extent_sectors << 9;
	u8 *buf = fus_offline_buffer(bytes);
	int rc = buf ? 0 : FC_FAILED;
	u32 csum = ~0U;

	for (u32 i = 0; i < t->moved && !rc; i++) {
		rc = fus_transit_get_copy(t, i, buf);
		if (!rc)
			csum = crc32c(csum, buf, bytes);
	}
	free(buf);
	return rc ? rc : check_csum(t, csum);
}
