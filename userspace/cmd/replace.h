/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verb replace: a member of an open set is replaced by another disk.
 *
 * replace.c		the verb: begins it, follows it, ends it
 * replace-plan.c	the disks that are meant, and whether they can be used
 * replace-table.c	another table in the place of the present one
 * replace-follow.c	how much is left on the old member
 * replace-show.c	output
 * replace-lost.c	--lost: the fast member is gone, and the set is closed
 *
 * Three tables follow each other: that of the set before; one in which NEW is the member and OLD
 * the old member; and one without OLD. The kernel joins NEW when the second one is loaded, moves
 * what is on OLD, and accepts the third one if nothing is left there. Between them nothing depends
 * on this program: after a power cut the set opens with all three disks, and goes on.
 */
#ifndef REPLACE_H
#define REPLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "device.h"
#include "open-set.h"
#include "probe.h"
#include "scan.h"
#include "dm-fusion-codec.h"

struct args;

struct replacing {
	const struct args *a;
	const char *name;
	struct set set;			/* as it was when it was looked at last */
	int role;			/* of the member that is replaced */
	bool running;			/* the set has an old member */
	bool back;			/* what is on NEW goes back to OLD */
	struct device disk[2];		/* OLD and NEW, as the command names them */
	struct member *m[2];		/* the members of the set, by role; NULL if unreadable */
	struct member *found;		/* on OLD, before it is replaced: NULL if unreadable */
	struct fusion_sb sb;		/* a superblock of the member that is replaced */
	char content[CONTENT_TEXT];	/* of NEW, or "" */
	unsigned int doubts;		/* of NEW, and not of OLD: bits of enum role_doubt */
	unsigned int paused_ms;
	bool begun, ended, wiped;	/* what this command has done */
	bool over;			/* it had been done before: OLD is no member, NEW is */
	struct part *lost;		/* what cannot be read; by sector */
	size_t nr_lost;
};

enum { OLD, NEW };

/* -- replace-lost.c */

/* The fast member of a closed set is lost: the verb with --lost. */
int cmd_replace_lost(const struct args *a);

/* -- replace-plan.c */

/* Look at the set again. */
int replace_look(struct replacing *r);
/* The set as it is, and which disks are meant. */
int replace_get(struct replacing *r);
void replace_put(struct replacing *r);
/* May NEW become a member, instead of OLD? */
int replace_check_new(struct replacing *r);
/* Would it be a better member than OLD is? r->doubts; told to people. No reason to refuse. */
int replace_look_for_doubts(struct replacing *r);
/*
 * The disk that is to be freed when nothing is left on it, and the one that stays: of those in the
 * table while it runs, whatever the direction.
 */
const struct device *replace_going(const struct replacing *r);
const struct device *replace_coming(const struct replacing *r);

/* -- replace-table.c */

/* NEW, which has a superblock for this, joins in place of OLD. */
int replace_join(struct replacing *r);
/* What is on NEW goes back to OLD. */
int replace_take_back(struct replacing *r);
/* The set goes on without the old member, on which nothing is left. */
int replace_leave(struct replacing *r);

/* -- replace-follow.c */

/* Wait until nothing is left on the old member, or only what cannot be read. */
int replace_follow(struct replacing *r);
/* The kernel tries again to read what it could not. */
int replace_retry(struct replacing *r);
/* Ask the kernel what it cannot read: r->lost. */
int replace_find_lost(struct replacing *r);

/* -- replace-show.c */

void replace_show_plan(const struct replacing *r);
void replace_show(const struct replacing *r);
/* The extents that cannot be read, and the files in them, for people; or into the JSON. */
int replace_show_lost(const struct replacing *r);
int replace_json(const struct replacing *r, bool dry_run);

#endif
