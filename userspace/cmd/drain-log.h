/* SPDX-License-Identifier: GPL-2.0-only */
/* The landing log of an open set is drained, and turned off and on: drain-log.c. */
#ifndef DRAIN_LOG_H
#define DRAIN_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct draining {
	const char *name;
	const char *verb;	/* that is to be run again if it was stopped */
	const char *message;	/* of the kernel's target, which answers when all is copied */
	uint64_t blocks;	/* in the log when it began */
	uint64_t left;		/* the fewest that there were since */
	pid_t child;
	int fd;			/* the child's words; it ends when that does */
	char reason[256];	/* of the kernel, to refuse */
};

/* Send the message, and show how far the drain is. @left is 0 then. Exit code. */
int drain_log(struct draining *d);

/*
 * Let nothing get into the log any more, and empty it, if the set has one: for a verb that loads
 * another table, with which the log is on again. Exit code; after an error it is as it was.
 * *@turned becomes true if it was on: an administrator may have it off.
 */
int turn_log_off(const char *name, const char *verb, bool *turned);
/* The table stays, after all, and it was turned off for another one. */
void turn_log_on(const char *name);

#endif
