/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl explain: why extents lie where they do, and what would move them.
 *
 * explain.c		verb explain: which extents, and what the kernel knows of them
 * explain-file.c	which extents a file lies on
 * explain-print.c	text and JSON
 * explain-summary.c	the same for extents counted by their verdict
 * explain-parse.c	the kernel's messages extents and policy
 * explain-policy.c	the policy, rebuilt of these, is asked
 * explain-verdict.c	what follows
 *
 * The last three need nothing else of fusionctl but the names of members, and size.c.
 */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dm-fusion-policy.h"

/* The kernel gives so many extents with a message. */
#define EXPLAIN_WINDOW	4096

/* No heat moves the extent. */
#define NO_HEAT		UINT32_MAX

/* Why the kernel leaves an extent alone; the first ones as enum fusion_outcome. */
enum explain_hold {
	HOLD_MOVED = FUSION_MOVED,
	HOLD_CANCELLED = FUSION_CANCELLED,
	HOLD_FAILED = FUSION_FAILED,
	HOLD_SKIPPED = FUSION_SKIPPED,
	HOLD_LEAVES,		/* it lies inside the fence, or on the old member */
	NO_HOLD,
};

extern const char *const explain_hold_name[NO_HOLD];

/* A line of the message extents. */
struct explain_extent {
	uint32_t lext;
	int member;		/* FAST, SLOW, or -1 */
	uint32_t slot;
	char state[12];
	uint32_t heat;
	bool aged;		/* it has heat, and so the next one */
	uint64_t age;		/* seconds since the last access that counted, at least */
	enum explain_hold hold;
	uint64_t hold_s;
	bool partial;		/* OPEN, and so the next one */
	uint32_t valid;		/* blocks */
	char shadow[12];
	char replica[8];
	int pin;		/* FAST + 1, SLOW + 1, or 0: to which member it is pinned */
	bool logs;		/* the set has a landing log, and so the next one */
	uint32_t logged;	/* blocks that have their newest content there */
};

/* The message policy. */
struct explain_policy {
	struct fusion_policy_env env;
	struct fusion_policy_view view;
	/* of the survey */
	uint32_t candidates, hottest, hottest_swap;
	uint32_t victims[2], coldest[2];	/* without a current shadow, and with one */
	uint32_t batch;
	uint64_t pause_ms;
	bool limited;		/* by a write budget, and so the next one */
	int64_t budget;		/* extents that the policy may promote */
	bool migration, standby, homing, requests, stopped;
	uint32_t evacuate;	/* extents */
	bool rw;		/* mode of the set */
};

/* Parse the answers, strictly; they are changed. Return: NULL, or the fault. */
const char *explain_parse_policy(char *answer, struct explain_policy *p);
const char *explain_parse_extent(char *line, struct explain_extent *e);

/* -- the policy itself ------------------------------------------------------------------ */

/* A policy of a few extents, in the situation of the kernel's. */
struct explain_world;
struct explain_world *explain_world_create(const struct explain_policy *p);
void explain_world_destroy(struct explain_world *w);

/* What to leave out of the situation. */
struct explain_if {
	bool idle;		/* as if there were no foreground I/O */
	bool not_held;		/* as if its last move had nothing against it */
	bool no_budget;		/* as if the write budget were used up: nothing is promoted */
	uint32_t heat;		/* of the extent */
};

/* Would the policy choose the extent now, if it alone wanted to be promoted? */
bool explain_moves(struct explain_world *w, const struct explain_extent *e,
		   const struct explain_if *what);

/* Does the outcome of its last move keep it where it is? */
bool explain_held(struct explain_world *w, const struct explain_extent *e, bool idle);

/*
 * The heat from which the policy would promote an extent of the slow member, or up to which it
 * would demote one of the fast member; NO_HEAT: none. @what->heat is not used.
 */
uint32_t explain_threshold(struct explain_world *w, const struct explain_extent *e,
			   const struct explain_if *what);

/* Eighths of a half-life until heat has fallen so far, without another access. */
unsigned int explain_decay(struct explain_world *w, uint32_t heat, uint32_t to);

/* -- what follows ------------------------------------------------------------------------ */

