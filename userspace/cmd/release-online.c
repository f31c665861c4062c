// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb release, of an open set: first the kernel brings the extents to their place, and empties the
 * landing log, which is off from then on: small writes go past it. Then the set is suspended, which
 * closes it, and the rest is as with a closed one, on the members that the suspended device holds:
 * no other program opens them. In the end that device gets a table that leads to the disk. What was
 * frozen on it goes on there.
 *
 * All that may be resumed meanwhile, by any program, is the set as the members have it: its own
 * table is loaded again for that, and the kernel refuses it while the set is in transit. Until
 * then, nothing is written before a look whether the device is still suspended. Verbs that change
 * tables wait for ASSEMBLY_LOCK, and the device is kept open, so it cannot be removed. If power
 * fails, there is a closed set, or one in transit, or a plain disk, as if it had been released
 * closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "release-online.h"
#include "device.h"
#include "drain-log.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "open-content.h"
#include "record.h"
#include "verb.h"
#include "pausing.h"

/* New writes and discards may come between, so it begins again; but not always. */
#define ROUNDS		5
/* Until the disk takes the place of the set: a few seconds. */
#define RETRIES		20
#define RETRY_MS	250
/* Of the map and what is made of it, for an extent; and of all else. */
#define EXTENT_MEMORY	96ULL
#define OTHER_MEMORY	(48ULL << 20)

enum outcome {
	STILL_A_SET,		/* closed, as the members have it */
	TOO_MUCH,		/* the same: more has to move than there is time for */
	RELEASED,
	IN_BETWEEN,		/* in transit, and the way back is blocked; or that is not known */
};

struct rest {
	struct online *o;
	struct releasing r;
	enum outcome outcome;
};

/* -- while it is suspended --------------------------------------------------------------------- */

/* Is there as much time? The disk may be much slower than it is taken for. */
static int check_time(const struct online *o, uint64_t ms)
{
	if (online_now_ms() + ms <= o->until_ms)
		return 0;
	return fus_fail(FC_FAILED, o->set.name, "its I/O would wait for more than %u s, as its "
			"members are too slow; close it, and release it then",
			ONLINE_LONGEST_MS / 1000);
}

/*
 * Nothing may be written once it is not, and only its table keeps others away; nor once its I/O has
 * waited for too long.
 */
static int check_suspended(void *ctx)
{
	const struct online *o = ctx;
	struct mapping m;
	int rc;

	rc = fus_dm_get(o->set.name, NULL, MAPPING_INFO, &m);
	if (!rc && !(m.exists && m.suspended && m.devno == o->set.table.devno))
		rc = fus_fail(FC_BUSY, o->set.name, "was resumed by another program while it was "
			      "to be released; run fusionctl release again");
	return rc ? rc : check_time(o, 0);
}

/* Another machine may have the disks as well, and opens a set that is closed. */
static int check_untouched(const struct releasing *r)
{
	struct meta now = { .landing = true };
	bool same = true;
	int rc;

	for (int dev = 0; dev < 2; dev++)
		now.m[dev] = (struct meta_member){ .o = r->meta.m[dev].o, .best = -1 };
	rc = fus_meta_read_supers(&now);
	for (int dev = 0; dev < 2 && !rc; dev++) {
		const struct fusion_sb *is = fus_meta_sb(&now, dev);
		const struct fusion_sb *was = fus_meta_sb(&r->meta, dev);

		same = same && is && is->generation == was->generation &&
		       is->activation == was->activation &&
		       !memcmp(is->host_id, was->host_id, sizeof(is->host_id));
	}
	/* the members stay open */
	for (int dev = 0; dev < 2; dev++)
		now.m[dev].o = (struct offline){ .fd = -1 };
	fus_meta_free(&now);
	return rc || same ? rc : fus_fail(FC_BUSY, r->t.sb.label, "was changed by another machine "
					  "while it was to be released; see fusionctl list");
}

static int check_same(const struct online *o, const struct releasing *r)
{
	if (!memcmp(r->t.sb.set_uuid, o->set.sb.set_uuid, 16) &&
	    r->content.id == o->r.content.id && r->size == o->r.size)
		return 0;
	return fus_fail(FC_BUSY, o->set.name, "has other content by now; run fusionctl release "
			"again");
}

/*
 * The superblock of the fast member tells what became of it, unless the disk is whole already: then
 * nothing is ever written to it again, whatever the fast member says.
 */
