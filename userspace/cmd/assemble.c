// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb assemble: open sets as their members appear. No user can be asked, so a set in doubt stays
 * closed, and the reason goes to the console as well.
 */
#include <json-c/json.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "adopt.h"
#include "assemble.h"
#include "at-boot.h"
#include "backup.h"
#include "boot-names.h"
#include "activate.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "identify.h"
#include "json.h"
#include "message.h"
#include "output.h"
#include "record.h"
#include "role.h"
#include "scan.h"
#include "size.h"
#include "super.h"
#include "sysfs.h"
#include "trio.h"
#include "verb.h"
#include "dm-fusion-codec.h"

#define OFF_WORD	"nofusion"	/* on the kernel's command line */
/*
 * A program that udev runs does not need the links before it ends. If udev has only one worker,
 * waiting for the links here would keep udev from making them.
 */
#define UDEV_WAIT_MS	5000
#define COPIES_WAIT_S	5

/* -- one set -------------------------------------------------------------------- */

bool stays_closed(const struct member *m, char why[STAYS_TEXT], const char **remedy)
{
	char ro[4], text[FUSION_UNKNOWN_TEXT];

	if (fus_sysfs_read(m->devno, "ro", ro, sizeof(ro)) && *ro == '1') {
		snprintf(why, STAYS_TEXT, "is read-only");
		*remedy = "blockdev --setrw it and run fusionctl assemble --scan";
		return true;
	}
	if (!*fusion_sb_unknown_landing(m->sb, text))
		return false;
	snprintf(why, STAYS_TEXT, "%s, and may only be read", text);
	*remedy = "use a newer fusionctl and dm-fusion";
	return true;
}

static int check_writable(const struct member *m)
{
	char why[STAYS_TEXT];
	const char *remedy;

	if (!stays_closed(m, why, &remedy))
		return 0;
	return fus_fail(FC_REFUSED, m->path, "%s, so the set %s is not opened automatically; %s",
			why, m->sb->label, remedy);
}

static int check_usable(const struct member *m)
{
	int rc = fus_check_member(m);

	return rc ? rc : check_writable(m);
}

/*
 * The label of the fast member, which learns first of a new one, unless it is invalid, or taken by
 * a set of another machine or by any other device.
 */
static int choose_name(const struct member *m, char *name, size_t size)
{
	const char *label = fus_valid_name(m->sb->label) ? m->sb->label : "fusion";
	char uuid[UUID_TEXT];
	struct mapping map;
	int rc;

	fus_uuid_text(uuid, m->sb->set_uuid);
	snprintf(name, size, "%s", label);
	rc = fus_dm_get(name, NULL, MAPPING_INFO, &map);
	if (rc || !map.exists)
		return rc;
	if (fus_dm_is_set(&map) && !strcmp(fus_dm_set_uuid(&map), uuid))
		return 0;
	snprintf(name, size, "%.55s-%.8s", label, uuid);
	fus_warn(label, "another mapped device has this name, so the set %s is opened as %s; mount "
		 "it by uuid", uuid, name);
	return 0;
}

/* The opened sets, with --json. */
static struct json_object *opened;

/* @old: the member that is being replaced by one of the two, or NULL. */
static int open_pair(struct member *a, struct member *b, struct member *old)
{
	struct json_object *json = opened ? json_object_new_object() : NULL;
	char name[128];
	int rc;

	rc = check_usable(a);
	if (!rc)
		rc = check_usable(b);
	if (!rc && old)
		rc = check_usable(old);
	if (!rc)
		rc = choose_name(a->sb->role == FUSION_FAST ? a : b, name, sizeof(name));
	if (!rc)
		rc = open_set_with(name, a, b, old, false, json);
	/* at boot the root may still be read-only */
	if (!rc)
		fus_backup_first(a->sb, true);
	if (!rc && json)
		json_object_array_add(opened, json_object_get(json));
	else if (!rc)
		printf("/dev/mapper/%s is ready\n", name);
	json_object_put(json);
	return rc;
}

