/* SPDX-License-Identifier: GPL-2.0-only */
/* Errors and warnings as people and programs read them: message.c. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>

#include "error.h"

#define MESSAGE_TEXT	2048

/* From here on each of them is printed on standard error, a line each. */
void messages_begin(void);
/* "SUBJECT: WHAT; REMEDY", safe to print whatever it contains; within @buf. */
const char *message_text(char buf[MESSAGE_TEXT], const struct fus_error *e);
/* Whether these lines also go to the kernel log, and so to the console; at first they do not. */
void messages_to_kernel(bool on);
/* While on, nothing is printed: it is when that ends. The kernel log does not wait for that. */
void messages_hold(bool on);

#endif
