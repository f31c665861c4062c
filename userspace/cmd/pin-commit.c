// SPDX-License-Identifier: GPL-2.0-only
/* A change of pins comes into force, in the file of the set and in the kernel; and the refresh. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pin.h"
#include "error.h"
#include "fusionctl.h"
#include "new-file.h"
#include "record.h"
#include "size.h"
#include "sysfs.h"
#include "tell.h"

/* What is not found for so long is not pinned any more. */
#define FORGET_S	(7 * 24 * 3600)

int pin_may_change(const struct pinning *p)
{
	return strcmp(p->set.st.mode, "rw") ?
	       fus_fail(FC_FAILED, p->name, "is in mode %s, its pins cannot be changed; see dmesg",
			p->set.st.mode) : 0;
}

static const char *pin_name(const struct pinning *p, const struct pin *pin)
{
	return pin->path ? pin->path : p->name;
}

static int no_room(const struct pinning *p, size_t i)
{
	const struct pin_found *f = &p->found[i];
	char over[SIZE_TEXT], room[SIZE_TEXT];

	return fus_fail(FC_FAILED, pin_name(p, &p->pins.pin[i]), "no room to pin all of it to the "
			"fast member: %s are too much, as %" PRIu64 " extents (%s) are left; pin "
			"less, or unpin what fusionctl pin --list %s shows",
			fus_size_text(over, f->refused), f->room,
			fus_size_text(room, f->room * p->extent_bytes), p->name);
}

/* The new pins have to have room; others keep what they can get. */
static int check_room(const struct pinning *p)
{
	char over[SIZE_TEXT];

	for (size_t i = 0; i < p->pins.nr; i++) {
		if (!p->found[i].refused)
			continue;
		if (p->pins.pin[i].is_new)
			return no_room(p, i);
		fus_warn(pin_name(p, &p->pins.pin[i]), "no room on the fast member for %s of it; "
			 "unpin what fusionctl pin --list %s shows",
			 fus_size_text(over, p->found[i].refused), p->name);
	}
	return 0;
}

/* -- what has been found ---------------------------------------------------------------------- */

/* A file in RUN_DIR notes that the pins of a set were looked for, and in which opening of it. */
#define FOUND_FILE	(UUID_TEXT + 8)
#define OPENING		32

static void found_file(const struct pinning *p, char buf[FOUND_FILE])
{
	snprintf(buf, FOUND_FILE, "pins-%s", p->pins.uuid);
}

/* The kernel counts disks; or "". */
static void opening_text(const struct pinning *p, char buf[OPENING])
{
	if (!fus_sysfs_read(p->set.m.devno, "diskseq", buf, OPENING))
		*buf = 0;
}

static bool was_found(const struct pinning *p)
{
	char file[FOUND_FILE], path[sizeof(RUN_DIR) + FOUND_FILE], now[OPENING], *then;
	bool same;

	found_file(p, file);
	snprintf(path, sizeof(path), RUN_DIR "/%s", file);
	opening_text(p, now);
	then = fus_file_text(AT_FDCWD, path, OPENING, NULL);
	same = then && *now && !strcmp(then, now);
	free(then);
	return same;
}

/* What cannot be looked at now may be found later. */
static bool found_all(const struct pinning *p)
{
	for (size_t i = 0; i < p->pins.nr; i++)
		if (p->found[i].state == PIN_NOT_MOUNTED || p->found[i].state == PIN_UNREADABLE)
			return false;
	return true;
}

/* If this fails, all is only looked for again. */
static void note_found(const struct pinning *p)
{
	int dir = open(RUN_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char file[FOUND_FILE], now[OPENING];

	if (dir < 0)
		return;
	found_file(p, file);
	opening_text(p, now);
	if (found_all(p))
		fus_new_file(dir, file, now, strlen(now));
	else
		unlinkat(dir, file, 0);
	close(dir);
}

/* The file is written before the kernel changes: what it refuses is not recorded. */
int pin_commit(struct pinning *p)
{
	int rc = check_room(p);

	if (!rc)
		rc = pin_begin(p->name, &p->plan);
	if (!rc && p->changed)
		rc = fus_pins_write(&p->pins);
	if (!rc)
		rc = pin_end(p->name);
	if (!rc)
		note_found(p);
	if (!rc)
		rc = pin_ask(p->name, &p->now);
	return rc;
}

/* -- refresh ---------------------------------------------------------------------------------- */

static void forget(struct pinning *p)
{
	const uint64_t now = time(NULL);

	for (size_t i = p->pins.nr; i--;) {
		const struct pin *pin = &p->pins.pin[i];

		if (p->found[i].state != PIN_MISSING || now - pin->missed < FORGET_S)
			continue;
		fus_warn(pin->path, "has been missing for a week, and is not pinned any more; pin it "
			 "again if it comes back");
		fus_pins_remove(&p->pins, i);
		memmove(&p->found[i], &p->found[i + 1], (p->pins.nr - i) * sizeof(*p->found));
		p->changed = true;
	}
}

static bool any_in_force(const struct pinning *p)
{
	return p->now.nr[FAST] || p->now.nr[SLOW];
}

/* Has the slow member been left alone for so long that it may rest? */
static int is_idle(const struct pinning *p, uint64_t used_within, bool *idle)
{
	uint64_t seconds = 0;
	int rc = 0;

	if (used_within != UINT64_MAX && (any_in_force(p) || was_found(p)))
		rc = fus_tell_stat(p->name, "slow_idle", &seconds);
	*idle = seconds > used_within;
	return rc;
}

static int refresh(struct pinning *p, uint64_t used_within)
{
	bool idle;
	int rc = is_idle(p, used_within, &idle);

	if (rc || idle || (!p->pins.nr && !any_in_force(p)))
		return rc;
	rc = pin_may_change(p);
	if (!rc)
		rc = pin_find(p);
	if (rc)
		return rc;
	forget(p);
	return pin_commit(p);
}

/* The kernel is not asked about it: it may refuse, and would do so at each run of the timer. */
static bool is_left_out(const struct pinning *p, uint64_t used_within)
{
	return strcmp(p->set.st.mode, "rw") || (used_within != UINT64_MAX && !p->pins.nr);
}

static int refresh_set(const struct pin_change *c, struct pinning *p, uint64_t used_within)
{
	int rc = pin_ask_set(p);

	if (!rc)
		rc = refresh(p, used_within);
	/* not if the files were left alone */
	if (!rc && c->done && (p->found || !p->pins.nr))
		c->done(c->ctx, p);
	return !rc && p->where.unread ? FC_FAILED : rc;
}

int pin_refresh(const struct pin_change *c, const char *name, bool named, uint64_t used_within)
{
	struct pinning p = { .places = c->places };
	int rc = pin_open(&p, name);

	if (!rc && (named || !is_left_out(&p, used_within)))
		rc = refresh_set(c, &p, used_within);
	pin_put(&p);
	return rc;
}
