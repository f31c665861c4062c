/* SPDX-License-Identifier: GPL-2.0-only */
/* All sets, open or closed: sets.c. */
#ifndef SETS_H
#define SETS_H

#include <stdbool.h>

#include "health.h"
#include "open-set.h"
#include "trio.h"

#define MAX_REASONS	16

/* A reason for the word for its health. */
struct reason {
	enum health level;
	const char *remedy;	/* or NULL */
	char text[400];
};

/* An open set, or one of which a member was found. */
struct found_set {
	const struct member *any;	/* one of its members, or NULL */
	const struct mapping *open;	/* NULL if it is closed */
	bool has_status;		/* an open one: @set is filled in */
	struct set set;
	bool missing[2], missing_old;
	struct trio trio;		/* while a member is being replaced */
	enum condition condition;
	struct reason reason[MAX_REASONS];
	unsigned int nr_reasons;
};

struct found_sets {
	struct found_set *set;
	unsigned int nr;
};

/*
 * Examine all sets. Return: 0, or the exit code for an open set that could not be examined; the
 * others are in the list even then.
 */
int fus_find_sets(const struct mapping *open, const struct member *list, struct found_sets *sets);
void fus_free_sets(struct found_sets *sets);
/* The set of this member, or NULL. */
const struct found_set *fus_set_of(const struct found_sets *sets, const struct member *m);
/* The member found in this role, or NULL. */
const struct member *fus_member_of(const struct found_set *s, const struct member *list, int role);
/* Another device that claims to be the same member, and is not the same disk; or NULL. */
const struct member *fus_clone_of(const struct member *list, const struct member *m);
/* The first of the worst of its reasons, or NULL. */
const struct reason *fus_worst_reason(const struct found_set *s);

#endif
