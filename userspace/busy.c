// SPDX-License-Identifier: GPL-2.0-only
/* Block devices: who uses them. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fusionctl.h"

/* Is @used, or the disk it is on, @devno? */
static bool concerns(dev_t used, dev_t devno)
{
	return used == devno || sysfs_disk(used) == devno;
}

/* Undo the \040 of /proc/self/mountinfo and /proc/swaps. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0');
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = 0;
}

static bool path_concerns(const char *path, dev_t devno)
{
	struct stat st;

	return *path == '/' && !stat(path, &st) && S_ISBLK(st.st_mode) &&
	       concerns(st.st_rdev, devno);
}

/* id parent major:minor root mountpoint options [fields] - type source options */
static bool mounted(dev_t devno, char *buf, size_t size)
{
	char *line = NULL, *dash, number[32], where[4096], source[4096];
	size_t room = 0;
	bool found = false;
	dev_t used;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (!f)
		return false;
	while (!found && getline(&line, &room, f) > 0) {
		if (sscanf(line, "%*d %*d %31s %*s %4095s", number, where) != 2)
			continue;
		unescape(where);
		found = parse_devno(number, &used) && concerns(used, devno);
		/* btrfs and its like have a device number of no device */
		dash = strstr(line, " - ");
		if (!found && dash && sscanf(dash, " - %*s %4095s", source) == 1) {
			unescape(source);
			found = path_concerns(source, devno);
		}
		if (found)
			snprintf(buf, size, "is mounted on %s", where);
	}
	free(line);
	fclose(f);
	return found;
}

static bool swap(dev_t devno, char *buf, size_t size)
{
	char *line = NULL, path[4096];
	size_t room = 0;
	bool found = false;
	FILE *f = fopen("/proc/swaps", "re");

	if (!f)
		return false;
	while (!found && getline(&line, &room, f) > 0) {
		if (sscanf(line, "%4095s", path) != 1)
			continue;
		unescape(path);
		found = path_concerns(path, devno);
	}
	if (found)
		snprintf(buf, size, "is used as swap");
	free(line);
	fclose(f);
	return found;
}

struct text {
	char *buf;
	size_t size;
};

static bool name_holder(dev_t holder, void *ctx)
{
	char name[128], node[160], uuid[130];
	const struct text *t = ctx;

	if (sysfs_read(holder, "dm/uuid", uuid, sizeof(uuid)) &&
	    !strncmp(uuid, DM_PREFIX, strlen(DM_PREFIX)) &&
	    sysfs_read(holder, "dm/name", name, sizeof(name))) {
		snprintf(t->buf, t->size, "is a member of the open set %s", name);
	} else {
		device_node(holder, node, sizeof(node));
		snprintf(t->buf, t->size, "is held by %s", node);
	}
	return true;
}

/* Mappings and arrays on it. */
static bool held(dev_t devno, char *buf, size_t size)
{
	return sysfs_any(devno, "holders", name_holder, &(struct text){ buf, size });
}

/* What a loop device may stand on. */
struct backing {
	dev_t devno;	/* a block device, or 0 */
	dev_t dev;	/* else a file */
	ino_t ino;
};

static bool is_backing(const char *path, const struct backing *b)
{
	struct stat st;

	if (b->devno)
		return path_concerns(path, b->devno);
	return *path == '/' && !stat(path, &st) && S_ISREG(st.st_mode) &&
	       st.st_dev == b->dev && st.st_ino == b->ino;
}

/* Loop devices appear nowhere but in their own attributes. */
static bool looped(const struct backing *b, char *buf, size_t size)
{
	char attr[300], file[4096];
	bool found = false;
	struct dirent *e;
	DIR *dir = opendir("/sys/block");
	FILE *f;

	while (dir && !found && (e = readdir(dir))) {
		if (strncmp(e->d_name, "loop", 4))
			continue;
		snprintf(attr, sizeof(attr), "/sys/block/%s/loop/backing_file", e->d_name);
		f = fopen(attr, "re");
		if (!f)
			continue;
		if (fgets(file, sizeof(file), f)) {
			file[strcspn(file, "\n")] = 0;
			found = is_backing(file, b);
		}
		fclose(f);
		if (found)
			snprintf(buf, size, "is held by /dev/%s", e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool partition_held(dev_t devno, char *buf, size_t size)
{
	char name[128], path[160], attr[300], number[32];
	struct dirent *e;
	bool found = false;
	dev_t part;
	DIR *dir;

	sysfs_name(devno, name, sizeof(name));
	snprintf(path, sizeof(path), "/sys/class/block/%s", name);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		snprintf(attr, sizeof(attr), "%s/partition", e->d_name);
		if (!sysfs_has(devno, attr))
			continue;
		snprintf(attr, sizeof(attr), "%s/dev", e->d_name);
		found = sysfs_read(devno, attr, number, sizeof(number)) &&
			parse_devno(number, &part) && held(part, buf, size);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool device_user(dev_t devno, char *buf, size_t size)
{
	const struct backing b = { .devno = devno };

	return mounted(devno, buf, size) || swap(devno, buf, size) ||
	       held(devno, buf, size) || partition_held(devno, buf, size) ||
	       looped(&b, buf, size);
}

bool file_user(dev_t dev, ino_t ino, char *buf, size_t size)
{
	const struct backing b = { .dev = dev, .ino = ino };

	return looped(&b, buf, size);
}

/* Does this process have the device open? */
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

bool device_opener(dev_t devno, char *buf, size_t size)
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
		snprintf(buf, size, "is opened by %s (process %.16s)", comm, e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static const char *remedy(const char *user)
{
	if (strstr(user, "mounted"))
		return "unmount it first";
	if (strstr(user, "swap"))
		return "swapoff it first";
	if (strstr(user, "open set"))
		return "close that first with fusionctl close";
	if (strstr(user, "held by"))
		return "remove that first";
	return "end that first";
}

int fail_busy(const char *thing, const char *user)
{
	return fail(FC_BUSY, thing, "%s; %s", user, remedy(user));
}

int device_refused(const char *path, dev_t devno)
{
	char user[512];

	if (!device_opener(devno, user, sizeof(user)))
		snprintf(user, sizeof(user), "is in use by the kernel");
	return fail_busy(path, user);
}

int device_claim(const struct device *dev, int *fd)
{
	char user[512];

	if (device_user(dev->devno, user, sizeof(user)))
		return fail_busy(dev->path, user);
	*fd = device_open(dev, O_RDWR | O_EXCL);
	if (*fd >= 0)
		return 0;
	if (errno != EBUSY)
		return fail(FC_FAILED, dev->path, "can't open it for writing: %s; check the device",
			    strerror(errno));
	return device_refused(dev->path, dev->devno);
}
