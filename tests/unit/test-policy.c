// SPDX-License-Identifier: GPL-2.0-only
/* The policy: heat, and what is moved under loads of all kinds. */
#include <stdlib.h>

#include "policy-sim.h"

#define TOUCH		FUSION_HEAT_TOUCH
#define HOUR		3600000ULL
#define DAY		(24 * HOUR)

/* What the acceptance tests have: an SSD of 512 MiB, an HDD of 4 GiB, that does 120 IOPS. */
#define FAST		490U
#define SLOW		4080U
#define RESERVE		10U
#define DISK_IOPS	120U

static struct sim sim;
static struct fusion_policy *p;

static void start(u32 nr_fast, u32 nr_slow, u32 reserve)
{
	sim_init(&sim, nr_fast, nr_slow, reserve);
	p = sim.policy;
}

static void end(void)
{
	sim_exit(&sim);
}

/* As after a copy of more than the fast member holds, and a pause. */
static void start_filled(u32 slow_free)
{
	start(FAST, SLOW, RESERVE);
	sim_fill(&sim, 0, sim.nr - slow_free);
	sim_rest(&sim, 10000);
}

static u32 heat(u32 lext)
{
	return fusion_policy_heat(p, lext);
}

/* -- heat -------------------------------------------------------------------- */

static void test_decay(void)
{
	static const u32 half_life[] = { 1, 2, 7, 60, 3600, 86400, 604800 };
	u64 ms, now;
	u32 before;

	for (unsigned int i = 0; i < ARRAY_SIZE(half_life); i++) {
		start(64, 64, 0);
		fusion_policy_set_half_life(p, half_life[i]);
		fusion_policy_set_heat(p, 1, 60000);
		fusion_policy_set_heat(p, 2, 1);
		REQUIRE_EQ(heat(1), 60000);
		ms = half_life[i] * 1000ULL;
		for (u32 n = 1; n <= 15; n++) {
			fusion_policy_tick(p, n * ms);
			REQUIRE(abs((int)(heat(1) - (60000 >> n))) <= 1, "%u after %u half-lives",
				heat(1), n);
		}
		fusion_policy_tick(p, 17 * ms);
		REQUIRE_EQ(heat(1), 0);
		REQUIRE_EQ(heat(2), 0);

		/* and in between it falls smoothly, by an eighth of a half-life each */
		fusion_policy_set_heat(p, 1, 60000);
		before = heat(1);
		for (now = 17 * ms; now < 18 * ms; now += ms / 8) {
			REQUIRE(heat(1) <= before);
			REQUIRE(heat(1) >= before * 9 / 10);
			before = heat(1);
			fusion_policy_tick(p, now + ms / 8);
		}
		REQUIRE_EQ(heat(1), 30000);
		end();
	}
}

/* An extent that is touched at a steady rate has a steady heat: rate x half-life / ln 2. */
static void test_steady(void)
{
	start(64, 64, 0);
	for (u64 ms = 0; ms < 8 * HOUR; ms += 10000) {
		fusion_policy_tick(p, ms);
		fusion_policy_touch(p, 5, TOUCH);
	}
	REQUIRE(heat(5) > 2077 * 95 / 100 && heat(5) < 2077 * 105 / 100, "%u", heat(5));
	end();
}

static void test_saturation(void)
{
	start(64, 64, 0);
	fusion_policy_set_half_life(p, 604800);
	for (u32 i = 1; i <= 20000; i++) {
		fusion_policy_tick(p, i * 250ULL);
		fusion_policy_touch(p, 7, TOUCH);
		REQUIRE_EQ(heat(7), min(i * TOUCH, FUSION_HEAT_MAX));
	}
	fusion_policy_set_heat(p, 8, 1U << 20);
	REQUIRE_EQ(heat(8), FUSION_HEAT_MAX);
	REQUIRE_EQ(heat(6), 0);
	end();
}

static void test_tick(void)
{
	start(64, 64, 0);
	/* the first access counts, at any time, of extents never touched or just loaded */
	for (u32 t = 0; t < 300; t++) {
		fusion_policy_tick(p, t * 250);
		fusion_policy_forget(p, 9);
		fusion_policy_set_heat(p, 10, 100);
		for (u32 i = 0; i < 100; i++) {
			fusion_policy_touch(p, 9, TOUCH);
			fusion_policy_touch(p, 10, TOUCH);
		}
		REQUIRE_EQ(heat(9), TOUCH);
		REQUIRE_EQ(heat(10), 100 + TOUCH);
	}
	/* 250 ms are a tick, however often the time is told */
	for (u32 ms = 75000; ms < 85000; ms += 50) {
		fusion_policy_tick(p, ms);
		fusion_policy_touch(p, 11, TOUCH);
	}
	REQUIRE_EQ(heat(11), 40 * TOUCH);
	/* the clock does not go back */
	fusion_policy_tick(p, 1000);
	fusion_policy_touch(p, 11, TOUCH);
	REQUIRE_EQ(heat(11), 40 * TOUCH);
	end();
}

static void test_forget(void)
{
	start(64, 64, 0);
	fusion_policy_set_heat(p, 3, 1000);
	fusion_policy_set_heat(p, 4, 1000);
	fusion_policy_forget(p, 3);
	REQUIRE_EQ(heat(3), 0);
	REQUIRE_EQ(heat(4), 1000);
	end();
}

/* Without an access heat never rises, whatever the clock and the sweep do. */
static void check_never_rises(u32 nr, u32 half_life, u64 (*next)(u64 *seed), u32 rounds)
{
	u32 last[256], lext, r, k;
	const u32 gap = nr / ARRAY_SIZE(last) + 1;
	u64 now = 0, seed = nr;

	start(64, nr - 64, 0);
	fusion_policy_set_half_life(p, half_life);
	for (r = 0; r < rounds; r++) {
		/* begin again now and then */
		for (k = 0; k < ARRAY_SIZE(last) && r % 500 == 0; k++) {
			last[k] = 1 + rnd_below(&seed, FUSION_HEAT_MAX);
			fusion_policy_set_heat(p, gap * k % nr, last[k]);
		}
		now += next(&seed);
		fusion_policy_tick(p, now);
		for (k = 0; k < ARRAY_SIZE(last); k++) {
			lext = gap * k % nr;
			REQUIRE(heat(lext) <= last[k], "extent %u, round %u: %u after %u", lext, r,
				heat(lext), last[k]);
			last[k] = heat(lext);
		}
	}
	end();
}

