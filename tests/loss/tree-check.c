// SPDX-License-Identifier: GPL-2.0-only
/*
 * tree: what has become of each document. See tree.h.
 *
 * A version that is known to be durable has to be there; so has, of each later one, what a disk
 * that loses its power may keep: any of its blocks, and any of its names.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"

/* From best to worst. */
enum class {
	CLASS_WHOLE,	/* as it was at the loss */
	CLASS_UNSYNCED,	/* older than that, but nothing of what had been synced is missing */
	CLASS_OLDER,	/* exactly as it was at some earlier time */
	CLASS_NAMELESS,	/* one of these, but found in lost+found only */
	CLASS_HOLES,	/* blocks cannot be read or are zeros; all others are its own */
	CLASS_MIXED,	/* its own blocks, which never were together, or of another length */
	CLASS_WRONG,	/* content that was never its own */
	CLASS_LOST,	/* no file, or no name and one of the last three */
	NR_CLASSES,
};

static const char *const class_name[NR_CLASSES] = {
	"whole", "unsynced", "older", "nameless", "holes", "mixed", "wrong", "lost",
};

/* What became of a document: the best that was found. */
struct fate {
	enum class class;
	__u64 age;		/* us; of CLASS_OLDER and such a CLASS_NAMELESS */
	bool named;		/* salvage --files names it */
};

/* A file that was found. */
struct file {
	__u64 size;
	__u32 *block;		/* version of each, ZERO or UNREADABLE */
	__u32 *good;		/* bytes of each; zeros are behind these */
	__u32 room;
	__u32 nr_bad;		/* not whole */
	__u32 nr_alien;
	__u32 doc;
	bool known;		/* whose it is */
	bool nameless;
	__u32 dir, name;	/* if not */
};

#define ZERO		0xfffffffeU
#define UNREADABLE	0xffffffffU

static struct {
	struct tree *t;
	struct fate *fate;
	const char *root;
	size_t root_len;
	char *buf;
	struct file file;
	__u64 others;		/* files that no document has ever been */
	__u64 unreadable;	/* directories, and files that cannot be opened */
} job;

/* -- one file ------------------------------------------------------------------------ */

/* What the block at @buf, of @len bytes, means for @f. */
static void judge_block(struct file *f, __u32 i, const char *buf, size_t len)
{
	struct tree_block b;

	switch (tree_identify(buf, len, job.t->seed, &b)) {
	case FOUND_ZERO:
		f->block[i] = ZERO;
		f->nr_bad++;
		return;
	case FOUND_OURS:
		if (!f->known && b.doc < job.t->nr_docs) {
			f->known = true;
			f->doc = b.doc;
		}
		f->block[i] = b.version;
		f->good[i] = b.good;
		f->nr_bad += b.good < len;
		if (f->known && b.doc == f->doc && b.block == i &&
		    b.version <= job.t->doc[b.doc].now.version)
			return;
		break;
	case FOUND_ALIEN:
		break;
	}
	f->nr_alien++;
}

/* Read all of it. Whose it is may be known from its name; otherwise its first block says so. */
static bool read_file(const char *path, const struct stat *st, struct file *f)
{
	const __u32 nr = tree_blocks(st->st_size);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return false;
	f->size = st->st_size;
	if (nr > f->room) {
		f->block = tree_grow(f->block, nr, sizeof(*f->block));
		f->good = tree_grow(f->good, nr, sizeof(*f->good));
		f->room = nr;
	}
	for (__u32 i = 0; i < nr; i++) {
		const __u64 at = (__u64)i * TREE_BLOCK;
		const __u64 len = f->size - at < TREE_BLOCK ? f->size - at : TREE_BLOCK;

		if (pread(fd, job.buf, len, at) != (ssize_t)len) {
			f->block[i] = UNREADABLE;
			f->nr_bad++;
		} else {
			judge_block(f, i, job.buf, len);
		}
	}
	close(fd);
	return true;
}

static bool is(const struct file *f, const struct tree_state *s)
{
	if (!s->there || f->nr_bad || s->size != f->size ||
	    (!f->nameless && (s->dir != f->dir || s->name != f->name)))
		return false;
	for (__u32 i = 0; i < tree_blocks(f->size); i++)
		if (f->block[i] != s->block[i])
			return false;
	return true;
}

/* What a power cut may leave: the bounds of all versions from the durable one to the newest. */
struct window {
	struct tree_state durable;
	__u64 least, most;	/* sizes */
	bool absent;		/* it need not be there */
	bool name;		/* the file's is one of theirs */
};

