// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: messages that say why an extent lies where it does: extents, each by itself, and the
 * numbers that the policy decides by.
 *
 * They only read. What belongs to the mover is read beside it, so lines may be of different
 * moments. The fast path knows nothing of this.
 */
#include <linux/bitops.h>
#include <linux/kstrtox.h>
#include <linux/math64.h>
#include <linux/string.h>

#include "dm-fusion.h"

#define MAX_EXTENTS	4096U
/* Extents looked at in one go. */
#define SLICE		16384U

int fusion_bad_message(const char *what, const char *arg)
{
	DMERR("message: %s: %s", arg, what);
	return -EINVAL;
}

int fusion_parse_extents(const struct fusion *fs, const char *first_arg, const char *count_arg,
			 u32 *first, u32 *count)
{
	if (kstrtou32(first_arg, 10, first) || *first >= fs->sb.nr_lexts)
		return fusion_bad_message("not an extent of this device", first_arg);
	if (kstrtou32(count_arg, 10, count) || !*count)
		return fusion_bad_message("not a number of extents", count_arg);
	*count = min(*count, fs->sb.nr_lexts - *first);
	return 0;
}

int fusion_parse_range(const struct fusion *fs, char *arg, u32 *first, u32 *last)
{
	char *dash = strchr(arg, '-');
	int r;

	if (dash)
		*dash++ = '\0';
	r = kstrtou32(arg, 10, first);
	if (!r)
		r = kstrtou32(dash ?: arg, 10, last);
	if (r || *first > *last)
		return fusion_bad_message("not a range <first>[-<last>] of extents", arg);
	if (*last >= fs->sb.nr_lexts) {
		DMERR("message: extent %u is beyond the last one, %u", *last,
		      fs->sb.nr_lexts - 1);
		return -ERANGE;
	}
	return 0;
}

const char *fusion_state_name(u32 word)
{
	static const char * const names[] = {
		[FUSION_STABLE] = "stable",
		[FUSION_OPEN] = "open",
		[FUSION_WATCHED] = "watched",
		[FUSION_LOCKED] = "locked",
	};

	if (fusion_word_lost(word))
		return "lost";
	return fusion_word_mapped(word) ? names[fusion_word_state(word)] : "unmapped";
}

/* -- extents --------------------------------------------------------------------------------- */

/* One extent, of one moment, except what the policy knows. */
struct fusion_extent_view {
	u32 word;
	bool partial;
	u32 nr_valid;		/* blocks, if it is partial */
	bool leaves;
	const char *shadow;
	const char *replica;
};

/* What the slow member's copy of the map says of an extent. fs->lock held. */
static const char *fusion_replica_knows(const struct fusion *fs, u32 lext)
{
	const struct fusion_replica *rep = &fs->replica;

	if (fs->read_only)
		return "-";
	if (READ_ONCE(rep->stale))
		return "stale";
	/* changed without the lock, bit by bit */
	if (test_bit(lext, rep->away))
		return "away";
	return test_bit(lext, rep->dirty) ? "dirty" : "known";
}

static void fusion_view_extent(struct fusion *fs, u32 lext, struct fusion_extent_view *v)
{
	const struct fusion_open *open;

	spin_lock_irq(&fs->lock);
	v->word = READ_ONCE(fs->map[lext]);
	open = fusion_open_find(fs, lext);
	v->partial = open;
	v->nr_valid = open ? open->nr_valid : 0;
	v->leaves = fusion_word_leaves(fs, v->word);
	v->shadow = !fusion_has_shadow(fs, v->word) ? "none" :
		    fusion_shadow_is_current(fs, v->word) ? "current" : "outdated";
	v->replica = fusion_replica_knows(fs, lext);
	spin_unlock_irq(&fs->lock);
}

