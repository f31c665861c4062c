/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl bench: measure a directory or a device.
 *
 * bench.c		verb bench: the profiles, and the exit status
 * bench-options.c	options, and the plan they come to
 * bench-takes.c	what will be done, and what that takes
 * bench-profiles.c	names of the profiles
 * bench-target.c	files of its own in a directory, or a device
 * bench-disks.c	the devices beneath, their counters, and those of a set
 * bench-watch.c	a transfer, and what is watched beside it
 * bench-honest.c	profile honest: the transfers
 * bench-plan.c		their sizes, places and order
 * bench-lines.c	rate and latency, by theil-sen.c
 * bench-runs.c		profiles sweep and mix: loads of some seconds
 * bench-loads.c	these loads, and what their repetitions come to
 * bench-launch.c	the launch of an application, which is one of them
 * bench-runs-show.c	tables and bars of these
 * bench-runs-svg.c	the same drawn
 * bench-sustained.c	profile sustained: writes for a long time
 * bench-fullness.c	profile fullness: fills more and more, for loads as in mix
 * bench-series.c	intervals of sustained, and whether their rates fall for good
 * bench-series-show.c	tables and bars of these
 * bench-series-svg.c	the same drawn, and the rates of fullness
 * bench-curve-svg.c	a curve of rates, for these
 * bench-doubts.c	why figures are not reliable
 * bench-show.c		table and bars
 * bench-svg.c		the same drawn, with each transfer
 * bench-json.c		the same as JSON
 * bench-compare.c	two such documents
 *
 * bench-plan.c, bench-lines.c, bench-loads.c, bench-series.c and bench-doubts.c are pure: they ask
 * neither kernel nor disk.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "fio.h"
#include "theil-sen.h"

enum bench_direction { BENCH_READ, BENCH_WRITE };

extern const char *const bench_direction_name[2];

enum bench_profile { BENCH_HONEST, BENCH_SWEEP, BENCH_MIX, BENCH_SUSTAINED, BENCH_FULLNESS,
		     NR_BENCH_PROFILES };

extern const char *const bench_profile_name[NR_BENCH_PROFILES];
extern const char *const bench_profile_means[NR_BENCH_PROFILES];

/* -- plan ------------------------------------------------------------------------- */

#define BENCH_SIZES	16
#define BENCH_LEAST	(2ULL << 20)	/* smallest transfer */
#define BENCH_MOST	(2ULL << 30)	/* largest one, by default */
#define BENCH_QUICK	(256ULL << 20)	/* the same of a quick run */
#define BENCH_UNIT	(64ULL << 10)	/* of sizes and places */

struct bench_place {
	uint64_t bytes;
	uint64_t at;		/* byte of the device; 0 in files */
};

struct bench_plan {
	unsigned int nr_sizes, each, nr;
	uint64_t most, total;	/* bytes */
	struct bench_place *place;
	/* places in the order of the transfers; much lies between writing and reading one */
	unsigned int *order[2];
};

/*
 * Plan the transfers of up to @most bytes, for a device of @device_bytes or, if that is 0, files.
 * Return: NULL, or the fault. To be freed, also if that has failed.
 */
const char *bench_plan(struct bench_plan *p, bool quick, uint64_t most, uint64_t seed,
		       uint64_t device_bytes);
/* One transfer of so many bytes, at the beginning. Return: false if memory is short. */
bool bench_plan_one(struct bench_plan *p, uint64_t bytes);
void bench_plan_free(struct bench_plan *p);
/* So much is transferred between writing and reading the same, at least. */
uint64_t bench_plan_between(const struct bench_plan *p);

/* -- results ---------------------------------------------------------------------- */

struct bench_transfer {
	enum bench_direction dir;
	uint64_t at, bytes;
	double seconds;
	double fast_share;	/* of the I/Os of a set, 0 to 1; -1: of none, or not on a set */
	bool outlier;
};

/* The transfers in one direction, or of these the ones that a member served. */
struct bench_line {
	enum bench_direction dir;
	int member;		/* FAST or SLOW; -1: all */
	unsigned int nr;
	bool known;		/* there is a line, and time grows with size */
	struct theil_value rate;	/* bytes in a second; high is 0 if it has no bound */
	struct theil_value latency;	/* seconds */
	unsigned int outliers;
	double slowest;		/* seconds, of a transfer that is an outlier; or 0 */
	double fast_share;	/* mean, by bytes; -1: not on a set */
};

/* All, then those of each member, for reads and then for writes. */
#define BENCH_LINES	6

/* -- loads of sweep and mix ------------------------------------------------------- */

