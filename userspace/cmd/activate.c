// SPDX-License-Identifier: GPL-2.0-only
/* Open a set of two members, or say why the kernel refuses them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "activate.h"
#include "busy.h"
#include "device.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "host.h"
#include "kmsg.h"
#include "meta.h"
#include "record.h"
#include "role.h"
#include "scan.h"
#include "set-json.h"

/* @remnant: left by a creation that was killed half-way, nothing can be in it. */
static int find_name(const char *name, bool *remnant)
{
	struct mapping m;
	int rc;

	*remnant = false;
	rc = fus_dm_get(name, NULL, MAPPING_INFO, &m);
	if (rc || !m.exists)
		return rc;
	if (!fus_dm_is_set(&m))
		return fus_fail(FC_BUSY, name, "another mapped device has that name; choose "
				"another name");
	*remnant = !m.live && !m.open_count;
	return *remnant ? 0 : fus_fail(FC_BUSY, name, "is already open; fusionctl status %s shows "
				       "it", name);
}

int check_name_free(const char *name)
{
	bool remnant;

	return find_name(name, &remnant);
}

int free_name(const char *name)
{
	bool remnant;
	int rc, err;

	rc = find_name(name, &remnant);
	err = remnant ? fus_dm_remove(name) : 0;
	return err ? fus_fail(FC_BUSY, name, "cannot remove the device that a killed fusionctl "
			      "left: %s; dmsetup remove %s", strerror(-err), name) : rc;
}

/* The errors that the target's constructor or resume may return. */
static int exit_code_of(int err)
{
	switch (-err) {
	case EBUSY:
	case EUSERS:
		return FC_BUSY;
	case ENODEV:
	case ENXIO:
	case EXDEV:
	case ESTALE:
	case ENOSPC:
		return FC_MEMBER;
	case EILSEQ:
	case EUCLEAN:
		return FC_DAMAGED;
	default:
		return FC_FAILED;
	}
}

/* Return: whether the member is held exclusively, so that the kernel cannot have it. */
static bool is_held(const struct member *m)
{
	int fd = fus_open_node(m->path, m->devno, O_RDONLY | O_EXCL);

	if (fd < 0)
		return errno == EBUSY;
	close(fd);
	return false;
}

/*
 * Report a member from the past: which, how far back, and the remedy. Return: false if that is
 * unknown.
 */
static bool past_refused(const char *name, const char *const path[2], const struct meta *meta)
{
	struct meta_past past;
	char text[256];

	if (!fus_meta_past(meta, &past))
		return false;
	fus_meta_past_text(meta, &past, text, sizeof(text));
	if (past.dev == BOTH)
		fus_fail(FC_MEMBER, name, "%s and %s do not belong together: %s; use the two that "
			 "were used together last, or see fusionctl help repair", path[FAST],
			 path[SLOW], text);
	else
		fus_fail(FC_MEMBER, name, "the %s member %s is %s; connect the current one, or see "
			 "fusionctl help repair", fus_role_name[past.dev], path[past.dev], text);
	return true;
}

/*
 * Report why the kernel refused two members. The kernel log gives a reason in its own words, but
 * not the block if the fault is in the journal. So the findings of check are added.
 */
static int refused(const char *name, const struct member *fast, const struct member *slow, int err,
		   const char *reason)
{
	const struct member *held = err != -EBUSY ? NULL : is_held(fast) ? fast :
				    is_held(slow) ? slow : NULL;
	char *path[2] = { (char *)fast->path, (char *)slow->path };
	const struct finding *worst;
	struct report r = { 0 };
	char text[320] = "", what[FUS_ERROR_TEXT];
	struct meta meta;

	if (held)
		return fus_device_refused(held->path, held->devno);
	if (exit_code_of(err) != FC_BUSY && !fus_meta_open_to_look(2, path, &meta)) {
		if (err == -ESTALE && past_refused(name, (const char *const *)path, &meta)) {
			fus_meta_free(&meta);
			return FC_MEMBER;
		}
		fus_meta_check(&meta, &r);
		worst = fus_report_worst(&r);
		if (worst && worst->level == LEVEL_ERROR)
			fus_finding_text(worst, text, sizeof(text));
		fus_report_free(&r);
		fus_meta_free(&meta);
	}
	if (!*text && err == -EIO) {
		snprintf(what, sizeof(what), "%s; I/O on %s or %s fails (dmesg shows where)",
			 reason, fast->path, slow->path);
		return fus_fail(FC_FAILED, name, "refused by the kernel: %s; copy the failing disk "
				"to a good one, with ddrescue, and open the set from the copy, or "
				"see fusionctl help salvage", what);
	}
	if (!*text)
		return fus_fail(exit_code_of(err), name, "refused by the kernel: %s; see dmesg",
				reason);
	return fus_fail(exit_code_of(err), name, "refused by the kernel: %s (%s); run fusionctl "
			"check %s %s, and fusionctl repair", reason, text, fast->path, slow->path);
}

/* Another machine keeps writing its heartbeat. */
static int held_elsewhere(const char *name, const struct member *fast)
{
	char text[HOST_TEXT];
	unsigned int ms;

	fus_host_holds(fast, text, sizeof(text), &ms);
	return fus_fail(FC_BUSY, name, "is in use by the machine %s; close it there, or take it "
			"over: fusionctl open %s --take-over", text, name);
}

