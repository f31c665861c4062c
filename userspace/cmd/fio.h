/* SPDX-License-Identifier: GPL-2.0-only */
/* Transfers by fio(1): fio.c. */
#ifndef FIO_H
#define FIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIO_VERSION	32
#define FIO_BLOCK	(8ULL << 20)	/* most in one I/O */

/* So many I/Os of equal size a transfer takes: fio leaves out a smaller one at the end. */
static inline uint64_t fio_blocks(uint64_t bytes)
{
	return (bytes + FIO_BLOCK - 1) / FIO_BLOCK;
}

/* A sequential transfer, one block at a time, past the page cache. */
struct fio_job {
	const char *path;	/* a file or a device */
	const char *name;	/* for messages */
	bool write;
	bool create;		/* the file may be a new one */
	bool zeros;		/* writes zeros instead of random data */
	uint64_t at;
	uint64_t bytes;		/* a multiple of fio_blocks() of it */
	bool (*stopped)(void);	/* a signal has come: a failure is no news */
};

struct fio_result {
	uint64_t bytes;
	double seconds;		/* sum of the latencies, without fio's own pauses */
};

/* What the I/Os of a load are. */
struct fio_shape {
	uint64_t block;		/* of an I/O; 0: of @sizes */
	const char *sizes;	/* "4k/90:64k/10": sizes, and the percent of the I/Os of each */
	unsigned int depth;	/* I/Os in flight */
	unsigned int read_percent;	/* the others write */
	bool zoned;		/* half of the I/Os go to a twentieth, 30 % to the next 15 % */
	bool sequential;	/* one behind the other, and then from the beginning again */
};

/* What it did in one direction. */
struct fio_side {
	uint64_t bytes, ios;
	double seconds;		/* from the first I/O to the last */
	double mean, p99;	/* seconds that an I/O took */
};

/* I/O of some seconds, past the page cache; it is random if not said otherwise. */
struct fio_load {
	const char *path, *name;	/* as above */
	bool create;		/* the file may be a new one; what is read has to be there */
	uint64_t bytes;		/* of it, from the beginning */
	struct fio_shape shape;
	unsigned int seconds;
	bool (*stopped)(void);
	/*
	 * What it did so far, each @every seconds and at the end; or NULL. Return: false to end it,
	 * after a message.
	 */
	bool (*each)(const struct fio_side side[2], void *ctx);
	void *ctx;
	unsigned int every;
};

/* Reads of a list, one after the other, past the page cache. */
struct fio_replay {
	const char *log;	/* names what is read, in the format "fio version 2 iolog" */
	const char *name;	/* for messages */
	bool (*stopped)(void);
};

/* The version of fio, in @version; fails with the remedy if there is none. */
int fio_find(char version[FIO_VERSION]);
/* Return: 0 or an exit code. Silent if a signal has come. */
int fio_run(const struct fio_job *job, struct fio_result *r);
/* The same; reads, then writes. */
int fio_run_load(const struct fio_load *load, struct fio_side side[2]);
/* The same; the time is that of the reads alone. */
int fio_run_replay(const struct fio_replay *replay, struct fio_side side[2]);
/* Read what fio prints: reads, then writes. Return: NULL, or the fault, which may be in @text. */
const char *fio_parse_load(const char *text, struct fio_side side[2]);
/* What a transfer did, which is one I/O after the other. */
struct fio_result fio_result_of(const struct fio_side *side);

#endif
