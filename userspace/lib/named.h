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
int open_name(const char *word, bool salvaged, char *name, size_t size, bool *found);
/* Of a closed set: "is closed; fusionctl open data opens it", or why that can't be; else false. */
bool closed_text(const char *name, char *buf, size_t size);
/* Fail: no such set is open. Says whether it is closed, or which one may have been meant. */
int fail_not_open(const char *name);

#endif
