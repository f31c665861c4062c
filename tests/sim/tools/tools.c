// SPDX-License-Identifier: GPL-2.0-only
/*
 * usage: tools [--seed S] [--sets N] [--one-in K] [--trace]
 *
 * N sets, each lived in the simulator, in every state that something may leave: see state.c. Each
 * verb of fusionctl for closed sets runs on each, and the kernel's own code opens the result: see
 * judge.c. Only one in K of the states with a damaged block is tried. --trace shows failures at
 * length.
 */
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool.h"

struct all {
	struct setup setup;
	u64 seed;
	u32 one_in;
	struct tally *tally;
};

static void run_world(void *arg)
{
	struct all *all = arg;
	const struct setup *s = &all->setup;
	struct life *life;
	unsigned int i;

	sim_world_new(all->seed);
	for (i = 0; i < SIM_NR_DISKS; i++) {
		world->disk[i] = sim_disk_new(i, &s->sb, s->discards[i], s->fua[i]);
		sim_disk_format(world->disk[i], &s->sb, NULL, &world->rng);
	}
	life = image_life(s);
	states_all(life, all->one_in, all->tally);
	replacing_all(life, 4 + all->one_in, all->tally);
}

static const char *run_tools(struct all *all)
{
	const char *why = sim_catch(run_world, all);

	while (world)
		sim_world_free(world);
	return why;
}

static u64 parse(const char *text)
{
	char *end;
	u64 n = strtoull(text, &end, 10);

	if (end == text || *end) {
		fprintf(stderr, "tools: %s is not a number\n", text);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "sets", required_argument, NULL, 'n' },
		{ "one-in", required_argument, NULL, 'k' },
		{ "trace", no_argument, NULL, 't' },
		{ }
	};
	struct tally t = { };
	struct all all = { .one_in = 1, .tally = &t };
	FILE *out = stdout, *err = stderr;
	u64 seed = 1, sets = 1, i;
	const char *why;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			seed = parse(optarg);
			break;
		case 'n':
			sets = parse(optarg);
			break;
		case 'k':
			all.one_in = parse(optarg);
			break;
		case 't':
			tool_tracing = true;
			break;
		default:
			exit(2);
		}
	}
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	if (optind < argc || !all.one_in || sim_module_init())
		return 2;

	printf("KTAP version 1\n1..1\n");
	for (i = 0; i < sets; i++) {
		all.seed = seed + i;
		make_setup(&all.setup, all.seed, false, false);
		why = run_tools(&all);
		stdout = out;
		stderr = err;
		if (why) {
			printf("# FAILED: %s\n# with --seed %llu --one-in %u\n", why, all.seed,
			       all.one_in);
			printf("not ok 1 - tools\n");
			return 1;
		}
	}
	printf("# %llu sets, %u states, %u of which open; %u repaired, %u restored, ", sets,
	       t.states, t.opened, t.repaired, t.restored);
	printf("%u by --force, %u refused, %u cut short, %u members salvaged\n", t.forced,
	       t.refused, t.cut, t.salvaged);
	printf("# %u members replaced, with %u power cuts\n", t.replaced, t.replacing_cut);
	printf("ok 1 - tools\n");
	return 0;
}
