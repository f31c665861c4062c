// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb members: the drives of each set. No drive is woken for it. So closed sets are those that
 * udev knows; only without udev the superblocks are read, as fusionctl list does.
 */
#include <json-c/json.h>
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "members.h"
#include "device.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "health.h"
#include "open-set.h"
#include "output.h"
#include "role.h"
#include "scan.h"
#include "size.h"
#include "stands-on.h"
#include "status-parse.h"
#include "super.h"
#include "sysfs.h"
#include "tell.h"
#include "verb.h"
#include "dm-fusion-codec.h"

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "members", "not enough memory; close programs and try again");
}

static struct owned *add(struct inventory *inv)
{
	struct owned *more = realloc(inv->m, (inv->nr + 1) * sizeof(*more));

	if (!more)
		return NULL;
	inv->m = more;
	more += inv->nr++;
	memset(more, 0, sizeof(*more));
	more->role = -1;
	return more;
}

/* -- members of open sets ---------------------------------------------------------- */

static void learn_lost(struct owned *m, const struct fusion_disk_ident *ident, uint64_t sectors)
{
	snprintf(m->model, sizeof(m->model), "%.*s", FUSION_IDENT_SIZE, ident->model);
	snprintf(m->serial, sizeof(m->serial), "%.*s", FUSION_IDENT_SIZE, ident->serial);
	m->bytes = sectors << 9;
}

/* The fast member's superblock names all of them. */
static void learn_from(struct owned *m, const struct fusion_sb *sb)
{
	const unsigned char *uuid = m->old ? sb->old.uuid : m->role == (int)sb->role ?
				    sb->dev_uuid : sb->peer_uuid;

	snprintf(m->label, sizeof(m->label), "%.*s", FUSION_LABEL_SIZE, sb->label);
	fus_uuid_text(m->uuid, uuid);
	if (m->missing && m->old)
		learn_lost(m, &sb->old.ident, sb->old.sectors);
	else if (m->missing && m->role != (int)sb->role)
		learn_lost(m, &sb->peer, sb->peer_sectors);
}

static int add_of_set(struct inventory *inv, const struct set *set, int role, dev_t devno,
		      const struct fusion_sb *sb)
{
	const char *budget = fus_status_option(&set->st, "write_budget");
	struct owned *m = add(inv);
	int64_t now = time(NULL);

	if (!m)
		return no_memory();
	m->role = role;
	m->old = devno == set->old;
	m->devno = devno;
	m->set = set->m.devno;
	m->missing = fus_device_gone(devno);
	m->bytes = fus_sysfs_bytes(devno);
	snprintf(m->open_as, sizeof(m->open_as), "%s", set->m.name);
	snprintf(m->set_uuid, sizeof(m->set_uuid), "%s", fus_dm_set_uuid(&set->m));
	if (sb)
		learn_from(m, sb);
	if (role != FAST || m->old)
		return 0;
	if (budget)
		fus_parse_number(budget, UINT64_MAX, &m->budget);
	if (sb && now > (int64_t)sb->open_time && !set->m.suspended &&
	    !fus_tell_stat(set->m.name, "migrated_fast", &m->moved)) {
		m->moved = m->moved < UINT64_MAX >> 20 ? m->moved << 20 : 0;
		m->moved_seconds = now - sb->open_time;
	}
	return 0;
}

static int add_set(struct inventory *inv, const struct set *set)
{
	struct member *fast = NULL;
	const struct fusion_sb *sb;
	int rc = 0;

	if (strcmp(set->st.mode, "fail") && !set->m.suspended &&
	    !fus_device_gone(set->member[FAST]))
		fus_member_at(set->member[FAST], &fast);
	sb = fast && fus_has_identity(fast) ? fast->sb : NULL;
	for (int role = 0; role < 2 && !rc; role++)
		rc = add_of_set(inv, set, role, set->member[role], sb);
	if (!rc && set->old)
		rc = add_of_set(inv, set, set->old_role, set->old, sb);
	fus_free_members(fast);
	return rc;
}

static int add_open(struct inventory *inv)
{
	struct mapping *list;
	struct set set;
	bool found;
	int rc = fus_dm_list(MAPPING_INFO, &list);

	if (rc)
		return rc;
	for (struct mapping *m = list; m && !rc; m = m->next) {
		rc = fus_set_get_if_open(m->name, &set, &found);
		if (rc || !found)
			continue;
		rc = add_set(inv, &set);
		fus_set_put(&set);
	}
	fus_dm_free_list(list);
	return rc;
}