static u64 a_second(u64 *seed)
{
	(void)seed;
	return 1000;
}

static u64 some_seconds(u64 *seed)
{
	return rnd_below(seed, 2) ? 100 : rnd_below(seed, 16000);
}

static u64 up_to_a_minute(u64 *seed)
{
	return rnd_below(seed, 60000);
}

static u64 up_to_a_year(u64 *seed)
{
	return rnd_log(seed, 1, 365 * DAY);
}

static void test_wrap(void)
{
	/* days, which are many wraps */
	check_never_rises(1024, 1, a_second, 2 * 86400);
	check_never_rises(1024, 3600, up_to_a_minute, 3 * 2880);
	/* so many extents that the sweep takes half an hour */
	check_never_rises(1U << 20, 1, a_second, 2000);
	check_never_rises(1U << 20, 10, up_to_a_minute, 2000);
	/* time goes as fast as the sweep allows */
	check_never_rises(1U << 18, 1, up_to_a_minute, 20000);
	check_never_rises(1U << 18, 1, some_seconds, 20000);
	/* suspended for long, again and again */
	check_never_rises(1U << 18, 1, up_to_a_year, 5000);
	check_never_rises(1U << 18, 3600, up_to_a_year, 5000);
}

/* ... and what was left alone for long is cold, though nobody picks. */
static void test_long_ago(void)
{
	start(64, SLOW, 0);
	for (u32 i = 0; i < sim.nr; i++)
		fusion_policy_set_heat(p, i, FUSION_HEAT_MAX);
	for (u64 ms = 0; ms < 20 * DAY; ms += 60000) {
		fusion_policy_tick(p, ms);
		for (u32 i = ms > 18 * HOUR ? 0 : sim.nr; i < sim.nr; i += 7)
			REQUIRE_EQ(heat(i), 0);
	}
	/* one jump does it, too */
	fusion_policy_set_heat(p, 1, FUSION_HEAT_MAX);
	fusion_policy_tick(p, 400 * DAY);
	REQUIRE_EQ(heat(1), 0);
	end();
}

/* Shortening the half-life does not count for the time before. */
static void test_half_life_changed(void)
{
	start(64, 64, 0);
	fusion_policy_tick(p, 440000);
	fusion_policy_set_heat(p, 1, 1000);
	fusion_policy_set_half_life(p, 1);
	fusion_policy_tick(p, 440100);
	REQUIRE_EQ(heat(1), 1000);
	fusion_policy_tick(p, 441000);
	REQUIRE_EQ(heat(1), 500);
	end();
}

/* -- promotion --------------------------------------------------------------- */

/* Three passes of random writes to a cold region, as in the acceptance test. */
static void three_passes(u32 region)
{
	u64 before = sim_moves(&sim);
	u32 fast;

	REQUIRE(sim_on_fast(&sim, region, 64) < 8, "not cold to begin with");
	sim_load(&sim, region, 64, DISK_IOPS, 15000);
	sim_rest(&sim, 5000);
	fast = sim_on_fast(&sim, region, 64);
	REQUIRE(fast >= 60, "%u after pass 1", fast);
	sim_load(&sim, region, 64, 4 * DISK_IOPS, 15000);
	sim_rest(&sim, 5000);
	REQUIRE_EQ(sim_on_fast(&sim, region, 64), 64);
	before = sim_moves(&sim) - before;
	REQUIRE(before <= 2 * 64, "%llu moves", before);
	sim_load(&sim, region, 64, 20 * DISK_IOPS, 15000);
	REQUIRE_EQ(sim_on_fast(&sim, region, 64), 64);
}

static void test_three_passes(void)
{
	start_filled(500);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], RESERVE);
	three_passes(3000);
	/* another one takes its turn */
	three_passes(2000);
	end();
}

/* A write to an extent being copied cancels that. */
static enum fusion_outcome cancelled_by_load(struct sim *s, const struct fusion_move *move)
{
	bool busy = s->now_ms - s->last_io_ms < 200;

	return move->to == FUSION_FAST && busy && rnd_below(&s->seed, 2) ?
	       FUSION_CANCELLED : FUSION_MOVED;
}

static enum fusion_outcome cancelled_if_busy(struct sim *s, const struct fusion_move *move)
{
	bool busy = s->now_ms - s->last_io_ms < 200;

	return move->to == FUSION_FAST && busy ? FUSION_CANCELLED : FUSION_MOVED;
}

static void test_three_passes_cancelled(void)
{
	start_filled(500);
	sim.outcome = cancelled_by_load;
	three_passes(3000);
	sim.outcome = cancelled_if_busy;
	three_passes(2000);
	end();
}

/* Filled to the last slot on either device. */
static void test_full(void)
{
	start(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr);
	REQUIRE(!sim.nr_free[FUSION_FAST] && !sim.nr_free[FUSION_SLOW]);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	three_passes(3000);
	three_passes(1000);
	REQUIRE_EQ(sim.moves[FUSION_FAST], sim.moves[FUSION_SLOW]);
	REQUIRE(!sim.nr_free[FUSION_FAST] && !sim.nr_free[FUSION_SLOW]);
	end();
}

/* The same with a reserve that can't be restored. */
static void test_full_reserve(void)
{
	start(FAST, SLOW, RESERVE);
	sim_fill(&sim, 0, sim.nr);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	three_passes(3000);
	end();
}

/* A sequential write of eight times the fast member, then a hot region. */
static void test_after_stream(void)
{
	static const u32 sectors[] = { 256, 512, 2048 };

	for (u32 i = 0; i < ARRAY_SIZE(sectors); i++) {
		start(FAST, SLOW, RESERVE);
		sim_scan(&sim, 0, 4000, sectors[i], 130);
		REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
		sim_rest(&sim, 10000);
		REQUIRE_EQ(sim.nr_free[FUSION_FAST], RESERVE);
		/* overwritten as a whole */
		sim_scan(&sim, 0, 4000, sectors[i], 130);
		REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
		three_passes(3000);
		end();
	}
}

