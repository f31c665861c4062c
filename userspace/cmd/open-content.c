// SPDX-License-Identifier: GPL-2.0-only
/* What is on an open set, which may be in use, for the verbs that need to know how much it is. */
#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/fs.h>

#include "open-content.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"

/* Another file system may be mounted over it. */
static int open_if_there(const char *path, dev_t devno)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || st.st_dev != devno)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Return: a descriptor of the root of the file system, or -1 if it is not mounted. */
static int open_root(dev_t devno)
{
	struct libmnt_table *tb = mnt_new_table_from_file("/proc/self/mountinfo");
	struct libmnt_iter *it = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	int fd = -1;

	while (tb && it && fd < 0 && !mnt_table_next_fs(tb, it, &fs))
		if (mnt_fs_get_devno(fs) == devno)
			fd = open_if_there(mnt_fs_get_target(fs), devno);
	mnt_free_iter(it);
	mnt_unref_table(tb);
	return fd;
}

/* XFS has its size in its log only, until it is frozen, or has written for a while. */
static void write_supers(dev_t devno)
{
	int fd = open_root(devno);
	sigset_t before;

	if (fd >= 0) {
		/* frozen, it would be written out while writers wait */
		syncfs(fd);
		/* a signal must not leave it frozen */
		hold_all_signals(&before);
		if (!ioctl(fd, FIFREEZE, 0))
			ioctl(fd, FITHAW, 0);
		sigprocmask(SIG_SETMASK, &before, NULL);
		close(fd);
	}
}

void sync_open_content(dev_t devno)
{
	int fd = open_root(devno);

	/* a failure is that of a program which wrote to it */
	if (fd >= 0) {
		syncfs(fd);
		close(fd);
	}
}

int open_set_device(const char *name, dev_t devno)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "/dev/mapper/%s", name);
	fd = fus_open_node(path, devno, O_RDONLY);
	if (fd < 0)
		fus_fail(FC_FAILED, path, "cannot be opened: %s; see dmesg", strerror(errno));
	return fd;
}

int open_content(const char *name, dev_t devno)
{
	int fd = open_set_device(name, devno);

	if (fd < 0)
		return -1;
	/* a mounted file system writes past what another reader has left in memory */
	write_supers(devno);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return fd;
}

int look_at_open_content(const char *name, dev_t devno, struct fus_content *c,
			 enum content_size *size, uint64_t *bytes)
{
	char path[160];
	int fd, rc;

	fd = open_content(name, devno);
	if (fd < 0)
		return FC_FAILED;
	snprintf(path, sizeof(path), "/dev/mapper/%s", name);
	rc = fus_probe_magics(path, fd, c);
	if (!rc)
		*size = fus_content_size(fd, c, bytes);
	close(fd);
	return rc;
}
