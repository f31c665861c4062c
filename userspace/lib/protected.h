/* SPDX-License-Identifier: GPL-2.0-only */
/* What the slow member of an open set has of what is on the fast one: protected.c. */
#ifndef PROTECTED_H
#define PROTECTED_H

#include <stdint.h>

#include "health.h"

struct fusion_status;
struct set;

#define AGE_TEXT	32

/* "40 s", or in minutes, hours or days, rounded up. Returns @buf. */
char *fus_age_text(char buf[AGE_TEXT], uint64_t seconds);

/* Are copies to be recorded on the slow member? If not, @setting is the one that says so. */
bool fus_protects(const struct fusion_status *st, const char **setting);

#define PROTECTED_TEXT	256

/*
 * Is less protected than was asked for, and why? Return: HEALTH_OK if not. Otherwise @text is a
 * sentence about the set, and @remedy what to do about it.
 */
enum health fus_protected_health(const struct set *set, char text[PROTECTED_TEXT],
				 char remedy[PROTECTED_TEXT]);

#endif
