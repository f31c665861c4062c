/* SPDX-License-Identifier: GPL-2.0-only */
/* The landing log of a set: its size as users write it, and what cannot be done with one. */
#ifndef LANDING_SIZE_H
#define LANDING_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "size.h"

struct fusion_sb;
struct fusion_status;
struct log_stats;
struct set;

/* Bytes of a block of the log. */
#define FUS_LANDING_BLOCK	4096U
/* The fewest slots that make a log: one is being filled while others are emptied. */
#define FUS_MIN_LANDING	4U

/* The size of so many slots of a set, as "8G". Returns @buf. */
char *fus_slots_text(char buf[SIZE_TEXT], const struct fusion_sb *sb, uint64_t slots);
/*
 * "8G", "12%" of the fast member, or "0": *slots for the log of a set whose fast superblock has its
 * layout. Exit code; not all of it needs to be free.
 */
int fus_landing_slots(const char *text, const struct fusion_sb *sb, uint32_t *slots);
/*
 * Of an open set with a log: "ok", "full" if writes go past it, "off", or "stopped" after an error.
 */
const char *fus_landing_state(const struct fusion_status *st);
/* Ask the kernel for the numbers of its log; they are not known if it has none, or does not say. */
void fus_landing_stats(const struct set *set, struct log_stats *log);

/* Has its slow member a stale list? The fast one says so, as the slow one may rest. 0 or -errno. */
int fus_landing_listed(const struct set *set, bool *listed);

#endif
