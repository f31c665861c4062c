/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults of an open set, and a word for its condition: health.c. */
#ifndef HEALTH_H
#define HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct json_object;
struct set;

enum health {
	HEALTH_OK,
	HEALTH_NOTE,		/* worth knowing; no action needed */
	HEALTH_WARNING,		/* to be put right before it matters */
	HEALTH_ERROR,		/* something does not work */
	NR_HEALTHS,
};

extern const char *const fus_health_name[NR_HEALTHS];

typedef void (*health_fn)(void *ctx, enum health health, const char *text, const char *remedy);

/* Call @each, if any, for each finding; @remedy may be NULL. Return: the worst. */
enum health fus_set_health(const struct set *set, health_fn each, void *ctx);
/* Return: whether the device is gone from the kernel, although it is still in use. */
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
/* The same; @buf gets the worst finding and its remedy, or "". */
enum condition fus_set_condition_text(const struct set *set, char *buf, size_t size);
struct json_object *fus_reason_json(enum health level, const char *text, const char *remedy);
/* "health", the word, and "reasons", all findings. */
void fus_condition_json(struct json_object *o, const struct set *set);

#endif