int get_mapping(const struct member *m, struct mapping *map)
{
	char uuid[UUID_TEXT], dm_uuid[64];
	int rc;

	snprintf(dm_uuid, sizeof(dm_uuid), DM_PREFIX "%s", fus_uuid_text(uuid, m->sb->set_uuid));
	rc = fus_dm_get(NULL, dm_uuid, MAPPING_INFO, map);
	/* a mapping without a table was left by a killed process: open_set() removes it */
	if (!rc && map->exists && !map->live && !map->open_count)
		map->exists = false;
	/* one that was released while in use keeps its uuid */
	if (!rc && map->exists && !fus_dm_is_set(map))
		map->exists = false;
	return rc;
}

/* -- a member has come ---------------------------------------------------------- */

static int is_copy(const struct member *m, const struct member *of)
{
	return fus_fail(FC_MEMBER, m->path, "is a copy of %s, both claim to be the same member of "
			"the set %s; detach one, or open the set by naming both of its devices",
			of->path, m->sb->label);
}

/* Which devices below the open set concern a member? */
struct in_use {
	const struct member *m;
	bool itself;
	struct member *twin;	/* is the same member */
	struct member *rival;	/* another one of its role */
};

static bool look_at(dev_t devno, void *ctx)
{
	struct in_use *use = ctx;
	const struct member *m = use->m;
	struct member *s;

	use->itself |= devno == m->devno;
	if (devno == m->devno || fus_member_at(devno, &s) || !s)
		return false;
	if (!use->twin && fus_member_is(s, m->sb->dev_uuid))
		use->twin = s;
	else if (!use->rival && fus_has_identity(s) && s->sb->role == m->sb->role)
		use->rival = s;
	else
		fus_free_members(s);
	return false;
}

/* A disk that is to become a member, or was to. */
static bool is_joining(const struct member *m)
{
	return m->sb->incompat & FUSION_INCOMPAT_OLD_MEMBER &&
	       (m->sb->old.state == FUSION_OLD_PREPARED || m->sb->old.state == FUSION_OLD_JOINING);
}

static int already_open(const struct member *m, const struct mapping *map)
{
	struct in_use use = { .m = m };
	int rc = 0;

	fus_sysfs_any(map->devno, "slaves", look_at, &use);
	/*
	 * a boot triggers the rule for all devices again, and so do paths and partitions of devices
	 * in use
	 */
	if (!use.itself && !is_joining(m) && !(use.twin && fus_member_stands_on(use.twin, m)))
		rc = use.twin ? is_copy(m, use.twin) :
		     use.rival ? fail_foreign(m, use.rival, true) :
		     fus_fail(FC_BUSY, m->path, "its set is open as %s and has lost this member; "
			      "close %s and open it again", map->name, map->name);
	fus_free_members(use.twin);
	fus_free_members(use.rival);
	return rc;
}

static struct scan {
	struct member *list;
	int rc;
} scan;

static void *run_scan(void *arg)
{
	struct scan *s = arg;

	s->rc = fus_scan_members(&s->list);
	return NULL;
}

/*
 * A copy that udev has not reported yet is found by looking at every device. A disk that does not
 * answer must not keep the set closed for that.
 */
static int avoid_copies(struct member **m[3])
{
	struct member *found[3] = { NULL };
	struct timespec limit;
	pthread_t thread;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec += COPIES_WAIT_S;
	if (pthread_create(&thread, NULL, run_scan, &scan) ||
	    pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &limit)) {
		fus_warn((*m[0])->path, "a disk does not answer in time, so copies of the members "
			 "of %s were not looked for; see dmesg", (*m[0])->sb->label);
		return 0;
	}
	rc = scan.rc;
	for (int i = 0; i < 3 && *m[i] && !rc; i++)
		rc = fus_find_member(scan.list, (*m[i])->sb->dev_uuid, &found[i]);
	/* the device above them is the member then, e.g. a multipath device */
	for (int i = 0; i < 3 && !rc; i++)
		*m[i] = found[i] ? found[i] : *m[i];
	return rc;
}

