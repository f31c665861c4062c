// SPDX-License-Identifier: GPL-2.0-only
/* Files by the handles that their file system gives them, as text: "TYPE:BYTES". */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file-handle.h"

union handle {
	struct file_handle h;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

int fus_file_handle(const char *path, char buf[FILE_HANDLE])
{
	union handle u = { .h.handle_bytes = MAX_HANDLE_SZ };
	size_t n;
	int id;

	if (name_to_handle_at(AT_FDCWD, path, &u.h, &id, AT_SYMLINK_FOLLOW))
		return -errno;
	n = snprintf(buf, FILE_HANDLE, "%d:", u.h.handle_type);
	for (unsigned int i = 0; i < u.h.handle_bytes && n < FILE_HANDLE; i++)
		n += snprintf(buf + n, FILE_HANDLE - n, "%02x", u.h.f_handle[i]);
	return n < FILE_HANDLE ? 0 : -EOVERFLOW;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse(const char *text, struct file_handle *h)
{
	char *end;
	long type = strtol(text, &end, 10);
	size_t n;

	if (end == text || *end++ != ':' || type < 0 || type > INT32_MAX)
		return false;
	n = strlen(end);
	if (!n || n % 2 || n / 2 > MAX_HANDLE_SZ)
		return false;
	h->handle_type = type;
	h->handle_bytes = n / 2;
	for (size_t i = 0; i < n / 2; i++) {
		const int high = digit(end[2 * i]), low = digit(end[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		h->f_handle[i] = high << 4 | low;
	}
	return true;
}

int fus_open_handle(int mount, const char *text)
{
	union handle u = { 0 };
	struct stat st;
	int fd, err;

	if (!parse(text, &u.h))
		return -EINVAL;
	fd = open_by_handle_at(mount, &u.h, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ESTALE ? -ENOENT : -errno;
	/* one that was removed, and that a process still has open, is gone as well */
	err = fstat(fd, &st) ? -errno : st.st_nlink ? 0 : -ENOENT;
	if (!err)
		return fd;
	close(fd);
	return err;
}
