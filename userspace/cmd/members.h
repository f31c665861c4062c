/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verb members: the drives of each set.
 *
 * members.c		which members there are
 * members-show.c	for people
 * members-json.c	for programs
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "drive.h"
#include "endurance.h"
#include "super.h"

struct json_object;

/* A member, and the drives beneath it. */
struct owned {
	char label[128], open_as[128];		/* of its set; "" if not known, or closed */
	char set_uuid[UUID_TEXT], uuid[UUID_TEXT];
	int role;				/* or -1 */
	dev_t devno, set;			/* or 0: missing, closed */
	bool missing, old;			/* old: is being replaced */
	bool chosen;				/* by the arguments */
	char model[SMART_TEXT], serial[SMART_TEXT];	/* of a missing one */
	uint64_t bytes;
	uint64_t moved, moved_seconds;		/* by moves to an open fast one */
	uint64_t budget;			/* setting write_budget, in GB a day */
	unsigned int nr;			/* drives, and their indices */
	unsigned int drive[MAX_DRIVES];
};

struct inventory {
	struct owned *m;
	unsigned int nr;
	struct drive *drive;
	unsigned int nr_drives;
	bool smartctl;
};

/* The members of an open set, with their drives asked; to be freed even if that fails. */
int members_of_set(struct inventory *inv, const char *name);
void members_free(struct inventory *inv);
/* How long a drive of the member lasts; false if it does not wear, or does not say how much. */
bool members_endurance(const struct owned *m, const struct drive *d, struct endurance *e);
/* What to do about a fault of a drive of the member; within @buf. */
const char *members_remedy(const struct owned *m, const struct drive *d,
			   const struct drive_finding *f, char *buf, size_t size);

#define TIME_TEXT	32

/* "7 hours", "12 days", "3.4 years"; returns @buf. */
const char *members_time(char buf[TIME_TEXT], int64_t hours);
void members_show(const struct inventory *inv);
struct json_object *members_json(const struct inventory *inv);

#endif
