/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A run as it goes on.
 *
 * run.c	from world to world: it begins, crashes, goes on
 * carry-out.c	operations on the open set
 * reopen.c,	operations that close it, or put another table in its place
 * shrink.c
 * cut.c	power is cut on the way, and what a recovery finds is judged
 */
#ifndef RUN_STATE_H
#define RUN_STATE_H

#include "invariants.h"
#include "model.h"
#include "run.h"

/* The sizes that a set may have had. */
#define MAX_SIZES	32U

struct state {
	struct run *run;
	struct model *model;
	struct sim_dev *dev;
	bool ready;		/* @dev may be looked into */
	const void *outside;	/* it, seen from where its disks are found after a cut */
	unsigned int busy;	/* operations under way */
	u32 begun;		/* operations, all in all */
	u32 next;		/* operation */
	bool crashed;
	bool closed;		/* the set was closed in order, and nothing has failed */
	bool keeping;		/* a setting, or the set's name, is being changed */
	bool fencing;		/* a fence is being put up or taken down */
	bool homing;		/* homing is being turned on or off */
	bool going_down;	/* the machine is being shut down */
	struct fence_seen fence;
	struct kept keep_tried;	/* the last values that were asked for, */
	struct kept keep_sure;	/* and the last ones that are known to be kept: all only grow */
	u32 nr_sectors;		/* of a set that is as large as it may become */
	u64 *content;
	u32 size[MAX_SIZES];	/* extents that the set has had, or may have, from the first on; */
	u32 nr_sizes;
	u32 sure;		/* of these, the last one that it had for certain */
};

/* -- cut.c ------------------------------------------------------------------------ */

/*
 * Open the set on the world's disks. Fails the run if the replica, the map or the settings are not
 * what they must be. open_set() also fails it if the set cannot be opened. Return: 0 or the error.
 */
int try_open(struct state *st, struct sim_dev **dev, bool read_only);
void open_set(struct state *st, struct sim_dev **dev, bool read_only);

/* Only make its table. Fails the run if the set is smaller than it was for certain. */
int make_table(struct state *st, struct sim_dev **dev, bool read_only);

/* The same with the third disk, or without. */
int make_table_with(struct state *st, struct sim_dev **dev, bool read_only, bool old);
void close_set(struct sim_dev *dev);

/* What is kept must have been asked for, and must not be older than the last promise. */
void check_kept(const struct state *st, struct kept kept);

/* Read all sectors; a read that fails, fails the run. */
void read_all(struct state *st, struct sim_dev *dev, u64 *content);

/* Fails the run unless @content is @expect, or if that is NULL, what the model allows. */
void compare_content(struct state *st, const u64 *content, const u64 *expect, const char *what);

/* All disks of the world. */
void set_readonly(bool readonly);

/* The cut of a run's worlds: a sim_cut_fn, @ctx is the state. */
void cut_run(struct sim_world *w, void *ctx);

/* -- carry-out.c ------------------------------------------------------------------ */

/* Begin @op, or do it. Sets @st->crashed if power fails then. */
void carry_out(struct state *st, const struct op *op);

/* Until at most so many operations are under way. */
void wait_busy(struct state *st, unsigned int most);

/* From now on both disks work. */
void stop_faults(void);

/* Have the set keep a setting, or a name; not while that is being done. */
void keep_something(struct state *st, struct sim_dev *dev);

/* -- stories-pins.c --------------------------------------------------------------- */

/* Send a message that pins extents, or begins or ends a set of pins. */
void pin_some(struct state *st, const struct op *op);

/* While nothing else happens, pinned extents come to lie where they belong. */
void wait_pinned(struct state *st);

/* -- stories-landing.c ------------------------------------------------------------ */

/* Send the message that drains the landing log; 1: that turns it off, 2: on. */
void drain_log(struct state *st, u32 what);

/* Mostly: turn it off. */
void turn_log_off(struct state *st);

/* The same while nothing else happens: nothing is left of it. */
void wait_drained(struct state *st);

/* -- reopen.c --------------------------------------------------------------------- */

/* Close the set, after a suspend or without one. Nothing is under way. */
void close_run(struct state *st);

/*
 * Close and open, with @read_only also read-only between; and let a second table take over. Both
 * wait until nothing is under way. Where disks may fail, a crash takes the place of the opening.
 */
void reopen(struct state *st, bool read_only);
void reload(struct state *st);

/* The disks become larger, and a second table lets the set grow. */
void grow(struct state *st);

/* Has the set gone read-only as its heartbeat was late? Fails if its superblock does not tell. */
bool gave_up(void);

/* Read it all, while nothing is under way. */
void check_all(struct state *st);

/* -- replace.c -------------------------------------------------------------------- */

/*
 * A new disk joins; or is taken back; or the set parts from the old one, if that is empty. Waits
 * until nothing is under way.
 */
void replace(struct state *st);

/* -- shrink.c --------------------------------------------------------------------- */

/* Empty some of the end of the set, and of a member; a second table gives that up, or refuses. */
void shrink(struct state *st);

#endif
