// SPDX-License-Identifier: GPL-2.0-only
/*
 * What files and directories lie on. A directory is the sum of all below it, on its file system: an
 * inode counts once, however many names it has.
 */
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "where.h"
#include "error.h"
#include "progress.h"

/* A directory that is being read. */
struct open_dir {
	struct open_dir *parent;
	struct tally sum;
};

/* Files between two looks at the clock, which takes a system call in some virtual machines. */
#define AT_ONCE		64

struct walk {
	struct where *w;
	uint64_t files;		/* and all else but directories */
	struct volume *v;
	struct counted *counted;
	struct open_dir *dir;
	bool tree;
};

int where_no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough to count files; close programs and try "
			"again");
}

static int add_row(struct walk *k, const char *path, bool directory, const struct tally *sum)
{
	struct where *w = k->w;
	struct where_row *r;

	/* it doubles */
	if (!(w->nr & (w->nr - 1))) {
		r = realloc(w->row, (w->nr ? 2 * w->nr : 1) * sizeof(*r));
		if (!r)
			return where_no_memory();
		w->row = r;
	}
	r = &w->row[w->nr];
	*r = (struct where_row){
		.path = strdup(path), .directory = directory, .volume = k->v, .sum = *sum
	};
	if (!r->path)
		return where_no_memory();
	w->nr++;
	return 0;
}

/* What is removed meanwhile is no error. */
static void unread(struct walk *k, const FTSENT *e, int err)
{
	if (err == ENOENT && e->fts_level > FTS_ROOTLEVEL)
		return;
	k->w->unread++;
	fus_warn(e->fts_path, "cannot read: %s; see its permissions, and the kernel log",
		 strerror(err));
}

static int enter(struct walk *k, FTS *fts, FTSENT *e)
{
	struct open_dir *d;
	int is_new = fus_file_system_has(&k->v->fs, e->fts_accpath, e->fts_statp->st_dev);

	/* a directory may be mounted below another path again */
	if (is_new)
		is_new = where_new_inode(k->counted, e->fts_statp);
	d = is_new > 0 ? calloc(1, sizeof(*d)) : NULL;
	if (is_new < 0 || (is_new && !d))
		return where_no_memory();
	e->fts_pointer = d;
	if (!is_new) {
		fts_set(fts, e, FTS_SKIP);
		return 0;
	}
	d->parent = k->dir;
	k->dir = d;
	return 0;
}

static int leave(struct walk *k, FTSENT *e)
{
	struct open_dir *d = e->fts_pointer;
	int rc = 0;

	if (!d)
		return 0;	/* was skipped */
	k->dir = d->parent;
	if (k->dir)
		tally_add(&k->dir->sum, &d->sum);
	if (!k->w->backwards && (k->tree || e->fts_level == FTS_ROOTLEVEL))
		rc = add_row(k, e->fts_path, true, &d->sum);
	free(d);
	return rc;
}

static int file(struct walk *k, FTSENT *e)
{
	struct tally t;
	int err = 1;

	if (!(++k->files % AT_ONCE))
		fus_progress_add(AT_ONCE);
	/* a file of another file system may be mounted here as well */
	if (!S_ISREG(e->fts_statp->st_mode) ||
	    !fus_file_system_has(&k->v->fs, e->fts_accpath, e->fts_statp->st_dev))
		return 0;
	if (e->fts_statp->st_nlink > 1)
		err = where_new_inode(k->counted, e->fts_statp);
	if (!err)
		return 0;
	if (err > 0 && k->w->begin)
		k->w->begin(k->w->ctx, e->fts_path);
	if (err > 0)
		err = where_file(k->w, k->v, k->counted, e->fts_accpath, e->fts_statp,
				 e->fts_level == FTS_ROOTLEVEL, &t);
	if (err > 0)
		return err;
	if (err == -ENOMEM)
		return where_no_memory();
	if (err) {
		unread(k, e, -err);
		return 0;
	}
	if (k->w->backwards)
		return tally_on_set(&t) ? add_row(k, e->fts_path, false, &t) : 0;
	if (!k->dir)
		return add_row(k, e->fts_path, false, &t);
	tally_add(&k->dir->sum, &t);
	return 0;
}

static int entry(struct walk *k, FTS *fts, FTSENT *e)
{
	switch (e->fts_info) {
	case FTS_D:
		return enter(k, fts, e);
	case FTS_DP:
		return leave(k, e);
	case FTS_DNR:
	case FTS_ERR:	/* in place of FTS_DP */
		unread(k, e, e->fts_errno);
		return leave(k, e);
	case FTS_NS:
		unread(k, e, e->fts_errno);
		return 0;
	case FTS_DC:
		return 0;
	default:
		return file(k, e);
	}
}

static int walk(struct walk *k, const char *path)
{
	char *const roots[] = { (char *)path, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW, NULL);
	struct open_dir *d;
	FTSENT *e;
	int rc = 0, err;

	if (!fts)
		return where_no_memory();
	while (!rc && (e = fts_read(fts)))
		rc = entry(k, fts, e);
	err = rc ? 0 : errno;	/* 0 at the end */
	fts_close(fts);
	while ((d = k->dir)) {
		k->dir = d->parent;
		free(d);
	}
	return err ? fus_fail(FC_FAILED, path, "cannot read all below it: %s; try again",
			      strerror(err)) : rc;
}

int where_count(struct where *w, const char *path, bool tree)
{
	struct counted counted = { 0 };
	struct walk k = { .w = w, .tree = tree, .counted = w->backwards ? &w->counted : &counted };
	struct stat st;
	int rc;

	if (stat(path, &st))
		return fus_fail(FC_FAILED, path, "cannot look at it: %s; check the path",
				strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return fus_fail(FC_USAGE, path, "neither a file nor a directory; name one that is "
				"on a set");
	rc = where_volume(w, path, st.st_dev, &k.v);
	if (!rc)
		rc = walk(&k, path);
	where_counted_free(&counted);
	return rc;
}
