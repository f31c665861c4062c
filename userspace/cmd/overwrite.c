// SPDX-License-Identifier: GPL-2.0-only
/* May a member be written to a device that has none, or only half of one? */
#include <fcntl.h>

#include "overwrite.h"
#include "ask.h"
#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "probe.h"
#include "role.h"
#include "size.h"
#include "verb.h"

int overwrite_check_size(const struct meta *meta, int dev, const char *whose)
{
	const struct fusion_sb *geo = &meta->geo[dev];
	const struct offline *o = &meta->m[dev].o;
	char was[SIZE_TEXT], is[SIZE_TEXT];

	if (o->sectors >= geo->self_sectors)
		return 0;
	return fus_fail(FC_MEMBER, o->path, "is smaller than the %s member of %s, %s instead of "
			"%s; name a device of that size", fus_role_name[dev], whose,
			fus_size_text(is, o->sectors << 9),
			fus_size_text(was, geo->self_sectors << 9));
}

int overwrite_check_content(const struct meta *meta, int dev, const struct args *a,
			    char content[CONTENT_TEXT])
{
	const struct meta_member *m = &meta->m[dev];
	bool found = false;
	int rc;

	*content = 0;
	if (!m->copy[0].err && !m->copy[1].err)
		return 0;
	/* through the page cache: signatures are anywhere */
	rc = fus_probe_foreign(m->o.path, open(m->o.path, O_RDONLY | O_CLOEXEC), &found, content,
			       CONTENT_TEXT);
	return rc ? rc : check_may_go(a, m->o.path, content);
}
