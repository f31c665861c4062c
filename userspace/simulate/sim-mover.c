// SPDX-License-Identifier: GPL-2.0-only
/*
 * The migration engine in simulated time: dm-fusion-mover.c and dm-fusion-batch.c, step by step,
 * with what their commands cost the members. It omits failures, moves on request, the settings
 * standby and write_budget, slots that wait for the replica, checkpoints, and all except one block
 * of the writes to the journal and the replica.
 */
#include <stdlib.h>
#include <string.h>

#include "sim-engine.h"

#define MAX_LOOK	(FUSION_MAX_LOOK_US * 1000ULL)

/* Requests of a copy, about as the block layer merges what dm-fusion-pieces.c sends. */
#define PIECE		(512U << 10)

#define OP_RECORD	(SIM_ID_MOVER + 1)
#define OP_COMMIT	(SIM_ID_MOVER + 2)
#define OP_READ		(SIM_ID_MOVER + 0x1000)	/* + piece */
#define OP_WRITE	(SIM_ID_MOVER + 0x2000)

static void tick(struct sim_engine *e)
{
	fusion_policy_tick(e->policy, e->now / SIM_MS);
}

/* fusion_idle_ms() there */
static void look(struct sim_engine *e)
{
	struct sim_mover *m = &e->mover;
	u64 ns = e->now - m->look;

	for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		if (m->look_usable && ns <= MAX_LOOK && m->look_unweighed == e->unweighed)
			fusion_policy_accesses(e->policy, dev, e->nr_at[dev] ? ns / 1000 : 0,
					       e->nr_done[dev] - m->look_done[dev]);
		m->look_done[dev] = e->nr_done[dev];
	}
	if (!sim_is_idle(e))
		fusion_policy_used(e->policy, (ns < MAX_LOOK ? ns : MAX_LOOK) / 1000);
	m->look_unweighed = e->unweighed;
	m->look = e->now;
	m->queue += e->nr_at[FUSION_SLOW] < FUSION_MAX_QUEUE ? e->nr_at[FUSION_SLOW] :
							       FUSION_MAX_QUEUE;
	m->queue_looks++;
}

static u8 *cancels(struct sim_engine *e, u32 lext)
{
	u32 i = lext % FUSION_CANCELS;

	if (e->mover.cancels[i].lext != lext) {
		e->mover.cancels[i].lext = lext;
		e->mover.cancels[i].nr = 0;
	}
	return &e->mover.cancels[i].nr;
}

static u32 get_slot(struct sim_engine *e, enum fusion_dev to, u32 lext)
{
	u32 slot = sim_take_slot(e, to, lext);

	return slot == SIM_NO_SLOT ? FUSION_WORD_UNMAPPED : fusion_word(FUSION_STABLE, to, slot);
}

static void put_slot(struct sim_engine *e, u32 word)
{
	sim_slot_put(&e->slots[fusion_word_dev(word)], fusion_word_slot(word));
}

/* -- steps 1 to 4 ------------------------------------------------------------------- */

static unsigned int start_jobs(struct sim_engine *e)
{
	struct sim_mover *m = &e->mover;
	unsigned int i, started = 0;

	for (i = 0; i < m->nr; i++) {
		struct sim_job *job = &m->job[i];
		u32 lext = job->move.lext;

		job->outcome = FUSION_SKIPPED;
		if (job->move.to == FUSION_FAST && i && m->job[i - 1].move.to == FUSION_SLOW &&
		    !m->job[i - 1].started)
			continue;
		job->old = e->map[lext];
		if (sim_has_shadow(e, job->old)) {
			job->old = fusion_word_set_state(job->old, FUSION_STABLE);
			job->flips = job->move.to == FUSION_SLOW;
		}
		if (!fusion_word_mapped(job->old) || fusion_word_state(job->old) != FUSION_STABLE ||
		    fusion_word_dev(job->old) == job->move.to)
			continue;
		if (job->flips) {
			job->new = sim_shadow_take(e, job->old);
			job->copied = true;
			job->outcome = FUSION_CANCELLED;
		} else {
			if (job->move.to == FUSION_SLOW)
				sim_shadows_yield(e, 0);
			job->new = get_slot(e, job->move.to, lext);
			if (!fusion_word_mapped(job->new))
				continue;
			sim_land_evict(e, lext);
			e->map[lext] = fusion_word_set_state(job->old, job->move.hold ?
							     FUSION_LOCKED : FUSION_WATCHED);
			m->nr_copies++;
		}
		job->started = true;
		started++;
	}
	return started;
}

