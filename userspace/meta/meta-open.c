// SPDX-License-Identifier: GPL-2.0-only
/* Find the members that a verb for closed sets is given: by NAME, uuid, or one or two devices. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "scan.h"
#include "super.h"
#include "trio.h"

static bool is_file(const char *word)
{
	bool file;

	return fus_path_kind(word, &file) && file;
}

/* The member on @path, if it has a valid superblock, and its partner from the list. */
static int find_partner(struct member *list, const struct member *m, char path[2][PATH_MAX],
			int *nr)
{
	struct member *peer;
	int rc;

	snprintf(path[0], sizeof(path[0]), "%s", m->path);
	*nr = 1;
	rc = fus_find_member(list, m->sb->peer_uuid, &peer);
	if (rc || !peer)
		return rc;
	snprintf(path[1], sizeof(path[1]), "%s", peer->path);
	*nr = 2;
	return 0;
}

static bool names_member(const struct member *list, const char *word)
{
	for (; list; list = list->next)
		if (fus_member_called(list, word))
			return true;
	return false;
}

/*
 * While a member is being replaced: the one that stays, and the new one. The old one has no
 * metadata that counts.
 */
static void find_three(const struct trio *t, const struct member *m, char path[2][PATH_MAX],
		       int *nr)
{
	const struct member *peer = t->m[!t->role], *new = t->m[t->role];
	const bool first = m && m == new;

	snprintf(path[first], PATH_MAX, "%s", peer->path);
	if (new)
		snprintf(path[!first], PATH_MAX, "%s", new->path);
	*nr = new ? 2 : 1;
}

/*
 * By name or by one device: all block devices are looked at. A file of that name in the current
 * directory hides no set; if there is no such set, it is an image, and nothing is found here.
 */
static int search(const char *word, char path[2][PATH_MAX], int *nr)
{
	bool named = !strchr(word, '/');
	struct member *list = NULL, *m = NULL;
	struct trio t = { .role = -1 };
	struct device dev;
	int rc;

	rc = fus_scan_members(&list);
	if (is_file(word) && (rc || !names_member(list, word))) {
		fus_free_members(list);
		return 0;
	}
	if (!rc && named) {
		rc = fus_find_named(list, word, &m);
	} else if (!rc) {
		rc = fus_device_get(word, &dev);
		for (m = rc ? NULL : list; m && m->devno != dev.devno; m = m->next)
			;
		if (!rc)
			fus_device_put(&dev);
	}
	if (!rc && m && fus_has_super(m))
		fus_find_trio(list, m->sb->set_uuid, &t);
	if (!rc && t.role >= 0)
		find_three(&t, m, path, nr);
	else if (!rc && m && (m->state == MEMBER_PREPARED || m->state == MEMBER_LEFT))
		rc = fus_check_member(m);
	else if (!rc && m && (m->state == MEMBER_OK || m->state == MEMBER_TRANSIT))
		rc = find_partner(list, m, path, nr);
	if (!rc && *nr == 1 && fus_renewed_of(list, m))
		rc = fus_check_member(fus_renewed_of(list, m));
	fus_free_members(list);
	return rc;
}

int fus_open_members(const char *const path[2], bool writable, struct meta *meta)
{
	int rc = 0;

	meta->m[0].o.fd = -1;
	meta->m[1].o.fd = -1;
	for (int i = 0; i < 2 && path[i] && !rc; i++) {
		/* the exclusive open would say that we use it ourselves */
		if (i && fus_same_storage(&meta->m[0].o, path[1]))
			rc = fus_fail(FC_MEMBER, path[1], "is the same as %s; name two members",
				      path[0]);
		else
			rc = fus_offline_open(path[i], writable ? OFFLINE_WRITE : OFFLINE_READ,
					      &meta->m[i].o);
	}
	return rc;
}

/* Return: whether @word is a path to that device, which messages should name as it was given. */
static bool leads_to(const char *word, const char *node)
{
	struct stat a, b;

	return strchr(word, '/') && !stat(word, &a) && !stat(node, &b) && a.st_rdev == b.st_rdev;
}

