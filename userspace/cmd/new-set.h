/* SPDX-License-Identifier: GPL-2.0-only */
/* What create, format and adopt have in common: new-set.c. */
#ifndef NEW_SET_H
#define NEW_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

struct fusion_sb;
struct json_object;

/* Check that the two are different devices, and that either can be a member. */
int new_set_check_devices(const struct device dev[2]);
/*
 * Put the fast one first, by the facts about them; unless @silent, say why. @remedy: if they do not
 * settle it.
 */
int new_set_roles(struct device dev[2], bool silent, const char *remedy);
/* Possible mistakes in the choice: bits of enum role_doubt, and what to say about them. */
unsigned int new_set_doubts(const struct device dev[2]);
void new_set_tell_doubts(const char *name, const struct device dev[2], unsigned int doubts);
struct json_object *new_set_doubts_json(unsigned int doubts);
/* The default size of an extent, in sectors, of a set of that size: so its map stays small. */
uint32_t new_set_extent(uint64_t sectors);
/*
 * Lay out the set, and give it an identity; @sb is the superblock of the fast member.
 * @extent_sectors: 0 for the default
 * @landing: size of its landing log as it was given, or NULL for none
 */
int new_set_plan(const char *name, const struct device dev[2], uint32_t extent_sectors,
		 const char *landing, struct fusion_sb *sb);
/* Say what a landing log of so many slots takes, and what it risks. */
void new_set_show_landing(const struct fusion_sb *sb, uint32_t slots);
/* Open the new set, or keep udev, which sees the new members, from opening it. */
int new_set_finish(const char *name, const struct device dev[2], bool and_open, bool json);

#endif
