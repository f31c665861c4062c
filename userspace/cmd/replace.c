// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb replace: another disk takes the place of a member, while the set is in use. One command
 * begins that, follows it, and ends it; given again it goes on where it was. replace.h tells how.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "replace.h"
#include "ask.h"
#include "backup.h"
#include "busy.h"
#include "error.h"
#include "fusionctl.h"
#include "gpt.h"
#include "hold-signals.h"
#include "host.h"
#include "meta.h"
#include "old-member.h"
#include "record.h"
#include "role.h"
#include "size.h"
#include "super.h"
#include "trio.h"
#include "verb.h"
#include "write.h"

/* -- the disks ------------------------------------------------------------------------------- */

/* Until the end of this NEW is no member, and nothing of the set has changed. */
static int prepare(struct replacing *r)
{
	const struct device *new = &r->disk[NEW];
	struct offline o = { .path = new->path, .fd = -1, .sectors = new->sectors };
	struct fusion_disk_ident ident;
	struct fusion_sb sb;
	int fd = -1, rc;

	memset(&ident, 0, sizeof(ident));
	fus_ident_set(&ident, new);
	fus_prepared_sb(&r->sb, new->sectors, &ident, &sb);
	rc = fus_device_claim(new, &fd);
	if (!rc)
		rc = fus_erase(new, fd);
	if (!rc) {
		o.fd = fus_device_open(new, O_RDWR | O_DIRECT);
		rc = o.fd < 0 ? fus_fail(FC_FAILED, new->path, "cannot be opened for writing; see "
					 "dmesg") : fus_prepare(&o, &sb);
	}
	if (o.fd >= 0)
		close(o.fd);
	/* the kernel wants it to itself */
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Backup, and what assembly remembers: another disk is a member now. */
static void tell_others(const struct replacing *r)
{
	struct member *m[2] = { NULL, NULL };

	fus_backup_changed(r->set.member[FAST]);
	for (int dev = 0; dev < 2; dev++)
		if (!fus_member_at(r->set.member[dev], &m[dev]) && m[dev] &&
		    fus_has_identity(m[dev]))
			fus_record_write(m[dev]);
	if (m[FAST] && m[SLOW] && fus_has_identity(m[FAST]) && fus_has_identity(m[SLOW]))
		fus_opened_write(m[FAST], m[SLOW]);
	for (int dev = 0; dev < 2; dev++)
		fus_free_members(m[dev]);
}

/* Is a disk that was replaced before this command began, and cannot know that? */
static bool is_unaware(const struct replacing *r)
{
	return r->found && fus_has_identity(r->found) &&
	       fus_was_replaced(r->found->sb, &r->sb);
}

/* Return: whether it was reused since, and one of its superblocks is still there. */
static bool is_reused(const struct member *m)
{
	return m && m->state == MEMBER_COVERED;
}

static int check_again(const struct device *dev, bool *reused)
{
	struct member *m = NULL;
	int err = fus_member_at(dev->devno, &m);

	*reused = is_reused(m);
	fus_free_members(m);
	return err ? fus_fail(FC_FAILED, dev->path, "cannot be read; check the device") : 0;
}

/*
 * Only a disk that says itself that nothing of the set is on it is erased. If it has left before
 * this command, it may have other content by now; from the claim on, nothing new comes there.
 */
static int wipe(struct replacing *r, const struct device *dev)
{
	struct offline o = { .path = dev->path, .fd = -1, .sectors = dev->sectors };
	enum fus_parting parting = FUS_NOT_PARTED;
	bool reused = false;
	int fd = -1, rc;

	rc = fus_device_claim(dev, &fd);
	if (!rc && r->over)
		rc = check_again(dev, &reused);
	if (!rc && !reused) {
		o.fd = fus_device_open(dev, O_RDWR | O_DIRECT);
		rc = o.fd < 0 ? fus_fail(FC_FAILED, dev->path, "cannot be opened for writing; see "
					 "dmesg") : fus_parting(&o, r->sb.set_uuid, &parting);
	}
	if (!rc && r->over && parting == FUS_PARTED_COVERED) {
		fus_warn(dev->path, "has left %s, but may have other content by now, and is not "
			 "wiped; to erase that, run fusionctl wipe %s", r->name, dev->path);
	} else if (!rc && (parting == FUS_PARTED || parting == FUS_PARTED_COVERED)) {
		rc = fus_part(&o);
		r->wiped = !rc;
	} else if (!reused && !rc && parting == FUS_NOT_PARTED && (!r->over || is_unaware(r))) {
		fus_warn(dev->path, "could not be told that it has left %s, and is not wiped; to "
			 "use it for something else, run fusionctl wipe %s", r->name, dev->path);
	}
	if (o.fd >= 0)
		close(o.fd);
	if (fd >= 0)
		close(fd);
	if (r->wiped)
		fus_gpt_tell_mark(dev);
	return rc;
}

/* -- the steps -------------------------------------------------------------------------------- */

static int ask(const struct replacing *r)
{
	const char *old = r->disk[OLD].path, *new = r->disk[NEW].path;
	char ident[160], nobody[512], question[1024];

	if (r->a->opt[OPT_ABORT]) {
		snprintf(nobody, sizeof(nobody), "what has moved to %s would go back to %s", new,
			 old);
		snprintf(question, sizeof(question), "What has moved to %s will go back to %s", new,
			 old);
	} else {
		fus_device_ident(&r->disk[NEW], ident, sizeof(ident));
		snprintf(nobody, sizeof(nobody), "%s would be erased%s%s", new, *r->content ?
			 ", with " : "", r->content);
		snprintf(question, sizeof(question), "%s%s%s%s will be erased%s%s, and replace the "
			 "%s member %s", new, *ident ? " (" : "", ident, *ident ? ")" : "",
			 *r->content ? ", with " : "", r->content, fus_role_name[r->role], old);
	}
	return confirm(r->name, nobody, question);
}

static int begin(struct replacing *r)
{
	int rc, lock = -1;

	/* what is to be erased may be in use elsewhere */
	rc = fus_host_watch_devices(&r->disk[NEW], 1);
	/* no other command may take NEW meanwhile */
	if (!rc)
		rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	if (!rc)
		rc = prepare(r);
	fus_run_unlock(&lock);
	if (!rc)
		rc = replace_join(r);
	if (!rc) {
		r->begun = true;
		tell_others(r);
	}
	return rc;
}

static int take_back(struct replacing *r)
{
	int rc = replace_take_back(r);

	if (!rc) {
		r->back = true;
		r->begun = true;
		tell_others(r);
	}
	return rc;
}

/* What cannot be read stays on the old member. */
static int fail_unreadable(const struct replacing *r)
{
	char nr[EXTENTS_TEXT];

	return fus_fail(FC_FAILED, r->name, "%s cannot be read on %s; discard or overwrite what is "
			"there, or run fusionctl replace %s --wait to try again",
			fus_extents_text(nr, r->set.st.old.left, r->sb.extent_sectors),
			replace_going(r)->path, r->name);
}

/* Return: 0, also if only what cannot be read is left: r->ended tells. */
static int follow(struct replacing *r)
{
	int rc = r->a->opt[OPT_WAIT] ? replace_retry(r) : 0;

	if (!rc)
		rc = replace_follow(r);
	if (!rc && !r->set.st.old.left) {
		rc = replace_leave(r);
		r->ended = !rc;
		if (!rc)
			tell_others(r);
		if (!rc)
			rc = wipe(r, replace_going(r));
	}
	return rc;
}

static int carry_out(struct replacing *r)
{
	const bool abort = r->a->opt[OPT_ABORT];
	const bool starts = !r->running && !r->over, turns = abort && !r->back;
	int rc = 0;

	/* even if it is in use as that */
	if (r->over && is_reused(r->found))
		return 0;
	/* its wipe was cut short, perhaps, or the set was opened without it */
	if (r->over) {
		hold_ending_signals(NULL);
		return wipe(r, &r->disk[OLD]);
	}
	if ((starts || turns) && !r->a->opt[OPT_YES])
		rc = ask(r);
	/* as when it is opened after a power cut: the kernel has told the old member already */
	if (!rc && turns && r->set.st.old.role < 0)
		return fus_fail(FC_BUSY, r->name, "has nothing on %s any more, which has left it; "
				"run fusionctl replace %s --wait to end that",
				r->disk[OLD].path, r->name);
	/* to the end of the step, so that what the set has become is told */
	hold_ending_signals(NULL);
	if (!rc && starts)
		rc = begin(r);
	else if (!rc && turns)
		rc = take_back(r);
	if (rc || r->a->opt[OPT_NO_WAIT])
		return rc;
	return follow(r);
}

static int print(struct replacing *r, bool dry_run)
{
	int rc = replace_find_lost(r);

	if (!rc && r->a->opt[OPT_JSON])
		return replace_json(r, dry_run);
	if (rc)
		return rc;
	if (dry_run && !r->running && !r->over)
		replace_show_plan(r);
	else
		replace_show(r);
	return replace_show_lost(r);
}

static int check_args(const struct args *a)
{
	const bool abort = a->opt[OPT_ABORT], wait = a->opt[OPT_WAIT];

	if (a->n == 2)
		return fus_fail(FC_USAGE, a->word[1], "is one disk; name the old and the new one");
	if (a->n == 1 && !abort && !wait)
		return fus_fail(FC_USAGE, a->word[0], "names no disks; name the old and the new "
				"one, or give --wait or --abort");
	if (a->n == 3 && abort)
		return fus_fail(FC_USAGE, "--abort", "goes without disks; leave them out");
	if (wait && a->opt[OPT_NO_WAIT])
		return fus_fail(FC_USAGE, "--wait", "and --no-wait exclude each other; leave one "
				"out");
	return a->n == 1 && !abort ? 0 : check_no_question(a);
}

int cmd_replace(const struct args *a)
{
	struct replacing r = { .a = a, .name = a->word[0] };
	const bool dry_run = a->opt[OPT_DRY_RUN];
	int rc, failed = 0;

	if (a->opt[OPT_LOST])
		return cmd_replace_lost(a);
	if (a->opt[OPT_STALE])
		return fus_fail(FC_USAGE, "--stale", "goes with --lost only; leave it out");
	rc = check_args(a);
	if (rc)
		return rc;
	rc = replace_get(&r);
	if (!rc && !r.running && !r.over)
		rc = replace_check_new(&r);
	if (!rc && !dry_run)
		rc = check_may_go(a, r.disk[NEW].path, r.content);
	if (!rc && !r.running && !r.over)
		rc = replace_look_for_doubts(&r);
	if (!rc && !dry_run)
		failed = carry_out(&r);
	/* what has been done is told even if the rest failed */
	if (!rc && (!failed || r.ended))
		rc = print(&r, dry_run);
	rc = rc ? rc : failed;
	if (!rc && !dry_run && !a->opt[OPT_NO_WAIT] && !r.ended && !r.over &&
	    r.set.st.old.unreadable)
		rc = fail_unreadable(&r);
	replace_put(&r);
	return rc;
}
