// SPDX-License-Identifier: GPL-2.0-only
/* Files that are whole or as before. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "new-file.h"

bool fus_write_all(int fd, const char *text, size_t size)
{
	ssize_t n;

	for (; size; text += n, size -= n) {
		n = write(fd, text, size);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return false;
	}
	return true;
}

int fus_new_file(int dir, const char *name, const char *text, size_t size)
{
	char new[NAME_MAX + 1];
	int fd, err = 0;

	if (snprintf(new, sizeof(new), ".%s.new", name) >= (int)sizeof(new))
		return -ENAMETOOLONG;
	/* one that an interrupted process has left is of no use */
	if (unlinkat(dir, new, 0) && errno != ENOENT)
		return -errno;
	fd = openat(dir, new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (!fus_write_all(fd, text, size) || fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(dir, new, dir, name))
		err = -errno;
	if (err)
		unlinkat(dir, new, 0);
	/* the name is durable with the directory */
	return err ? err : fsync(dir) ? -errno : 0;
}

/* A file that grows meanwhile is cut. */
static char *read_all(int fd, size_t bytes, size_t *size)
{
	char *text = malloc(bytes + 1);
	size_t got = 0;
	ssize_t n = 1;

	while (text && n && got < bytes) {
		n = read(fd, text + got, bytes - got);
		if (n < 0 && errno != EINTR) {
			free(text);
			return NULL;
		}
		got += n > 0 ? n : 0;
	}
	if (text)
		text[got] = 0;
	if (text && size)
		*size = got;
	return text;
}

char *fus_file_text(int dir, const char *name, size_t max, size_t *size)
{
	/* opening a FIFO would wait for its writer */
	int err = 0, fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char *text = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st))
		err = errno;
	else if (!S_ISREG(st.st_mode))
		err = EINVAL;
	else if (st.st_size > (off_t)max)
		err = EFBIG;
	if (!err) {
		text = read_all(fd, st.st_size, size);
		err = errno;
	}
	close(fd);
	errno = err;
	return text;
}