#define BENCH_TRIES	3
#define BENCH_SIZE	(4ULL << 30)	/* of the file, by default */
#define BENCH_QUICK_SIZE (1024ULL << 20)
#define BENCH_LEAST_SIZE (16ULL << 20)

struct bench_load {
	char name[48];
	struct fio_shape shape;
	unsigned int percent;	/* in fullness: so full before; or 0 */
	bool launch;		/* of an application, which the shape describes */
};

/* A load, and what it has come to each time. */
struct bench_run {
	struct bench_load load;
	double full;		/* the same as it came out, 0 to 1 */
	unsigned int nr;
	struct bench_try {
		struct fio_side side[2];	/* by direction */
		double fast_share;	/* as in struct bench_transfer */
	} try[BENCH_TRIES];
};

enum bench_value {
	BENCH_RATE,		/* bytes in a second, in both directions together */
	BENCH_IOS,		/* the same, of I/Os */
	BENCH_READ_MEAN, BENCH_READ_P99, BENCH_WRITE_MEAN, BENCH_WRITE_P99,	/* seconds */
	BENCH_FAST_SHARE,	/* -1: not on a set */
};

/* -- sustained, and fullness --------------------------------------------------------- */

#define BENCH_STEP	60	/* seconds of a step of fullness, by default, */
#define BENCH_QUICK_STEP 20
#define BENCH_FULLEST	95U	/* percent, at its end */
#define BENCH_DURATION	1800	/* and of sustained */
#define BENCH_QUICK_DURATION 300
#define BENCH_LEAST_DURATION 20
#define BENCH_MOST_DURATION 86400

/* What a file system, or a device, has room for; without what is kept for root. */
struct bench_capacity {
	uint64_t total, used;	/* bytes */
};

/* What was written in some seconds. */
struct bench_interval {
	double seconds;
	uint64_t bytes;
	double fast_share;	/* as in struct bench_transfer */
};

/* Intervals one after the other, between which the rate does not fall for good. */
struct bench_phase {
	const char *name;	/* "all", "before" the fall, "after" it */
	unsigned int first, nr;
	double seconds;
	uint64_t bytes;
	/* @bytes by @seconds; of the intervals, a fifth is below low, and a fifth above high */
	struct theil_value rate;
	double fast_share;	/* by bytes; -1: not on a set */
};

struct bench_series {
	unsigned int every;	/* seconds, of each interval */
	struct bench_interval *interval;
	unsigned int nr, room;
	struct bench_phase phase[3];
	unsigned int nr_phases;	/* 0: nothing was written; 1: all; 3: there is a fall */
};

/* Divide so many seconds into intervals. Return: false if memory is short. */
bool bench_series_begin(struct bench_series *s, unsigned int seconds);
/* Some intervals as one. */
struct bench_phase bench_phase_of(const struct bench_series *s, const char *name,
				  unsigned int first, unsigned int nr);
/* Find the phases, and whether there is a fall. Return: false if memory is short. */
bool bench_find_fall(struct bench_series *s);

enum bench_doubt {
	DOUBT_NO_DISK,		/* none is known beneath */
	DOUBT_CACHE,		/* the disks moved less than was transferred */
	DOUBT_SMALL,		/* a disk's own cache may have served the reads */
	DOUBT_COMPRESSION,
	DOUBT_ZEROS,		/* what was read may never have been written */
	DOUBT_LOAD,		/* the disk has other work */
	DOUBT_MOVES,		/* the set moved extents, or copied them */
	DOUBT_FEW,
	DOUBT_OUTLIERS,
	DOUBT_NO_LINE,		/* the times do not grow with the sizes */
	DOUBT_KEPT,		/* the device was to be empty, and was not discarded */
	NR_BENCH_DOUBTS
};

extern const char *const bench_doubt_name[NR_BENCH_DOUBTS];

#define BENCH_DOUBT_TEXT	256

/* What was watched. In bytes, by direction. */
struct bench_facts {
	bool has_disk;		/* the disks beneath have counters */
	bool has_device;	/* the device itself has them */
	bool files;		/* a file system writes metadata as well */
	bool on_set;
	uint64_t asked[2];	/* of fio */
	uint64_t other[2];	/* what the device moved in this direction, beyond that */
	uint64_t disk[2];	/* what the disks beneath moved */
	double idle_seconds;	/* in which nothing was asked for */
	uint64_t idle_ios;
	double idle_busy;	/* share of that time, 0 to 1 */
	uint64_t sampled, zeros;	/* blocks of what was read from a device */
	uint64_t moved;		/* extents */
	bool kept;		/* an SSD keeps what was on it, since it cannot discard */
	uint64_t between;
	double again;		/* a second read is so many times as fast; 0: not tried */
	double compressible;	/* zeros are so many times as fast; 0: not tried */
	double zeros_written;	/* share of the zeros that reached the disks; 0: unknown */
};

