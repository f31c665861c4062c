// SPDX-License-Identifier: GPL-2.0-only
/* Verb doctor: members that are not as they should be, and sets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adopt.h"
#include "assemble.h"
#include "dm.h"
#include "doctor.h"
#include "health.h"
#include "open-set.h"
#include "probe.h"
#include "protected.h"
#include "role.h"
#include "scan.h"
#include "super.h"
#include "trio.h"
#include "dm-fusion-codec.h"

/* "set data" */
static void set_subject(const struct member *m, char *buf, size_t size)
{
	snprintf(buf, size, "set %.*s", FUSION_LABEL_SIZE, m->sb->label);
}

/* -- members -------------------------------------------------------------------- */

/* The first device, other than @but, that is this member and lies beneath no other such device. */
static const struct member *device_of(const struct member *list, const unsigned char uuid[16],
				      const struct member *but)
{
	for (const struct member *m = list; m; m = m->next)
		if (m != but && fus_member_is(m, uuid) && !fus_under_another(list, m))
			return m;
	return NULL;
}

static void check_one(struct doctor *d, const struct member *list, const struct member *m)
{
	const struct member *copy;
	char text[CONTENT_TEXT + 128];

	switch (m->state) {
	case MEMBER_OK:
		if (m->why)
			doctor_say(d, HEALTH_WARNING, m->path, "fusionctl repair its set, closed",
				   "one copy of its superblock is damaged: %s", m->why);
		break;
	case MEMBER_SHRUNK:
		doctor_say(d, HEALTH_ERROR, m->path, "restore its old size",
			   "is smaller than when it was made a member");
		break;
	case MEMBER_UNKNOWN:
		doctor_say(d, HEALTH_ERROR, m->path, "use a newer fusionctl and dm-fusion", "%s",
			   m->why);
		return;
	case MEMBER_TRANSIT:
		if (fus_is_renewed(m))
			doctor_say(d, HEALTH_ERROR, m->path, "run fusionctl uuid with its fast "
				   "member and this one", "is the slow member of %s, %s",
				   m->sb->label, fus_transit_text(m->sb));
		else
			doctor_say(d, adopt_planned(m) ? HEALTH_NOTE : HEALTH_ERROR, m->path,
				   fus_transit_remedy(m->sb),
				   "is a member of %s, %s", m->sb->label,
				   fus_transit_text(m->sb));
		break;
	case MEMBER_PREPARED:
	case MEMBER_LEFT:
		fus_apart_text(m->sb, text, sizeof(text));
		doctor_say(d, HEALTH_NOTE, m->path, "fusionctl wipe it to use it for something "
			   "else", "%s", text);
		return;
	case MEMBER_COVERED:
		fus_covered_text(m, text, sizeof(text));
		doctor_say(d, HEALTH_NOTE, m->path, "if that can be overwritten, fusionctl repair "
			   "with both members and --force", "%s", text);
		return;
	default:
		doctor_say(d, HEALTH_ERROR, m->path, "fusionctl repair with both members",
			   "its superblocks are damaged: %s", m->why);
		return;
	}
	copy = device_of(list, m->sb->dev_uuid, NULL);
	if (copy && copy != m)
		doctor_say(d, HEALTH_ERROR, m->path, "detach one of them",
			   "claims to be the same member as %s", copy->path);
}

/* -- sets ----------------------------------------------------------------------- */

struct about {
	struct doctor *d;
	const char *subject;
};

static void say_health(void *ctx, enum health health, const char *text, const char *remedy)
{
	const struct about *a = ctx;

	doctor_say(a->d, health, a->subject, remedy, "%s", text);
}

/* That is no fault of the set, so its health does not depend on it. */
static void check_protected(struct doctor *d, const struct set *set, const char *subject)
{
	char text[PROTECTED_TEXT], remedy[PROTECTED_TEXT];
	enum health level = fus_protected_health(set, text, remedy);

	if (level != HEALTH_OK)
		doctor_say(d, level, subject, remedy, "%s", text);
}

void doctor_open_set(struct doctor *d, const struct set *set)
{
	char subject[160];
	struct about a = { d, subject };

	snprintf(subject, sizeof(subject), "set %s", set->m.name);
	if (fus_set_health(set, say_health, &a) == HEALTH_OK)
		doctor_say(d, HEALTH_OK, subject, NULL, "is open and healthy");
	check_protected(d, set, subject);
	doctor_landing(d, set, subject, say_health, &a);
}

static void check_open(struct doctor *d, const struct mapping *m)
{
	char subject[160], remedy[200];
	struct set set;

	snprintf(subject, sizeof(subject), "set %s", m->name);
	snprintf(remedy, sizeof(remedy), "dmsetup remove %s, and open it again", m->name);
	if (!m->live) {
		doctor_say(d, HEALTH_ERROR, subject, remedy, "was only half opened: it has no "
			   "table");
		return;
	}
	if (fus_set_get(m->name, &set)) {
		doctor_say(d, HEALTH_ERROR, subject, "see dmesg", "its status cannot be read");
		return;
	}
	doctor_open_set(d, &set);
	fus_set_put(&set);
}

