/* SPDX-License-Identifier: GPL-2.0-only */
/* What a drive tells about itself, by smartctl: smart.c, smart-ask.c. */
#ifndef SMART_H
#define SMART_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SMART_UNKNOWN	INT64_MIN	/* of any number */
#define SMART_PACKAGE	"smartmontools"	/* that has smartctl */
#define SMART_TEXT	80

struct smart {
	bool known;		/* it has answered */
	bool asleep;		/* it spins down, and was left alone */
	char trouble[200];	/* why nothing is known, or "" */
	char model[SMART_TEXT], serial[SMART_TEXT], firmware[SMART_TEXT], link[SMART_TEXT];
	int passed;		/* its verdict about itself: 1, 0, or -1 if it has none */
	int64_t temperature, limit;	/* in degrees Celsius */
	int64_t hours;			/* for which it was on */
	int64_t wear;			/* percentage used, may be above 100 */
	int64_t spare;			/* percentage of its spare blocks */
	int64_t written;		/* bytes, in all its life */
	int64_t pending, reallocated;	/* sectors */
	int64_t media_errors;		/* data that it could not return */
};

void fus_smart_clear(struct smart *s);
/* What smartctl --json has printed; whatever that is, it is bounded. */
void fus_smart_parse(const char *text, struct smart *s);
/* Return: whether the system has smartctl. */
bool fus_smart_exists(void);
/*
 * Ask a whole disk. A disk that sleeps is not woken. Takes half a minute at most, and if there is
 * no answer, @s says why.
 */
void fus_smart_ask(const char *node, struct smart *s);

#endif
