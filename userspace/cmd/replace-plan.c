// SPDX-License-Identifier: GPL-2.0-only
/* Verb replace: which disks are meant, and whether the new one can be used. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/fs.h>

#include "replace.h"
#include "busy.h"
#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "new-set.h"
#include "probe.h"
#include "record.h"
#include "role.h"
#include "size.h"
#include "trio.h"
#include "verb.h"

const struct device *replace_going(const struct replacing *r)
{
	return &r->disk[r->back ? NEW : OLD];
}

const struct device *replace_coming(const struct replacing *r)
{
	return &r->disk[r->back ? OLD : NEW];
}

int replace_look(struct replacing *r)
{
	struct set set;
	int rc = fus_set_get(r->name, &set);

	if (rc)
		return rc;
	fus_set_put(&set);
	r->set = set;
	r->set.m.params = NULL;
	return 0;
}

void replace_put(struct replacing *r)
{
	for (int i = 0; i < 2; i++) {
		fus_device_put(&r->disk[i]);
		fus_free_members(r->m[i]);
	}
	fus_free_members(r->found);
	free(r->lost);
}

/* -- which disks ------------------------------------------------------------------------------- */

static int get_by_number(dev_t devno, struct device *dev)
{
	char node[160];

	fus_device_node(devno, node, sizeof(node));
	return fus_device_get(node, dev);
}

/*
 * Does what is on NEW go back to OLD? Then the old member of the table says of itself that it is
 * the new one of the present member. If it is only to be taken back, or was, its layout is newer.
 */
static bool goes_back(const struct replacing *r)
{
	const struct member *was = r->found, *now = r->m[r->role];

	return was && now && fus_has_identity(was) && fus_has_identity(now) &&
	       was->sb->incompat & FUSION_INCOMPAT_OLD_MEMBER &&
	       was->sb->old.dev == was->sb->role &&
	       !memcmp(was->sb->old.uuid, now->sb->dev_uuid, 16) &&
	       was->sb->layout_seq < now->sb->layout_seq;
}

/* The set is between the two tables. */
static int get_running(struct replacing *r)
{
	const dev_t old = r->set.old, now = r->set.member[r->role];
	const bool named = r->a->n == 3;
	char node[2][160];
	int rc = 0;

	r->back = goes_back(r);
	if (!named) {
		rc = get_by_number(old, &r->disk[r->back ? NEW : OLD]);
		return rc ? rc : get_by_number(now, &r->disk[r->back ? OLD : NEW]);
	}
	if (r->disk[OLD].devno == old && r->disk[NEW].devno == now && !r->back)
		return 0;
	fus_device_node(old, node[0], sizeof(node[0]));
	fus_device_node(now, node[1], sizeof(node[1]));
	return fus_fail(FC_BUSY, r->name, "moves from %s to %s already; run fusionctl replace %s "
			"--wait%s", node[0], node[1], r->name, r->back ? " first" :
			", or --abort, first");
}

/* OLD is a member; or has been one, and the command is given again. */
static int get_named(struct replacing *r)
{
	const dev_t *member = r->set.member;

	for (r->role = 0; r->role < 2; r->role++)
		if (r->disk[OLD].devno == member[r->role])
			return 0;
	for (r->role = 0; r->role < 2; r->role++)
		if (r->disk[NEW].devno == member[r->role])
			break;
	r->over = r->role < 2;
	if (r->over)
		return 0;
	return fus_fail(FC_MEMBER, r->disk[OLD].path, "is no member of %s; fusionctl status %s "
			"shows them", r->name, r->name);
}

/* The set was opened without OLD, which is away. */
static int fail_without_old(const struct replacing *r)
{
	const char *old = r->a->word[1], *new = r->a->word[2];
	struct stat st;
	int role = 0;

	if (r->set.old || !stat(old, &st) || errno != ENOENT || stat(new, &st) ||
	    !S_ISBLK(st.st_mode))
		return 0;
	while (role < 2 && r->set.member[role] != st.st_rdev)
		role++;
	return role == 2 ? 0 :
	       fus_fail(FC_MEMBER, r->name, "%s is its %s member, and %s is not there; connect it, "
			"and run fusionctl wipe %s", new, fus_role_name[role], old, old);
}

/*
 * Nothing is being replaced, and no disks are named. If nothing was left on the old one when the
 * set was closed, the set has been opened without it since. It may know that, or not.
 */
