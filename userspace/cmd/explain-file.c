// SPDX-License-Identifier: GPL-2.0-only
/* The extents that a file lies on, for verb explain: those that verb where finds. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "explain.h"
#include "error.h"
#include "fusionctl.h"
#include "where.h"

/* So many bytes of the file are on this extent. */
static int take(void *ctx, uint64_t extent, uint64_t bytes)
{
	struct explain_file *f = ctx;

	if (!f->on[extent]) {
		if (!f->nr || extent < f->first)
			f->first = extent;
		if (!f->nr || extent > f->last)
			f->last = extent;
		f->nr++;
	}
	f->on[extent] += bytes;
	f->bytes += bytes;
	return 0;
}

static int follow(struct where *w, const struct stat *st, const char *set, struct explain_file *f)
{
	struct counted counted = { 0 };
	struct volume *v;
	struct tally t;
	int rc;

	rc = where_volume(w, f->path, st->st_dev, &v);
	if (rc)
		return rc;
	if (strcmp(fus_below_set(v->below), set))
		return fus_fail(FC_USAGE, f->path, "lies on another set; use fusionctl explain %s",
				fus_below_set(v->below));
	f->on = calloc(v->placement.extents, sizeof(*f->on));
	rc = f->on ? where_file(w, v, &counted, f->path, st, true, &t) : -ENOMEM;
	where_counted_free(&counted);
	if (rc == -ENOMEM)
		return fus_fail(FC_FAILED, "memory", "not enough for the extents of a file; close "
				"programs and try again");
	return rc < 0 ? fus_fail(FC_FAILED, f->path, "cannot read: %s; see its permissions, and "
				 "the kernel log", strerror(-rc)) : rc;
}

int explain_file_get(const char *path, const char *set, struct explain_file *f)
{
	struct where w = { .each = take, .ctx = f };
	struct stat st;
	int rc;

	*f = (struct explain_file) { .path = path };
	rc = stat(path, &st) ? errno : 0;
	if (rc == ENOENT)
		return fus_fail(FC_USAGE, path, "neither extents nor a file; write e.g. 18211, "
				"0-1023 or /srv/mail.db");
	if (rc)
		return fus_fail(FC_FAILED, path, "cannot look at it: %s; check the path",
				strerror(rc));
	if (!S_ISREG(st.st_mode))
		return fus_fail(FC_USAGE, path, "not a regular file; fusionctl where shows on "
				"which member a directory lies");
	rc = follow(&w, &st, set, f);
	where_free(&w);
	return rc;
}

void explain_file_put(struct explain_file *f)
{
	free(f->on);
}
