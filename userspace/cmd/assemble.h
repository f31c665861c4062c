/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verb assemble.
 *
 * assemble.c		opens sets: that of a new member, or all
 * assemble-pairs.c	which members belong together
 * assemble-waiting.c	lists those whose partner is missing
 */
#ifndef ASSEMBLE_H
#define ASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "super.h"

struct mapping;
struct member;

/* Is "nofusion" on the kernel's command line? */
bool assembly_turned_off(void);
#define STAYS_TEXT	(SUPER_TEXT + 32)
/* Return: whether the set of the member opens only on request; @why and *remedy give the reason. */
bool stays_closed(const struct member *m, char why[STAYS_TEXT], const char **remedy);

/* -- assemble.c: the mapping of the set of @m, if it is open */
int get_mapping(const struct member *m, struct mapping *map);

/* -- assemble-pairs.c */

/* The members found of a set: two that name each other, or one that lacks its partner. */
struct pair {
	struct member *m, *peer;
	struct member *old;	/* that is being replaced by one of the two */
	bool lacks_old;		/* it is missing */
	struct member *foreign;	/* names one of them, but is not named by it */
	struct member *replaced; /* the same, of a member that was replaced: not needed */
};

/* Return: whether @m is the first one of its set in @list. */
bool begins_set(const struct member *list, const struct member *m);
/* @m: the first one of its set in @list. */
int find_pair(struct member *list, struct member *m, struct pair *p);
#define FOREIGN_TEXT	256
/* Describe a member that names @used, but is not named by it, or one of the same role as @used. */
void foreign_text(const struct member *m, const struct member *used, char *buf, size_t size);
/*
 * Fail because of it; or warn, if it was replaced. @complete: the members of its set are all there,
 * so nobody needs what was replaced.
 */
int fail_foreign(const struct member *m, const struct member *used, bool complete);
void warn_replaced(const struct member *m, const struct member *used, bool complete);
/* Return: whether all are there that the set needs. */
bool is_complete(const struct pair *p);
/* "the fast member /dev/sda is here, the slow one is missing (...)" */
void waits_text(const struct pair *p, char *buf, size_t size);

/* -- assemble-waiting.c: list them on stdout; @remedies: with what to do about them */
int list_waiting(bool json, bool remedies);

#endif
