/* SPDX-License-Identifier: GPL-2.0-only */
/* Decide which of two devices is the slow one: role.c. */
#ifndef ROLE_H
#define ROLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const char *const fus_role_name[2];

/* The facts that decide; separate from struct device, so that tests need no disks. */
struct role_fact {
	uint64_t sectors;
	int rotational;
};

/*
 * Return: the index of the slow one, 0 or 1, or -1 if the facts do not settle it. @why gives the
 * grounds.
 */
int fus_choose_slow(const struct role_fact f[2], char *why, size_t size);

/* Possible mistakes in the choice of two members, of which f[FAST] is the fast one: bits. */
enum role_doubt {
	ROLE_FAST_ROTATES,	/* the fast member is a rotational disk */
	ROLE_FAST_LARGER,	/* and larger than the slow one */
	ROLE_ONE_DISK,		/* both are on one disk */
	NR_ROLE_DOUBTS
};

unsigned int fus_role_doubts(const struct role_fact f[2], bool one_disk);

#endif
