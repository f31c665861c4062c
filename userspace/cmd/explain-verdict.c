// SPDX-License-Identifier: GPL-2.0-only
/* What the policy wants with an extent, and what is in the way of that. */
#include <string.h>

#include "explain.h"

const char *const explain_hold_name[NO_HOLD] = {
	[HOLD_MOVED] = "moved",
	[HOLD_CANCELLED] = "cancelled",
	[HOLD_FAILED] = "failed",
	[HOLD_SKIPPED] = "skipped",
	[HOLD_LEAVES] = "leaves",
};

const char *const explain_verdict_name[NR_VERDICTS] = {
	[VERDICT_UNMAPPED] = "unmapped",
	[VERDICT_LOST] = "lost",
	[VERDICT_PARTIAL] = "partial",
	[VERDICT_MOVING] = "moving",
	[VERDICT_LEAVES] = "leaves",
	[VERDICT_PINNED] = "pinned",
	[VERDICT_MOVES] = "moves",
	[VERDICT_WAITS] = "waits",
	[VERDICT_STAYS] = "stays",
};

const char *const explain_wait_name[NR_WAITS] = {
	[WAIT_MODE] = "mode",
	[WAIT_STOPPED] = "suspended",
	[WAIT_MIGRATION] = "migration",
	[WAIT_STANDBY] = "standby",
	[WAIT_HOMING] = "homing",
	[WAIT_EVACUATION] = "evacuation",
	[WAIT_REQUESTS] = "requests",
	[WAIT_BUDGET] = "budget",
	[WAIT_DUTY] = "duty",
	[WAIT_HOLD] = "hold",
	[WAIT_IDLE] = "idle",
};

const char *const explain_wait_text[NR_WAITS] = {
	[WAIT_MODE] = "the set is read-only",
	[WAIT_STOPPED] = "the device is suspended",
	[WAIT_MIGRATION] = "migration is off",
	[WAIT_STANDBY] = "the slow member rests",
	[WAIT_HOMING] = "homing is on",
	[WAIT_EVACUATION] = "extents that have to leave their slots come first",
	[WAIT_REQUESTS] = "moves on request come first",
	[WAIT_BUDGET] = "the write budget is used up",
	[WAIT_DUTY] = "duty lets the mover pause",
	[WAIT_HOLD] = "",
	[WAIT_IDLE] = "there is foreground I/O",
};

uint32_t explain_accesses(uint32_t heat, uint32_t at)
{
	return at > heat ? (at - heat + FUSION_HEAT_TOUCH - 1) / FUSION_HEAT_TOUCH : 0;
}

/* In the order in which the mover looks. */
unsigned int explain_mover_waits(const struct explain_policy *p)
{
	return !p->rw << WAIT_MODE | p->stopped << WAIT_STOPPED |
	       !p->migration << WAIT_MIGRATION | p->standby << WAIT_STANDBY |
	       p->homing << WAIT_HOMING | !!p->evacuate << WAIT_EVACUATION |
	       p->requests << WAIT_REQUESTS |
	       (p->pause_ms && !p->env.idle) << WAIT_DUTY;
}

/* The verdict, if its state alone decides. */
static bool judge_state(const struct explain_extent *e, struct explain_answer *a)
{
	bool lost = !strcmp(e->state, "lost"), watched = !strcmp(e->state, "watched");

	if (e->member < 0)
		a->verdict = lost ? VERDICT_LOST : VERDICT_UNMAPPED;
	else if (e->partial || !strcmp(e->state, "open"))
		a->verdict = VERDICT_PARTIAL;
	/* between batches, only an extent with a current shadow is watched */
	else if (!strcmp(e->state, "locked") ||
		 (watched && (e->member == FUSION_SLOW || strcmp(e->shadow, "current"))))
		a->verdict = VERDICT_MOVING;
	/* no swap takes it, so the policy has no say */
	else if (e->hold == HOLD_LEAVES)
		a->verdict = VERDICT_LEAVES;
	else
		return false;
	return true;
}

/*
 * Whatever the heat, an extent that is where it is pinned to stays there. One that is not goes
 * there: to the fast member before all others, to the slow one without foreground I/O.
 */
static void judge_pinned(struct explain_world *w, const struct explain_policy *p,
			 const struct explain_extent *e, struct explain_answer *a)
{
	if (e->member == e->pin - 1) {
		a->verdict = VERDICT_PINNED;
		return;
	}
	a->to = e->pin - 1;
	a->waits = explain_mover_waits(p) | explain_held(w, e, p->env.idle) << WAIT_HOLD;
	if (a->to == FUSION_FAST)
		a->waits |= (p->limited && p->budget <= 0) << WAIT_BUDGET;
	else
		a->waits |= !p->env.idle << WAIT_IDLE;
	a->verdict = a->waits ? VERDICT_WAITS : VERDICT_MOVES;
}

void explain_judge(struct explain_world *w, const struct explain_policy *p,
		   const struct explain_extent *e, struct explain_answer *a)
{
	struct explain_if what = { .idle = p->env.idle, .not_held = true, .heat = e->heat };
	bool spent = p->limited && p->budget <= 0, wanted;

	*a = (struct explain_answer) { .to = -1, .at = NO_HEAT, .at_idle = NO_HEAT };
	if (judge_state(e, a))
		return;
	if (e->pin) {
		judge_pinned(w, p, e, a);
		return;
	}
	a->to = e->member == FUSION_FAST ? FUSION_SLOW : FUSION_FAST;
	a->at = explain_threshold(w, e, &what);
	what.idle = true;
	a->at_idle = explain_threshold(w, e, &what);
	if (e->member == FUSION_FAST && a->at != NO_HEAT)
		a->eighths = explain_decay(w, e->heat, a->at);

	what.idle = p->env.idle;
	wanted = explain_moves(w, e, &what);
	if (!wanted) {
		what.idle = true;
		wanted = explain_moves(w, e, &what);
		a->waits |= wanted << WAIT_IDLE;
	}
	if (!wanted) {
		a->verdict = VERDICT_STAYS;
		return;
	}
	what.not_held = false;
	a->waits |= !explain_moves(w, e, &what) << WAIT_HOLD;
	what.no_budget = spent;
	what.not_held = true;
	a->waits |= (spent && !explain_moves(w, e, &what)) << WAIT_BUDGET;
	a->waits |= explain_mover_waits(p);
	a->verdict = a->waits ? VERDICT_WAITS : VERDICT_MOVES;
}
