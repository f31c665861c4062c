/* SPDX-License-Identifier: GPL-2.0-only */
/* What is wrong with an open set, and a word for it: health.c. */
#ifndef HEALTH_H
#define HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct json_object;
struct set;

enum health {
	HEALTH_OK,
	HEALTH_NOTE,		/* worth knowing; nothing to be done */
	HEALTH_WARNING,		/* to be put right before it matters */
	HEALTH_ERROR,		/* something does not work */
	NR_HEALTHS,
};

extern const char *const fus_health_name[NR_HEALTHS];

typedef void (*health_fn)(void *ctx, enum health health, const char *text, const char *remedy);

/* Call @each, if any, for all that there is to say; @remedy may be NULL. Return: the worst. */
enum health fus_set_health(const struct set *set, health_fn each, void *ctx);
/* Has the kernel lost this device, though somebody still uses it? */
bool fus_device_gone(dev_t devno);

/* The health of a set in one word. */
enum condition {
	CONDITION_OK,		/* nothing to do */
	CONDITION_DEGRADED,	/* works, but something needs attention */
	CONDITION_FAILED,	/* does not work, or not for writing */
	CONDITION_MISSING,	/* a member is not there */
	NR_CONDITIONS,
};

extern const char *const fus_condition_name[NR_CONDITIONS];

enum condition fus_set_condition(const struct set *set);
/* The same; @buf gets the worst that there is to say, and the remedy, or "". */
enum condition fus_set_condition_text(const struct set *set, char *buf, size_t size);
struct json_object *fus_reason_json(enum health level, const char *text, const char *remedy);
/* "health", the word, and "reasons": all that there is to say. */
void fus_condition_json(struct json_object *o, const struct set *set);

#endif
