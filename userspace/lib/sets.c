// SPDX-License-Identifier: GPL-2.0-only
/*
 * All sets, open or closed: the members of each, which one is missing, which are copies of one
 * another, and the health.
 */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sets.h"
#include "device.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "health.h"
#include "open-set.h"
#include "role.h"
#include "scan.h"
#include "super.h"
#include "dm-fusion-codec.h"

static void add_reason(struct found_set *s, enum health level, const char *remedy, const char *fmt,
		       ...) __attribute__((format(printf, 4, 5)));

static void add_reason(struct found_set *s, enum health level, const char *remedy, const char *fmt,
		       ...)
{
	struct reason *r;
	va_list ap;

	if (s->nr_reasons == MAX_REASONS)
		return;
	r = &s->reason[s->nr_reasons++];
	r->level = level;
	r->remedy = remedy;
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof(r->text), fmt, ap);
	va_end(ap);
}

static void worsen(struct found_set *s, enum condition to)
{
	s->condition = s->condition > to ? s->condition : to;
}

static bool in_set(const struct member *m, const unsigned char uuid[16])
{
	return fus_has_identity(m) && !memcmp(m->sb->set_uuid, uuid, 16);
}

const struct member *fus_clone_of(const struct member *list, const struct member *m)
{
	if (!fus_has_identity(m))
		return NULL;
	for (; list; list = list->next)
		if (list != m && fus_member_is(list, m->sb->dev_uuid) &&
		    !fus_member_stands_on(list, m) && !fus_member_stands_on(m, list))
			return list;
	return NULL;
}

const struct found_set *fus_set_of(const struct found_sets *sets, const struct member *m)
{
	for (unsigned int i = 0; fus_has_identity(m) && i < sets->nr; i++)
		if (sets->set[i].any && in_set(m, sets->set[i].any->sb->set_uuid))
			return &sets->set[i];
	return NULL;
}

const struct member *fus_member_of(const struct found_set *s, const struct member *list, int role)
{
	const struct member *first = NULL, *m;

	if (s->trio.role >= 0)
		return s->trio.m[role];
	for (m = s->any ? list : NULL; m; m = m->next) {
		if (!in_set(m, s->any->sb->set_uuid) || (int)m->sb->role != role)
			continue;
		if (fus_named_back(list, m))
			return m;
		first = first ? first : m;
	}
	return first;
}

/* -- open ones -------------------------------------------------------------------------- */

static void copy_reason(void *ctx, enum health health, const char *text, const char *remedy)
{
	add_reason(ctx, health, remedy, "%s", text);
}

static const struct member *on_device(const struct member *list, dev_t devno)
{
	while (list && list->devno != devno)
		list = list->next;
	return list;
}

static int look_at_open(struct found_set *s, const struct member *list)
{
	char node[160];
	int rc;

	rc = fus_set_get_if_open(s->open->name, &s->set, &s->has_status);
	if (rc || !s->has_status) {
		worsen(s, CONDITION_FAILED);
		add_reason(s, HEALTH_ERROR, "close it and open it again; see dmesg",
			   rc ? "its status cannot be read" : "its table is not one of dm-fusion");
		return rc;
	}
	s->condition = fus_set_condition(&s->set);
	fus_set_health(&s->set, copy_reason, s);
	for (int role = 0; role < 2; role++) {
		s->missing[role] = !on_device(list, s->set.member[role]);
		if (!s->missing[role] || fus_device_gone(s->set.member[role]))
			continue;
		fus_device_node(s->set.member[role], node, sizeof(node));
		worsen(s, CONDITION_DEGRADED);
		add_reason(s, HEALTH_WARNING, "see dmesg and smartctl --all of the disk, and have "
			   "a backup", "no superblock of the set can be read from the %s member %s",
			   fus_role_name[role], node);
	}
	s->missing_old = s->set.old && !on_device(list, s->set.old);
	return 0;
}

/* -- closed ones ------------------------------------------------------------------------ */

