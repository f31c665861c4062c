// SPDX-License-Identifier: GPL-2.0-only
/* Verb adopt, --resume and --abort: go on or back after an interruption. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "adopt.h"
#include "error.h"
#include "fusionctl.h"
#include "in-transit.h"
#include "output.h"
#include "record.h"
#include "size.h"
#include "verb.h"

/* -- how far it has got ---------------------------------------------------------------------- */

/*
 * A disk with all its signatures may be another one, even if it has the right size. The copies on
 * the other member may be all that there is of a part of the right one.
 */
static int check_right_disk(const struct transit *t, int fd, bool abort, struct fus_content *c)
{
	const bool begun = t->sb.transit.state != FUSION_TRANSIT_PREPARING;
	const char *path = t->o[t->disk].path;
	int rc;

	rc = fus_probe_magics(path, fd, c);
	if (!rc && (begun || !abort) && c->id != t->sb.transit.content_id)
		rc = fus_fail(FC_MEMBER, path, "has other content than the disk that is being "
			      "adopted; name that disk");
	return rc;
}

static void tell_dry_run(const struct transit *t, enum transit_at at, bool abort)
{
	const char *disk = t->o[t->disk].path, *other = t->o[t->other].path;
	char size[SIZE_TEXT];

	if (at == TRANSIT_THERE)
		printf("%s is as it was; would %s %s\n", disk, abort ? "only wipe" :
		       "begin again, with", other);
	else if (abort)
		printf("would write %s back to %s, and wipe %s\n",
		       fus_size_text(size, (uint64_t)t->moved * t->sb.extent_sectors << 9), disk,
		       other);
	else
		printf("would finish the set %s of %s and %s\n", t->sb.label, other, disk);
}

struct going {
	struct adopt_devices d;
	struct transit t;
	enum transit_at at;
	struct fus_content content;	/* of the disk, if that is there */
};

static int look(struct going *g, const char *name, const char *disk, const char *other, bool abort)
{
	int fd, rc;

	rc = adopt_get(disk, other, false, &g->d);
	if (!rc)
		rc = adopt_open(&g->d, &g->t);
	if (!rc)
		rc = fus_transit_read(&g->t, FUSION_TRANSIT_ADOPT);
	if (rc)
		return rc;
	/* the others in the order of the roles, too */
	if (g->t.disk == SLOW) {
		struct device dev = g->d.dev[0];

		g->d.dev[0] = g->d.dev[1];
		g->d.dev[1] = dev;
		fd = g->d.fd[0];
		g->d.fd[0] = g->d.fd[1];
		g->d.fd[1] = fd;
	}
	g->d.disk = g->t.disk;
	rc = transit_check_name(&g->t, name);
	if (!rc)
		rc = fus_transit_judge(&g->t, &g->at);
	if (rc || (g->at != TRANSIT_THERE && !fus_transit_again(&g->t)))
		return rc;
	rc = transit_check_no_copy(&g->t);
	if (!rc && !g->t.marked)
		rc = check_right_disk(&g->t, g->d.fd[g->t.disk], abort, &g->content);
	if (!rc && g->at != TRANSIT_THERE)
		fus_warn(g->t.o[g->t.disk].path, "was written to since its content went to the "
			 "set; check the file system afterwards");
	return rc;
}

static void let_go(struct going *g)
{
	adopt_close(&g->t);
	for (int i = 0; i < 2; i++) {
		if (g->d.fd[i] >= 0)
			close(g->d.fd[i]);
		g->d.fd[i] = -1;
	}
}

/* -- on and back ----------------------------------------------------------------------------- */

