// SPDX-License-Identifier: GPL-2.0-only
/*
 * What files lie on: from the extents of each file, through the layers beneath its file system, to
 * extents of the set. A directory is the sum of all below it, on its file system: an inode counts
 * once, and so do blocks that several files share.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "where.h"
#include "error.h"
#include "progress.h"
#include "stands-on.h"

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough to count files; close programs and try "
			"again");
}

void tally_add(struct tally *sum, const struct tally *t)
{
	uint64_t *a = (uint64_t *)sum;
	const uint64_t *b = (const uint64_t *)t;

	for (size_t i = 0; i < sizeof(*t) / sizeof(*a); i++)
		a[i] += b[i];
}

double tally_heat(const struct tally *t)
{
	uint64_t bytes = t->at[PLACE_FAST] + t->at[PLACE_SLOW];

	return bytes ? (double)t->heat / bytes : 0;
}

/* -- one file --------------------------------------------------------------------------------- */

struct count {
	const struct where *w;
	struct volume *v;
	struct tally t;
	uint64_t size;		/* of the file */
	uint64_t covered;	/* of these bytes, no holes */
	int err;
};

/* Blocks of the device, which count. */
static void place(struct count *c, uint64_t at, uint64_t bytes)
{
	const struct placement *p = &c->v->placement;
	struct below_part part;
	uint64_t extent, n;

	for (; bytes; at += part.bytes, bytes -= part.bytes) {
		part = fus_below_find(c->v->below, at, bytes);
		extent = part.at / p->extent_bytes;
		if (!part.on_set || extent >= p->extents) {
			c->t.elsewhere += part.bytes;
			continue;
		}
		n = p->extent_bytes - part.at % p->extent_bytes;
		if (n < part.bytes)
			part.bytes = n;
		if (c->w->backwards && (extent < c->w->first || extent > c->w->last))
			continue;
		c->t.at[p->place[extent]] += part.bytes;
		if (p->place[extent] == PLACE_FAST || p->place[extent] == PLACE_SLOW)
			c->t.heat += p->heat[extent] * part.bytes;
	}
}

/* Blocks that may be of other files, too: those not counted yet. */
static void place_shared(struct count *c, uint64_t at, uint64_t bytes)
{
	const uint64_t block = c->v->fs.block_bytes;
	uint64_t first = at / block, end = (at + bytes + block - 1) / block, nr;

	for (; first < end && !c->err; first += nr) {
		int is_new = fus_seen_add(&c->v->blocks, first, end - first, &nr);

		if (is_new < 0)
			c->err = is_new;
		else if (is_new)
			place(c, first * block, nr * block);
		else
			c->t.shared += nr * block;
	}
}

static bool take(void *ctx, const struct file_extent *e)
{
	struct count *c = ctx;

	/* blocks may reach over the end of the file */
	if (e->logical < c->size)
		c->covered += e->bytes < c->size - e->logical ? e->bytes : c->size - e->logical;
	switch (e->part) {
	case FILE_INLINE:
		c->t.inlined += e->bytes;
		break;
	case FILE_PENDING:
		c->t.pending += e->bytes;
		break;
	case FILE_UNKNOWN:
		c->t.unknown += e->bytes;
		break;
	case FILE_BLOCKS:
		/* backwards, each file that has them is named */
		if (e->shared && !c->w->backwards)
			place_shared(c, e->at, e->on_disk);
		else
			place(c, e->at, e->on_disk);
	}
	return !c->err;
}

/* Return: 0 or -errno. */
static int count_file(const struct where *w, struct volume *v, const char *path,
		      const struct stat *st, bool follow, struct tally *t)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
	struct count c = { .w = w, .v = v, .size = st->st_size };
	int fd, err;

	fd = open(path, flags);
	if (fd < 0)
		return -errno;
	err = fus_file_extents(&v->fs, fd, take, &c);
	close(fd);
	if (err || c.err)
		return err ? err : c.err;
	c.t.files = 1;
	c.t.bytes = c.size;
	c.t.holes = c.size > c.covered ? c.size - c.covered : 0;
	*t = c.t;
	return 0;
}

/* -- inodes with several names ---------------------------------------------------------------- */

/* Numbers of inodes are of a subvolume, which has a device number of its own. */
struct links {
	struct links *next;
	dev_t st_dev;
	struct seen inodes;
};

/* Return: 1 if this name is the first one of its inode, 0, or -ENOMEM. */
static int first_name(struct volume *v, const struct stat *st)
{
	struct links *l = v->links;
	uint64_t nr;

	if (st->st_nlink < 2)
		return 1;
	while (l && l->st_dev != st->st_dev)
		l = l->next;
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return -ENOMEM;
		l->st_dev = st->st_dev;
		l->next = v->links;
		v->links = l;
	}
	return fus_seen_add(&l->inodes, st->st_ino, 1, &nr);
}

/* -- volumes ---------------------------------------------------------------------------------- */

static void volume_free(struct volume *v)
{
	struct links *l;

	while ((l = v->links)) {
		v->links = l->next;
		fus_seen_free(&l->inodes);
		free(l);
	}
	fus_seen_free(&v->blocks);
	fus_placement_put(&v->placement);
	fus_below_close(v->below);
	fus_file_system_close(&v->fs);
	free(v);
}

