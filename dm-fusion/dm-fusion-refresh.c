// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: shadows that are made. An extent that was written on the fast member has no shadow,
 * or one that is out of date. It is copied to a free slow slot, which becomes its shadow.
 *
 * The mover does that in rounds, between its moves. A round passes over the map for extents with
 * metadata, and then for the others, so it goes through the slow member in order. Then it looks for
 * extents that have come up meanwhile, and have no shadow at all, as long as there are half as many
 * as in the pass before, PASSES times at most. It takes those that were written meanwhile along if
 * these are few as well. Then little is missing or out of date, which is the best moment for a
 * point (dm-fusion-point.c): what is out of date then is lost with the fast member. If a point
 * becomes due before that and lacks much metadata that has no shadow at all, the round passes over
 * metadata again, and then goes on. The next round begins when shadow_age seconds have passed since
 * this one began. With 0 there are no rounds. So an extent that is written all the time costs
 * PASSES - 1 copies in that time at most. While the fused device is idle, a round goes as fast as
 * it can; beside foreground I/O it takes a quarter of the time that moves may take (setting duty).
 *
 * A partial extent gets no copy. One that the round before has met as well is completed: it is not
 * being written for the first time any more.
 *
 * A copy goes to another slot than the shadow that is there, which stays as it is until the copy
 * is complete and durable. So what the replica names is a whole version at any time (INV15).
 *
 * The steps are those of a batch of moves (dm-fusion-batch.c) as far as the copy, and rely on the
 * same: STABLE -> WATCHED, drain, copy. A write takes the mark away, and makes the copy worthless.
 * Then the slow member is flushed, and what is WATCHED still has its shadow: no write was sent
 * since the drain (INV13). The map does not change, so there is no commit. The copies do not make
 * the slow member count as written, so no flush of a user waits for them, but for the one at the
 * end: a shadow is demoted to, or named, only after that.
 *
 * Copies are made only while more slots are free than shadows of their kind have to leave. When
 * room is scarce, metadata gets it.
 */
#include <linux/bitops.h>

#include "dm-fusion.h"

/* Map words looked at in one go. */
#define LOOKS	16384U
/* Share of the time of moves that copies may take beside foreground I/O: one in so many. */
#define SHARE	4U
/*
 * Most times that a round passes over the map: once for metadata, once for all, and then for what
 * has come up. Passes for metadata that a point lacks come on top.
 */
#define PASSES	4U

/*
 * Does it need a copy? One that has a shadow gets a second one in this round only if few need it,
 * and with metadata the next one by a point.
 */
static bool fusion_refresh_due(const struct fusion *fs, u32 lext)
{
	u32 word = READ_ONCE(fs->map[lext]), pass = fs->shadows.pass.nr;
	enum fusion_shadow_kind kind;

	if (!fusion_word_lacking(fs, word))
		return false;
	kind = fusion_shadow_kind(fs, lext);
	return (pass || kind != FUSION_OF_DATA) &&
	       !(((pass > 1 && !fs->shadows.renews) || kind == FUSION_OF_METADATA) &&
		 fusion_has_shadow(fs, word)) &&
	       /* others may find one in this pass */
	       (kind != FUSION_OF_METADATA_READ || fusion_shadow_room(fs, kind));
}

/* Is there a slot for one more in this pass? fs->lock held. */
static bool fusion_refresh_room(const struct fusion *fs)
{
	return fusion_shadow_room(fs, fs->shadows.pass.nr ? FUSION_OF_DATA : FUSION_OF_METADATA);
}

/* Complete an extent of the fast member that was partial in the round before as well. */
static void fusion_refresh_pass(struct fusion *fs, u32 lext)
{
	u32 word = READ_ONCE(fs->map[lext]);

	if (fusion_word_state(word) == FUSION_OPEN && fusion_word_on_fast(fs, word))
		fusion_open_fill_later(fs, lext, fs->shadows.rounds);
}

