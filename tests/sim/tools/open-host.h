/* SPDX-License-Identifier: GPL-2.0-only */
/* The host of a set that is open in this world, as fusionctl sees it: open-host.c. */
#ifndef OPEN_HOST_H
#define OPEN_HOST_H

#include <sys/sysmacros.h>

#include "scan.h"
#include "tool.h"

#define TOOL_MAJOR	250	/* of all disks */

/* What stands where: numbers of disks by their places in the world. */
struct tool_table {
	int disk[SIM_MAX_DISKS];
	int old_role;		/* of the old member, or -1: the table names none */
};

extern struct tool_set {
	const struct setup *setup;
	struct sim_dev *dev;
	struct tool_table table;
} *tool_set;

static inline dev_t tool_devno(int disk)
{
	return makedev(TOOL_MAJOR, disk + 1);
}

static inline int tool_disk_with(dev_t devno)
{
	return minor(devno) - 1;
}

static inline struct sim_disk *tool_disk(int nr)
{
	return world->disk[tool_place[nr]];
}

struct tool_table tool_table_with(int fast, int slow, int old_role);
/* Put the disks in their places, and make a device. Return: 0 or the error of the constructor. */
int tool_make(const struct tool_table *t, struct sim_dev **dev);

/* In place of that of fusionctl. */
int __wrap_fus_member_at(dev_t devno, struct member **m);

#endif
