// SPDX-License-Identifier: GPL-2.0-only
/* Verb bench: what is measured and how, and what that takes. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "ask.h"
#include "error.h"
#include "fusionctl.h"
#include "output.h"
#include "size.h"
#include "verb.h"

/* The time it takes is told for disks of these rates. */
#define HDD_RATE	150e6
#define SSD_RATE	500e6
#define EACH_SECONDS	0.4	/* fio itself, for a transfer */

/* -- signals ------------------------------------------------------------------------ */

static volatile sig_atomic_t ended_by;

static void note(int number)
{
	ended_by = number;
}

void bench_catch_signals(void)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE };
	/* without SA_RESTART, so that fio is killed: fus_program_tied() */
	struct sigaction action = { .sa_handler = note }, old;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(ends[i], &action, NULL);
}

bool bench_stopped(void)
{
	return ended_by;
}

/* As if it had not been caught. */
static int end_by_signal(void)
{
	signal(ended_by, SIG_DFL);
	raise(ended_by);
	return 128 + ended_by;
}

/* -- options ------------------------------------------------------------------------ */

static int check_compare(const struct args *a)
{
	static const int others[] = { OPT_QUICK, OPT_WRITE, OPT_MAX_SIZE, OPT_SEED, OPT_YES,
				      OPT_FORCE, OPT_DRY_RUN, OPT_JSON, OPT_SVG };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (a->opt[others[i]])
			return fus_fail(FC_USAGE, "--compare", "does not go with --%s; leave it "
					"out", options[others[i]].name);
	return 0;
}

