// SPDX-License-Identifier: GPL-2.0-only
/* Why figures are not reliable: verdicts on what was watched beside the transfers. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "bench.h"
#include "role.h"
#include "size.h"

/* So much of what is transferred has to reach the disks, */
#define LEAST_ON_DISK	0.95
/* and of zeros, unless they are compressed. */
#define LEAST_ZEROS	0.8
#define MOST_COMPRESSIBLE 1.5	/* times as fast */
/* Caches of disks hold less. */
#define LEAST_BETWEEN	(512ULL << 20)
/* Other load: a share of the bytes, with what a file system adds to each file, */
#define MOST_OTHER	0.02
#define METADATA	(256ULL << 10)
/* and while nothing is asked for. */
#define MOST_IDLE_IOS	10	/* in a second */
#define MOST_IDLE_BUSY	0.02
#define LEAST_SAMPLED	0.5	/* of the blocks have to be other than zeros */
#define LEAST_TRANSFERS	30	/* in a direction, */
#define LEAST_OF_MEMBER	16	/* and for the line of a member */
#define LEAST_IOS	10	/* of a load, each time */
#define LEAST_INTERVALS	30	/* to find a fall among them */
#define MOST_SPREAD	0.25	/* of the rates of a load, of their median */
#define MOST_OUTLIERS	0.2

const char *const bench_doubt_name[NR_BENCH_DOUBTS] = {
	[DOUBT_NO_DISK] = "no_disk",
	[DOUBT_CACHE] = "cache",
	[DOUBT_SMALL] = "small",
	[DOUBT_COMPRESSION] = "compression",
	[DOUBT_ZEROS] = "zeros",
	[DOUBT_LOAD] = "load",
	[DOUBT_MOVES] = "moves",
	[DOUBT_FEW] = "few",
	[DOUBT_OUTLIERS] = "outliers",
	[DOUBT_NO_LINE] = "no_line",
	[DOUBT_KEPT] = "kept",
};

__attribute__((format(printf, 3, 4)))
static void doubt(struct bench *b, enum bench_doubt kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b->doubt[kind], sizeof(b->doubt[kind]), fmt, ap);
	va_end(ap);
}

static void find_cache(struct bench *b, enum bench_direction dir)
{
	const struct bench_facts *f = &b->facts;
	char moved[SIZE_TEXT], asked[SIZE_TEXT];

	if (!f->has_disk || f->disk[dir] >= LEAST_ON_DISK * f->asked[dir])
		return;
	fus_size_text(moved, f->disk[dir]);
	fus_size_text(asked, f->asked[dir]);
	doubt(b, DOUBT_CACHE, "the disks %s only %s of %s: a cache, or unmapped space, served the "
	      "rest", dir == BENCH_READ ? "read" : "wrote", moved, asked);
}

static void find_small(struct bench *b)
{
	char between[SIZE_TEXT];

	if ((b->profile == BENCH_HONEST && !b->write) || b->facts.between >= LEAST_BETWEEN)
		return;
	fus_size_text(between, b->facts.between);
	if (b->profile != BENCH_HONEST)
		doubt(b, DOUBT_SMALL, "a disk's own cache may hold much of %s; %s", between,
		      b->profile == BENCH_FULLNESS ? "measure a larger one" :
		      "raise --max-size");
	else
		doubt(b, DOUBT_SMALL, "only %s lie between writing and reading a file, which a "
		      "disk's own cache may hold; raise --max-size", between);
}

static void find_compression(struct bench *b)
{
	const struct bench_facts *f = &b->facts;

	if (f->compressible > MOST_COMPRESSIBLE)
		doubt(b, DOUBT_COMPRESSION, "zeros are written %.1f times as fast as random data: "
		      "something compresses, and figures depend on the data", f->compressible);
	else if (f->zeros_written && f->zeros_written < LEAST_ZEROS)
		doubt(b, DOUBT_COMPRESSION, "only %.0f %% of zeros reached the disks: something "
		      "compresses, and figures depend on the data", 100 * f->zeros_written);
}

static void find_zeros(struct bench *b)
{
	const struct bench_facts *f = &b->facts;

	if (f->sampled && f->sampled - f->zeros < LEAST_SAMPLED * f->sampled)
		doubt(b, DOUBT_ZEROS, "%" PRIu64 " of %" PRIu64 " blocks read are zeros, which a "
		      "disk may return without reading; measure a part with data, or add --write",
		      f->zeros, f->sampled);
}

