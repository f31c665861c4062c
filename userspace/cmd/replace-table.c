// SPDX-License-Identifier: GPL-2.0-only
/* Verb replace: other tables for the set. I/O waits from the suspend to the resume. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "replace.h"
#include "dm.h"
#include "drain-log.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "pausing.h"
#include "record.h"
#include "role.h"
#include "tell.h"

/* The kernel completes up to 64 partial extents for each message. */
#define JOIN_TRIES	20
#define JOIN_PAUSE_MS	200

/* Which disk is what. */
struct places {
	dev_t member[2];
	dev_t old;		/* or 0 */
};

/* -- table lines ----------------------------------------------------------------------------- */

/* Options other than the old member: "KEY VALUE" each, with a space before. */
static int copy_options(const char *from, char *to, size_t size)
{
	char key[32], value[64];
	int nr = 0, n;

	*to = 0;
	for (; sscanf(from, " %31s %63s%n", key, value, &n) == 2; from += n) {
		if (!strcmp(key, "old_fast") || !strcmp(key, "old_slow"))
			continue;
		if (strlen(to) + strlen(key) + strlen(value) + 3 > size)
			return -1;
		snprintf(to + strlen(to), size - strlen(to), " %s %s", key, value);
		nr += 2;
	}
	return nr;
}

/* The present line with other disks; to be freed. NULL if the present one is not understood. */
static char *line_of(const struct replacing *r, const char *params, const struct places *p)
{
	char options[512], old[64] = "", *line;
	unsigned int words;
	int at = 0, nr;

	if (sscanf(params, "%*s %*s %u%n", &words, &at) < 1)
		at = strlen(params);
	nr = copy_options(params + at, options, sizeof(options));
	if (nr < 0)
		return NULL;
	if (p->old)
		snprintf(old, sizeof(old), " old_%s %u:%u", fus_role_name[r->role], major(p->old),
			 minor(p->old));
	nr += p->old ? 2 : 0;
	return asprintf(&line, "%u:%u %u:%u %d%s%s", major(p->member[FAST]),
			minor(p->member[FAST]), major(p->member[SLOW]), minor(p->member[SLOW]), nr,
			options, old) < 0 ? NULL : line;
}

/* -- the exchange ----------------------------------------------------------------------------- */

struct attempt {
	struct places to, back;
	bool can_go_back;	/* @back is filled in */
	bool is_back;		/* the set has become that */
	bool log_off;		/* the landing log was turned off for this */
	char reason[REASON_TEXT];	/* of the kernel, to refuse */
};

/* Return: whether the set still has the table that was there when it was looked at last. */
static bool is_same(const struct set *a, const struct set *b)
{
	return a->m.devno == b->m.devno && a->member[FAST] == b->member[FAST] &&
	       a->member[SLOW] == b->member[SLOW] && a->old == b->old &&
	       a->old_role == b->old_role && !b->m.suspended;
}

/* Until fus_run_unlock(), no other command gives the set another table, or opens a member. */
static int lock_set(struct replacing *r, int *lock)
{
	const struct set was = r->set;
	int rc = fus_run_lock(ASSEMBLY_LOCK, lock);

	if (!rc)
		rc = replace_look(r);
	if (!rc && !is_same(&was, &r->set))
		rc = fus_fail(FC_BUSY, r->name, "was closed, suspended or changed while a member "
			      "was to be replaced; see fusionctl list, and try again");
	if (rc)
		fus_run_unlock(lock);
	return rc;
}

/* Return: 0, -ECANCELED after a message, or another -errno; then @t has the reason. */
static int pause_for(struct replacing *r, struct attempt *t, struct dm_exchange *x)
{
	struct pausing paused;
	int err;

	if (pausing_begin(&paused, 0))
		return -ECANCELED;
	err = fus_dm_exchange(r->name, x);
	pausing_reason(&paused, t->reason);
	if (err && !*t->reason)
		snprintf(t->reason, sizeof(t->reason), "%s", strerror(-err));
	r->paused_ms += x->paused_ms;
	t->is_back = x->is_back;
	if (x->stuck)
		fus_fail(FC_FAILED, r->name, "stays suspended: the kernel takes none of its "
			 "tables: %s; see dmesg, and restart the machine", t->reason);
	pausing_end(&paused, x->stuck);
	return x->stuck ? -ECANCELED : err;
}

