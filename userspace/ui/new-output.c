// SPDX-License-Identifier: GPL-2.0-only
/* A new file for the output of a verb: all of it, or none. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "new-output.h"
#include "error.h"
#include "new-file.h"

int new_output_open(const char *path, mode_t mode, struct new_output *o)
{
	char *copy = strdup(path);

	*o = (struct new_output){ .path = path, .fd = -1 };
	errno = ENOMEM;
	if (copy && !access(path, F_OK))
		errno = EEXIST;
	else if (copy)
		o->fd = open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
	free(copy);
	/* a file system without unnamed files */
	if (o->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		o->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		o->named = true;
	}
	return o->fd < 0 ? fus_fail(FC_FAILED, path, "%s; choose another file", strerror(errno)) :
	       0;
}

void new_output_drop(struct new_output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	if (o->fd >= 0 && o->named)
		unlink(o->path);
	o->fd = -1;
}

int new_output_write(struct new_output *o, const char *text)
{
	char unnamed[64];

	snprintf(unnamed, sizeof(unnamed), "/proc/self/fd/%d", o->fd);
	if (!fus_write_all(o->fd, text, strlen(text)) || !fus_write_all(o->fd, "\n", 1) ||
	    fsync(o->fd))
		return fus_fail(FC_FAILED, o->path, "cannot write: %s; choose another file",
				strerror(errno));
	if (!o->named && linkat(AT_FDCWD, unnamed, AT_FDCWD, o->path, AT_SYMLINK_FOLLOW))
		return fus_fail(FC_FAILED, o->path, "%s; choose another file", strerror(errno));
	close(o->fd);
	o->fd = -1;
	return 0;
}
