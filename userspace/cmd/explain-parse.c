// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's messages extents and policy: Documentation/reference/target.rst. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "fusionctl.h"
#include "role.h"
#include "size.h"

/* -- policy ------------------------------------------------------------------------ */

/* Lines "<key> <value>"; one without a value has "-". */
struct line {
	const char *key;
	uint64_t max;
	uint64_t value;
	bool dash;		/* allowed, */
	bool none;		/* and there */
	bool seen;
};

enum {
	FREE_FAST, FREE_SLOW, RESERVE, BATCH, IDLE, PAUSE, MIGRATION, STANDBY, HOMING, EVACUATE,
	REQUESTS, STOPPED, BAR, KTH, COLD, PAY, PAY_SHADOWED, NR_SHADOWED, SHORTFALL, LEAVING,
	WRONG, HALF_LIFE, ACCESS_FAST, ACCESS_SLOW, MOVE, CANDIDATES, HOTTEST, HOTTEST_SWAP,
	VICTIMS, COLDEST, VICTIMS_SHADOWED, COLDEST_SHADOWED, NR_LINES
};

static const struct line lines[NR_LINES] = {
	[FREE_FAST]	= { .key = "free_fast", .max = UINT32_MAX },
	[FREE_SLOW]	= { .key = "free_slow", .max = UINT32_MAX },
	[RESERVE]	= { .key = "reserve", .max = UINT32_MAX },
	[BATCH]		= { .key = "batch", .max = UINT32_MAX },
	[IDLE]		= { .key = "idle", .max = 1 },
	[PAUSE]		= { .key = "pause_ms", .max = UINT64_MAX },
	[MIGRATION]	= { .key = "migration", .max = 1 },
	[STANDBY]	= { .key = "standby", .max = 1 },
	[HOMING]	= { .key = "homing", .max = 1 },
	[EVACUATE]	= { .key = "evacuate", .max = UINT32_MAX },
	[REQUESTS]	= { .key = "requests", .max = 1 },
	[STOPPED]	= { .key = "stopped", .max = 1 },
	[BAR]		= { .key = "bar", .max = UINT32_MAX },
	[KTH]		= { .key = "kth", .max = FUSION_HEAT_MAX },
	[COLD]		= { .key = "cold", .max = UINT32_MAX },
	[PAY]		= { .key = "pay", .max = UINT32_MAX },
	[PAY_SHADOWED]	= { .key = "pay_shadowed", .max = UINT32_MAX },
	[NR_SHADOWED]	= { .key = "shadowed", .max = UINT32_MAX },
	[SHORTFALL]	= { .key = "shortfall", .max = UINT32_MAX },
	[LEAVING]	= { .key = "leaving", .max = UINT32_MAX },
	[WRONG]		= { .key = "wrong", .max = 65536 },
	[HALF_LIFE]	= { .key = "half_life_ms", .max = UINT64_MAX },
	[ACCESS_FAST]	= { .key = "access_fast_ns", .max = UINT64_MAX, .dash = true },
	[ACCESS_SLOW]	= { .key = "access_slow_ns", .max = UINT64_MAX, .dash = true },
	[MOVE]		= { .key = "move_ns", .max = UINT64_MAX, .dash = true },
	[CANDIDATES]	= { .key = "candidates", .max = UINT32_MAX },
	[HOTTEST]	= { .key = "hottest", .max = FUSION_HEAT_MAX },
	[HOTTEST_SWAP]	= { .key = "hottest_swap", .max = FUSION_HEAT_MAX },
	[VICTIMS]	= { .key = "victims", .max = UINT32_MAX },
	[COLDEST]	= { .key = "coldest", .max = FUSION_HEAT_MAX, .dash = true },
	[VICTIMS_SHADOWED] = { .key = "victims_shadowed", .max = UINT32_MAX },
	[COLDEST_SHADOWED] = { .key = "coldest_shadowed", .max = FUSION_HEAT_MAX, .dash = true },
};

/* The one that may be below zero. */
static bool parse_budget(const char *value, struct explain_policy *p)
{
	char end;

	p->limited = strcmp(value, "-");
	return !p->limited || sscanf(value, "%" SCNd64 "%c", &p->budget, &end) == 1;
}

/* A line of a newer module is left out. */
static const char *parse_line(const char *key, const char *value, struct line *l,
			      struct explain_policy *p, bool *budget)
{
	if (!strcmp(key, "budget")) {
		*budget = true;
		return parse_budget(value, p) ? NULL : "its budget is no number";
	}
	for (int i = 0; i < NR_LINES; i++) {
		if (strcmp(key, l[i].key))
			continue;
		l[i].seen = true;
		l[i].none = l[i].dash && !strcmp(value, "-");
		return l[i].none || fus_parse_number(value, l[i].max, &l[i].value) ? NULL :
		       "a value is out of range";
	}
	return NULL;
}

