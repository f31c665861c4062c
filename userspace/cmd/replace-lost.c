// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb replace, with --lost: the fast member of a closed set is gone for good, and a new disk takes
 * its place, with what the slow member has of the set. lost.h tells what becomes of the rest.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replace.h"
#include "ask.h"
#include "busy.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "host.h"
#include "lost.h"
#include "meta-base.h"
#include "meta-shadow.h"
#include "new-set.h"
#include "record.h"
#include "role.h"
#include "salvage.h"
#include "size.h"
#include "text.h"
#include "verb.h"
#include "write.h"

struct losing {
	const struct args *a;
	struct meta meta;		/* of the slow member; of the new disk in the end */
	struct rebuild rb;
	struct salvage s;
	struct lost_plan plan;
	struct device dev[2];		/* the new disk, and the slow member */
	char slow[PATH_MAX];
	char label[FUSION_LABEL_SIZE * 4 + 1];
	char content[CONTENT_TEXT];	/* of the new disk, or "" */
};

/* -- which slow member ------------------------------------------------------------------------- */

static int refuse_present(const struct member *slow, const struct member *fast)
{
	return fus_fail(FC_REFUSED, fast->path, "is the fast member, and not lost; to replace it, "
			"open the set and run fusionctl replace NAME %s NEW; to go on with what is "
			"on %s alone, disconnect it first", fast->path, slow->path);
}

/* By the name of the set, or by its own; the fast member must not be there. */
static int find_slow(struct losing *l, const char *word)
{
	struct member *list = NULL, *m = NULL, *fast = NULL, *slow = NULL;
	const bool is_path = strchr(word, '/');
	struct stat st;
	int rc;

	if (is_path && (stat(word, &st) || !S_ISBLK(st.st_mode)))
		return fus_fail(FC_MEMBER, word, "is no block device; name the slow member, or the "
				"set");
	rc = fus_scan_members(&list);
	if (!rc && is_path)
		for (m = list; m && m->devno != st.st_rdev; m = m->next)
			;
	else if (!rc)
		rc = fus_find_named(list, word, &m);
	if (!rc && !m)
		rc = fus_fail(FC_MEMBER, word, "is no member of a set; fusionctl list shows them");
	if (!rc)
		rc = fus_check_member(m);
	/* by a name either may be found */
	if (!rc && m->sb->role == FUSION_FAST)
		rc = fus_find_member(list, m->sb->peer_uuid, &slow);
	if (!rc && m->sb->role == FUSION_FAST && (!slow || is_path))
		rc = fus_fail(FC_REFUSED, m->path, "is the fast member, which has the map; name "
			      "the slow one, or see what this one has: fusionctl salvage %s",
			      m->path);
	if (!rc && slow)
		m = slow;
	if (!rc)
		rc = fus_find_member(list, m->sb->peer_uuid, &fast);
	if (!rc && fast)
		rc = refuse_present(m, fast);
	if (!rc)
		snprintf(l->slow, sizeof(l->slow), "%s", is_path ? word : m->path);
	fus_free_members(list);
	return rc;
}

/*
 * Blocks that were newer there would go on as older ones that look intact: the list of them is of
 * some time before, if there is one at all. What salvage makes read errors of is for people to see.
 */
static int refuse_landing(const struct meta *meta)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, SLOW);

	if (!sb || !(sb->incompat & FUSION_INCOMPAT_LANDING))
		return 0;
	return fus_fail(FC_REFUSED, sb->label, "had a landing log on its fast member, and it is "
			"unknown which blocks had their newest version only there; copy what "
			"fusionctl salvage %s has to a new set, and with --stale the older "
			"versions", meta->m[SLOW].o.path);
}

static int read_slow(struct losing *l)
{
	struct meta *meta = &l->meta;
	int rc;

	rc = fus_device_get(l->slow, &l->dev[SLOW]);
	if (!rc)
		rc = fus_offline_open(l->slow, OFFLINE_WRITE, &meta->m[0].o);
	meta->landing = true;
	if (!rc)
		rc = fus_meta_read(meta);
	if (!rc)
		rc = refuse_landing(meta);
	if (!rc)
		rc = fus_meta_refuse_unknown(meta);
	if (!rc)
		rc = fus_meta_refuse_apart(meta);
	if (!rc)
		rc = fus_meta_refuse_old(meta, "opened without its fast member");
	if (!rc && !fus_meta_sb(meta, SLOW))
		rc = fus_fail(FC_DAMAGED, l->slow, "has no valid superblock; see fusionctl help "
			      "restore");
	if (!rc)
		rc = fus_rebuild_state(meta, SLOW, &l->rb);
	if (!rc)
		rc = fus_salvage_plan(meta, &l->rb, &l->s);
	if (!rc)
		rc = fus_lost_plan(meta, &l->rb, l->a->opt[OPT_STALE], &l->plan);
	if (!rc)
		fus_safe_text(l->label, sizeof(l->label), fus_meta_sb(meta, SLOW)->label,
			      FUSION_LABEL_SIZE, fus_utf8_output());
	return rc;
}

