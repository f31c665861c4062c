/* SPDX-License-Identifier: GPL-2.0-only */
/* Run a program that may hang, with a time limit: limited.c. */
#ifndef LIMITED_H
#define LIMITED_H

#include <stddef.h>

#define PROGRAM_HUNG	(-2)

struct limited {
	const char *const *argv;	/* up to a NULL; the first is a name or a path */
	const char *const *env;		/* "KEY=VALUE" up to a NULL, beside PATH and LC_ALL */
	const char *input;		/* its standard input; NULL: none */
	unsigned int seconds;		/* it is killed after that */
	char *out;			/* what it prints, cut at the end; NULL: does not matter */
	size_t size;
};

/*
 * Run it without a shell. Return: its exit status; 127 if it is not there; PROGRAM_HUNG if it was
 * killed after its time; -1 if it was not run, or died otherwise.
 */
int fus_program_limited(const struct limited *l);

#endif
