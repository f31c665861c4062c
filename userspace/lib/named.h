/* SPDX-License-Identifier: GPL-2.0-only */
/* Open sets by any of their names: named.c. */
#ifndef NAMED_H
#define NAMED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What the open set is called that is meant by @word, which is a name that it keeps, its uuid, or
 * a device, its own or a member's; with @salvaged it may be one that salvage made. *found is false
 * if there is none, or if @word is the name of a mapped device itself.
 */
int fus_open_name(const char *word, bool salvaged, char *name, size_t size, bool *found);
struct fus_error;
/* Is the set closed? Then *@e says so, or why it can't be opened; nobody else hears of it. */
bool fus_closed_error(const char *name, struct fus_error *e);
/* Fail: no such set is open. Says whether it is closed, or which one may have been meant. */
int fus_fail_not_open(const char *name);

#endif