static int open_with(struct member *m, struct member *peer, struct member *old)
{
	struct member **all[3] = { &m, &peer, &old };
	int rc;

	/* it was closed by hand, and nothing was plugged in since, so it stays closed */
	if (fus_opened_before(m, peer))
		return 0;
	rc = avoid_copies(all);
	return rc ? rc : open_pair(m, peer, old);
}

/* Return: whether it is no member, as far as the others tell that are in the list. */
static bool is_apart(const struct member *list, const struct member *m)
{
	for (; list; list = list->next)
		if (list->devno == m->devno)
			return list->state == MEMBER_PREPARED;
	return m->state == MEMBER_PREPARED;
}

/* *settled: a member is being replaced, so these are three. */
static int look_for_three(const struct member *m, bool *settled)
{
	struct member *list;
	struct pair p = { 0 };
	struct trio t;
	int rc = 0;

	fus_record_list(m->sb, &list);
	fus_find_trio(list, m->sb->set_uuid, &t);
	/* a disk that is only prepared opens nothing by itself */
	*settled = t.role >= 0 || is_apart(list, m);
	if (t.role >= 0)
		rc = find_pair(list, list, &p);
	if (!rc && is_complete(&p))
		rc = open_with(p.m, p.peer, p.old);
	fus_free_members(list);
	return rc;
}

/*
 * Remember the member, unless it is a copy of a present one; *settled if nothing else is to be
 * done.
 */
static int note_member(const struct member *m, bool *settled)
{
	struct member *was;
	int rc = 0;

	fus_record_find(m->sb, m->sb->role, m->sb->dev_uuid, &was);
	*settled = was && was->devno != m->devno && fus_member_stands_on(was, m);
	if (was && was->devno != m->devno && !*settled && !fus_member_stands_on(m, was))
		rc = is_copy(m, was);
	fus_free_members(was);
	return rc || *settled ? rc : fus_record_write(m);
}

static int member_came(struct member *m)
{
	struct member *peer;
	struct mapping map;
	bool settled;
	int rc;

	rc = get_mapping(m, &map);
	if (rc)
		return rc;
	if (map.exists)
		return already_open(m, &map);
	rc = note_member(m, &settled);
	if (!rc && !settled)
		rc = look_for_three(m, &settled);
	if (rc || settled)
		return rc;
	fus_record_find(m->sb, !m->sb->role, m->sb->peer_uuid, &peer);
	if (peer) {
		rc = open_with(m, peer, NULL);
	} else {
		fus_record_find(m->sb, !m->sb->role, NULL, &peer);
		rc = peer ? fail_foreign(peer, m, false) : 0;
	}
	fus_free_members(peer);
	return rc;
}

static int turns_off(const char *word, dev_t devno)
{
	const char end = word[strlen(OFF_WORD)];

	(void)devno;
	return !end || end == '=';
}

bool assembly_turned_off(void)
{
	return each_boot_word(OFF_WORD, turns_off, 0);
}

/* The member on a device, in any state. */
static int get_member(const char *path, struct member **m)
{
	char content[512];
	int rc;

	rc = probe_member(path, m, content, sizeof(content));
	if (!rc && !*m)
		rc = fus_fail(FC_MEMBER, path, "not a member of a fusion set; fusionctl list shows "
			      "the members");
	return rc;
}

