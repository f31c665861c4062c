// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files that are pinned: by their paths, or by their handles if they have others now. Verb
 * where finds the extents that they lie on.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "pin.h"
#include "error.h"
#include "fusionctl.h"
#include "progress.h"
#include "record.h"
#include "stands-on.h"

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough to find what is pinned; close programs "
			"and try again");
}

/* -- the set ---------------------------------------------------------------------------------- */

static int get_mounts(struct pinning *p)
{
	int rc = fus_mounted_on(p->set.m.devno, &p->mounted, &p->nr_mounted);

	if (rc)
		return rc;
	p->file_system = calloc(p->nr_mounted + 1, sizeof(*p->file_system));
	if (!p->file_system)
		return no_memory();
	/* one without a uuid has "", as no pin has */
	for (size_t i = 0; i < p->nr_mounted; i++)
		fus_file_system_uuid(p->mounted[i].devno, p->file_system[i]);
	return 0;
}

int pin_open(struct pinning *p, const char *name)
{
	int rc = fus_set_get(name, &p->set);

	if (rc)
		return rc;
	p->name = name;
	/* reading its files would wait */
	if (p->set.m.suspended)
		return fus_fail_suspended(name, "what is pinned cannot be looked for");
	p->extent_bytes = (uint64_t)p->set.st.extent_sectors << 9;
	return fus_pins_read(fus_dm_set_uuid(&p->set.m), &p->pins);
}

int pin_ask_set(struct pinning *p)
{
	int rc = pin_ask(p->name, &p->now);

	return rc ? rc : fus_placement_get(p->name, &p->placement);
}

int pin_get(struct pinning *p, const char *name)
{
	int rc = pin_open(p, name);

	return rc ? rc : pin_ask_set(p);
}

void pin_put(struct pinning *p)
{
	where_free(&p->where);
	free(p->plan.want);
	free(p->found);
	free(p->file_system);
	fus_mounted_free(p->mounted, p->nr_mounted);
	fus_placement_put(&p->placement);
	fus_pins_free(&p->pins);
	if (p->name)
		fus_set_put(&p->set);
}

/* -- one pin ---------------------------------------------------------------------------------- */

/* A pin that is being looked at. */
struct look {
	struct pinning *p;
	struct pin_found *f;
	int member;
	bool is_new;
	int err;		/* of the set, not of the pin */
};

/* So many bytes of it are on this extent. */
static int take(void *ctx, uint64_t extent, uint64_t bytes)
{
	struct look *l = ctx;
	struct pinning *p = l->p;
	const struct placement_extent *e;

	/* the set has grown since */
	if (extent >= p->plan.extents)
		return 0;
	l->f->on_set += bytes;
	switch (pin_extent(&p->plan, l->member, extent)) {
	case PIN_OVERRULED:
		l->f->overruled += bytes;
		break;
	case PIN_REFUSED:
		l->f->refused += bytes;
		break;
	default:
		break;
	}
	if (!p->places)
		return 0;
	l->err = fus_placement_find(&p->placement, extent, &e);
	if (!l->err && (e->place == PLACE_FAST || e->place == PLACE_SLOW))
		l->f->on[e->place == PLACE_FAST ? FAST : SLOW] += bytes;
	return l->err;
}

static int look_at_extents(struct look *l, const struct pin *pin)
{
	int rc = 0;

	for (uint64_t i = pin->first; !rc && i <= pin->last && i < l->p->plan.extents; i++)
		rc = take(l, i, l->p->extent_bytes);
	return rc;
}

/* The device of a path, or of the nearest directory above it that there is. */
static dev_t nearest_device(const char *path)
{
	char buf[PATH_MAX], *end;
	dev_t devno;

	snprintf(buf, sizeof(buf), "%s", path);
	while (!fus_path_device(buf, &devno)) {
		end = strrchr(buf, '/');
		if (!end)
			return 0;
		/* the root is last */
		end[end == buf && end[1]] = 0;
		if (!*buf)
			return 0;
	}
	return devno;
}

/*
 * A mount of its file system, or NULL. A snapshot of a device has the same uuid: so preferably one
 * that the pin was found on.
 */
static const struct mounted *mount_of(const struct pinning *p, const struct pin *pin)
{
	const struct mounted *first = NULL;
	dev_t devno = 0;

	for (size_t i = 0; i < p->nr_mounted; i++) {
		if (strcmp(p->file_system[i], pin->file_system))
			continue;
		if (!first)
			devno = nearest_device(pin->path);
		if (p->mounted[i].devno == devno)
			return &p->mounted[i];
		if (!first)
			first = &p->mounted[i];
	}
	return first;
}

