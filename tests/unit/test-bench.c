// SPDX-License-Identifier: GPL-2.0-only
/* fusionctl bench: plans, reports of fio, lines of members, verdicts, and comparing. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"
#include "captured.h"

#include "bench.h"
#include "error.h"
#include "fusionctl.h"
#include "program.h"

#define MIB	(1024ULL * 1024)
#define GIB	(1024 * MIB)
#define NR	160

static struct bench_transfer transfers[2 * NR];
static struct bench bench;

/* -- plans -------------------------------------------------------------------------- */

static bool is_permutation(const unsigned int *order, unsigned int nr)
{
	bool seen[NR] = { false };

	for (unsigned int i = 0; i < nr; i++) {
		if (order[i] >= nr || seen[order[i]])
			return false;
		seen[order[i]] = true;
	}
	return true;
}

static void plan_files(void)
{
	struct bench_plan p, again, other;
	uint64_t last = 0;

	REQUIRE(!bench_plan(&p, false, BENCH_MOST, 1, 0));
	REQUIRE_EQ(p.nr, NR);
	for (unsigned int i = 0; i < p.nr; i++) {
		uint64_t bytes = p.place[i].bytes;

		REQUIRE(bytes % BENCH_UNIT == 0 && bytes % fio_blocks(bytes) == 0 &&
			bytes / fio_blocks(bytes) % 4096 == 0, "%llu", (unsigned long long)bytes);
		REQUIRE(i % p.each ? bytes == last : bytes > last);
		last = bytes;
	}
	REQUIRE_EQ(p.place[0].bytes, BENCH_LEAST);
	REQUIRE_EQ(last, BENCH_MOST);
	REQUIRE(p.total > 53 * GIB && p.total < 56 * GIB);
	REQUIRE(is_permutation(p.order[BENCH_READ], p.nr));
	REQUIRE(is_permutation(p.order[BENCH_WRITE], p.nr));
	REQUIRE(memcmp(p.order[BENCH_READ], p.order[BENCH_WRITE], p.nr * sizeof(unsigned int)));
	REQUIRE(bench_plan_between(&p) > 8 * GIB);
	REQUIRE(!bench_plan(&again, false, BENCH_MOST, 1, 0));
	REQUIRE(!memcmp(p.order[0], again.order[0], p.nr * sizeof(unsigned int)));
	REQUIRE(!bench_plan(&other, false, BENCH_MOST, 2, 0));
	REQUIRE(memcmp(p.order[0], other.order[0], p.nr * sizeof(unsigned int)));
	bench_plan_free(&p);
	bench_plan_free(&again);
	bench_plan_free(&other);
}

/* So many transfers lie between the write and the read of each place, at least. */
static void plan_between(void)
{
	struct bench_plan p;

	for (uint64_t seed = 0; seed < 20; seed++) {
		uint64_t least = UINT64_MAX;

		REQUIRE(!bench_plan(&p, true, BENCH_QUICK, seed, 0));
		for (unsigned int i = 0; i < p.nr; i++) {
			uint64_t between = 0;

			for (unsigned int k = p.nr; p.order[BENCH_WRITE][--k] != i;)
				between += p.place[p.order[BENCH_WRITE][k]].bytes;
			for (unsigned int k = 0; p.order[BENCH_READ][k] != i; k++)
				between += p.place[p.order[BENCH_READ][k]].bytes;
			least = between < least ? between : least;
		}
		REQUIRE(least >= bench_plan_between(&p), "%llu",
			(unsigned long long)bench_plan_between(&p));
		bench_plan_free(&p);
	}
}

