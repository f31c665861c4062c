/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusion-mutated: its parts.
 *
 * fusion-mutated.c	one image after the other, and the kernel's log
 * mutated-members.c	what is on the members
 * mutated-set.c	the set is opened, asked, read and closed
 * mutated-work.c	what is done with a set that opens
 */
#ifndef MUTATED_H
#define MUTATED_H

#include "mutate.h"

#define NAME		"mutated"
#define CHUNK		(64U << 10)
#define BLOCK		FUSION_BLOCK_SIZE

/*
 * A device in memory. Unused chunks are zero and never touched: user-mode Linux cannot give a
 * process more than 65530 pages.
 */
struct bytes {
	u8 *p;
	u8 *used;	/* for each chunk */
	size_t size;
};

struct base {
	const char *name;
	struct image im;
	size_t head[FUSION_NR_DEVS];	/* bytes of metadata, before the first slot */
	struct bytes member[FUSION_NR_DEVS];
	struct bytes want;
};

/* The image under test, and its fate. */
extern struct trial {
	u64 seed;
	struct base *base;
	struct image im;	/* the heads, with what was mutated */
	struct fusion_sb sb;	/* the one that counts, if any is valid */
	struct mutation m;
	bool read_only;
	int fd;
	struct bytes now;	/* what the set reads as */
	u8 *unknown;		/* for each block: it could not be read, or written */
	size_t size;
	u8 *buf;
} trial;

extern struct count {
	unsigned int refused, served, read_only, lost, again, tool, at_resume;
	unsigned int rot, rot_refused;
} count;

extern const char *member[FUSION_NR_DEVS];
extern u64 member_size[FUSION_NR_DEVS];
extern int member_fd[FUSION_NR_DEVS];

/* -- fusion-mutated.c ---------------------------------------------------------------- */

/* No test can take place; and: the image under test has been treated wrong. */
void die(const char *what) __attribute__((noreturn));
void bad(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The log lines since the last call: is there a reason for a refusal? */
bool log_read(void);

/* -- mutated-members.c --------------------------------------------------------------- */

extern const u8 zeros[CHUNK];

struct bytes bytes_new(size_t size);
void bytes_free(struct bytes *b);

/* The rest of the chunk that contains byte @at. */
const u8 *bytes_at(const struct bytes *b, size_t at);

/* @len bytes that cross no chunk. */
void bytes_put(struct bytes *b, size_t at, const u8 *data, size_t len);

/* Write the base's content, with @head at its beginning; or only the mutated blocks. */
void write_member(int dev, const u8 *head);
void write_mutated(void);

/* No data is ever in the last MiB of a member, nor beyond. */
void check_tails(void);

/* -- mutated-set.c ------------------------------------------------------------------- */

/* Note the superblock that the kernel will use. */
void find_super(const struct image *im);
size_t extent_bytes(void);

/* By the table line. With @late the metadata changes after the constructor has read it. */
int open_direct(bool late);

/* As users do it. Return: 0 or -1; the reason is on a pipe. */
int open_by_tool(void);
void close_set(void);

/* Send a message. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Nothing has failed. */
bool in_order(void);

/*
 * Read all of it, by blocks where reads fail, since an error is not a lie. Compare it with @want,
 * except for extents that are @loose, in each block with known content. With @keep, keep it.
 */
void read_all(const struct bytes *want, const u8 *loose, struct bytes *keep, const char *when);

/* -- mutated-work.c ------------------------------------------------------------------ */

/* Read, query, write, close, and open it again. */
void serve(void);

#endif
