// SPDX-License-Identifier: GPL-2.0-only
/* What is measured: files of its own in a directory, or a device. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bench.h"
#include "ask.h"
#include "busy.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "probe.h"
#include "size.h"
#include "stands-on.h"
#include "verb.h"

/* Room beside that of the files, at most: for metadata, and so that the file system is not full. */
#define EXTRA_BYTES	(512ULL << 20)

#define TRY		"try"

static int find_directory(struct bench *b, struct bench_target *t)
{
	dev_t devno = 0;

	if (b->write)
		return fus_fail(FC_USAGE, "--write", "only a device needs it; in a directory files "
				"are written anyway");
	b->write = true;
	fus_path_type(b->target, b->type, sizeof(b->type));
	bench_disks_find(fus_path_device(b->target, &devno) ? devno : 0, &t->disks);
	return 0;
}

static int find_device(struct bench *b, struct bench_target *t)
{
	struct device dev;
	int rc = fus_device_get(b->target, &dev);

	if (rc)
		return rc;
	b->device = true;
	t->bytes = dev.sectors << 9;
	t->devno = dev.devno;
	t->rotational = dev.rotational == 1;
	bench_disks_find(dev.devno, &t->disks);
	if (b->write && dev.read_only)
		rc = fus_fail(FC_REFUSED, b->target, "is read-only; leave out --write");
	fus_device_put(&dev);
	return rc;
}

int bench_target_find(struct bench *b, struct bench_target *t)
{
	struct stat st;
	int rc;

	*t = (struct bench_target) { .fd = -1 };
	if (stat(b->target, &st))
		return fus_fail(FC_FAILED, b->target, "%s; name a directory or a device",
				strerror(errno));
	rc = S_ISDIR(st.st_mode) ? find_directory(b, t) : S_ISBLK(st.st_mode) ? find_device(b, t) :
	     fus_fail(FC_USAGE, b->target, "neither a directory nor a device; name one of these");
	snprintf(b->set, sizeof(b->set), "%s", t->disks.set);
	return rc;
}

/* These write elsewhere what is overwritten, and keep an extent until all of it is overwritten. */
static bool writes_elsewhere(const struct bench *b)
{
	static const char *const types[] = { "btrfs", "bcachefs", "zfs", "nilfs2" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(b->type, types[i]))
			return true;
	return false;
}

/* What is written to it stays in memory. */
static bool is_memory(const struct bench *b)
{
	return !strcmp(b->type, "tmpfs") || !strcmp(b->type, "ramfs");
}

uint64_t bench_target_room(const struct bench *b)
{
	struct statvfs st;

	if (b->device || statvfs(b->target, &st))
		return 0;
	return (uint64_t)st.f_bavail * st.f_frsize / (writes_elsewhere(b) ? 4 : 2);
}

int bench_target_capacity(const struct bench *b, const struct bench_target *t,
			  struct bench_capacity *c)
{
	struct statvfs st;

	*c = (struct bench_capacity) { .total = t->bytes };
	if (b->device)
		return 0;
	if (is_memory(b))
		return fus_fail(FC_REFUSED, b->target, "%s is in memory, and that would be filled; "
				"name a directory on a disk", b->type);
	if (writes_elsewhere(b))
		return fus_fail(FC_REFUSED, b->target, "%s writes elsewhere what is overwritten, "
				"so it becomes fuller meanwhile; name a directory on another file "
				"system, or a device", b->type);
	if (t->fd < 0 ? statvfs(b->target, &st) : fstatvfs(t->fd, &st))
		return fus_fail(FC_FAILED, b->target, "cannot tell how much is free: %s; see "
				"dmesg", strerror(errno));
	c->used = (uint64_t)(st.f_blocks - st.f_bfree) * st.f_frsize;
	c->total = c->used + (uint64_t)st.f_bavail * st.f_frsize;
	return 0;
}

