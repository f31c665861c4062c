// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: points. If the fast member is lost, a file system is worth as much as its metadata.
 * The shadows of its data may be of different times, but those of its metadata have to be of one
 * instant: that is a point.
 *
 * Metadata is what has been written with REQ_META, REQ_PRIO or REQ_FUA, which is how ext4, XFS and
 * btrfs write it. That of the slow member is written in place, so it is as new as it can be: what
 * is left may have some metadata that is newer than the point, for fsck to mend.
 *
 * The mover makes a point at the end of each round of copies (dm-fusion-refresh.c), if something
 * has changed: then most data has a current shadow, so that few files have metadata that is newer
 * than their data, and as few as possible have data that is newer than their metadata. A file of
 * the former kind has errors, one of the latter kind may have what another file has now. So a
 * point does not wait until all data has a shadow. Nor does it wait for the end of a round that
 * takes longer than shadow_age: a file system that overwrites what an old point refers to, as btrfs
 * does, is worth nothing as of that point.
 *
 * All extents with metadata on the fast member that lack a current shadow are copied, each to a
 * slot that the replica does not name yet; those that are written meanwhile once more, as often
 * as ROUNDS, as long as they become fewer. When no more than LOCKS are left, writes to these
 * wait. What is WATCHED then, or LOCKED, is as it was when that was looked at: this is the
 * instant. For only the mover makes an extent WATCHED, so what is found so at the end of the look
 * was so at its beginning. The last ones are copied, writes go on, and the slow member is
 * flushed.
 *
 * Then the copies become the shadows, and an update of the replica names all of them, in one
 * transaction of its log or with a map copy (fusion_replica_point()): so after a crash they are
 * all there, or those of the point before are, whose slots are held until then (INV16). Shadows
 * of data that were out of date at the instant are called so from then on.
 *
 * If more than LOCKS stay, or too few slots are free, there is no point this time; for the slots,
 * shadows of data make room. The former point stays as it is, and grows older. The pause until the
 * next attempt doubles each time. If too much metadata has no shadow at all, the first pause ends
 * when a round has passed over that (dm-fusion-refresh.c). Where many extents are written with
 * REQ_FUA all the time, as by databases, no point may ever come about.
 *
 * An extent that cannot be read is left out, so that one bad sector does not end all points. What
 * the slow member has of it is older, and is called out of date. But if a whole fast member
 * fails, no read succeeds, until the heartbeat makes the set read-only: a point that left all out
 * then would take away what the one before has saved. So the first try fails, and only what
 * cannot be read FUSION_POINT_RETRY_MS later either is left out. If more than FUSION_LEFT_OUT
 * cannot be read, it is the member that fails, even if its heartbeat goes on, and the former
 * point stays.
 *
 * The slot of a copy that is no shadow yet belongs to its job, and the extent is WATCHED for it.
 * Whatever takes the mark away, a write or a discard, leaves the slot to the job. If the extent is
 * unmapped, the job is void, also if the extent gets the same fast slot again: @pending, @gone.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/ktime.h>

#include "dm-fusion.h"
#include "dm-fusion-trace.h"

/* Most extents to which writes wait; times that all is copied; times that the instant is tried. */
#define LOCKS		4U
#define ROUNDS		5U
#define TRIES		3U
/* Jobs that end under one lock. */
#define CHUNK		64U

/* -- jobs ------------------------------------------------------------------------------------ */

/* Let the extent of a job be copied. Return: it is. False: it has a copy, or has gone. */
static bool fusion_point_arm(struct fusion *fs, struct fusion_job *job, enum fusion_state state)
{
	bool armed;

	spin_lock_irq(&fs->lock);
	armed = READ_ONCE(fs->map[job->move.lext]) == job->old &&
		fusion_point_covers(fs, job->move.lext) &&
		test_bit(fusion_word_slot(job->old), fs->shadows.point.pending);
	if (armed) {
		/* the write that took the last mark away may not have said so yet */
		fusion_shadow_outdated(fs, job->old);
		fusion_map_copy(fs, job->move.lext, job->old, state);
		job->move.hold = state == FUSION_LOCKED;
		job->started = true;
		job->copied = false;
		job->outcome = FUSION_SKIPPED;
	}
	spin_unlock_irq(&fs->lock);
	return armed;
}