static u32 slow_slot(const struct sim_job *job)
{
	return fusion_word_slot(job->move.to == FUSION_SLOW ? job->new : job->old);
}

static int compare_jobs(const void *a, const void *b)
{
	const struct sim_job *ja = a, *jb = b;

	return fusion_copy_order(ja->started, slow_slot(ja), jb->started, slow_slot(jb));
}

/* Return: whether it was unknown to the replica. */
static bool note_away(struct sim_engine *e, u32 lext)
{
	struct sim_mover *m = &e->mover;
	u64 bit = 1ULL << lext % 64;

	if (m->away[lext / 64] & bit || m->nr_away == SIM_AWAY)
		return false;
	m->away[lext / 64] |= bit;
	m->away_list[m->nr_away++] = lext;
	return true;
}

static void announce(struct sim_engine *e)
{
	struct sim_mover *m = &e->mover;
	u32 next[FUSION_MAX_LEAVING];
	unsigned int i, nr;
	bool needed = false;

	/* the replica is brought up to date: no extent counts as leaving */
	if (m->nr_away && (e->now - m->away_since > SIM_REPLICA_S * SIM_S ||
			   m->nr_away > SIM_AWAY - 2 * FUSION_MAX_LEAVING)) {
		for (i = 0; i < m->nr_away; i++)
			m->away[m->away_list[i] / 64] = 0;
		m->nr_away = 0;
	}
	if (!m->nr_away)
		m->away_since = e->now;
	for (i = 0; i < m->nr; i++)
		if (m->job[i].started && m->job[i].move.to == FUSION_FAST)
			needed |= note_away(e, m->job[i].move.lext);
	if (!needed)
		return;
	nr = fusion_policy_next(e->policy, next, FUSION_MAX_LEAVING - m->nr);
	for (i = 0; i < nr; i++)
		note_away(e, next[i]);
	m->recording = true;
	sim_submit(e, FUSION_SLOW, FUSION_GUARD_SECTORS * 512ULL, 4096, true, OP_RECORD);
}

static bool drain(struct sim_engine *e)
{
	e->epoch ^= 1;
	return !e->nr_flying[e->epoch ^ 1];
}

/* -- step 5 --------------------------------------------------------------------------- */

static bool still_ours(const struct sim_engine *e, const struct sim_job *job)
{
	u32 word = e->map[job->move.lext];

	return word == fusion_word_set_state(job->old, FUSION_WATCHED) ||
	       word == fusion_word_set_state(job->old, FUSION_LOCKED);
}

static void submit_piece(struct sim_engine *e, u32 word, u32 piece, bool write)
{
	u32 bytes = e->cfg->extent_bytes < PIECE ? e->cfg->extent_bytes : PIECE;

	sim_submit(e, fusion_word_dev(word), sim_word_byte(e, word) + (u64)piece * bytes, bytes,
		   write, (write ? OP_WRITE : OP_READ) + piece);
}

static void record(struct sim_engine *e);

/* Begin the next copy, or continue if there is none. */
static void copy_next(struct sim_engine *e)
{
	struct sim_mover *m = &e->mover;
	u32 pieces = e->cfg->extent_bytes > PIECE ? e->cfg->extent_bytes / PIECE : 1;

	for (; m->current < m->nr; m->current++) {
		struct sim_job *job = &m->job[m->current];

		look(e);
		/* Foreground I/O has arrived: leave the rest for later. */
		if (!job->started || job->flips || (m->was_idle && !sim_is_idle(e)))
			continue;
		if (!still_ours(e, job)) {
			job->outcome = FUSION_CANCELLED;
			tick(e);
			continue;
		}
		m->ops = pieces;
		for (u32 i = 0; i < pieces; i++)
			submit_piece(e, job->old, i, false);
		return;
	}
	if (m->recording) {
		m->step = SIM_RECORDS;
		m->wait_since = e->now;
	} else {
		record(e);
	}
}

static void copied(struct sim_engine *e)
{
	struct sim_job *job = &e->mover.job[e->mover.current++];

	job->copied = true;
	job->outcome = FUSION_CANCELLED;
	if (job->move.to == FUSION_FAST) {
		e->result->copied_fast++;
		e->point->copied_fast++;
	}
	tick(e);
	copy_next(e);
}

/* -- steps 6 to 9 ---------------------------------------------------------------------- */

