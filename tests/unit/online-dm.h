/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device mapper with one device, a set that is released: it takes a table only if it fits what is
 * on the members. The rest that the verb has of the system is none.
 */
#ifndef ONLINE_DM_H
#define ONLINE_DM_H

#include <sys/sysmacros.h>
#include <time.h>

#include "release-again.h"
#include "busy.h"
#include "device.h"
#include "dm.h"
#include "pausing.h"
#include "reach.h"

#define FAST_DEVNO	makedev(7, 1)
#define SLOW_DEVNO	makedev(7, 2)
#define SET_DEVNO	makedev(253, 3)

static const struct example *e;

static struct {
	bool suspended;
	unsigned int looks_left;	/* before someone else resumes it */
	char live[16], loaded[16];
	unsigned int looks, intruder;	/* there were, and at which another machine comes */
	unsigned int refuse_linear;	/* so often */
	unsigned int writes;		/* when it was resumed */
	const char *params;		/* of the table that is there by now */
	u64 reach[2];			/* sectors that others use, before and while suspended */
	bool held;			/* it is open */
	bool taken;			/* another program uses the fast member then */
	bool reads_fail;		/* of the member whose writes fail by then */
	u64 slept_ms;
	u64 now_ms, step_ms;		/* each look at the clock takes so long */
} dm;

int __wrap_fus_dm_get(const char *name, const char *uuid, enum mapping_info what,
		      struct mapping *m);
int __wrap_fus_dm_pause(struct dm_pause *p, const char *name, const struct dm_line *next);
int __wrap_fus_dm_go_on(struct dm_pause *p, const struct dm_line *line);
unsigned int __wrap_fus_dm_pause_end(struct dm_pause *p);
/* the prototypes of the verb: one that changes is an error here */
typeof(pausing_begin) __wrap_pausing_begin;
typeof(pausing_reason) __wrap_pausing_reason;
typeof(pausing_end) __wrap_pausing_end;
int __wrap_fus_run_lock(const char *path, int *lock);
int __wrap_fus_offline_open(const char *path, enum offline_use use, struct offline *o);
int __real_fus_offline_read(const struct offline *o, u64 offset, size_t bytes, void *buf);
int __wrap_fus_offline_read(const struct offline *o, u64 offset, size_t bytes, void *buf);
int __wrap_fus_open_node(const char *path, dev_t devno, int flags);
void __wrap_fus_reach(dev_t devno, struct reach *r);
uint64_t __wrap_online_now_ms(void);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
bool __wrap_fus_device_user(dev_t devno, struct user *user);

/* Beside the devices of other tests. */
static void begin_dm(void)
{
	memset(&dm, 0, sizeof(dm));
	dm.looks_left = ~0U;
	dm.params = "7:1 7:2 2 idle 100";
	strcpy(dm.live, "fusion");
}

/* Another machine opens the set: its fast member gets a superblock. */
static void open_elsewhere(void)
{
	struct fusion_sb sb, best = { .generation = 0 };
	const char *why;

	for (int i = 0; i < 2; i++) {
		const u64 blocknr = FUSION_SUPER_BLOCKNR(i);

		if (!fusion_sb_unpack(world.mem[FAST] + blocknr * FUSION_BLOCK_SIZE, blocknr,
				      e->sectors[FAST], &sb, &why) &&
		    sb.generation > best.generation)
			best = sb;
	}
	best.generation++;
	best.activation++;
	fusion_sb_pack(&best, FUSION_SUPER_BLOCKNR(best.generation & 1), world.mem[FAST] +
		       FUSION_SUPER_BLOCKNR(best.generation & 1) * FUSION_BLOCK_SIZE);
}

int __wrap_fus_dm_get(const char *name, const char *uuid, enum mapping_info what,
		      struct mapping *m)
{
	REQUIRE(!strcmp(name, "data") && !uuid);
	memset(m, 0, sizeof(*m));
	m->exists = true;
	m->devno = SET_DEVNO;
	if (what == MAPPING_TABLE) {
		m->sectors = fusion_sb_sectors(&made.sb);
		strcpy(m->target, dm.live);
		m->params = strdup(dm.params);
	} else if (!dm.looks_left--) {
		dm.suspended = false;
		dm.writes = world.writes;
	} else if (++dm.looks == dm.intruder) {
		open_elsewhere();
		dm.writes = world.writes;
	}
	m->suspended = dm.suspended;
	return 0;
}

int __wrap_fus_dm_pause(struct dm_pause *p, const char *name, const struct dm_line *next)
{
	memset(p, 0, sizeof(*p));
	REQUIRE(!dm.suspended && dm.held && !strcmp(name, "data"));
	REQUIRE(!strcmp(next->params, dm.params));
	strcpy(dm.loaded, next->target);
	dm.suspended = true;
	return 0;
}

/* It takes a set that is closed, or a disk that has all of the content. */
int __wrap_fus_dm_go_on(struct dm_pause *p, const struct dm_line *line)
{
	(void)p;
	if (world.dead)
		return -EIO;
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

void __wrap_pausing_reason(struct pausing *p, char *reason)
{
	(void)p;
	*reason = 0;
}

/* A line about it is said before. */
void __wrap_pausing_end(struct pausing *p, bool stays)
{
	(void)p;
	REQUIRE_EQ(stays, dm.suspended);
	REQUIRE(!stays || strstr(fus_last_error()->what, "stays suspended"));
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

int __wrap_fus_open_node(const char *path, dev_t devno, int flags)
{
	REQUIRE(!dm.suspended);
	if (devno == FAST_DEVNO) {
		/* to be wiped */
		REQUIRE(!strcmp(path, "fast") && flags & O_EXCL && !strcmp(dm.live, "linear"));
		dm.writes = world.writes;
		if (dm.taken) {
			errno = EBUSY;
			return -1;
		}
		world.fd[FAST] = dup(world.fd[FAST]);
		return world.fd[FAST];
	}
	REQUIRE(!strcmp(path, "/dev/mapper/data") && devno == SET_DEVNO);
	dm.held = true;
	return open("/dev/null", flags);
}

void __wrap_fus_reach(dev_t devno, struct reach *r)
{
	memset(r, 0, sizeof(*r));
	REQUIRE(devno == SET_DEVNO);
	r->sectors = dm.reach[dm.suspended];
	r->held = r->sectors;
	strcpy(r->name, "/dev/mapper/top");
}

int __wrap_fus_offline_read(const struct offline *o, u64 offset, size_t bytes, void *buf)
{
	if (dm.reads_fail && world.fails.nr && !world.fails.from &&
	    dev_of(o) == world.fails.dev)
		return -EIO;
	return __real_fus_offline_read(o, offset, bytes, buf);
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	dm.slept_ms += time->tv_nsec / 1000000;
	return 0;
}

uint64_t __wrap_online_now_ms(void)
{
	dm.now_ms += dm.step_ms;
	return dm.now_ms;
}

/* By their paths, which may lead through the device. */
bool __wrap_fus_device_user(dev_t devno, struct user *user)
{
	(void)user;
	REQUIRE(!dm.suspended && devno == SET_DEVNO);
	return false;
}

#endif
