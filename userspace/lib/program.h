/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs of the system: program.c. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Return: whether the system has this program. */
bool fus_program_exists(const char *name);
/* The same; @buf gets its path. */
bool fus_program_path(const char *name, char *buf, size_t size);
/*
 * Run it, by its name and arguments up to a NULL, and have each line that it prints; if @each is
 * NULL they go where ours do. Return: its exit status; 127 if it is not there, with a line about
 * that for @each; -1 if it was not run or was killed.
 */
int fus_program_run(const char *const argv[], void (*each)(const char *line, void *ctx),
		    void *ctx);

/* Signals that end a program, unless it catches them. */
#define FUS_ENDING_SIGNALS	{ SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE }

/*
 * The same, for one that must not outlive this process: it is killed when that ends, however that
 * comes about, when @each returns false, and when one of FUS_ENDING_SIGNALS comes and this process
 * catches it. The handler runs when this returns.
 */
int fus_program_tied(const char *const argv[], bool (*each)(const char *line, void *ctx),
		     void *ctx);

/* The same as fus_program_run(); only the last line that it prints, if any, is of interest. */
int fus_program_say(const char *const argv[], char *buf, size_t size);

#endif