/* Reading all once moves nothing, neither into free slots nor as a swap. */
static void test_scan(void)
{
	static const struct { u32 sectors, extents_per_s; } scan[] = {
		{ 8, 8 }, { 8, 150 }, { 64, 20 }, { 128, 50 }, { 256, 4 }, { 256, 150 },
		{ 256, 1000 }, { 512, 2 }, { 2048, 150 },
	};

	for (u32 full = 0; full < 2; full++) {
		for (u32 i = 0; i < ARRAY_SIZE(scan); i++) {
			start(FAST, SLOW, RESERVE);
			sim_fill(&sim, 0, sim.nr - 100);
			for (u32 k = 0; k < (full ? RESERVE : 200); k++)
				sim_discard(&sim, k);
			sim_scan(&sim, 1000, 3000, scan[i].sectors, scan[i].extents_per_s);
			sim_rest(&sim, 10000);
			REQUIRE(!sim_moves(&sim), "bios of %u, %u extents/s: %llu moves",
				scan[i].sectors, scan[i].extents_per_s, sim_moves(&sim));
			end();
		}
	}
}

/* Scans during a load do not take the place of what is hot. */
static void test_scan_and_load(void)
{
	u64 before;

	start_filled(500);
	three_passes(3000);
	before = sim_moves(&sim);
	for (u32 i = 0; i < 20; i++) {
		sim_scan(&sim, 500, 2000, 256, 150);
		sim_load(&sim, 3000, 64, 1000, 2000);
	}
	REQUIRE_EQ(sim_moves(&sim), before);
	REQUIRE_EQ(sim_on_fast(&sim, 3000, 64), 64);
	end();
}

/* Free fast slots are for what is warm, the reserve is not. */
static void test_eager(void)
{
	start(FAST, SLOW, RESERVE);
	sim_fill(&sim, 0, sim.nr - 100);
	for (u32 i = 0; i < 50; i++)
		sim_discard(&sim, i);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 50);
	/* a burst is not enough */
	sim_load(&sim, 2000, 30, 3000, 500);
	sim_rest(&sim, 5000);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
	for (u32 i = 0; i < 4; i++) {
		for (u32 k = 0; k < 100; k++)
			sim_access(&sim, 2000 + k, 8);
		sim_rest(&sim, 250);
	}
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], RESERVE);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 40);
	REQUIRE_EQ(sim.moves[FUSION_SLOW], 0);
	REQUIRE_EQ(sim_on_fast(&sim, 2000, 100), 40);
	end();
}

/* The hottest first. */
static void test_hottest_first(void)
{
	start(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr);
	for (u32 k = 0; k < 500; k++)
		fusion_policy_set_heat(p, 2000 + k * 2, 100 + k * 7 % 500);
	for (u32 k = 0; k < FAST; k++)
		fusion_policy_set_heat(p, k, k % 20 == 3 ? 0 : 2000);
	sim.batch = 0;
	sim_rest(&sim, 5000);
	sim.batch = 8;
	sim_rest(&sim, 20000);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 25);
	for (u32 k = 0; k < 500; k++)
		REQUIRE_EQ(sim_on_fast(&sim, 2000 + k * 2, 1), k * 7 % 500 >= 475);
	REQUIRE_EQ(sim_on_fast(&sim, 3, 1), 0);
	end();
}

/* Moves as a text: up P, down D, in lower case those with writes held; then as batches. */
static void in_batches(const char *moves, const char *want)
{
	struct fusion_move m[FUSION_MAX_PICK];
	unsigned int i, k, n, nr = strlen(moves);
	char got[2 * FUSION_MAX_PICK + 1], *to = got;

	for (i = 0; i < nr; i++)
		m[i] = (struct fusion_move) {
			.lext = i,
			.to = strchr("Pp", moves[i]) ? FUSION_FAST : FUSION_SLOW,
			.hold = strchr("pd", moves[i]),
		};
	for (i = 0; i < nr; i += n) {
		n = fusion_policy_batch(&m[i], nr - i);
		REQUIRE(n && n <= nr - i);
		if (i)
			*to++ = ' ';
		for (k = i; k < i + n; k++) {
			REQUIRE(k == i || m[k].lext > m[k - 1].lext);
			*to++ = moves[m[k].lext];
		}
	}
	*to = 0;
	REQUIRE(!strcmp(got, want), "%s: in batches %s, not %s", moves, got, want);
}

static void test_batches(void)
{
	in_batches("P", "P");
	in_batches("PPPPPPPPDPDPDPDP", "PPPPPPPPDPDPDPDP");
	in_batches("pppppppp", "pppp pppp");
	in_batches("PpPpP", "pp PPP");
	in_batches("PPDpDPdPDP", "DpdP PPDPDP");
	in_batches("pDpdPP", "pDp dP P");
	in_batches("pppdPp", "ppp dPp");
	in_batches("pppdPpDP", "ppp dPp DP");
	in_batches("DPDPDDDd", "d DPDPDDD");
	in_batches("ddddddDPDP", "dddd dd DPDP");
	in_batches("DDpDP", "Dp DDP");
}

static u32 nr_victims;
static u32 least_victim;

static enum fusion_outcome cold_victim(struct sim *s, const struct fusion_move *move)
{
	if (move->to == FUSION_SLOW) {
		REQUIRE(fusion_policy_heat(s->policy, move->lext) <= 5);
		REQUIRE(!nr_victims || move->lext > least_victim, "not as the hand goes");
		least_victim = move->lext;
		nr_victims++;
	}
	return FUSION_MOVED;
}

static enum fusion_outcome any_victim(struct sim *s, const struct fusion_move *move)
{
	(void)s;
	nr_victims += move->to == FUSION_SLOW;
	return FUSION_MOVED;
}