static void add_transit(struct found_set *s, const struct member *m)
{
	const char *path = m->sb->transit.dev == m->sb->role ? m->path :
			   "the other member of its set";

	s->any = m;
	if (m->sb->transit.state == FUSION_TRANSIT_PLANNED) {
		add_reason(s, HEALTH_NOTE, fus_transit_remedy(m->sb), "%s is to be adopted at the "
			   "next boot", path);
		return;
	}
	worsen(s, CONDITION_FAILED);
	if (fus_is_renewed(m))
		add_reason(s, HEALTH_ERROR, "run fusionctl uuid with both members", "the change of "
			   "its uuid was interrupted");
	else if (fusion_sb_released(m->sb))
		add_reason(s, HEALTH_ERROR, fus_transit_remedy(m->sb), "the set of %s is released",
			   m->path);
	else
		add_reason(s, HEALTH_ERROR, fus_transit_remedy(m->sb), "%s was not %s to the end",
			   path, m->sb->transit.kind == FUSION_TRANSIT_RELEASE ? "released" :
			   "adopted");
}

static void look_at_members(struct found_set *s, const struct member *list)
{
	const struct member *twin;

	for (const struct member *m = list; m; m = m->next) {
		if (!in_set(m, s->any->sb->set_uuid) || fus_under_another(list, m))
			continue;
		if (m->state == MEMBER_TRANSIT) {
			add_transit(s, m);
		} else if (m->state == MEMBER_SHRUNK) {
			worsen(s, CONDITION_FAILED);
			add_reason(s, HEALTH_ERROR, "restore its old size", "%s is smaller "
				   "than when it was made a member", m->path);
		} else if (m->why) {
			worsen(s, CONDITION_DEGRADED);
			add_reason(s, HEALTH_WARNING, "run fusionctl repair", "one copy of the "
				   "superblock on %s is damaged", m->path);
		}
		twin = fus_clone_of(list, m);
		/* once for both */
		if (!twin || !on_device(m, twin->devno))
			continue;
		worsen(s, CONDITION_FAILED);
		add_reason(s, HEALTH_ERROR, "detach one of them", "%s and %s claim to be the same "
			   "%s member", m->path, twin->path, fus_role_name[m->sb->role]);
	}
}

static void add_missing(struct found_set *s, int role, const char *which, const char *ident)
{
	worsen(s, CONDITION_MISSING);
	add_reason(s, HEALTH_ERROR, "connect it, or see fusionctl help salvage", "the %s%s member "
		   "is missing (%s)", which, fus_role_name[role], ident);
}

/* The peer is there, as it tells of the others. */
static void look_at_trio(struct found_set *s)
{
	const struct trio *t = &s->trio;
	const struct fusion_sb *new = t->m[t->role] ? t->m[t->role]->sb : NULL;
	const char *role = fus_role_name[t->role];
	char ident[160];

	s->missing[t->role] = !new;
	s->missing_old = !t->old && !t->over;
	if (!new) {
		fus_ident_text(&t->peer->peer, t->peer->peer_sectors, ident, sizeof(ident));
		add_missing(s, t->role, "new ", ident);
	}
	if (s->missing_old) {
		fus_old_text(t->by, ident, sizeof(ident));
		add_missing(s, t->role, "old ", ident);
	}
	if (new && t->old)
		add_reason(s, HEALTH_NOTE, "open it, and that goes on", "its %s member %s is being "
			   "replaced by %s", role, t->old->path, t->m[t->role]->path);
}