/* The disk may have been used since, so all of it is looked at again. */
static int begin_again(const struct args *a, struct going *g)
{
	char landing[24];
	const struct adoption what = {
		.name = g->t.sb.label, .disk = g->d.dev[g->t.disk].path,
		.other = g->d.dev[g->t.other].path, .other_is = g->t.other,
		.extent_sectors = g->t.sb.extent_sectors, .landing = landing,
	};
	int rc;

	snprintf(landing, sizeof(landing), "%llu",
		 (unsigned long long)g->t.sb.stale_places * g->t.sb.extent_sectors << 9);
	rc = fus_transit_discard(&g->t);
	let_go(g);
	return rc ? rc : adopt_begin(a, &what);
}

static int finish(const struct args *a, struct going *g)
{
	const char *name = g->t.sb.label;
	int rc, lock = -1;

	rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	if (!rc)
		rc = fus_transit_resume(&g->t, g->at);
	let_go(g);
	if (!rc)
		rc = adopt_ready(name, &g->d, &g->t, "", a->opt[OPT_JSON]);
	fus_run_unlock(&lock);
	return rc;
}

static int undo(const struct args *a, struct going *g)
{
	int rc, lock = -1;

	rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	if (!rc)
		rc = g->at == TRANSIT_THERE ? fus_transit_discard(&g->t) :
		     fus_transit_undo(&g->t);
	let_go(g);
	fus_run_unlock(&lock);
	if (!rc && !a->opt[OPT_JSON])
		printf("%s has its content again; %s is no longer a member\n",
		       g->d.dev[g->t.disk].path, g->d.dev[g->t.other].path);
	return rc;
}

/* Not begun again: that is left to who sees the disk. */
static int leave(const struct going *g)
{
	return fus_fail(FC_REFUSED, g->t.o[g->t.disk].path, "has its content, and may have been in "
			"use since it was to be adopted; run fusionctl adopt %s --resume, or "
			"--abort", g->t.sb.label);
}

int adopt_go_on(const struct args *a, bool boot)
{
	struct going g = { .d.fd = { -1, -1 }, .t.o = { { .fd = -1 }, { .fd = -1 } } };
	const bool abort = a->opt[OPT_ABORT], json = a->opt[OPT_JSON];
	char found[2][PATH_MAX];
	bool again = false;
	int rc;

	if (a->opt[OPT_FAST] || a->opt[OPT_SLOW] || a->opt[OPT_EXTENT_SIZE] ||
	    a->opt[OPT_LANDING] || a->opt[OPT_AT_BOOT] || (a->n != 1 && a->n != 3))
		return fus_fail(FC_USAGE, abort ? "--abort" : "--resume", "takes the name of the "
				"set, or also the disk with the content and the other device; see "
				"fusionctl help adopt");
	if (abort) {
		rc = adopt_find_planned(a->word[0], a->n == 1 ? NULL : a->word[2], found[1]);
		if (rc || *found[1])
			return rc ? rc : adopt_cancel(found[1], a->opt[OPT_DRY_RUN], json);
	}
	rc = a->n == 1 ? transit_find(a->word[0], FUSION_TRANSIT_ADOPT, found) : 0;
	if (!rc)
		rc = look(&g, a->word[0], a->n == 1 ? found[0] : a->word[1],
			  a->n == 1 ? found[1] : a->word[2], abort);
	if (!rc && boot && g.at == TRANSIT_THERE &&
	    g.t.sb.transit.state != FUSION_TRANSIT_PLANNED)
		rc = leave(&g);
	if (!rc && a->opt[OPT_DRY_RUN]) {
		if (!json)
			tell_dry_run(&g.t, g.at, abort);
	} else if (!rc) {
		again = !abort && g.at == TRANSIT_THERE;
		rc = again ? begin_again(a, &g) : abort ? undo(a, &g) : finish(a, &g);
	}
	/* one that began again has printed it */
	if (!rc && json && !again)
		adopt_print(a, g.t.sb.label, &g.t, g.content.text, "",
			    !abort && !a->opt[OPT_DRY_RUN], 0);
	adopt_close(&g.t);
	adopt_put(&g.d);
	return rc;
}
