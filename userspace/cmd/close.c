// SPDX-License-Identifier: GPL-2.0-only
/* Verb close, and whether the set was closed cleanly. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "busy.h"
#include "close-dump.h"
#include "device.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "host.h"
#include "json.h"
#include "open-set.h"
#include "output.h"
#include "rescued.h"
#include "role.h"
#include "scan.h"
#include "size.h"
#include "super.h"
#include "verb.h"
#include "dm-fusion-codec.h"

#define CLOSE_RETRIES	20
#define CLOSE_RETRY_MS	100

/* How a set was closed, from the superblocks that the kernel left. */
struct ending {
	bool writable;		/* so the kernel was to write them */
	bool shadows;		/* of the fast member's extents may be handed over */
	bool clean[2];
	dev_t member[2];
};

/* Before the set is closed: a set that is read-only, or was not loaded, writes nothing. */
static void will_be_written(const char *name, struct ending *end)
{
	struct set set;
	bool found;

	memset(end, 0, sizeof(*end));
	/* an unreadable status is no reason not to close the set */
	if (!fus_valid_name(name) || fus_set_get_if_open(name, &set, &found) || !found)
		return;
	end->writable = strcmp(set.st.mode, "fail") && strcmp(set.st.replica, "-");
	end->shadows = set.st.pointed && !strcmp(set.st.mode, "rw");
	memcpy(end->member, set.member, sizeof(end->member));
	fus_set_put(&set);
}

/*
 * The shadows of a set that was written to since its last point would all have to be made again. If
 * there can be no point now, that is so.
 */
static void make_point(const char *name, struct ending *end)
{
	char *answer = NULL;

	if (end->shadows)
		fus_dm_message(name, "point", &answer);
	free(answer);
	end->shadows = false;
}

/* A set that another machine has taken by now must not be judged. */
static bool ended_well(dev_t devno)
{
	unsigned char id[16];
	struct member *m;
	bool well = false;

	if (fus_member_at(devno, &m) || !m)
		return false;
	if (fus_has_identity(m))
		well = m->sb->flags & FUSION_SB_CLEAN ||
		       (fus_host_id(id) && memcmp(id, m->sb->host_id, sizeof(id)));
	fus_free_members(m);
	return well;
}

/*
 * Only the kernel log tells that, because at that point the removal of a device can no longer fail.
 */
static int tell_ending(const char *name, struct ending *end)
{
	char node[2][160];
	int bad;

	if (!end->writable)
		return 0;
	for (int dev = 0; dev < 2; dev++) {
		end->clean[dev] = ended_well(end->member[dev]);
		fus_device_node(end->member[dev], node[dev], sizeof(node[dev]));
	}
	if (end->clean[FAST] && end->clean[SLOW])
		return 0;
	bad = end->clean[FAST] ? SLOW : FAST;
	if (!end->clean[!bad])
		return fus_fail(FC_FAILED, name, "is closed, but not cleanly: no superblock could "
				"be written to %s and %s; see dmesg for the member that failed, "
				"and run fusionctl check %s before it is opened again", node[FAST],
				node[SLOW], name);
	return fus_fail(FC_FAILED, name, "is closed, but not cleanly: the superblock of the %s "
			"member %s could not be written; see dmesg, and run fusionctl check %s "
			"before it is opened again", fus_role_name[bad], node[bad], name);
}

/* A device made by salvage also has the uuid of the set, perhaps followed by "-stale". */
static void print_closed(const struct mapping *m, const struct ending *end, const char *dump)
{
	const char *dash = strchr(m->uuid, '-');
	struct json_object *o = fus_json_base();
	char uuid[UUID_TEXT];

	snprintf(uuid, sizeof(uuid), "%s", dash ? dash + 1 : "");
	fus_json_add_str(o, "name", m->name);
	fus_json_add_str(o, "set_uuid", uuid);
	if (end->writable)
		fus_json_add_bool(o, "clean", end->clean[FAST] && end->clean[SLOW]);
	else
		json_object_object_add(o, "clean", NULL);
	fus_json_add_str(o, "dump", *dump ? dump : NULL);
	print_json(o, false);
}

int cmd_close(const struct args *a)
{
	const char *name = a->word[0];
	struct ending end;
	struct mapping m;
	struct user user = { 0 };
	char dump[PATH_MAX] = "";
	int rc, err;

	will_be_written(name, &end);
	/* udev opens devices briefly at each event */
	for (int i = 0;; i++) {
		rc = fus_dm_get_set(name, MAPPING_INFO, &m);
		if (rc)
			return rc;
		/* not while the device itself is in use: then the set stays open */
		if (!m.open_count)
			rc = fus_rescued_close_stale(&m);
		if (rc)
			return rc;
		if (!m.open_count)
			make_point(name, &end);
		err = m.open_count ? -EBUSY : fus_dm_remove(name);
		if (!err) {
			rc = tell_ending(name, &end);
			if (end.clean[FAST] && end.clean[SLOW] && !a->opt[OPT_NO_DUMP])
				close_dump(name, end.member, dump);
			if (a->opt[OPT_JSON])
				print_closed(&m, &end, dump);
			return rc;
		}
		if (err != -EBUSY)
			return fus_fail(FC_FAILED, name, "cannot be closed: %s; see dmesg",
					strerror(-err));
		if (fus_device_user(m.devno, &user))
			return fus_fail_busy(name, &user);
		if (i == CLOSE_RETRIES)
			break;
		usleep(CLOSE_RETRY_MS * 1000);
	}
	if (!fus_device_opener(m.devno, &user))
		snprintf(user.text, sizeof(user.text), "is in use by an unknown process or device");
	return fus_fail_busy(name, &user);
}
