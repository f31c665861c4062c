// SPDX-License-Identifier: GPL-2.0-only
/* Open a set of which a member is being replaced, of its three disks. */
#include <stdio.h>

#include "activate.h"
#include "backup.h"
#include "error.h"
#include "fusionctl.h"
#include "role.h"
#include "scan.h"
#include "super.h"
#include "trio.h"
#include "dm-fusion-codec.h"

/* A disk that has no copy, in a state that can be used. */
static int check(struct member *list, const struct member *m, struct member **found)
{
	int rc = fus_find_member(list, m->sb->dev_uuid, found);

	return rc ? rc : fus_check_member(*found);
}

int open_three(const char *name, struct member *list, const struct trio *t, bool take_over,
	       struct json_object *json)
{
	const struct member *new = t->m[t->role];
	const char *role = fus_role_name[t->role];
	struct member *m[2], *old = NULL;
	char ident[160];
	int rc;

	if (!new) {
		fus_ident_text(&t->peer->peer, t->peer->peer_sectors, ident, sizeof(ident));
		return fus_fail(FC_MEMBER, name, "its %s member is being replaced, and the new one "
				"is missing (%s); connect it and open the set again", role, ident);
	}
	rc = check(list, t->m[!t->role], &m[!t->role]);
	if (!rc)
		rc = check(list, new, &m[t->role]);
	if (!rc && t->old)
		rc = check(list, t->old, &old);
	if (!rc && !old && !t->over) {
		fus_old_text(t->by, ident, sizeof(ident));
		fus_warn(name, "its %s member is being replaced, and the old one is missing (%s); "
			 "connect it, unless nothing lies there any more", role, ident);
	}
	if (!rc)
		rc = open_set_with(name, m[FAST], m[SLOW], old, take_over, json);
	if (!rc)
		fus_backup_first(m[t->role]->sb, false);
	return rc;
}