int fusion_message_extents(struct fusion *fs, const char *first_arg, const char *count_arg,
			   char *result, unsigned int maxlen)
{
	static const char * const holds[] = {
		[FUSION_MOVED] = "moved",
		[FUSION_CANCELLED] = "cancelled",
		[FUSION_FAILED] = "failed",
		[FUSION_SKIPPED] = "skipped",
	};
	static const char * const pins[] = {
		[FUSION_FAST] = "fast",
		[FUSION_SLOW] = "slow",
		[FUSION_UNPINNED] = "-",
	};
	u32 first, count, lext;
	unsigned int sz = 0;
	int r = fusion_parse_extents(fs, first_arg, count_arg, &first, &count);

	if (!r && count > MAX_EXTENTS)
		r = fusion_bad_message("not a number of extents, 1 to 4096", count_arg);
	if (r)
		return r;

	/* If the buffer is full, the core tries again with a larger one. */
	for (lext = first; lext < first + count && sz + 1 < maxlen; lext++) {
		enum fusion_outcome why = FUSION_MOVED;
		u32 heat = fusion_policy_heat(fs->policy, lext);
		u64 hold = fusion_policy_hold(fs->policy, lext, &why);
		struct fusion_extent_view v;

		fusion_view_extent(fs, lext, &v);
		DMEMIT("%u ", lext);
		if (fusion_word_mapped(v.word))
			DMEMIT("%s %u ", fusion_word_dev(v.word) == FUSION_FAST ? "fast" : "slow",
			       fusion_word_slot(v.word));
		else
			DMEMIT("- - ");
		DMEMIT("%s %u ", fusion_state_name(v.word), heat);
		if (heat)
			DMEMIT("%llu ", div_u64(fusion_policy_age(fs->policy, lext), 1000));
		else
			DMEMIT("- ");
		DMEMIT("%s %llu ", v.leaves ? "leaves" : hold ? holds[why] : "-",
		       v.leaves ? 0 : div_u64(hold + 999, 1000));
		if (v.partial)
			DMEMIT("%u ", v.nr_valid);
		else
			DMEMIT("- ");
		DMEMIT("%s %s %s", v.shadow, v.replica,
		       pins[fusion_policy_pinned(fs->policy, lext)]);
		if (fs->land.max)
			DMEMIT(" %u", fusion_land_logged(fs, lext));
		DMEMIT("\n");
		cond_resched();
	}
	return 1;
}

int fusion_message_logged(struct fusion *fs, const char *first_arg, const char *count_arg,
			  char *result, unsigned int maxlen)
{
	u32 first, count, lext;
	unsigned int sz = 0;
	int r = fusion_parse_extents(fs, first_arg, count_arg, &first, &count);

	if (r)
		return r;
	/* there may be nothing to print */
	if (maxlen)
		*result = '\0';
	/* If the buffer is full, the core tries again with a larger one. */
	for (lext = first; lext < first + count && sz + 1 < maxlen; lext++) {
		sz += fusion_emit_logged(fs, lext, result + sz, maxlen - sz);
		if (!(lext % 4096))
			cond_resched();
	}
	return 1;
}

/* -- policy ---------------------------------------------------------------------------------- */

static unsigned int fusion_emit_mean(char *result, unsigned int maxlen, const char *key, u64 ns)
{
	unsigned int sz = 0;

	if (ns)
		DMEMIT("%s %llu\n", key, ns);
	else
		DMEMIT("%s -\n", key);
	return sz;
}

static unsigned int fusion_emit_view(struct fusion *fs, char *result, unsigned int maxlen)
{
	struct fusion_policy_view v;
	unsigned int sz = 0;

	fusion_policy_view(fs->policy, &v);
	DMEMIT("bar %u\n", v.bar);
	DMEMIT("kth %u\n", v.kth);
	DMEMIT("cold %u\n", v.cold);
	DMEMIT("pay %u\n", v.pay);
	DMEMIT("pay_shadowed %u\n", v.pay_shadowed);
	DMEMIT("shadowed %u\n", v.nr_shadowed);
	DMEMIT("shortfall %u\n", v.shortfall);
	DMEMIT("leaving %u\n", v.leaving);
	DMEMIT("wrong %u\n", v.wrong);
	DMEMIT("half_life_ms %llu\n", v.half_life_ms);
	if (sz < maxlen)
		sz += fusion_emit_mean(result + sz, maxlen - sz, "access_fast_ns",
				       v.access_ns[FUSION_FAST]);
	if (sz < maxlen)
		sz += fusion_emit_mean(result + sz, maxlen - sz, "access_slow_ns",
				       v.access_ns[FUSION_SLOW]);
	if (sz < maxlen)
		sz += fusion_emit_mean(result + sz, maxlen - sz, "move_ns", v.move_ns);
	return sz;
}

