// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is added to the pins of a set, and removed. All words are looked at before anything is
 * changed, and then the sets that they are on, one after the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pin.h"
#include "error.h"
#include "fusionctl.h"
#include "size.h"
#include "stands-on.h"

/* A word: a file or directory, and the set that it is on. */
struct target {
	const char *word;
	char set[128];
	struct pin pin;		/* its path is to be freed; without a handle it is gone */
};

/* What is used to look at all words. */
struct finder {
	struct where w;
	struct mapping *sets;		/* that words which are gone may be of; or NULL */
	dev_t devno;			/* that was asked for its uuid last */
	char uuid[FILE_SYSTEM_UUID];	/* of the file system there, or "" */
};

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough to pin so much; close programs and try "
			"again");
}

/* -- paths ------------------------------------------------------------------------------------ */

static int cannot_look(const char *path, int err)
{
	return fus_fail(FC_FAILED, path, "cannot look at it: %s; check the path", strerror(err));
}

/* Many words are usually on one file system: its device is read once. */
static const char *uuid_on(struct finder *f, dev_t devno)
{
	if (f->devno != devno && !fus_file_system_uuid(devno, f->uuid))
		*f->uuid = 0;
	f->devno = devno;
	return f->uuid;
}

/* Identify a file or a directory. */
static int identify(struct finder *f, struct target *t, const struct stat *st)
{
	struct volume *v;
	int rc, err;

	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return fus_fail(FC_USAGE, t->word, "neither a file nor a directory; name one that "
				"is on a set");
	rc = where_volume(&f->w, t->word, st->st_dev, &v);
	if (rc)
		return rc;
	snprintf(t->set, sizeof(t->set), "%s", fus_below_set(v->below));
	t->pin.inode = st->st_ino;
	t->pin.recursive = S_ISDIR(st->st_mode);
	strcpy(t->pin.file_system, uuid_on(f, v->fs.devno));
	if (!*t->pin.file_system)
		return fus_fail(FC_REFUSED, t->word, "no uuid can be read by which its file system "
				"could be found again; see blkid, and if it has none, give it one "
				"with tune2fs or xfs_admin");
	err = fus_file_handle(t->word, t->pin.handle);
	t->pin.path = realpath(t->word, NULL);
	if (err || !t->pin.path)
		return cannot_look(t->word, err ? -err : errno);
	return 0;
}

/*
 * Append @word to the directory in @path, without ".", "..", and double slashes, as it may lead
 * nowhere. Return: false if ".." follows a name: what that leads to depends on links.
 */
static bool append(char *path, const char *word)
{
	char *end = path + strlen(path);
	bool named = false;
	size_t n;

	for (word += strspn(word, "/"); *word; word += strspn(word, "/")) {
		n = strcspn(word, "/");
		if (n == 2 && !strncmp(word, "..", 2)) {
			if (named)
				return false;
			while (end > path && *--end != '/')
				;
		} else if (n > 1 || *word != '.') {
			*end++ = '/';
			memcpy(end, word, n);
			end += n;
			named = true;
		}
		word += n;
	}
	if (end == path)
		*end++ = '/';
	*end = 0;
	return true;
}

static int absolute(struct target *t)
{
	char path[2 * PATH_MAX] = "";

	if (*t->word != '/' && !getcwd(path, PATH_MAX))
		return cannot_look(t->word, errno);
	/* the root itself */
	if (!strcmp(path, "/"))
		*path = 0;
	if (!*t->word || strlen(t->word) >= PATH_MAX || !append(path, t->word))
		return cannot_look(t->word, ENOENT);
	t->pin.path = strdup(path);
	return t->pin.path ? 0 : no_memory();
}

static const struct pin *pin_at(const struct pins *pins, const char *path)
{
	for (size_t i = 0; i < pins->nr; i++)
		if (pins->pin[i].path && !strcmp(pins->pin[i].path, path))
			return &pins->pin[i];
	return NULL;
}

/* Look for a set that has a pin of this path, whatever is there now. */
static int find_by_name(struct target *t, const struct mapping *sets)
{
	struct pins pins;
	int rc = absolute(t);

	if (rc || !t->pin.path)
		return rc;
	for (const struct mapping *m = sets; m && !rc && !*t->set; m = m->next) {
		rc = fus_pins_read(fus_dm_set_uuid(m), &pins);
		if (!rc && pin_at(&pins, t->pin.path))
			snprintf(t->set, sizeof(t->set), "%s", m->name);
		fus_pins_free(&pins);
	}
	if (rc || *t->set)
		return rc;
	free(t->pin.path);
	t->pin.path = NULL;
	return 0;
}

/*
 * Can what is at the path be what is pinned? Not if it is a link, or what a file system is mounted
 * over.
 */
static bool may_be_pinned(const char *path, const struct mapping *sets)
{
	struct stat st;
	dev_t devno;

	if (lstat(path, &st) || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) ||
	    !fus_path_device(path, &devno))
		return false;
	for (const struct mapping *m = sets; m; m = m->next)
		if (fus_device_stands_on(devno, m->devno))
			return true;
	return false;
}

static int get_target(struct finder *f, struct target *t, bool may_be_gone)
{
	struct stat st;
	int rc;

	if (may_be_gone && !may_be_pinned(t->word, f->sets)) {
		rc = find_by_name(t, f->sets);
		if (rc || *t->set)
			return rc;
	}
	return stat(t->word, &st) ? cannot_look(t->word, errno) : identify(f, t, &st);
}

static void free_targets(struct target *t, int n)
{
	for (int i = 0; t && i < n; i++)
		free(t[i].pin.path);
	free(t);
}