static void count_move(struct sim_engine *e, const struct sim_job *job)
{
	u32 lext = job->move.lext, now_s = e->now / SIM_S;
	struct sim_result *r = e->result;

	if (job->move.to == FUSION_FAST) {
		sim_copies_forget(e, lext);
		r->promotions++;
		e->point->promotions++;
		e->slot_hits[fusion_word_slot(job->new)] = 0;
		e->slot_since_s[fusion_word_slot(job->new)] = now_s;
		r->again += e->left_s[lext] && now_s + 1 - e->left_s[lext] < 3600;
	} else {
		r->demotions++;
		r->demotions_free += job->flips;
		e->point->demotions++;
		r->wasted += e->slot_hits[fusion_word_slot(job->old)] < SIM_REPAID;
		e->left_s[lext] = now_s + 1;
	}
}

static void begin_batch(struct sim_engine *e);

static void end_moves(struct sim_engine *e)
{
	struct sim_mover *m = &e->mover;
	u64 used, pause;

	used = (e->now - m->start - m->waited) * FUSION_COPY_QUEUE * m->queue_looks /
	       (FUSION_COPY_QUEUE * m->queue_looks + m->queue);
	if (m->nr_batches == 1 && m->nr_copied >= FUSION_BATCH / 2)
		fusion_policy_moves(e->policy, used / 1000, m->nr_copied);
	if (m->nr_copies && (!m->was_idle || !sim_is_idle(e))) {
		pause = used * (100 - e->cfg->duty) / e->cfg->duty;
		if (pause > FUSION_MAX_PAUSE_MS * SIM_MS)
			pause = FUSION_MAX_PAUSE_MS * SIM_MS;
		m->next_batch = e->now + pause;
	}
	look(e);
	m->nr = 0;
	m->step = SIM_WAITS;
	m->at = m->next_batch > e->now ? m->next_batch : e->now + SIM_MS;
	if (m->at > e->now + FUSION_TICK_MS * SIM_MS)
		m->at = e->now + FUSION_TICK_MS * SIM_MS;
}

static void end_batch(struct sim_engine *e)
{
	struct sim_mover *m = &e->mover;

	for (unsigned int i = 0; i < m->nr; i++) {
		struct sim_job *job = &m->job[i];

		if (job->outcome == FUSION_MOVED)
			*cancels(e, job->move.lext) = 0;
		else if (job->outcome == FUSION_CANCELLED)
			++*cancels(e, job->move.lext);
		m->nr_copied += job->copied && !job->flips;
		e->result->cancelled += job->outcome == FUSION_CANCELLED;
		e->result->skipped += job->outcome == FUSION_SKIPPED;
		job->started = false;
		fusion_policy_done(e->policy, &job->move, job->outcome);
	}
	if (m->next < m->nr_picked)
		begin_batch(e);
	else
		end_moves(e);
}

static void reclaim(struct sim_engine *e)
{
	for (unsigned int i = 0; i < e->mover.nr; i++)
		if (e->mover.job[i].outcome == FUSION_MOVED &&
		    !sim_shadow_keep(e, e->mover.job[i].move.lext, e->mover.job[i].old,
				     e->mover.job[i].new))
			put_slot(e, e->mover.job[i].old);
	end_batch(e);
}

static void committed(struct sim_engine *e)
{
	struct sim_mover *m = &e->mover;

	for (unsigned int i = 0; i < m->nr; i++) {
		if (m->job[i].outcome != FUSION_MOVED)
			continue;
		e->map[m->job[i].move.lext] =
			sim_shadow_wanted(e, m->job[i].old, m->job[i].new) ?
			fusion_word_set_state(m->job[i].new, FUSION_WATCHED) : m->job[i].new;
		count_move(e, &m->job[i]);
	}
	sim_unpark(e);
	m->step = SIM_RECLAIMS;
	if (drain(e))
		reclaim(e);
}

static void record(struct sim_engine *e)
{
	struct sim_mover *m = &e->mover;
	unsigned int i, recorded = 0;
	u32 demoted = FUSION_WORD_UNMAPPED;

	for (i = 0; i < m->nr; i++) {
		struct sim_job *job = &m->job[i];
		u32 *word = &e->map[job->move.lext];

		if (!job->started)
			continue;
		if (job->copied && still_ours(e, job)) {
			*word = fusion_word_set_state(job->old, FUSION_LOCKED);
			job->outcome = FUSION_MOVED;
			recorded++;
			if (job->move.to == FUSION_SLOW && !job->flips)
				demoted = job->new;
			continue;
		}
		if (still_ours(e, job))
			*word = job->old;
		put_slot(e, job->new);
	}
	if (!recorded) {
		sim_unpark(e);
		end_batch(e);
		return;
	}
	/* flush the slow member if something went there; then the journal, with a flush */
	m->step = SIM_COMMITS;
	m->ops = 1;
	sim_event_at(e, e->now + e->cfg->disk.ssd_flush_us * 1000ULL, OP_COMMIT);
	if (fusion_word_mapped(demoted)) {
		m->ops++;
		sim_submit(e, FUSION_SLOW, sim_word_byte(e, demoted), 4096, true, OP_COMMIT);
	}
}

