// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one file lies on: from its extents, through the layers beneath its file system, to extents
 * of the set. Blocks that several files share count once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "where.h"

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

	return bytes ? 512.0 * t->heat / bytes : 0;
}

bool tally_on_set(const struct tally *t)
{
	for (int i = 0; i < NR_PLACES; i++)
		if (t->at[i])
			return true;
	return false;
}

/* -- what counts once ------------------------------------------------------------------------- */

int where_new_inode(struct counted *c, const struct stat *st)
{
	struct inodes *i = c->inodes;
	uint64_t nr;

	while (i && i->st_dev != st->st_dev)
		i = i->next;
	if (!i) {
		i = calloc(1, sizeof(*i));
		if (!i)
			return -ENOMEM;
		i->st_dev = st->st_dev;
		i->next = c->inodes;
		c->inodes = i;
	}
	return fus_seen_add(&i->seen, st->st_ino, 1, &nr);
}

void where_counted_free(struct counted *c)
{
	struct inodes *i;

	while ((i = c->inodes)) {
		c->inodes = i->next;
		fus_seen_free(&i->seen);
		free(i);
	}
	fus_seen_free(&c->blocks);
}

/* -- extents ---------------------------------------------------------------------------------- */

struct count {
	const struct where *w;
	struct volume *v;
	struct seen *blocks;
	struct tally t;
	uint64_t size;		/* of the file */
	uint64_t covered;	/* so many of these bytes are in no hole */
	int err;		/* as where_file() */
};

/* Bytes of the set in one of its extents. */
static void place_extent(struct count *c, uint64_t at, uint64_t bytes)
{
	const uint64_t extent = at / c->v->placement.extent_bytes;
	const struct placement_extent *e;
	uint64_t last = at + bytes - 1, logged = 0;

	if (c->w->backwards) {
		if (at < c->w->first)
			at = c->w->first;
		if (last > c->w->last)
			last = c->w->last;
		if (at > last)
			return;
		bytes = last - at + 1;
	}
	if (c->w->each) {
		c->err = c->w->each(c->w->ctx, extent, bytes);
		return;
	}
	c->err = fus_placement_find(&c->v->placement, extent, &e);
	if (c->err)
		return;
	c->t.at[e->place] += bytes;
	if (e->pin)
		c->t.pinned[e->pin - 1] += bytes;
	if (e->place == PLACE_FAST || e->place == PLACE_SLOW)
		c->t.heat += e->heat * (bytes >> 9);
	if (e->place == PLACE_SLOW)
		c->err = fus_placement_logged(&c->v->placement, at, bytes, &logged);
	c->t.logged += logged;
}

/* Bytes of the device of the file system. */
static void place(struct count *c, uint64_t at, uint64_t bytes)
{
	const struct placement *p = &c->v->placement;
	struct below_part part;
	uint64_t n;

	for (; bytes && !c->err; at += part.bytes, bytes -= part.bytes) {
		part = fus_below_find(c->v->below, at, bytes);
		if (!part.on_set || part.at / p->extent_bytes >= p->extents) {
			c->t.elsewhere += part.bytes;
			continue;
		}
		n = p->extent_bytes - part.at % p->extent_bytes;
		if (n < part.bytes)
			part.bytes = n;
		place_extent(c, part.at, part.bytes);
	}
}

/* The same, for blocks that may be of other files as well: those not counted yet. */
static void place_shared(struct count *c, uint64_t at, uint64_t bytes)
{
	const uint64_t block = c->v->fs.block_bytes;
	uint64_t first = at / block, end = (at + bytes) / block + !!((at + bytes) % block), nr;

	for (; first < end && !c->err; first += nr) {
		int is_new = fus_seen_add(c->blocks, first, end - first, &nr);

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
	uint64_t of_size = 0;

	/* the last block may reach over the end of the file */
	if (e->logical < c->size)
		of_size = e->bytes < c->size - e->logical ? e->bytes : c->size - e->logical;
	c->covered += of_size;
	switch (e->part) {
	case FILE_INLINE:
		c->t.inlined += of_size;
		break;
	case FILE_PENDING:
		c->t.pending += e->bytes;
		break;
	case FILE_UNKNOWN:
		c->t.unknown += e->bytes;
		break;
	case FILE_BLOCKS:
		if (e->on_disk > UINT64_MAX - e->at)
			c->t.unknown += e->bytes;
		else if (e->shared)
			place_shared(c, e->at, e->on_disk);
		else
			place(c, e->at, e->on_disk);
	}
	return !c->err;
}

static int count_open(struct count *c, int fd, const struct stat *named)
{
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_dev != named->st_dev || st.st_ino != named->st_ino)
		return -ENOENT;
	c->size = st.st_size;
	err = fus_file_extents(&c->v->fs, fd, take, c);
	return err ? err : c->err;
}

int where_file(const struct where *w, struct volume *v, struct counted *counted, const char *path,
	       const struct stat *st, bool follow, struct tally *t)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
	struct count c = { .w = w, .v = v, .blocks = &counted->blocks };
	int fd, err;

	/* backwards, a row for each of them */
	if (w->backwards)
		fus_seen_free(&counted->blocks);
	fd = open(path, flags);
	if (fd < 0)
		return -errno;
	err = count_open(&c, fd, st);
	close(fd);
	if (err)
		return err;
	c.t.files = 1;
	c.t.bytes = c.size;
	c.t.holes = c.size > c.covered ? c.size - c.covered : 0;
	*t = c.t;
	return 0;
}
