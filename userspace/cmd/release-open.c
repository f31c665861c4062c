// SPDX-License-Identifier: GPL-2.0-only
/* Verb release, of an open set: what is on it, and whether it may be released. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "release-online.h"
#include "boot-names.h"
#include "busy.h"
#include "error.h"
#include "fusionctl.h"
#include "landing-size.h"
#include "open-content.h"
#include "reach.h"
#include "runs.h"
#include "size.h"

/* -- the set ---------------------------------------------------------------------------------- */

static int check_status(struct online *o)
{
	const char *name = o->set.name;
	struct set set;
	int rc;

	rc = fus_set_get(name, &set);
	if (rc)
		return rc;
	if (set.st.needs_check)
		rc = fus_fail(FC_REFUSED, name, "had an error that may have left its metadata "
			      "wrong; close it, and run fusionctl repair %s", o->set.sb.label);
	else if (set.st.fence_slots)
		rc = fus_fail(FC_BUSY, name, "is being shrunk; wait until that has ended");
	else if (set.st.lost)
		rc = fus_fail(FC_REFUSED, name, "cannot be released, %" PRIu64 " of its extents "
			      "are lost; delete the files and run fstrim", set.st.lost);
	else
		rc = online_check_disk(o, &set.st, 0, 0);
	o->r.logged = set.st.log_blocks * FUS_LANDING_BLOCK;
	fus_set_put(&set);
	return rc;
}

static int check_supers(const struct online *o)
{
	char text[FUSION_UNKNOWN_TEXT];

	for (int dev = 0; dev < 2; dev++) {
		const struct fusion_sb *sb = o->set.m[dev]->sb;

		if (*fusion_sb_unknown_landing(sb, text))
			return fus_fail(FC_REFUSED, o->set.m[dev]->path, "%s; release it with that "
					"version", text);
	}
	return 0;
}

/* The members as those of a closed set, except that they are not open. */
static int take_members(struct online *o)
{
	struct meta *meta = &o->r.meta;

	for (int dev = 0; dev < 2; dev++) {
		meta->m[dev].o.fd = -1;
		meta->m[dev].o.devno = o->set.m[dev]->devno;
		meta->m[dev].o.sectors = o->set.m[dev]->sectors;
		meta->m[dev].o.path = strdup(o->set.m[dev]->path);
		if (!meta->m[dev].o.path)
			return fus_fail(FC_FAILED, "memory", "not enough; close programs and try "
					"again");
		meta->geo[dev] = *o->set.m[dev]->sb;
		/* for messages about it */
		snprintf(meta->geo[dev].label, sizeof(meta->geo[dev].label), "%s", o->set.name);
	}
	return 0;
}

/* -- its map ----------------------------------------------------------------------------------- */

static void take_run(void *ctx, const struct map_run *run)
{
	const enum fusion_state state = run->stable ? FUSION_STABLE : FUSION_OPEN;
	struct meta_state *st = ctx;

	for (uint64_t i = 0; i < run->nr; i++)
		st->word[run->first + i] = run->dev < 0 ? FUSION_WORD_UNMAPPED :
					   fusion_word(state, run->dev, run->slot + i);
}

static int take_map(struct online *o)
{
	int rc;

	o->r.h.meta = &o->r.meta;
	o->r.h.t = &o->r.t;
	rc = fus_state_init(&o->r.h.st, o->set.sb.nr_lexts);
	return rc ? rc : fus_each_run(o->set.name, o->set.sb.nr_lexts, take_run, &o->r.h.st);
}