static int get_targets(char *const *path, int n, int member, bool may_be_gone, struct target **out)
{
	struct target *t = calloc(n, sizeof(*t));
	struct finder f = { 0 };
	int rc;

	*out = t;
	if (!t)
		return no_memory();
	rc = may_be_gone ? fus_dm_list(MAPPING_INFO, &f.sets) : 0;
	for (int i = 0; !rc && i < n; i++) {
		t[i].word = path[i];
		t[i].pin.member = member;
		t[i].pin.is_new = true;
		rc = get_target(&f, &t[i], may_be_gone);
	}
	fus_dm_free_list(f.sets);
	where_free(&f.w);
	return rc;
}

/* -- changes of the list ---------------------------------------------------------------------- */

static void remove_pin(struct pins *pins, const struct pin *which)
{
	fus_pins_remove(pins, which - pins->pin);
}

static int add_target(struct pinning *p, const struct target *t)
{
	const struct pin *old = fus_pins_find(&p->pins, t->pin.file_system, t->pin.handle);

	if (old)
		remove_pin(&p->pins, old);
	return fus_pins_add(&p->pins, &t->pin);
}

/* It is not pinned by itself. */
static int not_pinned(const struct pinning *p, const struct target *t)
{
	for (size_t i = 0; i < p->pins.nr; i++) {
		const struct pin *pin = &p->pins.pin[i];
		const size_t n = pin->path && pin->recursive ? strlen(pin->path) : 0;

		if (n && !strncmp(pin->path, t->pin.path, n) &&
		    (t->pin.path[n] == '/' || pin->path[n - 1] == '/'))
			return fus_fail(FC_FAILED, t->word, "is pinned with its directory; use "
					"fusionctl unpin %s", pin->path);
	}
	return fus_fail(FC_FAILED, t->word, "is not pinned; see fusionctl pin --list %s", p->name);
}

static int remove_target(struct pinning *p, const struct target *t)
{
	const struct pin *pin = NULL;

	if (*t->pin.handle)
		pin = fus_pins_find(&p->pins, t->pin.file_system, t->pin.handle);
	/* as it is listed, if it is gone */
	if (!pin)
		pin = pin_at(&p->pins, t->pin.path);
	if (!pin)
		return not_pinned(p, t);
	remove_pin(&p->pins, pin);
	return 0;
}

/* -- a set after the other -------------------------------------------------------------------- */

static int finish(const struct pin_change *c, struct pinning *p)
{
	int rc;

	p->changed = true;
	p->places = c->places;
	rc = pin_find(p);
	if (!rc)
		rc = pin_commit(p);
	if (!rc && c->done)
		c->done(c->ctx, p);
	return rc || !p->where.unread ? rc : FC_FAILED;
}

static int change_set(const struct pin_change *c, struct target *t, int n, const char *name,
		      bool add)
{
	struct pinning p = { 0 };
	int rc = pin_get(&p, name);

	if (!rc)
		rc = pin_may_change(&p);
	for (int i = 0; i < n && !rc; i++)
		if (!strcmp(t[i].set, name))
			rc = add ? add_target(&p, &t[i]) : remove_target(&p, &t[i]);
	if (!rc)
		rc = finish(c, &p);
	pin_put(&p);
	return rc;
}

/* The first of the words with its set. */
static bool is_first(const struct target *t, int i)
{
	for (int k = 0; k < i; k++)
		if (!strcmp(t[k].set, t[i].set))
			return false;
	return true;
}

static int change_paths(const struct pin_change *c, char *const *path, int n, bool add)
{
	struct target *t;
	int rc = get_targets(path, n, c->member, !add, &t);

	for (int i = 0; i < n && !rc; i++)
		if (is_first(t, i))
			rc = change_set(c, t, n, t[i].set, add);
	free_targets(t, n);
	return rc;
}

int pin_add_paths(const struct pin_change *c, char *const *path, int n)
{
	return change_paths(c, path, n, true);
}

int pin_remove_paths(const struct pin_change *c, char *const *path, int n)
{
	return change_paths(c, path, n, false);
}

/* -- extents ---------------------------------------------------------------------------------- */

static int change_extents(const struct pin_change *c, const char *name, const char *text,
			  bool add)
{
	struct pinning p = { 0 };
	struct pin pin = { .member = c->member, .is_new = true };
	bool any;
	int rc;

	if (!fus_parse_range(text, &pin.first, &pin.last))
		return fus_fail(FC_USAGE, text, "not a range of extents; write e.g. 0-1023");
	rc = pin_get(&p, name);
	if (!rc && pin.last >= p.placement.extents)
		rc = fus_fail(FC_USAGE, text, "beyond the end; the extents of %s are 0-%" PRIu64,
			      name, p.placement.extents - 1);
	if (!rc)
		rc = pin_may_change(&p);
	if (!rc)
		rc = fus_pins_cut(&p.pins, pin.first, pin.last, &any);
	if (!rc && add)
		rc = fus_pins_add(&p.pins, &pin);
	else if (!rc && !any)
		rc = fus_fail(FC_FAILED, text, "no such extents are pinned; see fusionctl pin "
			      "--list %s", name);
	if (!rc)
		rc = finish(c, &p);
	pin_put(&p);
	return rc;
}

int pin_add_extents(const struct pin_change *c, const char *name, const char *range)
{
	return change_extents(c, name, range, true);
}

int pin_remove_extents(const struct pin_change *c, const char *name, const char *range)
{
	return change_extents(c, name, range, false);
}