static int incremental(const char *path)
{
	bool console = !isatty(STDERR_FILENO);
	struct member *m;
	int rc, lock = -1;

	if (assembly_turned_off())
		return 0;
	fus_dm_udev_limit(UDEV_WAIT_MS);
	/* before the lock is taken, so that a slow disk does not delay other processes */
	rc = get_member(path, &m);
	messages_to_kernel(!rc && console);
	if (!rc)
		rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	messages_to_kernel(false);
	/* again, because the former holder of the lock may have used it */
	if (!rc) {
		fus_free_members(m);
		rc = get_member(path, &m);
	}
	/* a device that is not, or no longer, a member does not concern the console */
	messages_to_kernel(!rc && console);
	/* the boot goes on to that */
	if (!rc && !adopt_planned(m) && m->state != MEMBER_LEFT) {
		rc = m->state == MEMBER_PREPARED ? 0 : fus_check_member(m);
		if (!rc)
			rc = member_came(m);
	}
	fus_free_members(m);
	fus_run_unlock(&lock);
	return rc;
}

/* -- all sets ------------------------------------------------------------------- */

static int open_found(struct member *list, struct member *first)
{
	struct mapping map;
	struct pair p;
	char text[512];
	int rc;

	rc = get_mapping(first, &map);
	if (rc || map.exists)
		return rc;
	rc = find_pair(list, first, &p);
	if (rc)
		return rc;
	if (is_complete(&p))
		rc = open_pair(p.m, p.peer, p.old);
	if (p.replaced)
		warn_replaced(p.replaced, p.m ? p.m : first, is_complete(&p) && !rc);
	if (p.foreign && !rc)
		rc = fail_foreign(p.foreign, p.m ? p.m : first, false);
	if (!p.m || is_complete(&p))
		return rc;
	/* the other one has no superblock for a time, or the old uuid */
	if (p.m->state == MEMBER_TRANSIT)
		return fus_check_member(p.m);
	if (fus_renewed_of(list, p.m))
		return 0;
	waits_text(&p, text, sizeof(text));
	return fus_fail(FC_MEMBER, p.m->sb->label, "%s; connect it, or see fusionctl help salvage",
			text);
}

static int open_all(void)
{
	struct member *list = NULL;
	int rc, one, lock;

	rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	if (rc)
		return rc;
	rc = fus_scan_members(&list);
	for (struct member *m = list; m; m = m->next) {
		if (!fus_has_identity(m) || !begins_set(list, m))
			continue;
		one = open_found(list, m);
		rc = rc ? rc : one;
	}
	fus_free_members(list);
	fus_run_unlock(&lock);
	return rc;
}

/* The opened sets are reported even if something else failed. */
static int open_some(const char *path, bool json)
{
	struct json_object *o;
	int rc;

	opened = json ? json_object_new_array() : NULL;
	rc = path ? incremental(path) : open_all();
	if (json) {
		o = fus_json_base();
		json_object_object_add(o, "opened", opened);
		print_json(o, false);
	}
	return rc;
}

int cmd_assemble(const struct args *a)
{
	bool one = a->opt[OPT_INCREMENTAL], all = a->opt[OPT_SCAN], wait = a->opt[OPT_WAITING];
	bool planned = a->opt[OPT_PLANNED];

	if (one + all + wait + planned != 1)
		return fus_fail(FC_USAGE, "assemble", "give one of --incremental, --scan, "
				"--waiting and --planned; see fusionctl help assemble");
	if (one != !!a->n)
		return fus_fail(FC_USAGE, "assemble", "%s; see fusionctl help assemble", one ?
				"--incremental needs a device" : "only --incremental takes a "
				"device");
	if (a->opt[OPT_VERBOSE] && !wait)
		return fus_fail(FC_USAGE, "-v", "works only with --waiting; leave it out");
	if (planned && a->opt[OPT_JSON])
		return fus_fail(FC_USAGE, "--json", "does not work with --planned; leave it out");
	if (planned)
		return assembly_turned_off() ? 0 : at_boot();
	return wait ? list_waiting(a->opt[OPT_JSON], a->opt[OPT_VERBOSE]) :
	       open_some(one ? a->word[0] : NULL, a->opt[OPT_JSON]);
}
