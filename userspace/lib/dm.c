// SPDX-License-Identifier: GPL-2.0-only
/* Device mapper: mappings, messages, and the target's module. */
#include <errno.h>
#include <libdevmapper.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "named.h"
#include "program.h"
#include "size.h"
#include "super.h"

#define TARGET		"fusion"
#define MODULE		"dm-fusion"
#define UDEV_POLL_MS	20

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

static unsigned int udev_wait_ms = 30000;

void fus_dm_udev_limit(unsigned int ms)
{
	udev_wait_ms = ms;
}

static struct dm_task *new_task(int type, const char *name)
{
	struct dm_task *t = dm_task_create(type);

	if (t && name && !dm_task_set_name(t, name)) {
		dm_task_destroy(t);
		t = NULL;
	}
	return t;
}

/* Return: 0 or -errno */
static int run(struct dm_task *t)
{
	int err;

	if (dm_task_run(t))
		return 0;
	err = dm_task_get_errno(t);
	return -(err ? err : EIO);
}

/*
 * Wait until udev has made the links of a device. dm_udev_wait() has no limit, and an event that
 * udev lost would block us forever.
 */
static void wait_for_udev(const char *name, uint32_t cookie)
{
	int ready = 0;

	for (unsigned int ms = 0; cookie && ms < udev_wait_ms; ms += UDEV_POLL_MS) {
		if (!dm_udev_wait_immediate(cookie, &ready) || ready)
			break;
		usleep(UDEV_POLL_MS * 1000);
	}
	if (cookie && !ready)
		fus_warn(name, "udev has not answered in time; links in /dev may be missing, see "
			 "udevadm settle");
	dm_task_update_nodes();
}

/* Run a task that udev takes part in. Return: 0 or -errno */
static int run_with_udev(struct dm_task *t, const char *name)
{
	uint32_t cookie = 0;
	int err;

	if (!dm_task_set_cookie(t, &cookie, DM_UDEV_DISABLE_LIBRARY_FALLBACK))
		return -EIO;
	err = run(t);
	wait_for_udev(name, cookie);
	return err;
}

int fus_dm_remove(const char *name)
{
	struct dm_task *t = new_task(DM_DEVICE_REMOVE, name);
	int err = -ENOMEM;

	if (t) {
		err = run_with_udev(t, name);
		dm_task_destroy(t);
	}
	return err;
}

int fus_dm_rename(const char *name, const char *to)
{
	struct dm_task *t = new_task(DM_DEVICE_RENAME, name);
	int err = -ENOMEM;

	if (t && dm_task_set_newname(t, to))
		err = run_with_udev(t, to);
	if (t)
		dm_task_destroy(t);
	return err;
}

static int load(const char *name, const struct dm_line *line, size_t nr, bool read_only)
{
	struct dm_task *t = new_task(DM_DEVICE_RELOAD, name);
	bool ok = t && (!read_only || dm_task_set_ro(t));
	uint64_t start = 0;
	int err;

	for (; ok && nr; nr--, line++) {
		ok = dm_task_add_target(t, start, line->sectors, line->target, line->params);
		start += line->sectors;
	}
	err = ok ? run(t) : -ENOMEM;
	if (t)
		dm_task_destroy(t);
	return err;
}

/*
 * In three steps, as only then each one's errno is known: libdevmapper's create with a table
 * removes the device again if that fails, and returns the result of the removal.
 */
int fus_dm_create(const char *name, const char *uuid, const struct dm_line *line, size_t nr,
		  bool read_only)
{
	struct dm_task *create = new_task(DM_DEVICE_CREATE, name);
	struct dm_task *resume = new_task(DM_DEVICE_RESUME, name);
	int err = -ENOMEM;

	if (!create || !resume || !dm_task_set_uuid(create, uuid))
		goto out;
	err = run(create);
	if (err)
		goto out;
	err = load(name, line, nr, read_only);
	if (!err)
		err = run_with_udev(resume, name);
	if (err)
		fus_dm_remove(name);
out:
	if (create)
		dm_task_destroy(create);
	if (resume)
		dm_task_destroy(resume);
	return err;
}