/* Places are on the device, and apart. */
static void plan_device(void)
{
	struct bench_plan p;

	for (uint64_t seed = 0; seed < 50; seed++) {
		uint64_t device = 2100 * MIB + seed * 777 * MIB + 4096;

		REQUIRE(!bench_plan(&p, true, BENCH_QUICK, seed, device));
		for (unsigned int i = 0; i < p.nr; i++) {
			const struct bench_place *a = &p.place[i];

			REQUIRE(a->at % BENCH_UNIT == 0 && a->at + a->bytes <= device);
			for (unsigned int k = 0; k < i; k++)
				REQUIRE(p.place[k].at + p.place[k].bytes <= a->at ||
					a->at + a->bytes <= p.place[k].at);
		}
		bench_plan_free(&p);
	}
	REQUIRE(bench_plan(&p, true, BENCH_QUICK, 1, GIB));
	bench_plan_free(&p);
}

/* -- fio ---------------------------------------------------------------------------- */

#define REPORT(error, bytes, ios, mean)							\
	"note: something\n{ \"fio version\" : \"fio-3.33\", \"jobs\" : [ { "			\
	"\"jobname\" : \"bench\", \"error\" : " error ", \"read\" : { \"io_bytes\" : 0, "	\
	"\"total_ios\" : 0, \"runtime\" : 0, \"lat_ns\" : { \"mean\" : 0.0 } }, "		\
	"\"write\" : { \"io_bytes\" : " bytes ", \"total_ios\" : " ios ", "			\
	"\"runtime\" : 2500, \"lat_ns\" : { \"min\" : 1, \"mean\" : " mean ", "			\
	"\"percentile\" : { \"99.000000\" : 9000000 } } } } ] }\nfio: late words\n"

static void parse_fio(void)
{
	static const char *const wrong[] = {
		"", "{", "[]", "{}", "{ \"jobs\" : [] }", "{ \"jobs\" : [ 1 ] }",
		"{ \"jobs\" : [ {}, {} ] }", "{ \"jobs\" : { } }",
		REPORT("0", "\"x\"", "3", "1.0"), REPORT("0", "1", "3", "-1.0"),
		REPORT("0", "1", "null", "1.0"), REPORT("\"\"", "1", "1", "1.0"),
	};
	struct fio_side side[2];
	struct fio_result r;

	REQUIRE(!fio_parse_load(REPORT("0", "25165824", "3", "4463110.5"), side));
	REQUIRE(side[0].bytes == 0 && side[0].ios == 0 && side[0].p99 == 0);
	REQUIRE(side[1].bytes == 25165824 && side[1].ios == 3 && side[1].seconds == 2.5);
	REQUIRE(fabs(side[1].mean - 0.0044631105) < ldexp(1, -40) && side[1].p99 == 0.009);
	r = fio_result_of(&side[1]);
	REQUIRE_EQ(r.bytes, 25165824);
	REQUIRE(fabs(r.seconds - 0.0133893315) < ldexp(1, -40), "%.12f", r.seconds);
	REQUIRE(!strcmp(fio_parse_load(REPORT("5", "0", "0", "0.0"), side), strerror(5)));
	REQUIRE(!strcmp(fio_parse_load("fio: looks like your file system does not support it\nx",
				       side), "looks like your file system does not support it"));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		REQUIRE(fio_parse_load(wrong[i], side), "%s", wrong[i]);
}

/* Three lines are wanted. */
static bool count_line(const char *line, void *ctx)
{
	unsigned int *lines = ctx;

	(void)line;
	return ++*lines < 3;
}

static volatile sig_atomic_t came;

static void note(int number)
{
	came = number;
}

/* A signal comes between two reads of what the program prints. */
static bool raise_one(const char *line, void *ctx)
{
	(void)line;
	++*(unsigned int *)ctx;
	raise(SIGTERM);
	return true;
}

