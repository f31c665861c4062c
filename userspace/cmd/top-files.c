// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files on the hottest ranges. All files of the mounted file systems on the set have to be
 * looked at for that, as for fusionctl where --extents, which may take minutes: in a terminal a
 * child does it, of low priority, and sends the names through a pipe.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "top.h"
#include "error.h"
#include "fusionctl.h"
#include "message.h"
#include "where.h"

/* -- reading them ----------------------------------------------------------------- */

static void begin_file(void *ctx, const char *path)
{
	top_names_file(ctx, path);
}

static int take_extent(void *ctx, uint64_t extent, uint64_t bytes)
{
	return top_names_extent(ctx, extent, bytes);
}

int top_files_read(const char *set, const struct heat_map *map, struct top_names *names)
{
	struct where w = { .begin = begin_file, .each = take_extent, .ctx = names };
	int rc = top_names_begin(names, map);

	if (rc)
		return where_no_memory();
	rc = map->nr ? where_files_on(&w, set, false, 0, map->extents - 1) : 0;
	names->unread = w.unread;
	where_free(&w);
	return rc;
}

/* -- by a child ------------------------------------------------------------------- */

/* A '+' and the names go to @fd, or a '-' and why there are none. */
static void read_and_tell(const char *set, const struct heat_map *map, int fd)
{
	FILE *f = fdopen(fd, "w");
	char text[MESSAGE_TEXT];
	struct top_names names;
	int rc;

	if (!f)
		_exit(FC_FAILED);
	/* the screen is not ours */
	fus_on_error(NULL);
	if (nice(10) < 0)
		errno = 0;	/* then it has the priority of the others */
	rc = top_files_read(set, map, &names);
	fputc(rc ? '-' : '+', f);
	if (rc)
		fprintf(f, "%s%c", message_text(text, fus_last_error()), 0);
	else
		rc = top_names_write(&names, f);
	_exit(fclose(f) || rc ? FC_FAILED : 0);
}

int top_reader_begin(struct top_reader *r, const char *set, const struct heat_map *map)
{
	int ends[2];
	pid_t parent = getpid();

	top_reader_end(r);
	if (pipe2(ends, O_CLOEXEC))
		return fus_fail(FC_FAILED, "top", "cannot make a pipe: %s; try again",
				strerror(errno));
	r->pid = fork();
	if (!r->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* before that was said, it may have ended */
		if (getppid() == parent)
			read_and_tell(set, map, ends[1]);
		_exit(FC_FAILED);
	}
	close(ends[1]);
	r->fd = ends[0];
	if (r->pid > 0)
		return 0;
	top_reader_end(r);
	return fus_fail(FC_FAILED, "top", "cannot start a reader of files: %s; try again",
			strerror(errno));
}

void top_reader_end(struct top_reader *r)
{
	pid_t dying = r->dying;

	if (r->pid > 0) {
		kill(r->pid, SIGKILL);
		dying = r->pid;
	}
	/* the screen must not hang with it */
	if (dying > 0 && waitpid(dying, NULL, WNOHANG) == dying)
		dying = 0;
	if (r->fd > 0)
		close(r->fd);
	free(r->text);
	*r = (struct top_reader) { .dying = dying };
}

/* All has been said. */
static void finish(struct top_reader *r, struct top_names *names, char *why, size_t size)
{
	const char *text = r->text;

	top_names_free(names);
	*why = 0;
	if (r->used > 1 && *text == '-' && !text[r->used - 1])
		snprintf(why, size, "%s", text + 1);
	else if (!r->used || *text != '+' || top_names_parse(text + 1, r->used - 1, names))
		snprintf(why, size, "the reader of files ended early; press f to try again");
	else if (names->unread)
		snprintf(why, size, "%llu could not be read; fusionctl where shows why",
			 (unsigned long long)names->unread);
	top_reader_end(r);
}

bool top_reader_take(struct top_reader *r, struct top_names *names, char *why, size_t size)
{
	char *text;
	ssize_t n;

	if (r->used == r->room) {
		text = realloc(r->text, r->room + 65536);
		/* what is known cannot be used without the rest */
		if (!text)
			r->used = 0;
		if (!text) {
			finish(r, names, why, size);
			return true;
		}
		r->text = text;
		r->room += 65536;
	}
	n = read(r->fd, r->text + r->used, r->room - r->used);
	if (n > 0)
		r->used += n;
	if (n > 0 || (n < 0 && errno == EINTR))
		return false;
	finish(r, names, why, size);
	return true;
}