static int check_options(struct bench *b, const struct args *a)
{
	const char *svg = a->opt[OPT_SVG];

	while (b->profile < NR_BENCH_PROFILES &&
	       strcmp(a->word[0], bench_profile_name[b->profile]))
		b->profile++;
	if (b->profile == NR_BENCH_PROFILES)
		return fus_fail(FC_USAGE, a->word[0], "no such profile; write fusionctl bench "
				"honest %s, or sweep or mix", a->word[1]);
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

static int make_plan(struct bench *b, const struct args *a, const struct bench_target *t)
{
	const bool honest = b->profile == BENCH_HONEST;
	const char *most_text = a->opt[OPT_MAX_SIZE], *seed = a->opt[OPT_SEED], *why;
	const uint64_t least = honest ? 2 * BENCH_LEAST : BENCH_LEAST_SIZE;
	uint64_t most = honest ? b->quick ? BENCH_QUICK : BENCH_MOST :
			b->quick ? BENCH_QUICK_SIZE : BENCH_SIZE;
	char size[2][SIZE_TEXT];

	b->seed = 1;
	if (most_text && (!fus_parse_size(most_text, &most) || most < least ||
			  most > 64 * BENCH_MOST))
		return fus_fail(FC_USAGE, most_text, honest ?
				"not a size for transfers; give 4M to 128G" :
				"not a size for a file; give 16M to 128G");
	if (seed && !fus_parse_number(seed, UINT64_MAX, &b->seed))
		return fus_fail(FC_USAGE, seed, "not a seed; give a number");
	why = plan_of(b, most, b->device ? t->bytes : 0);
	if (!why)
		return 0;
	fus_size_text(size[0], honest ? b->plan.total : BENCH_LEAST_SIZE);
	fus_size_text(size[1], t->bytes);
	if (!honest)
		return fus_fail(FC_REFUSED, b->target, "%s for loads, which need %s: it has %s; "
				"name a larger device", why, size[0], size[1]);
	return fus_fail(FC_REFUSED, b->target, "%s for transfers of %s in all, it has %s; add "
			"--quick or lower --max-size", why, size[0], size[1]);
}

/* -- what it takes ------------------------------------------------------------------ */

static void print_minutes(const struct bench *b, double rate)
{
	double seconds = b->plan.total * (b->write ? 2 : 1) / rate +
			 EACH_SECONDS * b->plan.nr * (b->write ? 2 : 1) + 10;

	printf("%.0f min at %.0f MB/s", seconds / 60 < 1 ? 1 : seconds / 60, rate / 1e6);
}

/* A load takes its time, and fio a little more. */
static void print_runs(const struct bench *b)
{
	char size[SIZE_TEXT];
	double seconds = b->nr_turns * (b->seconds + EACH_SECONDS) + 4;
	double minutes = (seconds + (b->write ? b->size / HDD_RATE : 0)) / 60;

	fus_size_text(size, b->size);
	if (b->write)
		printf("%s: writes %s%s, then overwrites parts of it\n", b->target, size,
		       b->device ? "" : " to a file of its own");
	else
		printf("%s: reads the first %s, writes nothing\n", b->target, size);
	printf("%u load%s%s of %u s, about %.0f min\n", b->nr_runs, fus_plural(b->nr_runs),
	       b->tries == 1 ? "" : ", three times each,", b->seconds,
	       minutes < 1 ? 1 : minutes);
	fflush(stdout);
}

static void print_plan(const struct bench *b)
{
	char total[SIZE_TEXT], least[SIZE_TEXT], most[SIZE_TEXT];

	fus_size_text(total, b->plan.total);
	printf("%s: ", b->target);
	if (b->write)
		printf("writes %s%s, then reads it", total,
		       b->device ? "" : " to files of its own");
	else
		printf("reads %s, writes nothing", total);
	printf("\n%u transfers of %s to %s%s, about ", b->plan.nr,
	       fus_size_text(least, BENCH_LEAST), fus_size_text(most, b->plan.most),
	       b->write ? " each way" : "");
	print_minutes(b, HDD_RATE);
	fputs(", ", stdout);
	print_minutes(b, SSD_RATE);
	putchar('\n');
	fflush(stdout);
}

/* How a profile is carried out, and what it has to say. */
struct way {
	void (*plan)(const struct bench *b);
	int (*measure)(struct bench *b, struct bench_target *t);
	void (*show)(const struct bench *b);
	void (*draw)(const struct bench *b, FILE *f);
};

static const struct way transfers = { print_plan, bench_honest, bench_show, bench_svg };
static const struct way loads = { print_runs, bench_runs, bench_show_runs, bench_svg_runs };

static const struct way *way_of(const struct bench *b)
{
	return b->profile == BENCH_HONEST ? &transfers : &loads;
}

/* -- the work ----------------------------------------------------------------------- */

static int measure(struct bench *b, const struct args *a, struct bench_target *t)
{
	int rc;

	/* a question is answered by Ctrl-C as usual, but no file may be left */
	if (!b->device)
		bench_catch_signals();
	rc = bench_target_begin(b, a, t);
	bench_catch_signals();
	if (!rc)
		rc = way_of(b)->measure(b, t);
	bench_target_end(b, t);
	if (!rc && !bench_find_lines(b))
		rc = fus_fail(FC_FAILED, "bench", "not enough memory; close programs and try "
			      "again");
	return rc;
}

static int show(struct bench *b, const struct args *a, struct output *svg)
{
	bool doubtful = bench_find_doubts(b);
	int rc = 0;

	if (a->opt[OPT_JSON])
		bench_json(b);
	else if (!svg->path || strcmp(svg->path, "-"))
		way_of(b)->show(b);
	if (svg->path) {
		way_of(b)->draw(b, svg->f);
		rc = output_close(svg);
		svg->path = NULL;
	}
	return rc ? rc : doubtful ? FC_DOUBTFUL : 0;
}

static int run(struct bench *b, const struct args *a, struct bench_target *t)
{
	struct output svg = { 0 };
	int rc = fio_find(b->fio);

	if (!rc)
		rc = bench_target_find(b, t);
	if (!rc)
		rc = make_plan(b, a, t);
	if (rc)
		return rc;
	if (!a->opt[OPT_JSON] && !(a->opt[OPT_SVG] && !strcmp(a->opt[OPT_SVG], "-")))
		way_of(b)->plan(b);
	if (a->opt[OPT_DRY_RUN])
		return 0;
	if (a->opt[OPT_SVG])
		rc = output_open(a->opt[OPT_SVG], &svg);
	if (!rc)
		rc = measure(b, a, t);
	if (!rc)
		rc = show(b, a, &svg);
	else if (svg.path)
		output_cancel(&svg);
	return rc;
}

int cmd_bench(const struct args *a)
{
	struct bench b = {
		.target = a->word[a->n - 1], .quick = a->opt[OPT_QUICK], .write = a->opt[OPT_WRITE],
		.began = time(NULL),
	};
	struct bench_target t;
	int rc;

	if (a->opt[OPT_COMPARE]) {
		rc = check_compare(a);
		return rc ? rc : bench_compare(a->word[0], a->word[1]);
	}
	rc = check_options(&b, a);
	if (!rc)
		rc = run(&b, a, &t);
	free(b.transfer);
	bench_loads_free(&b);
	bench_plan_free(&b.plan);
	return ended_by ? end_by_signal() : rc;
}