static void tied_signals(void)
{
	const char *const waits[] = { "sh", "-c", "echo; exec sleep 10", NULL };
	const char *const talks[] = { "yes", NULL };
	const char *const killed[] = { "sh", "-c", "kill -TERM $$; sleep 10", NULL };
	const struct sigaction action = { .sa_handler = note };
	const time_t start = time(NULL);
	unsigned int lines = 0;
	struct sigaction old;

	REQUIRE(!sigaction(SIGTERM, &action, &old));
	REQUIRE_EQ(fus_program_tied(waits, raise_one, &lines), -1);
	REQUIRE(came == SIGTERM && lines == 1 && time(NULL) < start + 9, "%u lines in %ld s",
		lines, (long)(time(NULL) - start));
	/* one that prints all the time is no reason not to see it */
	lines = 0;
	REQUIRE_EQ(fus_program_tied(talks, raise_one, &lines), -1);
	REQUIRE(lines < 100000, "%u lines", lines);
	/* they are held here, not in the program */
	REQUIRE_EQ(fus_program_tied(killed, count_line, &lines), -1);
	REQUIRE(time(NULL) < start + 9);
	sigaction(SIGTERM, &old, NULL);
}

static void tied(void)
{
	/* it would print for ever, or say no more and go on */
	const char *const talks[] = { "yes", NULL }, *const waits[] = {
		"sh", "-c", "echo; echo; echo; exec sleep 100", NULL };
	unsigned int lines = 0;

	REQUIRE_EQ(fus_program_tied(talks, count_line, &lines), -1);
	REQUIRE_EQ(lines, 3);
	lines = 0;
	REQUIRE_EQ(fus_program_tied(waits, count_line, &lines), -1);
	REQUIRE_EQ(lines, 3);
}

/* -- lines -------------------------------------------------------------------------- */

/* A set of which every second transfer is served by the slow member, or no set. */
static void fill(bool set)
{
	bench = (struct bench) { .target = "/srv", .transfer = transfers, .nr = 2 * NR,
				 .write = true };
	bench.facts = (struct bench_facts) { .has_disk = true, .has_device = true, .on_set = set,
					     .files = true, .between = GIB, .idle_seconds = 6 };
	bench.plan.nr = NR;
	for (unsigned int i = 0; i < 2 * NR; i++) {
		struct bench_transfer *t = &transfers[i];
		bool slow = set && i % 2;

		*t = (struct bench_transfer) {
			.dir = i / NR, .bytes = (i % NR / 10 + 1) * 2 * MIB,
			.fast_share = set ? !slow : -1,
		};
		t->seconds = (slow ? 0.01 : 0.0001) + t->bytes / (slow ? 150e6 : 500e6);
		bench.facts.asked[t->dir] += t->bytes;
		bench.facts.disk[t->dir] += t->bytes;
	}
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 0.001 * fabs(b);
}

static void one_line(void)
{
	fill(false);
	transfers[7].seconds *= 10;
	REQUIRE(bench_find_lines(&bench));
	for (int i = 0; i < BENCH_LINES; i++)
		REQUIRE_EQ(bench_shows(&bench, &bench.line[i]), i % 3 == 0);
	REQUIRE(near(bench.line[0].rate.is, 500e6), "%g", bench.line[0].rate.is);
	REQUIRE(near(bench.line[0].latency.is, 0.0001), "%g", bench.line[0].latency.is);
	REQUIRE_EQ(bench.line[0].outliers, 1);
	REQUIRE(transfers[7].outlier && bench.line[0].slowest == transfers[7].seconds);
	REQUIRE(bench.line[0].fast_share == -1);
}