/* -- members that udev knows ------------------------------------------------------- */

/* Return: whether it is a member that is listed, or lies beneath one. */
static bool is_listed(const struct inventory *inv, dev_t devno)
{
	for (unsigned int i = 0; i < inv->nr; i++)
		if (!inv->m[i].missing && fus_device_stands_on(inv->m[i].devno, devno))
			return true;
	return false;
}

static void copy(struct udev_device *dev, const char *key, char *buf, size_t size)
{
	const char *value = udev_device_get_property_value(dev, key);

	snprintf(buf, size, "%s", value ? value : "");
}

static bool add_known(struct udev_device *dev, void *ctx)
{
	dev_t devno = udev_device_get_devnum(dev);
	struct inventory *inv = ctx;
	struct owned *m;
	char role[8];

	if (is_listed(inv, devno))
		return false;
	m = add(inv);
	if (!m)
		return true;
	m->devno = devno;
	m->bytes = fus_sysfs_bytes(devno);
	copy(dev, "ID_FS_LABEL", m->label, sizeof(m->label));
	copy(dev, "ID_FS_UUID", m->set_uuid, sizeof(m->set_uuid));
	copy(dev, "ID_FS_UUID_SUB", m->uuid, sizeof(m->uuid));
	copy(dev, "ID_FUSION_ROLE", role, sizeof(role));
	for (int i = 0; i < 2; i++)
		if (!strcmp(role, fus_role_name[i]))
			m->role = i;
	return false;
}

static int add_scanned(struct inventory *inv)
{
	struct member *list;
	struct owned *m;
	int rc = fus_scan_members(&list);

	for (const struct member *i = rc ? NULL : list; i && !rc; i = i->next) {
		if (!fus_has_super(i) || is_listed(inv, i->devno))
			continue;
		m = add(inv);
		if (!m) {
			rc = no_memory();
			continue;
		}
		m->devno = i->devno;
		m->bytes = i->sectors << 9;
		m->role = i->sb->role;
		fus_uuid_text(m->set_uuid, i->sb->set_uuid);
		learn_from(m, i->sb);
	}
	if (!rc)
		fus_free_members(list);
	return rc;
}

static int add_closed(struct inventory *inv)
{
	static const struct block_match members = {
		.property = "ID_FS_TYPE", .value = "fusion_member",
	};
	int found;

	if (access("/run/udev/control", F_OK))
		return add_scanned(inv);
	found = fus_block_any(&members, add_known, inv);
	if (found < 0)
		return fus_fail(FC_FAILED, BLOCK_CLASS, "%s; mount sysfs", strerror(-found));
	return found ? no_memory() : 0;
}

/* -- drives ------------------------------------------------------------------------ */

/* The index of a drive, which is asked once, however many members are on it. */
static int drive_index(struct inventory *inv, dev_t disk, unsigned int *index)
{
	struct drive *more;

	for (*index = 0; *index < inv->nr_drives; ++*index)
		if (inv->drive[*index].devno == disk)
			return 0;
	more = realloc(inv->drive, (inv->nr_drives + 1) * sizeof(*more));
	if (!more)
		return no_memory();
	inv->drive = more;
	fus_drive_get(disk, &more[inv->nr_drives++]);
	return 0;
}

static int find_drives(struct inventory *inv, struct owned *m)
{
	dev_t disks[MAX_DRIVES];
	char node[160];
	int rc = 0;

	m->nr = m->missing ? 0 : fus_drives_under(m->devno, disks);
	if (m->nr > MAX_DRIVES) {
		fus_device_node(m->devno, node, sizeof(node));
		fus_warn(node, "only %d of its %u drives are shown; ask the others by smartctl",
			 MAX_DRIVES, m->nr);
		m->nr = MAX_DRIVES;
	}
	for (unsigned int i = 0; i < m->nr && !rc; i++)
		rc = drive_index(inv, disks[i], &m->drive[i]);
	return rc;
}