struct bench {
	enum bench_profile profile;
	const char *target;
	bool device, write, quick;
	char type[16];		/* of the file system, or "" */
	char set[128];		/* name of the mapped device, or "" */
	char fio[FIO_VERSION];
	uint64_t began, seed;
	struct bench_plan plan;
	struct bench_transfer *transfer;
	unsigned int nr;
	struct bench_facts facts;
	struct bench_line line[BENCH_LINES];
	/* of the others */
	uint64_t size;		/* what they take place on */
	unsigned int seconds;	/* of each load, or of all that is written */
	unsigned int tries;	/* of each load */
	struct bench_run *run;
	unsigned int nr_runs, *turn, nr_turns;	/* which of them, one after the other */
	struct bench_series series;
	struct bench_capacity before;	/* of fullness */
	unsigned int left_out;	/* its steps up to this percent */
	char doubt[NR_BENCH_DOUBTS][BENCH_DOUBT_TEXT];	/* "" if there is none */
};

/* Find the lines and the outliers. Return: false if memory is short. */
bool bench_find_lines(struct bench *b);
/* So many transfers in this direction were served by both members, and are in the line of none. */
unsigned int bench_served_by_both(const struct bench *b, enum bench_direction dir);
/* Return: whether a line is worth showing: both members served some, or none is known. */
bool bench_shows(const struct bench *b, const struct bench_line *line);
/* Find the loads and their order. Return: false if memory is short. */
bool bench_loads(struct bench *b);
void bench_loads_free(struct bench *b);
/* The most of this, but less than FIO_BLOCK less, that one transfer may be of. */
uint64_t bench_whole(uint64_t bytes);
/* Plan for a device of so many bytes, or a file if that is 0. Return: NULL, or the fault. */
const char *bench_plan_runs(struct bench *b, uint64_t device_bytes);
/* Of the times that it ran: the median, the least and the most. */
struct theil_value bench_run_value(const struct bench_run *r, enum bench_value what);
/* Return: whether the load does anything in this direction. */
bool bench_run_has(const struct bench_run *r, enum bench_direction dir);
/* Find what is doubtful. Return: whether anything is. */
bool bench_find_doubts(struct bench *b);

/* -- devices and targets ------------------------------------------------------------ */

#define BENCH_DISKS	32

struct bench_disks {
	dev_t device;		/* of the target; 0: none */
	dev_t disk[BENCH_DISKS];	/* those beneath that stand on no other */
	unsigned int nr;
	char set[128];
	bool is_set;		/* that is the device itself */
};

struct bench_count {
	uint64_t device[2], disk[2];	/* bytes */
	uint64_t ios;			/* of the device and, unless on a set, the disks */
	uint64_t busy_ms;
	uint64_t served[2][2];	/* I/Os of the set, by direction and member */
	uint64_t moved;		/* extents of the set, also copies for shadows */
};

/* @devno: 0 for a file system without a device. */
void bench_disks_find(dev_t devno, struct bench_disks *d);
/* Fails only if a set does not answer. */
int bench_disks_count(const struct bench_disks *d, struct bench_count *c);

struct args;
struct bench_target {
	struct bench_disks disks;
	uint64_t bytes;		/* of a device */
	dev_t devno;		/* of a device */
	bool rotational;	/* a device */
	int fd;			/* of a device, or of the directory */
	char dir[4200];		/* of the files, or "" */
	char path[64];		/* of the last job */
};

/* So many bytes a file in the directory may have, if it is not to fill the file system. */
uint64_t bench_target_room(const struct bench *b);
/* How full it is. A device counts as empty, since it is discarded first. */
int bench_target_capacity(const struct bench *b, const struct bench_target *t,
			  struct bench_capacity *c);
/* Check the target, but change nothing yet. */
int bench_target_find(struct bench *b, struct bench_target *t);
/* Ask if need be, and make the directory of the files. */
int bench_target_begin(const struct bench *b, const struct args *a, struct bench_target *t);
/*
 * The file, or device, of a place, by the descriptor: whatever its name stands for by then, it is
 * what has been checked.
 */
const char *bench_target_path(const struct bench *b, struct bench_target *t, unsigned int place);
/* Remove the files. */
void bench_target_end(const struct bench *b, struct bench_target *t);

