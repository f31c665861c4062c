// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the verbs grow and shrink share: an open set gets another size when another table takes the
 * place of the present one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resize.h"
#include "backup.h"
#include "error.h"
#include "fusionctl.h"
#include "pausing.h"
#include "record.h"
#include "role.h"
#include "trio.h"

int resize_get(struct resizing *r)
{
	struct set set;
	char what[64];
	int rc;

	rc = fus_set_get(r->name, &set);
	if (rc)
		return rc;
	snprintf(what, sizeof(what), "cannot %s", r->verb);
	if (set.old)
		rc = fus_fail_replaced(r->name, r->verb);
	else if (strcmp(set.st.mode, "rw"))
		rc = fus_fail(FC_FAILED, r->name, "cannot %s, it is in mode %s; see fusionctl "
			      "status %s", r->verb, set.st.mode, r->name);
	else if (set.m.suspended)
		rc = fus_fail_suspended(r->name, what);
	for (int dev = 0; dev < 2 && !rc; dev++) {
		if (fus_member_at(set.member[dev], &r->m[dev]) || !r->m[dev])
			rc = fus_fail(FC_FAILED, r->name, "the superblock of its %s member "
				      "cannot be read; see dmesg", fus_role_name[dev]);
		else
			rc = fus_check_member(r->m[dev]);
	}
	fus_set_put(&set);
	if (!rc)
		rc = fus_dm_get_set(r->name, MAPPING_TABLE, &r->table);
	if (rc)
		return rc;
	r->sb = *r->m[FAST]->sb;
	if (r->m[SLOW]->sb->layout_seq != r->sb.layout_seq)
		return fus_fail(FC_BUSY, r->name, "the slow member does not know yet how large the "
				"set has become; run fusionctl checkpoint %s, and try again",
				r->name);
	return 0;
}

void resize_put(struct resizing *r)
{
	fus_dm_put(&r->table);
	fus_free_members(r->m[FAST]);
	fus_free_members(r->m[SLOW]);
}

static unsigned int count_words(const char *text)
{
	unsigned int nr = 0;

	for (; *text; text++)
		nr += *text == ' ' && text[1] && text[1] != ' ';
	return nr;
}

/* The present line, with more options; to be freed. */
static char *resize_params(const char *params, const char *options)
{
	char fast[32], slow[32], *longer = NULL;
	unsigned int nr = 0;
	int end = 0;

	if (sscanf(params, "%31s %31s%n %u%n", fast, slow, &end, &nr, &end) < 2)
		return NULL;
	nr += 2 + count_words(options);
	return asprintf(&longer, "%s %s %u%s resize on%s", fast, slow, nr, params + end,
			options) < 0 ? NULL : longer;
}

/* Do two table lines name the same members? */
static bool same_members(const char *a, const char *b)
{
	size_t n = strcspn(a, " ");

	n += a[n] == ' ';
	n += strcspn(a + n, " ");
	return !strncmp(a, b, n) && (!b[n] || b[n] == ' ');
}

int resize_lock(struct resizing *r, int *lock)
{
	struct mapping now;
	bool same;
	int rc;

	rc = fus_run_lock(ASSEMBLY_LOCK, lock);
	if (rc)
		return rc;
	rc = fus_dm_get(r->name, NULL, MAPPING_TABLE, &now);
	same = !rc && now.exists && !now.suspended && now.devno == r->table.devno &&
	       now.sectors == r->table.sectors && !strcmp(now.target, r->table.target) &&
	       same_members(now.params, r->table.params);
	if (!rc && !same)
		rc = fus_fail(FC_BUSY, r->name, "was closed, suspended or changed while it was to "
			      "%s; see fusionctl list, and try again", r->verb);
	if (rc) {
		fus_dm_put(&now);
		fus_run_unlock(lock);
		return rc;
	}
	/* its options may be others */
	fus_dm_put(&r->table);
	r->table = now;
	return 0;
}

static int exchange(struct resizing *r, const char *params)
{
	const struct dm_line now = { r->table.sectors, r->table.target, r->table.params };
	const struct dm_line next = { fusion_sb_sectors(&r->sb), r->table.target, params };
	struct dm_exchange x = { .now = &now, .next = &next };
	struct pausing paused;
	char reason[REASON_TEXT];
	int err, rc;

	rc = pausing_begin(&paused, 0);
	if (rc)
		return rc;
	err = fus_dm_exchange(r->name, &x);
	pausing_reason(&paused, reason);
	r->paused_ms = x.paused_ms;
	if (x.stuck)
		rc = fus_fail(FC_FAILED, r->name, "stays suspended: the kernel takes neither the "
			      "new table nor the old one: %s; see dmesg, and restart the machine",
			      *reason ? reason : strerror(-err));
	else if (err)
		rc = fus_fail(FC_FAILED, r->name, "has not %s: %s; it is as large as it was, see "
			      "dmesg", r->done, *reason ? reason : strerror(-err));
	pausing_end(&paused, x.stuck);
	return rc;
}

static int exchange_locked(struct resizing *r, const char *options)
{
	char *params = resize_params(r->table.params, options);
	int rc;

	if (!params)
		return fus_fail(FC_FAILED, r->name, "its table cannot be read; use matching "
				"versions of fusionctl and dm-fusion");
	rc = exchange(r, params);
	free(params);
	return rc;
}

int resize_exchange(struct resizing *r, const char *options)
{
	int rc, lock;

	rc = resize_lock(r, &lock);
	if (rc)
		return rc;
	rc = exchange_locked(r, options);
	fus_run_unlock(&lock);
	return rc;
}

bool resize_finish(const struct resizing *r)
{
	struct member *slow = NULL;
	char *answer = NULL;
	bool told;

	/* a slow member that has grown is told in the background: this waits until it has been */
	fus_dm_message(r->name, "checkpoint", &answer);
	free(answer);
	fus_backup_changed(r->m[FAST]->devno);
	told = !fus_member_at(r->m[SLOW]->devno, &slow) && slow && fus_has_identity(slow) &&
	       slow->sb->layout_seq == r->sb.layout_seq;
	if (!told)
		fus_warn(r->name, "has %s, but its slow member %s could not be told; see fusionctl "
			 "status %s", r->done, r->m[SLOW]->path, r->name);
	fus_free_members(slow);
	return told;
}
