/* SPDX-License-Identifier: GPL-2.0-only */
/* The program while a device is suspended that it may need itself: pausing.c. */
#ifndef PAUSING_H
#define PAUSING_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct pausing {
	sigset_t before;
	int kmsg;
};

/*
 * From here on no signal ends the program, all of it stays in memory, with @bytes more for what it
 * allocates, and it says nothing. Fails if there is not so much memory.
 */
int pausing_begin(struct pausing *p, size_t bytes);
/*
 * The opposite; what was to be said is said. @reason: what the kernel has said meanwhile, of
 * REASON_TEXT bytes.
 */
void pausing_end(struct pausing *p, char *reason);

#define REASON_TEXT	256

#endif