/* Take a slot for one more. Return: NULL if there is none. */
static struct fusion_job *fusion_point_add(struct fusion *fs, u32 lext)
{
	struct fusion_point *p = &fs->shadows.point;
	struct fusion_job *job = &p->jobs[p->nr];

	if (p->nr == p->max) {
		/* as few as have metadata that was written lately: there are too many others */
		p->look_anew = true;
		return NULL;
	}
	*job = (struct fusion_job){
		.move = { .lext = lext, .to = FUSION_SLOW },
		.shadows = true,
	};
	spin_lock_irq(&fs->lock);
	job->new = FUSION_WORD_UNMAPPED;
	job->old = READ_ONCE(fs->map[lext]);
	/* A slot that is gone had a job for another extent, or for this one in a former life. */
	if (fusion_shadow_room(fs, FUSION_OF_METADATA) && fusion_word_lacking(fs, job->old) &&
	    !test_bit(fusion_word_slot(job->old), p->gone))
		job->new = fusion_slot_get(fs, FUSION_SLOW, lext, 0);
	if (fusion_word_mapped(job->new)) {
		p->nr++;
		__set_bit(fusion_word_slot(job->old), p->pending);
		fs->mover.in_flight++;
	}
	spin_unlock_irq(&fs->lock);
	return fusion_word_mapped(job->new) ? job : NULL;
}

/* A job is over, and its slot is not needed. fs->lock held. */
static void fusion_point_drop(struct fusion *fs, struct fusion_job *job)
{
	fusion_map_uncopy(fs, job->move.lext, job->old);
	if (job->retire)
		fusion_slot_retire(fs, job->new);
	else
		fusion_slot_put(fs, job->new);
}

/*
 * Arm each extent with metadata that has no current shadow and no copy, at most @most. Return: how
 * many; or -1: they are too many, or there is no slot.
 */
static int fusion_point_collect(struct fusion *fs, enum fusion_state state, u32 most)
{
	struct fusion_point *p = &fs->shadows.point;
	struct fusion_job *job;
	u32 armed = 0, lext, i, word;

	for (i = 0; i < p->nr; i++) {
		cond_resched();
		p->jobs[i].started = false;
		if (armed < most)
			armed += fusion_point_arm(fs, &p->jobs[i], state);
	}
	for_each_set_bit(lext, p->meta, fs->sb.nr_lexts) {
		cond_resched();
		word = READ_ONCE(fs->map[lext]);
		if (!fusion_word_lacking(fs, word) || test_bit(fusion_word_slot(word), p->pending))
			continue;
		if (armed == most)
			return -1;
		job = fusion_point_add(fs, lext);
		if (!job)
			return -1;
		armed += fusion_point_arm(fs, job, state);
	}
	return armed;
}

/* Does anybody need the mover, or slots? Then there is no point now. */
static bool fusion_point_hinders(struct fusion *fs)
{
	const struct fusion_force *asked = fs->shadows.point.asked;
	bool missing;

	spin_lock_irq(&fs->lock);
	missing = fusion_shadow_missing(fs, FUSION_OF_METADATA);
	spin_unlock_irq(&fs->lock);
	return missing || READ_ONCE(fs->mover.stopping) ||
	       (asked ? READ_ONCE(asked->abandoned) : !!fusion_first_forced(fs));
}

/* Has it a copy, or can it do without? False if that failed otherwise, or was skipped. */
static bool fusion_point_copied(struct fusion *fs, const struct fusion_job *job)
{
	u32 fast = fusion_word_slot(job->old);

	if (job->started && job->copied)
		__clear_bit(fast, fs->shadows.point.bad);
	if (!job->started || job->copied || job->outcome == FUSION_CANCELLED)
		return true;
	if (job->outcome != FUSION_FAILED || job->retire || !fusion_point_bad_for_long(fs, fast))
		return false;
	return fusion_point_leave_out(fs, job->move.lext);
}

