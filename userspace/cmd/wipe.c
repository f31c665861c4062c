// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb wipe: turn members of a closed set back into plain devices. That loses all data on the set,
 * as only the map knows where it lies.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "busy.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "gpt.h"
#include "host.h"
#include "json.h"
#include "list.h"
#include "output.h"
#include "record.h"
#include "role.h"
#include "scan.h"
#include "size.h"
#include "super.h"
#include "table.h"
#include "text.h"
#include "trio.h"
#include "verb.h"
#include "write.h"
#include "dm-fusion-codec.h"

#define MOST	3		/* while a member is being replaced */

struct plan {
	struct device dev[MOST];
	int fd[MOST];		/* exclusive */
	struct member *m[MOST];
	bool wiped[MOST], discarded[MOST];
	char what[MOST][160];	/* "fast member of data" */
	int nr;
};

/* @uuid: of the member that was found there, or NULL for whichever it is. */
static int add_member(struct plan *p, const char *path, const unsigned char *uuid)
{
	struct device *dev = &p->dev[p->nr];
	struct member *m = NULL;
	int rc;

	rc = fus_device_get(path, dev);
	if (rc)
		return rc;
	p->nr++;
	for (int i = 0; i < p->nr - 1; i++)
		if (fus_device_same(&p->dev[i], dev))
			return fus_fail(FC_MEMBER, path, "is the same device as %s; name each "
					"member once", p->dev[i].path);
	/* from here on, the examined device is the one that will be written */
	rc = fus_device_claim(dev, &p->fd[p->nr - 1]);
	if (rc)
		return rc;
	if (fus_member_at(dev->devno, &m))
		return fus_fail(FC_FAILED, path, "cannot be read; check the device");
	if (!m)
		return fus_fail(FC_MEMBER, path, "not a member of a fusion set; wipefs removes "
				"other signatures");
	p->m[p->nr - 1] = m;
	/* it may be all that there is of a part of the disk, unless that has all of it */
	if (m->state == MEMBER_TRANSIT && !fusion_sb_released(m->sb))
		return fus_check_member(m);
	if (m->state == MEMBER_COVERED)
		return fus_fail(FC_REFUSED, path, "contains %s, and beneath it half of the "
				"superblock of a member, which does no harm; to remove both, run "
				"wipefs -a %s first", m->cover, path);
	if (uuid && !fus_member_is(m, uuid))
		rc = fus_fail(FC_MEMBER, path, "changed while it was read; try again");
	else if (m->state == MEMBER_PREPARED || m->state == MEMBER_LEFT)
		fus_apart_text(m->sb, p->what[p->nr - 1], sizeof(p->what[0]));
	else if (fus_has_identity(m))
		snprintf(p->what[p->nr - 1], sizeof(p->what[0]), "%s member of %s",
			 fus_role_name[m->sb->role], m->sb->label);
	else
		snprintf(p->what[p->nr - 1], sizeof(p->what[0]), "a member (%s)",
			 member_state_text(m));
	return rc;
}

/* Return: whether a third device belongs to the set. */
static int check_others(const struct member *list, const struct member *m,
			const struct member *peer)
{
	const struct fusion_sb *sb = m->sb;

	for (; list; list = list->next) {
		if (!fus_has_identity(list) || fus_member_is(list, sb->dev_uuid) ||
		    memcmp(list->sb->set_uuid, sb->set_uuid, sizeof(sb->set_uuid)))
			continue;
		if (!peer || !fus_member_is(list, peer->sb->dev_uuid) ||
		    memcmp(peer->sb->peer_uuid, sb->dev_uuid, sizeof(sb->dev_uuid)))
			return fus_fail(FC_MEMBER, list->path, "is of the same set as %s and does "
					"not belong to it; name the devices to wipe", m->path);
	}
	return 0;
}

/* All three disks, of those that are there. */
static int add_three(struct plan *p, const char *name, const struct trio *t)
{
	const struct member *all[MOST] = { t->m[FAST], t->m[SLOW], t->old };
	int rc = 0;

	for (int i = 0; i < MOST && !rc; i++) {
		if (all[i])
			rc = add_member(p, all[i]->path, all[i]->sb->dev_uuid);
		else
			fus_warn(name, "a member is being replaced, and one of its disks is "
				 "missing; connect it and wipe it by its device");
	}
	return rc;
}

