// SPDX-License-Identifier: GPL-2.0-only
/* tree: fill a file system, and change it. See tree.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../../userspace/lib/random.h"
#include "tree.h"

static struct {
	const struct tree_load *l;
	__u64 random;
	int root;
	char *buf;		/* TREE_MOST bytes */
	__u64 count[NR_KINDS], reads;
} job;

static __u64 rnd(__u64 below)
{
	return random64(job.random += RANDOM_STEP) % below;
}

/* -- choices ------------------------------------------------------------------------- */

/* Most files are small, and a few have most of the data: 100 KiB on the average. */
static __u64 pick_size(void)
{
	static const struct { unsigned int share, least, most; } sizes[] = {
		{ 70, 64, 16 << 10 }, { 20, 16 << 10, 128 << 10 },
		{ 9, 128 << 10, 1 << 20 }, { 1, 1 << 20, 4 << 20 },
	};
	unsigned int pick = rnd(100), i;

	for (i = 0; pick >= sizes[i].share; i++)
		pick -= sizes[i].share;
	return (sizes[i].least + rnd(sizes[i].most - sizes[i].least)) / TREE_GRAIN * TREE_GRAIN;
}

/*
 * An eighth of the documents gets half of the operations. Those that are hot were made one after
 * the other, 64 at a time, so that there are hot extents.
 */
static __u32 pick_doc(const struct tree *t)
{
	__u32 doc;

	do
		doc = t->live[rnd(t->nr_live)];
	while (random64(doc / 64) % 8 && rnd(8));
	return doc;
}

static unsigned int percent_used(void)
{
	struct statvfs st;
	__u64 used;

	if (fstatvfs(job.root, &st))
		tree_die("%s: %s", job.l->root, strerror(errno));
	used = st.f_blocks - st.f_bfree;
	return used + st.f_bavail ? used * 100 / (used + st.f_bavail) : 100;
}

/* -- operations. Each returns 0 or -errno. ------------------------------------------- */

static void fill_blocks(struct tree *t, __u32 doc, const struct tree_record *r)
{
	for (__u32 i = 0; i < r->nr; i++)
		tree_fill_in(job.buf + (size_t)i * TREE_BLOCK, t->seed, doc, r->block + i,
			     r->version);
}

static int write_all(int fd, const char *buf, __u64 size, __u64 at)
{
	ssize_t n;

	for (; size; size -= n, buf += n, at += n) {
		n = pwrite(fd, buf, size, at);
		if (n <= 0)
			return n ? -errno : -ENOSPC;
	}
	return 0;
}

