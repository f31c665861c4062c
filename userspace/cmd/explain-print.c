// SPDX-License-Identifier: GPL-2.0-only
/* Verb explain: text and JSON. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "fusionctl.h"
#include "json.h"
#include "protected.h"
#include "role.h"
#include "size.h"

#define VERDICT_TEXT	512
#define BLOCK_BYTES	4096

static const char *member_name(int member)
{
	return member < 0 ? NULL : fus_role_name[member];
}

static uint64_t half_life_s(const struct explain_set *set)
{
	return set->policy.view.half_life_ms / 1000;
}

/* The home slot of an extent has its number. */
static bool is_home(const struct explain_extent *e)
{
	return e->member == SLOW && e->slot == e->lext;
}

/* How long it has to be left alone until it is cold enough. */
static uint64_t decay_s(const struct explain_set *set, const struct explain_answer *a)
{
	return a->eighths * set->policy.view.half_life_ms / 8000;
}

/* -- for people ---------------------------------------------------------------------- */

static void accesses_text(char *buf, size_t size, uint32_t nr)
{
	snprintf(buf, size, "%" PRIu32 " more access%s", nr, nr == 1 ? "" : "es");
}

/* Add what is in the way of a move. */
static void add_waits(char *buf, size_t size, const struct explain_extent *e, unsigned int waits)
{
	static const char *const hold[NO_HOLD] = {
		[HOLD_MOVED] = "it was promoted a short time ago",
		[HOLD_CANCELLED] = "a write cancelled its last move",
		[HOLD_FAILED] = "its last move failed",
		[HOLD_SKIPPED] = "its last move was not made",
	};
	const char *between = "";
	size_t n = strlen(buf);
	char time[AGE_TEXT];

	for (int i = 0; i < NR_WAITS; i++) {
		if (!(waits >> i & 1) || n >= size)
			continue;
		n += snprintf(buf + n, size - n, "%s%s", between,
			      i == WAIT_HOLD ? hold[e->hold] : explain_wait_text[i]);
		if (i == WAIT_HOLD && n < size)
			n += snprintf(buf + n, size - n, " (for another %s)",
				      fus_age_text(time, e->hold_s));
		between = ", ";
	}
}

static void stays_text(char *buf, size_t size, const struct explain_set *set,
		       const struct explain_extent *e, const struct explain_answer *a)
{
	char more[48], time[AGE_TEXT];

	if (e->member == SLOW && a->at != NO_HEAT) {
		accesses_text(more, sizeof(more), explain_accesses(e->heat, a->at));
		snprintf(buf, size, "stays on the slow member; %s would promote it", more);
	} else if (e->member == SLOW && a->at_idle != NO_HEAT) {
		accesses_text(more, sizeof(more), explain_accesses(e->heat, a->at_idle));
		snprintf(buf, size, "stays on the slow member; %s would promote it, once there is "
			 "no foreground I/O", more);
	} else if (e->member == SLOW) {
		snprintf(buf, size, "stays on the slow member; nothing on the fast member would "
			 "make room for it");
	} else if (a->at != NO_HEAT) {
		snprintf(buf, size, "stays on the fast member; it may be demoted after %s without "
			 "an access", fus_age_text(time, decay_s(set, a)));
	} else {
		snprintf(buf, size, "stays on the fast member; nothing needs its slot");
	}
}

static void verdict_text(char buf[VERDICT_TEXT], const struct explain_set *set,
			 const struct explain_extent *e, const struct explain_answer *a)
{
	const char *what = a->to == FAST ? "promoted" : "demoted";

	switch (a->verdict) {
	case VERDICT_UNMAPPED:
		snprintf(buf, VERDICT_TEXT, "lies nowhere; its first write gives it a slot");
		break;
	case VERDICT_LOST:
		snprintf(buf, VERDICT_TEXT, "lies nowhere; its content is lost");
		break;
	case VERDICT_PARTIAL:
		snprintf(buf, VERDICT_TEXT, "stays where it is until all its blocks are valid");
		break;
	case VERDICT_MOVING:
		snprintf(buf, VERDICT_TEXT, "is being copied now");
		break;
	case VERDICT_LEAVES:
		snprintf(buf, VERDICT_TEXT, "leaves its slot, which is inside the fence or on the "
			 "old member");
		break;
	case VERDICT_PINNED:
		snprintf(buf, VERDICT_TEXT, "stays on the %s member, to which it is pinned",
			 fus_role_name[e->pin - 1]);
		break;
	case VERDICT_MOVES:
		snprintf(buf, VERDICT_TEXT, a->to == FAST ? "is promoted next" :
			 "is one of those that are demoted next");
		break;
	case VERDICT_WAITS:
		snprintf(buf, VERDICT_TEXT, "would be %s, but waits: ", what);
		add_waits(buf, VERDICT_TEXT, e, a->waits);
		break;
	default:
		stays_text(buf, VERDICT_TEXT, set, e, a);
	}
}