static enum outcome settle(struct releasing *r)
{
	struct transit t = { .o = { r->meta.m[SLOW].o, r->meta.m[FAST].o } };
	enum release_begun begun;
	enum transit_at at;

	if (r->t.whole)
		return RELEASED;
	begun = fus_release_begun(&r->meta.m[FAST].o);
	if (begun != RELEASE_BEGUN)
		return begun == RELEASE_UNKNOWN ? IN_BETWEEN : STILL_A_SET;
	if (fus_transit_read(&t, FUSION_TRANSIT_RELEASE) || fus_transit_judge(&t, &at))
		return IN_BETWEEN;
	if (at != TRANSIT_THERE)
		return fus_release_undo(&t) ? IN_BETWEEN : STILL_A_SET;
	r->t = t;
	return RELEASED;
}

static int do_transit(struct rest *rest)
{
	struct releasing *r = &rest->r;
	const struct fusion_sb *sb[2] = {
		fus_meta_sb(&r->meta, FAST), fus_meta_sb(&r->meta, SLOW)
	};
	int rc;

	for (int dev = 0; dev < 2; dev++)
		r->t.o[dev] = r->meta.m[dev].o;
	rc = check_suspended(rest->o);
	if (!rc)
		rc = fus_release_clear(&r->t);
	if (!rc)
		rc = check_suspended(rest->o);
	/* from here on, only to the end, or back */
	if (!rc)
		rc = check_time(rest->o, online_transit_ms(r));
	if (!rc)
		rc = check_untouched(r);
	if (rc)
		return rc;
	rc = fus_release_begin(&r->t, sb);
	if (!rc)
		rc = fus_release_write(&r->t);
	rest->outcome = rc ? settle(r) : RELEASED;
	return rest->outcome == RELEASED ? 0 : rc;
}

static int carry_out(struct rest *rest)
{
	struct online *o = rest->o;
	struct releasing *r = &rest->r;
	uint64_t late;
	int rc;

	rc = fus_meta_read(&r->meta);
	if (!rc)
		rc = release_prepare(r, o->keep);
	if (!rc)
		rc = check_same(o, r);
	/* that may have changed in the hours of homing */
	if (!rc)
		rc = online_check_reach(o, true);
	if (!rc)
		rc = online_check_pause(o, r);
	if (rc)
		return rc;
	late = r->h.strays + (o->zero ? r->h.blank : 0);
	/* another program may have turned the log on again */
	o->logs_on = r->h.st.log.has.nr;
	if (!online_few(o, late) || o->logs_on) {
		rest->outcome = TOO_MUCH;
		return 0;
	}
	r->h.batch = online_batch(r);
	r->h.may_write = check_suspended;
	r->h.ctx = o;
	rc = fus_homing_run(&r->h, o->zero);
	if (!rc)
		rc = do_transit(rest);
	if (!rc)
		o->r.late += late * o->set.sb.extent_sectors << 9;
	return rc;
}

/* -- suspending it ----------------------------------------------------------------------------- */

/* Opened before: a path may lead through what is frozen. */
static int open_members(struct rest *rest)
{
	int rc = 0;

	for (int dev = 0; dev < 2 && !rc; dev++)
		rc = fus_offline_open(rest->o->set.m[dev]->path, OFFLINE_WRITE_HELD,
				      &rest->r.meta.m[dev].o);
	for (int dev = 0; dev < 2 && !rc; dev++)
		if (rest->r.meta.m[dev].o.devno != rest->o->set.m[dev]->devno)
			rc = fus_fail(FC_MEMBER, rest->o->set.m[dev]->path, "is another device by "
				      "now; run fusionctl release again");
	return rc;
}

static size_t memory(const struct fusion_sb *sb)
{
	return sb->nr_lexts * EXTENT_MEMORY + OTHER_MEMORY +
	       2 * ((size_t)sb->journal_blocks[FAST] + sb->journal_blocks[SLOW]) *
	       FUSION_BLOCK_SIZE;
}

/*
 * The device leads to all of the disk. There is no other way by now, so a lack of memory, which
 * others may give back, is waited for. That table cannot be loaded before: another program that
 * resumed the device would put it in the place of the set.
 */
