// SPDX-License-Identifier: GPL-2.0-only
/* Find the members of one set among all members: see assemble.h. */
#include <stdio.h>
#include <string.h>

#include "assemble.h"
#include "error.h"
#include "fusionctl.h"
#include "role.h"
#include "scan.h"
#include "super.h"
#include "trio.h"
#include "dm-fusion-codec.h"

static bool same_set(const struct member *a, const struct member *b)
{
	return !memcmp(a->sb->set_uuid, b->sb->set_uuid, sizeof(a->sb->set_uuid));
}

bool begins_set(const struct member *list, const struct member *m)
{
	for (; list != m; list = list->next)
		if (fus_has_identity(list) && same_set(list, m))
			return false;
	return true;
}

/* Only the one that stays says which the others are. */
static int find_three(struct member *list, const struct trio *t, struct pair *p)
{
	const struct member *new = t->m[t->role];
	int rc;

	rc = fus_find_member(list, t->m[!t->role]->sb->dev_uuid, &p->m);
	if (!rc && new)
		rc = fus_find_member(list, new->sb->dev_uuid, &p->peer);
	if (!rc && t->old)
		rc = fus_find_member(list, t->old->sb->dev_uuid, &p->old);
	p->lacks_old = !t->old && !t->over;
	return rc;
}

bool is_complete(const struct pair *p)
{
	return p->m && p->peer && !p->lacks_old;
}

int find_pair(struct member *list, struct member *m, struct pair *p)
{
	struct member *itself, *peer, *lonely = NULL, *first = m;
	struct trio t;
	int rc;

	memset(p, 0, sizeof(*p));
	fus_find_trio(list, m->sb->set_uuid, &t);
	if (t.role >= 0)
		return find_three(list, &t, p);
	for (; m; m = m->next) {
		if (!fus_has_identity(m) || !same_set(m, first))
			continue;
		rc = fus_find_member(list, m->sb->dev_uuid, &itself);
		if (!rc)
			rc = fus_find_member(list, m->sb->peer_uuid, &peer);
		if (rc)
			return rc;
		if (itself != m)
			continue;
		if (!peer)
			lonely = m;
		else if (memcmp(peer->sb->peer_uuid, m->sb->dev_uuid, sizeof(m->sb->dev_uuid)))
			*(fus_was_replaced(m->sb, peer->sb) ? &p->replaced : &p->foreign) = m;
		else
			p->m = m, p->peer = peer;
	}
	if (!p->m)
		p->m = lonely;
	return 0;
}

void foreign_text(const struct member *m, const struct member *used, char *buf, size_t size)
{
	if (fus_was_replaced(m->sb, used->sb))
		snprintf(buf, size, "was the %s member of %s and has been replaced, as %s shows",
			 fus_role_name[m->sb->role], m->sb->label, used->path);
	else
		snprintf(buf, size, "is not the %s member that belongs to the set %s but one of "
			 "another generation of it, as %s shows", fus_role_name[m->sb->role],
			 m->sb->label, used->path);
}

/* Until the set is complete, what was replaced may have the only copy of its data, if old. */
static void remedy_text(const struct member *m, const struct member *used, bool complete, char *buf,
			size_t size)
{
	if (!fus_was_replaced(m->sb, used->sb))
		snprintf(buf, size, "detach it");
	else if (complete)
		snprintf(buf, size, "run fusionctl wipe %s to use it for something else", m->path);
	else
		snprintf(buf, size, "keep it until %s is complete", m->sb->label);
}

int fail_foreign(const struct member *m, const struct member *used, bool complete)
{
	char text[FOREIGN_TEXT], remedy[FOREIGN_TEXT];

	foreign_text(m, used, text, sizeof(text));
	remedy_text(m, used, complete, remedy, sizeof(remedy));
	return fus_fail(FC_MEMBER, m->path, "%s; %s", text, remedy);
}

void warn_replaced(const struct member *m, const struct member *used, bool complete)
{
	char text[FOREIGN_TEXT], remedy[FOREIGN_TEXT];

	foreign_text(m, used, text, sizeof(text));
	remedy_text(m, used, complete, remedy, sizeof(remedy));
	fus_warn(m->path, "%s; %s", text, remedy);
}

void waits_text(const struct pair *p, char *buf, size_t size)
{
	const struct member *m = p->m;
	const char *what = fus_tells_of_old(m->sb) ? "new " : "";
	const unsigned char *lacks = m->sb->peer_uuid;
	char ident[160], uuid[2][UUID_TEXT];

	fus_missing_text(m, ident, sizeof(ident));
	if (p->peer) {
		what = "old ";
		lacks = m->sb->old.uuid;
		fus_old_text(m->sb, ident, sizeof(ident));
	}
	snprintf(buf, size, "the %s member %s is here, the %s%s one is missing (%s, uuid %s; set "
		 "%s)", fus_role_name[m->sb->role], m->path, what, fus_role_name[!m->sb->role],
		 ident, fus_uuid_text(uuid[0], lacks), fus_uuid_text(uuid[1], m->sb->set_uuid));
}
