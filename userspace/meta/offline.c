// SPDX-License-Identifier: GPL-2.0-only
/* Members for the verbs that work on closed sets: block devices, or images in files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "busy.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "meta.h"

void *fus_offline_buffer(size_t bytes)
{
	void *buf = NULL;

	bytes = (bytes + FUSION_BLOCK_SIZE - 1) & ~(FUSION_BLOCK_SIZE - 1UL);
	if (posix_memalign(&buf, FUSION_BLOCK_SIZE, bytes ? bytes : FUSION_BLOCK_SIZE)) {
		fus_fail(FC_FAILED, "memory", "not enough; close programs and try again");
		return NULL;
	}
	memset(buf, 0, bytes);
	return buf;
}

/*
 * The node is resolved once, here, links included. The device that is opened must be the one that
 * was examined. The exclusive open keeps out all users that also open exclusively: mounts, swap,
 * the device mapper.
 */
static int open_device(const char *path, enum offline_use use, struct offline *o)
{
	const bool writable = use == OFFLINE_WRITE || use == OFFLINE_WRITE_HELD;
	struct device dev;
	struct user user;
	bool beside;
	int rc;

	rc = fus_device_get(path, &dev);
	if (rc)
		return rc;
	o->sectors = dev.sectors;
	o->block_bytes = dev.block_bytes;
	o->devno = dev.devno;
	/* devices made by salvage only read */
	beside = use == OFFLINE_WRITE_HELD ||
		 (use == OFFLINE_READ_BESIDE && fus_device_salvaged(dev.devno));
	if (!beside && fus_device_user(dev.devno, &user))
		rc = fus_fail_busy(path, &user);
	if (!rc && writable && dev.read_only)
		rc = fus_fail(FC_MEMBER, path, "is read-only; make it writable");
	if (!rc)
		o->fd = fus_device_open(&dev, (writable ? O_RDWR : O_RDONLY) | O_DIRECT |
					(beside ? 0 : O_EXCL));
	if (!rc && o->fd < 0)
		rc = errno == EBUSY ? fus_device_refused(path, dev.devno) :
		     fus_fail(FC_FAILED, path, "cannot open: %s; check the device",
			      strerror(errno));
	fus_device_put(&dev);
	return rc;
}

static int open_file(const char *path, enum offline_use use, struct offline *o)
{
	const bool writable = use != OFFLINE_READ && use != OFFLINE_READ_BESIDE;
	int flags = (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC;
	struct stat st;
	struct user user;

	o->file = true;
	o->fd = open(path, flags | O_DIRECT);
	if (o->fd < 0 && errno == EINVAL)
		o->fd = open(path, flags);	/* not every file system can do it */
	if (o->fd < 0 || fstat(o->fd, &st))
		return fus_fail(FC_FAILED, path, "cannot open: %s; check the file",
				strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fus_fail(FC_FAILED, path, "changed while it was opened; try again");
	o->sectors = st.st_size >> 9;
	o->block_bytes = 512;
	o->devno = st.st_dev;
	o->ino = st.st_ino;
	if (fus_file_user(st.st_dev, st.st_ino, &user))
		return fus_fail_busy(path, &user);
	if (flock(o->fd, (writable ? LOCK_EX : LOCK_SH) | LOCK_NB))
		return fus_fail(FC_BUSY, path, "another program is working on it; wait until it "
				"has ended");
	return 0;
}

int fus_offline_open(const char *path, enum offline_use use, struct offline *o)
{
	struct stat st;
	int rc;

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	if (stat(path, &st))
		return fus_fail(FC_MEMBER, path, "%s; name a block device, or an image of one",
				strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return fus_fail(FC_MEMBER, path, "neither a block device nor a file; name a member "
				"or an image of one");
	rc = S_ISREG(st.st_mode) ? open_file(path, use, o) : open_device(path, use, o);
	if (!rc) {
		o->path = strdup(path);
		if (!o->path)
			rc = fus_fail(FC_FAILED, path, "not enough memory; close programs and try "
				      "again");
	}
	if (rc)
		fus_offline_close(o);
	return rc;
}

bool fus_path_kind(const char *path, bool *file)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	*file = S_ISREG(st.st_mode);
	return *file || S_ISBLK(st.st_mode);
}

bool fus_same_storage(const struct offline *o, const char *path)
{
	struct stat st;

	if (o->fd < 0 || stat(path, &st))
		return false;
	return S_ISBLK(st.st_mode) ? !o->file && st.st_rdev == o->devno :
	       o->file && st.st_dev == o->devno && st.st_ino == o->ino;
}

void fus_offline_close(struct offline *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	free((char *)o->path);
	o->path = NULL;
}

int fus_offline_read(const struct offline *o, u64 offset, size_t bytes, void *buf)
{
	ssize_t n;

	while (bytes) {
		n = pread(o->fd, buf, bytes, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		buf = (char *)buf + n;
		offset += n;
		bytes -= n;
	}
	return 0;
}

int fus_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf)
{
	ssize_t n;

	while (bytes) {
		n = pwrite(o->fd, buf, bytes, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		buf = (const char *)buf + n;
		offset += n;
		bytes -= n;
	}
	return 0;
}

int fus_offline_sync(const struct offline *o)
{
	return fsync(o->fd) ? -errno : 0;
}
