// SPDX-License-Identifier: GPL-2.0-only
/* Directories with files for root, of which some are numbered: the newest few are kept. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "new-file.h"
#include "numbered.h"

#define LOCK_WAIT_MS	2000
#define LOCK_POLL_MS	20

int fus_private_dir(int at, const char *path)
{
	int fd;

	if (mkdirat(at, path, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int fus_private_dir_below(const char *path)
{
	char above[PATH_MAX], *slash;

	snprintf(above, sizeof(above), "%s", path);
	slash = strrchr(above, '/');
	if (slash && slash != above) {
		*slash = 0;
		if (mkdir(above, 0755) && errno != EEXIST)
			return -errno;
	}
	return fus_private_dir(AT_FDCWD, path);
}

/* Two processes would use the same temporary file. */
int fus_lock_dir(int dir)
{
	for (int ms = 0; flock(dir, LOCK_EX | LOCK_NB); ms += LOCK_POLL_MS) {
		if (errno != EWOULDBLOCK || ms >= LOCK_WAIT_MS)
			return -errno;
		usleep(LOCK_POLL_MS * 1000);
	}
	return 0;
}

/* The number of a file with this stem; 0 if it has none. */
static unsigned int number_of(const char *name, const char *stem)
{
	const size_t len = strlen(stem);
	unsigned long n;
	char *end;

	if (strncmp(name, stem, len) || name[len] != '.' || name[len + 1] < '1' ||
	    name[len + 1] > '9')
		return 0;
	n = strtoul(name + len + 1, &end, 10);
	return strcmp(end, ".json") || n > UINT_MAX / 2 ? 0 : n;
}

/* How many there are, the first and the last one. */
struct numbers {
	unsigned int nr, first, last;
};

static int look_up(int at, const char *stem, struct numbers *n)
{
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int err;

	*n = (struct numbers){ 0 };
	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while ((e = readdir(dir))) {
		const unsigned int i = number_of(e->d_name, stem);

		if (!i)
			continue;
		n->first = !n->nr || i < n->first ? i : n->first;
		n->last = i > n->last ? i : n->last;
		n->nr++;
	}
	closedir(dir);
	return 0;
}

static void numbered_name(const char *stem, unsigned int i, char name[NUMBERED_NAME])
{
	snprintf(name, NUMBERED_NAME, "%s.%u.json", stem, i);
}

/* The older ones may go once the new one is there. */
static int remove_oldest(int dir, const char *stem, struct numbers *n, unsigned int most)
{
	char name[NUMBERED_NAME];
	int err = 0;

	while (!err && n->nr > most) {
		numbered_name(stem, n->first, name);
		err = unlinkat(dir, name, 0) && errno != ENOENT ? -errno : 0;
		if (!err)
			err = look_up(dir, stem, n);
	}
	return err;
}

int fus_numbered_add(int dir, const char *stem, const char *text, size_t size, unsigned int most,
		     char name[NUMBERED_NAME])
{
	char new[NUMBERED_NAME];
	struct numbers n;
	int err;

	err = look_up(dir, stem, &n);
	if (!err) {
		numbered_name(stem, n.last + 1, new);
		err = fus_new_file(dir, new, text, size);
	}
	if (!err && name)
		memcpy(name, new, sizeof(new));
	if (!err)
		err = look_up(dir, stem, &n);
	return err ? err : remove_oldest(dir, stem, &n, most);
}