static bool is_open(const struct mapping *open, const struct member *m)
{
	char uuid[UUID_TEXT];

	fus_uuid_text(uuid, m->sb->set_uuid);
	while (open && strcmp(fus_dm_set_uuid(open), uuid))
		open = open->next;
	return open;
}

/* Report why the set of two readable members that name each other stays closed, if it does. */
static bool stays(struct doctor *d, const struct member *fast, const struct member *slow,
		  const char *subject)
{
	const struct member *pair[2] = { fast, slow };
	char reason[STAYS_TEXT];
	const char *why, *remedy;
	bool closed = false;

	if (fusion_sb_match(fast->sb, slow->sb, &why)) {
		doctor_say(d, HEALTH_ERROR, subject, "use the two that were used together last",
			   "%s and %s do not belong together: %s", fast->path, slow->path, why);
		return true;
	}
	for (int i = 0; i < 2; i++) {
		if (!stays_closed(pair[i], reason, &remedy))
			continue;
		doctor_say(d, HEALTH_WARNING, pair[i]->path, remedy,
			   "%s, so the set %.*s is not opened automatically", reason,
			   FUSION_LABEL_SIZE, fast->sb->label);
		closed = true;
	}
	return closed;
}

static void check_pair(struct doctor *d, const struct member *fast, const struct member *slow)
{
	char subject[160];

	set_subject(fast, subject, sizeof(subject));
	/* faults of either member were reported for that member */
	if (fast->state != MEMBER_OK || slow->state != MEMBER_OK || stays(d, fast, slow, subject))
		return;
	if (fast->sb->flags & FUSION_SB_NEEDS_CHECK)
		doctor_say(d, HEALTH_WARNING, subject, "run fusionctl check",
			   "is closed, and had an error that may have left its metadata wrong");
	else
		doctor_say(d, HEALTH_OK, subject, NULL, "is closed, both members are present");
	doctor_closed_landing(d, fast->sb, subject);
}

/* Once, for the member that stays. */
static void check_three(struct doctor *d, const struct trio *t)
{
	const struct member *new = t->m[t->role];
	char subject[160], text[256];

	set_subject(t->m[!t->role], subject, sizeof(subject));
	fus_old_text(t->by, text, sizeof(text));
	if (!new)
		fus_ident_text(&t->peer->peer, t->peer->peer_sectors, text, sizeof(text));
	if (new && (t->old || t->over))
		doctor_say(d, HEALTH_NOTE, subject, "open it, and that goes on", "is closed, and "
			   "its %s member is being replaced", fus_role_name[t->role]);
	else
		doctor_say(d, HEALTH_ERROR, subject, "connect it", "its %s member is being "
			   "replaced, and the %s one is missing: %s", fus_role_name[t->role],
			   new ? "old" : "new", text);
}

static void check_closed(struct doctor *d, const struct member *list, const struct member *m)
{
	const struct member *peer = device_of(list, m->sb->peer_uuid, NULL);
	char subject[160], text[256];
	struct trio t;

	fus_find_trio(list, m->sb->set_uuid, &t);
	if (t.role >= 0) {
		if (m == t.m[!t.role])
			check_three(d, &t);
		return;
	}

	/* it or its partner was reported as in transit, or it was as a copy */
	if (m->state == MEMBER_TRANSIT || device_of(list, m->sb->dev_uuid, NULL) != m ||
	    (!peer && fus_renewed_of(list, m)))
		return;
	if (!peer) {
		set_subject(m, subject, sizeof(subject));
		fus_missing_text(m, text, sizeof(text));
		doctor_say(d, HEALTH_ERROR, subject, "connect it, or see fusionctl help salvage",
			   "%s is its %s member, the other member is missing: %s", m->path,
			   fus_role_name[m->sb->role], text);
	} else if (!fus_member_is(m, peer->sb->peer_uuid)) {
		foreign_text(m, peer, text, sizeof(text));
		if (fus_was_replaced(m->sb, peer->sb))
			doctor_say(d, HEALTH_WARNING, m->path, fus_named_back(list, peer) ?
				   "run fusionctl wipe to use it for something else" :
				   "keep it until its set is complete", "%s", text);
		else
			doctor_say(d, HEALTH_ERROR, m->path, "detach it", "%s", text);
	} else if (m->sb->role <= peer->sb->role && !device_of(list, m->sb->dev_uuid, m) &&
		   !device_of(list, peer->sb->dev_uuid, peer)) {
		/* once for both members, and not if either has a copy: then neither is used */
		check_pair(d, m, peer);
	}
}

int doctor_sets(struct doctor *d)
{
	struct member *members = NULL;
	struct mapping *open;
	int rc;

	rc = fus_dm_list(MAPPING_INFO, &open);
	if (!rc)
		rc = fus_scan_members(&members);
	for (const struct mapping *m = open; m && !rc; m = m->next)
		check_open(d, m);
	for (const struct member *m = members; m && !rc; m = m->next) {
		if (fus_has_identity(m) && fus_under_another(members, m))
			continue;
		check_one(d, members, m);
		if (fus_has_identity(m) && !is_open(open, m))
			check_closed(d, members, m);
	}
	if (!rc && !members && !open)
		doctor_say(d, HEALTH_NOTE, "sets", NULL, "there are none");
	fus_free_members(members);
	fus_dm_free_list(open);
	return rc;
}
