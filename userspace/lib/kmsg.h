/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's reason for a refusal: kmsg.c. */
#ifndef KMSG_H
#define KMSG_H

#include <stddef.h>

/* Start listening; -1 if that is impossible, which fus_kmsg_reason() accepts. */
int fus_kmsg_open(void);
/* The kernel's lines about fusion since then, or ""; closes the log. */
void fus_kmsg_reason(int fd, char *buf, size_t size);

#endif