static int lead_to_disk(const struct rest *rest, struct dm_pause *p)
{
	const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };
	const struct offline *disk = &rest->r.meta.m[SLOW].o;
	char params[40];
	const struct dm_line line = { disk->sectors, "linear", params };
	unsigned int tries = RETRIES;
	int err;

	snprintf(params, sizeof(params), "%u:%u 0", major(disk->devno), minor(disk->devno));
	while ((err = fus_dm_go_on(p, &line)) && --tries)
		nanosleep(&pause, NULL);
	return err;
}

/* Return: 0, or -errno if it stays suspended. */
static int resume(const struct rest *rest, struct dm_pause *p, const struct dm_line *own)
{
	int err;

	if (rest->outcome == RELEASED)
		return lead_to_disk(rest, p);
	err = fus_dm_go_on(p, NULL);
	return err ? fus_dm_go_on(p, own) : 0;
}

static int stuck(const struct online *o, enum outcome so_far, const char *why)
{
	const char *name = o->set.name;

	if (so_far == RELEASED)
		return fus_fail(FC_FAILED, name, "stays suspended: %s is a plain disk with its "
				"content, but the kernel does not take that as its table: %s; "
				"restart the machine", o->set.m[SLOW]->path, why);
	if (so_far == IN_BETWEEN)
		return fus_fail(FC_FAILED, name, "stays suspended, as it is in transit; restart "
				"the machine, and run fusionctl release %s --resume, or --abort",
				o->set.sb.label);
	return fus_fail(FC_FAILED, name, "stays suspended: the kernel does not take its table: %s; "
			"see dmesg, and restart the machine", why);
}

/*
 * The set has held the fast member until now. From here on another program may take it, so nothing
 * is written to it unless this one holds it.
 */
static int hold_fast(struct rest *rest)
{
	struct offline *fast = &rest->r.meta.m[FAST].o;
	int fd = fus_open_node(fast->path, fast->devno, O_RDWR | O_DIRECT | O_EXCL);

	if (fd < 0)
		return fus_fail(FC_BUSY, fast->path, "cannot be opened for its wipe: %s; end what "
				"uses it", strerror(errno));
	close(fast->fd);
	fast->fd = fd;
	rest->r.t.o[FAST].fd = fd;
	return 0;
}

static int wipe(struct rest *rest)
{
	const struct online *o = rest->o;
	int rc;

	rc = hold_fast(rest);
	if (!rc)
		rc = fus_release_wipe(&rest->r.t);
	if (rc)
		fus_warn(o->set.name, "is released, and only %s is not wiped; run fusionctl release "
			 "%s --resume", o->set.m[FAST]->path, o->set.sb.label);
	return rc;
}

static int suspend(struct rest *rest)
{
	struct online *o = rest->o;
	const struct dm_line own = {
		o->set.table.sectors, o->set.table.target, o->set.table.params
	};
	char reason[REASON_TEXT];
	struct pausing paused;
	struct dm_pause p;
	int rc, err, stays = 0;

	rc = pausing_begin(&paused, memory(&o->set.sb));
	if (rc)
		return rc;
	/* what was written since the first time has to be written before it is frozen */
	sync_open_content(o->set.table.devno);
	o->until_ms = online_now_ms() + ONLINE_LONGEST_MS;
	err = fus_dm_pause(&p, o->set.name, &own);
	if (!err) {
		rc = carry_out(rest);
		stays = resume(rest, &p, &own);
		/* the kernel knows better */
		if (!stays && rest->outcome == IN_BETWEEN)
			rest->outcome = STILL_A_SET;
		/* at once: the wait for udev may be long */
		if (!stays && rest->outcome == RELEASED)
			rc = wipe(rest);
		o->r.paused_ms += fus_dm_pause_end(&p);
	}
	pausing_reason(&paused, reason);
	if (err)
		rc = fus_fail(FC_FAILED, o->set.name, "cannot be suspended: %s; see dmesg",
			      *reason ? reason : strerror(-err));
	if (stays) {
		rc = stuck(o, rest->outcome, *reason ? reason : strerror(-stays));
		rest->outcome = IN_BETWEEN;
	}
	pausing_end(&paused, stays);
	return rc;
}

/* So that no program removes it. */
static int keep_open(const struct online *o, int *fd)
{
	*fd = open_set_device(o->set.name, o->set.table.devno);
	return *fd < 0 ? FC_FAILED : 0;
}

