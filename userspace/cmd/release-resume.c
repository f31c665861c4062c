// SPDX-License-Identifier: GPL-2.0-only
/* Verb release, --resume and --abort: go on or back after an interruption. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "release.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "in-transit.h"
#include "record.h"
#include "verb.h"

struct going {
	struct meta meta;	/* only its devices and superblock */
	struct transit t;
	enum transit_at at;
};

/*
 * The signatures are back, or those of another disk: whoever has the right one has all of the
 * content, and the fast member is wiped then.
 */
static int check_right_disk(const struct transit *t)
{
	const char *path = t->o[t->disk].path;
	struct fus_content c;
	int fd, rc;

	fd = fus_open_node(path, t->o[t->disk].devno, O_RDONLY);
	if (fd < 0)
		return fus_fail(FC_FAILED, path, "cannot be opened: %s; check the device",
				strerror(errno));
	rc = fus_probe_magics(path, fd, &c);
	close(fd);
	if (!rc && c.id != t->sb.transit.content_id)
		rc = fus_fail(FC_MEMBER, path, "has other content than the set that is being "
			      "released; name the disk of that set");
	return rc;
}

/* @path: of the disk, "" if it does not matter any more, and of the fast member. */
static int look(struct going *g, const char *name, const char *disk, const char *fast,
		bool writable)
{
	const char *path[2] = { *disk ? disk : fast, *disk ? fast : NULL };
	int rc;

	rc = fus_open_members(path, writable, &g->meta);
	if (rc)
		return rc;
	g->t.o[0] = g->meta.m[0].o;
	g->t.o[1] = g->meta.m[1].o;
	if (!*disk) {
		g->t.o[0] = (struct offline){ .fd = -1 };
		g->t.o[1] = g->meta.m[0].o;
	}
	rc = fus_transit_read(&g->t, FUSION_TRANSIT_RELEASE);
	if (!rc && name)
		rc = transit_check_name(&g->t, name);
	if (!rc)
		rc = fus_transit_judge(&g->t, &g->at);
	if (!rc && g->at != TRANSIT_THERE && !g->t.marked)
		rc = transit_check_no_copy(&g->t);
	if (!rc && g->at == TRANSIT_THERE && !fusion_sb_released(&g->t.sb))
		rc = check_right_disk(&g->t);
	return rc;
}

/* In the order of the roles; nothing else that is there counts. */
static void set_meta(const struct going *g, struct meta *meta)
{
	memset(meta, 0, sizeof(*meta));
	for (int dev = 0; dev < 2; dev++) {
		meta->m[dev].o = g->t.o[dev];
		meta->m[dev].best = -1;
	}
	meta->geo[FAST] = g->t.sb;
}

static void tell_dry_run(const struct going *g, bool abort)
{
	const char *disk = g->t.o[SLOW].path, *fast = g->t.o[FAST].path;

	if (g->at == TRANSIT_THERE)
		printf("%s has its content; would only wipe %s\n", disk ? disk : "the disk", fast);
	else if (abort)
		printf("would make %s and %s the set %s again\n", fast, disk, g->t.sb.label);
	else
		printf("would write the rest of the content to %s, and wipe %s\n", disk, fast);
}

static int do_it(struct going *g, bool abort)
{
	struct meta meta;
	sigset_t before;
	int rc, lock;

	set_meta(g, &meta);
	rc = fus_meta_hold(&meta, &lock);
	if (rc)
		return rc;
	hold_ending_signals(&before);
	rc = g->at == TRANSIT_THERE ? fus_release_wipe(&g->t) :
	     abort ? fus_release_undo(&g->t) : fus_release_finish(&g->t);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!rc && abort)
		fus_meta_keep_closed(&meta);
	fus_run_unlock(&lock);
	return rc;
}

static void tell(const struct going *g, bool abort)
{
	const char *disk = g->t.o[SLOW].path ? g->t.o[SLOW].path : "its disk";

	if (abort)
		printf("%s is a closed set again%s; open it with fusionctl open %s\n",
		       g->t.sb.label, g->t.sb.stale_places ? ", without a landing log" : "",
		       g->t.sb.label);
	else
		release_tell(disk, g->t.o[FAST].path);
}

static int refuse_abort(const struct going *g)
{
	return fus_fail(FC_REFUSED, g->t.sb.label, "is released already, and its disk may be in "
			"use; run fusionctl release %s --resume to wipe %s, or adopt the disk again",
			g->t.sb.label, g->t.o[FAST].path);
}

int release_go_on(const struct args *a)
{
	const bool abort = a->opt[OPT_ABORT], json = a->opt[OPT_JSON];
	const bool named = a->n == 1 && !strchr(a->word[0], '/');
	struct going g = { .t.o = { { .fd = -1 }, { .fd = -1 } } };
	char found[2][PATH_MAX] = { "", "" };
	int rc = 0;

	if (a->opt[OPT_SIZE] || a->opt[OPT_LEAVE_UNMAPPED] || (a->n == 1 && !named))
		return fus_fail(FC_USAGE, abort ? "--abort" : "--resume", "takes the name of the "
				"set, or both members, the fast one first; see fusionctl help "
				"release");
	g.meta.m[0].o.fd = -1;
	g.meta.m[1].o.fd = -1;
	if (named)
		rc = transit_find(a->word[0], FUSION_TRANSIT_RELEASE, found);
	if (!rc)
		rc = look(&g, named ? a->word[0] : NULL, named ? found[0] : a->word[1],
			  named ? found[1] : a->word[0], !a->opt[OPT_DRY_RUN]);
	if (!rc && abort && g.at == TRANSIT_THERE)
		rc = refuse_abort(&g);
	if (!rc && !a->opt[OPT_DRY_RUN])
		rc = do_it(&g, abort);
	if (!rc && json)
		release_print(a, &g.t, NULL);
	else if (!rc && a->opt[OPT_DRY_RUN])
		tell_dry_run(&g, abort);
	else if (!rc)
		tell(&g, abort);
	fus_meta_free(&g.meta);
	return rc;
}