/* Begin with an extent. Return: false if no slot may be taken. */
static bool fusion_refresh_start(struct fusion *fs, u32 lext, struct fusion_job *job)
{
	bool room;

	*job = (struct fusion_job){
		.move = { .lext = lext, .to = FUSION_SLOW },
		.shadows = true,
		.outcome = FUSION_SKIPPED,
	};
	spin_lock_irq(&fs->lock);
	room = fusion_refresh_room(fs);
	if (room && fusion_refresh_due(fs, lext)) {
		job->old = READ_ONCE(fs->map[lext]);
		job->new = fusion_slot_get(fs, FUSION_SLOW, lext, 0);
		job->started = fusion_word_mapped(job->new);
	}
	if (job->started) {
		/* the write that took the last mark away may not have said so yet */
		fusion_shadow_outdated(fs, job->old);
		fusion_map_copy(fs, lext, job->old, FUSION_WATCHED);
		fs->mover.in_flight++;
	}
	spin_unlock_irq(&fs->lock);
	return room;
}

/*
 * Go on to the next extent of the round that can get a copy, or as far as one look goes. Return:
 * is there one? If not, nothing is written, and a set that rests is not woken.
 */
static bool fusion_refresh_seek(struct fusion *fs)
{
	struct fusion_pass *pass = &fs->shadows.pass;
	bool room;
	u32 looks;

	for (looks = 0; looks < LOOKS && pass->cursor < fs->sb.nr_lexts; looks++, pass->cursor++) {
		if (!fusion_refresh_due(fs, pass->cursor)) {
			fusion_refresh_pass(fs, pass->cursor);
			continue;
		}
		spin_lock_irq(&fs->lock);
		room = fusion_refresh_room(fs);
		spin_unlock_irq(&fs->lock);
		if (!room)
			pass->cursor = fs->sb.nr_lexts;
		return room;
	}
	return false;
}

/* Begin with the next extents of the round. Return: how many. */
static unsigned int fusion_refresh_collect(struct fusion *fs, struct fusion_job *jobs, bool idle)
{
	struct fusion_pass *pass = &fs->shadows.pass;
	unsigned int max = fusion_requested_batch(fs, idle), nr = 0, looks;

	for (looks = 0; looks < LOOKS && nr < max && pass->cursor < fs->sb.nr_lexts; looks++) {
		u32 lext = pass->cursor++;

		if (!fusion_refresh_due(fs, lext)) {
			fusion_refresh_pass(fs, lext);
			continue;
		}
		if (!fusion_refresh_start(fs, lext, &jobs[nr])) {
			/* No more in this round. */
			pass->cursor = fs->sb.nr_lexts;
			break;
		}
		nr += jobs[nr].started;
	}
	return nr;
}

/*
 * May the copy become the shadow? Not in place of one that the next point is to replace: metadata
 * may have been written just before the drain, and others have what they had at the last point.
 */
static bool fusion_refresh_fits(const struct fusion *fs, const struct fusion_job *job)
{
	return job->copied && !(fusion_point_awaits(fs, job->move.lext) &&
				fusion_has_shadow(fs, job->old));
}

/* The copy is durable, or not @usable. fs->lock held. */
static void fusion_refresh_end(struct fusion *fs, struct fusion_job *job, bool usable)
{
	fs->mover.in_flight--;
	if (usable && fusion_refresh_fits(fs, job) &&
	    fusion_shadow_refresh(fs, job->move.lext, job->new, job->old)) {
		fs->shadows.copies++;
		return;
	}
	fusion_map_unwatch(fs, job->move.lext, job->old);
	if (job->retire)
		fusion_slot_retire(fs, job->new);
	else
		fusion_slot_put(fs, job->new);
}

static void fusion_refresh_some(struct fusion *fs, struct fusion_job *jobs, unsigned int nr,
				bool idle)
{
	bool usable, copied = false;
	unsigned int i;

	fusion_drain(fs);
	fusion_copy_jobs(fs, jobs, nr, NULL, idle);
	for (i = 0; i < nr; i++) {
		copied |= jobs[i].copied;
		/* what foreground I/O has left for later comes first then */
		if (jobs[i].outcome == FUSION_SKIPPED)
			fs->shadows.pass.cursor = min(fs->shadows.pass.cursor,
						      jobs[i].move.lext);
	}
	if (copied)
		fusion_mark_written(fs, FUSION_SLOW);
	usable = copied && !fusion_flush_slow(fs);
	for (i = 0; i < nr; i++) {
		spin_lock_irq(&fs->lock);
		fusion_refresh_end(fs, &jobs[i], usable);
		fusion_unpark(fs);
		spin_unlock_irq(&fs->lock);
	}
}

