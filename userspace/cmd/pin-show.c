// SPDX-License-Identifier: GPL-2.0-only
/* Verbs pin and unpin: text and JSON. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <time.h>

#include "pin.h"
#include "fusionctl.h"
#include "json.h"
#include "protected.h"
#include "role.h"
#include "set-json.h"
#include "size.h"
#include "table.h"
#include "text.h"

#define PATH_TEXT	(4 * 4096)
#define STATE_TEXT	160

const char *const pin_state_name[NR_PIN_STATES] = {
	[PIN_COMPLETELY] = "completely",
	[PIN_PARTLY] = "partly",
	[PIN_NOT_YET] = "not yet",
	[PIN_NO_ROOM] = "no room",
	[PIN_MISSING] = "missing",
	[PIN_NOT_MOUNTED] = "not mounted",
	[PIN_UNREADABLE] = "unreadable",
};

/* -- for people ------------------------------------------------------------------------------- */

static void path_text(char buf[PATH_TEXT], const struct pin *pin)
{
	if (pin->path)
		fus_path_text(buf, PATH_TEXT, pin->path, pin->recursive);
	else
		snprintf(buf, PATH_TEXT, pin->first == pin->last ? "extent %" PRIu64 :
			 "extents %" PRIu64 "-%" PRIu64, pin->first, pin->last);
}

static void state_text(char buf[STATE_TEXT], const struct pin *pin, const struct pin_found *f)
{
	const uint64_t now = time(NULL);
	char size[SIZE_TEXT], age[AGE_TEXT];
	int n;

	n = snprintf(buf, STATE_TEXT, "%s", pin_state_name[f->state]);
	if (f->state == PIN_MISSING && pin->missed)
		n += snprintf(buf + n, STATE_TEXT - n, " for %s",
			      fus_age_text(age, now > pin->missed ? now - pin->missed : 0));
	if (f->refused)
		n += snprintf(buf + n, STATE_TEXT - n, " for %s", fus_size_text(size, f->refused));
	if (pin->renamed)
		n += snprintf(buf + n, STATE_TEXT - n, ", under another name");
	if (f->overruled)
		snprintf(buf + n, STATE_TEXT - n, "; %s are pinned to the fast member as well, "
			 "which wins", fus_size_text(size, f->overruled));
}

static void print_row(struct libscols_table *tb, const struct pin *pin, const struct pin_found *f)
{
	char path[PATH_TEXT], size[SIZE_TEXT], there[SIZE_TEXT], state[STATE_TEXT];

	path_text(path, pin);
	state_text(state, pin, f);
	table_row(tb, (const char *[]) {
		path, fus_role_name[pin->member], fus_size_text(size, f->on[FAST] + f->on[SLOW]),
		fus_size_text(there, f->on[pin->member]), state,
	});
}

void pin_print_sum(void *ctx, const struct pinning *p)
{
	(void)ctx;
	printf("%s: %" PRIu64 " of at most %" PRIu64 " extents are pinned to the fast member, "
	       "%" PRIu64 " to the slow one\n", p->name, p->now.nr[FAST], p->now.limit,
	       p->now.nr[SLOW]);
}

void pin_print(void *ctx, const struct pinning *p)
{
	static const char *const headings[] = {
		"PINNED", "TO", ">SIZE", ">THERE", "STATE", NULL
	};
	struct libscols_table *tb;

	pin_print_sum(ctx, p);
	if (p->plan.nr[FAST] != p->now.nr[FAST] || p->plan.nr[SLOW] != p->now.nr[SLOW])
		printf("the kernel does not know all of it yet; run fusionctl pin --refresh %s\n",
		       p->name);
	if (!p->pins.nr)
		return;
	tb = table_new(headings);
	for (size_t i = 0; i < p->pins.nr; i++)
		print_row(tb, &p->pins.pin[i], &p->found[i]);
	table_print(tb);
}

/* -- for programs ----------------------------------------------------------------------------- */

static void add_maybe(struct json_object *o, const char *key, bool is, uint64_t v)
{
	if (is)
		fus_json_add_u64(o, key, v);
	else
		json_object_object_add(o, key, NULL);
}

static struct json_object *one_json(const struct pin *pin, const struct pin_found *f)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_str(o, "path", pin->path);
	fus_json_add_bool(o, "recursive", pin->recursive);
	fus_json_add_bool(o, "renamed", pin->renamed);
	fus_json_add_str(o, "file_system", pin->path ? pin->file_system : NULL);
	add_maybe(o, "inode", pin->path, pin->inode);
	add_maybe(o, "first", !pin->path, pin->first);
	add_maybe(o, "last", !pin->path, pin->last);
	fus_json_add_str(o, "member", fus_role_name[pin->member]);
	fus_json_add_str(o, "state", pin_state_name[f->state]);
	add_maybe(o, "missing_since", pin->missed, pin->missed);
	fus_json_add_u64(o, "files", f->files);
	fus_json_add_u64(o, "bytes", f->bytes);
	fus_json_add_u64(o, "set_bytes", f->on_set);
	fus_json_add_u64(o, "fast_bytes", f->on[FAST]);
	fus_json_add_u64(o, "slow_bytes", f->on[SLOW]);
	fus_json_add_u64(o, "refused_bytes", f->refused);
	fus_json_add_u64(o, "overruled_bytes", f->overruled);
	return o;
}

void pin_add_json(void *ctx, const struct pinning *p)
{
	struct json_object *o = json_object_new_object(), *pins = json_object_new_array();
	struct json_object *sets = ctx;

	fus_json_add_open(o, &p->set.m);
	fus_json_add_u64(o, "extent_bytes", p->extent_bytes);
	fus_json_add_u64(o, "limit_extents", p->now.limit);
	fus_json_add_u64(o, "fast_extents", p->now.nr[FAST]);
	fus_json_add_u64(o, "slow_extents", p->now.nr[SLOW]);
	for (size_t i = 0; i < p->pins.nr; i++)
		json_object_array_add(pins, one_json(&p->pins.pin[i], &p->found[i]));
	json_object_object_add(o, "pins", pins);
	json_object_array_add(sets, o);
}
