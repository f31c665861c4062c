/* SPDX-License-Identifier: GPL-2.0-only */
/* Device mapper: dm.c; dm-table.c for tables. */
#ifndef DM_H
#define DM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "super.h"

struct dm_task;

#define DM_PREFIX	"FUSION-"
#define DM_SALVAGE_PREFIX "SALVAGE-"	/* of the devices that salvage makes, */
#define STALE_SUFFIX	"-stale"	/* and behind that of older versions; of their names, too */

/* A line of a table; each begins where the one before ends. */
struct dm_line {
	uint64_t sectors;
	const char *target;
	const char *params;
};

struct mapping {
	struct mapping *next;
	char name[128];
	char uuid[130];
	dev_t devno;
	int open_count;
	bool exists;
	bool live;		/* has a table */
	bool suspended;
	uint64_t sectors;
	char target[32];	/* of its first table line */
	char *params;		/* rest of that line, or of the status */
};

enum mapping_info { MAPPING_INFO, MAPPING_TABLE, MAPPING_STATUS };

void fus_dm_setup(void);
/* How long to wait for udev to make the links of a device; 30 s by default. */
void fus_dm_udev_limit(unsigned int ms);
/* By name, or by uuid if name is NULL. */
int fus_dm_get(const char *name, const char *uuid, enum mapping_info what, struct mapping *m);
void fus_dm_put(struct mapping *m);
/* All fusion sets. */
int fus_dm_list(enum mapping_info what, struct mapping **list);
/* All devices that salvage made. */
int fus_dm_list_rescued(struct mapping **list);
bool fus_dm_is_rescued(const struct mapping *m);
/* The uuid of the set of a device that salvage made; *stale if it has only the stale extents. */
const char *fus_dm_rescued_uuid(const struct mapping *m, char buf[UUID_TEXT], bool *stale);
void fus_dm_free_list(struct mapping *list);
/* Like fus_dm_get(), but fails unless it is an open fusion set. */
int fus_dm_get_set(const char *name, enum mapping_info what, struct mapping *m);
/* The same for one of a list, which may have been closed since: *found is false then. */
int fus_dm_get_if_open(const char *name, enum mapping_info what, struct mapping *m, bool *found);

/* Return: whether it is a set, even one without a table; not one that was released since. */
bool fus_dm_is_set(const struct mapping *m);
/* The uuid of the set, as text, within @m. */
const char *fus_dm_set_uuid(const struct mapping *m);

/* Return 0 or -errno, without a message. */
int fus_dm_create(const char *name, const char *uuid, const struct dm_line *line, size_t nr,
		  bool read_only);
int fus_dm_remove(const char *name);
int fus_dm_rename(const char *name, const char *to);

/* A device that is suspended, to get another table. What is on it is frozen, and its I/O waits. */
struct dm_pause {
	const char *name;
	struct dm_task *resume;		/* private */
	uint32_t cookie;
	bool tried;			/* to resume it */
	unsigned int begun, ms;		/* when, and how long it was suspended */
};

/*
 * Load the table @next, let the set write a checkpoint, and suspend the device. If that fails, it
 * is as it was. A checkpoint that fails is no failure of this.
 */
int fus_dm_pause(struct dm_pause *p, const char *name, const struct dm_line *next);
/* Resume it, with the table that was loaded last, or with @line. If that fails, try another. */
int fus_dm_go_on(struct dm_pause *p, const struct dm_line *line);
/* After it: wait for udev. Return: how long the device was suspended, or is by now, in ms. */
unsigned int fus_dm_pause_end(struct dm_pause *p);

struct dm_exchange {
	const struct dm_line *now, *next;
	const struct dm_line *back;	/* or NULL */
	/* results, zero before */
	unsigned int paused_ms;		/* so long the device was suspended */
	bool is_back;			/* it has the table @back */
	bool stuck;			/* it stays suspended: no table could be resumed */
};

/*
 * All of it: put the table @next in the place of @now. If that fails the device has the table @now
 * again; if not even that can be had, which may be because the set is as @next wants it, @next or
 * @back.
 */
int fus_dm_exchange(const char *name, struct dm_exchange *x);

/* Send a message; the answer, if any, is to be freed. */
int fus_dm_message(const char *name, const char *message, char **answer);
/* Version of the target in the kernel; loads the module if it has to. */
int fus_dm_target_version(bool load, unsigned int version[3], bool *found);

#endif
