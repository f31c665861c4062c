// SPDX-License-Identifier: GPL-2.0-only
/* tree: spoil files in known ways, so that a check which finds nothing is found out. See tree.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"

#define EACH	4	/* documents for each way */

static struct {
	struct tree *t;
	int root;
	char buf[TREE_BLOCK];
} job;

static bool put_block(int fd, __u32 at, __u64 size)
{
	const __u64 from = (__u64)at * TREE_BLOCK;
	const __u64 len = size - from < TREE_BLOCK ? size - from : TREE_BLOCK;

	return pwrite(fd, job.buf, len, from) == (ssize_t)len;
}

static int open_doc(__u32 doc, int flags)
{
	const struct tree_state *s = &job.t->doc[doc].now;
	char path[TREE_PATH];

	tree_path(path, doc, s->dir, s->name);
	return openat(job.root, path, flags | O_WRONLY | O_CLOEXEC);
}

/* One block gets what is in the buffer. */
static bool spoil_block(__u32 doc, __u32 at)
{
	int fd = open_doc(doc, 0);
	bool ok = fd >= 0 && put_block(fd, at, job.t->doc[doc].now.size);

	close(fd);
	return ok;
}

/* The ways. Each returns false if the document is not fit for it. */

static bool zeroed(__u32 doc)
{
	memset(job.buf, 0, sizeof(job.buf));
	return spoil_block(doc, tree_blocks(job.t->doc[doc].now.size) / 2);
}

static bool noise(__u32 doc)
{
	memset(job.buf, 0x5a, sizeof(job.buf));
	return spoil_block(doc, 0);
}

static bool one_bit(__u32 doc)
{
	const struct tree_state *s = &job.t->doc[doc].now;

	tree_fill_in(job.buf, job.t->seed, doc, 0, s->block[0]);
	job.buf[40] ^= 1;
	return spoil_block(doc, 0);
}

static bool foreign(__u32 doc)
{
	const __u32 other = job.t->live[0] == doc ? job.t->live[1] : job.t->live[0];

	tree_fill_in(job.buf, job.t->seed, other, 0, 1);
	return spoil_block(doc, 0);
}

static bool misplaced(__u32 doc)
{
	const struct tree_state *s = &job.t->doc[doc].now;

	tree_fill_in(job.buf, job.t->seed, doc, 0, s->block[0]);
	return tree_blocks(s->size) > 1 && spoil_block(doc, 1);
}

/* A block of its own, of a version that did not write it. */
static bool mixed(__u32 doc)
{
	const struct tree_state *s = &job.t->doc[doc].now;

	if (s->block[0] == s->version)
		return false;
	tree_fill_in(job.buf, job.t->seed, doc, 0, s->version);
	return spoil_block(doc, 0);
}

static bool cut_short(__u32 doc)
{
	const struct tree_state *s = &job.t->doc[doc].now;
	int fd, err;

	/* a version that is as short would be an older one */
	if (s->version != 1)
		return false;
	fd = open_doc(doc, 0);
	err = fd < 0 || ftruncate(fd, s->size - TREE_GRAIN);
	close(fd);
	return !err;
}

static bool removed(__u32 doc)
{
	const struct tree_state *s = &job.t->doc[doc].now;
	char path[TREE_PATH];

	tree_path(path, doc, s->dir, s->name);
	return !unlinkat(job.root, path, 0);
}

static bool nameless(__u32 doc)
{
	const struct tree_state *s = &job.t->doc[doc].now;
	char path[TREE_PATH], to[TREE_PATH];

	tree_path(path, doc, s->dir, s->name);
	snprintf(to, sizeof(to), "found/#%u", doc);
	return (!mkdirat(job.root, "found", 0755) || errno == EEXIST) &&
	       !renameat(job.root, path, job.root, to);
}

/* As it was one version ago. */
static bool revert(__u32 doc)
{
	const struct tree_doc *d = &job.t->doc[doc];
	struct tree_state s = { 0 };
	int fd = -1;
	bool ok = true;

	for (__u32 i = d->first; i != d->last; i = job.t->next[i])
		tree_apply(&s, &job.t->record[i]);
	if (s.there && s.dir == d->now.dir && s.name == d->now.name && s.size > TREE_BLOCK)
		fd = open_doc(doc, O_TRUNC);
	for (__u32 i = 0; fd >= 0 && ok && i < tree_blocks(s.size); i++) {
		tree_fill_in(job.buf, job.t->seed, doc, i, s.block[i]);
		ok = put_block(fd, i, s.size);
	}
	if (!ok)
		tree_die("cannot spoil document %u: %s", doc, strerror(errno));
	free(s.block);
	close(fd);
	return fd >= 0;
}

static bool synced(const struct tree_doc *d)
{
	return d->durable == d->now.version;
}

static bool older(__u32 doc)
{
	return synced(&job.t->doc[doc]) && revert(doc);
}

static bool unsynced(__u32 doc)
{
	const struct tree_doc *d = &job.t->doc[doc];

	return d->durable && d->durable == d->now.version - 1 && revert(doc);
}

static const struct way {
	bool (*spoil)(__u32 doc);
	const char *class;
	bool any;	/* also a document that is not synced */
} ways[] = {
	{ unsynced, "unsynced", true },
	{ older, "older", false },
	{ mixed, "mixed", false },
	{ cut_short, "mixed", false },
	{ nameless, "nameless", false },
	{ zeroed, "holes", false },
	{ noise, "wrong", false },
	{ one_bit, "wrong", false },
	{ foreign, "wrong", false },
	{ misplaced, "wrong", false },
	{ removed, "lost", false },
};

#define NR_WAYS	(sizeof(ways) / sizeof(ways[0]))

/* Each document is spoilt in the first way that is still wanted, and for which it is fit. */
static void spoil(__u32 doc, unsigned int *left)
{
	const struct tree_doc *d = &job.t->doc[doc];

	if (!d->now.there || d->now.size < TREE_BLOCK)
		return;
	for (size_t i = 0; i < NR_WAYS; i++) {
		if (!left[i] || (!ways[i].any && !synced(d)) || !ways[i].spoil(doc))
			continue;
		left[i]--;
		return;
	}
}

enum tree_result tree_spoil(struct tree *t, const char *root)
{
	unsigned int left[NR_WAYS];

	job.t = t;
	job.root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (job.root < 0)
		tree_die("%s: %s", root, strerror(errno));
	for (size_t i = 0; i < NR_WAYS; i++)
		left[i] = EACH;
	for (__u32 doc = 0; doc < t->nr_docs; doc++)
		spoil(doc, left);
	for (size_t i = 0; i < NR_WAYS; i++) {
		if (left[i])
			tree_die("%u documents are fit for way %zu (%s), %u are needed",
				 EACH - left[i], i, ways[i].class, EACH);
		printf("%s %u\n", ways[i].class, EACH);
	}
	return TREE_OK;
}