static int volume_open(const char *path, dev_t st_dev, struct volume **out)
{
	struct volume *v = calloc(1, sizeof(*v));
	int rc;

	if (!v)
		return no_memory();
	rc = fus_file_system_open(path, st_dev, &v->fs);
	if (!rc)
		rc = fus_below_open(v->fs.devno, &v->below);
	if (!rc)
		rc = fus_placement_get(fus_below_set(v->below), &v->placement);
	if (rc)
		volume_free(v);
	else
		*out = v;
	return rc;
}

/* Several device numbers may be of one file system: subvolumes. */
static bool is_of(const struct volume *v, const char *path, dev_t st_dev)
{
	dev_t devno;

	return v->fs.st_dev == st_dev ||
	       (v->fs.chunks && fus_path_device(path, &devno) && devno == v->fs.devno);
}

static int volume_of(struct where *w, const char *path, dev_t st_dev, struct volume **out)
{
	struct volume *v = w->volumes;
	int rc;

	while (v && !is_of(v, path, st_dev))
		v = v->next;
	if (!v) {
		rc = volume_open(path, st_dev, &v);
		if (rc)
			return rc;
		v->next = w->volumes;
		w->volumes = v;
	}
	*out = v;
	return 0;
}

/* -- trees ------------------------------------------------------------------------------------ */

static int add_row(struct where *w, const struct volume *v, const char *path, bool directory,
		   const struct tally *sum)
{
	struct where_row *r;

	if (!(w->nr & (w->nr - 1))) {
		r = realloc(w->row, (w->nr ? 2 * w->nr : 1) * sizeof(*r));
		if (!r)
			return no_memory();
		w->row = r;
	}
	r = &w->row[w->nr];
	*r = (struct where_row){
		.path = strdup(path), .directory = directory, .volume = v, .sum = *sum
	};
	if (!r->path)
		return no_memory();
	w->nr++;
	return 0;
}

static void unread(struct where *w, const char *path, int err)
{
	w->unread++;
	fus_warn(path, "cannot read: %s", strerror(err));
}

static int enter(FTS *fts, FTSENT *e, const struct volume *v)
{
	if (e->fts_level > FTS_ROOTLEVEL && !is_of(v, e->fts_accpath, e->fts_statp->st_dev)) {
		fts_set(fts, e, FTS_SKIP);
		return 0;
	}
	e->fts_pointer = calloc(1, sizeof(struct tally));
	return e->fts_pointer ? 0 : no_memory();
}

/* The sum of a directory is in its entry until then. */
static int leave(struct where *w, FTSENT *e, const struct volume *v, bool tree)
{
	struct tally *sum = e->fts_pointer;
	int rc = 0;

	if (!sum)
		return 0;	/* of another file system */
	if (e->fts_level > FTS_ROOTLEVEL)
		tally_add(e->fts_parent->fts_pointer, sum);
	if (!w->backwards && (tree || e->fts_level == FTS_ROOTLEVEL))
		rc = add_row(w, v, e->fts_path, true, sum);
	free(sum);
	e->fts_pointer = NULL;
	return rc;
}

static int file(struct where *w, FTSENT *e, struct volume *v)
{
	const bool named = e->fts_level == FTS_ROOTLEVEL;
	struct tally t;
	int err;

	fus_progress_add(1);
	if (!S_ISREG(e->fts_statp->st_mode))
		return 0;
	err = first_name(v, e->fts_statp);
	if (!err && !named)
		return 0;
	if (err != -ENOMEM)
		err = count_file(w, v, e->fts_accpath, e->fts_statp, named, &t);
	if (err == -ENOMEM)
		return no_memory();
	if (err) {
		unread(w, e->fts_path, -err);
		return 0;
	}
	if (w->backwards && !t.at[PLACE_FAST] && !t.at[PLACE_SLOW] && !t.at[PLACE_UNMAPPED] &&
	    !t.at[PLACE_LOST])
		return 0;
	if (named || w->backwards)
		return add_row(w, v, e->fts_path, false, &t);
	tally_add(e->fts_parent->fts_pointer, &t);
	return 0;
}

static int entry(struct where *w, FTS *fts, FTSENT *e, struct volume *v, bool tree)
{
	switch (e->fts_info) {
	case FTS_D:
		return enter(fts, e, v);
	case FTS_DP:
		return leave(w, e, v, tree);
	case FTS_DNR:
		unread(w, e->fts_path, e->fts_errno);
		return leave(w, e, v, tree);
	case FTS_NS:
	case FTS_ERR:
		unread(w, e->fts_path, e->fts_errno);
		return 0;
	case FTS_DC:
		return 0;
	default:
		return file(w, e, v);
	}
}

int where_count(struct where *w, const char *path, bool tree)
{
	char *const roots[] = { (char *)path, NULL };
	struct volume *v;
	struct stat st;
	FTSENT *e;
	FTS *fts;
	int rc;

	if (stat(path, &st))
		return fus_fail(FC_FAILED, path, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return fus_fail(FC_USAGE, path, "neither a file nor a directory; name one that is "
				"on a set");
	rc = volume_of(w, path, st.st_dev, &v);
	if (rc)
		return rc;
	fts = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW, NULL);
	if (!fts)
		return no_memory();
	while (!rc && (e = fts_read(fts)))
		rc = entry(w, fts, e, v, tree);
	fts_close(fts);
	return rc;
}

void where_free(struct where *w)
{
	struct volume *v;

	for (size_t i = 0; i < w->nr; i++)
		free(w->row[i].path);
	free(w->row);
	while ((v = w->volumes)) {
		w->volumes = v->next;
		volume_free(v);
	}
}
