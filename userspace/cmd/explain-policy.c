// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy is asked. It is the module's own source, with the numbers of the kernel's policy, and
 * with a map of the extent in question and those it may change places with: so it answers as the
 * kernel's does, and its rules are written down once.
 */
#include <stdlib.h>
#include <string.h>

#include "dm-fusion-heat.h"

#include "explain.h"

/* Extents of that map: the one in question, and the best partners for a swap. */
enum {
	SUBJECT,
	COPIED,			/* a victim without a current shadow, */
	SHADOWED,		/* and one with it; */
	CANDIDATE = 1,		/* or the first of several candidates */
	NR_WORLD = CANDIDATE + FUSION_MAX_PICK
};

/* A threshold that has been looked for. */
struct limit {
	bool known;
	u32 heat;
};

struct explain_world {
	const struct explain_policy *now;
	struct fusion_policy *policy;
	u32 map[NR_WORLD];
	/* by member, by whether it has a current shadow, and by whether it is as if idle */
	struct limit limit[FUSION_NR_DEVS][2][2];
};

struct explain_world *explain_world_create(const struct explain_policy *p)
{
	struct explain_world *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->now = p;
	for (int i = 0; i < NR_WORLD; i++)
		w->map[i] = FUSION_WORD_UNMAPPED;
	w->policy = fusion_policy_create(w->map, NR_WORLD, NR_WORLD);
	if (w->policy)
		return w;
	free(w);
	return NULL;
}

void explain_world_destroy(struct explain_world *w)
{
	if (!w)
		return;
	fusion_policy_destroy(w->policy);
	free(w);
}

static void put(struct explain_world *w, u32 lext, enum fusion_dev dev, bool shadowed, u32 heat)
{
	w->map[lext] = fusion_word(shadowed ? FUSION_WATCHED : FUSION_STABLE, dev, lext + 1);
	fusion_policy_set_heat(w->policy, lext, heat);
	if (dev == FUSION_SLOW)
		fusion_candidate(w->policy, lext);
}

/* The policy as the kernel's is, before it is asked, and nothing in the map. */
static void begin(struct explain_world *w)
{
	const struct fusion_policy_view *v = &w->now->view;
	struct fusion_policy *p = w->policy;

	for (int i = 0; i < NR_WORLD; i++)
		w->map[i] = FUSION_WORD_UNMAPPED;
	memset(p->candidate, 0xff, sizeof(p->candidate));
	memset(p->hold, 0, NR_WORLD * sizeof(*p->hold));
	memset(p->hand, 0, sizeof(p->hand));
	memset(p->vain, 0, sizeof(p->vain));
	memset(p->trial, 0, sizeof(p->trial));
	p->bar = v->bar;
	p->kth = v->kth;
	p->cold = v->cold;
	p->pay = v->pay;
	p->pay_shadowed = v->pay_shadowed;
	p->nr_shadowed = v->nr_shadowed;
	p->leaving = v->leaving;
	p->now = 1;
	p->now_ms = 0;
}

static void put_partners(struct explain_world *w, bool subject_fast)
{
	const struct explain_policy *now = w->now;
	u32 room = now->env.free_fast - min(now->env.free_fast, now->env.reserve);

	if (!subject_fast) {
		if (now->victims[0])
			put(w, COPIED, FUSION_FAST, false, now->coldest[0]);
		if (now->victims[1])
			put(w, SHADOWED, FUSION_FAST, true, now->coldest[1]);
		return;
	}
	/* those that get the free slots, and then the one that has to swap */
	if (!now->hottest_swap || room >= FUSION_MAX_PICK)
		return;
	for (u32 i = 0; i < room; i++)
		put(w, CANDIDATE + i, FUSION_SLOW, false, now->hottest);
	put(w, CANDIDATE + room, FUSION_SLOW, false, now->hottest_swap);
}

/* Does the policy choose the extent now? */
static bool chosen(struct explain_world *w, const struct fusion_policy_env *env)
{
	struct fusion_move moves[FUSION_MAX_PICK];
	unsigned int n = fusion_policy_pick(w->policy, env, moves, w->now->batch);

	for (unsigned int i = 0; i < n; i++)
		if (moves[i].lext == SUBJECT)
			return true;
	return false;
}

/* Does the policy take it for one that has a current shadow? */
static bool is_shadowed(const struct explain_extent *e)
{
	return e->member == FUSION_FAST && !strcmp(e->state, "watched");
}

/* What its last move has left behind. */
static void put_hold(struct explain_world *w, const struct explain_extent *e)
{
	if (e->hold < HOLD_LEAVES && e->hold_s)
		w->policy->hold[SUBJECT] = (struct fusion_hold) {
			.lext = SUBJECT, .outcome = (u8)e->hold, .until_ms = e->hold_s * 1000,
		};
}

bool explain_held(struct explain_world *w, const struct explain_extent *e, bool idle)
{
	begin(w);
	put_hold(w, e);
	return fusion_policy_held(w->policy, SUBJECT, idle);
}

bool explain_moves(struct explain_world *w, const struct explain_extent *e,
		   const struct explain_if *what)
{
	bool fast = e->member == FUSION_FAST;
	struct fusion_policy_env env = w->now->env;

	if (e->member < 0)
		return false;
	begin(w);
	put(w, SUBJECT, fast ? FUSION_FAST : FUSION_SLOW, is_shadowed(e), what->heat);
	/* what the budget does not allow takes nobody's place */
	if (!what->no_budget)
		put_partners(w, fast);
	else if (!fast)
		return false;
	if (!what->not_held)
		put_hold(w, e);
	env.idle = what->idle;
	/* if a swap finds no victim, its search rests, and the next one is for the reserve */
	return chosen(w, &env) || chosen(w, &env);
}

static uint32_t find_threshold(struct explain_world *w, const struct explain_extent *e,
			       const struct explain_if *what)
{
	bool fast = e->member == FUSION_FAST;
	struct explain_if with = *what;
	uint32_t no, yes, middle;

	/* the heat at which it is most likely to move, and the one at which it is least so */
	yes = fast ? 0 : FUSION_HEAT_MAX;
	no = FUSION_HEAT_MAX - yes;
	with.heat = yes;
	if (!explain_moves(w, e, &with))
		return NO_HEAT;
	with.heat = no;
	if (explain_moves(w, e, &with))
		return no;
	while (yes > no ? yes - no > 1 : no - yes > 1) {
		middle = (yes + no) / 2;
		with.heat = middle;
		if (explain_moves(w, e, &with))
			yes = middle;
		else
			no = middle;
	}
	return yes;
}

uint32_t explain_threshold(struct explain_world *w, const struct explain_extent *e,
			   const struct explain_if *what)
{
	struct limit *limit;

	if (e->member < 0 || !what->not_held || what->no_budget)
		return find_threshold(w, e, what);
	/* the same for all such extents */
	limit = &w->limit[e->member][is_shadowed(e)][what->idle];
	if (!limit->known)
		*limit = (struct limit) { .known = true, .heat = find_threshold(w, e, what) };
	return limit->heat;
}

unsigned int explain_decay(struct explain_world *w, uint32_t heat, uint32_t to)
{
	unsigned int age;

	begin(w);
	fusion_policy_set_heat(w->policy, SUBJECT, heat);
	/* after 255 the word would be young again; by then nothing is left */
	for (age = 0; age < 255; age++) {
		w->policy->now = age << 8 | 1;
		if (fusion_policy_heat(w->policy, SUBJECT) <= to)
			break;
	}
	return age;
}
