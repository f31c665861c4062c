// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb adopt: a disk with content becomes a member of a new set, which then has that content.
 * meta/transit.h describes the steps. All refusals come before the first byte is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "adopt.h"
#include "activate.h"
#include "ask.h"
#include "backup.h"
#include "busy.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "host.h"
#include "in-transit.h"
#include "json.h"
#include "new-set.h"
#include "output.h"
#include "record.h"
#include "role.h"
#include "set-json.h"
#include "size.h"
#include "verb.h"
#include "write.h"

struct plan {
	struct adopt_devices d;
	struct fus_content content;
	char other_content[CONTENT_TEXT];
	unsigned int doubts;
	struct transit t;
};

/* -- the two devices ------------------------------------------------------------------------- */

/* Its content may be in use, and changes until the next boot. */
static int open_shared(const struct device *dev, int *fd)
{
	*fd = fus_device_open(dev, O_RDONLY);
	return *fd >= 0 ? 0 : fus_fail(FC_FAILED, dev->path, "cannot open: %s; check the device",
				       strerror(errno));
}

int adopt_get(const char *disk, const char *other, bool at_boot, struct adopt_devices *d)
{
	const char *const path[2] = { disk, other };
	int rc = 0;

	for (int i = 0; i < 2 && !rc; i++)
		rc = fus_device_get(path[i], &d->dev[i]);
	if (!rc)
		rc = new_set_check_devices(d->dev);
	/* the content may rely on smaller ones; the set has the larger ones of its members */
	if (!rc && d->dev[1].block_bytes > d->dev[0].block_bytes)
		rc = fus_fail(FC_MEMBER, other, "has logical blocks of %u bytes, %s has some of "
			      "%u; choose another device, or reformat it with smaller blocks, as "
			      "nvme format does", d->dev[1].block_bytes, disk,
			      d->dev[0].block_bytes);
	if (!rc)
		rc = at_boot ? open_shared(&d->dev[0], &d->fd[0]) :
			       fus_device_claim(&d->dev[0], &d->fd[0]);
	return rc ? rc : fus_device_claim(&d->dev[1], &d->fd[1]);
}

/* The exclusive opens have to end before the kernel can have the devices. */
static void release(struct adopt_devices *d)
{
	for (int i = 0; i < 2; i++) {
		if (d->fd[i] >= 0)
			close(d->fd[i]);
		d->fd[i] = -1;
	}
}

void adopt_put(struct adopt_devices *d)
{
	release(d);
	for (int i = 0; i < 2; i++)
		fus_device_put(&d->dev[i]);
}

int adopt_open_one(const struct device *dev, struct offline *o)
{
	*o = (struct offline){
		.path = dev->path, .fd = fus_device_open(dev, O_RDWR | O_DIRECT),
		.sectors = dev->sectors, .block_bytes = dev->block_bytes, .devno = dev->devno,
	};
	return o->fd >= 0 ? 0 : fus_fail(FC_FAILED, dev->path, "cannot open: %s; check the device",
					 strerror(errno));
}

int adopt_open(const struct adopt_devices *d, struct transit *t)
{
	int rc;

	t->o[0] = (struct offline){ .fd = -1 };
	t->o[1] = (struct offline){ .fd = -1 };
	rc = adopt_open_one(&d->dev[0], &t->o[0]);
	return rc ? rc : adopt_open_one(&d->dev[1], &t->o[1]);
}

void adopt_close(struct transit *t)
{
	for (int i = 0; i < 2; i++) {
		if (t->o[i].fd >= 0)
			close(t->o[i].fd);
		t->o[i].fd = -1;
	}
}

/* -- output ---------------------------------------------------------------------------------- */

static uint64_t copied_bytes(const struct transit *t)
{
	return (uint64_t)t->moved * t->sb.extent_sectors << 9;
}