/* Run a task that has no arguments. */
static int run_plain(int type, const char *name)
{
	struct dm_task *t = new_task(type, name);
	int err = t ? run(t) : -ENOMEM;

	if (t)
		dm_task_destroy(t);
	return err;
}

static unsigned int now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

/* Return: whether the suspended device, which has had another one, has this table and runs. */
static bool reload(const char *name, const struct dm_line *line)
{
	return line && !load(name, line, 1, false) && !run_plain(DM_DEVICE_RESUME, name);
}

/*
 * The next table could not be resumed, but is in the other one's place already. In the end the set
 * may be as that one wants it.
 */
static int undo(const char *name, struct dm_exchange *x, int err)
{
	if (reload(name, x->now))
		return err;
	if (reload(name, x->next))
		return 0;
	x->is_back = reload(name, x->back);
	x->stuck = !x->is_back;
	return err;
}

/* The kernel allocates memory when a table is loaded, so that is before the suspend. */
int fus_dm_exchange(const char *name, struct dm_exchange *x)
{
	struct dm_task *resume = new_task(DM_DEVICE_RESUME, name);
	uint32_t cookie = 0;
	unsigned int begun;
	int err = resume ? load(name, x->next, 1, false) : -ENOMEM;

	if (!err && !dm_task_set_cookie(resume, &cookie, DM_UDEV_DISABLE_LIBRARY_FALLBACK))
		err = -EIO;
	begun = now_ms();
	if (!err)
		err = run_plain(DM_DEVICE_SUSPEND, name);
	if (err) {
		/* A suspend that failed has been undone by the kernel. */
		run_plain(DM_DEVICE_CLEAR, name);
		if (cookie)
			dm_udev_complete(cookie);
		goto out;
	}
	err = run(resume);
	if (err)
		err = undo(name, x, err);
	x->paused_ms = now_ms() - begun;
out:
	if (cookie)
		wait_for_udev(name, cookie);
	if (resume)
		dm_task_destroy(resume);
	return err;
}

int fus_dm_message(const char *name, const char *message, char **answer)
{
	struct dm_task *t = new_task(DM_DEVICE_TARGET_MSG, name);
	const char *text;
	int err = -ENOMEM;

	*answer = NULL;
	if (t && dm_task_set_sector(t, 0) && dm_task_set_message(t, message)) {
		err = run(t);
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
	struct dm_task *t = new_task(DM_DEVICE_VERSION, NULL);
	bool have = t && !run(t);

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
	t = new_task(type[what], name);
	if (!t || (!name && !dm_task_set_uuid(t, uuid)))
		goto out;
	if (what == MAPPING_STATUS)
		dm_task_no_flush(t);
	err = run(t);
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

bool fus_dm_is_set(const struct mapping *m)
{
	return m->exists && !strncmp(m->uuid, DM_PREFIX, strlen(DM_PREFIX));
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
	t = new_task(DM_DEVICE_LIST, NULL);
	names = t && !run(t) ? dm_task_get_names(t) : NULL;
	if (!names) {
		rc = fus_fail(FC_FAILED, "device mapper", "cannot list the devices; see dmesg");
		goto out;
	}
	if (!names->dev)
		goto out;
	for (;; names = (void *)((char *)names + names->next)) {
		m = calloc(1, sizeof(*m));
		rc = m ? fus_dm_get(names->name, NULL, what, m) :
		     fus_fail(FC_FAILED, names->name, "not enough memory; close programs and try "
			      "again");
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
	if (fus_dm_is_rescued(m) && what == MAPPING_INFO)
		return 0;
	rc = m->exists ? fus_fail(FC_FAILED, name, "is a mapped device but not an open fusion set; "
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
	struct dm_task *t = new_task(DM_DEVICE_LIST_VERSIONS, NULL);
	struct dm_versions *v = NULL;
	bool found = false;

	if (t && !run(t))
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
