/* SPDX-License-Identifier: GPL-2.0-only */
/* A set of numbers, for what is to be counted once: seen.c. */
#ifndef SEEN_H
#define SEEN_H

#include <stddef.h>
#include <stdint.h>

struct seen {
	struct seen_page **page;	/* hashed; NULL at first */
	size_t size, nr;
};

/*
 * Add the beginning of a range: as many numbers as are in the set already, or as are not. *@nr: so
 * many. Return: 1 if they are new, 0, or -ENOMEM.
 */
int fus_seen_add(struct seen *s, uint64_t first, uint64_t count, uint64_t *nr);
void fus_seen_free(struct seen *s);

#endif
