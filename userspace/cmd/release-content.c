// SPDX-License-Identifier: GPL-2.0-only
/* Verb release: what is on the set, and whether it fits the disk. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "release.h"
#include "error.h"
#include "fusionctl.h"
#include "size.h"

const char *release_content_text(const struct fus_content *c)
{
	return *c->type ? c->text : "no content that is recognised";
}

int release_look(struct releasing *r)
{
	int fd = fus_window_open(&r->meta, &r->h.st), rc;

	if (fd < 0)
		return FC_FAILED;
	rc = fus_probe_magics(r->meta.geo[FAST].label, fd, &r->content);
	if (!rc)
		r->size = fus_content_size(fd, &r->content, &r->content_bytes);
	close(fd);
	return rc;
}

/* What the set uses of the disk. */
static uint64_t disk_bytes(const struct releasing *r)
{
	return r->meta.geo[SLOW].self_sectors << 9;
}

/* After it shrank, a set may use less than there is. */
static bool fits_unused(const struct releasing *r, uint64_t bytes)
{
	return bytes > disk_bytes(r) && bytes <= (uint64_t)r->meta.m[SLOW].o.sectors << 9;
}

static int fail_unused(const struct releasing *r, const char *what, uint64_t bytes)
{
	const char *name = r->meta.geo[FAST].label;
	char is[SIZE_TEXT], used[SIZE_TEXT];

	return fus_fail(FC_REFUSED, name, "its %s has %s, and it uses only %s of %s; open it, run "
			"fusionctl grow %s, close it, and try again", what,
			fus_size_text(is, bytes), fus_size_text(used, disk_bytes(r)),
			r->meta.m[SLOW].o.path, name);
}

/* What is recognised has to be one thing, by signatures that can be told. */
static int check_signatures(const struct releasing *r)
{
	const struct fus_content *c = &r->content;
	const char *name = r->meta.geo[FAST].label, *disk = r->meta.m[SLOW].o.path;

	if (*c->other && strcmp(c->type, c->other))
		return fus_fail(FC_REFUSED, name, "has signatures of %s and of %s; open it, find "
				"out which is in use, and erase the other with wipefs --offset",
				c->type, c->other);
	if (*c->other || (*c->type && !c->nr))
		return fus_fail(FC_REFUSED, name, "contains %s, whose signatures cannot be told; "
				"copy it to another disk", c->text);
	if (c->nr > MAX_MAGICS)
		return fus_fail(FC_REFUSED, name, "has %u signatures of %s, at most %d are "
				"supported; copy it to another disk", c->nr, c->type, MAX_MAGICS);
	if (c->nr && c->sector[c->nr - 1] >= r->meta.geo[SLOW].self_sectors)
		return fus_fail(FC_REFUSED, name, "has a signature of %s behind the end of %s; "
				"shrink that content, or copy it to another disk", c->type, disk);
	return 0;
}

static int too_large(const struct releasing *r)
{
	const char *how = fus_shrink_text(r->content.type);
	char is[SIZE_TEXT], most[SIZE_TEXT], remedy[160];

	if (fits_unused(r, r->content_bytes))
		return fail_unused(r, r->content.type, r->content_bytes);
	if (*how)
		snprintf(remedy, sizeof(remedy), "shrink it, in the open set, with %s", how);
	else
		snprintf(remedy, sizeof(remedy), "it cannot shrink, copy it to another disk");
	return fus_fail(FC_REFUSED, r->meta.geo[FAST].label, "its %s has %s, and %s only %s; %s",
			r->content.type, fus_size_text(is, r->content_bytes),
			r->meta.m[SLOW].o.path, fus_size_text(most, disk_bytes(r)), remedy);
}

/* Of content that may use all of the set, only a person knows how much it really does. */
static int check_unknown(const struct releasing *r)
{
	const char *name = r->meta.geo[FAST].label, *disk = r->meta.m[SLOW].o.path;
	const uint64_t es = (uint64_t)r->meta.geo[FAST].extent_sectors << 9;
	const bool fits = r->meta.geo[FAST].nr_lexts * es <= disk_bytes(r);
	char size[SIZE_TEXT];

	if (fits)
		return 0;
	fus_size_text(size, disk_bytes(r));
	if (r->size == SIZE_WHOLE)
		return fus_fail(FC_REFUSED, name, "its %s uses all of its device, and %s has "
				"only %s; shrink what is in it, and say with --size how much is "
				"in use", r->content.type, disk, size);
	if (r->size == SIZE_UNKNOWN)
		return fus_fail(FC_REFUSED, name, "the size of its %s is not known, and %s has "
				"only %s; say with --size how much is in use", r->content.type,
				disk, size);
	if (r->h.beyond || r->h.beyond_part)
		return fus_fail(FC_REFUSED, name, "has data behind the end of %s, whose size is "
				"%s; say with --size how much is in use", disk, size);
	return 0;
}

static int check_keep(const struct releasing *r, uint64_t keep)
{
	char given[SIZE_TEXT], text[SIZE_TEXT];

	if (fits_unused(r, keep))
		return fail_unused(r, "content", keep);
	if (keep > disk_bytes(r))
		return fus_fail(FC_REFUSED, "--size", "%s is more than the %s of %s; shrink the "
				"content first", fus_size_text(given, keep),
				fus_size_text(text, disk_bytes(r)), r->meta.m[SLOW].o.path);
	if (r->size == SIZE_KNOWN && keep < r->content_bytes)
		return fus_fail(FC_REFUSED, "--size", "%s is less than the %s of the %s on it; "
				"shrink that first", fus_size_text(given, keep),
				fus_size_text(text, r->content_bytes), r->content.type);
	return 0;
}

int release_check_content(const struct releasing *r, uint64_t keep)
{
	const char *name = r->meta.geo[FAST].label;
	char size[SIZE_TEXT];
	int rc;

	rc = check_signatures(r);
	if (rc)
		return rc;
	if (r->size == SIZE_SEVERAL)
		return fus_fail(FC_REFUSED, name, "its %s is on several devices; remove the others "
				"first, with btrfs device remove", r->content.type);
	if (r->size == SIZE_KNOWN && r->content_bytes > disk_bytes(r))
		return too_large(r);
	if (keep)
		return check_keep(r, keep);
	if (r->size != SIZE_KNOWN)
		return check_unknown(r);
	if (!r->h.beyond)
		return 0;
	fus_size_text(size, ((uint64_t)r->h.beyond * r->meta.geo[FAST].extent_sectors) << 9);
	return fus_fail(FC_REFUSED, name, "has %s of data behind its %s and behind the end of %s; "
			"to give that up, add --size with the size of what is in use", size,
			r->content.type, r->meta.m[SLOW].o.path);
}
