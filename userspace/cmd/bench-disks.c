// SPDX-License-Identifier: GPL-2.0-only
/* The devices beneath a target, their counters in sysfs, and those of a set. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"
#include "dm.h"
#include "fusionctl.h"
#include "open-set.h"
#include "stands-on.h"
#include "sysfs.h"
#include "top.h"

static void add_disk(struct bench_disks *d, dev_t devno)
{
	for (unsigned int i = 0; i < d->nr; i++)
		if (d->disk[i] == devno)
			return;
	if (d->nr < BENCH_DISKS)
		d->disk[d->nr++] = devno;
}

/* A disk, or the file system of a loop device's file. */
static bool visit(dev_t devno, void *ctx)
{
	struct bench_disks *d = ctx;
	char name[128], file[4096];
	struct stat st;
	dev_t below;

	if (!*d->set && fus_sysfs_is_mapping(devno, DM_PREFIX) &&
	    fus_sysfs_read(devno, "dm/name", name, sizeof(name))) {
		memcpy(d->set, name, sizeof(d->set));
		d->is_set = devno == d->device;
	}
	/* what it stands on is visited next */
	if (fus_sysfs_disk(devno) != devno || fus_sysfs_any(devno, "slaves", NULL, NULL))
		return false;
	if (!fus_sysfs_read(devno, "loop/backing_file", file, sizeof(file)))
		add_disk(d, devno);
	else if (!stat(file, &st) && S_ISBLK(st.st_mode))
		fus_stands_on(st.st_rdev, visit, d);
	else if (fus_path_device(file, &below))
		fus_stands_on(below, visit, d);
	return false;
}

void bench_disks_find(dev_t devno, struct bench_disks *d)
{
	*d = (struct bench_disks) { .device = devno };
	if (devno)
		fus_stands_on(devno, visit, d);
}

static bool get(dev_t devno, struct top_disk *t)
{
	char text[512];

	return fus_sysfs_read(devno, "stat", text, sizeof(text)) && top_parse_disk(text, t);
}

/* All that the members copy on the set's account. */
static void count_moves(const struct fusion_status *st, const char *name, struct bench_count *c)
{
	struct top_sample s = { 0 };
	char *answer;

	c->moved = st->promotions + st->demotions - st->demotions_free;
	if (fus_dm_message(name, "stats", &answer))
		return;
	top_parse_stats(answer, &s);
	free(answer);
	c->moved += s.moves[TOP_EVACUATED] + s.moves[TOP_SHADOWED];
}

static void count_set(const struct fusion_status *st, struct bench_count *c)
{
	for (int dev = 0; dev < 2; dev++) {
		c->served[BENCH_READ][dev] = st->reads[dev];
		c->served[BENCH_WRITE][dev] = st->writes[dev];
	}
}

int bench_disks_count(const struct bench_disks *d, struct bench_count *c)
{
	struct top_disk t;
	struct set set;
	int rc;

	*c = (struct bench_count) { 0 };
	if (d->device && get(d->device, &t)) {
		for (int dir = 0; dir < 2; dir++) {
			c->device[dir] = t.sectors[dir] << 9;
			c->ios += t.ios[dir];
		}
		c->busy_ms = t.busy_ms;
	}
	for (unsigned int i = 0; i < d->nr; i++) {
		if (!get(d->disk[i], &t))
			continue;
		for (int dir = 0; dir < 2; dir++)
			c->disk[dir] += t.sectors[dir] << 9;
		/* a set writes metadata on its own account, also while nothing is asked for */
		if (*d->set || d->disk[i] == d->device)
			continue;
		c->ios += t.ios[TOP_READ] + t.ios[TOP_WRITE];
		c->busy_ms = t.busy_ms > c->busy_ms ? t.busy_ms : c->busy_ms;
	}
	if (!*d->set)
		return 0;
	rc = fus_set_get(d->set, &set);
	if (rc)
		return rc;
	count_set(&set.st, c);
	count_moves(&set.st, d->set, c);
	fus_set_put(&set);
	return 0;
}