static void widen(struct window *w, const struct tree_doc *d, const struct file *f,
		  const struct tree_state *s, const struct tree_record *r)
{
	if (!s->there || !d->durable) {
		w->absent = true;
		if (!s->there)
			return;
	}
	/* a new file is empty first */
	if (s->version > d->durable && (r->kind == KIND_CREATE || r->kind == KIND_REPLACE))
		w->least = 0;
	if (s->size < w->least)
		w->least = s->size;
	if (s->size > w->most)
		w->most = s->size;
	if (f && (f->nameless || (s->dir == f->dir && s->name == f->name)))
		w->name = true;
}

static bool in_window(const struct file *f, const struct window *w, __u32 durable)
{
	if (!w->name || f->size < w->least || f->size > w->most)
		return false;
	for (__u32 i = 0; i < tree_blocks(f->size); i++) {
		const __u64 left = w->durable.size - (__u64)i * TREE_BLOCK;
		const __u32 old = i < tree_blocks(w->durable.size) ? w->durable.block[i] : ZERO;

		/* ext4 may write the size of a file before it writes the end of its last block */
		if (f->block[i] == old &&
		    (old == ZERO || f->good[i] >= TREE_BLOCK || f->good[i] >= left))
			continue;
		/* never written by then, or written since */
		if (f->block[i] <= durable || f->block[i] == ZERO || f->block[i] == UNREADABLE)
			return false;
	}
	return true;
}

/* Go through the versions of document @nr; @f is what was found of it, or NULL. */
static struct fate judge(__u32 nr, const struct file *f)
{
	const struct tree *t = job.t;
	const struct tree_doc *d = &t->doc[nr];
	const __u64 end = t->lost_at ? t->lost_at : tree_now();
	struct fate fate = { .class = CLASS_LOST };
	struct window w = { .least = TREE_MOST };
	struct tree_state s = { 0 };
	bool whole = false, older = false;
	__u64 until = 0;

	for (__u32 i = d->first; i != NO_RECORD; i = t->next[i]) {
		const struct tree_record *r = &t->record[i];

		/* the version before ends when this one begins */
		if (older && !until)
			until = r->when;
		tree_apply(&s, r);
		if (s.version == d->durable) {
			w.durable = s;
			w.durable.block = tree_grow(NULL, s.room + 1, sizeof(*s.block));
			memcpy(w.durable.block, s.block, s.room * sizeof(*s.block));
		}
		if (s.version >= d->durable)
			widen(&w, d, f, &s, r);
		if (!f || f->nr_alien || !is(f, &s))
			continue;
		older = true;
		until = 0;
		whole = s.version >= d->at_loss;
	}
	if (!d->durable)
		w.absent = true;
	if (!f)
		fate.class = w.absent ? CLASS_UNSYNCED : CLASS_LOST;
	else if (f->nr_alien)
		fate.class = CLASS_WRONG;
	else if (whole)
		fate.class = CLASS_WHOLE;
	else if (in_window(f, &w, d->durable))
		fate.class = CLASS_UNSYNCED;
	else if (older)
		fate = (struct fate){ CLASS_OLDER, end > until ? end - until : 0, false };
	else
		fate.class = f->nr_bad ? CLASS_HOLES : CLASS_MIXED;
	if (f && f->nameless)
		fate.class = fate.class <= CLASS_OLDER ? CLASS_NAMELESS : CLASS_LOST;
	free(s.block);
	free(w.durable.block);
	return fate;
}

/* -- all of them --------------------------------------------------------------------- */

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct file *f = &job.file;
	struct fate fate;

	(void)ftw;
	if (type == FTW_DNR || type == FTW_NS) {
		job.unreadable++;
		return 0;
	}
	if (type != FTW_F || !S_ISREG(st->st_mode))
		return 0;
	f->nr_bad = 0;
	f->nr_alien = 0;
	f->known = tree_parse(path + job.root_len, &f->doc, &f->dir, &f->name) &&
		   f->doc < job.t->nr_docs;
	f->nameless = !f->known;
	if (st->st_size > TREE_MOST) {
		/* no document is: e2fsck may have joined blocks that belong elsewhere */
		f->size = st->st_size;
		f->nr_alien = 1;
	} else if (!read_file(path, st, f)) {
		job.unreadable++;
		return 0;
	}
	if (!f->known) {
		job.others++;
		return 0;
	}
	fate = judge(f->doc, f);
	if (fate.class < job.fate[f->doc].class)
		job.fate[f->doc] = fate;
	return 0;
}