int fus_meta_refuse_apart(const struct meta *meta)
{
	const struct fusion_sb *sb;
	char text[APART_TEXT];

	for (int dev = 0; dev < 2; dev++) {
		sb = fus_meta_sb(meta, dev);
		if (!sb || !(sb->incompat & FUSION_INCOMPAT_OLD_MEMBER) ||
		    (sb->old.state != FUSION_OLD_PREPARED && sb->old.state != FUSION_OLD_LEFT))
			continue;
		fus_apart_text(sb, text, sizeof(text));
		return fus_fail(FC_REFUSED, meta->m[dev].o.path, "%s, and has nothing of the set; "
				"name its members, or run fusionctl wipe %s", text,
				meta->m[dev].o.path);
	}
	return 0;
}

/* A superblock with that bit of incompat, or NULL. */
static const struct fusion_sb *sb_with(const struct meta *meta, u64 feature)
{
	const struct fusion_sb *sb;

	for (int dev = 0; dev < 2; dev++) {
		sb = fus_meta_sb(meta, dev);
		if (sb && sb->incompat & feature)
			return sb;
	}
	return NULL;
}

int fus_meta_refuse_old(const struct meta *meta, const char *verb)
{
	const struct fusion_sb *sb = sb_with(meta, FUSION_INCOMPAT_OLD_MEMBER);

	return !sb ? 0 : fus_fail(FC_REFUSED, sb->label, "cannot be %s while a member of it is "
				  "being replaced; open it, and run fusionctl replace %s --wait "
				  "first", verb, sb->label);
}

int fus_meta_refuse_lost(const struct meta *meta, const char *verb)
{
	const struct fusion_sb *sb = sb_with(meta, FUSION_INCOMPAT_DAMAGED);

	return !sb ? 0 : fus_fail(FC_REFUSED, sb->label, "cannot be %s while extents of it are "
				  "lost; open it, delete the files, run fstrim, then open and "
				  "close it once more", verb);
}

static int open_meant(int nr, char **word, bool writable, bool landing,
		      int (*read)(struct meta *meta), struct meta *meta)
{
	char found[2][PATH_MAX];
	const char *path[2] = { word[0], nr > 1 ? word[1] : NULL };
	int rc = 0, n = 0;

	*meta = (struct meta){ .landing = landing };
	meta->m[0].o.fd = -1;
	meta->m[1].o.fd = -1;
	if (nr == 1 && !(strchr(word[0], '/') && is_file(word[0]))) {
		rc = search(word[0], found, &n);
		if (n)
			path[0] = leads_to(word[0], found[0]) ? word[0] : found[0];
		if (n > 1)
			path[1] = found[1];
	}
	if (!rc)
		rc = fus_open_members(path, writable, meta);
	if (!rc)
		rc = read(meta);
	if (!rc)
		rc = fus_meta_refuse_apart(meta);
	if (!rc && !meta->known && !meta->m[1].o.path && meta->m[0].copy[0].err == -ENODATA &&
	    meta->m[0].copy[1].err == -ENODATA)
		rc = fus_fail(FC_MEMBER, path[0], "not a member of a fusion set; fusionctl list "
			      "shows the members");
	if (rc)
		fus_meta_free(meta);
	return rc;
}

int fus_meta_open(int nr, char **word, bool writable, struct meta *meta)
{
	return open_meant(nr, word, writable, false, fus_meta_read, meta);
}

int fus_meta_open_landing(int nr, char **word, bool writable, struct meta *meta)
{
	return open_meant(nr, word, writable, true, fus_meta_read, meta);
}

int fus_meta_open_to_look(int nr, char **word, struct meta *meta)
{
	return fus_meta_open_landing(nr, word, false, meta);
}

int fus_meta_open_supers(int nr, char **word, bool writable, struct meta *meta)
{
	return open_meant(nr, word, writable, true, fus_meta_read_supers, meta);
}
