// SPDX-License-Identifier: GPL-2.0-only
/* Verb doctor: members that are not as they should be, and sets. */
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "dm-fusion-codec.h"

/* "set data" */
static void set_subject(const struct member *m, char *buf, size_t size)
{
	snprintf(buf, size, "set %.*s", FUSION_LABEL_SIZE, m->sb->label);
}

/* -- members -------------------------------------------------------------------- */

/* Another device before it that claims to be the same member, and is not beneath it. */
static const struct member *copy_of(const struct member *all, const struct member *m)
{
	for (const struct member *list = all; list != m; list = list->next)
		if (member_is(list, m->sb->dev_uuid) && !under_another(all, list))
			return list;
	return NULL;
}

static void check_one(struct doctor *d, const struct member *list, const struct member *m)
{
	const struct member *copy;

	switch (m->state) {
	case MEMBER_OK:
		if (m->why)
			doctor_say(d, HEALTH_WARNING, m->path, "fusionctl repair its set, closed",
				   "one copy of its superblock is damaged: %s", m->why);
		break;
	case MEMBER_SHRUNK:
		doctor_say(d, HEALTH_ERROR, m->path, "give it its old size back",
			   "is smaller than when it was made a member");
		break;
	case MEMBER_UNKNOWN:
		doctor_say(d, HEALTH_ERROR, m->path, "use a newer fusionctl and dm-fusion", "%s",
			   m->why);
		return;
	default:
		doctor_say(d, HEALTH_ERROR, m->path, "fusionctl repair with both members",
			   "its superblocks are damaged: %s", m->why);
		return;
	}
	copy = copy_of(list, m);
	if (copy)
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

static void check_open(struct doctor *d, const struct mapping *m)
{
	char subject[160], remedy[200];
	struct about a = { d, subject };
	struct set set;

	snprintf(subject, sizeof(subject), "set %s", m->name);
	snprintf(remedy, sizeof(remedy), "dmsetup remove %s, and open it again", m->name);
	if (!m->live) {
		doctor_say(d, HEALTH_ERROR, subject, remedy, "was opened by half: it has no table");
		return;
	}
	if (set_get(m->name, &set)) {
		doctor_say(d, HEALTH_ERROR, subject, "see dmesg", "its status can't be read");
		return;
	}
	if (set_health(&set, say_health, &a) == HEALTH_OK)
		doctor_say(d, HEALTH_OK, subject, NULL, "is open and well");
	set_put(&set);
}

static bool is_open(const struct mapping *open, const struct member *m)
{
	char uuid[UUID_TEXT];

	uuid_text(uuid, m->sb->set_uuid);
	while (open && strcmp(open->uuid + strlen(DM_PREFIX), uuid))
		open = open->next;
	return open;
}

/* Once for each set: for its fast member, or for a slow one that is alone. */
static void check_closed(struct doctor *d, const struct member *list, const struct member *m)
{
	const struct member *peer = list;
	char subject[160], missing[256];

	while (peer && !member_is(peer, m->sb->peer_uuid))
		peer = peer->next;
	if ((peer && m->sb->role == SLOW) || copy_of(list, m))
		return;
	set_subject(m, subject, sizeof(subject));
	if (!peer) {
		missing_text(m, missing, sizeof(missing));
		doctor_say(d, HEALTH_ERROR, subject, "connect it, or see fusionctl help salvage",
			   "%s is its %s member, the other one is missing: %s", m->path,
			   role_name[m->sb->role], missing);
	} else if (m->sb->flags & FUSION_SB_NEEDS_CHECK) {
		doctor_say(d, HEALTH_WARNING, subject, "run fusionctl check",
			   "is closed, and had an error that may have left its metadata wrong");
	} else {
		doctor_say(d, HEALTH_OK, subject, NULL, "both members are here, it is closed");
	}
}

int doctor_sets(struct doctor *d)
{
	struct member *members = NULL;
	struct mapping *open;
	int rc;

	rc = dm_list(MAPPING_INFO, &open);
	if (!rc)
		rc = scan_members(&members);
	for (const struct mapping *m = open; m && !rc; m = m->next)
		check_open(d, m);
	for (const struct member *m = members; m && !rc; m = m->next) {
		if (has_identity(m) && under_another(members, m))
			continue;
		check_one(d, members, m);
		if (has_identity(m) && !is_open(open, m))
			check_closed(d, members, m);
	}
	if (!rc && !members && !open)
		doctor_say(d, HEALTH_NOTE, "sets", NULL, "there are none");
	free_members(members);
	dm_free_list(open);
	return rc;
}