/* Both members of a set, or the one that is present. */
static int add_named(struct plan *p, const char *name)
{
	struct member *list = NULL, *m = NULL, *peer = NULL, *pair[2];
	struct trio t = { .role = -1 };
	int rc;

	rc = fus_scan_members(&list);
	if (!rc)
		rc = fus_find_named(list, name, &m);
	if (!rc)
		fus_find_trio(list, m->sb->set_uuid, &t);
	if (t.role >= 0) {
		rc = add_three(p, name, &t);
		fus_free_members(list);
		return rc;
	}
	if (!rc)
		rc = fus_find_member(list, m->sb->peer_uuid, &peer);
	if (!rc)
		rc = check_others(list, m, peer);
	if (!rc) {
		pair[m->sb->role] = m;
		pair[!m->sb->role] = peer;
	}
	for (int i = 0; i < 2 && !rc; i++) {
		if (pair[i])
			rc = add_member(p, pair[i]->path, pair[i]->sb->dev_uuid);
		else
			fus_warn(name, "the %s member is missing or damaged; wipe it by its device",
				 fus_role_name[i]);
	}
	fus_free_members(list);
	return rc;
}

static int choose(struct plan *p, const struct args *a)
{
	int rc = 0;

	if (a->n == 1 && !strchr(a->word[0], '/'))
		return add_named(p, a->word[0]);
	for (int i = 0; i < a->n && !rc; i++)
		rc = add_member(p, a->word[i], NULL);
	return rc;
}

static void show(const struct plan *p, bool dry_run, bool discard)
{
	static const char *const headings[] = { "DEVICE", ">SIZE", "HARDWARE", "CONTENT", NULL };
	static const char *const all[MOST + 1] = { "none", "it", "both", "all three" };
	struct libscols_table *tb = table_new(headings);
	char size[SIZE_TEXT], ident[160], what[320];

	for (int i = 0; i < p->nr; i++) {
		const char *cells[] = {
			p->dev[i].path, fus_size_text(size, p->dev[i].sectors << 9), ident, what,
		};

		fus_device_ident(&p->dev[i], ident, sizeof(ident));
		fus_safe_text(what, sizeof(what), p->what[i], sizeof(p->what[i]),
			      fus_utf8_output());
		table_row(tb, cells);
	}
	table_print(tb);
	if (dry_run)
		printf("would wipe %s%s; all data on the set would be lost\n",
		       discard ? "and discard " : "", all[p->nr]);
}

static void print_members(const struct plan *p, bool dry_run)
{
	struct json_object *o = fus_json_base(), *list = json_object_new_array(), *one;

	fus_json_add_bool(o, "dry_run", dry_run);
	for (int i = 0; i < p->nr; i++) {
		one = found_json(p->m[i]);
		fus_json_add_str(one, "device", p->dev[i].path);
		fus_json_add_bool(one, "wiped", p->wiped[i]);
		fus_json_add_bool(one, "discarded", p->discarded[i]);
		json_object_array_add(list, one);
	}
	json_object_object_add(o, "members", list);
	print_json(o, false);
}

static int ask(const struct plan *p)
{
	char all[400] = "", nobody[512], question[512];

	for (int i = 0; i < p->nr; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
			 !i ? "" : i == p->nr - 1 ? " and " : ", ", p->dev[i].path);
	snprintf(nobody, sizeof(nobody), "all data on the set of %s would be lost", all);
	snprintf(question, sizeof(question), "All data on the set of %s will be lost", all);
	return confirm(p->dev[0].path, nobody, question);
}

static int wipe(struct plan *p, bool discard)
{
	int rc, lock;

	rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	for (int i = 0; i < p->nr && !rc; i++) {
		rc = fus_wipe_member(&p->dev[i], p->fd[i]);
		p->wiped[i] = !rc;
	}
	/* neither is a member any more, so no other verb needs to wait for minutes of discards */
	fus_run_unlock(&lock);
	for (int i = 0; i < p->nr && !rc && discard; i++) {
		rc = fus_discard_member(&p->dev[i], p->fd[i]);
		p->discarded[i] = !rc;
	}
	for (int i = 0; i < p->nr && !rc; i++)
		fus_gpt_tell_mark(&p->dev[i]);
	return rc;
}

int cmd_wipe(const struct args *a)
{
	bool json = a->opt[OPT_JSON], dry_run = a->opt[OPT_DRY_RUN], chosen;
	const bool discard = a->opt[OPT_DISCARD];
	struct plan p = { .fd = { -1, -1, -1 } };
	int rc;

	rc = check_no_question(a);
	if (!rc)
		rc = choose(&p, a);
	for (int i = 0; i < p.nr && !rc && discard; i++)
		rc = fus_check_discard(&p.dev[i]);
	chosen = !rc;
	if (!rc && !json)
		show(&p, dry_run, discard);
	if (!rc && !dry_run) {
		rc = a->opt[OPT_YES] ? 0 : ask(&p);
		if (!rc)
			rc = fus_host_watch_devices(p.dev, p.nr);
		if (!rc)
			rc = wipe(&p, discard);
	}
	if (chosen && json)
		print_members(&p, dry_run);
	for (int i = 0; i < p.nr; i++) {
		if (p.fd[i] >= 0)
			close(p.fd[i]);
		fus_device_put(&p.dev[i]);
		fus_free_members(p.m[i]);
	}
	return rc;
}