/*
 * The heartbeat, which would tell whether another machine has the set open, is on the fast member;
 * that machine may still have it.
 */
static int check_host(const struct losing *l)
{
	const struct fusion_sb *sb = fus_meta_sb(&l->meta, SLOW);
	unsigned char here[16];
	char text[HOST_TEXT];

	fus_host_id(here);
	if (l->a->opt[OPT_FORCE] || sb->flags & FUSION_SB_CLEAN ||
	    !memcmp(sb->host_id, here, sizeof(here)) || !fus_host_text(sb, text, sizeof(text)))
		return 0;
	return fus_fail(FC_REFUSED, l->label, "was not closed by %s; if that machine does not use "
			"it any more, add --force", text);
}

/* -- the new disk ----------------------------------------------------------------------------- */

static int check_size(const struct losing *l)
{
	const struct fusion_sb *sb = fus_meta_sb(&l->meta, SLOW);
	const struct device *new = &l->dev[FAST];
	const u64 want = sb->fast_data_start + (u64)sb->nr_fast_slots * sb->extent_sectors +
			 FUSION_GUARD_SECTORS;
	char has[SIZE_TEXT], wants[SIZE_TEXT];

	if (new->sectors >= want)
		return 0;
	return fus_fail(FC_MEMBER, new->path, "has only %s (%llu sectors), and the set needs a "
			"fast member of %s (%llu); use a larger device",
			fus_size_text(has, new->sectors << 9), (unsigned long long)new->sectors,
			fus_size_text(wants, want << 9), (unsigned long long)want);
}

/* One that was written by this command, which then was interrupted, has nothing else on it. */
static bool is_begun(const struct losing *l)
{
	struct member *m = NULL;
	bool is = !fus_member_at(l->dev[FAST].devno, &m) && m && fus_has_super(m) &&
		  fus_lost_begun(fus_meta_sb(&l->meta, SLOW), m->sb);

	fus_free_members(m);
	return is;
}

/*
 * If the newer superblock copy is gone, slots may have other content than the map that is left
 * says. After an update that was cut short, or this command, the older one is as good.
 */
static int check_age(const struct losing *l)
{
	const struct fusion_sb *sb = fus_meta_sb(&l->meta, SLOW);
	const struct meta_member *m = &l->meta.m[SLOW];
	const struct meta_copy *other = &m->copy[!m->best];

	if (l->a->opt[OPT_FORCE] || sb->flags & FUSION_SB_CLEAN || !other->err ||
	    !fus_newer_copy(&l->meta, SLOW, sb->set_generation))
		return 0;
	return fus_fail(FC_REFUSED, l->slow, "has a newer map, and not the superblock that names "
			"it, so some extents may get the content of others; to go on with the older "
			"map, add --force");
}

static int check_new(struct losing *l)
{
	const struct device *new = &l->dev[FAST];
	struct user user;
	bool found;
	int rc = 0;

	if (fus_device_same(new, &l->dev[SLOW]))
		return fus_fail(FC_MEMBER, new->path, "is the slow member; name another device");
	if (new->base == l->dev[SLOW].base)
		return fus_fail(FC_REFUSED, new->path, "is on the same disk as the slow member; "
				"choose another one");
	if (new->read_only)
		return fus_fail(FC_MEMBER, new->path, "is read-only; choose a writable device");
	if (!fusion_block_size_fits(new->block_bytes) ||
	    new->block_bytes > l->dev[SLOW].block_bytes)
		return fus_fail(FC_MEMBER, new->path, "has logical blocks of %u bytes, and the "
				"slow member has blocks of %u; choose another device, or reformat "
				"it with smaller blocks, as nvme format does", new->block_bytes,
				l->dev[SLOW].block_bytes);
	rc = check_size(l);
	if (!rc && fus_device_user(new->devno, &user))
		rc = fus_fail_busy(new->path, &user);
	if (rc || is_begun(l))
		return rc;
	rc = check_age(l);
	if (rc)
		return rc;
	rc = fus_probe_signature(new, &found, l->content, sizeof(l->content));
	return rc || l->a->opt[OPT_DRY_RUN] ? rc : check_may_go(l->a, new->path, l->content);
}

/* -- what it costs ---------------------------------------------------------------------------- */

static void show(const struct losing *l)
{
	const struct fusion_sb *sb = fus_meta_sb(&l->meta, SLOW);
	const struct lost_plan *p = &l->plan;
	const u64 shadows = (u64)p->shadows * sb->extent_sectors;
	const u64 outdated = (u64)p->outdated * sb->extent_sectors;
	char text[SIZE_TEXT], extents[EXTENTS_TEXT], when[WHEN_TEXT];

	printf("%s: %s intact, ", l->label, fus_size_text(text, l->s.sectors[PART_INTACT] << 9));
	if (shadows)
		printf("%s in shadows as of %s, ", fus_size_text(text, shadows << 9),
		       fus_when_text(when, l->s.point));
	printf("%s lost in %s\n", fus_size_text(text, p->lost_sectors << 9),
	       fus_extents_text(extents, p->lost, sb->extent_sectors));
	if (p->unknown_sectors)
		printf("%s: of what is lost, %s had not been written as of %s, and may have been "
		       "since\n", l->label, fus_size_text(text, p->unknown_sectors << 9),
		       fus_when_text(when, sb->write_time));
	if (outdated)
		printf("%s: %s %s\n", l->label, fus_size_text(text, outdated << 9),
		       l->a->opt[OPT_STALE] ? "get an older content, from outdated shadows" :
		       "of what is lost has an older version, which is outdated: see --stale");
}

