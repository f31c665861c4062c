// SPDX-License-Identifier: GPL-2.0-only
/* Faults of an open set, from its status, and one word for its condition. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "health.h"
#include "fusionctl.h"
#include "json.h"
#include "open-set.h"
#include "record.h"
#include "status-parse.h"
#include "sysfs.h"

const char *const fus_health_name[NR_HEALTHS] = { "ok", "note", "warning", "error" };

const char *const fus_condition_name[NR_CONDITIONS] = { "ok", "degraded", "failed", "missing" };

#define ERRORS_REMEDY "see dmesg and smartctl --all of the disk, and have a backup"

#define GONE_REMEDY	"close the set, connect the disk and open the set again, or see " \
			"fusionctl help salvage"

static bool opened_read_only(const struct set *set)
{
	char ro[4];

	return fus_sysfs_read(set->m.devno, "ro", ro, sizeof(ro)) && *ro == '1';
}

/* A SCSI or NVMe disk that the kernel has given up says so there. */
static bool is_dead(dev_t devno)
{
	static const char *const dead[] = { "offline", "transport-offline", "dead" };
	char state[32];

	if (!fus_sysfs_read(fus_sysfs_disk(devno), "device/state", state, sizeof(state)))
		return false;
	for (size_t i = 0; i < sizeof(dead) / sizeof(dead[0]); i++)
		if (!strcmp(state, dead[i]))
			return true;
	return false;
}

bool fus_device_gone(dev_t devno)
{
	char size[32];

	/* a device that is unplugged while in use only disappears from sysfs */
	return !fus_sysfs_read(devno, "size", size, sizeof(size)) || !strcmp(size, "0") ||
	       is_dead(devno);
}

enum health fus_set_health(const struct set *set, health_fn each, void *ctx)
{
	const struct fusion_status *st = &set->st;
	enum health worst = HEALTH_OK;
	char lost[96], landing_on[256];

#define FOUND(health, remedy, text) do {			\
	worst = worst > (health) ? worst : (health);		\
	if (each)						\
		each(ctx, health, text, remedy);		\
} while (0)

	if (fus_device_gone(set->member[FAST]))
		FOUND(HEALTH_ERROR, GONE_REMEDY, "the fast member is gone from this system");
	if (fus_device_gone(set->member[SLOW]))
		FOUND(HEALTH_ERROR, GONE_REMEDY, "the slow member is gone from this system");
	/* what lies on the others is there */
	if (set->old && fus_device_gone(set->old))
		FOUND(HEALTH_ERROR, "connect it, close the set and open it again", "the old member "
		      "is gone from this system, and what still lies on it");
	if (!strcmp(st->mode, "fail"))
		FOUND(HEALTH_ERROR, "close it and run fusionctl check", "its metadata could not "
		      "be loaded, all I/O fails");
	else if (!strcmp(st->mode, "ro") && opened_read_only(set))
		FOUND(HEALTH_NOTE, NULL, "is open read-only");
	else if (!strcmp(st->mode, "ro"))
		FOUND(HEALTH_ERROR, "see dmesg for the member that failed; then close it and run "
		      "fusionctl check", "has switched to read-only after an error");
	/* the error that made the set ro is reported already */
	if (st->needs_check && (strcmp(st->mode, "ro") || opened_read_only(set)))
		FOUND(HEALTH_WARNING, "close it and run fusionctl check",
		      "had an error that may have left its metadata wrong");
	snprintf(lost, sizeof(lost), "%" PRIu64 " of its extents %s lost, reads of them fail",
		 st->lost, st->lost == 1 ? "is" : "are");
	if (st->lost)
		FOUND(HEALTH_WARNING, "run fstrim after deleting the files, or restore them from a "
		      "backup", lost);
	if (!strcmp(st->replica, "failed"))
		FOUND(HEALTH_WARNING, "see dmesg; until then a lost SSD loses more data",
		      "the replica of the map could not be written");
	if (st->errors[FAST])
		FOUND(HEALTH_WARNING, ERRORS_REMEDY, "the fast member has failed I/O since the set "
		      "was opened");
	if (st->errors[SLOW])
		FOUND(HEALTH_WARNING, ERRORS_REMEDY, "the slow member has failed I/O since the set "
		      "was opened");
	if (st->log_stopped)
		FOUND(HEALTH_WARNING, "see dmesg; drain and close the set, and open it again",
		      "its landing log has stopped after an error");
	snprintf(landing_on, sizeof(landing_on), "if no fusionctl shrink or replace runs, run "
		 "dmsetup message %s 0 landing on", set->m.name);
	/* the kernel turns it on again when the old member has left */
	if (st->log_off && !st->log_stopped && !set->old)
		FOUND(HEALTH_NOTE, landing_on, "its landing log is off, so small writes go to the "
		      "slow member");
	if (st->old.unreadable)
		FOUND(HEALTH_WARNING, "see fusionctl help replace", "extents on the old member "
		      "cannot be read");
	else if (set->old && !st->old.left)
		FOUND(HEALTH_NOTE, "end that with fusionctl replace --wait", "nothing is left on "
		      "the old member");
	else if (set->old)
		FOUND(HEALTH_NOTE, NULL, "a member is being replaced");
	if (set->m.suspended)
		FOUND(HEALTH_WARNING, fus_suspended_remedy("dmsetup resume it"),
		      "is suspended, all I/O waits");
	if (st->reserve && !st->reserve_free && st->used[SLOW] == st->total[SLOW])
		FOUND(HEALTH_WARNING, st->fence_slots ? "send it the message \"fence off\"" :
		      "run fstrim on its file system, or delete something",
		      "is full to the last extent, nothing can be moved");
#undef FOUND
	return worst;
}

/* @worst: all that fus_set_health() has to say */
static enum condition condition_of(const struct set *set, enum health worst)
{
	if (fus_device_gone(set->member[FAST]) || fus_device_gone(set->member[SLOW]) ||
	    (set->old && fus_device_gone(set->old)))
		return CONDITION_MISSING;
	return worst == HEALTH_ERROR ? CONDITION_FAILED :
	       worst == HEALTH_WARNING ? CONDITION_DEGRADED : CONDITION_OK;
}

enum condition fus_set_condition(const struct set *set)
{
	return condition_of(set, fus_set_health(set, NULL, NULL));
}

struct pick {
	enum health worst;
	char *buf;
	size_t size;
};

static void pick_worst(void *ctx, enum health health, const char *text, const char *remedy)
{
	struct pick *p = ctx;

	if (health <= p->worst)
		return;
	p->worst = health;
	snprintf(p->buf, p->size, "%s%s%s", text, remedy ? "; " : "", remedy ? remedy : "");
}

enum condition fus_set_condition_text(const struct set *set, char *buf, size_t size)
{
	struct pick p = { HEALTH_OK, buf, size };

	*buf = 0;
	return condition_of(set, fus_set_health(set, pick_worst, &p));
}

struct json_object *fus_reason_json(enum health level, const char *text, const char *remedy)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_str(o, "level", fus_health_name[level]);
	fus_json_add_str(o, "text", text);
	fus_json_add_str(o, "remedy", remedy);
	return o;
}

static void add_reason(void *ctx, enum health health, const char *text, const char *remedy)
{
	json_object_array_add(ctx, fus_reason_json(health, text, remedy));
}

void fus_condition_json(struct json_object *o, const struct set *set)
{
	struct json_object *reasons = json_object_new_array();
	const enum health worst = fus_set_health(set, add_reason, reasons);

	fus_json_add_str(o, "health", fus_condition_name[condition_of(set, worst)]);
	json_object_object_add(o, "reasons", reasons);
}
