/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl's verbs for closed sets, run as they are on the disks of the simulator's world.
 *
 * run.c	a verb, and the members that it opens
 * state.c	states that something may leave
 * judge.c	what each verb makes of a state; judge.h
 * cut-short.c	the same, when power fails in one of its writes
 * replacing.c	replace, which needs an open set, when power fails
 * open-host.c	what it asks of the host of that; open-host.h
 * tools.c	all of them
 */
#ifndef TOOL_H
#define TOOL_H

#include "../image.h"

/* -- run.c ------------------------------------------------------------------------ */

enum tool_verb {
	TOOL_CHECK,
	TOOL_DUMP,
	TOOL_REPAIR,
	TOOL_RESTORE,
	TOOL_SALVAGE,
};

#define TOOL_FORCE	1U
#define TOOL_SWAPPED	2U	/* the members are named the other way round */
#define TOOL_SLOW	4U	/* salvage: from the slow member */

struct tool_result {
	int rc;
	char *out, *err;	/* what was printed; to be freed by tool_end() */
	u32 writes;
};

/*
 * Run it on the disks of this world, with --yes where it asks; @file: what restore reads. It
 * answers in JSON. @max_writes: those after them fail, as if power had failed.
 */
void tool_run(struct tool_result *r, enum tool_verb verb, unsigned int flags, const char *file,
	      u32 max_writes);
void tool_end(struct tool_result *r);

/* The disks by their numbers, and where each is in the world. */
extern const char *const tool_path[SIM_MAX_DISKS];
extern u8 tool_place[SIM_MAX_DISKS];
#define TOOL_FIRST_FD	1000	/* that of disk 0 */

#define TOOL_ABORT	1U
#define TOOL_NO_WAIT	2U
#define TOOL_WAIT	4U

/*
 * Replace the member of this role by the third disk. Context: a task; fusionctl's own writes may be
 * followed by a cut, too.
 */
void tool_replace(struct tool_result *r, int role, unsigned int flags);

/* A disk has changed by a write of fusionctl. */
void tool_written(void);

/* Call @fn for each of the ranges that the answer lists under @key. Return: how many. */
typedef void (*tool_range_fn)(void *ctx, u64 first, u64 nr, u64 where);
u32 tool_ranges(const struct tool_result *r, const char *key, tool_range_fn fn, void *ctx);
u64 tool_number(const struct tool_result *r, const char *key);

/*
 * Mark extents that transactions with something in this block of the fast journal change; @later:
 * and those that all transactions after these change.
 */
void tool_touched(u64 blocknr, bool *touched, bool later);

/* -- state.c ---------------------------------------------------------------------- */

#define NR_DUMPS	4U	/* of older, closed, earlier, cut */

#define MAX_DAMAGED	2U

struct state {
	const struct life *life;
	const struct image *image;	/* what it was before */
	unsigned int own;		/* number of that, as of its dump */
	char *dump[NR_DUMPS];
	const u8 *place;		/* of each extent: enum fusion_dev, or FUSION_NR_DEVS */
	char what[128];
	bool interrupted;		/* an opening was */
	u64 torn[MAX_DAMAGED];		/* blocks of the fast journal that were damaged, or 0 */
	unsigned int damaged;		/* blocks that were */
	bool costs_nothing;		/* a repair must not lose anything */
	bool stranger[FUSION_NR_DEVS];	/* not the member it was, or that of another time */
	bool blank[FUSION_NR_DEVS];	/* and no member of any set */
	bool super[FUSION_NR_DEVS];	/* a copy of the superblock was damaged */
	bool wiped[FUSION_NR_DEVS];	/* perhaps neither copy of the superblock is left */
};

/* -- judge.c ---------------------------------------------------------------------- */

struct tally {
	u32 states;
	u32 opened;
	u32 repaired;
	u32 forced;
	u32 restored;
	u32 salvaged;
	u32 refused;
	u32 cut;		/* repairs and restorations that were cut short */
	u32 replaced;		/* members */
	u32 replacing_cut;
};

/* Print what the verb that fails has said, and what the kernel says then. */
extern bool tool_tracing;

/* Try all verbs on the world's disks; each on a copy. Fails the run. */
void judge_state(const struct state *st, struct tally *t);

/* Cut each verb that writes short in each of its last writes. Fails the run. */
void judge_last_writes(const struct state *st, struct tally *t);

/* Where the extents of @image are. */
u8 *judge_places(const struct life *life, const struct image *image);

/* -- replacing.c ------------------------------------------------------------------ */

/*
 * Replace either member of the sets of this life, with power cuts after one in @one_in changes of a
 * disk. Fails the run.
 */
void replacing_all(const struct life *life, u32 one_in, struct tally *t);

/* -- state.c ---------------------------------------------------------------------- */

/* All states of a set's life, or one in @one_in of the damaged ones. */
void states_all(const struct life *life, u32 one_in, struct tally *t);

#endif