static unsigned int fusion_emit_survey(struct fusion *fs, const struct fusion_policy_env *env,
				       char *result, unsigned int maxlen)
{
	u32 room = env->free_fast - min(env->free_fast, env->reserve);
	static const char * const kinds[] = { "", "_shadowed" };
	struct fusion_survey s = { .idle = env->idle };
	u32 lext, end, nr = fs->sb.nr_lexts;
	unsigned int k, sz = 0;

	for (lext = 0; lext < nr; lext = end) {
		end = lext + min(SLICE, nr - lext);
		fusion_policy_survey(fs->policy, &s, lext, end);
		cond_resched();
	}
	DMEMIT("pinned_fast %u\n", s.pinned[FUSION_FAST]);
	DMEMIT("pinned_slow %u\n", s.pinned[FUSION_SLOW]);
	DMEMIT("candidates %u\n", s.candidates);
	DMEMIT("hottest %u\n", fusion_survey_beyond(&s, 0));
	DMEMIT("hottest_swap %u\n", fusion_survey_beyond(&s, room));
	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		DMEMIT("victims%s %u\n", kinds[k], s.victims[k]);
		if (s.victims[k])
			DMEMIT("coldest%s %u\n", kinds[k], s.coldest[k]);
		else
			DMEMIT("coldest%s -\n", kinds[k]);
	}
	return sz;
}

/* What the mover looks at before it asks the policy: fusion_mover_run(). */
static unsigned int fusion_emit_mover(struct fusion *fs, struct fusion_policy_env *env,
				      char *result, unsigned int maxlen)
{
	u64 next = READ_ONCE(fs->mover.next_batch_ms), now = fusion_now_ms();
	unsigned int sz = 0, batch;
	bool requests;
	u32 evacuate;

	spin_lock_irq(&fs->lock);
	batch = fusion_look_at_slots(fs, env);
	requests = !list_empty(&fs->mover.forced);
	evacuate = (fusion_fence_size(&fs->slots.fence) ? fusion_fence_extents(fs) : 0) +
		   fs->old.nr;
	spin_unlock_irq(&fs->lock);

	DMEMIT("free_fast %u\n", env->free_fast);
	DMEMIT("free_slow %u\n", env->free_slow);
	DMEMIT("reserve %u\n", env->reserve);
	DMEMIT("batch %u\n", batch);
	DMEMIT("idle %u\n", env->idle);
	DMEMIT("pause_ms %llu\n", next - min(next, now));
	if (READ_ONCE(fs->opt.write_budget))
		DMEMIT("budget %lld\n", fusion_budget_extents(fs));
	else
		DMEMIT("budget -\n");
	DMEMIT("migration %u\n", READ_ONCE(fs->opt.migration));
	DMEMIT("standby %u\n", READ_ONCE(fs->mover.slow_asleep));
	DMEMIT("homing %u\n", READ_ONCE(fs->mover.homing.on));
	DMEMIT("evacuate %u\n", evacuate);
	DMEMIT("requests %u\n", requests);
	DMEMIT("stopped %u\n", READ_ONCE(fs->mover.stopping));
	return sz;
}

int fusion_message_policy(struct fusion *fs, char *result, unsigned int maxlen)
{
	/* before the clock, as the mover sets it to the current time */
	u64 busy = READ_ONCE(fs->mover.last_busy_ms), now = fusion_now_ms();
	struct fusion_policy_env env = {
		.reserve = fusion_reserve(fs),
		.idle = now - min(now, busy) >= READ_ONCE(fs->opt.idle),
	};
	unsigned int sz;

	sz = fusion_emit_mover(fs, &env, result, maxlen);
	if (sz < maxlen)
		sz += fusion_emit_view(fs, result + sz, maxlen - sz);
	if (sz < maxlen)
		sz += fusion_emit_survey(fs, &env, result + sz, maxlen - sz);
	return 1;
}
