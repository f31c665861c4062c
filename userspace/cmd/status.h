/* SPDX-License-Identifier: GPL-2.0-only */
/* Verb status --check: status-check.c. */
#ifndef STATUS_H
#define STATUS_H

/* Print the line of a plugin, of all open sets if @name is NULL. Its exit status, 0 to 3. */
int status_check(const char *name);

#endif
