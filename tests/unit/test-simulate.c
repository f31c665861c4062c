// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl simulate: are its parts right? test-simulate-runs.c has runs of any load, and
 * test-simulate-policy.c what the module's policy reaches.
 */
#include <math.h>
#include <stdlib.h>

#include "simulate.h"

static const char *const shapes[] = {
	"zipf:1.0", "zipf:0.8", "zipf:1.2,place=linear", "zipf:2", "zoned:80/4",
	"zoned:10/30:60/5:0/15", "uniform", "loop:1.2", "zipf:1.0,shift=50%@0",
	"zoned:80/4,shift=100%@0", "zoned:90/0.01,place=hashed",
};

/* What is drawn is what the oracle is told. */
static void test_distribution(void)
{
	enum { N = 1000, DRAWS = 400000 };
	static float density[N];
	static u32 drawn[N];
	struct sim_access a;
	struct sim_load l;
	struct sim_spec spec;

	for (u32 i = 0; i < ARRAY_SIZE(shapes); i++) {
		double sum = 0, chi = 0;
		u32 cells = 0;

		REQUIRE(!sim_parse_load(shapes[i], &spec), "%s", shapes[i]);
		sim_load_init(&l, &spec, N, 400, MIB, i);
		l.shifted = spec.shift > 0;
		memset(density, 0, sizeof(density));
		memset(drawn, 0, sizeof(drawn));
		sim_load_density(&l, 1, density);
		/* whole turns of the loop, of 480 extents */
		for (u32 n = spec.shape == SIM_LOOP ? DRAWS / 7680 * 7680 : DRAWS; n; n--) {
			sim_load_next(&l, &a);
			REQUIRE(a.lext < N && a.offset + a.bytes <= MIB);
			drawn[a.lext]++;
		}
		for (u32 k = 0; k < N; k++) {
			double want = density[k] * DRAWS;

			sum += density[k];
			REQUIRE(want > 0 || !drawn[k], "%s: extent %u", shapes[i], k);
			if (want < 10)
				continue;
			cells++;
			chi += (drawn[k] - want) * (drawn[k] - want) / want;
		}
		REQUIRE(fabs(sum - 1) < 0.0001, "%s: %f", shapes[i], sum);
		/* the mean is cells, its deviation sqrt(2 cells) */
		REQUIRE(chi < cells + 5 * sqrt(2 * cells), "%s: %.0f of %u", shapes[i], chi, cells);
	}
}

static void test_scan(void)
{
	struct sim_spec spec;
	struct sim_access a = { 0 };
	struct sim_load l;
	u64 byte = 0;

	REQUIRE(!sim_parse_load("scan,size=384K", &spec));
	sim_load_init(&l, &spec, 100, 10, MIB, 1);
	while (!a.last) {
		sim_load_next(&l, &a);
		REQUIRE_EQ(a.lext * MIB + a.offset, byte);
		byte += a.bytes;
	}
	REQUIRE_EQ(byte, 100 * MIB);
}

static void test_parse(void)
{
	static const char *const bad[] = {
		"", "zipf:", "zipf:0", "zipf:x", "zipf:1e3", "zoned", "zoned:80", "zoned:80/0",
		"zoned:80/4:30/4", "zoned:80/100", "zoned:1/1:1/1:1/1:1/1:1/1:1/1:1/1:1/1",
		"uniform:1", "loop:0", "uniform,qd=0", "uniform,qd=129", "uniform,read=101",
		"uniform,size=100", "uniform,size=32M", "uniform,rate=0", "uniform,at=100%",
		"uniform,shift=50%", "uniform,from=2h,to=1h", "uniform,", "uniform,qd", "uniform,=",
		"uniform,place=x", "zipf:1,visits=0", "uniform,place=blocks",
		"zipf:1,place=blocks,size=8K", "zipf:1,size=8K,place=blocks",
	};
	struct sim_spec spec;
	u64 ns;

	REQUIRE(freopen("/dev/null", "w", stderr));
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++)
		REQUIRE_EQ(sim_parse_load(bad[i], &spec), FC_USAGE);
	REQUIRE(!sim_parse_load("zipf:0.9,read=0,size=64K,rate=0.5,at=12.5%,from=1m,to=2h,"
				"shift=50%@90s", &spec));
	REQUIRE(spec.reads == 0 && spec.bytes == 65536 && spec.rate == 0.5 && spec.at == 0.125);
	REQUIRE_EQ(spec.from, 60 * SIM_S);
	REQUIRE_EQ(spec.shift_at, 90 * SIM_S);
	REQUIRE(sim_parse_time("1.5h", &ns) && ns == 5400 * SIM_S);
	REQUIRE(!sim_parse_time("1y", &ns) && !sim_parse_time("", &ns) &&
		!sim_parse_time("400d", &ns));
}

