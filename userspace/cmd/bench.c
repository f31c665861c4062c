// SPDX-License-Identifier: GPL-2.0-only
/* Verb bench: what is measured and how. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "error.h"
#include "fusionctl.h"
#include "output.h"
#include "program.h"
#include "verb.h"

/* -- signals ------------------------------------------------------------------------ */

static volatile sig_atomic_t ended_by;

static void note(int number)
{
	ended_by = number;
}

void bench_catch_signals(void)
{
	static const int ends[] = FUS_ENDING_SIGNALS;
	/* fio is killed then: fus_program_tied() */
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

/* -- profiles ----------------------------------------------------------------------- */

/* How a profile is carried out, and what it has to say. */
struct way {
	void (*plan)(const struct bench *b);
	int (*measure)(struct bench *b, struct bench_target *t);
	void (*show)(const struct bench *b);
	void (*draw)(const struct bench *b, FILE *f);
};

static const struct way ways[NR_BENCH_PROFILES] = {
	[BENCH_HONEST] = { bench_print_transfers, bench_honest, bench_show, bench_svg },
	[BENCH_SWEEP] = { bench_print_loads, bench_runs, bench_show_runs, bench_svg_runs },
	[BENCH_MIX] = { bench_print_loads, bench_runs, bench_show_runs, bench_svg_runs },
	[BENCH_SUSTAINED] = { bench_print_sustained, bench_sustained, bench_show_series,
			      bench_svg_series },
	[BENCH_FULLNESS] = { bench_print_fullness, bench_runs, bench_show_runs,
			     bench_svg_fullness },
};

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
		rc = ways[b->profile].measure(b, t);
	bench_target_end(b, t);
	if (!rc && (!bench_find_lines(b) || !bench_find_fall(&b->series)))
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
		ways[b->profile].show(b);
	if (svg->path) {
		ways[b->profile].draw(b, svg->f);
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
		rc = bench_make_plan(b, a, t);
	if (rc)
		return rc;
	if (!a->opt[OPT_JSON] && !(a->opt[OPT_SVG] && !strcmp(a->opt[OPT_SVG], "-")))
		ways[b->profile].plan(b);
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
		rc = bench_check_compare(a);
		return rc ? rc : bench_compare(a->word[0], a->word[1]);
	}
	rc = bench_check_options(&b, a);
	if (!rc)
		rc = run(&b, a, &t);
	free(b.transfer);
	bench_loads_free(&b);
	bench_plan_free(&b.plan);
	return ended_by ? end_by_signal() : rc;
}
