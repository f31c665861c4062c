// SPDX-License-Identifier: GPL-2.0-only
/* What the slow member of an open set has of what is on the fast one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "protected.h"
#include "fusionctl.h"
#include "open-set.h"

/* What should be protected, in percent, and how far back. */
#define ENOUGH		90
#define TOO_OLD		3600

/* Slots that the module leaves free of shadows, beside the spares: dm-fusion-shadow.c. */
#define CUSHION		1024
#define CUSHION_SHARE	32

char *fus_age_text(char buf[AGE_TEXT], uint64_t seconds)
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} units[] = { { 86400, "days" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	size_t i = 0;

	/* two at least, so that rounding does not double it */
	while (units[i].seconds > 1 && seconds < 2 * units[i].seconds)
		i++;
	snprintf(buf, AGE_TEXT, "%" PRIu64 " %s", seconds / units[i].seconds +
		 !!(seconds % units[i].seconds), units[i].name);
	return buf;
}

bool fus_protects(const struct fusion_status *st, const char **setting)
{
	const char *shadow = fus_status_option(st, "shadow");
	const char *age = fus_status_option(st, "shadow_age");

	*setting = !shadow || strcmp(shadow, "on") ? "shadow" : "shadow_age";
	return shadow && age && !strcmp(shadow, "on") && strcmp(age, "0");
}

/* Has the slow member no slots for all that has no shadow? */
static bool lacks_room(const struct fusion_status *st)
{
	uint64_t taken = st->used[SLOW] + st->shadows;
	uint64_t free = taken < st->total[SLOW] ? st->total[SLOW] - taken : 0;
	uint64_t keep = st->total[SLOW] / CUSHION_SHARE + 1;
	uint64_t missing = st->shadows < st->on_fast ? st->on_fast - st->shadows : 0;

	keep = keep < CUSHION ? keep : CUSHION;
	return missing && free < missing + keep;
}

enum health fus_protected_health(const struct set *set, char text[PROTECTED_TEXT],
				 char remedy[PROTECTED_TEXT])
{
	const struct fusion_status *st = &set->st;
	const char *setting, *standby = fus_status_option(st, "standby");
	unsigned int percent = st->pointed ? fus_status_protected(st) : 0;
	char age[AGE_TEXT];

	/* a replica that cannot be written is a fault of its own */
	if (!fus_protects(st, &setting) || strcmp(st->replica, "ok") || !st->on_fast)
		return HEALTH_OK;
	if (percent < ENOUGH) {
		bool full = lacks_room(st), old = percent && st->point_age > TOO_OLD;

		snprintf(text, PROTECTED_TEXT, "only %u %% of what is on the fast member is "
			 "protected%s%s%s, as %s", percent, old ? " (as of " : "",
			 old ? fus_age_text(age, st->point_age) : "", old ? " ago)" : "", full ?
			 "the slow one has no room for the rest" :
			 "there was no time yet to copy the rest");
		snprintf(remedy, PROTECTED_TEXT, "%s", full ?
			 "run fstrim on its file system, or delete something" :
			 "leave it idle for some time, or raise its setting duty");
		return full ? HEALTH_WARNING : HEALTH_NOTE;
	}
	if (st->point_age <= TOO_OLD)
		return HEALTH_OK;
	snprintf(text, PROTECTED_TEXT, "what is on the fast member is protected as of %s ago only",
		 fus_age_text(age, st->point_age));
	snprintf(remedy, PROTECTED_TEXT, "leave it idle for some time, or raise its setting duty");
	/* that is what a slow member costs that is left alone */
	return standby && strcmp(standby, "0") ? HEALTH_NOTE : HEALTH_WARNING;
}
