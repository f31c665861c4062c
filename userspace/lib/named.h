/* SPDX-License-Identifier: GPL-2.0-only */
/* Open sets by any of their names: named.c. */
#ifndef NAMED_H
#define NAMED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The name of the open set that @word means: by its label, its uuid, or a device, its own or a
 * member; with @salvaged also a device that salvage made. *found is false if there is none, or if
 * @word is itself the name of a mapped device.
 */
int fus_open_name(const char *word, bool salvaged, char *name, size_t size, bool *found);
/* The same, and also if @word is the name of an open set, which *name is then. */
int fus_open_set_name(const char *word, char *name, size_t size, bool *found);
struct fus_error;
/*
 * Return: whether the set is closed. Then *@e says so, or why it cannot be opened; no listener gets
 * it.
 */
bool fus_closed_error(const char *name, struct fus_error *e);
/* Fail: no such set is open. Says whether it is closed, or which one may have been meant. */
int fus_fail_not_open(const char *name);

#endif