void adopt_print(const struct args *a, const char *name, const struct transit *t,
		 const char *content, const char *other_content, bool open, unsigned int warnings)
{
	const bool dry_run = a->opt[OPT_DRY_RUN];
	const bool begins = !a->opt[OPT_RESUME] && !a->opt[OPT_ABORT];
	const char *const path[2] = { t->o[FAST].path, t->o[SLOW].path };
	struct json_object *o = fus_json_base();
	char contents[2][CONTENT_TEXT];
	struct fusion_sb fast;

	fus_transit_sb(t, FAST, &fast);
	/* each run would draw new ones */
	if (dry_run && begins) {
		uuid_clear(fast.set_uuid);
		uuid_clear(fast.dev_uuid);
		uuid_clear(fast.peer_uuid);
	}
	snprintf(contents[t->disk], CONTENT_TEXT, "%s", content);
	snprintf(contents[t->other], CONTENT_TEXT, "%s", other_content);
	fus_json_add_bool(o, "dry_run", dry_run);
	fus_json_add_str(o, "action", a->opt[OPT_ABORT] ? "abort" : a->opt[OPT_RESUME] ? "resume" :
			 a->opt[OPT_AT_BOOT] ? "plan" : "adopt");
	fus_json_add_set(o, name, open, &fast, path);
	fus_json_add_contents(o, contents);
	fus_json_add_str(o, "adopted", fus_role_name[t->disk]);
	fus_json_add_u64(o, "copied_bytes", copied_bytes(t));
	fus_json_add_u64(o, "landing_bytes",
			 (uint64_t)t->sb.stale_places * t->sb.extent_sectors << 9);
	json_object_object_add(o, "warnings", new_set_doubts_json(warnings));
	print_json(o, false);
}

static void show(const struct plan *p, const char *name, bool dry_run, bool at_boot)
{
	const struct device *disk = &p->d.dev[p->t.disk], *other = &p->d.dev[p->t.other];
	const uint64_t bytes = fusion_sb_sectors(&p->t.sb) << 9;
	char size[3][SIZE_TEXT], erased[CONTENT_TEXT + 32] = "";

	if (*p->other_content)
		snprintf(erased, sizeof(erased), ", with %s on it", p->other_content);
	printf("%s: %s, %s, %s where it is\n", disk->path, p->content.text,
	       fus_size_text(size[0], disk->sectors << 9), dry_run ? "would stay" : "stays");
	printf("%s: %s of that %s copied to it%s, and it %s erased%s\n", other->path,
	       fus_size_text(size[1], copied_bytes(&p->t)), dry_run ? "would be" : "are",
	       at_boot ? " at the next boot" : "", dry_run ? "would be" : "is", erased);
	printf("%s: %s, %u extents of %s, with that content\n", name,
	       fus_size_text(size[2], bytes), p->t.sb.nr_lexts,
	       fus_size_text(size[0], (uint64_t)p->t.sb.extent_sectors << 9));
	if (p->t.sb.stale_places)
		new_set_show_landing(&p->t.sb, p->t.sb.stale_places);
}

int adopt_ready(const char *name, const struct adopt_devices *d, const struct transit *t,
		const char *type, bool json)
{
	struct fusion_sb fast;
	char grow[200];
	int rc;

	fus_transit_sb_after(t, FAST, &fast);
	fus_backup_write(&fast);
	rc = new_set_finish(name, d->dev, true, json);
	if (rc || json)
		return rc;
	adopt_grow_text(type, name, grow, sizeof(grow));
	printf("use it by UUID or as /dev/mapper/%s, and no longer as %s\n", name,
	       d->dev[t->disk].path);
	if (*grow)
		printf("to use all of it: %s; then fstrim, so that free space can move\n", grow);
	return 0;
}

/* -- begin ----------------------------------------------------------------------------------- */

