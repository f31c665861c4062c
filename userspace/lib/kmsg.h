/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's reason for a refusal: kmsg.c. */
#ifndef KMSG_H
#define KMSG_H

#include <stddef.h>

/* Start listening; -1 if that is not possible, which fus_kmsg_reason() copes with. */
int fus_kmsg_open(void);
/* What the kernel said about fusion since; closes it. "" if nothing. */
void fus_kmsg_reason(int fd, char *buf, size_t size);

#endif
