// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb restore: the text of a dump, and what it has as JSON. The stale list in it is to be looked
 * at, and may have millions of runs, each of which would take a kilobyte of memory as an object. So
 * they are left out.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "restore.h"
#include "error.h"
#include "fusionctl.h"

#define FIRST_SIZE	65536U

struct text {
	char *buf;
	size_t len, room;	/* with the 0 at its end */
};

static int no_memory(const char *path)
{
	return fus_fail(FC_FAILED, path, "is too large for the memory that is free; close programs "
			"and try again");
}

static int grow(struct text *t)
{
	const size_t room = t->room ? 2 * t->room : FIRST_SIZE;
	char *buf = room < INT_MAX ? realloc(t->buf, room) : NULL;

	if (!buf)
		return -ENOMEM;
	t->buf = buf;
	t->room = room;
	return 0;
}

/* It may be a pipe. */
static int read_all(const char *path, int fd, struct text *t)
{
	ssize_t n;

	do {
		if (t->len + 1 >= t->room && grow(t))
			return no_memory(path);
		n = read(fd, t->buf + t->len, t->room - t->len - 1);
		if (n > 0)
			t->len += n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return fus_fail(FC_FAILED, path, "cannot be read: %s; check its disk",
				strerror(errno));
	t->buf[t->len] = 0;
	return 0;
}

/* Behind `"key":` and white space; NULL if that is not what @at begins with. */
static char *skip_key(char *at, const char *key)
{
	const size_t len = strlen(key);

	if (strncmp(at, key, len))
		return NULL;
	at += len;
	at += strspn(at, " \t\r\n");
	if (*at++ != ':')
		return NULL;
	return at + strspn(at, " \t\r\n");
}

/* The first one from @at on. In a string, there would be a backslash before its second quote. */
static char *find_key(char *at, const char *key)
{
	char *value = NULL;

	while (!value && (at = strstr(at, key)))
		value = skip_key(at++, key);
	return value;
}

/* A list that has anything but objects of numbers is left as it is, for the parser to judge. */
static void leave_out_runs(char *text)
{
	static const char part[] = "0123456789abcdefghijklmnopqrstuvwxyz\"{}:, \t\r\n";
	char *list = find_key(text, "\"stale_list\""), *runs;
	size_t len;

	runs = list && *list == '{' ? find_key(list, "\"runs\"") : NULL;
	/* its own: what is before has no other object */
	if (!runs || *runs != '[' || memchr(list + 1, '{', runs - list - 1))
		return;
	runs++;
	len = strspn(runs, part);
	if (runs[len] == ']')
		memset(runs, ' ', len);
}

int dump_read(const char *path, struct json_object **o)
{
	struct json_tokener *parser = json_tokener_new();
	struct text t = { 0 };
	int rc, fd = open(path, O_RDONLY | O_CLOEXEC);

	*o = NULL;
	if (fd < 0)
		rc = fus_fail(FC_FAILED, path, "%s; name a file that fusionctl dump wrote",
			      strerror(errno));
	else
		rc = parser ? read_all(path, fd, &t) : no_memory(path);
	if (fd >= 0)
		close(fd);
	if (!rc && t.buf) {
		leave_out_runs(t.buf);
		/* with the 0, which ends it */
		*o = json_tokener_parse_ex(parser, t.buf, t.len + 1);
		if (!*o)
			rc = fus_fail(FC_FAILED, path, "not JSON; name a file that fusionctl dump "
				      "wrote");
	}
	free(t.buf);
	if (parser)
		json_tokener_free(parser);
	return rc;
}
