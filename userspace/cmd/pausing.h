/* SPDX-License-Identifier: GPL-2.0-only */
/* The program while a device is suspended that it may need itself: pausing.c. */
#ifndef PAUSING_H
#define PAUSING_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct pausing {
	sigset_t before;
	char oom_adj[16];	/* "" if it was not changed */
	bool io_flusher;
	int kmsg;
};

/*
 * From here on no signal ends or stops the program, except SIGKILL and SIGSTOP. All of it stays in
 * memory, with @bytes more for what it allocates, and it says nothing. Fails if that is not
 * possible.
 */
int pausing_begin(struct pausing *p, size_t bytes);
#define REASON_TEXT	256

/* Before its end: what the kernel has said meanwhile, of REASON_TEXT bytes. */
void pausing_reason(struct pausing *p, char *reason);
/*
 * The opposite, once the device is resumed; messages that waited are printed. @stays: the device
 * stays suspended, so nothing is done that may wait for it. Then the messages, with a line about
 * that, go to the kernel log, and are printed at the end of the program, without any lock.
 */
void pausing_end(struct pausing *p, bool stays);

#endif
