// SPDX-License-Identifier: GPL-2.0-only
/* Device mapper: mappings, messages, and the target's module. */
#include <errno.h>
#include <libdevmapper.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "dm.h"
#include "dm-task.h"
#include "error.h"
#include "fusionctl.h"
#include "named.h"
#include "program.h"
#include "released.h"
#include "size.h"
#include "super.h"

#define TARGET		"fusion"
#define MODULE		"dm-fusion"

/* The caller reports each failure, with the errno. libdevmapper stays silent. */
static __attribute__((format(printf, 5, 6)))
void no_log(int level, const char *file, int line, int dm_errno, const char *fmt, ...)
{
	(void)level;
	(void)file;
	(void)line;
	(void)dm_errno;
	(void)fmt;
}

void fus_dm_setup(void)
{
	dm_log_with_errno_init(no_log);
}

int fus_dm_remove(const char *name)
{
	struct dm_task *t = fus_dm_task(DM_DEVICE_REMOVE, name);
	int err = -ENOMEM;

	if (t) {
		err = fus_dm_run_with_udev(t, name);
		dm_task_destroy(t);
	}
	return err;
}

int fus_dm_rename(const char *name, const char *to)
{
	struct dm_task *t = fus_dm_task(DM_DEVICE_RENAME, name);
	int err = -ENOMEM;

	if (t && dm_task_set_newname(t, to))
		err = fus_dm_run_with_udev(t, to);
	if (t)
		dm_task_destroy(t);
	return err;
}

int fus_dm_message(const char *name, const char *message, char **answer)
{
	struct dm_task *t = fus_dm_task(DM_DEVICE_TARGET_MSG, name);
	const char *text;
	int err = -ENOMEM;

	*answer = NULL;
	if (t && dm_task_set_sector(t, 0) && dm_task_set_message(t, message)) {
		err = fus_dm_run(t);
		text = err ? NULL : dm_task_get_message_response(t);
		if (text)
			*answer = strdup(text);
	}
	if (t)
		dm_task_destroy(t);
	return err;
}

static bool have_device_mapper(void)
{
	struct dm_task *t = fus_dm_task(DM_DEVICE_VERSION, NULL);
	bool have = t && !fus_dm_run(t);

	if (t)
		dm_task_destroy(t);
	return have;
}

int fus_dm_get(const char *name, const char *uuid, enum mapping_info what, struct mapping *m)
{
	static const int type[] = {
		[MAPPING_INFO] = DM_DEVICE_INFO,
		[MAPPING_TABLE] = DM_DEVICE_TABLE,
		[MAPPING_STATUS] = DM_DEVICE_STATUS,
	};
	char *target = NULL, *params = NULL;
	uint64_t start, length;
	struct dm_task *t;
	struct dm_info info;
	int err = -ENOMEM;

	memset(m, 0, sizeof(*m));
	if (!have_device_mapper())
		return 0;
	t = fus_dm_task(type[what], name);
	if (!t || (!name && !dm_task_set_uuid(t, uuid)))
		goto out;
	if (what == MAPPING_STATUS)
		dm_task_no_flush(t);
	err = fus_dm_run(t);
	if (err == -ENXIO) {
		err = 0;
		goto out;
	}
	if (err)
		goto out;
	if (!dm_task_get_info(t, &info)) {
		err = -EIO;
		goto out;
	}
	m->exists = info.exists;
	if (!info.exists)
		goto out;
	snprintf(m->name, sizeof(m->name), "%s", dm_task_get_name(t));
	snprintf(m->uuid, sizeof(m->uuid), "%s", dm_task_get_uuid(t));
	m->devno = makedev(info.major, info.minor);
	m->open_count = info.open_count;
	m->live = info.live_table;
	m->suspended = info.suspended;
	if (what == MAPPING_INFO)
		goto out;
	dm_get_next_target(t, NULL, &start, &length, &target, &params);
	m->sectors = length;
	snprintf(m->target, sizeof(m->target), "%s", target ? target : "");
	m->params = strdup(params ? params : "");
	err = m->params ? 0 : -ENOMEM;
out:
	if (t)
		dm_task_destroy(t);
	if (err)
		return fus_fail(FC_FAILED, name ? name : uuid, "the device mapper reports: %s; see "
				"dmesg", strerror(-err));
	return 0;
}

void fus_dm_put(struct mapping *m)
{
	free(m->params);
	m->params = NULL;
}

void fus_dm_free_list(struct mapping *list)
{
	struct mapping *next;

	for (; list; list = next) {
		next = list->next;
		fus_dm_put(list);
		free(list);
	}
}

static bool has_set_uuid(const struct mapping *m)
{
	return m->exists && !strncmp(m->uuid, DM_PREFIX, strlen(DM_PREFIX));
}

bool fus_dm_is_set(const struct mapping *m)
{
	return has_set_uuid(m) && !fus_is_released(m->devno);
}

const char *fus_dm_set_uuid(const struct mapping *m)
{
	return m->uuid + strlen(DM_PREFIX);
}

