/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl bench: measure a directory or a device.
 *
 * bench.c		verb bench: options, what will be done, exit status
 * bench-target.c	files of its own in a directory, or a device
 * bench-disks.c	the devices beneath, their counters, and those of a set
 * bench-honest.c	profile honest: the transfers, and what is watched beside them
 * bench-plan.c		sizes, places and order of the transfers
 * bench-lines.c	rate and latency, by theil-sen.c
 * bench-doubts.c	why figures are not reliable
 * bench-show.c		table and bars
 * bench-svg.c		the same drawn, with each transfer
 * bench-json.c		the same as JSON
 * bench-compare.c	two such documents
 *
 * bench-plan.c, bench-lines.c and bench-doubts.c are pure: they ask neither kernel nor disk.
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
	uint64_t between;
	double again;		/* a second read is so many times as fast; 0: not tried */
	double compressible;	/* zeros are so many times as fast; 0: not tried */
	double zeros_written;	/* share of the zeros that reached the disks; 0: unknown */
};

struct bench {
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
	char doubt[NR_BENCH_DOUBTS][BENCH_DOUBT_TEXT];	/* "" if there is none */
};

/* Find the lines and the outliers. Return: false if memory is short. */
bool bench_find_lines(struct bench *b);
/* Of the transfers in this direction, those that both members served: they are in no line of one. */
unsigned int bench_served_by_both(const struct bench *b, enum bench_direction dir);
/* Return: whether a line is worth showing: both members served some, or none is known. */
bool bench_shows(const struct bench *b, const struct bench_line *line);
/* Find what is doubtful. Return: whether anything is. */
bool bench_find_doubts(struct bench *b);

/* -- devices and targets ------------------------------------------------------------ */

#define BENCH_DISKS	32

struct bench_disks {
	dev_t device;		/* of the target; 0: none */
	dev_t disk[BENCH_DISKS];	/* those beneath that stand on no other */
	unsigned int nr;
	char set[128];
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
	int fd;			/* of a device, or of the directory */
	char dir[4200];		/* of the files, or "" */
	char path[64];		/* of the last job */
};

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

/* Carry out the plan. */
int bench_honest(struct bench *b, struct bench_target *t);

void bench_show(const struct bench *b);
void bench_svg(const struct bench *b, FILE *f);
void bench_json(const struct bench *b);
/* "541 MB/s", "12.8 ms" */
#define BENCH_TEXT	32
char *bench_rate_text(char buf[BENCH_TEXT], double rate);
char *bench_time_text(char buf[BENCH_TEXT], double seconds);

int bench_compare(const char *a, const char *b);

#endif