/* May a round begin, or go on? */
static bool fusion_refresh_allowed(struct fusion *fs)
{
	return fusion_shadow_allowed(fs) && !fs->mover.slow_asleep &&
	       !READ_ONCE(fs->replica.failed);
}

/* Moves and points pause as for what copies have @used, copies as for SHARE times that. */
static void fusion_refresh_pace(struct fusion *fs, u64 used)
{
	fusion_pace(fs, used);
	fs->shadows.next_ms = fusion_pace_until(fs, SHARE * used);
}

/* How many shadows are out of date, and are not for a point to replace? */
static u32 fusion_refresh_outdated(const struct fusion *fs)
{
	u32 fast, lext, nr = 0;

	for_each_clear_bit(fast, fs->shadows.none.bits, fs->sb.nr_fast_slots) {
		cond_resched();
		lext = READ_ONCE(fs->shadows.of[fast].lext);
		nr += fusion_word_lacking(fs, READ_ONCE(fs->map[lext])) &&
		      fusion_shadow_kind(fs, lext) != FUSION_OF_METADATA;
	}
	return nr;
}

/* Begin with a pass over metadata, and go on with @after. */
static void fusion_refresh_first(struct fusion_shadows *s, const struct fusion_pass *after)
{
	s->after = *after;
	s->pass = (struct fusion_pass){};
}

/* A pass is over. Return: is there another one in this round? */
static bool fusion_refresh_again(struct fusion *fs)
{
	struct fusion_shadows *s = &fs->shadows;
	const struct fusion_pass last = s->pass;

	s->any |= last.found;
	if (!last.nr) {
		s->pass = s->after;
		if (s->awaited && !fusion_point_premature(fs))
			s->point.retry_ms = 0;
		s->awaited = false;
		return true;
	}
	if (!last.found || last.found > last.before / 2 || last.nr == PASSES - 1)
		return false;
	s->pass = (struct fusion_pass){ .nr = last.nr + 1, .before = last.found };
	s->renews = fusion_refresh_outdated(fs) <= last.found / 2;
	return true;
}

void fusion_refresh_metadata(struct fusion *fs)
{
	struct fusion_shadows *s = &fs->shadows;

	/* Later attempts wait for their pause, so that data gets shadows meanwhile. */
	s->awaited = !s->point.pause_ms;
	if (s->in_round && s->pass.nr)
		fusion_refresh_first(s, &s->pass);
}

bool fusion_refresh(struct fusion *fs)
{
	struct fusion_shadows *s = &fs->shadows;
	u64 age = (u64)READ_ONCE(fs->opt.shadow_age) * MSEC_PER_SEC, now = fusion_now_ms();
	bool idle = fusion_is_idle(fs);
	unsigned int nr = 0;
	u64 start;

	if (!age || (!s->in_round && s->round_ms && now - s->round_ms < age))
		return false;
	if (!fusion_refresh_allowed(fs) || (now < s->next_ms && !idle))
		return false;
	if (!s->in_round) {
		s->in_round = true;
		s->rounds++;
		s->round_ms = now;
		s->any = false;
		fusion_refresh_first(s, &(struct fusion_pass){ .nr = 1, .before = U32_MAX });
	}
	if (fusion_refresh_seek(fs)) {
		if (fusion_gate_ready(fs))
			return false;
		nr = fusion_refresh_collect(fs, fs->mover.batch.jobs, idle);
	}
	if (nr) {
		s->pass.found += nr;
		start = fusion_pace_begin(fs);
		fusion_refresh_some(fs, fs->mover.batch.jobs, nr, idle);
		if (!idle || !fusion_is_idle(fs))
			fusion_refresh_pace(fs, fusion_pace_used(fs, start));
	}
	if (s->pass.cursor < fs->sb.nr_lexts || fusion_refresh_again(fs))
		return true;
	s->in_round = false;
	s->completed = s->rounds;
	fusion_point_want_less(fs);
	/* nothing to do for a point, until the end of another round */
	if (!READ_ONCE(s->changed))
		s->point.round = s->completed;
	if (s->any)
		fusion_replica_soon(fs);
	return false;
}
