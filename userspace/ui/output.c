// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output: standard output, and drawings, which go to a file or to standard output. stdio forgets
 * why an early write failed, so these streams have a writer of their own that remembers it.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "error.h"
#include "fusionctl.h"

static struct sink standard = { .fd = STDOUT_FILENO };
/* Something is not there for that. */
static bool short_of_memory;

/* Return: bytes written, 0 after an error, as fopencookie(3) wants it. */
static ssize_t put(void *cookie, const char *buf, size_t size)
{
	struct sink *s = cookie;
	size_t done = 0;
	ssize_t n;

	/* a file keeps its old content until there is new content to write */
	if (s->whole && ftruncate(s->fd, 0) && errno != EINVAL)
		s->err = errno;
	s->whole = false;
	while (done < size && !s->err) {
		n = write(s->fd, buf + done, size - done);
		if (n > 0)
			done += n;
		else if (n < 0 && errno != EINTR)
			s->err = errno;
	}
	return done;
}

static FILE *stream(struct sink *s)
{
	FILE *f = fopencookie(s, "w", (cookie_io_functions_t){ .write = put });

	if (f && isatty(s->fd))
		setvbuf(f, NULL, _IOLBF, 0);
	return f;
}

/*
 * A device that is opened while a standard stream is closed would get its number, and so the
 * output. So /dev/null takes its place, opened in the wrong direction, so that use of the stream
 * still fails with EBADF.
 */
static void fill_standard(void)
{
	static const int flags[] = { O_WRONLY, O_RDONLY, O_RDONLY };

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd]) != fd)
			_exit(FC_FAILED);
}

void output_begin(void)
{
	FILE *f;

	fill_standard();
	f = stream(&standard);
	if (f)
		stdout = f;
}

int output_end(void)
{
	if (short_of_memory)
		return fus_fail(FC_FAILED, "memory", "not enough; close programs and try again");
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return fus_fail(FC_FAILED, "standard output", "cannot write: %s; redirect it elsewhere",
			strerror(standard.err));
}

void print_json(struct json_object *o, bool one_line)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;
	const char *text;

	flags |= one_line ? JSON_C_TO_STRING_PLAIN :
		 JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
	text = json_object_to_json_string_ext(o, flags);
	if (text)
		puts(text);
	else
		short_of_memory = true;
	fflush(stdout);
	json_object_put(o);
}

/* -- drawings ----------------------------------------------------------------------- */

int output_open(const char *path, struct output *o)
{
	memset(o, 0, sizeof(*o));
	o->path = path;
	if (!strcmp(path, "-")) {
		o->f = stdout;
		return 0;
	}
	o->sink.whole = true;
	o->sink.fd = open(path, O_WRONLY | O_CLOEXEC);
	if (o->sink.fd < 0 && errno == ENOENT) {
		o->sink.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		o->is_new = o->sink.fd >= 0;
	}
	o->f = o->sink.fd < 0 ? NULL : stream(&o->sink);
	if (o->f)
		return 0;
	fus_fail(FC_FAILED, path, "%s; choose another file", strerror(errno));
	output_cancel(o);
	return FC_FAILED;
}

int output_take(int fd, const char *path, struct output *o)
{
	memset(o, 0, sizeof(*o));
	o->path = path;
	o->sink.fd = fd;
	o->f = stream(&o->sink);
	if (o->f)
		return 0;
	close(fd);
	return fus_fail(FC_FAILED, path, "%s; choose another file", strerror(errno));
}

/* The buffer is written by fclose(), which does not close a descriptor that is the sink's. */
int output_close(struct output *o)
{
	bool bad;

	if (o->f == stdout)
		return 0;
	bad = fclose(o->f) || o->sink.err;
	o->f = NULL;
	if (close(o->sink.fd) && !o->sink.err) {
		o->sink.err = errno;
		bad = true;
	}
	o->sink.fd = -1;
	return bad ? fus_fail(FC_FAILED, o->path, "cannot write: %s; choose another file",
			      strerror(o->sink.err)) : 0;
}

void output_cancel(struct output *o)
{
	if (o->f == stdout)
		return;
	if (o->f)
		fclose(o->f);
	if (o->sink.fd >= 0)
		close(o->sink.fd);
	if (o->is_new)
		unlink(o->path);
}
