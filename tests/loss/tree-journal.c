// SPDX-License-Identifier: GPL-2.0-only
/* tree: the journal of what the documents have been. See tree.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tree.h"

#define MOST_DOCS	0x1000000U

void tree_die(const char *format, ...)
{
	va_list args;

	fputs("fusion-tree: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(TREE_FAILED);
}

void *tree_grow(void *old, size_t nr, size_t size)
{
	void *p = reallocarray(old, nr, size);

	if (!p)
		tree_die("out of memory");
	return p;
}

__u64 tree_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

/* -- one document -------------------------------------------------------------------- */

static void stamp_blocks(struct tree_state *s, const struct tree_record *r)
{
	const __u32 end = r->block + r->nr;

	if (end > s->room) {
		s->block = tree_grow(s->block, end, sizeof(*s->block));
		for (__u32 i = s->room; i < end; i++)
			s->block[i] = 0;
		s->room = end;
	}
	for (__u32 i = r->block; i < end; i++)
		s->block[i] = r->version;
}

void tree_apply(struct tree_state *s, const struct tree_record *r)
{
	s->version = r->version;
	s->there = r->kind != KIND_DELETE;
	s->size = r->size;
	s->dir = r->dir;
	s->name = r->name;
	if (r->kind <= KIND_REPLACE)
		stamp_blocks(s, r);
}

static struct tree_doc *doc_at(struct tree *t, __u32 nr)
{
	if (nr >= t->room_docs) {
		t->room_docs = 2 * (nr + 512);
		t->doc = tree_grow(t->doc, t->room_docs, sizeof(*t->doc));
	}
	for (; t->nr_docs <= nr; t->nr_docs++)
		t->doc[t->nr_docs] = (struct tree_doc){ .first = NO_RECORD, .last = NO_RECORD };
	return &t->doc[nr];
}

/* Keep the list of those that are there. */
static void live(struct tree *t, __u32 nr, bool was)
{
	struct tree_doc *d = &t->doc[nr];

	if (was && !d->now.there) {
		t->live[d->live] = t->live[--t->nr_live];
		t->doc[t->live[d->live]].live = d->live;
	} else if (!was && d->now.there) {
		if (t->nr_live == t->room_live) {
			t->room_live = 2 * (t->nr_live + 512);
			t->live = tree_grow(t->live, t->room_live, sizeof(*t->live));
		}
		d->live = t->nr_live;
		t->live[t->nr_live++] = nr;
	}
}

static void apply(struct tree *t, __u32 i)
{
	const struct tree_record *r = &t->record[i];
	struct tree_doc *d;
	bool was;

	t->next[i] = NO_RECORD;
	switch (r->kind) {
	case KIND_LOSS:
		t->lost_at = r->when;
		for (__u32 n = 0; n < t->nr_docs; n++)
			t->doc[n].at_loss = t->doc[n].now.version;
		return;
	case KIND_SYNC:
		for (__u32 n = 0; n < t->nr_docs && !t->lost_at; n++)
			t->doc[n].durable = t->doc[n].now.version;
		return;
	case KIND_FSYNC:
		d = doc_at(t, r->doc);
		if (!t->lost_at)
			d->durable = d->now.version;
		return;
	}
	d = doc_at(t, r->doc);
	was = d->now.there;
	if (d->last == NO_RECORD)
		d->first = i;
	else
		t->next[d->last] = i;
	d->last = i;
	tree_apply(&d->now, r);
	if (!t->lost_at)
		d->at_loss = r->version;
	live(t, r->doc, was);
}

/* -- the file ------------------------------------------------------------------------ */

static __u32 room_for(struct tree *t, __u32 nr)
{
	if (t->nr_records + nr > t->room) {
		t->room = 2 * (t->nr_records + nr + 512);
		t->record = tree_grow(t->record, t->room, sizeof(*t->record));
		t->next = tree_grow(t->next, t->room, sizeof(*t->next));
	}
	t->nr_records += nr;
	return t->nr_records - nr;
}

static bool valid(const struct tree_record *r)
{
	return r->kind < NR_KINDS && r->doc < MOST_DOCS && r->size <= TREE_MOST &&
	       r->block + (__u64)r->nr <= TREE_MOST / TREE_BLOCK;
}

void tree_open(struct tree *t, const char *path, const __u64 *seed)
{
	struct stat st;
	__u32 nr;

	*t = (struct tree){ 0 };
	t->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | (seed ? O_CREAT : 0), 0644);
	if (t->fd < 0 || fstat(t->fd, &st))
		tree_die("%s: %s", path, strerror(errno));
	if (!st.st_size && seed && write(t->fd, seed, sizeof(*seed)) != sizeof(*seed))
		tree_die("%s: %s", path, strerror(errno));
	if (pread(t->fd, &t->seed, sizeof(t->seed), 0) != sizeof(t->seed))
		tree_die("%s: is no journal", path);
	if (!st.st_size)
		return;
	/* a load that was killed may have left a part of a record */
	nr = (st.st_size - sizeof(t->seed)) / sizeof(*t->record);
	if (ftruncate(t->fd, sizeof(t->seed) + nr * sizeof(*t->record)))
		tree_die("%s: %s", path, strerror(errno));
	room_for(t, nr);
	if (pread(t->fd, t->record, nr * sizeof(*t->record), sizeof(t->seed)) !=
	    (ssize_t)(nr * sizeof(*t->record)))
		tree_die("%s: cannot be read", path);
	for (__u32 i = 0; i < nr; i++) {
		if (!valid(&t->record[i]))
			tree_die("%s: record %u is not one", path, i);
		apply(t, i);
	}
}

void tree_note(struct tree *t, struct tree_record r)
{
	__u32 i;

	r.when = tree_now();
	if (write(t->fd, &r, sizeof(r)) != sizeof(r))
		tree_die("the journal: %s", strerror(errno));
	i = room_for(t, 1);
	t->record[i] = r;
	apply(t, i);
}