static void two_lines(void)
{
	fill(true);
	/* by both, which is neither */
	transfers[0].fast_share = 0.5;
	REQUIRE(bench_find_lines(&bench));
	for (int i = 0; i < BENCH_LINES; i++)
		REQUIRE_EQ(bench_shows(&bench, &bench.line[i]), i % 3 != 0);
	REQUIRE_EQ(bench.line[0].nr, NR);
	REQUIRE_EQ(bench.line[1].nr, NR / 2 - 1);
	REQUIRE_EQ(bench_served_by_both(&bench, BENCH_READ), 1);
	REQUIRE_EQ(bench_served_by_both(&bench, BENCH_WRITE), 0);
	REQUIRE_EQ(bench.line[2].nr, NR / 2);
	REQUIRE(near(bench.line[1].rate.is, 500e6) && near(bench.line[2].rate.is, 150e6));
	REQUIRE(near(bench.line[2].latency.is, 0.01), "%g", bench.line[2].latency.is);
	REQUIRE(bench.line[1].fast_share == 1 && bench.line[2].fast_share == 0);
	for (unsigned int i = 0; i < 2 * NR; i++)
		REQUIRE(!transfers[i].outlier || !i);
	/* all by one member is one line */
	for (unsigned int i = 0; i < 2 * NR; i++)
		transfers[i].fast_share = 1;
	REQUIRE(bench_find_lines(&bench));
	REQUIRE(bench_shows(&bench, &bench.line[0]) && !bench_shows(&bench, &bench.line[1]));
}

/* Few of the slow member: they have a line, but are doubtful. */
static void few_of_a_member(void)
{
	unsigned int slow = 0;

	fill(true);
	for (unsigned int i = 0; i < NR; i++)
		if (!transfers[i].fast_share && ++slow > 15)
			transfers[i].fast_share = 0.5;
	REQUIRE(bench_find_lines(&bench));
	REQUIRE_EQ(bench.line[2].nr, 15);
	REQUIRE(bench_find_doubts(&bench));
	REQUIRE(strstr(bench.doubt[DOUBT_FEW], "the slow member served only 15 reads"), "%s",
		bench.doubt[DOUBT_FEW]);
	transfers[NR - 1].fast_share = 0;
	REQUIRE(bench_find_lines(&bench));
	memset(bench.doubt, 0, sizeof(bench.doubt));
	REQUIRE(!bench_find_doubts(&bench));
}

/* -- verdicts ------------------------------------------------------------------------- */

/* Only this one is doubtful; NR_BENCH_DOUBTS: nothing is. */
static void only(enum bench_doubt kind)
{
	REQUIRE(bench_find_lines(&bench));
	REQUIRE_EQ(bench_find_doubts(&bench), kind != NR_BENCH_DOUBTS);
	for (int i = 0; i < NR_BENCH_DOUBTS; i++)
		REQUIRE(!*bench.doubt[i] == (i != (int)kind), "%s: %s", bench_doubt_name[i],
			bench.doubt[i]);
	fill(false);
}

static void verdicts(void)
{
	struct bench_facts *f = &bench.facts;

	fill(false);
	only(NR_BENCH_DOUBTS);
	f->has_disk = false;
	only(DOUBT_NO_DISK);
	f->disk[BENCH_READ] /= 2;
	only(DOUBT_CACHE);
	f->disk[BENCH_WRITE] = 0;
	only(DOUBT_CACHE);
	f->between = 100 * MIB;
	only(DOUBT_SMALL);
	f->between = 0;
	bench.write = false;
	only(NR_BENCH_DOUBTS);
	f->compressible = 1.2;
	f->zeros_written = 1.01;
	only(NR_BENCH_DOUBTS);
	f->compressible = 3;
	f->zeros_written = 1;
	only(DOUBT_COMPRESSION);
	f->compressible = 1;
	f->zeros_written = 0.05;
	only(DOUBT_COMPRESSION);
	f->sampled = 100;
	f->zeros = 40;
	only(NR_BENCH_DOUBTS);
	f->sampled = 100;
	f->zeros = 60;
	only(DOUBT_ZEROS);
	f->idle_ios = 50;
	only(NR_BENCH_DOUBTS);
	f->idle_ios = 70;
	only(DOUBT_LOAD);
	f->idle_busy = 0.3;
	only(DOUBT_LOAD);
	f->other[BENCH_READ] = 2 * GIB;
	only(DOUBT_LOAD);
	f->moved = 1;
	only(DOUBT_MOVES);
	bench.nr = 29;
	f->asked[BENCH_WRITE] = 0;
	only(DOUBT_FEW);
	for (unsigned int i = 0; i < NR; i += 4)
		transfers[i].seconds *= 10;
	only(DOUBT_OUTLIERS);
	for (unsigned int i = 0; i < NR; i++)
		transfers[i].seconds = 1 - transfers[i].bytes / (double)GIB;
	only(DOUBT_NO_LINE);
}