/* Copy those that are armed. Return: false if that failed, or was interrupted. */
static bool fusion_point_copy(struct fusion *fs, enum fusion_state state)
{
	struct fusion_point *p = &fs->shadows.point;
	bool ok = true;
	u32 i, end;

	for (i = 0; i < p->nr && ok; i = end) {
		end = min(i + fusion_requested_batch(fs, fusion_is_idle(fs)), p->nr);
		fusion_copy_jobs(fs, &p->jobs[i], end - i, NULL, false);
		/* writes wait for the copies of what is LOCKED */
		if (state != FUSION_LOCKED && end < p->nr)
			ok = !fusion_point_hinders(fs);
	}
	if (!ok)
		return false;
	/* all of them, so that the next try knows each that cannot be read */
	for (i = 0; i < p->nr; i++)
		ok &= fusion_point_copied(fs, &p->jobs[i]);
	return ok && !READ_ONCE(fs->mover.stopping);
}

/* -- the instant ----------------------------------------------------------------------------- */

/* Arm extents as above, and copy them. Return: the same, with -1 for a copy that failed as well. */
static int fusion_point_round(struct fusion *fs, enum fusion_state state, u32 most)
{
	int armed = fusion_point_fill(fs) ? fusion_point_collect(fs, state, most) : -1;

	if (armed <= 0)
		return armed;
	fusion_drain(fs);
	return fusion_point_copy(fs, state) ? armed : -1;
}

/* Copy all but a few, as long as each round leaves half as many as the one before, or less. */
static bool fusion_point_prepare(struct fusion *fs)
{
	u32 lacking = fusion_point_lacking(fs), left;
	unsigned int round;

	/* Rounds of copies (dm-fusion-refresh.c) take the load into account. */
	if (!fs->shadows.point.asked && fusion_point_premature(fs)) {
		fusion_refresh_metadata(fs);
		return false;
	}
	for (round = 0; round < ROUNDS; round++) {
		if (fusion_point_round(fs, FUSION_WATCHED, U32_MAX) < 0)
			return false;
		left = fusion_point_lacking(fs);
		if (left <= LOCKS)
			return true;
		if (left > lacking / 2 || fusion_point_hinders(fs))
			return false;
		lacking = left;
	}
	return false;
}

/* Hold writes to the rest. Return: has it come to an instant? Sets when that is. */
static bool fusion_point_hold(struct fusion *fs, u64 *second, u64 *ms)
{
	unsigned int try;
	u32 locked = 0;
	int armed;

	for (try = 0; try < TRIES; try++) {
		/* these are copied before the next ones are armed */
		armed = fusion_point_round(fs, FUSION_LOCKED, LOCKS - locked);
		if (armed < 0)
			return false;
		locked += armed;
		*second = ktime_get_real_seconds();
		*ms = fusion_now_ms();
		trace_fusion_point(fs, *second);
		if (!fusion_point_lacking(fs))
			return true;
	}
	return false;
}

/* Writes go on: what was LOCKED has its copy. */
static void fusion_point_let_go(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;
	u32 i;

	for (i = 0; i < p->nr; i++) {
		struct fusion_job *job = &p->jobs[i];

		if (READ_ONCE(fs->map[job->move.lext]) !=
		    fusion_word_set_state(job->old, FUSION_LOCKED))
			continue;
		spin_lock_irq(&fs->lock);
		fusion_map_copy(fs, job->move.lext, job->old, FUSION_WATCHED);
		fusion_unpark(fs);
		spin_unlock_irq(&fs->lock);
	}
}

/* -- its end --------------------------------------------------------------------------------- */

/* The copies become the shadows, if they are @usable. */
static void fusion_point_end(struct fusion *fs, bool usable)
{
	struct fusion_point *p = &fs->shadows.point;
	u32 i, end;

	for (i = 0; i < p->nr; ) {
		spin_lock_irq(&fs->lock);
		for (end = min(i + CHUNK, p->nr); i < end; i++) {
			struct fusion_job *job = &p->jobs[i];

			fs->mover.in_flight--;
			if (__test_and_clear_bit(fusion_word_slot(job->old), p->pending) &&
			    usable && job->copied &&
			    fusion_shadow_replace(fs, job->move.lext, job->new, job->old))
				fs->shadows.copies++;
			else
				fusion_point_drop(fs, job);
		}
		fusion_unpark(fs);
		spin_unlock_irq(&fs->lock);
		cond_resched();
	}
	p->nr = 0;
	bitmap_zero(p->gone, fs->sb.nr_fast_slots);
}