static void look_at_pair(struct found_set *s, const struct member *list)
{
	const struct member *m[2], *renewed;
	const char *why;
	char ident[160];

	/* the disk has no superblock for a time */
	if (s->any->state == MEMBER_TRANSIT)
		return;
	for (int role = 0; role < 2; role++)
		m[role] = fus_member_of(s, list, role);
	for (int role = 0; role < 2; role++) {
		const struct member *peer = m[!role], *i;

		for (i = list; peer && i && !fus_member_is(i, peer->sb->peer_uuid); i = i->next)
			;
		if (!peer || i)
			continue;
		renewed = fus_renewed_of(list, peer);
		s->missing[role] = !renewed;
		s->any = peer;
		if (renewed) {
			worsen(s, CONDITION_FAILED);
			add_reason(s, HEALTH_ERROR, "run fusionctl uuid with both members", "the "
				   "change of its uuid was interrupted, %s is its slow member",
				   renewed->path);
			continue;
		}
		fus_missing_text(peer, ident, sizeof(ident));
		add_missing(s, role, "", ident);
	}
	if (s->condition >= CONDITION_FAILED || !m[FAST] || !m[SLOW])
		return;
	if (fusion_sb_match(m[FAST]->sb, m[SLOW]->sb, &why)) {
		worsen(s, CONDITION_FAILED);
		add_reason(s, HEALTH_ERROR, "use the two that were used together last",
			   "%s and %s do not belong together: %s", m[FAST]->path, m[SLOW]->path,
			   why);
	} else if (m[FAST]->sb->flags & FUSION_SB_NEEDS_CHECK) {
		worsen(s, CONDITION_DEGRADED);
		add_reason(s, HEALTH_WARNING, "run fusionctl check", "had an error that may have "
			   "left its metadata wrong");
	}
}

/* -- all -------------------------------------------------------------------------------- */

const struct reason *fus_worst_reason(const struct found_set *s)
{
	const struct reason *worst = NULL;

	for (unsigned int i = 0; i < s->nr_reasons; i++)
		if (!worst || s->reason[i].level > worst->level)
			worst = &s->reason[i];
	return worst;
}

static const struct mapping *open_of(const struct mapping *open, const struct member *m)
{
	char uuid[UUID_TEXT];

	fus_uuid_text(uuid, m->sb->set_uuid);
	while (open && strcmp(fus_dm_set_uuid(open), uuid))
		open = open->next;
	return open;
}

int fus_find_sets(const struct mapping *open, const struct member *list, struct found_sets *sets)
{
	const struct mapping *o;
	const struct member *m;
	unsigned int most = 0;
	int rc = 0, failed;

	memset(sets, 0, sizeof(*sets));
	for (o = open; o; o = o->next)
		most++;
	for (m = list; m; m = m->next)
		most++;
	sets->set = calloc(most + 1, sizeof(*sets->set));
	if (!sets->set)
		return fus_fail(FC_FAILED, "list", "not enough memory; close programs and try "
				"again");
	for (m = list; m; m = m->next) {
		if (!fus_has_identity(m) || fus_set_of(sets, m))
			continue;
		sets->set[sets->nr].any = m;
		sets->set[sets->nr++].open = open_of(open, m);
	}
	for (o = open; o; o = o->next) {
		for (m = list; m && (!fus_has_identity(m) || open_of(o, m) != o); m = m->next)
			;
		if (!m)
			sets->set[sets->nr++].open = o;
	}
	for (unsigned int i = 0; i < sets->nr; i++) {
		struct found_set *s = &sets->set[i];

		if (s->any)
			fus_find_trio(list, s->any->sb->set_uuid, &s->trio);
		else
			s->trio.role = -1;
		/* a new name may not have reached the slow member */
		m = fus_member_of(s, list, FAST);
		if (m)
			s->any = m;
		if (s->open) {
			failed = look_at_open(s, list);
			rc = rc ? rc : failed;
		} else {
			look_at_members(s, list);
			if (s->trio.role >= 0)
				look_at_trio(s);
			else
				look_at_pair(s, list);
		}
	}
	return rc;
}

void fus_free_sets(struct found_sets *sets)
{
	for (unsigned int i = 0; i < sets->nr; i++)
		if (sets->set[i].has_status)
			fus_set_put(&sets->set[i].set);
	free(sets->set);
	memset(sets, 0, sizeof(*sets));
}
