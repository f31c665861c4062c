/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device mapper with one device, a set that is released: it takes a table only if it fits what is
 * on the members. The rest that the verb has of the system is none.
 */
#ifndef ONLINE_DM_H
#define ONLINE_DM_H

#include <sys/sysmacros.h>

#include "release-judge.h"
#include "dm.h"
#include "pausing.h"

#define FAST_DEVNO	makedev(7, 1)
#define SLOW_DEVNO	makedev(7, 2)
#define SET_DEVNO	makedev(253, 3)

static const struct example *e;

static struct {
	bool suspended;
	unsigned int looks_left;	/* before someone else resumes it */
	char live[16], loaded[16];
	unsigned int refuse_linear;	/* so often */
} dm;

int __wrap_fus_dm_get(const char *name, const char *uuid, enum mapping_info what,
		      struct mapping *m);
int __wrap_fus_dm_pause(struct dm_pause *p, const char *name, const struct dm_line *next);
int __wrap_fus_dm_go_on(struct dm_pause *p, const struct dm_line *line);
unsigned int __wrap_fus_dm_pause_end(struct dm_pause *p);
int __wrap_pausing_begin(struct pausing *p, size_t bytes);
void __wrap_pausing_end(struct pausing *p, char *reason);
int __wrap_fus_run_lock(const char *path, int *lock);
int __wrap_fus_offline_open(const char *path, enum offline_use use, struct offline *o);

int __wrap_fus_dm_get(const char *name, const char *uuid, enum mapping_info what,
		      struct mapping *m)
{
	REQUIRE(!strcmp(name, "data") && !uuid && what == MAPPING_INFO);
	memset(m, 0, sizeof(*m));
	m->exists = true;
	m->devno = SET_DEVNO;
	if (!dm.looks_left--)
		dm.suspended = false;
	m->suspended = dm.suspended;
	return 0;
}

int __wrap_fus_dm_pause(struct dm_pause *p, const char *name, const struct dm_line *next)
{
	memset(p, 0, sizeof(*p));
	REQUIRE(!dm.suspended && !strcmp(name, "data"));
	strcpy(dm.loaded, next->target);
	dm.suspended = true;
	return 0;
}

/* It takes a set that is closed, or a disk that has all of the content. */
int __wrap_fus_dm_go_on(struct dm_pause *p, const struct dm_line *line)
{
	(void)p;
	if (line && !strcmp(line->target, "linear")) {
		REQUIRE(!strcmp(line->params, "7:2 0") && line->sectors == e->sectors[SLOW]);
		if (dm.refuse_linear) {
			dm.refuse_linear--;
			return -ENOMEM;
		}
		require_plain(e);
	}
	if (line)
		strcpy(dm.loaded, line->target);
	if (!strcmp(dm.loaded, "fusion") && find(e) != FOUND_SET)
		return -EINVAL;
	strcpy(dm.live, dm.loaded);
	dm.suspended = false;
	return 0;
}

unsigned int __wrap_fus_dm_pause_end(struct dm_pause *p)
{
	(void)p;
	return 1;
}

int __wrap_pausing_begin(struct pausing *p, size_t bytes)
{
	(void)p;
	REQUIRE(bytes > made.sb.nr_lexts * 4);
	return 0;
}

void __wrap_pausing_end(struct pausing *p, char *reason)
{
	(void)p;
	*reason = 0;
}

int __wrap_fus_run_lock(const char *path, int *lock)
{
	(void)path;
	*lock = -1;
	return 0;
}

int __wrap_fus_offline_open(const char *path, enum offline_use use, struct offline *o)
{
	const int dev = !strcmp(path, "slow");

	REQUIRE(!dm.suspended && use == OFFLINE_WRITE_HELD);
	*o = device(e, dev);
	o->devno = dev ? SLOW_DEVNO : FAST_DEVNO;
	return 0;
}

#endif
