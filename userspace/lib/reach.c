// SPDX-License-Identifier: GPL-2.0-only
/*
 * How far the mappings on a device reach: a LUKS device, logical volumes. Of some content that is
 * all that tells how much of its device it uses.
 */
#include <inttypes.h>
#include <libdevmapper.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "reach.h"
#include "device.h"
#include "sysfs.h"

bool fus_reach_of_line(const char *target, const char *params, uint64_t length, const char *device,
		       uint64_t *end)
{
	const char *at = params;
	const size_t n = strlen(device);
	uint64_t offset;

	*end = 0;
	if (strcmp(target, "linear") && strcmp(target, "crypt"))
		return false;
	while ((at = strstr(at, device))) {
		if ((at == params || at[-1] == ' ') && at[n] == ' ' &&
		    sscanf(at + n, " %" SCNu64, &offset) == 1 && offset <= UINT64_MAX - length) {
			*end = offset + length;
			return true;
		}
		at += n;
	}
	return true;
}

/* Each line of its table. Return: false if one is not understood. */
static bool walk_lines(struct dm_task *t, const char *device, uint64_t *most)
{
	char *target = NULL, *params = NULL;
	uint64_t start, length, end;
	void *next = NULL;

	do {
		next = dm_get_next_target(t, next, &start, &length, &target, &params);
		if (!target || !params ||
		    !fus_reach_of_line(target, params, length, device, &end))
			return false;
		if (end > *most)
			*most = end;
	} while (next);
	return true;
}

struct look {
	dev_t devno;
	struct reach *r;
};

static bool look_at(dev_t holder, void *ctx)
{
	const struct look *l = ctx;
	char name[128], device[32];
	struct dm_task *t = NULL;
	uint64_t end = 0;
	bool known = false;

	snprintf(device, sizeof(device), "%u:%u", major(l->devno), minor(l->devno));
	if (fus_sysfs_read(holder, "dm/name", name, sizeof(name)))
		t = dm_task_create(DM_DEVICE_TABLE);
	if (t && dm_task_set_name(t, name) && dm_task_run(t))
		known = walk_lines(t, device, &end);
	if (t)
		dm_task_destroy(t);
	l->r->held = true;
	if (known && end <= l->r->sectors)
		return false;
	if (known)
		l->r->sectors = end;
	l->r->unknown |= !known;
	fus_device_node(holder, l->r->name, sizeof(l->r->name));
	return !known;
}

void fus_reach(dev_t devno, struct reach *r)
{
	struct look l = { devno, r };

	memset(r, 0, sizeof(*r));
	fus_sysfs_any(devno, "holders", look_at, &l);
}
