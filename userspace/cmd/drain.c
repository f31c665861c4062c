// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb drain: copy what the landing log of an open set has to the slow member. The kernel answers
 * when all of it is there, so a child sends the message, and its parent shows the progress.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "json.h"
#include "landing-size.h"
#include "open-set.h"
#include "output.h"
#include "progress.h"
#include "record.h"
#include "set-json.h"
#include "size.h"
#include "tell.h"
#include "verb.h"

#define LOOK_MS		250

struct draining {
	const char *name;
	struct set set;
	uint64_t blocks;	/* in the log when it began */
	uint64_t left;		/* the fewest that there were since */
	pid_t child;
	int fd;			/* the child's words; it ends when that does */
	char reason[256];	/* of the kernel, to refuse */
};

/* In the child, which has no other output. */
static __attribute__((noreturn)) void send_drain(const char *name, int fd)
{
	char reason[256], *answer = NULL;
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rc = fus_send_message(name, "drain", &answer, reason, sizeof(reason));
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
		send_drain(d->name, ends[1]);
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

static int drain(struct draining *d)
{
	sigset_t before;
	char what[160];
	int rc;

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
				      "empty; run fusionctl drain %s again", d->name);
		else if (rc)
			rc = fus_fail(rc, d->name, "its landing log cannot be emptied: %s; see "
				      "dmesg and fusionctl status %s", d->reason, d->name);
	}
	if (d->fd >= 0)
		close(d->fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static void print(const struct draining *d, bool json)
{
	const uint64_t done = (d->blocks - d->left) * FUS_LANDING_BLOCK;
	struct json_object *o;
	char size[SIZE_TEXT];

	if (!json) {
		if (d->set.st.logs)
			printf("%s: %s of the landing log are on the slow member now\n", d->name,
			       fus_size_text(size, done));
		else
			printf("%s: has no landing log\n", d->name);
		return;
	}
	o = fus_json_base();
	fus_json_add_open(o, &d->set.m);
	fus_json_add_u64(o, "bytes", d->blocks * FUS_LANDING_BLOCK);
	fus_json_add_u64(o, "drained_bytes", done);
	print_json(o, false);
}

int cmd_drain(const struct args *a)
{
	struct draining d = { .name = a->word[0], .fd = -1 };
	const struct fusion_status *st = &d.set.st;
	int rc;

	rc = fus_set_get(d.name, &d.set);
	if (rc)
		return rc;
	d.blocks = st->log_blocks;
	d.left = d.blocks;
	if (st->logs && strcmp(st->mode, "rw"))
		rc = fus_fail(FC_FAILED, d.name, "cannot be drained, it is in mode %s; see "
			      "fusionctl status %s", st->mode, d.name);
	else if (st->logs && d.set.m.suspended)
		rc = fus_fail_suspended(d.name, "cannot be drained");
	else if (st->logs)
		rc = drain(&d);
	if (!rc || d.left < d.blocks)
		print(&d, a->opt[OPT_JSON]);
	fus_set_put(&d.set);
	return rc;
}