/* Nothing opens the set, or either member, until it is settled what they are. */
static int do_rest(struct online *o, enum outcome *outcome)
{
	struct rest rest = { .o = o, .r.meta.landing = true };
	int rc, lock, fd = -1;

	for (int dev = 0; dev < 2; dev++)
		rest.r.meta.m[dev].o.fd = -1;
	*outcome = STILL_A_SET;
	/* other commands do not wait for the lock as long as this may take */
	sync_open_content(o->set.table.devno);
	rc = resize_lock(&o->set, &lock);
	if (rc)
		return rc;
	rc = online_check_reach(o, false);
	if (!rc)
		rc = keep_open(o, &fd);
	if (!rc)
		rc = open_members(&rest);
	if (!rc)
		rc = suspend(&rest);
	/* one that stays suspended may have to be written to for that */
	if (fd >= 0 && rest.outcome != IN_BETWEEN)
		close(fd);
	*outcome = rest.outcome;
	fus_homing_free(&rest.r.h);
	fus_meta_free(&rest.r.meta);
	fus_run_unlock(&lock);
	return rc;
}

/* -- all of it --------------------------------------------------------------------------------- */

/* Until another table is loaded, or log_on(). */
static int log_off(struct online *o)
{
	return turn_log_off(o->set.name, "release", &o->log_off);
}

/* If the set was loaded again meanwhile, it is on. */
static void log_on(const struct online *o)
{
	struct set set;
	bool off;

	if (!o->log_off || fus_set_get(o->set.name, &set))
		return;
	off = set.st.logs && set.st.log_off;
	fus_set_put(&set);
	if (off)
		turn_log_on(o->set.name);
}

static int do_it(struct online *o)
{
	enum outcome outcome = TOO_MUCH;
	sigset_t before;
	int rc = 0;

	hold_ending_signals(&before);
	for (unsigned int i = 0; i < ROUNDS && outcome == TOO_MUCH && !rc; i++) {
		rc = online_bring_home(o, i);
		if (!rc)
			rc = log_off(o);
		if (!rc)
			rc = do_rest(o, &outcome);
	}
	if (!rc && outcome == TOO_MUCH && o->logs_on)
		rc = fus_fail(FC_BUSY, o->set.name, "has new blocks in its landing log, which "
			      "another program has turned on; end that, and run fusionctl release "
			      "again");
	else if (!rc && outcome == TOO_MUCH)
		rc = fus_fail(FC_BUSY, o->set.name, "is written to or discarded faster than it can "
			      "be released; end that, and run fusionctl release again");
	if (rc && outcome != IN_BETWEEN && outcome != RELEASED) {
		online_leave(o);
		log_on(o);
		fus_warn(o->set.name, "is still a set, with all its content");
	}
	/* those that came too late */
	while (ending_signal_came())
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static void show(const struct online *o, const struct args *a)
{
	release_show(&o->r, a);
	printf("%s: its I/O %s for a moment at the end, %" PRIu64 " s at most\n", o->set.name,
	       a->opt[OPT_DRY_RUN] ? "would wait" : "waits", (o->r.expected_ms + 999) / 1000);
}

static void tell(const struct online *o)
{
	printf("%s: %s is a plain disk with its content, and %s is no longer a member; I/O waited "
	       "for %u ms\n", o->set.name, o->set.m[SLOW]->path, o->set.m[FAST]->path,
	       o->r.paused_ms);
	printf("/dev/mapper/%s leads to %s until the next boot, or fusionctl close %s; then use it "
	       "by UUID\n", o->set.name, o->set.m[SLOW]->path, o->set.name);
}

int release_online(const struct args *a, const char *name, uint64_t keep)
{
	const bool json = a->opt[OPT_JSON], dry_run = a->opt[OPT_DRY_RUN];
	struct online o = {
		.set = { .name = name, .verb = "be released", .done = "been released" },
		.r = { .meta.m = { { .o.fd = -1 }, { .o.fd = -1 } } },
		.keep = keep, .zero = !a->opt[OPT_LEAVE_UNMAPPED],
	};
	int rc;

	rc = online_look(&o);
	if (!rc && !json)
		show(&o, a);
	if (!rc && !dry_run && !a->opt[OPT_YES])
		rc = release_ask(&o.r);
	if (!rc && !dry_run)
		rc = do_it(&o);
	if (!rc && json)
		release_print(a, &o.r.t, &o.r);
	else if (!rc && !dry_run)
		tell(&o);
	online_put(&o);
	return rc;
}