/*
 * The coldest 32nd of the fast member makes room, and nothing else does until the sweep has seen
 * what the coldest are then, though all there would be cold enough for these candidates.
 */
static void test_coldest(void)
{
	enum { NR_FAST = 6400, COLD = NR_FAST / 32, HOT = 2 * COLD };

	start(NR_FAST, 4 * NR_FAST, 0);
	sim_fill(&sim, 0, sim.nr);
	for (u32 i = 0; i < NR_FAST; i++)
		fusion_policy_set_heat(p, i, i % 64 == 17 ? 3 : i % 64 == 49 ? 5 : 100);
	for (u32 i = 0; i < HOT; i++)
		fusion_policy_set_heat(p, 2 * NR_FAST + i, 10000);
	/* the bar is set by a pick, what is above it found by the sweep */
	sim.batch = 0;
	sim_rest(&sim, 5000);
	while (sim.now_ms < 20000 && p->sweep)
		sim_step(&sim);
	fusion_policy_pick(p, &(struct fusion_policy_env){ .idle = true }, NULL, 0);
	sim_rest(&sim, FUSION_PASS_MS - SIM_STEP_MS);
	while (sim.now_ms < 30000 && p->sweep)
		sim_step(&sim);
	REQUIRE_EQ(p->cold, 5);

	nr_victims = 0;
	sim.batch = FUSION_MAX_PICK;
	sim.outcome = cold_victim;
	/* in a part of a pass */
	for (u32 i = 0; i < 10; i++)
		sim_step(&sim);
	REQUIRE_EQ(nr_victims, COLD);

	sim.outcome = any_victim;
	sim_rest(&sim, 5000);
	REQUIRE_EQ(nr_victims, HOT);
	end();
}

/* What is told to be next is next, if nothing comes in between. */
static void test_next(void)
{
	const struct fusion_policy_env env = { .free_fast = 100 };
	struct fusion_move moves[FUSION_MAX_PICK];
	u32 next[2 * FUSION_MAX_PICK];
	const u32 first = 2000;
	unsigned int n, i;

	start(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr);
	REQUIRE_EQ(fusion_policy_next(p, next, 8), 0);
	for (i = 0; i < 100; i++)
		fusion_policy_set_heat(p, first + i, 1000 + 10 * i);
	sim.batch = 0;
	sim_rest(&sim, 5000);
	REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 4), 4);
	for (i = 0; i < 4; i++)
		REQUIRE_EQ(moves[i].lext, first + 99 - i);
	REQUIRE_EQ(fusion_policy_next(p, next, 8), 8);
	REQUIRE_EQ(fusion_policy_next(p, next, ARRAY_SIZE(next)), FUSION_MAX_PICK);
	for (i = 0; i < FUSION_MAX_PICK; i++)
		REQUIRE_EQ(next[i], first + 95 - i);
	/* it has not been used up */
	n = fusion_policy_pick(p, &env, moves, 4);
	REQUIRE_EQ(n, 4);
	for (i = 0; i < n; i++)
		REQUIRE_EQ(moves[i].lext, next[i]);
	/* not those that are left alone for a while, or are elsewhere by now */
	sim.map[first + 91] = fusion_word(FUSION_STABLE, FUSION_FAST, 0);
	fusion_policy_done(p, &(struct fusion_move){ .lext = first + 90, .to = FUSION_FAST },
			   FUSION_CANCELLED);
	REQUIRE_EQ(fusion_policy_next(p, next, 1), 1);
	REQUIRE_EQ(next[0], first + 89);
	end();
}

static void victims_of(enum fusion_dev dev, u32 first, u32 last, struct fusion_victims *v)
{
	*v = (struct fusion_victims){ .dev = dev, .first = first, .last = last };
	/* in slices, as the mover does */
	for (u32 lext = 0; lext < sim.nr; lext += 100)
		fusion_policy_victims(p, v, lext, min(lext + 100, sim.nr));
}

static void moved_up(u32 lext, enum fusion_outcome outcome)
{
	fusion_policy_done(p, &(struct fusion_move){ .lext = lext, .to = FUSION_FAST }, outcome);
}

/* Room on request: from the coldest of the fast member, the hottest of the slow one. */
static void test_victims(void)
{
	struct fusion_victims v;
	u32 i;

	start(100, 1000, 0);
	sim_fill(&sim, 0, sim.nr);
	REQUIRE_EQ(sim_on_fast(&sim, 0, 100), 100);
	for (i = 0; i < sim.nr; i++)
		fusion_policy_set_heat(p, i, 100 + (i * 7) % 1100);

	/* all but those that stay, which were 40 of 100 */
	victims_of(FUSION_FAST, 30, 69, &v);
	REQUIRE_EQ(v.nr, 60);
	REQUIRE_EQ(v.held, 0);
	for (i = 0; i < v.nr; i++) {
		REQUIRE(v.best[i].lext < 30 || (v.best[i].lext > 69 && v.best[i].lext < 100));
		REQUIRE(!i || heat(v.best[i].lext) >= heat(v.best[i - 1].lext));
	}
	/* no more than fit, and these are the coldest */
	victims_of(FUSION_FAST, 2000, 2000, &v);
	REQUIRE_EQ(v.nr, FUSION_VICTIMS);
	for (i = 0; i < v.nr; i++)
		REQUIRE_EQ(v.best[i].lext, i);
	victims_of(FUSION_SLOW, 1000, 1099, &v);
	REQUIRE_EQ(v.nr, FUSION_VICTIMS);
	for (i = 0; i < v.nr; i++)
		REQUIRE(v.best[i].lext >= 100 && v.best[i].lext < 1000 &&
			(!i || heat(v.best[i].lext) <= heat(v.best[i - 1].lext)));

	/* what was just promoted comes last; what could not be moved not at all; OPEN does */
	moved_up(0, FUSION_MOVED);
	moved_up(1, FUSION_FAILED);
	sim.map[2] = fusion_word_set_state(sim.map[2], FUSION_OPEN);
	sim.map[3] = fusion_word_set_state(sim.map[3], FUSION_COPYING);
	victims_of(FUSION_FAST, 10, 99, &v);
	REQUIRE_EQ(v.nr, 8);
	REQUIRE_EQ(v.held, 1);
	REQUIRE_EQ(v.best[0].lext, 2);
	REQUIRE_EQ(v.best[1].lext, 4);
	REQUIRE_EQ(v.best[7].lext, 0);
	sim.map[2] = fusion_word_set_state(sim.map[2], FUSION_STABLE);
	sim.map[3] = fusion_word_set_state(sim.map[3], FUSION_STABLE);
	victims_of(FUSION_FAST, 0, 99, &v);
	REQUIRE_EQ(v.nr, 0);
	end();
}