static int ascending(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void test_greatest(void)
{
	enum { N = 3000 };
	static float v[N], sorted[N];
	u64 seed = 7;

	for (u32 round = 0; round < 50; round++) {
		u32 k = rnd_below(&seed, N + 10), same = rnd_below(&seed, 4);
		double want = 0, part, least_sum;
		float least;

		for (u32 i = 0; i < N; i++)
			v[i] = same ? rnd_below(&seed, 1 << 8 * same) / 10000.0f :
			       rnd_below(&seed, 3);
		memcpy(sorted, v, sizeof(v));
		qsort(sorted, N, sizeof(*sorted), ascending);
		for (u32 i = 0; i < k && i < N; i++)
			want += sorted[N - 1 - i];
		least_sum = sim_greatest(v, N, k, &least, &part);
		REQUIRE(fabs(least_sum - want) <= want / 1000000 + TINY);
		least_sum = 0;
		for (u32 i = 0; i < N; i++)
			least_sum += v[i] > least ? v[i] : v[i] == least ? part * v[i] : 0;
		REQUIRE(fabs(least_sum - want) <= want / 1000000 + TINY);
	}
}

static void test_slots(void)
{
	static const u32 sizes[] = { 1, 63, 64, 65, 4095, 4096, 4097, 10000 };
	static bool used[10000];
	u64 seed = 3;

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		u32 n = sizes[i], reserved = n / 10, taken = reserved;
		struct sim_slots s;

		REQUIRE(sim_slots_init(&s, n, reserved));
		for (u32 k = 0; k < n; k++)
			used[k] = k < reserved;
		for (u32 op = 0; op < 30000; op++) {
			u32 near = rnd_below(&seed, n), want = near, slot;

			if (rnd_below(&seed, 1000) < (op / 10000 == 1 ? 300 : 600)) {
				slot = sim_slot_get(&s, near);
				while (taken < n && used[want])
					want = (want + 1) % n;
				REQUIRE_EQ(slot, taken < n ? want : SIM_NO_SLOT);
				if (slot != SIM_NO_SLOT) {
					used[slot] = true;
					taken++;
				}
			} else if (used[near] && near >= reserved) {
				sim_slot_put(&s, near);
				used[near] = false;
				taken--;
			}
			REQUIRE_EQ(s.nr_free, n - taken);
		}
		sim_slots_exit(&s);
	}
}

/* Near the figures of the disk model in the kernel: tests/spindle/verify.sh. */
static void test_members(void)
{
	static const struct {
		const char *load;
		enum fusion_dev dev;
		double iops, tolerance;
	} figures[] = {
		{ "uniform,read=100,qd=1", FUSION_SLOW, 78, 0.02 },
		{ "uniform,read=100,qd=32", FUSION_SLOW, 182, 0.04 },
		{ "scan,qd=4", FUSION_SLOW, 141, 0.03 },
		{ "uniform,read=100,qd=1", FUSION_FAST, 8900, 0.03 },
		{ "uniform,read=100,qd=32", FUSION_FAST, 57000, 0.03 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(figures); i++) {
		struct sim_engine *e;
		double iops;
		int rc;

		setup(128 * MIB, 40 * GIB, 0);
		cfg.fill = 100;
		load(figures[i].load);
		sim_result_free(&result);
		memset(&result, 0, sizeof(result));
		e = sim_engine_create(&cfg, SIM_ALONE, figures[i].dev, &result, &rc);
		REQUIRE(e);
		REQUIRE(!sim_engine_run(e, 0, 100 * SIM_S, 20000));
		sim_engine_destroy(e);
		iops = result.total.ios * 1e9 / result.end;
		REQUIRE(fabs(iops / figures[i].iops - 1) <= figures[i].tolerance,
			"%s: %.1f", figures[i].load, iops);
	}
}

static const struct unit_test tests[] = {
	{ "loads are as the oracle thinks they are", test_distribution },
	{ "a scan reads all, once", test_scan },
	{ "loads as they are written", test_parse },
	{ "the greatest", test_greatest },
	{ "slots", test_slots },
	{ "speed of the members", test_members },
};

UNIT_TESTS(tests)