static void find_load(struct bench *b)
{
	const struct bench_facts *f = &b->facts;
	double seconds = f->idle_seconds > 0 ? f->idle_seconds : 1;

	if (f->idle_ios > MOST_IDLE_IOS * seconds || f->idle_busy > MOST_IDLE_BUSY) {
		doubt(b, DOUBT_LOAD, "other processes used the disk: %.0f I/Os a second, %.0f %% "
		      "of the time; stop them and measure again", f->idle_ios / seconds,
		      100 * f->idle_busy);
		return;
	}
	for (int dir = 0; f->has_device && dir < 2; dir++) {
		uint64_t most = MOST_OTHER * (f->asked[0] + f->asked[1]) +
				(f->files ? METADATA * (b->plan.nr + b->nr_turns) : METADATA);
		char other[SIZE_TEXT];

		if (f->other[dir] > most)
			doubt(b, DOUBT_LOAD, "other processes %s %s meanwhile; stop them and "
			      "measure again",
			      dir == BENCH_READ ? "read" : "wrote",
			      fus_size_text(other, f->other[dir]));
	}
}

static void find_in_lines(struct bench *b)
{
	for (unsigned int i = 0; i < BENCH_LINES; i++) {
		const struct bench_line *line = &b->line[i];
		const char *dir = bench_direction_name[line->dir];

		if (!bench_shows(b, line))
			continue;
		if (line->member >= 0 && line->nr < LEAST_OF_MEMBER)
			doubt(b, DOUBT_FEW, "the %s member served only %u %ss, which are too few "
			      "for a line; %s", fus_role_name[line->member], line->nr, dir,
			      b->quick ? "leave out --quick" : "measure a part that lies more on "
			      "it");
		if (line->member < 0 && line->nr < LEAST_TRANSFERS)
			doubt(b, DOUBT_FEW, "%u %ss are too few", line->nr, dir);
		if (!line->known)
			doubt(b, DOUBT_NO_LINE, "large transfers do not take longer than small "
			      "ones to %s", dir);
		if (line->known && line->outliers > MOST_OUTLIERS * line->nr)
			doubt(b, DOUBT_OUTLIERS, "%u of %u transfers took unusually long or short "
			      "to %s; look for what slows the disk at times", line->outliers,
			      line->nr, dir);
	}
}

static bool has_few(const struct bench_run *r)
{
	for (unsigned int i = 0; i < r->nr; i++)
		if (r->try[i].side[0].ios + r->try[i].side[1].ios < LEAST_IOS)
			return true;
	return false;
}

static void find_in_runs(struct bench *b)
{
	unsigned int few = 0, unlike = 0;

	for (unsigned int i = 0; i < b->nr_runs; i++) {
		struct theil_value rate = bench_run_value(&b->run[i], BENCH_RATE);

		few += has_few(&b->run[i]);
		unlike += rate.high - rate.low > MOST_SPREAD * rate.is;
	}
	if (few)
		doubt(b, DOUBT_FEW, "%u of %u loads did fewer than %u I/Os in %u s, which are too "
		      "few", few, b->nr_runs, LEAST_IOS, b->seconds);
	/* and learning makes a set faster from time to time */
	if (unlike && !(b->profile == BENCH_MIX && b->facts.moved))
		doubt(b, DOUBT_OUTLIERS, "the rates of %u of %u loads differ by more than a "
		      "quarter from time to time; look for what slows the disk at times", unlike,
		      b->nr_runs);
}

static void find_in_series(struct bench *b)
{
	if (b->profile == BENCH_SUSTAINED && b->series.nr < LEAST_INTERVALS)
		doubt(b, DOUBT_FEW, "%u intervals are too few to tell a fall from chance; "
		      "raise --duration", b->series.nr);
}

bool bench_find_doubts(struct bench *b)
{
	bool any = false;

	if (!b->facts.has_disk)
		doubt(b, DOUBT_NO_DISK, "no disk with counters is known beneath, so caches cannot "
		      "be found out; name a directory or device on a disk");
	find_cache(b, BENCH_READ);
	find_cache(b, BENCH_WRITE);
	find_small(b);
	find_compression(b);
	find_zeros(b);
	find_load(b);
	/* a mix is also to show how a set learns, and long writes how it makes room */
	if (b->facts.moved && b->profile != BENCH_MIX && b->profile != BENCH_SUSTAINED)
		doubt(b, DOUBT_MOVES, "the set moved or copied %" PRIu64 " extents meanwhile; "
		      "fusionctl set %s migration=off shadow_age=0 --now, and measure again",
		      b->facts.moved, b->set);
	if (b->facts.kept)
		doubt(b, DOUBT_KEPT, "the device cannot be discarded, so it may be full in its own "
		      "view at each step; erase it by other means, or measure another one");
	find_in_lines(b);
	find_in_runs(b);
	find_in_series(b);
	for (int i = 0; i < NR_BENCH_DOUBTS; i++)
		any |= *b->doubt[i];
	return any;
}