/* The access that makes an extent hot is seen at once, not when the sweep comes by. */
static void test_at_once(void)
{
	start(1000, 1U << 20, 0);
	sim_fill(&sim, 0, sim.nr);
	sim_rest(&sim, 10000);
	while (p->sweep < 500000)
		sim_step(&sim);
	/* not idle any more */
	sim_access(&sim, 1, 2048);
	sim_step(&sim);
	for (u32 k = 0; k < 4; k++) {
		fusion_policy_set_heat(p, 100000 + 1000 * k, 39);
		sim_access(&sim, 100000 + 1000 * k, 8);
	}
	sim_rest(&sim, 4 * SIM_STEP_MS);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 4);
	end();
}

/* One that hotter ones would push out again stays, though they can't move just now. */
static void test_not_for_long(void)
{
	start(100, 1000, 0);
	sim_fill(&sim, 0, sim.nr);
	for (u32 k = 500; k < 700; k++) {
		fusion_policy_set_heat(p, k, 5000);
		sim.map[k] = fusion_word_set_state(sim.map[k], FUSION_OPEN);
	}
	fusion_policy_set_heat(p, 900, 1000);
	sim_rest(&sim, 20000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	/* there is room in the end */
	for (u32 k = 500; k < 602; k++)
		sim_discard(&sim, k);
	sim_rest(&sim, 20000);
	REQUIRE_EQ(sim_on_fast(&sim, 900, 1), 1);
	end();
}

/* Extents that share a place in the table of candidates all get there. */
static void test_collisions(void)
{
	start(64, 40000, 0);
	sim_fill(&sim, 0, sim.nr);
	for (u32 t = 0; t < 40; t++) {
		for (u32 k = 1; k < 39; k++)
			sim_access(&sim, k * FUSION_CANDIDATES + 5, 8);
		sim_rest(&sim, 250);
	}
	sim_rest(&sim, 300000);
	for (u32 k = 1; k < 39; k++)
		REQUIRE(sim_on_fast(&sim, k * FUSION_CANDIDATES + 5, 1), "%u is not there", k);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 38);
	end();
}

/* What got hot while migration was off moves when it is on again. */
static void test_switched_off(void)
{
	start_filled(500);
	sim.batch = 0;
	sim_load(&sim, 3000, 64, DISK_IOPS, 600000);
	sim_rest(&sim, HOUR / 2);
	sim.batch = 4;
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_on_fast(&sim, 3000, 64), 64);
	end();
}

/* With the shortest half-life things can be learned, too. */
static void test_short_half_life(void)
{
	start_filled(500);
	fusion_policy_set_half_life(p, 1);
	sim_load(&sim, 3000, 16, 16 * 16, 10000);
	REQUIRE(sim_on_fast(&sim, 3000, 16) >= 14, "%u", sim_on_fast(&sim, 3000, 16));
	end();
}

/* -- rest --------------------------------------------------------------------- */

/* Nothing to do: says so, for ever, and looks at nothing for it. */
static void test_nothing(void)
{
	u32 hand;

	start_filled(500);
	sim_rest(&sim, 10000);
	hand = p->hand;
	for (u32 i = 0; i < 100000; i++)
		REQUIRE_EQ(sim_step(&sim), 0);
	REQUIRE_EQ(p->hand, hand);
	end();
}

/* A candidate that nothing can make room for costs one look at all extents per pass. */
static void test_fruitless(void)
{
	const struct fusion_policy_env env = { .free_slow = 100, .idle = true };
	struct fusion_move moves[8];
	u32 looked = 0, hand;

	start(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr - 100);
	for (u32 i = 0; i < sim.nr - 100; i++)
		fusion_policy_set_heat(p, i, 1000 + i % 100);
	sim_rest(&sim, 5000);
	for (u32 i = 0; i < 1000; i++) {
		hand = p->hand == sim.nr ? 0 : p->hand;
		REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 8), 0);
		looked += p->hand - hand;
	}
	REQUIRE(looked <= sim.nr, "%u", looked);
	end();
}

static void test_empty(void)
{
	start(FAST, SLOW, RESERVE);
	for (u32 i = 0; i < sim.nr; i++)
		fusion_policy_set_heat(p, i, 5000);
	sim_load(&sim, 0, sim.nr, 500, 60000);
	sim_rest(&sim, 60000);
	REQUIRE_EQ(sim_moves(&sim), 0);
	end();
}

/* -- reserve ------------------------------------------------------------------ */

static void test_reserve(void)
{
	start(FAST, SLOW, 100);
	sim_fill(&sim, 0, 2000);
	for (u32 i = 0; i < FAST; i++)
		fusion_policy_set_heat(p, i, i % 3 ? 3000 + i : i % 7);

	/* not while there is I/O, be it streams only */
	sim_scan(&sim, 1000, 1000, 2048, 100);
	REQUIRE_EQ(sim_moves(&sim), 0);
	sim_rest(&sim, SIM_IDLE_MS - SIM_STEP_MS);
	REQUIRE_EQ(sim_moves(&sim), 0);

	sim_rest(&sim, 30000);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 100);
	REQUIRE_EQ(sim.moves[FUSION_SLOW], 100);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
	for (u32 i = 0; i < FAST; i++)
		REQUIRE(i % 3 == 0 || sim_on_fast(&sim, i, 1), "%u was hot", i);

	/* and that is all */
	for (u32 i = 0; i < 10000; i++)
		REQUIRE_EQ(sim_step(&sim), 0);

	/* used up, and restored */
	sim_fill(&sim, 2000, 70);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 30);
	sim_rest(&sim, 30000);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 100);
	REQUIRE_EQ(sim.moves[FUSION_SLOW], 170);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
	end();
}

