// SPDX-License-Identifier: GPL-2.0-only
/*
 * The landing log of an open set is drained. The kernel answers when all of it is copied, so a
 * child sends the message, and its parent shows the progress.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drain-log.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "landing-size.h"
#include "open-set.h"
#include "progress.h"
#include "tell.h"

#define LOOK_MS		250

/* In the child, which has no other output. */
static __attribute__((noreturn)) void send_message(const struct draining *d, int fd)
{
	char reason[256], *answer = NULL;
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rc = fus_send_message(d->name, d->message, &answer, reason, sizeof(reason));
	if (rc && write(fd, reason, strlen(reason)) < 0)
		rc = FC_FAILED;
	_exit(rc);
}

static int begin(struct draining *d)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return fus_fail(FC_FAILED, d->name, "cannot make a pipe: %s; try again",
				strerror(errno));
	/* not with the verb's own output a second time */
	fflush(NULL);
	d->child = fork();
	if (!d->child)
		send_message(d, ends[1]);
	close(ends[1]);
	d->fd = ends[0];
	return d->child > 0 ? 0 : fus_fail(FC_FAILED, d->name, "cannot start a process: %s; try "
					   "again", strerror(errno));
}

static void look(struct draining *d)
{
	struct set set;
	bool found;

	if (fus_set_get_if_open(d->name, &set, &found) || !found)
		return;
	fus_set_put(&set);
	if (set.st.log_blocks < d->left)
		d->left = set.st.log_blocks;
	fus_progress_at((d->blocks - d->left) * FUS_LANDING_BLOCK, NULL);
}

/* Until the child has ended. Return: its exit status, or -1 if it was stopped. */
static int follow(struct draining *d)
{
	struct pollfd p = { .fd = d->fd, .events = POLLIN };
	bool stopped = false;
	int status, n;

	while (poll(&p, 1, LOOK_MS) <= 0 && !stopped) {
		look(d);
		stopped = ending_signal_came();
	}
	if (stopped)
		kill(d->child, SIGKILL);
	n = read(d->fd, d->reason, sizeof(d->reason) - 1);
	d->reason[n > 0 ? n : 0] = 0;
	if (waitpid(d->child, &status, 0) != d->child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

int drain_log(struct draining *d)
{
	sigset_t before;
	char what[160];
	int rc;

	d->fd = -1;
	hold_ending_signals(&before);
	snprintf(what, sizeof(what), "%s: drain", d->name);
	rc = begin(d);
	if (!rc) {
		fus_progress_begin(what, &fus_progress_mib, d->blocks * FUS_LANDING_BLOCK);
		rc = follow(d);
		look(d);
		/* writes may have filled it again meanwhile */
		d->left = rc ? d->left : 0;
		fus_progress_end();
		if (rc < 0)
			rc = fus_fail(FC_FAILED, d->name, "was stopped, the landing log is not "
				      "empty; run fusionctl %s %s again", d->verb, d->name);
		else if (rc)
			rc = fus_fail(rc, d->name, "its landing log cannot be emptied: %s; see "
				      "dmesg and fusionctl status %s", d->reason, d->name);
	}
	if (d->fd >= 0)
		close(d->fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/* -- for another table ------------------------------------------------------------------------ */

int turn_log_off(const char *name, const char *verb, bool *turned)
{
	struct draining d = { .name = name, .verb = verb, .message = "landing off" };
	struct set set;
	bool off;
	int rc;

	rc = fus_set_get(name, &set);
	if (rc)
		return rc;
	d.blocks = set.st.log_blocks;
	d.left = d.blocks;
	off = set.st.log_off;
	fus_set_put(&set);
	/* one that is off is empty, unless another program has just turned it off */
	if (!set.st.logs || (off && !d.blocks))
		return 0;
	rc = drain_log(&d);
	*turned |= !rc && !off;
	return rc;
}

void turn_log_on(const char *name)
{
	char *answer = NULL, reason[256];

	if (fus_send_message(name, "landing on", &answer, reason, sizeof(reason)))
		fus_warn(name, "its landing log stays off: %s; run dmsetup message %s 0 landing on",
			 reason, name);
	free(answer);
}