/* Return: whether the file is at this path. */
static bool is_at(const struct mounted *m, const struct pin *pin, const char *path)
{
	char handle[FILE_HANDLE];
	dev_t devno;

	return fus_path_device(path, &devno) && devno == m->devno &&
	       !fus_file_handle(path, handle) && !strcmp(handle, pin->handle);
}

#define FD_PATH	32

static const char *fd_path(int fd, char buf[FD_PATH])
{
	snprintf(buf, FD_PATH, "/proc/self/fd/%d", fd);
	return buf;
}

static void note_renamed(struct pinning *p, struct pin *pin, bool renamed)
{
	p->changed |= pin->renamed != renamed;
	pin->renamed = renamed;
}

/* The path of an open file as the kernel knows it, or "". */
static void path_of(int fd, char path[PATH_MAX])
{
	char link[FD_PATH];
	ssize_t n;

	n = readlink(fd_path(fd, link), path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = 0;
}

static int open_at(const struct mounted *m, const struct pin *pin)
{
	int dir = open(m->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

	fd = dir < 0 ? -errno : fus_open_handle(dir, pin->handle);
	if (dir >= 0)
		close(dir);
	return fd;
}

/*
 * Find the path of an open file: each mount of its file system can show another directory or
 * subvolume. Return: whether it has one.
 */
static bool find_path(const struct pinning *p, const struct mounted *m, const struct pin *pin,
		      int fd, char path[PATH_MAX])
{
	bool found;

	path_of(fd, path);
	found = is_at(m, pin, path);
	for (size_t i = 0; !found && i < p->nr_mounted; i++) {
		if (p->mounted[i].devno != m->devno || &p->mounted[i] == m)
			continue;
		fd = open_at(&p->mounted[i], pin);
		if (fd < 0)
			continue;
		path_of(fd, path);
		found = is_at(m, pin, path);
		close(fd);
	}
	return found;
}

/* Where it is found from now on. */
static int note_path(struct pinning *p, struct pin *pin, const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return no_memory();
	free(pin->path);
	pin->path = copy;
	p->changed = true;
	return 0;
}

/* Count what is at @path, on the file system that is mounted there. */
static int try_to_count(struct look *l, const struct mounted *m, const char *path)
{
	struct where *w = &l->p->where;
	struct stat mount, st;
	struct volume *v;
	int rc;

	if (stat(m->target, &mount) || stat(path, &st))
		return fus_fail(FC_FAILED, path, "cannot look at it: %s; check the path",
				strerror(errno));
	/* by the mount: a file without a name that is known has no path to find the device by */
	rc = where_volume(w, m->target, mount.st_dev, &v);
	if (rc)
		return rc;
	/* subvolumes have devices of their own */
	if (!strcmp(v->fs.type, "btrfs"))
		v->fs.also = st.st_dev;
	w->each = take;
	w->ctx = l;
	return where_count(w, path, false);
}

/* A pin that cannot be read does not keep others from being looked at, unless it is new. */
static int count(struct look *l, const struct mounted *m, const char *path)
{
	struct where *w = &l->p->where;
	const uint64_t unread = w->unread;
	const size_t nr = w->nr;
	int rc = try_to_count(l, m, path);

	if (rc && !l->err && !l->is_new) {
		w->unread++;
		rc = 0;
	}
	l->f->state = rc || w->unread > unread || w->nr == nr ? PIN_UNREADABLE : PIN_COMPLETELY;
	if (w->nr > nr) {
		l->f->files = w->row[nr].sum.files;
		l->f->bytes = w->row[nr].sum.bytes;
	}
	return rc;
}

/*
 * Take over what is open at @fd as the pin, if it lies at the path itself. A path through a link
 * may be someone's trap: the link could lead to all of the file system.
 */
static bool replace(struct pinning *p, const struct mounted *m, struct pin *pin, int fd)
{
	char path[PATH_MAX], link[FD_PATH], handle[FILE_HANDLE];
	struct stat st;
	dev_t devno;

	path_of(fd, path);
	if (strcmp(path, pin->path) || fstat(fd, &st) ||
	    !(pin->recursive ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode)) ||
	    !fus_path_device(fd_path(fd, link), &devno) || devno != m->devno ||
	    fus_file_handle(link, handle))
		return false;
	strcpy(pin->handle, handle);
	pin->inode = st.st_ino;
	p->changed = true;
	return true;
}

/*
 * The file is gone. If a program has put another one in its place, as editors do, that is pinned
 * from now on. Return: whether there is one.
 */
static bool is_replaced(struct pinning *p, const struct mounted *m, struct pin *pin)
{
	/* what has a former name now is another file */
	int fd = pin->renamed ? -1 : open(pin->path, O_PATH | O_CLOEXEC);
	bool replaced = fd >= 0 && replace(p, m, pin, fd);

	if (fd >= 0)
		close(fd);
	return replaced;
}

static int look_at_open(struct look *l, const struct mounted *m, struct pin *pin, int fd)
{
	char path[PATH_MAX], link[FD_PATH];
	int rc;

	note_renamed(l->p, pin, !find_path(l->p, m, pin, fd, path));
	if (pin->renamed)
		return count(l, m, fd_path(fd, link));
	rc = note_path(l->p, pin, path);
	return rc ? rc : count(l, m, path);
}

static int look_by_handle(struct look *l, const struct mounted *m, struct pin *pin)
{
	int fd = open_at(m, pin), rc;

	if (fd == -ENOENT && is_replaced(l->p, m, pin))
		return count(l, m, pin->path);
	if (fd == -ENOENT) {
		l->f->state = PIN_MISSING;
		return 0;
	}
	if (fd < 0) {
		l->f->state = PIN_UNREADABLE;
		l->p->where.unread++;
		fus_warn(pin->path, "cannot open what is pinned: %s; see the kernel log",
			 strerror(-fd));
		return 0;
	}
	rc = look_at_open(l, m, pin, fd);
	close(fd);
	return rc;
}

static int look_at_file(struct look *l, struct pin *pin)
{
	const struct mounted *m = mount_of(l->p, pin);

	if (!m) {
		l->f->state = PIN_NOT_MOUNTED;
		return 0;
	}
	if (!is_at(m, pin, pin->path))
		return look_by_handle(l, m, pin);
	note_renamed(l->p, pin, false);
	return count(l, m, pin->path);
}

static int look_at(struct pinning *p, size_t i)
{
	struct pin *pin = &p->pins.pin[i];
	struct look l = {
		.p = p, .f = &p->found[i], .member = pin->member, .is_new = pin->is_new,
	};
	int rc;

	l.f->room = p->plan.limit > p->plan.nr[FAST] ? p->plan.limit - p->plan.nr[FAST] : 0;
	rc = pin->path ? look_at_file(&l, pin) : look_at_extents(&l, pin);
	if (l.f->state == PIN_COMPLETELY)
		l.f->state = pin_state_of(l.f, pin->member);
	return rc;
}

/* Since when it has not been there. */
static void note_missed(struct pinning *p)
{
	const uint64_t now = time(NULL);

	for (size_t i = 0; i < p->pins.nr; i++) {
		struct pin *pin = &p->pins.pin[i];

		if (p->found[i].state == PIN_NOT_MOUNTED || p->found[i].state == PIN_UNREADABLE)
			continue;
		/* later than now if the clock was wrong */
		if (p->found[i].state == PIN_MISSING && pin->missed && pin->missed <= now)
			continue;
		if (p->found[i].state != PIN_MISSING && !pin->missed)
			continue;
		pin->missed = p->found[i].state == PIN_MISSING ? now : 0;
		p->changed = true;
	}
}

int pin_find(struct pinning *p)
{
	int rc = p->file_system ? 0 : get_mounts(p);

	if (rc)
		return rc;
	free(p->plan.want);
	free(p->found);
	p->plan = (struct pin_plan) {
		.extents = p->placement.extents, .limit = p->now.limit,
		.want = calloc(p->placement.extents, 1),
	};
	p->found = calloc(p->pins.nr + 1, sizeof(*p->found));
	if (!p->plan.want || !p->found)
		return no_memory();
	fus_progress_begin("reading the files", &fus_progress_inodes, 0);
	for (int member = 0; member < 2; member++)
		for (size_t i = 0; i < p->pins.nr && !rc; i++)
			if (p->pins.pin[i].member == member)
				rc = look_at(p, i);
	fus_progress_end();
	if (!rc)
		note_missed(p);
	return rc;
}