/* The last extent that lies on the disk, if its end does not. */
static int look_at_end(struct online *o)
{
	const uint64_t es = (uint64_t)o->set.sb.extent_sectors << 9;
	const uint64_t disk = o->r.t.sb.transit.disk_sectors << 9, bytes = es - disk % es;
	ssize_t n = bytes;
	char *buf;
	int fd;

	if (!(disk % es) || disk / es >= o->r.t.content ||
	    !fusion_word_mapped(o->r.h.st.word[disk / es]))
		return 0;
	fd = open_content(o->set.name, o->set.table.devno);
	if (fd < 0)
		return FC_FAILED;
	buf = calloc(1, bytes);
	if (buf)
		n = pread(fd, buf, bytes, disk);
	close(fd);
	if (!buf || n != (ssize_t)bytes) {
		free(buf);
		return fus_fail(FC_FAILED, o->set.name, "cannot be read at byte %llu: %s; see "
				"dmesg", (unsigned long long)disk, strerror(errno));
	}
	o->r.h.beyond_part = memchr_inv(buf, 0, bytes);
	free(buf);
	return 0;
}

/* -- what is on it ----------------------------------------------------------------------------- */

/*
 * Mappings on the set do not become smaller with it. While it is suspended, nothing may be looked
 * at by a path, which may lead through what is frozen; and what is there was there before.
 */
int online_check_reach(const struct online *o, bool paused)
{
	const uint64_t disk = o->r.meta.geo[SLOW].self_sectors;
	const char *name = o->set.name;
	char is[SIZE_TEXT], most[SIZE_TEXT];
	struct reach reach;
	struct user user;

	if (fusion_sb_sectors(&o->set.sb) <= disk)
		return 0;
	fus_reach(o->set.table.devno, &reach);
	if (reach.unknown)
		return fus_fail(FC_REFUSED, name, "is held by %s, and how much of it that uses is "
				"not known; remove that first", reach.name);
	if (reach.sectors > disk)
		return fus_fail(FC_REFUSED, name, "%s on it reaches to %s, and %s has only %s; "
				"shrink that first", reach.name,
				fus_size_text(is, reach.sectors << 9), o->r.meta.m[SLOW].o.path,
				fus_size_text(most, disk << 9));
	if (!paused && o->r.size == SIZE_UNKNOWN &&
	    fus_device_user(o->set.table.devno, &user))
		return fus_fail(FC_REFUSED, name, "the size of its %s is not known, and it %s; end "
				"that first", o->r.content.type, user.text);
	return 0;
}

static int plan(struct online *o)
{
	struct fus_content none = { .nr = 0 };
	struct releasing *r = &o->r;
	bool room;
	int rc;

	/* its signatures may be too many, or behind the end: the counts do not depend on them */
	room = fus_release_plan(&r->t, &o->set.sb, &none);
	fus_homing_count(&r->h);
	rc = look_at_end(o);
	if (!rc)
		rc = release_check_content(r, o->keep);
	if (!rc)
		rc = online_check_reach(o, false);
	if (!rc)
		room = fus_release_plan(&r->t, &o->set.sb, &r->content);
	if (!rc && !room)
		rc = release_no_room(r);
	if (rc)
		return rc;
	fus_homing_count(&r->h);
	r->expected_ms = online_pause_ms(r, o->zero);
	return online_check_pause(o, r);
}

int online_look(struct online *o)
{
	struct releasing *r = &o->r;
	int rc;

	rc = resize_get(&o->set);
	if (!rc)
		rc = check_status(o);
	if (!rc)
		rc = check_supers(o);
	if (!rc)
		rc = take_members(o);
	if (!rc)
		rc = look_at_open_content(o->set.name, o->set.table.devno, &r->content, &r->size,
					  &r->content_bytes);
	if (!rc)
		rc = take_map(o);
	if (!rc)
		rc = plan(o);
	if (!rc)
		rc = check_boot_finishes(o->set.name, o->set.table.devno);
	if (!rc)
		rc = check_later_boot_names(o->set.table.devno);
	if (rc)
		return rc;
	r->open_as = o->set.name;
	for (int dev = 0; dev < 2; dev++)
		r->t.o[dev] = r->meta.m[dev].o;
	return 0;
}

void online_put(struct online *o)
{
	resize_put(&o->set);
	fus_homing_free(&o->r.h);
	fus_meta_free(&o->r.meta);
}