/* -- the worker ------------------------------------------------------------------------- */

void sim_mover_drained(struct sim_engine *e)
{
	if (e->mover.step == SIM_DRAINS) {
		struct sim_mover *m = &e->mover;

		qsort(m->job, m->nr, sizeof(m->job[0]), compare_jobs);
		m->step = SIM_COPIES;
		m->current = 0;
		announce(e);
		copy_next(e);
	} else if (e->mover.step == SIM_RECLAIMS) {
		reclaim(e);
	}
}

void sim_mover_done(struct sim_engine *e, u32 id)
{
	struct sim_mover *m = &e->mover;

	if (id == OP_RECORD) {
		m->recording = false;
		if (m->step == SIM_RECORDS) {
			m->waited += e->now - m->wait_since;
			record(e);
		}
	} else if (id == OP_COMMIT) {
		if (!--m->ops)
			committed(e);
	} else if (id >= OP_WRITE) {
		if (!--m->ops)
			copied(e);
	} else {
		submit_piece(e, m->job[m->current].new, id - OP_READ, true);
	}
}

/* The next of those picked. */
static void begin_batch(struct sim_engine *e)
{
	struct sim_mover *m = &e->mover;

	m->nr = fusion_policy_batch(&m->picked[m->next], m->nr_picked - m->next);
	m->nr_batches++;
	for (unsigned int i = 0; i < m->nr; i++)
		m->job[i] = (struct sim_job) { .move = m->picked[m->next++] };
	if (!start_jobs(e)) {
		end_batch(e);
		return;
	}
	m->step = SIM_DRAINS;
	if (drain(e))
		sim_mover_drained(e);
}

static unsigned int look_at_slots(const struct sim_engine *e, struct fusion_policy_env *env)
{
	u32 fast = e->slots[FUSION_FAST].nr_free, max;
	u32 slow = e->slots[FUSION_SLOW].nr_free + e->nr_shadows;

	env->free_fast = fast - min(fast, e->sb.spare_fast);
	env->free_slow = slow - min(slow, e->sb.spare_slow);
	max = env->free_fast + env->free_slow < FUSION_BATCH && e->nr_mapped < e->sb.nr_lexts ?
	      FUSION_SHORT_BATCH : FUSION_BATCH;
	return clamp(2 * min(fast, slow), 2U, max);
}

static bool run_policy(struct sim_engine *e)
{
	struct sim_mover *m = &e->mover;
	struct fusion_policy_env env = {
		.reserve = e->reserve, .idle = sim_is_idle(e), .most = FUSION_LONG_BATCH,
	};
	unsigned int max = look_at_slots(e, &env);

	m->nr_picked = fusion_policy_pick(e->policy, &env, m->picked, max);
	for (unsigned int i = 0; i < m->nr_picked; i++)
		m->picked[i].hold = *cancels(e, m->picked[i].lext) >= FUSION_MAX_CANCELS;
	if (!m->nr_picked)
		return false;
	e->result->batches++;
	m->next = 0;
	m->nr_batches = 0;
	m->nr_copied = 0;
	m->nr_copies = 0;
	m->start = e->now;
	m->waited = 0;
	m->queue = 0;
	m->queue_looks = 0;
	m->look_usable = false;
	look(e);
	m->was_idle = env.idle;
	begin_batch(e);
	return true;
}

void sim_mover_timer(struct sim_engine *e)
{
	struct sim_mover *m = &e->mover;

	if (m->step != SIM_WAITS)
		return;
	m->at = e->now + FUSION_TICK_MS * SIM_MS;
	tick(e);
	look(e);
	m->look_usable = true;
	sim_shadows_tend(e);
	if (e->cfg->migration && (e->now >= m->next_batch || sim_is_idle(e)))
		run_policy(e);
}

u32 sim_mover_slots(const struct sim_engine *e)
{
	const struct sim_mover *m = &e->mover;
	u32 n = 0;

	for (unsigned int i = 0; i < m->nr; i++)
		n += m->job[i].started &&
		     ((m->step != SIM_COMMITS && m->step != SIM_RECLAIMS) ||
		      m->job[i].outcome == FUSION_MOVED);
	return n;
}