/* salvage --files names it by a path of the mounted file system, or of the image. */
static void read_hits(const char *hits)
{
	__u32 doc, dir, name;
	size_t size = 0;
	char *line = NULL, *path;
	FILE *f = fopen(hits, "r");

	if (!f)
		tree_die("%s: %s", hits, strerror(errno));
	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		path = strstr(line, "/a");
		if (path && tree_parse(path + 1, &doc, &dir, &name) && doc < job.t->nr_docs)
			job.fate[doc].named = true;
	}
	free(line);
	fclose(f);
}

#define NR_AGES		7
static const unsigned int age_most[NR_AGES] = { 1, 3, 10, 30, 60, 180, 0xffffffff }; /* s */

static int by_age(const void *a, const void *b)
{
	const __u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

struct sums {
	__u64 class[NR_CLASSES];
	__u64 files, gone, back, silent;
	__u64 age[NR_AGES], *ages;
	size_t nr_ages;
};

static void add_up(struct sums *s, __u32 nr, FILE *list)
{
	const struct tree_doc *d = &job.t->doc[nr];
	const struct fate *fate = &job.fate[nr];
	char path[TREE_PATH];
	int i;

	if (d->first == NO_RECORD || !d->at_loss)
		return;
	if (!d->now.there) {
		s->gone++;
		s->back += fate->class > CLASS_UNSYNCED && fate->class < CLASS_LOST;
		return;
	}
	s->files++;
	s->class[fate->class]++;
	s->silent += fate->class > CLASS_NAMELESS && !fate->named;
	if (fate->class == CLASS_OLDER || (fate->class == CLASS_NAMELESS && fate->age)) {
		for (i = 0; fate->age / 1000000 >= age_most[i]; i++)
			;
		s->age[i]++;
		s->ages[s->nr_ages++] = fate->age;
	}
	if (!list || fate->class == CLASS_WHOLE)
		return;
	tree_path(path, nr, d->now.dir, d->now.name);
	fprintf(list, "%s %s%s\n", class_name[fate->class], path, fate->named ? " named" : "");
}

static enum tree_result print_sums(struct sums *s)
{
	qsort(s->ages, s->nr_ages, sizeof(*s->ages), by_age);
	printf("{\"files\":%llu", s->files);
	for (int i = 0; i < NR_CLASSES; i++)
		printf(",\"%s\":%llu", class_name[i], s->class[i]);
	printf(",\"not_named\":%llu,\"deleted\":%llu,\"back\":%llu,\"others\":%llu,"
	       "\"unreadable\":%llu", s->silent, s->gone, s->back, job.others, job.unreadable);
	printf(",\"age_median\":%.1f,\"age_most\":%.1f,\"ages\":[",
	       s->nr_ages ? s->ages[s->nr_ages / 2] / 1e6 : 0,
	       s->nr_ages ? s->ages[s->nr_ages - 1] / 1e6 : 0);
	for (int i = 0; i < NR_AGES; i++)
		printf("%s%llu", i ? "," : "", s->age[i]);
	puts("]}");
	return s->class[CLASS_WHOLE] + s->class[CLASS_UNSYNCED] == s->files && !s->back ?
	       TREE_OK : TREE_WRONG;
}

enum tree_result tree_check(struct tree *t, const char *root, const char *hits, const char *list)
{
	struct sums sums = { 0 };
	enum tree_result result;
	FILE *f = NULL;

	job.t = t;
	job.root = root;
	job.root_len = strlen(root) + 1;
	job.buf = tree_grow(NULL, TREE_BLOCK, 1);
	job.fate = tree_grow(NULL, t->nr_docs + 1, sizeof(*job.fate));
	for (__u32 i = 0; i < t->nr_docs; i++)
		job.fate[i] = judge(i, NULL);
	/* without a root nothing is left */
	if (*root && nftw(root, visit, 32, FTW_PHYS | FTW_MOUNT))
		job.unreadable++;
	if (hits)
		read_hits(hits);
	if (list) {
		f = fopen(list, "w");
		if (!f)
			tree_die("%s: %s", list, strerror(errno));
	}
	sums.ages = tree_grow(NULL, t->nr_docs + 1, sizeof(*sums.ages));
	for (__u32 i = 0; i < t->nr_docs; i++)
		add_up(&sums, i, f);
	if (f)
		fclose(f);
	result = print_sums(&sums);
	free(sums.ages);
	free(job.fate);
	free(job.buf);
	free(job.file.block);
	free(job.file.good);
	return result;
}