/* A new file at @path, with the content that is in the buffer. */
static int write_file(const char *path, __u64 size, bool sync)
{
	int err, fd = openat(job.root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	err = write_all(fd, job.buf, size, 0);
	if (!err && sync && fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

/* The record of a change that leaves the document as it is. */
static struct tree_record next_of(const struct tree *t, __u32 doc, enum tree_kind kind)
{
	const struct tree_state *s = &t->doc[doc].now;

	job.count[kind]++;
	return (struct tree_record){
		.kind = kind, .doc = doc, .version = s->version + 1, .size = s->size,
		.dir = s->dir, .name = s->name,
	};
}

static void durable(struct tree *t, __u32 doc)
{
	job.count[KIND_FSYNC]++;
	tree_note(t, (struct tree_record){ .kind = KIND_FSYNC, .doc = doc });
}

static int delete(struct tree *t, __u32 doc)
{
	struct tree_record r = next_of(t, doc, KIND_DELETE);
	char path[TREE_PATH];

	tree_path(path, doc, r.dir, r.name);
	r.size = 0;
	tree_note(t, r);
	return unlinkat(job.root, path, 0) && errno != ENOENT ? -errno : 0;
}

static int create(struct tree *t, bool sync)
{
	struct tree_record r = {
		.kind = KIND_CREATE, .doc = t->nr_docs, .version = 1, .size = pick_size(),
		.dir = rnd(TREE_DIRS),
	};
	char path[TREE_PATH];
	int err;

	job.count[KIND_CREATE]++;
	r.nr = tree_blocks(r.size);
	tree_note(t, r);
	fill_blocks(t, r.doc, &r);
	tree_path(path, r.doc, r.dir, r.name);
	err = write_file(path, r.size, sync);
	if (!err && sync)
		durable(t, r.doc);
	if (err == -ENOSPC)
		return delete(t, r.doc) ? : -ENOSPC;
	return err;
}

/* As editors and package managers do. */
static int replace(struct tree *t, __u32 doc, bool sync)
{
	struct tree_record r = next_of(t, doc, KIND_REPLACE);
	char path[TREE_PATH], tmp[TREE_PATH + 4];
	int err;

	tree_path(path, doc, r.dir, r.name);
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	r.size = pick_size();
	r.nr = tree_blocks(r.size);
	tree_note(t, r);
	fill_blocks(t, doc, &r);
	err = write_file(tmp, r.size, sync);
	if (!err && renameat(job.root, tmp, job.root, path))
		err = -errno;
	if (err != -ENOSPC)
		return err;
	if (unlinkat(job.root, tmp, 0) && errno != ENOENT)
		return -errno;
	return delete(t, doc);
}

static int change(struct tree *t, __u32 doc, enum tree_kind kind, bool sync)
{
	struct tree_record r = next_of(t, doc, kind);
	const __u64 old = r.size;
	char path[TREE_PATH];
	__u64 from, end;
	__u32 skip;
	int fd, err;

	if (kind == KIND_WRITE) {
		r.block = rnd(tree_blocks(old));
		r.nr = 1 + rnd(16);
		if (r.nr > tree_blocks(old) - r.block)
			r.nr = tree_blocks(old) - r.block;
		from = (__u64)r.block * TREE_BLOCK;
		end = from + (__u64)r.nr * TREE_BLOCK;
		if (end > old)
			end = old;
	} else {
		r.size += (1 + rnd(rnd(4) ? 64 : 1024)) * TREE_GRAIN;
		if (r.size > TREE_MOST)
			return delete(t, doc);
		r.block = tree_blocks(old);
		r.nr = tree_blocks(r.size) - r.block;
		from = old;
		end = r.size;
	}
	/* the last block may go on as the version that began it */
	skip = r.block - from / TREE_BLOCK;
	if (skip)
		tree_fill_in(job.buf, t->seed, doc, from / TREE_BLOCK,
			     t->doc[doc].now.block[from / TREE_BLOCK]);
	for (__u32 i = 0; i < r.nr; i++)
		tree_fill_in(job.buf + (size_t)(i + skip) * TREE_BLOCK, t->seed, doc, r.block + i,
			     r.version);
	tree_path(path, doc, r.dir, r.name);
	tree_note(t, r);
	fd = openat(job.root, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_all(fd, job.buf + from % TREE_BLOCK, end - from, from);
	if (!err && sync && fsync(fd))
		err = -errno;
	close(fd);
	if (!err && sync)
		durable(t, doc);
	return err == -ENOSPC ? delete(t, doc) : err;
}

static int move(struct tree *t, __u32 doc)
{
	struct tree_record r = next_of(t, doc, KIND_RENAME);
	char from[TREE_PATH], to[TREE_PATH];

	tree_path(from, doc, r.dir, r.name);
	r.dir = rnd(TREE_DIRS);
	r.name++;
	tree_path(to, doc, r.dir, r.name);
	tree_note(t, r);
	if (!renameat(job.root, from, job.root, to))
		return 0;
	return errno == ENOSPC ? delete(t, doc) : -errno;
}

/* From the disk: what is in memory heats no extent. */
static int read_one(const struct tree *t, __u32 doc)
{
	const struct tree_state *s = &t->doc[doc].now;
	char path[TREE_PATH];
	int fd, err = 0;

	job.reads++;
	tree_path(path, doc, s->dir, s->name);
	fd = openat(job.root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (pread(fd, job.buf, s->size < 1 << 20 ? s->size : 1 << 20, 0) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int sync_all(struct tree *t)
{
	if (syncfs(job.root))
		return -errno;
	job.count[KIND_SYNC]++;
	tree_note(t, (struct tree_record){ .kind = KIND_SYNC });
	return 0;
}

/* -- all of it ----------------------------------------------------------------------- */

static void begin(const struct tree_load *l)
{
	job.l = l;
	job.random = l->seed;
	job.buf = tree_grow(NULL, TREE_MOST + TREE_BLOCK, 1);
	job.root = open(l->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (job.root < 0)
		tree_die("%s: %s", l->root, strerror(errno));
}

static enum tree_result end(const struct tree *t, int err)
{
	static const char *const name[NR_KINDS] = {
		"create", "write", "append", "replace", "rename", "delete", "fsync", "sync",
	};

	printf("{\"files\":%u,\"full\":%u,\"read\":%llu", t->nr_live, percent_used(), job.reads);
	for (int i = 0; i < KIND_LOSS; i++)
		printf(",\"%s\":%llu", name[i], job.count[i]);
	printf(",\"error\":\"%s\"}\n", err ? strerror(-err) : "");
	return err && !job.l->until_error ? TREE_FAILED : TREE_OK;
}

enum tree_result tree_fill(struct tree *t, const struct tree_load *l)
{
	char path[TREE_PATH];
	int err = 0, batch;

	begin(l);
	for (__u32 i = 0; i < TREE_DIRS; i++) {
		snprintf(path, sizeof(path), "a%u", i / 8);
		if (i % 8 == 0 && mkdirat(job.root, path, 0755))
			tree_die("%s/%s: %s", l->root, path, strerror(errno));
		tree_dir(path, i);
		if (mkdirat(job.root, path, 0755))
			tree_die("%s/%s: %s", l->root, path, strerror(errno));
	}
	/* what is not yet written may not count as used, so write it all when it is nearly full */
	while (!err && percent_used() < l->full && (!l->ops || t->nr_docs < l->ops)) {
		batch = percent_used() + 10 < l->full ? 500 : 100;
		for (int i = 0; i < batch && !err && percent_used() < l->full; i++)
			err = create(t, false);
		if (!err || err == -ENOSPC)
			err = sync_all(t) ? : err;
	}
	return end(t, err == -ENOSPC ? 0 : err);
}

static int one_op(struct tree *t)
{
	const unsigned int pick = rnd(100);
	const bool sync = !rnd(6);
	const __u32 doc = pick_doc(t);

	if (pick < 40)
		return read_one(t, doc);
	if (pick < 55)
		return change(t, doc, KIND_APPEND, sync);
	if (pick < 72)
		return change(t, doc, KIND_WRITE, sync);
	if (pick < 78)
		return move(t, doc);
	if (pick < 84)
		return replace(t, doc, sync);
	/* half of these keep the file system as full as it shall be */
	if (pick < 92 ? percent_used() >= job.l->full : pick < 96)
		return delete(t, t->live[rnd(t->nr_live)]);
	return create(t, sync);
}

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = true;
}

enum tree_result tree_run(struct tree *t, const struct tree_load *l)
{
	const __u64 start = tree_now();
	__u64 now = start, synced = start, ops = 0;
	int err = 0;

	begin(l);
	signal(SIGTERM, on_signal);
	for (; !err && !stop && (!l->ops || ops < l->ops); ops++) {
		now = tree_now();
		if (l->seconds && now - start >= l->seconds * 1000000ULL)
			break;
		if (l->rate && ops * 1000000 / l->rate > now - start)
			usleep(ops * 1000000 / l->rate - (now - start));
		if (l->sync && now - synced >= l->sync * 1000000ULL) {
			err = sync_all(t);
			synced = now;
		} else if (t->nr_live < 2) {
			err = create(t, false);
		} else {
			err = one_op(t);
		}
		/* there is room again when something has been deleted */
		if (err == -ENOSPC)
			err = 0;
	}
	if (!err && stop)
		err = sync_all(t);
	return end(t, err);
}
