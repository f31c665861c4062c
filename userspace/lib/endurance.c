// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long an SSD lasts. Its maker's measure is the percentage used. What it has written meanwhile
 * tells how much wears it out; then any rate gives a time. Rates over less than an hour tell
 * nothing.
 */
#include "endurance.h"
#include "smart.h"

#define DAY		86400
#define LEAST		3600		/* seconds that make a rate */
#define MOST_DAYS	36500		/* more is said to be that */
#define MOST_BYTES	4000000000000000000ULL
#define GB		1000000000LL
#define MAX_BUDGET	100000

static uint64_t whole(double bytes)
{
	return bytes < MOST_BYTES ? bytes : MOST_BYTES;
}

static uint64_t rate_of(uint64_t bytes, uint64_t seconds)
{
	return seconds < LEAST ? 0 : whole((double)bytes / seconds * DAY);
}

static int64_t days_of(double left, double rate)
{
	double days;

	if (rate <= 0)
		return -1;
	days = left / rate;
	return days < MOST_DAYS ? days : MOST_DAYS;
}

static int64_t advice_of(double left, const struct endurance *e)
{
	double others = e->moves_known ? e->rate - e->move_rate : e->rate ? e->rate : e->life_rate;
	double budget = (left / (ENDURANCE_YEARS * 365) - others) / GB;

	return budget < 1 ? 0 : budget > MAX_BUDGET ? MAX_BUDGET : budget;
}

void fus_endurance(const struct endurance_in *in, struct endurance *e)
{
	double left;

	*e = (struct endurance) {
		.life_days = -1, .days = -1, .budget_days = -1, .advice = -1,
		.rate = rate_of(in->written, in->seconds),
		.move_rate = rate_of(in->moved, in->moved_seconds),
		.moves_known = in->seconds >= LEAST && in->moved_seconds >= LEAST,
	};
	/* the set may have been opened later than the drive was found, and busier since */
	if (e->move_rate > e->rate)
		e->move_rate = e->rate;
	if (in->life_written > 0 && in->life_hours > 0)
		e->life_rate = rate_of(in->life_written, in->life_hours * 3600ULL);
	if (in->wear <= 0)
		return;
	/* by time alone, if the drive does not say how much it has written */
	if (in->life_hours > 0)
		e->life_days = in->wear >= 100 ? 0 :
			       days_of(100 - in->wear, in->wear / (in->life_hours / 24.0));
	if (in->life_written <= 0)
		return;
	e->capacity = whole((double)in->life_written * 100 / in->wear);
	left = in->wear >= 100 ? 0 : (double)e->capacity / 100 * (100 - in->wear);
	e->days = days_of(left, e->rate);
	if (in->budget)
		e->budget_days = days_of(left, (e->moves_known ? e->rate - e->move_rate : e->rate ?
						e->rate : e->life_rate) +
					 (double)in->budget * GB);
	e->advice = advice_of(left, e);
}