static bool may_be_old(const struct replacing *r, const struct member *m)
{
	const struct member *now = r->m[FAST] ? r->m[FAST] : r->m[SLOW];

	if (!now || !fus_has_identity(now))
		return false;
	if (m->state == MEMBER_LEFT)
		return !memcmp(m->sb->set_uuid, now->sb->set_uuid, 16);
	return fus_has_identity(m) && fus_was_replaced(m->sb, now->sb);
}

static int find_old(struct replacing *r)
{
	const struct member *found = NULL;
	struct member *list = NULL;
	int rc = fus_scan_members(&list);

	for (const struct member *m = list; m && !rc; m = m->next) {
		if (!may_be_old(r, m) || fus_under_another(list, m))
			continue;
		if (found && found->state == MEMBER_LEFT && m->state == MEMBER_LEFT)
			rc = fus_fail(FC_MEMBER, r->name, "no member of it is being replaced, and "
				      "both %s and %s have left it; run fusionctl wipe for each "
				      "of them", found->path, m->path);
		/* one that knows can be freed */
		if (!found || found->state != MEMBER_LEFT)
			found = m;
	}
	if (!rc && !found)
		rc = fus_fail(FC_FAILED, r->name, "no member of it is being replaced; to begin "
			      "that, run fusionctl replace %s OLD NEW, and to free a disk that was "
			      "replaced, fusionctl wipe DISK", r->name);
	if (!rc && found) {
		r->over = true;
		r->role = found->sb->role;
		rc = fus_device_get(found->path, &r->disk[OLD]);
	}
	if (!rc)
		rc = get_by_number(r->set.member[r->role], &r->disk[NEW]);
	fus_free_members(list);
	return rc;
}

static int check_works(const struct replacing *r)
{
	if (strcmp(r->set.st.mode, "rw"))
		return fus_fail(FC_FAILED, r->name, "cannot replace a member, it is in mode %s; "
				"see fusionctl status %s", r->set.st.mode, r->name);
	if (r->set.m.suspended)
		return fus_fail_suspended(r->name, "cannot replace a member");
	if (r->set.st.fence_slots)
		return fus_fail(FC_BUSY, r->name, "cannot replace a member, it has a fence, as "
				"while it shrinks; wait for that, or run dmsetup message %s 0 "
				"fence off", r->name);
	if (r->set.st.partly_lost)
		return fus_fail(FC_BUSY, r->name, "cannot replace a member, %" PRIu64 " extents "
				"are lost in part; delete the files and run fstrim, or write these "
				"extents as a whole", r->set.st.partly_lost);
	if (r->set.st.homing)
		return fus_fail(FC_BUSY, r->name, "cannot replace a member, homing is on; run "
				"dmsetup message %s 0 homing off first", r->name);
	return 0;
}

/* The superblocks; that of a failing disk may be unreadable. */
static int get_superblocks(struct replacing *r)
{
	const dev_t old = r->running ? r->set.old : r->disk[OLD].devno;
	const struct member *peer;
	int rc;

	if (r->running || r->over)
		fus_member_at(old, &r->found);
	peer = r->m[!r->role];
	if (!peer)
		return fus_fail(FC_FAILED, r->name, "the superblock of its %s member cannot be "
				"read; see dmesg", fus_role_name[!r->role]);
	rc = fus_check_member(peer);
	if (rc)
		return rc;
	if (r->m[r->role] && fus_has_identity(r->m[r->role]))
		r->sb = *r->m[r->role]->sb;
	else
		fus_sb_of_peer(peer->sb, &r->sb);
	return 0;
}

int replace_get(struct replacing *r)
{
	const bool named = r->a->n == 3;
	int rc;

	rc = replace_look(r);
	if (!rc)
		rc = check_works(r);
	if (!rc && named)
		rc = fail_without_old(r);
	for (int i = 0; i < 2 && !rc && named; i++)
		rc = fus_device_get(r->a->word[i + 1], &r->disk[i]);
	if (rc)
		return rc;
	r->running = r->set.old;
	r->role = r->set.old_role;
	for (int dev = 0; dev < 2; dev++)
		fus_member_at(r->set.member[dev], &r->m[dev]);
	if (!r->running && r->a->opt[OPT_ABORT])
		return fus_fail(FC_FAILED, r->name, "no member of it is being replaced; to begin "
				"that, run fusionctl replace %s OLD NEW", r->name);
	if (!r->running)
		rc = named ? get_named(r) : find_old(r);
	if (!rc)
		rc = get_superblocks(r);
	if (!rc && r->running)
		rc = get_running(r);
	return rc;
}

/* -- the new disk ------------------------------------------------------------------------------ */