static void fill_in(const struct line *l, struct explain_policy *p)
{
	p->env = (struct fusion_policy_env) {
		.free_fast = l[FREE_FAST].value, .free_slow = l[FREE_SLOW].value,
		.reserve = l[RESERVE].value, .idle = l[IDLE].value, .most = FUSION_LONG_BATCH,
	};
	p->view = (struct fusion_policy_view) {
		.bar = l[BAR].value, .kth = l[KTH].value, .cold = l[COLD].value,
		.pay = l[PAY].value, .pay_shadowed = l[PAY_SHADOWED].value,
		.nr_shadowed = l[NR_SHADOWED].value, .shortfall = l[SHORTFALL].value,
		.leaving = l[LEAVING].value, .wrong = l[WRONG].value,
		.access_ns = { l[ACCESS_FAST].value, l[ACCESS_SLOW].value },
		.move_ns = l[MOVE].value, .half_life_ms = l[HALF_LIFE].value,
	};
	p->candidates = l[CANDIDATES].value;
	p->hottest = l[HOTTEST].value;
	p->hottest_swap = l[HOTTEST_SWAP].value;
	p->victims[0] = l[VICTIMS].value;
	p->victims[1] = l[VICTIMS_SHADOWED].value;
	p->coldest[0] = l[COLDEST].value;
	p->coldest[1] = l[COLDEST_SHADOWED].value;
	p->batch = l[BATCH].value;
	p->pause_ms = l[PAUSE].value;
	p->migration = l[MIGRATION].value;
	p->standby = l[STANDBY].value;
	p->homing = l[HOMING].value;
	p->evacuate = l[EVACUATE].value;
	p->requests = l[REQUESTS].value;
	p->stopped = l[STOPPED].value;
}

const char *explain_parse_policy(char *answer, struct explain_policy *p)
{
	struct line l[NR_LINES];
	bool budget = false;
	const char *why;
	char *text;

	memcpy(l, lines, sizeof(l));
	*p = (struct explain_policy) { 0 };
	while ((text = strsep(&answer, "\n"))) {
		char *value = strchr(text, ' ');

		if (!*text)
			continue;
		if (!value)
			return "a line has no value";
		*value++ = '\0';
		why = parse_line(text, value, l, p, &budget);
		if (why)
			return why;
	}
	if (!budget)
		return "a line is missing";
	for (int i = 0; i < NR_LINES; i++)
		if (!l[i].seen)
			return "a line is missing";
	if ((l[VICTIMS].value && l[COLDEST].none) ||
	    (l[VICTIMS_SHADOWED].value && l[COLDEST_SHADOWED].none) || !l[HALF_LIFE].value ||
	    l[HOTTEST_SWAP].value > l[HOTTEST].value)
		return "its numbers contradict each other";
	fill_in(l, p);
	return NULL;
}

/* -- extents ----------------------------------------------------------------------- */

/* The index of @word in @names, or -1. */
static int which(const char *word, const char *const *names, int nr)
{
	for (int i = 0; i < nr; i++)
		if (!strcmp(word, names[i]))
			return i;
	return -1;
}

/* A number below 2^32, or "-": then *@is is false. */
static bool maybe(const char *word, uint32_t *v, bool *is)
{
	uint64_t n = 0;

	*is = strcmp(word, "-");
	if (*is && !fus_parse_number(word, UINT32_MAX, &n))
		return false;
	*v = n;
	return true;
}

static bool copy(char *to, size_t size, const char *word, const char *const *names, int nr)
{
	snprintf(to, size, "%s", word);
	return which(word, names, nr) >= 0;
}

enum { LEXT, MEMBER, SLOT, STATE, HEAT, AGE, HOLD, HOLD_S, VALID, SHADOW, REPLICA, NR_WORDS };

static bool read_numbers(char *const *word, struct explain_extent *e)
{
	uint64_t lext, heat;
	bool placed;

	e->aged = strcmp(word[AGE], "-");
	if (!fus_parse_number(word[LEXT], UINT32_MAX, &lext) ||
	    !fus_parse_number(word[HEAT], FUSION_HEAT_MAX, &heat) ||
	    (e->aged && !fus_parse_number(word[AGE], UINT64_MAX, &e->age)) ||
	    !fus_parse_number(word[HOLD_S], UINT32_MAX, &e->hold_s) ||
	    !maybe(word[SLOT], &e->slot, &placed) || !maybe(word[VALID], &e->valid, &e->partial))
		return false;
	e->lext = lext;
	e->heat = heat;
	return placed == (e->member >= 0);
}

const char *explain_parse_extent(char *line, struct explain_extent *e)
{
	static const char *const states[] = { "stable", "open", "watched", "locked", "unmapped",
					      "lost" };
	static const char *const shadows[] = { "none", "current", "outdated" };
	static const char *const replicas[] = { "known", "dirty", "away", "stale", "-" };
	char *word[NR_WORDS], *pin, *logged;
	int hold;

	*e = (struct explain_extent) { .hold = NO_HOLD };
	for (int i = 0; i < NR_WORDS; i++) {
		word[i] = strsep(&line, " ");
		if (!word[i])
			return "a line has too few words";
	}
	if (!copy(e->state, sizeof(e->state), word[STATE], states, 6) ||
	    !copy(e->shadow, sizeof(e->shadow), word[SHADOW], shadows, 3) ||
	    !copy(e->replica, sizeof(e->replica), word[REPLICA], replicas, 5))
		return "a word is unknown";
	e->member = which(word[MEMBER], fus_role_name, 2);
	hold = which(word[HOLD], explain_hold_name, NO_HOLD);
	if ((e->member < 0 && strcmp(word[MEMBER], "-")) || (hold < 0 && strcmp(word[HOLD], "-")))
		return "a word is unknown";
	if (hold >= 0)
		e->hold = hold;
	/* an older module has no pins */
	pin = strsep(&line, " ");
	if (pin && strcmp(pin, "-")) {
		e->pin = which(pin, fus_role_name, 2) + 1;
		if (!e->pin)
			return "a word is unknown";
	}
	/* one without a landing log ends here */
	logged = strsep(&line, " ");
	if (logged && !maybe(logged, &e->logged, &e->logs))
		return "a number is wrong";
	return read_numbers(word, e) ? NULL : "a number is wrong";
}
