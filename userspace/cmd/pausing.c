// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program while a device is suspended that it may need itself, as that of the root. It must not
 * end or stop then, and not wait for that device: nothing of it can be paged in, and a line that it
 * prints may go to a file there, or to a terminal whose program needs that device.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "pausing.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "kmsg.h"
#include "message.h"
#include "show-progress.h"

#define OOM_ADJ		"/proc/self/oom_score_adj"

/* The libc reads files when these are used first: the time zone, and texts of a locale. */
static void load_files(void)
{
	tzset();
	(void)strerror(EIO);
}

/* -- memory ------------------------------------------------------------------------------------ */

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

static int lock_memory(size_t bytes)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return fus_fail(FC_FAILED, "memory", "the program cannot be kept in it while I/O "
				"waits: %s; close programs and try again", strerror(errno));
	if (bytes && !touch_heap(bytes))
		return fus_fail(FC_FAILED, "memory", "not enough for the map of the set; close "
				"programs and try again");
	return 0;
}

static bool put_oom_adj(const char *adj)
{
	int fd = open(OOM_ADJ, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, adj, strlen(adj)) == (ssize_t)strlen(adj);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* The kernel kills others before it, if it has that right. */
static void spare_from_oom(struct pausing *p)
{
	int fd = open(OOM_ADJ, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, p->oom_adj, sizeof(p->oom_adj) - 1);

	if (fd >= 0)
		close(fd);
	p->oom_adj[n > 0 ? n : 0] = 0;
	if (n > 0 && !put_oom_adj("-1000"))
		*p->oom_adj = 0;
}

/* -- all of it --------------------------------------------------------------------------------- */

static void undo(const struct pausing *p)
{
	if (p->io_flusher)
		prctl(PR_SET_IO_FLUSHER, 0, 0, 0, 0);
	if (*p->oom_adj)
		put_oom_adj(p->oom_adj);
	munlockall();
	progress_show();
	messages_hold(false);
	sigprocmask(SIG_SETMASK, &p->before, NULL);
}

int pausing_begin(struct pausing *p, size_t bytes)
{
	int rc;

	load_files();
	fflush(stdout);
	hold_all_signals(&p->before);
	messages_hold(true);
	progress_stop();
	*p->oom_adj = 0;
	p->io_flusher = false;
	rc = lock_memory(bytes);
	if (rc) {
		undo(p);
		return rc;
	}
	p->kmsg = fus_kmsg_open();
	spare_from_oom(p);
	/* what it allocates must not wait for something to be written to the device */
	p->io_flusher = !prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
	return 0;
}

void pausing_reason(struct pausing *p, char *reason)
{
	fus_kmsg_reason(p->kmsg, reason, REASON_TEXT);
}

void pausing_end(struct pausing *p, bool stays)
{
	if (!stays) {
		undo(p);
		return;
	}
	/* its user may not see a line that is printed, if the terminal needs the device as well */
	messages_to_kernel(true);
	sigprocmask(SIG_SETMASK, &p->before, NULL);
}