/* -- the verb ----------------------------------------------------------------------- */

/* Catch the signals that end a program; from then on bench_stopped() tells of them. */
void bench_catch_signals(void);
bool bench_stopped(void);

/* The profile, and whether the options go with it. */
int bench_check_options(struct bench *b, const struct args *a);
int bench_check_compare(const struct args *a);
int bench_make_plan(struct bench *b, const struct args *a, const struct bench_target *t);
void bench_print_transfers(const struct bench *b);
void bench_print_loads(const struct bench *b);
void bench_print_sustained(const struct bench *b);
void bench_print_fullness(const struct bench *b);

/* What is measured, and where. */
struct bench_work {
	struct bench *b;
	struct bench_target *t;
};

struct bench_facts bench_facts_of(const struct bench *b, const struct bench_target *t);
/* The transfer of a place, or a small one of the extra file behind the last. */
struct fio_job bench_job(const struct bench_work *w, enum bench_direction dir, unsigned int place);
/* Carry out a transfer. */
int bench_carry_out(const struct bench_work *w, struct fio_job *job, struct fio_result *result);
/* Carry out one that is not measured; a disk that sleeps is awake after it. */
int bench_wake(const struct bench_work *w);
/* A transfer between two looks at the counters. */
int bench_counted(const struct bench_work *w, struct fio_job *job, struct fio_result *result,
		  struct bench_count *was, struct bench_count *is);
/* Watch for some seconds in which nothing is asked for. */
int bench_idle(const struct bench_work *w);
/* Between these looks so many bytes were asked for, by direction. */
void bench_add_facts(struct bench_facts *f, const uint64_t asked[2], const struct bench_count *was,
		     const struct bench_count *is);
/* The fast member's share of the I/Os of a set; -1: there were none, or it is no set. */
double bench_fast_share(const struct bench_count *was, const struct bench_count *is, bool reads,
			bool writes);
/* Look at some blocks of what was read from a device. */
void bench_look_for_zeros(const struct bench_work *w, uint64_t first, uint64_t bytes);

/* Carry out the plan. */
int bench_honest(struct bench *b, struct bench_target *t);
int bench_runs(struct bench *b, struct bench_target *t);
/* Empty a device. */
int bench_fullness_begin(const struct bench_work *w);
/* Fill it until it is as full as the load wants. */
int bench_fill(const struct bench_work *w, struct bench_run *r);
/* Read what an application has read lately, so that it is not cold. */
int bench_launch_warm(const struct bench_work *w);
/* Launch it, by reading that and as much that is cold, of the place for this time. */
int bench_launch(const struct bench_work *w, unsigned int time, struct fio_side side[2]);
/*
 * List the reads of a launch from a file of so many bytes, in the format of fio; or, if @time is
 * negative, only those that are not cold.
 */
void bench_launch_list(FILE *f, const char *path, uint64_t bytes, int time);
int bench_sustained(struct bench *b, struct bench_target *t);

void bench_show_runs(const struct bench *b);
void bench_show_series(const struct bench *b);
/* A line with a bar that is as long as the screen for @most. */
void bench_print_bar(const char *name, double rate, double most);
void bench_show_doubts(const struct bench *b);
void bench_show(const struct bench *b);
void bench_svg(const struct bench *b, FILE *f);
void bench_svg_runs(const struct bench *b, FILE *f);
void bench_svg_series(const struct bench *b, FILE *f);
void bench_svg_fullness(const struct bench *b, FILE *f);
#define BENCH_SVG_WIDTH	880
#define BENCH_SVG_LEFT	70
/* A drawing of this height up to its title, which says if it is not reliable. */
void bench_svg_begin(const struct bench *b, int height, const char *title, FILE *f);

struct bench_point {
	double x;
	struct theil_value rate;
	double fast_share;	/* -1: unknown */
};

struct bench_curve {
	const char *title, *unit;	/* of x */
	const struct bench_point *point;
	unsigned int nr;
	double least, most;	/* x */
	const double *mark;	/* x of the scale */
	unsigned int nr_marks;
};

/* A whole drawing of it. */
void bench_svg_curve(const struct bench *b, const struct bench_curve *c, FILE *f);
void bench_json(const struct bench *b);
/* "541 MB/s", "12.8 ms" */
#define BENCH_TEXT	32
char *bench_rate_text(char buf[BENCH_TEXT], double rate);
char *bench_time_text(char buf[BENCH_TEXT], double seconds);

int bench_compare(const char *a, const char *b);

#endif
