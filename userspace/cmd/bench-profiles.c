// SPDX-License-Identifier: GPL-2.0-only
/* The profiles of bench, by name, and what each is for. */
#include "bench.h"

const char *const bench_profile_name[NR_BENCH_PROFILES] = {
	[BENCH_HONEST] = "honest", [BENCH_SWEEP] = "sweep", [BENCH_MIX] = "mix",
	[BENCH_SUSTAINED] = "sustained", [BENCH_FULLNESS] = "fullness",
};

const char *const bench_profile_means[NR_BENCH_PROFILES] = {
	[BENCH_HONEST] = "rate and latency, by transfers of many sizes",
	[BENCH_SWEEP] = "rates by size and I/Os in flight",
	[BENCH_MIX] = "loads of servers and a workstation",
	[BENCH_SUSTAINED] = "writes for long, and whether they become slower",
	[BENCH_FULLNESS] = "writes to what is more and more full",
};