static void ask_drives(struct inventory *inv)
{
	inv->smartctl = fus_smart_exists();
	for (unsigned int i = 0; i < inv->nr; i++)
		for (unsigned int k = 0; k < inv->m[i].nr && inv->m[i].chosen; k++) {
			struct drive *d = &inv->drive[inv->m[i].drive[k]];

			if (inv->smartctl && !d->smart.known && !d->smart.asleep &&
			    !*d->smart.trouble)
				fus_drive_ask(d);
		}
}

static uint64_t uptime(void)
{
	FILE *f = fopen("/proc/uptime", "re");
	double seconds = 0;

	if (f && (fscanf(f, "%lf", &seconds) != 1 || seconds < 0 || seconds > 1e10))
		seconds = 0;
	if (f)
		fclose(f);
	return seconds;
}

bool members_endurance(const struct owned *m, const struct drive *d, struct endurance *e)
{
	const struct endurance_in in = {
		.wear = d->smart.wear,
		.life_written = d->smart.written,
		.life_hours = d->smart.hours,
		.written = d->written,
		.seconds = uptime(),
		/* how an array divides what is moved to it is not known */
		.moved = m->nr == 1 ? m->moved : 0,
		.moved_seconds = m->nr == 1 ? m->moved_seconds : 0,
		.budget = m->budget,
	};

	if (!d->smart.known || d->smart.wear == SMART_UNKNOWN)
		return false;
	fus_endurance(&in, e);
	return true;
}

const char *members_remedy(const struct owned *m, const struct drive *d,
			   const struct drive_finding *f, char *buf, size_t size)
{
	const struct drive_place at = {
		.open_as = m->open_as, .member = m->devno, .old = m->old, .drives = m->nr,
	};

	return fus_drive_remedy(f, d, &at, buf, size);
}

/* -- all --------------------------------------------------------------------------- */

static bool is_called(const struct inventory *inv, const struct owned *m, const char *word,
		      dev_t devno)
{
	if (!strcmp(m->label, word) || !strcmp(m->open_as, word) || !strcasecmp(m->set_uuid, word))
		return true;
	if (!devno)
		return false;
	for (unsigned int i = 0; i < m->nr; i++)
		if (inv->drive[m->drive[i]].devno == devno)
			return true;
	return devno == m->set || (!m->missing && devno == m->devno);
}

static int choose(struct inventory *inv, const struct args *a)
{
	for (unsigned int i = 0; i < inv->nr; i++)
		inv->m[i].chosen = !a->n;
	for (int n = 0; n < a->n; n++) {
		bool found = false;
		struct stat st;
		dev_t devno = !stat(a->word[n], &st) && S_ISBLK(st.st_mode) ? st.st_rdev : 0;

		for (unsigned int i = 0; i < inv->nr; i++)
			if (is_called(inv, &inv->m[i], a->word[n], devno)) {
				inv->m[i].chosen = true;
				found = true;
			}
		if (!found)
			return fus_fail(FC_MEMBER, a->word[n], "neither a set, nor a member, nor a "
					"drive beneath one; fusionctl members shows all");
	}
	return 0;
}

static int find_all_drives(struct inventory *inv)
{
	int rc = 0;

	for (unsigned int i = 0; i < inv->nr && !rc; i++)
		rc = find_drives(inv, &inv->m[i]);
	return rc;
}

int members_of_set(struct inventory *inv, const char *name)
{
	int rc = add_open(inv);

	if (!rc)
		rc = find_all_drives(inv);
	for (unsigned int i = 0; i < inv->nr; i++)
		inv->m[i].chosen = !strcmp(inv->m[i].open_as, name);
	if (!rc)
		ask_drives(inv);
	return rc;
}

void members_free(struct inventory *inv)
{
	free(inv->m);
	free(inv->drive);
}

int cmd_members(const struct args *a)
{
	struct inventory inv = { 0 };
	int rc = add_open(&inv);

	if (!rc)
		rc = add_closed(&inv);
	if (!rc)
		rc = find_all_drives(&inv);
	if (!rc)
		rc = choose(&inv, a);
	if (!rc) {
		ask_drives(&inv);
		if (!inv.smartctl)
			fus_warn("smartctl", "not installed, so health, age and wear are unknown; "
				 "install the package " SMART_PACKAGE);
		if (a->opt[OPT_JSON])
			print_json(members_json(&inv), false);
		else
			members_show(&inv);
	}
	members_free(&inv);
	return rc;
}