/* -- comparing ------------------------------------------------------------------------ */

/* A file of a result, of a disk that is so many times as fast. */
static void save(char *path, double times)
{
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	fill(false);
	for (unsigned int i = 0; i < 2 * NR; i++)
		transfers[i].seconds /= times;
	REQUIRE(bench_find_lines(&bench));
	bench_find_doubts(&bench);
	print_to(fdopen(fd, "w+"));
	bench_json(&bench);
	printed_text();
}

static const char *compared(const char *a, const char *b)
{
	print_to(tmpfile());
	REQUIRE_EQ(bench_compare(a, b), 0);
	return printed_text();
}

static void compares(void)
{
	char a[] = "/tmp/bench-a-XXXXXX", b[] = "/tmp/bench-b-XXXXXX";
	const char *text;

	save(a, 1);
	save(b, 1.25);
	text = compared(a, b);
	REQUIRE(strstr(text, "faster by 25.0 %") && strstr(text, "shorter by 20.0 %"), "%s", text);
	text = compared(b, a);
	REQUIRE(strstr(text, "slower by 20.0 %") && strstr(text, "longer by 25.0 %"), "%s", text);
	text = compared(a, a);
	REQUIRE(strstr(text, "no difference shown") && !strstr(text, " by "), "%s", text);
	unlink(a);
	unlink(b);
	REQUIRE_EQ(bench_compare(a, b), FC_FAILED);
}

static void shows(void)
{
	const char *text;

	setenv("COLUMNS", "80", 1);
	fill(true);
	bench.facts.moved = 3;
	strcpy(bench.set, "data");
	REQUIRE(bench_find_lines(&bench));
	REQUIRE(bench_find_doubts(&bench));
	print_to(tmpfile());
	bench_show(&bench);
	text = printed_text();
	REQUIRE(strstr(text, "read, fast") && strstr(text, "500 MB/s") &&
		strstr(text, "write, slow") && strstr(text, "10.0 ms") && strstr(text, "ON FAST") &&
		strstr(text, "\nnot reliable: the set moved or copied 3 extents") &&
		strstr(text, "####"), "%s", text);
}

static void units(void)
{
	char text[BENCH_TEXT];

	REQUIRE(!strcmp(bench_rate_text(text, 541.3e6), "541 MB/s"), "%s", text);
	REQUIRE(!strcmp(bench_rate_text(text, 99.97e6), "100 MB/s"), "%s", text);
	REQUIRE(!strcmp(bench_rate_text(text, 12.34e6), "12.3 MB/s"), "%s", text);
	REQUIRE(!strcmp(bench_rate_text(text, 1.234e6), "1.23 MB/s"), "%s", text);
	REQUIRE(!strcmp(bench_time_text(text, 0.0128), "12.8 ms"), "%s", text);
	REQUIRE(!strcmp(bench_time_text(text, 0.00011), "0.11 ms"), "%s", text);
	REQUIRE(!strcmp(bench_time_text(text, 14.3), "14.3 s"), "%s", text);
}

static const struct unit_test tests[] = {
	{ "plan for files", plan_files },
	{ "what lies between writing and reading", plan_between },
	{ "plan for a device", plan_device },
	{ "reports of fio", parse_fio },
	{ "a program that is ended", tied },
	{ "a program that is ended by a signal", tied_signals },
	{ "one line, and an outlier", one_line },
	{ "a line for each member", two_lines },
	{ "few transfers of a member", few_of_a_member },
	{ "verdicts", verdicts },
	{ "comparing two results", compares },
	{ "the result for people", shows },
	{ "units", units },
};

UNIT_TESTS(tests)
