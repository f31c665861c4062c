/* SPDX-License-Identifier: GPL-2.0-only */
/* Devices opened by salvage, for people: show-rescued.c. */
#ifndef SHOW_RESCUED_H
#define SHOW_RESCUED_H

struct mapping;

/* A line for each of the list, of all or of that name. Return: how many. */
unsigned int rescued_print(const struct mapping *list, const char *name);

#endif
