/* SPDX-License-Identifier: GPL-2.0-only */
/* A new file for the output of a verb: new-output.c. */
#ifndef NEW_OUTPUT_H
#define NEW_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

/* All of the text, or no file; one that exists is left alone. */
struct new_output {
	const char *path;
	int fd;			/* or -1 */
	bool named;		/* has its name from the beginning; otherwise gets it at the end */
};

/* Before a verb works for long, so that one that cannot be written fails at once. Exit code. */
int new_output_open(const char *path, mode_t mode, struct new_output *o);
/* Write this and the end of its last line. Exit code. */
int new_output_write(struct new_output *o, const char *text);
/* At the end, whether or not it was written. */
void new_output_drop(struct new_output *o);

#endif
