// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program while a device is suspended that it may need itself, as that of the root. It must not
 * end then, and not wait for that device: nothing of it can be paged in, and a line that it prints
 * may go to a file there.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pausing.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "kmsg.h"
#include "message.h"
#include "show-progress.h"

/* What is freed stays in the heap, where all of it has been touched. */
static bool touch_heap(size_t bytes)
{
	char *heap;

	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, -1);
	heap = malloc(bytes);
	if (!heap)
		return false;
	/* the compiler must not see that nothing reads it */
	explicit_bzero(heap, bytes);
	free(heap);
	return true;
}

static void undo(const struct pausing *p)
{
	munlockall();
	progress_show();
	messages_hold(false);
	sigprocmask(SIG_SETMASK, &p->before, NULL);
}

int pausing_begin(struct pausing *p, size_t bytes)
{
	hold_all_signals(&p->before);
	fflush(stdout);
	messages_hold(true);
	progress_stop();
	mlockall(MCL_CURRENT | MCL_FUTURE);
	if (bytes && !touch_heap(bytes)) {
		undo(p);
		return fus_fail(FC_FAILED, "memory", "not enough for the map of the set; close "
				"programs and try again");
	}
	p->kmsg = fus_kmsg_open();
	return 0;
}

void pausing_end(struct pausing *p, char *reason)
{
	undo(p);
	fus_kmsg_reason(p->kmsg, reason, REASON_TEXT);
}