static int check_room(const struct bench *b)
{
	/* what is overwritten in place needs little more than its file */
	uint64_t extra = b->profile == BENCH_HONEST ? 4 * b->plan.most : b->plan.most / 4;
	uint64_t need = b->plan.total + (extra < EXTRA_BYTES ? extra : EXTRA_BYTES), room;
	char text[2][SIZE_TEXT];
	struct statvfs st;

	/* this fills what there is, up to a share of it */
	if (b->profile == BENCH_FULLNESS)
		return 0;
	if (statvfs(b->target, &st))
		return fus_fail(FC_FAILED, b->target, "cannot tell how much is free: %s; see "
				"dmesg", strerror(errno));
	if (b->profile != BENCH_HONEST && writes_elsewhere(b))
		need += b->plan.total;
	room = (uint64_t)st.f_bavail * st.f_frsize;
	if (room >= need)
		return 0;
	return fus_fail(FC_REFUSED, b->target, "has %s free, and the files need %s; add --quick or "
			"lower --max-size", fus_size_text(text[0], room),
			fus_size_text(text[1], need));
}

/* Past the page cache, or not at all. */
static int check_direct(const struct bench *b, struct bench_target *t)
{
	int fd;

	fd = openat(t->fd, TRY, O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600);
	if (fd < 0)
		return fus_fail(FC_REFUSED, b->target, "the file system %s takes no direct I/O "
				"(%s), so its cache would be measured; name a directory on a disk",
				b->type, strerror(errno));
	close(fd);
	return 0;
}

/* Others may own the directory above it, and rename it, but not put anything into this one. */
static bool is_ours(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077);
}

static int begin_directory(const struct bench *b, struct bench_target *t)
{
	int rc = check_room(b);

	if (rc)
		return rc;
	snprintf(t->dir, sizeof(t->dir), "%s/.fusion-bench-XXXXXX", b->target);
	if (strlen(b->target) > PATH_MAX - 64 || !mkdtemp(t->dir)) {
		*t->dir = 0;
		return fus_fail(FC_FAILED, b->target, "cannot make a directory in it: %s; name "
				"another one", strerror(errno));
	}
	t->fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!is_ours(t->fd))
		return fus_fail(FC_REFUSED, t->dir, "was replaced as soon as it was made; name a "
				"directory of your own");
	return check_direct(b, t);
}

/* Nobody else uses it from then on, and what is on it may go. */
static int begin_overwriting(const struct bench *b, const struct args *a, struct bench_target *t)
{
	char content[CONTENT_TEXT] = "", question[CONTENT_TEXT + 256];
	struct device dev;
	bool found = false;
	int rc;

	rc = fus_device_get(b->target, &dev);
	if (rc)
		return rc;
	rc = fus_device_claim(&dev, &t->fd);
	if (!rc)
		rc = fus_probe_signature(&dev, &found, content, sizeof(content));
	if (!rc)
		rc = check_may_go(a, b->target, content);
	snprintf(question, sizeof(question), "overwrite %s%s%s", b->target,
		 *content ? ", with " : "", content);
	if (!rc && !a->opt[OPT_YES])
		rc = confirm(b->target, "all of it may be overwritten", question);
	/* what finds the rest of a member of something else would take it for whole */
	if (!rc)
		rc = fus_wipe_signatures(&dev, t->fd);
	fus_device_put(&dev);
	return rc;
}

int bench_target_begin(const struct bench *b, const struct args *a, struct bench_target *t)
{
	if (!b->device)
		return begin_directory(b, t);
	if (b->write)
		return begin_overwriting(b, a, t);
	t->fd = fus_open_node(b->target, t->devno, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (t->fd >= 0)
		return 0;
	if (errno == ESTALE)
		return fus_fail(FC_REFUSED, b->target, "names another device now; try again");
	return fus_fail(FC_FAILED, b->target, "cannot be read past the page cache: %s; check the "
			"device", strerror(errno));
}

const char *bench_target_path(const struct bench *b, struct bench_target *t, unsigned int place)
{
	int len = snprintf(t->path, sizeof(t->path), "/proc/%d/fd/%d", getpid(), t->fd);

	if (!b->device)
		snprintf(t->path + len, sizeof(t->path) - len, "/%u", place);
	return t->path;
}

void bench_target_end(const struct bench *b, struct bench_target *t)
{
	if (*t->dir) {
		/* one more than places: zeros */
		for (unsigned int i = 0; i <= b->plan.nr && t->fd >= 0; i++) {
			snprintf(t->path, sizeof(t->path), "%u", i);
			unlinkat(t->fd, t->path, 0);
		}
		if (t->fd >= 0)
			unlinkat(t->fd, TRY, 0);
		if (rmdir(t->dir))
			fus_warn(t->dir, "cannot be removed: %s; remove it", strerror(errno));
	}
	if (t->fd >= 0)
		close(t->fd);
}