bool fus_dm_is_rescued(const struct mapping *m)
{
	return m->exists && !strncmp(m->uuid, DM_SALVAGE_PREFIX, strlen(DM_SALVAGE_PREFIX));
}

const char *fus_dm_rescued_uuid(const struct mapping *m, char buf[UUID_TEXT], bool *stale)
{
	const char *uuid = m->uuid + strlen(DM_SALVAGE_PREFIX);

	snprintf(buf, UUID_TEXT, "%s", uuid);
	*stale = !strcmp(uuid + strlen(buf), STALE_SUFFIX);
	return buf;
}

static int list_those(bool (*is)(const struct mapping *m), enum mapping_info what,
		      struct mapping **list)
{
	struct mapping **tail = list, *m;
	struct dm_names *names;
	struct dm_task *t;
	int rc = 0;

	*list = NULL;
	if (!have_device_mapper())
		return 0;
	t = fus_dm_task(DM_DEVICE_LIST, NULL);
	names = t && !fus_dm_run(t) ? dm_task_get_names(t) : NULL;
	if (!names) {
		rc = fus_fail(FC_FAILED, "device mapper", "cannot list the devices; see dmesg");
		goto out;
	}
	if (!names->dev)
		goto out;
	for (;; names = (void *)((char *)names + names->next)) {
		m = calloc(1, sizeof(*m));
		if (!m) {
			rc = fus_fail(FC_FAILED, names->name, "not enough memory; close programs "
				      "and try again");
			break;
		}
		rc = fus_dm_get(names->name, NULL, what, m);
		if (rc) {
			free(m);
			break;
		}
		if (is(m)) {
			*tail = m;
			tail = &m->next;
		} else {
			fus_dm_put(m);
			free(m);
		}
		if (!names->next)
			break;
	}
out:
	if (t)
		dm_task_destroy(t);
	if (rc) {
		fus_dm_free_list(*list);
		*list = NULL;
	}
	return rc;
}

int fus_dm_list(enum mapping_info what, struct mapping **list)
{
	return list_those(fus_dm_is_set, what, list);
}

int fus_dm_list_rescued(struct mapping **list)
{
	return list_those(fus_dm_is_rescued, MAPPING_INFO, list);
}

int fus_dm_get_set(const char *name, enum mapping_info what, struct mapping *m)
{
	int rc;

	rc = fus_check_name(name);
	if (!rc)
		rc = fus_dm_get(name, NULL, what, m);
	if (rc)
		return rc;
	if (fus_dm_is_set(m) && (what == MAPPING_INFO || !strcmp(m->target, TARGET)))
		return 0;
	/* can only be closed */
	if ((fus_dm_is_rescued(m) || has_set_uuid(m)) && what == MAPPING_INFO)
		return 0;
	rc = has_set_uuid(m) && fus_is_released(m->devno) ?
	     fus_fail(FC_FAILED, name, "was released, and is only another name of a plain disk; to "
		      "remove that, when nothing uses it: fusionctl close %s", name) :
	     m->exists ? fus_fail(FC_FAILED, name, "is a mapped device but not an open fusion set; "
				  "fusionctl list shows the open sets") : fus_fail_not_open(name);
	fus_dm_put(m);
	return rc;
}

int fus_dm_get_if_open(const char *name, enum mapping_info what, struct mapping *m, bool *found)
{
	int rc;

	rc = fus_dm_get(name, NULL, what, m);
	/* one without a table is being made, or closed */
	*found = !rc && fus_dm_is_set(m) && m->live &&
		 (what == MAPPING_INFO || !strcmp(m->target, TARGET));
	if (!*found)
		fus_dm_put(m);
	return rc;
}

static bool find_target(unsigned int version[3])
{
	struct dm_task *t = fus_dm_task(DM_DEVICE_LIST_VERSIONS, NULL);
	struct dm_versions *v = NULL;
	bool found = false;

	if (t && !fus_dm_run(t))
		v = dm_task_get_versions(t);
	while (v && !found) {
		found = !strcmp(v->name, TARGET);
		if (found)
			memcpy(version, v->version, sizeof(v->version));
		v = v->next ? (void *)((char *)v + v->next) : NULL;
	}
	if (t)
		dm_task_destroy(t);
	return found;
}

int fus_dm_target_version(bool load, unsigned int version[3], bool *found)
{
	char said[256] = "";

	*found = have_device_mapper() && find_target(version);
	if (*found || !load)
		return 0;
	if (!have_device_mapper()) {
		fus_program_say((const char *[]){ "modprobe", "dm-mod", NULL }, said, sizeof(said));
		if (!have_device_mapper())
			return fus_fail(FC_NO_MODULE, "device mapper", "the kernel has none%s%s%s; "
					"use a kernel with CONFIG_BLK_DEV_DM", *said ? " (" : "",
					said, *said ? ")" : "");
	}
	fus_program_say((const char *[]){ "modprobe", MODULE, NULL }, said, sizeof(said));
	*found = find_target(version);
	if (*found)
		return 0;
	return fus_fail(FC_NO_MODULE, MODULE, "the kernel has no such module%s%s%s; build and "
			"install it with make install", *said ? " (" : "", said, *said ? ")" : "");
}
