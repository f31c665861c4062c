/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tree: files whose content says what it is, and a journal of all that they have been.
 *
 * A document is a file through its whole life: while it is written, renamed, and replaced by
 * another file of the same name. Its number is never used again. Each change makes a new version,
 * and each block of 4 KiB carries the document, its own number, and the version that wrote it, with
 * noise that follows from these. So a file that is found tells which version it is, or of which
 * versions it is a mixture, or that its content belongs elsewhere.
 *
 * The journal is a file outside of the file system that is tested. It has the record of a change
 * before that begins, and the record of a sync after that has ended. There is one thread.
 */
#ifndef TREE_H
#define TREE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TREE_BLOCK	4096U
#define TREE_GRAIN	64U		/* sizes are multiples, so that each block has its head */
#define TREE_MOST	(8U << 20)	/* no file is larger */
#define TREE_PATH	64

/* Also the exit status of the program. */
enum tree_result {
	TREE_OK,
	TREE_WRONG,	/* the check found what must not be */
	TREE_USAGE,
	TREE_FAILED,
};

enum tree_kind {
	KIND_CREATE,	/* a file with @nr blocks */
	KIND_WRITE,	/* @nr blocks from @block on, in place */
	KIND_APPEND,	/* @nr new blocks from @block on; the last one before keeps its version */
	KIND_REPLACE,	/* another file with @nr blocks is written, and renamed to this name */
	KIND_RENAME,
	KIND_DELETE,
	KIND_FSYNC,	/* this document is durable as it is */
	KIND_SYNC,	/* all are */
	KIND_LOSS,	/* what is recorded after this may never have reached a disk */
	NR_KINDS,
};

/* A record, as the journal has it. The name is @dir, the document and @name. */
struct tree_record {
	__u64 when;	/* us, CLOCK_REALTIME */
	__u64 size;	/* of the file from now on */
	__u32 kind;
	__u32 doc;
	__u32 version;
	__u32 block;
	__u32 nr;
	__u32 dir;
	__u32 name;
	__u32 unused;
};

/* A document at one of its versions. */
struct tree_state {
	bool there;
	__u32 version;
	__u64 size;
	__u32 dir, name;
	__u32 *block;	/* version of each block of @size, then of any */
	__u32 room;	/* blocks in @block */
};

struct tree_doc {
	struct tree_state now;
	__u32 durable;		/* newest version known to be durable */
	__u32 at_loss;		/* newest version that had begun by then */
	__u32 first, last;	/* records, or NO_RECORD; see struct tree */
	__u32 live;		/* place in tree.live, while it is there */
};

#define NO_RECORD	0xffffffffU

struct tree {
	int fd;			/* of the journal */
	__u64 seed;
	struct tree_record *record;
	__u32 *next;		/* the next record of the same document */
	__u32 nr_records, room;
	struct tree_doc *doc;
	__u32 nr_docs, room_docs;
	__u32 *live;		/* documents that are there */
	__u32 nr_live, room_live;
	__u64 lost_at;		/* us; 0: nothing is lost yet */
};

static inline __u32 tree_blocks(__u64 size)
{
	return (size + TREE_BLOCK - 1) / TREE_BLOCK;
}

/* Print "fusion-tree: ..." and end the program with TREE_FAILED. */
void tree_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *tree_grow(void *old, size_t nr, size_t size);

/* -- tree-content.c ----------------------------------------------------------------- */

enum tree_found {
	FOUND_OURS,	/* a block of some document, or the beginning of one, then zeros */
	FOUND_ZERO,
	FOUND_ALIEN,	/* anything else */
};

/* Fill a whole block. */
void tree_fill_in(void *buf, __u64 seed, __u32 doc, __u32 block, __u32 version);

/* Which block it is, and how many bytes of that are there. */
struct tree_block {
	__u32 doc;
	__u32 block;
	__u32 version;
	__u32 good;
};

/* What are these @len bytes? @b is set if FOUND_OURS. */
enum tree_found tree_identify(const void *buf, size_t len, __u64 seed, struct tree_block *b);

/* The path below the root, and back; the latter is false for a path that no document has. */
#define TREE_DIRS	64U
void tree_dir(char *path, __u32 dir);
void tree_path(char *path, __u32 doc, __u32 dir, __u32 name);
bool tree_parse(const char *path, __u32 *doc, __u32 *dir, __u32 *name);

/* -- tree-journal.c ----------------------------------------------------------------- */

/* Open the journal at @path and replay it; if @seed is given and it does not exist, begin it. */
void tree_open(struct tree *t, const char *path, const __u64 *seed);

/* Write a record, and apply it. */
void tree_note(struct tree *t, struct tree_record r);

/* Make @s the next version of itself. It may begin as { 0 }; free s->block in the end. */
void tree_apply(struct tree_state *s, const struct tree_record *r);

__u64 tree_now(void);

/* -- tree-load.c, tree-check.c, tree-spoil.c ---------------------------------------- */

struct tree_load {
	const char *root;
	__u64 seed;		/* of the choices */
	unsigned int full;	/* percent of the file system */
	unsigned int seconds;	/* 0: no limit */
	unsigned int ops;	/* 0: no limit */
	unsigned int rate;	/* operations in a second; 0: no limit */
	unsigned int sync;	/* seconds from sync to sync; 0: none */
	bool until_error;
};

/* Fill the file system; then change it. SIGTERM ends the latter, with a sync. */
enum tree_result tree_fill(struct tree *t, const struct tree_load *l);
enum tree_result tree_run(struct tree *t, const struct tree_load *l);

/* Spoil some files at @root in known ways; print the class that each way leads to, and how many. */
enum tree_result tree_spoil(struct tree *t, const char *root);

/*
 * Compare the files at @root with the journal; print the result as a line of JSON. @hits has paths
 * that `fusionctl salvage --files` names, one on each line, or is NULL; @list is a file for a line
 * for each document that is not as it was, or NULL.
 */
enum tree_result tree_check(struct tree *t, const char *root, const char *hits, const char *list);

#endif