/* Also when all on the fast member is hot, and to the last free slot of the slow one. */
static void test_reserve_hot(void)
{
	start(FAST, SLOW, 100);
	sim_fill(&sim, 0, sim.nr - 60);
	for (u32 i = 0; i < FAST; i++)
		fusion_policy_set_heat(p, i, 20000 + i * 40);
	sim_rest(&sim, 60000);
	REQUIRE_EQ(sim.nr_free[FUSION_SLOW], 0);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 60);
	for (u32 i = 200; i < FAST; i++)
		REQUIRE(sim_on_fast(&sim, i, 1), "%u was among the hottest", i);
	REQUIRE_EQ(sim.moves[FUSION_FAST], 0);
	end();
}

/* Also when all on the fast member has only just been promoted. */
static void test_reserve_resident(void)
{
	start(64, SLOW, 20);
	sim_fill(&sim, 0, 1000);
	for (u32 i = 0; i < 64; i++)
		fusion_policy_done(p, &(struct fusion_move){ .lext = i, .to = FUSION_FAST },
				   FUSION_MOVED);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim.nr_free[FUSION_FAST], 20);
	end();
}

/* Slots on their way to the reserve are not asked for twice. */
static void test_reserve_in_flight(void)
{
	const struct fusion_policy_env env = { 0, 1000, 50, true };
	struct fusion_move moves[64], more[64];
	unsigned int n, i;

	start(FAST, SLOW, 50);
	sim_fill(&sim, 0, 2000);
	sim.batch = 0;
	sim_rest(&sim, 5000);
	n = fusion_policy_pick(p, &env, moves, 64);
	REQUIRE_EQ(n, 50);
	for (i = 0; i < n; i++)
		sim.map[moves[i].lext] = fusion_word_set_state(sim.map[moves[i].lext],
							       FUSION_COPYING);
	REQUIRE_EQ(fusion_policy_pick(p, &env, more, 64), 0);
	for (i = 0; i < n; i++)
		fusion_policy_done(p, &moves[i], i < 20 ? FUSION_FAILED : FUSION_MOVED);
	/* those that failed are replaced by others */
	REQUIRE_EQ(fusion_policy_pick(p, &(struct fusion_policy_env){ 30, 970, 50, true },
				      more, 64), 20);
	end();
}

/* -- trouble ------------------------------------------------------------------ */

static enum fusion_outcome fate;
static u64 tried_ms[64];
static u32 nr_tried;

static enum fusion_outcome one_fate(struct sim *s, const struct fusion_move *move)
{
	if (move->to == FUSION_FAST && nr_tried < ARRAY_SIZE(tried_ms))
		tried_ms[nr_tried++] = s->now_ms;
	return move->to == FUSION_FAST ? fate : FUSION_MOVED;
}

/* One hot extent whose moves all end like this, under load or idle, for a day. */
static void suffer(enum fusion_outcome outcome, bool busy)
{
	start_filled(500);
	fusion_policy_set_half_life(p, 86400);
	sim.outcome = one_fate;
	fate = outcome;
	nr_tried = 0;
	fusion_policy_set_heat(p, 3000, 40000);
	while (sim.now_ms < 3 * HOUR) {
		if (busy && sim.now_ms % 500 == 0)
			sim_access(&sim, 1, 2048);
		sim_step(&sim);
		/* the demotion went through */
		sim_fill(&sim, sim.nr - 500, sim.nr_free[FUSION_FAST] - (s32)RESERVE);
	}
	REQUIRE(nr_tried, "never tried");
	/* not for ever */
	fate = FUSION_MOVED;
	sim_rest(&sim, 66 * 60000);
	REQUIRE_EQ(sim_on_fast(&sim, 3000, 1), 1);
	end();
}

static void test_back_off(void)
{
	u64 gap, last = 0;

	/* cancelled: 1, 2, 4, 8, 16, 16 ... seconds, and the time of a pass */
	suffer(FUSION_CANCELLED, true);
	REQUIRE_EQ(nr_tried, ARRAY_SIZE(tried_ms));
	for (u32 i = 1; i < 20; i++) {
		gap = tried_ms[i] - tried_ms[i - 1];
		REQUIRE(gap >= 1000U << min(i - 1, 4U), "%llu ms before try %u", gap, i + 1);
		REQUIRE(gap <= 21000, "%llu ms before try %u", gap, i + 1);
	}

	/* failed: a minute, 2, 4, ... 64 */
	suffer(FUSION_FAILED, true);
	REQUIRE(nr_tried >= 7 && nr_tried <= 9, "tried %u times in three hours", nr_tried);
	for (u32 i = 1; i < nr_tried; i++) {
		gap = tried_ms[i] - tried_ms[i - 1];
		REQUIRE(gap >= last, "%llu ms after %llu ms", gap, last);
		last = gap;
	}
	REQUIRE(last >= 3600000, "%llu", last);

	/* idle or not */
	suffer(FUSION_FAILED, false);
	REQUIRE(nr_tried >= 7 && nr_tried <= 9, "tried %u times in three hours", nr_tried);

	/* skipped: no more than once a second */
	suffer(FUSION_SKIPPED, false);
	for (u32 i = 1; i < nr_tried; i++)
		REQUIRE(tried_ms[i] - tried_ms[i - 1] >= 1000);
}

/* Trouble of long ago does not count. */
static void test_forgiven(void)
{
	const struct fusion_policy_env env = { 100, 1000, 0, false };
	struct fusion_move move = { .lext = 3000, .to = FUSION_FAST }, moves[8];

	start(FAST, SLOW, 0);
	sim_fill(&sim, 0, sim.nr - 500);
	sim.batch = 0;
	fusion_policy_set_heat(p, move.lext, 10000);
	sim_rest(&sim, 3000);
	for (u32 i = 0; i < 10; i++)
		fusion_policy_done(p, &move, FUSION_CANCELLED);
	sim_rest(&sim, 15000);
	REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 8), 0);
	sim_rest(&sim, 15 * 60000);
	fusion_policy_done(p, &move, FUSION_CANCELLED);
	REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 8), 0);
	sim_rest(&sim, 3000);
	REQUIRE_EQ(fusion_policy_pick(p, &env, moves, 8), 1);
	end();
}

