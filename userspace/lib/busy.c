// SPDX-License-Identifier: GPL-2.0-only
/* Block devices: their users. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <libudev.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "busy.h"
#include "device.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "released.h"
#include "sysfs.h"

/* Return: whether @used, or the disk it is on, is @devno. */
static bool concerns(dev_t used, dev_t devno)
{
	return used == devno || fus_sysfs_disk(used) == devno;
}

static bool path_concerns(const char *path, dev_t devno)
{
	struct stat st;

	return path && *path == '/' && !stat(path, &st) && S_ISBLK(st.st_mode) &&
	       concerns(st.st_rdev, devno);
}

static bool is_user(struct user *user, enum user_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool is_user(struct user *user, enum user_kind kind, const char *fmt, ...)
{
	va_list ap;

	user->kind = kind;
	va_start(ap, fmt);
	vsnprintf(user->text, sizeof(user->text), fmt, ap);
	va_end(ap);
	return true;
}

/* The first use of the device in a table of libmount: mounted, or used as swap. */
static bool in_table(struct libmnt_table *tb, dev_t devno, struct user *user)
{
	struct libmnt_iter *it = tb ? mnt_new_iter(MNT_ITER_FORWARD) : NULL;
	struct libmnt_fs *fs;
	bool found = false;

	while (it && !found && !mnt_table_next_fs(tb, it, &fs)) {
		/* btrfs and its like have a device number of no device */
		found = concerns(mnt_fs_get_devno(fs), devno) ||
			path_concerns(mnt_fs_get_source(fs), devno);
		if (found && mnt_fs_is_swaparea(fs))
			is_user(user, USER_SWAP, "is used as swap");
		else if (found)
			is_user(user, USER_MOUNT, "is mounted on %s", mnt_fs_get_target(fs));
	}
	mnt_free_iter(it);
	mnt_unref_table(tb);
	return found;
}

static bool mounted(dev_t devno, struct user *user)
{
	return in_table(mnt_new_table_from_file("/proc/self/mountinfo"), devno, user);
}

static bool swap(dev_t devno, struct user *user)
{
	struct libmnt_table *tb = mnt_new_table();

	if (tb && mnt_table_parse_swaps(tb, NULL)) {
		mnt_unref_table(tb);
		tb = NULL;
	}
	return in_table(tb, devno, user);
}

static bool name_holder(dev_t holder, void *ctx)
{
	char name[128], node[160];
	struct user *user = ctx;

	if (fus_sysfs_read(holder, "dm/name", name, sizeof(name))) {
		if (fus_is_released(holder) && fus_sysfs_is_mapping(holder, DM_PREFIX))
			return is_user(user, USER_SET, "is beneath %s, which was released", name);
		if (fus_sysfs_is_mapping(holder, DM_PREFIX))
			return is_user(user, USER_SET, "is a member of the open set %s", name);
		if (fus_sysfs_is_mapping(holder, DM_SALVAGE_PREFIX))
			return is_user(user, USER_SET, "is read by the salvaged set %s", name);
	}
	fus_device_node(holder, node, sizeof(node));
	return is_user(user, USER_HOLDER, "is held by %s", node);
}

static bool is_not_salvage(dev_t holder, void *ctx)
{
	(void)ctx;
	return !fus_sysfs_is_mapping(holder, DM_SALVAGE_PREFIX);
}

bool fus_device_salvaged(dev_t devno)
{
	return fus_sysfs_any(devno, "holders", NULL, NULL) &&
	       !fus_sysfs_any(devno, "holders", is_not_salvage, NULL);
}

/* Mappings and arrays on it. */
static bool held(dev_t devno, struct user *user)
{
	return fus_sysfs_any(devno, "holders", name_holder, user);
}

/* The file below a loop device, and the text about it. */
struct backing {
	dev_t devno;	/* a block device, or 0 */
	dev_t dev;	/* otherwise a file */
	ino_t ino;
	struct user *user;
};

static bool is_looped(struct udev_device *loop, void *ctx)
{
	const char *path = udev_device_get_sysattr_value(loop, "loop/backing_file");
	const struct backing *b = ctx;
	struct stat st;

	if (!(b->devno ? path_concerns(path, b->devno) :
	      path && *path == '/' && !stat(path, &st) && S_ISREG(st.st_mode) &&
	      st.st_dev == b->dev && st.st_ino == b->ino))
		return false;
	return is_user(b->user, USER_HOLDER, "is held by %s", udev_device_get_devnode(loop));
}

/* Loop devices appear nowhere but in their own attributes. */
static bool looped(struct backing b)
{
	return fus_block_any(&(struct block_match){ .name = "loop*" }, is_looped, &b) > 0;
}

static bool is_held(struct udev_device *dev, void *ctx)
{
	return held(udev_device_get_devnum(dev), ctx);
}

/* The device, or a partition of it. */
static bool any_held(dev_t devno, struct user *user)
{
	return fus_block_any(&(struct block_match){ .disk = devno }, is_held, user) > 0;
}

bool fus_device_user(dev_t devno, struct user *user)
{
	return mounted(devno, user) || swap(devno, user) || any_held(devno, user) ||
	       looped((struct backing){ .devno = devno, .user = user });
}

bool fus_file_user(dev_t dev, ino_t ino, struct user *user)
{
	return looped((struct backing){ .dev = dev, .ino = ino, .user = user });
}

/* Return: whether the process has the device open. */
static bool process_opens(const char *pid, dev_t devno)
{
	char path[64], fd[400];
	bool found = false;
	struct dirent *e;
	struct stat st;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		snprintf(fd, sizeof(fd), "%s/%s", path, e->d_name);
		found = !stat(fd, &st) && S_ISBLK(st.st_mode) && concerns(st.st_rdev, devno);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool fus_device_opener(dev_t devno, struct user *user)
{
	char path[64], comm[64] = "?";
	bool found = false;
	struct dirent *e;
	DIR *dir = opendir("/proc");
	FILE *f;

	while (dir && !found && (e = readdir(dir))) {
		if (!isdigit((unsigned char)*e->d_name) || atoi(e->d_name) == getpid() ||
		    !process_opens(e->d_name, devno))
			continue;
		found = true;
		snprintf(path, sizeof(path), "/proc/%.16s/comm", e->d_name);
		f = fopen(path, "re");
		if (f && fgets(comm, sizeof(comm), f))
			comm[strcspn(comm, "\n")] = 0;
		if (f)
			fclose(f);
		is_user(user, USER_OTHER, "is opened by %s (process %.16s)", comm, e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static const char *const remedy[] = {
	[USER_OTHER] = "end that first",
	[USER_MOUNT] = "unmount it first",
	[USER_SWAP] = "swapoff it first",
	[USER_SET] = "close that first with fusionctl close",
	[USER_HOLDER] = "remove that first",
};

int fus_fail_busy(const char *thing, const struct user *user)
{
	return fus_fail(FC_BUSY, thing, "%s; %s", user->text, remedy[user->kind]);
}

int fus_device_refused(const char *path, dev_t devno)
{
	struct user user;

	if (!fus_device_opener(devno, &user))
		is_user(&user, USER_OTHER, "is in use by the kernel");
	return fus_fail_busy(path, &user);
}

int fus_device_claim(const struct device *dev, int *fd)
{
	struct user user;

	if (fus_device_user(dev->devno, &user))
		return fus_fail_busy(dev->path, &user);
	*fd = fus_device_open(dev, O_RDWR | O_EXCL);
	if (*fd >= 0)
		return 0;
	if (errno != EBUSY)
		return fus_fail(FC_FAILED, dev->path, "cannot open for writing: %s; check the "
				"device", strerror(errno));
	return fus_device_refused(dev->path, dev->devno);
}
