// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who closes a device that was written to has udev told of it, and the rule opens what is a member
 * then: not before all of it is written and tested, and not before somebody asks for that.
 */
#include "meta.h"

int meta_hold(const struct meta *meta, int *lock)
{
	*lock = -1;
	/* images are nothing that udev hears of */
	if (meta->m[FAST].o.file || meta->m[SLOW].o.file)
		return 0;
	return run_lock(ASSEMBLY_LOCK, lock);
}

void meta_keep_closed(const struct meta *meta)
{
	struct member *m[2] = { NULL, NULL };

	for (int dev = 0; dev < 2; dev++)
		if (!meta->m[dev].o.file)
			member_at(meta->m[dev].o.devno, &m[dev]);
	if (m[FAST] && m[SLOW])
		opened_write(m[FAST], m[SLOW]);
	free_members(m[FAST]);
	free_members(m[SLOW]);
}