/*
 * What writes change from here on is missing in the point. One that set @changed before has taken
 * its mark away by the end of the drain, so the look that follows the instant sees that.
 */
static void fusion_point_begin(struct fusion *fs)
{
	spin_lock_irq(&fs->lock);
	fs->shadows.point.since = xchg(&fs->shadows.changed, 0);
	spin_unlock_irq(&fs->lock);
	fusion_drain(fs);
}

/* What was missing before is there now, or is missing still. */
static void fusion_point_finish(struct fusion *fs, bool made)
{
	spin_lock_irq(&fs->lock);
	if (!made && fs->shadows.point.since)
		fusion_shadow_changed(fs, fs->shadows.point.since);
	fs->shadows.point.since = 0;
	spin_unlock_irq(&fs->lock);
}

/* Return: did it come about? */
static bool fusion_point_make(struct fusion *fs)
{
	u64 second, ms;
	bool ok;

	if (!fusion_point_prepare(fs)) {
		fusion_point_end(fs, false);
		return false;
	}
	fusion_point_begin(fs);
	ok = fusion_point_hold(fs, &second, &ms);
	fusion_point_let_go(fs);
	if (ok) {
		fusion_mark_written(fs, FUSION_SLOW);
		ok = !fusion_flush_slow(fs);
	}
	if (ok)
		ok = !fusion_replica_point(fs, second, ms, fusion_point_end);
	else
		fusion_point_end(fs, false);
	fusion_point_finish(fs, ok);
	return ok;
}

/* Is it the time for one? */
static bool fusion_point_ready(const struct fusion *fs, u64 age)
{
	const struct fusion_shadows *s = &fs->shadows;

	return s->completed != s->point.round ||
	       (s->in_round && fusion_now_ms() - max(s->point.made_ms, s->round_ms) >= age);
}

bool fusion_point_due(const struct fusion *fs)
{
	u64 age = (u64)READ_ONCE(fs->opt.shadow_age) * MSEC_PER_SEC;

	return age && READ_ONCE(fs->shadows.changed) && fusion_point_ready(fs, age) &&
	       fusion_now_ms() >= fs->shadows.point.retry_ms && fusion_shadow_allowed(fs) &&
	       !fs->mover.slow_asleep && !READ_ONCE(fs->replica.failed);
}

/* Return: was it made? */
static bool fusion_point_try(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;
	bool idle = fusion_is_idle(fs), made, anew;
	u64 start = fusion_pace_begin(fs);

	if (!fusion_point_equip(fs))
		return false;
	anew = fusion_point_choose(fs);
	fusion_point_want(fs);
	made = fusion_point_make(fs);
	if (!idle || !fusion_is_idle(fs))
		fusion_pace(fs, fusion_pace_used(fs, start));
	if (anew)
		fusion_point_chosen(fs, made);
	if (made) {
		p->made++;
		p->round = fs->shadows.completed;
		p->made_ms = fusion_now_ms();
		p->pause_ms = 0;
	}
	return made;
}

bool fusion_point(struct fusion *fs)
{
	struct fusion_point *p = &fs->shadows.point;

	if (!fusion_point_due(fs) || fusion_gate_ready(fs))
		return false;
	if (!fusion_point_try(fs)) {
		p->pause_ms = min_t(u64, max(2 * p->pause_ms, FUSION_POINT_RETRY_MS),
				    max_t(u64, READ_ONCE(fs->opt.shadow_age), 5) * MSEC_PER_SEC);
		p->retry_ms = fusion_now_ms() + p->pause_ms;
	}
	return true;
}

int fusion_point_now(struct fusion *fs, const struct fusion_force *force)
{
	struct fusion_point *p = &fs->shadows.point;
	bool made;

	if (!READ_ONCE(fs->opt.shadow_age) || !fusion_shadow_allowed(fs))
		return -EINVAL;
	if (!READ_ONCE(fs->shadows.changed))
		return 0;
	if (fusion_gate_ready(fs))
		return -EAGAIN;
	p->asked = force;
	made = fusion_point_try(fs);
	p->asked = NULL;
	return made ? 0 : -EAGAIN;
}