/* In the order of the roles. */
static int settle_roles(struct plan *p, const struct adoption *what, bool silent)
{
	struct adopt_devices *d = &p->d;
	const dev_t disk = d->dev[0].devno;
	struct device tmp;
	int fd, rc;

	if (what->other_is < 0) {
		/* the descriptors follow the devices */
		rc = new_set_roles(d->dev, silent, "name the empty one with --fast or --slow");
		if (rc)
			return rc;
	} else if (what->other_is == FAST) {
		tmp = d->dev[0];
		d->dev[0] = d->dev[1];
		d->dev[1] = tmp;
	}
	d->disk = d->dev[FAST].devno == disk ? FAST : SLOW;
	if (d->disk == SLOW) {
		fd = d->fd[0];
		d->fd[0] = d->fd[1];
		d->fd[1] = fd;
	}
	return 0;
}

/* The smallest size of an extent that is left, if a smaller one may help. */
static int no_room(const struct plan *p)
{
	const struct transit *t = &p->t;
	const uint64_t es = (uint64_t)t->sb.extent_sectors << 9;
	char need[SIZE_TEXT], room[SIZE_TEXT];

	return fus_fail(FC_MEMBER, p->d.dev[t->other].path, "has room for %s, and %s of %s have to "
			"be copied to it; use a larger device%s%s",
			fus_size_text(room, fus_transit_room(t) * es),
			fus_size_text(need, copied_bytes(t)), p->d.dev[t->disk].path,
			t->sb.extent_sectors > FUSION_MIN_EXTENT_SECTORS ? ", or smaller extents: "
			"--extent-size" : "", t->sb.stale_places ? ", or a smaller --landing" : "");
}

static int check_other(const struct args *a, struct plan *p)
{
	const struct device *dev = &p->d.dev[!p->d.disk];
	bool found;
	int rc;

	rc = fus_probe_signature(dev, &found, p->other_content, sizeof(p->other_content));
	return rc ? rc : check_may_go(a, dev->path, p->other_content);
}

static int prepare(const struct args *a, const struct adoption *what, struct plan *p)
{
	unsigned int version[3];
	struct fusion_sb fast;
	bool found;
	int rc;

	memset(&fast, 0, sizeof(fast));
	rc = fus_check_name(what->name);
	if (!rc)
		rc = adopt_get(what->disk, what->other, what->at_boot, &p->d);
	if (!rc)
		rc = settle_roles(p, what, a->opt[OPT_JSON]);
	if (!rc)
		rc = new_set_plan(what->name, p->d.dev, what->extent_sectors, what->landing, &fast);
	if (!rc)
		rc = check_name_free(what->name);
	if (!rc)
		rc = adopt_check_content(&p->d.dev[p->d.disk], p->d.fd[p->d.disk], &p->content);
	if (!rc && what->at_boot)
		rc = adopt_check_boot(&p->d.dev[p->d.disk]);
	if (!rc)
		rc = check_other(a, p);
	if (!rc) {
		p->doubts = new_set_doubts(p->d.dev);
		for (int i = 0; i < 2; i++)
			p->t.o[i].path = p->d.dev[i].path;
		if (!fus_transit_plan(&p->t, &fast, p->d.disk, &p->content))
			rc = no_room(p);
	}
	/* before anything is written: afterwards only a set has the content */
	return rc ? rc : fus_dm_target_version(true, version, &found);
}

static int ask(const struct plan *p, const char *name)
{
	const char *disk = p->d.dev[p->t.disk].path, *other = p->d.dev[p->t.other].path;
	char nobody[512], question[1024];

	snprintf(nobody, sizeof(nobody), "%s would be erased, and %s become a member", other, disk);
	snprintf(question, sizeof(question), "%s will be erased%s%s, and %s become a member of %s, "
		 "with its content", other, *p->other_content ? ", with " : "", p->other_content,
		 disk, name);
	return confirm(name, nobody, question);
}

/* Until the signatures go, it can be given up. */
static int do_steps(struct plan *p, const char *name)
{
	struct transit *t = &p->t;
	sigset_t before;
	int rc;

	rc = fus_transit_prepare(t);
	if (rc) {
		if (!fus_transit_discard(t))
			fus_warn(t->o[t->disk].path, "is as it was; nothing was written to it");
		return rc;
	}
	hold_ending_signals(&before);
	rc = fus_transit_commit(t);
	if (!rc)
		rc = fus_transit_finish(t);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (rc)
		fus_warn(name, "is in transit; run fusionctl adopt %s --resume, or --abort", name);
	return rc;
}