/* An extent that failed is not forgotten for others in its place that were cancelled. */
static void test_back_off_collision(void)
{
	const struct fusion_policy_env env = { 100, 1000, 0, false };
	struct fusion_move bad = { .lext = 3000, .to = FUSION_FAST };
	struct fusion_move other = { .lext = 3000 + FUSION_HOLDS, .to = FUSION_FAST };
	struct fusion_move moves[8];
	unsigned int n;

	start(FAST, SLOW + FUSION_HOLDS, 0);
	sim_fill(&sim, 0, sim.nr - 500);
	sim.batch = 0;
	fusion_policy_set_heat(p, bad.lext, 1000);
	fusion_policy_set_heat(p, other.lext, 4 * FUSION_HEAT_TOUCH - 1);
	sim_rest(&sim, 3000);
	fusion_policy_done(p, &bad, FUSION_FAILED);
	fusion_policy_done(p, &other, FUSION_CANCELLED);
	/* they collide as candidates, too, so it has to become one after the other */
	fusion_policy_touch(p, other.lext, FUSION_HEAT_TOUCH);
	n = fusion_policy_pick(p, &env, moves, 8);
	REQUIRE_EQ(n, 1);
	REQUIRE_EQ(moves[0].lext, other.lext);
	end();
}

static void test_not_stable(void)
{
	static const enum fusion_state state[] = { FUSION_OPEN, FUSION_COPYING, FUSION_LOCKED };

	start(FAST, SLOW, RESERVE);
	sim_fill(&sim, 0, sim.nr - 100);
	for (u32 i = 0; i < sim.nr - 100; i++)
		sim.map[i] = fusion_word_set_state(sim.map[i], state[i % 3]);
	sim_load(&sim, 3000, 64, DISK_IOPS, 15000);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim.asked, 0);
	/* one that becomes so is found */
	sim.map[3001] = fusion_word_set_state(sim.map[3001], FUSION_STABLE);
	sim.map[1] = fusion_word_set_state(sim.map[1], FUSION_STABLE);
	sim_rest(&sim, 10000);
	REQUIRE_EQ(sim_on_fast(&sim, 3001, 1), 1);
	REQUIRE_EQ(sim_on_fast(&sim, 1, 1), 0);
	end();
}

static enum fusion_outcome any_fate(struct sim *s, const struct fusion_move *move)
{
	(void)move;
	return rnd_below(&s->seed, 2) ? FUSION_MOVED : rnd_below(&s->seed, FUSION_SKIPPED + 1);
}

/* Everything at once: what is promised of every answer holds. */
static void test_chaos(void)
{
	u64 moves = 0;

	for (u32 seed = 1; seed <= 30; seed++) {
		u32 place = 0;
		u64 s = seed;

		start(64 + rnd_below(&s, 200), 64 + rnd_below(&s, 1000), rnd_below(&s, 32));
		sim.seed = seed;
		sim.outcome = any_fate;
		fusion_policy_set_half_life(p, rnd_log(&s, 1, 604800));
		for (u32 step = 0; step < 20000; step++) {
			u32 lext = rnd_below(&s, sim.nr), what = rnd_below(&s, 100);

			sim.batch = rnd_below(&s, FUSION_MAX_PICK + 1);
			if (what < 5 && fusion_word_mapped(sim.map[lext]))
				sim_discard(&sim, lext);
			else if (what < 15)
				sim_fill(&sim, lext, 1);
			else if (what < 20)
				sim.reserve = rnd_below(&s, 32);
			else if (what < 30 && fusion_word_mapped(sim.map[lext]))
				sim.map[lext] = fusion_word_set_state(sim.map[lext],
								      rnd_below(&s, 4));
			else if (what == 30)
				sim.now_ms += rnd_log(&s, 1, DAY);
			else if (what == 31)
				fusion_policy_set_half_life(p, rnd_log(&s, 1, 604800));
			if (what == 32)
				place = rnd_below(&s, sim.nr - 32);
			for (u32 i = rnd_below(&s, 300); what < 60 && i; i--)
				sim_access(&sim, place + rnd_below(&s, 32), rnd_log(&s, 1, 2048));
			sim_step(&sim);
		}
		moves += sim_moves(&sim);
		end();
	}
	REQUIRE(moves > 3000, "%llu moves", moves);
}

/* -- thrashing ---------------------------------------------------------------- */

/* Two regions, each as large as the fast member, hot in turn: A, B, A, B ... */
static void test_alternating(void)
{
	enum { TURNS = 12 };
	static const u64 period_ms[] = { 10000, 60000, 600000, HOUR };
	u64 promotions;

	for (u32 i = 0; i < ARRAY_SIZE(period_ms); i++) {
		start(64, 1000, 0);
		sim_fill(&sim, 0, sim.nr);
		for (u32 k = 0; k < TURNS; k++)
			sim_load(&sim, k & 1 ? 200 : 600, 64, 64, period_ms[i]);
		promotions = sim.moves[FUSION_FAST];
		printf("# turns of %llu s: %llu promotions in %u turns for 64 slots\n",
		       period_ms[i] / 1000, promotions, TURNS);
		/* each once, when they come up first; after that only a doubling moves one */
		REQUIRE(promotions >= 60);
		REQUIRE(promotions <= 64 * TURNS / 2, "%llu", promotions);
		if (period_ms[i] < HOUR)
			REQUIRE(promotions <= 64 * 4, "%llu", promotions);
		end();
	}
}

/*
 * Random I/O everywhere: no extent is better than another, so leave them alone. As long as
 * few accesses have been seen, chance makes some look better.
 */
