/* SPDX-License-Identifier: GPL-2.0-only */
/* Errors, as a structure that a caller may print, keep, or examine: error.c. */
#ifndef ERROR_H
#define ERROR_H

#include <stdbool.h>

#include "fusionctl.h"

#define FUS_ERROR_TEXT	1024

struct fus_error {
	bool warning;			/* worth knowing, and no reason to stop */
	int code;			/* enum exit_code; for check and repair, that of fsck */
	char subject[FUS_ERROR_TEXT];	/* a device, a set, a file or an option */
	char what[FUS_ERROR_TEXT];	/* the fault */
	char remedy[FUS_ERROR_TEXT];	/* one command or action, or "" */
};

/*
 * Note an error, and return @code. @fmt is "WHAT; REMEDY": the first "; " of @fmt separates the
 * two, whatever the arguments contain.
 */
int fus_fail(int code, const char *subject, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a warning. */
void fus_warn(const char *subject, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The last error that was noted; without one, all its texts are "". */
const struct fus_error *fus_last_error(void);

/*
 * Set the listener. It gets each error and each warning at once, as a function may note one and
 * continue. Without a listener nothing is printed.
 */
void fus_on_error(void (*listener)(const struct fus_error *e));

#endif
