// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a device that was written to is closed, udev notices, and its rule opens the set of a
 * member. That must not happen before all of it is written and tested, nor unasked. Another
 * machine, which notices nothing, must not be using the set.
 */
#include "backup.h"
#include "fusionctl.h"
#include "host.h"
#include "meta.h"
#include "record.h"
#include "scan.h"

/* Without a superblock it is only a heartbeat that tells. */
static int watch(const struct meta *meta)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, FAST) ? fus_meta_sb(meta, FAST) :
				     fus_meta_sb(meta, SLOW);
	struct fusion_sb none = meta->geo[FAST];

	none.flags |= FUSION_SB_CLEAN;
	return fus_host_watch(meta->m[FAST].o.path, meta->m[FAST].o.fd, sb ? sb : &none);
}

int fus_meta_hold(const struct meta *meta, int *lock)
{
	int rc;

	*lock = -1;
	rc = watch(meta);
	if (rc)
		return rc;
	/* udev does not notice images */
	if (meta->m[FAST].o.file || meta->m[SLOW].o.file)
		return 0;
	return fus_run_lock(ASSEMBLY_LOCK, lock);
}

void fus_meta_keep_closed(const struct meta *meta)
{
	struct member *m[2] = { NULL, NULL };

	for (int dev = 0; dev < 2; dev++)
		if (!meta->m[dev].o.file)
			fus_member_at(meta->m[dev].o.devno, &m[dev]);
	if (m[FAST] && m[SLOW])
		fus_opened_write(m[FAST], m[SLOW]);
	fus_free_members(m[FAST]);
	fus_free_members(m[SLOW]);
}

void fus_meta_backup(const struct meta *meta)
{
	if (!meta->m[FAST].o.file && !meta->m[SLOW].o.file)
		fus_backup_write(&meta->geo[FAST]);
}