static void test_uniform(void)
{
	static const u32 iops[] = { 12, 120, 500 };
	u64 hour, later;

	for (u32 i = 0; i < ARRAY_SIZE(iops); i++) {
		start_filled(500);
		sim_load(&sim, 0, sim.nr - 500, iops[i], HOUR);
		hour = sim.moves[FUSION_FAST];
		sim_load(&sim, 0, sim.nr - 500, iops[i], 2 * HOUR);
		later = sim.moves[FUSION_FAST] - hour;
		printf("# uniform, %u IOPS, %u slots: %llu promotions in 1 h, %llu in 2 more\n",
		       iops[i], FAST, hour, later);
		REQUIRE(hour <= FAST / 4, "%llu", hour);
		REQUIRE(later <= FAST / 10, "%llu", later);
		end();
	}
}

/* -- the whole ---------------------------------------------------------------- */

/* Weights 1 / rank^s, summed up, of extents in random order. */
static void zipf(double *sum, u32 *rank, u32 n, double s, u64 *seed)
{
	double total = 0;

	for (u32 i = 0; i < n; i++) {
		total += __builtin_pow(i + 1, -s);
		sum[i] = total;
		rank[i] = i;
	}
	for (u32 i = n; i > 1; i--) {
		u32 k = rnd_below(seed, i);

		swap(rank[i - 1], rank[k]);
	}
}

static u32 draw(const double *sum, u32 n, u64 *seed)
{
	double x = (double)(rnd(seed) >> 11) / (1ULL << 53) * sum[n - 1];
	u32 lo = 0, hi = n - 1;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (sum[mid] <= x)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Six hours of zipf at 200 IOPS, the fast member an 11th; then the popularity changes. */
static void test_zipf(void)
{
	enum { N = 4400, K = 400 };
	static double sum[N];
	static u32 rank[N];
	u64 ios, hits, seed = 42;
	double oracle, ratio;
	u32 i, hour, nr_wasted;

	start(K, N - K, 0);
	sim_fill(&sim, 0, N);
	for (u32 phase = 0; phase < 2; phase++) {
		zipf(sum, rank, N, 1.0, &seed);
		oracle = sum[K - 1] / sum[N - 1];
		for (hour = 1; hour <= 6; hour++) {
			ios = sim.ios;
			hits = sim.hits;
			sim.moves[FUSION_FAST] = 0;
			for (i = 0; i < HOUR / SIM_STEP_MS; i++) {
				for (u32 k = 0; k < 10; k++)
					sim_access(&sim, rank[draw(sum, N, &seed)], 8);
				sim_step(&sim);
			}
			ratio = (double)(sim.hits - hits) / (sim.ios - ios);
			printf("# zipf 1.0, hour %u: hits %.3f, oracle %.3f; %llu promotions\n",
			       hour, ratio, oracle, sim.moves[FUSION_FAST]);
		}
		REQUIRE(ratio >= 0.97 * oracle, "%.3f of %.3f", ratio, oracle);
		for (i = 0, nr_wasted = 0; i < N; i++)
			nr_wasted += i >= 2 * K && sim_on_fast(&sim, rank[i], 1);
		REQUIRE(nr_wasted <= K / 20, "%u on the fast member without merit", nr_wasted);
	}
	end();
}

/* 16 Mi extents. */
static void test_large(void)
{
	enum { LAST = (1U << 24) - 1 };

	start(1U << 20, 15U << 20, 0);
	sim_fill(&sim, 0, sim.nr);
	fusion_policy_set_heat(p, LAST, 10000);
	fusion_policy_set_heat(p, 9999999, FUSION_HEAT_MAX);
	sim_rest(&sim, 3 * SIM_STEP_MS * (sim.nr / FUSION_SLICE));
	REQUIRE_EQ(sim_on_fast(&sim, LAST, 1), 1);
	REQUIRE_EQ(sim_on_fast(&sim, 9999999, 1), 1);
	REQUIRE_EQ(sim_moves(&sim), 4);
	end();
}

static const struct unit_test tests[] = {
	{ "heat halves in a half-life", test_decay },
	{ "heat of a steady rate", test_steady },
	{ "heat saturates", test_saturation },
	{ "one access counts per tick", test_tick },
	{ "a discarded extent is forgotten", test_forget },
	{ "no wrap of the clock makes an extent hot", test_wrap },
	{ "what was left alone for long is cold", test_long_ago },
	{ "half-life changed", test_half_life_changed },
	{ "a hot region moves in, in three passes", test_three_passes },
	{ "also when writes cancel copies", test_three_passes_cancelled },
	{ "both devices full: hot and cold swap", test_full },
	{ "both devices full, no reserve to be had", test_full_reserve },
	{ "migration works after a long stream", test_after_stream },
	{ "a scan moves nothing", test_scan },
	{ "scans do not displace what is hot", test_scan_and_load },
	{ "free fast slots are used, the reserve is not", test_eager },
	{ "the hottest first", test_hottest_first },
	{ "the coldest make room", test_coldest },
	{ "what is next", test_next },
	{ "what makes room on request", test_victims },
	{ "batches of what is to move", test_batches },
	{ "at once", test_at_once },
	{ "no place for what hotter ones would push out", test_not_for_long },
	{ "candidates that collide", test_collisions },
	{ "migration off and on again", test_switched_off },
	{ "shortest half-life", test_short_half_life },
	{ "nothing to do", test_nothing },
	{ "no room to be made", test_fruitless },
	{ "nothing mapped", test_empty },
	{ "reserve is refilled when idle, then that stops", test_reserve },
	{ "reserve from hot extents, as far as there is room", test_reserve_hot },
	{ "reserve from what was just promoted", test_reserve_resident },
	{ "reserve is not refilled twice", test_reserve_in_flight },
	{ "back-off", test_back_off },
	{ "back-off is forgiven", test_forgiven },
	{ "back-off of extents that collide", test_back_off_collision },
	{ "only STABLE extents move", test_not_stable },
	{ "chaos", test_chaos },
	{ "alternating loads", test_alternating },
	{ "uniform load", test_uniform },
	{ "zipf against an oracle", test_zipf },
	{ "16 Mi extents", test_large },
};

UNIT_TESTS(tests)
