/* SPDX-License-Identifier: GPL-2.0-only */
/* How long an SSD lasts: endurance.c, pure. */
#ifndef ENDURANCE_H
#define ENDURANCE_H

#include <stdbool.h>
#include <stdint.h>

#define ENDURANCE_YEARS	5	/* for which a write budget is worked out */

/* Times in seconds, amounts in bytes. */
struct endurance_in {
	int64_t wear;		/* percentage used, or SMART_UNKNOWN as the next two */
	int64_t life_written;	/* in all the life of the drive */
	int64_t life_hours;	/* that it was on */
	uint64_t written, seconds;		/* since the kernel has found it */
	uint64_t moved, moved_seconds;		/* of these, by moves, since the set was opened */
	uint64_t budget;	/* of the set, in GB a day; 0: none */
};

/* What is not known is 0; of days, -1. */
struct endurance {
	uint64_t life_rate;	/* bytes a day */
	uint64_t rate;		/* at present */
	uint64_t move_rate;	/* of these, by moves; at most @rate */
	bool moves_known;
	uint64_t capacity;	/* bytes that wear it out, from new */
	int64_t life_days;	/* left if it is used as it was all its life */
	int64_t days;		/* at the present rate */
	int64_t budget_days;	/* if moves use all of the budget every day */
	int64_t advice;		/* GB a day for ENDURANCE_YEARS; 0: not even without moves */
};

void fus_endurance(const struct endurance_in *in, struct endurance *e);

#endif
