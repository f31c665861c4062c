/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the judges share: how the kernel opens the disks, and what a verb may have lost.
 *
 * found.c	how the kernel opens the disks
 * judge.c	verbs that end
 * cut-short.c	verbs that power ends
 */
#ifndef JUDGE_H
#define JUDGE_H

#include "tool.h"

/* How the kernel opens the disks. */
struct found {
	const struct state *st;
	const char *after;
	int error;
	bool *right;		/* of each extent, if it opens */
	u64 *content;		/* the same: what it reads, a stamp for each sector */
	u32 nr_wrong;
};

/* Extents that the verb owns up to have lost. */
struct excuse {
	bool *given;
	u32 nr;
	u32 nr_extents;
};

/* Begin a world with copies of the disks of this one. */
void copy_world(void);
void end_world(void);

/*
 * On a copy: the disks are as they were after it. What is found belongs to the world in which it
 * was begun; found_read() may be called in one that is begun in that.
 */
struct found *found_new(const struct state *st, const char *after);
void found_read(struct found *f);
/* Both. */
struct found *kernel_reads(const struct state *st, const char *after);
/* Return: whether both opened, and read the same. */
bool same_found(const struct state *st, const struct found *a, const struct found *b);

/* Return: whether a block of the fast journal was damaged. */
bool is_torn(const struct state *st);
/*
 * Return: whether the two damaged blocks are the last ones of the journal of a set that was cut. It
 * looks like one that was cut two transactions earlier, of which the second was torn.
 */
bool lost_last_two(const struct state *st);

__attribute__((noreturn))
void complain(const struct state *st, const char *verb, const struct tool_result *r,
	      const char *why);

/* Return: whether a member is none of the set, or of another time. */
bool is_strange(const struct state *st);

/* Extents that repair cannot know: those that it lists, and those of a lost transaction. */
struct excuse *excuses(const struct state *st, const struct tool_result *r);
void add_excuses(const struct state *st, const struct tool_result *r, struct excuse *e);

/*
 * Written, so it must open; what could be read still is right, what could not is, if it is there,
 * or the verb has said so. Without excuses only the former counts.
 */
void check_written(const struct state *st, const char *verb, const struct tool_result *r,
		   const struct found *before, const struct excuse *e);

/* Cut one of the verbs that write short, once. */
void judge_cuts(const struct state *st, const struct found *before, struct tally *t);

#endif