static int ask(const struct losing *l)
{
	const char *new = l->dev[FAST].path;
	char ident[160], nobody[1024], question[1536], lost[SIZE_TEXT];

	fus_device_ident(&l->dev[FAST], ident, sizeof(ident));
	fus_size_text(lost, l->plan.lost_sectors << 9);
	snprintf(nobody, sizeof(nobody), "%s would be erased%s%s, and %s of %s given up", new,
		 *l->content ? ", with " : "", l->content, lost, l->label);
	snprintf(question, sizeof(question), "%s%s%s%s will be erased%s%s, and become the fast "
		 "member of %s; %s are given up", new, *ident ? " (" : "", ident, *ident ? ")" : "",
		 *l->content ? ", with " : "", l->content, l->label, lost);
	return confirm(l->label, nobody, question);
}

/* -- doing it --------------------------------------------------------------------------------- */

static int erase(const struct losing *l)
{
	int fd = -1, rc = fus_device_claim(&l->dev[FAST], &fd);

	if (!rc)
		rc = fus_erase(&l->dev[FAST], fd);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int verify(struct losing *l)
{
	char text[320];
	int rc = fus_meta_read_again(&l->meta);

	if (!rc && fus_meta_has_errors(&l->meta, text, sizeof(text)))
		rc = fus_fail(FC_FAILED, l->label, "was written, and reads wrong: %s; run "
			      "fusionctl check %s", text, l->label);
	return rc;
}

static int write_it(struct losing *l)
{
	struct meta *meta = &l->meta;
	struct fusion_disk_ident ident;
	int rc, lock = -1;

	/* what is to be erased may be in use elsewhere */
	rc = fus_host_watch_devices(&l->dev[FAST], 1);
	/* nothing may open it before all is written */
	if (!rc)
		rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	if (!rc)
		rc = erase(l);
	if (!rc)
		rc = fus_offline_open(l->dev[FAST].path, OFFLINE_WRITE, &meta->m[FAST].o);
	memset(&ident, 0, sizeof(ident));
	fus_ident_set(&ident, &l->dev[FAST]);
	if (!rc)
		rc = fus_lost_write(meta, &l->plan, &ident);
	if (!rc)
		rc = verify(l);
	if (!rc)
		fus_meta_keep_closed(meta);
	if (!rc)
		fus_meta_backup(meta);
	fus_run_unlock(&lock);
	return rc;
}

static int carry_out(struct losing *l)
{
	int rc = l->a->opt[OPT_YES] ? 0 : ask(l);

	if (rc)
		return rc;
	/* to the end, so that what the set has become is told */
	hold_ending_signals(NULL);
	rc = write_it(l);
	if (!rc)
		printf("%s has %s as its fast member; now: fusionctl open %s, then check its file "
		       "system, and run fstrim\n", l->label, l->dev[FAST].path, l->label);
	return rc;
}

int cmd_replace_lost(const struct args *a)
{
	struct losing l = { .a = a, .meta.m = { { .o.fd = -1 }, { .o.fd = -1 } } };
	int rc;

	if (a->n != 2)
		return fus_fail(FC_USAGE, "--lost", "goes with the set, or its slow member, and "
				"the new disk; name both");
	for (unsigned int i = 0; i < OPT_NR; i++)
		if (a->opt[i] && (i == OPT_ABORT || i == OPT_WAIT || i == OPT_NO_WAIT ||
				  i == OPT_FILES || i == OPT_JSON))
			return fus_fail(FC_USAGE, "--lost", "goes without --%s; leave that out",
					options[i].name);
	rc = find_slow(&l, a->word[0]);
	if (!rc)
		rc = fus_device_get(a->word[1], &l.dev[FAST]);
	if (!rc)
		rc = read_slow(&l);
	if (!rc)
		rc = check_host(&l);
	if (!rc)
		rc = check_new(&l);
	if (!rc) {
		new_set_tell_doubts(l.label, l.dev, new_set_doubts(l.dev));
		show(&l);
	}
	if (!rc && !a->opt[OPT_DRY_RUN])
		rc = carry_out(&l);
	for (int i = 0; i < 2; i++)
		fus_device_put(&l.dev[i]);
	fus_lost_plan_free(&l.plan);
	fus_salvage_free(&l.s);
	fus_rebuild_free(&l.rb);
	fus_meta_free(&l.meta);
	return rc;
}