static int exchange_locked(struct replacing *r, const struct mapping *table, struct attempt *t)
{
	char *next = line_of(r, table->params, &t->to);
	char *back = t->can_go_back ? line_of(r, table->params, &t->back) : NULL;
	const struct dm_line line[] = {
		{ table->sectors, table->target, table->params },
		{ table->sectors, table->target, next },
		{ table->sectors, table->target, back },
	};
	struct dm_exchange x = {
		.now = &line[0], .next = &line[1], .back = back ? &line[2] : NULL,
	};
	int err = -EINVAL;

	if (next)
		err = pause_for(r, t, &x);
	else
		snprintf(t->reason, sizeof(t->reason), "%s", strerror(-err));
	free(next);
	free(back);
	return err;
}

static int exchange(struct replacing *r, struct attempt *t)
{
	struct mapping table;
	int err = -ECANCELED, lock;

	if (lock_set(r, &lock))
		return err;
	if (!fus_dm_get_set(r->name, MAPPING_TABLE, &table)) {
		err = exchange_locked(r, &table, t);
		fus_dm_put(&table);
	}
	fus_run_unlock(&lock);
	return err;
}

/* There may be at most 64 partial extents when a disk joins. */
static void settle(struct replacing *r)
{
	char *answer, reason[256];

	if (!r->set.st.open)
		return;
	fus_send_message(r->name, "settle", &answer, reason, sizeof(reason));
	free(answer);
}

/* Return: 0, -ECANCELED after a message, or another -errno; then @t has the reason. */
static int try_to_join(struct replacing *r, struct attempt *t)
{
	const struct timespec pause = { .tv_nsec = JOIN_PAUSE_MS * 1000000L };
	int err, tries = JOIN_TRIES;

	do {
		/*
		 * It would lie on a disk that leaves, so it is off until that has. With a table
		 * that the kernel takes back after a failure it is on again.
		 */
		if (turn_log_off(r->name, "replace", &t->log_off))
			return -ECANCELED;
		settle(r);
		err = exchange(r, t);
		if (err != -EAGAIN)
			break;
		nanosleep(&pause, NULL);
		if (replace_look(r))
			return -ECANCELED;
	} while (--tries && !ending_signal_came());
	return err;
}

int replace_join(struct replacing *r)
{
	const dev_t old = r->disk[OLD].devno, new = r->disk[NEW].devno;
	struct attempt t = { .can_go_back = true };
	int err, rc;

	for (int dev = 0; dev < 2; dev++) {
		t.to.member[dev] = dev == r->role ? new : r->set.member[dev];
		t.back.member[dev] = r->set.member[dev];
	}
	t.to.old = old;
	t.back.old = new;
	err = try_to_join(r, &t);
	if (!err)
		return replace_look(r);
	if (!t.is_back && t.log_off)
		turn_log_on(r->name);
	/* has its message already */
	if (err == -ECANCELED)
		return FC_FAILED;
	if (t.is_back && !replace_look(r)) {
		rc = replace_leave(r);
		if (rc)
			return rc;
	}
	return fus_fail(FC_FAILED, r->name, "keeps %s, as %s cannot join: %s; see dmesg",
			r->disk[OLD].path, r->disk[NEW].path, t.reason);
}

int replace_take_back(struct replacing *r)
{
	struct attempt t = { 0 };
	int err;

	for (int dev = 0; dev < 2; dev++)
		t.to.member[dev] = dev == r->role ? r->set.old : r->set.member[dev];
	t.to.old = r->set.member[r->role];
	err = try_to_join(r, &t);
	if (err == -ECANCELED)
		return FC_FAILED;
	if (err)
		return fus_fail(FC_FAILED, r->name, "cannot take %s back as a member: %s; the "
				"replacement goes on, see dmesg", r->disk[OLD].path, t.reason);
	return replace_look(r);
}

/* The table without its old member, or with it as it is. */
static int reload(struct replacing *r, bool with_old)
{
	struct attempt t = { 0 };
	int err;

	memcpy(t.to.member, r->set.member, sizeof(t.to.member));
	t.to.old = with_old ? r->set.old : 0;
	err = exchange(r, &t);
	if (err == -ECANCELED)
		return FC_FAILED;
	if (err)
		return fus_fail(FC_FAILED, r->name, "cannot go on without its old member: %s; see "
				"dmesg, and run fusionctl replace %s --wait again", t.reason,
				r->name);
	return replace_look(r);
}

/* With the first one the kernel tells the old member that it has left. */
int replace_leave(struct replacing *r)
{
	int rc = reload(r, true);

	return rc ? rc : reload(r, false);
}