static void tell_plan(const struct plan *p, const char *name)
{
	printf("%s is adopted at the next boot, before it is mounted: run update-initramfs -u -k "
	       "all, and reboot\nto cancel that: fusionctl adopt %s --abort\n",
	       p->d.dev[p->t.disk].path, name);
}

static int carry_out(struct plan *p, const struct adoption *what, bool json)
{
	const char *name = what->name;
	int rc, lock = -1;

	rc = fus_host_watch_devices(p->d.dev, 2);
	/* a missing lock is found before anything is erased */
	if (!rc)
		rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	fus_run_unlock(&lock);
	if (!rc)
		rc = fus_erase(&p->d.dev[p->t.other], p->d.fd[p->t.other]);
	/* a plan writes to the other one only, and the disk may be mounted */
	if (!rc)
		rc = what->at_boot ? adopt_open_one(&p->d.dev[p->t.other], &p->t.o[p->t.other]) :
				     adopt_open(&p->d, &p->t);
	/* not before: the discard of an SSD may take minutes, and other sets wait for the lock */
	if (!rc)
		rc = fus_run_lock(ASSEMBLY_LOCK, &lock);
	if (!rc)
		rc = what->at_boot ? fus_transit_write_plan(&p->t) : do_steps(p, name);
	adopt_close(&p->t);
	release(&p->d);
	if (!rc && what->at_boot && !json)
		tell_plan(p, name);
	else if (!rc && !what->at_boot)
		rc = adopt_ready(name, &p->d, &p->t, p->content.type, json);
	fus_run_unlock(&lock);
	return rc;
}

int adopt_begin(const struct args *a, const struct adoption *what)
{
	struct plan p = { .d.fd = { -1, -1 }, .t.o = { { .fd = -1 }, { .fd = -1 } } };
	const bool json = a->opt[OPT_JSON], dry_run = a->opt[OPT_DRY_RUN];
	int rc;

	rc = prepare(a, what, &p);
	if (!rc && !json) {
		show(&p, what->name, dry_run, what->at_boot);
		new_set_tell_doubts(what->name, p.d.dev, p.doubts);
	}
	if (!rc && !dry_run) {
		rc = a->opt[OPT_YES] ? 0 : ask(&p, what->name);
		if (!rc)
			rc = carry_out(&p, what, json);
	}
	if (!rc && json)
		adopt_print(a, what->name, &p.t, p.content.text, p.other_content,
			    !dry_run && !what->at_boot, p.doubts);
	adopt_put(&p.d);
	return rc;
}

int cmd_adopt(const struct args *a)
{
	const char *given[2] = { a->opt[OPT_FAST], a->opt[OPT_SLOW] };
	struct adoption what = { .name = a->word[0], .other_is = -1 };
	int rc;

	rc = transit_check_options(a);
	if (rc)
		return rc;
	if (a->opt[OPT_RESUME] || a->opt[OPT_ABORT])
		return adopt_go_on(a, false);
	if (given[FAST] && given[SLOW])
		return fus_fail(FC_USAGE, "--slow", "cannot be combined with --fast; name the disk "
				"with the content alone, and the other one with its role");
	what.other_is = given[FAST] ? FAST : given[SLOW] ? SLOW : -1;
	if (a->n != (what.other_is < 0 ? 3 : 2))
		return fus_fail(FC_USAGE, "adopt", "needs a name, the disk with the content, and "
				"another device; see fusionctl help adopt");
	what.at_boot = a->opt[OPT_AT_BOOT];
	what.landing = a->opt[OPT_LANDING];
	what.disk = a->word[1];
	what.other = what.other_is < 0 ? a->word[2] : given[what.other_is];
	rc = parse_extent_size(a->opt[OPT_EXTENT_SIZE], &what.extent_sectors);
	return rc ? rc : adopt_begin(a, &what);
}
