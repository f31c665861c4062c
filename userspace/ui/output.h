/* SPDX-License-Identifier: GPL-2.0-only */
/* Standard output, and files to draw to: output.c. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Before anything is printed or opened. */
void output_begin(void);
/* At the end: was all of standard output written? Exit code. */
int output_end(void);

struct json_object;
/* Print it there, pretty or in one line; drops the object. */
void print_json(struct json_object *o, bool one_line);

/* The destination of a stream, and its first error. */
struct sink {
	int fd;
	int err;		/* errno of the first write that failed */
	bool whole;		/* a file that still has its old content */
};

/* A file for a drawing, or standard output. */
struct output {
	FILE *f;
	const char *path;
	struct sink sink;
	bool is_new;		/* the file was not there before */
};

/*
 * Open @path, or take standard output for "-". A verb does this before it works for long; a file
 * keeps its content until something is written. Exit code.
 */
int output_open(const char *path, struct output *o);
/* The same for a file that is open at @fd, which is closed at the end or if that fails. */
int output_take(int fd, const char *path, struct output *o);
/* Exit code, if not all could be written; output_end() takes care of standard output. */
int output_close(struct output *o);
/* Nothing was written after all: remove the file if it was created for this. */
void output_cancel(struct output *o);

#endif