static void coldest_text(char *buf, size_t size, const struct explain_policy *p, int kind)
{
	if (p->victims[kind])
		snprintf(buf, size, "%" PRIu32 ", the coldest with heat %" PRIu32,
			 p->victims[kind], p->coldest[kind]);
	else
		snprintf(buf, size, "none");
}

void explain_print_policy(const struct explain_set *set)
{
	const struct explain_policy *p = &set->policy;
	const struct fusion_policy_view *v = &p->view;
	char time[AGE_TEXT], copied[64], shadowed[64];

	coldest_text(copied, sizeof(copied), p, 0);
	coldest_text(shadowed, sizeof(shadowed), p, 1);
	printf("policy: an access counts %u, and half after %s; %s\n", FUSION_HEAT_TOUCH,
	       fus_age_text(time, half_life_s(set)), p->env.idle ? "no foreground I/O now" :
	       "foreground I/O now");
	printf("  free slots  %" PRIu32 " on the fast member, the reserve is %" PRIu32 "\n",
	       p->env.free_fast, p->env.reserve);
	printf("  a swap      has to gain %" PRIu32 " under foreground I/O, %" PRIu32
	       " if its victim has a current shadow\n", v->pay, v->pay_shadowed);
	printf("  victims     %s; with a current shadow %s\n", copied, shadowed);
	printf("  candidates  %" PRIu32 ", the hottest extent of the slow member has heat %" PRIu32
	       "\n", p->candidates, p->hottest);
	if (p->limited)
		printf("  budget      %" PRId64 " extents may be promoted now\n",
		       p->budget > 0 ? p->budget : 0);
}

static void print_share(const struct explain_set *set, const struct explain_extent *e)
{
	char size[SIZE_TEXT];

	if (set->file)
		printf("  the file    has %s of it\n",
		       fus_size_text(size, set->file->on[e->lext]));
}

static void print_place(const struct explain_set *set, const struct explain_extent *e)
{
	uint64_t sectors = set->extent_bytes >> 9, first = e->lext * sectors;

	printf("extent %" PRIu32 ", sectors %" PRIu64 "-%" PRIu64 ": ", e->lext, first,
	       first + sectors - 1);
	if (e->member < 0) {
		printf("%s\n", e->state);
		return;
	}
	printf("%s member, slot %" PRIu32 "%s, %s", fus_role_name[e->member], e->slot,
	       is_home(e) ? " (home)" : "", e->state);
	if (e->partial)
		printf(", %" PRIu32 " of %" PRIu64 " blocks valid", e->valid,
		       set->extent_bytes / BLOCK_BYTES);
	printf("\n");
	if (e->member == FAST && strcmp(e->shadow, "none"))
		printf("  shadow      %s\n", e->shadow);
}

/* Of where its blocks are read. */
static void print_log(const struct explain_set *set, const struct explain_extent *e)
{
	if (e->logged)
		printf("  log         %" PRIu32 " of %" PRIu64 " blocks are newer in the landing "
		       "log: these are read from the fast member until they are drained\n",
		       e->logged, set->extent_bytes / BLOCK_BYTES);
}

static void print_heat(const struct explain_set *set, const struct explain_extent *e)
{
	char least[AGE_TEXT], most[AGE_TEXT];

	printf("  heat        %" PRIu32 ", or %.1f accesses", e->heat,
	       (double)e->heat / FUSION_HEAT_TOUCH);
	if (e->aged)
		printf("; the last one %s to %s ago", fus_age_text(least, e->age),
		       fus_age_text(most, e->age + half_life_s(set) / 8 + 1));
	printf("\n");
}

static void print_threshold(const struct explain_answer *a)
{
	if (a->to < 0 || (a->at == NO_HEAT && a->at_idle == NO_HEAT))
		return;
	printf("  %s ", a->to == FAST ? "promoted at" : "demoted at ");
	if (a->at == NO_HEAT)
		printf("no heat");
	else
		printf("heat %" PRIu32, a->at);
	if (a->at_idle != a->at && a->at_idle != NO_HEAT)
		printf("; %" PRIu32 " without foreground I/O", a->at_idle);
	printf("\n");
}

void explain_print_extent(const struct explain_set *set, const struct explain_extent *e,
			  const struct explain_answer *a)
{
	char verdict[VERDICT_TEXT], time[AGE_TEXT];

	verdict_text(verdict, set, e, a);
	print_place(set, e);
	print_share(set, e);
	if (e->member >= 0)
		print_heat(set, e);
	print_log(set, e);
	print_threshold(a);
	if (e->pin)
		printf("  pinned      to the %s member\n", fus_role_name[e->pin - 1]);
	if (e->hold < HOLD_LEAVES && e->hold_s)
		printf("  left alone  for another %s: %s\n", fus_age_text(time, e->hold_s),
		       explain_hold_name[e->hold]);
	printf("  verdict     it %s\n", verdict);
}

/* -- for programs -------------------------------------------------------------------- */