static void table_params(char *buf, size_t size, const struct member *fast,
			 const struct member *slow, const struct member *old, bool take_over)
{
	char host[HOST_HEX + 8] = "", was[64] = "", hex[HOST_HEX];
	unsigned char id[16];
	int nr;

	if (fus_host_id(id))
		snprintf(host, sizeof(host), " host %s", fus_host_hex(hex, id));
	if (old)
		snprintf(was, sizeof(was), " old_%s %u:%u", fus_role_name[old->sb->role],
			 major(old->devno), minor(old->devno));
	nr = 2 * (!!*host + take_over + !!old);
	snprintf(buf, size, "%u:%u %u:%u %d%s%s%s", major(fast->devno), minor(fast->devno),
		 major(slow->devno), minor(slow->devno), nr, host,
		 take_over ? " takeover on" : "", was);
}

static int create_mapping(const char *name, const struct member *fast, const struct member *slow,
			  const struct member *old, bool take_over)
{
	char params[192], uuid[UUID_TEXT], dm_uuid[64], reason[256];
	const struct dm_line line = {
		fusion_sb_sectors(fast->sb), "fusion", params,
	};
	int err, kmsg;

	table_params(params, sizeof(params), fast, slow, old, take_over);
	snprintf(dm_uuid, sizeof(dm_uuid), DM_PREFIX "%s", fus_uuid_text(uuid, fast->sb->set_uuid));
	kmsg = fus_kmsg_open();
	err = fus_dm_create(name, dm_uuid, &line, 1, false);
	fus_kmsg_reason(kmsg, reason, sizeof(reason));
	if (!err)
		return 0;
	if (err == -EUSERS)
		return held_elsewhere(name, fast);
	return refused(name, fast, slow, err, *reason ? reason : strerror(-err));
}

/* Explain why this will take a while. */
static void tell_holder(const char *name, const struct member *fast, bool take_over)
{
	char text[HOST_TEXT];
	unsigned int ms;

	if (!fus_host_holds(fast, text, sizeof(text), &ms))
		return;
	if (take_over)
		fus_warn(name, "will be taken over from the machine %s in %u s", text,
			 (ms + 1999) / 1000);
	else
		fus_warn(name, "was not closed by the machine %s; checking for %u s whether that "
			 "machine still uses it", text, (ms + 999) / 1000);
}

/* A damaged copy is no obstacle: the other copy exists for that case. */
static void tell_damage(const struct member *m)
{
	if (m->why)
		fus_warn(m->path, "one of the two copies of its superblock is damaged (%s); the "
			 "other is used, nothing to do", m->why);
}

static int check_unused(const struct member *m)
{
	struct user user;

	if (!fus_device_user(m->devno, &user))
		return 0;
	return fus_fail_busy(m->path, &user);
}

int check_not_open(const struct member *m)
{
	char uuid[UUID_TEXT], dm_uuid[64];
	struct mapping map;
	int rc;

	snprintf(dm_uuid, sizeof(dm_uuid), DM_PREFIX "%s", fus_uuid_text(uuid, m->sb->set_uuid));
	rc = fus_dm_get(NULL, dm_uuid, MAPPING_INFO, &map);
	if (rc || !map.exists)
		return rc;
	if (!map.live && !map.open_count && !fus_dm_remove(map.name))
		return 0;
	return fus_fail(FC_BUSY, m->path, "its set is already open as %s; fusionctl status %s "
			"shows it", map.name, map.name);
}

int open_set(const char *name, struct member *a, struct member *b, bool take_over,
	     struct json_object *json)
{
	return open_set_with(name, a, b, NULL, take_over, json);
}

int open_set_with(const char *name, struct member *a, struct member *b, struct member *old,
		  bool take_over, struct json_object *json)
{
	struct member *fast = a->sb->role == FUSION_FAST ? a : b;
	struct member *slow = fast == a ? b : a;
	const char *const path[2] = { fast->path, slow->path };
	unsigned int version[3];
	const char *why;
	bool found;
	int rc, err;

	rc = free_name(name);
	if (!rc)
		rc = check_not_open(a);
	if (rc)
		return rc;
	if (a->sb->role == b->sb->role)
		return fus_fail(FC_MEMBER, b->path, "is a %s member, like %s; name one fast and "
				"one slow member", fus_role_name[b->sb->role], a->path);
	if (memcmp(a->sb->set_uuid, b->sb->set_uuid, 16))
		return fus_fail(FC_MEMBER, b->path, "belongs to the set %s, %s to the set %s; name "
				"two members of one set", b->sb->label, a->path, a->sb->label);
	err = fusion_sb_match(fast->sb, slow->sb, &why);
	if (err == -ESTALE)
		return refused(name, fast, slow, err, why);
	if (err)
		return fus_fail(FC_MEMBER, name, "%s and %s do not belong together: %s; use the "
				"two that were used together last", fast->path, slow->path, why);
	rc = check_unused(fast);
	if (!rc)
		rc = check_unused(slow);
	if (!rc && old)
		rc = check_unused(old);
	if (rc)
		return rc;
	tell_damage(fast);
	tell_damage(slow);
	tell_holder(name, fast, take_over);
	rc = fus_dm_target_version(true, version, &found);
	if (!rc)
		rc = create_mapping(name, fast, slow, old, take_over);
	if (!rc)
		fus_opened_write(fast, slow);
	if (!rc && json)
		fus_json_add_set(json, name, true, fast->sb, path);
	if (!rc && fast->sb->flags & FUSION_SB_NEEDS_CHECK)
		fus_warn(name, "had an error that may have left its metadata wrong; close it and "
			 "run fusionctl check");
	return rc;
}
