// SPDX-License-Identifier: GPL-2.0-only
/* The options of verb bench, and the plan that they come to. */
#include <string.h>

#include "bench.h"
#include "error.h"
#include "fusionctl.h"
#include "sim.h"
#include "size.h"
#include "verb.h"

int bench_check_compare(const struct args *a)
{
	static const int others[] = { OPT_QUICK, OPT_WRITE, OPT_MAX_SIZE, OPT_DURATION, OPT_SEED,
				      OPT_YES, OPT_FORCE, OPT_DRY_RUN, OPT_JSON, OPT_SVG };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (a->opt[others[i]])
			return fus_fail(FC_USAGE, "--compare", "does not go with --%s; leave it "
					"out", options[others[i]].name);
	return 0;
}

/* It only writes, for a time that can be chosen. */
static bool lasts(const struct bench *b)
{
	return b->profile == BENCH_SUSTAINED || b->profile == BENCH_FULLNESS;
}

int bench_check_options(struct bench *b, const struct args *a)
{
	const char *svg = a->opt[OPT_SVG];

	while (b->profile < NR_BENCH_PROFILES &&
	       strcmp(a->word[0], bench_profile_name[b->profile]))
		b->profile++;
	if (b->profile == NR_BENCH_PROFILES)
		return fus_fail(FC_USAGE, a->word[0], "no such profile; write fusionctl bench "
				"honest %s, or sweep, mix, sustained or fullness", a->word[1]);
	if (a->opt[OPT_DURATION] && !lasts(b))
		return fus_fail(FC_USAGE, "--duration", "only goes with sustained and fullness; "
				"leave it out");
	if (a->opt[OPT_MAX_SIZE] && b->profile == BENCH_FULLNESS)
		return fus_fail(FC_USAGE, "--max-size", "does not go with fullness, which fills "
				"all of it; leave it out");
	if (svg && a->opt[OPT_JSON] && !strcmp(svg, "-"))
		return fus_fail(FC_USAGE, "--svg", "cannot share standard output with --json; give "
				"a file");
	if (a->opt[OPT_DRY_RUN] && a->opt[OPT_JSON])
		return fus_fail(FC_USAGE, "--dry-run", "shows a line for people; leave out --json");
	if (a->opt[OPT_WRITE] && a->opt[OPT_JSON] && !a->opt[OPT_YES])
		return fus_fail(FC_USAGE, "--json", "allows no question; add --yes");
	return 0;
}

static const char *plan_of(struct bench *b, uint64_t most, uint64_t device_bytes)
{
	if (b->profile == BENCH_HONEST)
		return bench_plan(&b->plan, b->quick, most, b->seed, device_bytes);
	b->size = most;
	return bench_plan_runs(b, device_bytes);
}

static uint64_t most_of(const struct bench *b, const struct bench_target *t)
{
	switch (b->profile) {
	case BENCH_HONEST:
		return b->quick ? BENCH_QUICK : BENCH_MOST;
	case BENCH_SUSTAINED:
		return b->device ? t->bytes : bench_target_room(b);
	default:
		return b->quick ? BENCH_QUICK_SIZE : BENCH_SIZE;
	}
}

static int get_size(const struct bench *b, const char *text, uint64_t *most)
{
	uint64_t least = BENCH_LEAST_SIZE, limit = 64 * BENCH_MOST;
	const char *what = "not a size for a file; give 16M to 128G";

	if (!text)
		return 0;
	if (b->profile == BENCH_HONEST) {
		least = 2 * BENCH_LEAST;
		what = "not a size for transfers; give 4M to 128G";
	} else if (b->profile == BENCH_SUSTAINED) {
		limit = 64ULL << 40;
		what = "not a size for a file; give 16M to 64T";
	}
	return fus_parse_size(text, most) && *most >= least && *most <= limit ? 0 :
	       fus_fail(FC_USAGE, text, "%s", what);
}

static int get_duration(struct bench *b, const char *text)
{
	const bool step = b->profile == BENCH_FULLNESS;
	u64 ns;

	b->seconds = step ? b->quick ? BENCH_QUICK_STEP : BENCH_STEP :
		     b->quick ? BENCH_QUICK_DURATION : BENCH_DURATION;
	if (!text)
		return 0;
	if (!sim_parse_time(text, &ns) || ns > BENCH_MOST_DURATION * SIM_S ||
	    ns < (step ? BENCH_TRIES : BENCH_LEAST_DURATION) * SIM_S)
		return fus_fail(FC_USAGE, text, "not a time for --duration; give %s to 1d",
				step ? "3s" : "20s");
	b->seconds = ns / SIM_S;
	return 0;
}

static int too_small(const struct bench *b, const struct bench_target *t, const char *why)
{
	const bool honest = b->profile == BENCH_HONEST;
	char need[SIZE_TEXT], has[SIZE_TEXT];

	fus_size_text(need, honest ? b->plan.total : BENCH_LEAST_SIZE);
	fus_size_text(has, t->bytes);
	if (!b->device)
		return fus_fail(FC_REFUSED, b->target, "%s: a file there needs %s; remove other "
				"files", why, need);
	if (!honest)
		return fus_fail(FC_REFUSED, b->target, "%s for loads, which need %s: it has %s; "
				"name a larger device", why, need, has);
	return fus_fail(FC_REFUSED, b->target, "%s for transfers of %s in all, it has %s; add "
			"--quick or lower --max-size", why, need, has);
}

/* What is written up to the last step. */
static int find_most(struct bench *b, const struct bench_target *t, uint64_t *most)
{
	int rc = bench_target_capacity(b, t, &b->before);
	double end;

	if (rc)
		return rc;
	end = b->before.total / 100.0 * BENCH_FULLEST;
	*most = end > b->before.used ? end - b->before.used : 0;
	if (*most > BENCH_LEAST_SIZE + FIO_BLOCK)
		return 0;
	return fus_fail(FC_REFUSED, b->target, "is %.0f %% full, and has no room for the last step "
			"at %u %%; %s", 100.0 * b->before.used / b->before.total, BENCH_FULLEST,
			b->device ? "name a larger device" : "remove files, or name another "
			"directory");
}

int bench_make_plan(struct bench *b, const struct args *a, const struct bench_target *t)
{
	const char *seed = a->opt[OPT_SEED], *why;
	uint64_t most = most_of(b, t);
	int rc = get_size(b, a->opt[OPT_MAX_SIZE], &most);

	b->seed = 1;
	if (!rc && lasts(b))
		rc = get_duration(b, a->opt[OPT_DURATION]);
	if (!rc && b->profile == BENCH_FULLNESS)
		rc = find_most(b, t, &most);
	if (rc)
		return rc;
	if (seed && !fus_parse_number(seed, UINT64_MAX, &b->seed))
		return fus_fail(FC_USAGE, seed, "not a seed; give a number");
	if (lasts(b) && !b->write)
		return fus_fail(FC_USAGE, b->target, "%s only writes; add --write, which "
				"overwrites the device", bench_profile_name[b->profile]);
	why = plan_of(b, most, b->device ? t->bytes : 0);
	return why ? too_small(b, t, why) : 0;
}
