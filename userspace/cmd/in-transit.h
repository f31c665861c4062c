/* SPDX-License-Identifier: GPL-2.0-only */
/* What adopt and release have in common: in-transit.c. */
#ifndef IN_TRANSIT_H
#define IN_TRANSIT_H

#include <limits.h>

#include "transit.h"

struct args;

/* Options that exclude each other. */
int transit_check_options(const struct args *a);
/*
 * By the name of the set: path[0] is the disk, path[1] the other member. The disk has no superblock
 * for a time; its size and hardware tell. If it is a plain one again, path[0] is empty.
 */
int transit_find(const char *name, enum fusion_transit_kind kind, char path[2][PATH_MAX]);
/* Check that the disk is no copy of the right one, once that has a superblock of the set. */
int transit_check_no_copy(const struct transit *t);
/* Check that the set is called so, by its name or uuid. */
int transit_check_name(const struct transit *t, const char *name);

#endif