enum explain_verdict {
	VERDICT_UNMAPPED,	/* it has no place */
	VERDICT_LOST,
	VERDICT_PARTIAL,	/* it is not moved before it is complete */
	VERDICT_MOVING,		/* it is being copied */
	VERDICT_LEAVES,		/* the fence, or the old member */
	VERDICT_PINNED,		/* it is where it is pinned to */
	VERDICT_MOVES,		/* it is one of those that move next */
	VERDICT_WAITS,		/* the policy would move it, but something is in the way */
	VERDICT_STAYS,
	NR_VERDICTS,
};

extern const char *const explain_verdict_name[NR_VERDICTS];

/* What may be in the way of a move that the policy wants: a bit each. */
enum explain_wait {
	WAIT_MODE,		/* the set is not in mode rw */
	WAIT_STOPPED,		/* the device is suspended */
	WAIT_MIGRATION,		/* migration is off */
	WAIT_STANDBY,		/* the slow member rests */
	WAIT_HOMING,
	WAIT_EVACUATION,	/* extents that have to leave their slots come first */
	WAIT_REQUESTS,		/* and so do moves on request */
	WAIT_BUDGET,		/* the write budget is used up */
	WAIT_DUTY,		/* the mover pauses */
	WAIT_HOLD,		/* its last move */
	WAIT_IDLE,		/* foreground I/O */
	NR_WAITS,
};

extern const char *const explain_wait_name[NR_WAITS];
/* As a part of a sentence; "" for WAIT_HOLD. */
extern const char *const explain_wait_text[NR_WAITS];

/* What is in the way of every move, of whichever extent. */
unsigned int explain_mover_waits(const struct explain_policy *p);

struct explain_answer {
	enum explain_verdict verdict;
	unsigned int waits;	/* a bit for each enum explain_wait */
	int to;			/* the member that it may move to, or -1 */
	uint32_t at;		/* the heat at which it moves, or NO_HEAT: as things are, */
	uint32_t at_idle;	/* and without foreground I/O */
	unsigned int eighths;	/* of a half-life until it is that cold, if it is demoted */
};

void explain_judge(struct explain_world *w, const struct explain_policy *p,
		   const struct explain_extent *e, struct explain_answer *a);

/* Accesses at which heat grows from @heat to @at, each in a tick of its own. */
uint32_t explain_accesses(uint32_t heat, uint32_t at);

/* -- a file ------------------------------------------------------------------------------- */

struct explain_file {
	const char *path;
	uint64_t bytes;		/* of it that are on the set, */
	uint64_t *on;		/* and on each extent of the set */
	uint64_t nr;		/* extents with some; if there are any, the next two */
	uint64_t first, last;
};

/* Find where it lies on the open set @set. @path has to last as long; free it in any case. */
int explain_file_get(const char *path, const char *set, struct explain_file *f);
void explain_file_put(struct explain_file *f);

/* -- what is printed ---------------------------------------------------------------------- */

struct explain_set {
	const char *name;
	uint64_t extents, extent_bytes;
	const struct explain_file *file;	/* or NULL: extents were named */
	struct explain_policy policy;
	struct explain_world *world;
};

/* Extents counted by verdict, member, and what they wait for; zeroed at first. */
struct explain_summary {
	struct explain_group *group;
	unsigned int nr;
};

int explain_count(struct explain_summary *s, const struct explain_extent *e,
		  const struct explain_answer *a, uint64_t file_bytes);
void explain_summary_free(struct explain_summary *s);

struct json_object;

void explain_print_summary(const struct explain_file *f, struct explain_summary *s);
struct json_object *explain_summary_json(const struct explain_set *set, struct explain_summary *s);
struct json_object *explain_file_json(const struct explain_file *f);
struct json_object *explain_waits_json(unsigned int waits);
void explain_print_policy(const struct explain_set *set);
void explain_print_extent(const struct explain_set *set, const struct explain_extent *e,
			  const struct explain_answer *a);
struct json_object *explain_policy_json(const struct explain_set *set);
struct json_object *explain_extent_json(const struct explain_set *set,
					const struct explain_extent *e,
					const struct explain_answer *a);

#endif