static void add_maybe(struct json_object *o, const char *key, bool is, uint64_t v)
{
	if (is)
		fus_json_add_u64(o, key, v);
	else
		json_object_object_add(o, key, NULL);
}

static struct json_object *victims_json(const struct explain_policy *p, int kind)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_u64(o, "extents", p->victims[kind]);
	add_maybe(o, "coldest", p->victims[kind], p->coldest[kind]);
	return o;
}

struct json_object *explain_policy_json(const struct explain_set *set)
{
	const struct explain_policy *p = &set->policy;
	const struct fusion_policy_view *v = &p->view;
	struct json_object *o = json_object_new_object();

	fus_json_add_bool(o, "idle", p->env.idle);
	fus_json_add_u64(o, "access_heat", FUSION_HEAT_TOUCH);
	fus_json_add_u64(o, "half_life_seconds", half_life_s(set));
	fus_json_add_u64(o, "free_fast", p->env.free_fast);
	fus_json_add_u64(o, "reserve", p->env.reserve);
	fus_json_add_u64(o, "kth_heat", v->kth);
	fus_json_add_u64(o, "cold_heat", v->cold);
	fus_json_add_u64(o, "pay_heat", v->pay);
	fus_json_add_u64(o, "pay_shadowed_heat", v->pay_shadowed);
	json_object_object_add(o, "wrong_share", json_object_new_double(v->wrong / 65536.0));
	add_maybe(o, "access_fast_ns", v->access_ns[FAST], v->access_ns[FAST]);
	add_maybe(o, "access_slow_ns", v->access_ns[SLOW], v->access_ns[SLOW]);
	add_maybe(o, "move_ns", v->move_ns, v->move_ns);
	fus_json_add_u64(o, "candidates", p->candidates);
	fus_json_add_u64(o, "hottest", p->hottest);
	json_object_object_add(o, "victims", victims_json(p, 0));
	json_object_object_add(o, "victims_shadowed", victims_json(p, 1));
	add_maybe(o, "budget_extents", p->limited, p->budget > 0 ? p->budget : 0);
	fus_json_add_u64(o, "pause_ms", p->pause_ms);
	return o;
}

struct json_object *explain_waits_json(unsigned int waits)
{
	struct json_object *array = json_object_new_array();

	for (int i = 0; i < NR_WAITS; i++)
		if (waits >> i & 1)
			json_object_array_add(array, json_object_new_string(explain_wait_name[i]));
	return array;
}

struct json_object *explain_extent_json(const struct explain_set *set,
					const struct explain_extent *e,
					const struct explain_answer *a)
{
	struct json_object *o = json_object_new_object();
	uint64_t sectors = set->extent_bytes >> 9;
	bool held = e->hold == HOLD_LEAVES || (e->hold < HOLD_LEAVES && e->hold_s);
	char verdict[VERDICT_TEXT];

	verdict_text(verdict, set, e, a);
	fus_json_add_u64(o, "extent", e->lext);
	fus_json_add_u64(o, "first_sector", e->lext * sectors);
	fus_json_add_u64(o, "last_sector", (e->lext + 1) * sectors - 1);
	add_maybe(o, "file_bytes", set->file, set->file ? set->file->on[e->lext] : 0);
	fus_json_add_str(o, "member", member_name(e->member));
	add_maybe(o, "slot", e->member >= 0, e->slot);
	fus_json_add_bool(o, "home", is_home(e));
	fus_json_add_str(o, "state", e->state);
	fus_json_add_u64(o, "heat", e->heat);
	add_maybe(o, "age_seconds", e->aged, e->age);
	add_maybe(o, "valid_blocks", e->partial, e->valid);
	fus_json_add_u64(o, "blocks", set->extent_bytes / BLOCK_BYTES);
	add_maybe(o, "logged_blocks", e->logs, e->logged);
	fus_json_add_str(o, "shadow", e->shadow);
	fus_json_add_str(o, "replica", strcmp(e->replica, "-") ? e->replica : NULL);
	fus_json_add_str(o, "pin", member_name(e->pin - 1));
	fus_json_add_str(o, "hold", held ? explain_hold_name[e->hold] : NULL);
	fus_json_add_u64(o, "hold_seconds", held ? e->hold_s : 0);
	fus_json_add_str(o, "to", member_name(a->to));
	add_maybe(o, "moves_at", a->at != NO_HEAT, a->at);
	add_maybe(o, "moves_at_idle", a->at_idle != NO_HEAT, a->at_idle);
	add_maybe(o, "missing_accesses", a->to == FAST && a->at != NO_HEAT,
		  explain_accesses(e->heat, a->at));
	add_maybe(o, "decay_seconds", a->to == SLOW && a->at != NO_HEAT, decay_s(set, a));
	fus_json_add_str(o, "verdict", explain_verdict_name[a->verdict]);
	json_object_object_add(o, "waits_for", explain_waits_json(a->waits));
	fus_json_add_str(o, "text", verdict);
	return o;
}
