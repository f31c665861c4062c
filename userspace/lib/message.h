/* SPDX-License-Identifier: GPL-2.0-only */
/* Errors, and what else is said on standard error: message.c. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "fusionctl.h"

/*
 * Print "fusionctl: <thing>: <fmt ...>" as one line to stderr, whatever the arguments
 * contain, and return @rc. The text ends with "; " and the remedy.
 */
int fail(int rc, const char *thing, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for what is worth knowing and no reason to stop. */
void warn(const char *thing, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The last line of either, but for "fusionctl: ". */
const char *last_said(void);

/* Does what these say go to the kernel's log too, and so to the console? Not at first. */
void messages_to_kernel(bool on);

#endif