static int check_place(const struct replacing *r)
{
	const struct device *new = &r->disk[NEW];
	struct device dev;
	bool same, beside;
	int rc;

	for (int i = 0; i < 2; i++) {
		rc = get_by_number(r->set.member[i], &dev);
		if (rc)
			return rc;
		same = fus_device_same(&dev, new);
		beside = i != r->role && dev.base == new->base;
		fus_device_put(&dev);
		if (same)
			return fus_fail(FC_MEMBER, new->path, "is a member of %s; name another "
					"disk as the new one", r->name);
		if (beside)
			return fus_fail(FC_REFUSED, new->path, "is on the same disk as the %s "
					"member of %s; choose another one", fus_role_name[i],
					r->name);
	}
	return 0;
}

static int check_size(const struct replacing *r)
{
	const struct device *old = &r->disk[OLD], *new = &r->disk[NEW];
	char has[SIZE_TEXT], wants[SIZE_TEXT];

	if (new->sectors >= r->sb.self_sectors)
		return 0;
	fus_size_text(has, new->sectors << 9);
	fus_size_text(wants, r->sb.self_sectors << 9);
	return fus_fail(FC_MEMBER, new->path, "has only %s (%" PRIu64 " sectors), and the set uses "
			"%s (%" PRIu64 ") of %s; run fusionctl shrink %s --member %s --member-size "
			"%" PRIu64 "M first", has, new->sectors, wants,
			(uint64_t)r->sb.self_sectors,
			old->path, r->name, old->path, new->sectors >> 11);
}

/* What uses the set relies on the size of its blocks. */
static int check_blocks(const struct replacing *r)
{
	const struct device *new = &r->disk[NEW];
	char path[160];
	int fd, bytes = 0;

	snprintf(path, sizeof(path), "/dev/mapper/%s", r->name);
	fd = fus_open_node(path, r->set.m.devno, O_RDONLY);
	if (fd < 0 || ioctl(fd, BLKSSZGET, &bytes))
		bytes = 512;
	if (fd >= 0)
		close(fd);
	if (new->block_bytes <= (unsigned int)bytes)
		return 0;
	return fus_fail(FC_MEMBER, new->path, "has logical blocks of %u bytes, and %s has blocks "
			"of %d; choose another device, or reformat it with smaller blocks, as nvme "
			"format does", new->block_bytes, r->name, bytes);
}

/* One that was prepared for this before has nothing else on it. */
static bool is_prepared(const struct replacing *r)
{
	struct member *m = NULL;
	bool is;

	is = !fus_member_at(r->disk[NEW].devno, &m) && m && fus_has_super(m) &&
	     m->sb->incompat & FUSION_INCOMPAT_OLD_MEMBER &&
	     (m->sb->old.state == FUSION_OLD_PREPARED ||
	      m->sb->old.state == FUSION_OLD_JOINING) &&
	     !memcmp(m->sb->set_uuid, r->sb.set_uuid, 16);
	fus_free_members(m);
	return is;
}

int replace_check_new(struct replacing *r)
{
	const struct device *new = &r->disk[NEW];
	struct user user;
	bool found;
	int rc;

	rc = check_place(r);
	if (!rc && new->read_only)
		rc = fus_fail(FC_MEMBER, new->path, "is read-only; choose a writable device");
	if (!rc)
		rc = check_size(r);
	if (!rc)
		rc = check_blocks(r);
	if (!rc && fus_device_user(new->devno, &user))
		rc = fus_fail_busy(new->path, &user);
	if (!rc && r->m[FAST] && r->m[SLOW] &&
	    r->m[FAST]->sb->layout_seq != r->m[SLOW]->sb->layout_seq)
		rc = fus_fail(FC_BUSY, r->name, "the slow member does not know yet how large the "
			      "set has become; run fusionctl checkpoint %s, and try again",
			      r->name);
	if (rc || is_prepared(r))
		return rc;
	return fus_probe_signature(new, &found, r->content, sizeof(r->content));
}

int replace_look_for_doubts(struct replacing *r)
{
	struct device old[2], new[2];
	int rc;

	rc = get_by_number(r->set.member[!r->role], &old[!r->role]);
	if (rc)
		return rc;
	old[r->role] = r->disk[OLD];
	new[!r->role] = old[!r->role];
	new[r->role] = r->disk[NEW];
	r->doubts = new_set_doubts(new) & ~new_set_doubts(old);
	if (!r->a->opt[OPT_JSON])
		new_set_tell_doubts(r->name, new, r->doubts);
	fus_device_put(&old[!r->role]);
	return 0;
}
