/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages to the kernel's target: tell.c. */
#ifndef TELL_H
#define TELL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Send a message; the answer, if any, is to be freed. Prints nothing: @reason is the kernel's text
 * if it refuses the message.
 */
int fus_send_message(const char *name, const char *msg, char **answer, char *reason, size_t size);
/* The same, and fails. */
int fus_tell_set(const char *name, const char *msg, char **answer);
/* One of the numbers that the message stats returns; 0 if the kernel's module has none. */
int fus_tell_stat(const char *name, const char *key, uint64_t *value);

#endif
