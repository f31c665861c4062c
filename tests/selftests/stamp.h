/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stamp: a load of stamped writes on a block device, and the content that reads must return.
 *
 * Every written sector carries its own address, the version of the write and the seed of the run,
 * in all of its 512 bytes. The state has the required content of each sector. In a file it is
 * mapped shared, so it outlives the program, however that ends.
 *
 *	version		number of the write, counted over the whole device. Never
 *			used twice, so an old write that comes back differs from a new one
 *	done		when the write ended, on a clock that counts ended writes;
 *			PENDING while it is under way, and forever if it failed
 *	durable		newest version known to be durable when a later one began
 *
 * A flush that begins at time T and succeeds makes every write with done <= T durable. So after a
 * power cut a sector may hold anything from its durable version to its newest. Without a power cut
 * it must hold exactly the newest. A partly discarded extent may keep its content or read as zeros,
 * in every sector of the discard. An extent discarded as a whole, zeros that were written, and
 * unwritten sectors read as zeros.
 *
 * Threads take range locks by sector. So the required result of a read is always known, while
 * neighbouring sectors, blocks and extents are written in parallel.
 */
#ifndef STAMP_H
#define STAMP_H

#include <linux/types.h>
#include <stdbool.h>
#include <time.h>

#define STAMP_SECTOR		512ULL
#define STAMP_BLOCK		8ULL	/* sectors in 4 KiB */
#define STAMP_MAX_THREADS	64

/* Also the exit status of programs. */
enum stamp_result {
	STAMP_OK,
	STAMP_MISMATCH,
	STAMP_USAGE,
	STAMP_FAILED,
};

enum stamp_op {
	STAMP_READ,
	STAMP_WRITE,
	STAMP_SUBBLOCK,
	STAMP_DISCARD,
	STAMP_ZEROOUT,
	STAMP_FLUSH,
	STAMP_NR_OPS,
};

enum stamp_body {
	STAMP_RUN,	/* random operations */
	STAMP_FILL,	/* write all of it, in order with one thread */
	STAMP_VERIFY,	/* read all of it */
};

/* The request. Set it before the calls below, except lb_sectors. */
extern struct stamp {
	const char *program;
	const char *dev;		/* its name */
	int fd;				/* opened O_DIRECT */
	int lb_sectors;			/* sectors in a logical block */
	__u64 extent_sectors;		/* discards of that size leave zeros; 0: none do */
	unsigned int weight[STAMP_NR_OPS];
	unsigned int nr_threads;
	__u64 max_ops;			/* of all threads; 0: no limit */
	__u64 max_io;			/* sectors */
	time_t deadline;		/* on CLOCK_MONOTONIC; 0: none */
	int nowait;			/* RWF_NOWAIT first */
	int until_error;		/* an I/O error is where the run is meant to end */
	int power_cut;			/* verify: unflushed writes may be old or new */
	int sync_writes;		/* every write is O_DSYNC */
	unsigned int pause;		/* us after each operation */
	unsigned int bound;		/* seconds an operation may take; 0: any */
	int light;			/* look at the ends of each sector only */
} stamp;

/* Print "<program>: <dev>: ..." to stderr. */
void stamp_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return: CLOCK_MONOTONIC, in seconds. */
time_t stamp_now(void);

/**
 * stamp_state() - map the state
 * @path: its file, or NULL to have it in memory
 * @create: if there is none; @seed, @start and @sectors are those of the one there is
 * @seed: of operations and content
 * @start: first sector of the region
 * @sectors: its size
 *
 * Fails, in words, if the file or the region is not fit for stamp.fd.
 */
bool stamp_state(const char *path, bool create, __u64 seed, __u64 start, __u64 sectors);

/* The seed of the state. */
__u64 stamp_seed(void);

/* Forget everything, and start again with a device that is all zeros. */
void stamp_restart(__u64 seed);

/* Keep a copy of the state in memory; return to it any number of times. */
#define STAMP_COPIES		3
void stamp_keep(unsigned int nr);
void stamp_go_back(unsigned int nr);

/* One operation at a time, on sectors that begin and end with a block. */
bool stamp_write(__u64 start, __u64 end, bool dsync);
bool stamp_discard(__u64 start, __u64 end);
bool stamp_flush(void);

/* Run it, in stamp.nr_threads threads. Another run is another sequence of operations. */
enum stamp_result stamp_do(enum stamp_body body);

/* End stamp_do() after the present operations. For signal handlers. */
void stamp_stop(void);
/* Whether an I/O error ended it. */
bool stamp_failed(void);

/* Operations done so far, and their bytes. */
void stamp_print_counts(void);

#endif
