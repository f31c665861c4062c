// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb shrink: an open set gives up its end, and the end of a member. What lies there is moved
 * while the set is in use; then the kernel makes the set smaller when a shorter table takes the
 * place of the present one. It refuses if anything is left there, so a write that comes late loses
 * nothing.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "shrink.h"
#include "ask.h"
#include "drain-log.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "json.h"
#include "output.h"
#include "role.h"
#include "set-json.h"
#include "size.h"
#include "verb.h"

static uint64_t extents(const struct shrinking *s, uint64_t nr)
{
	return nr * s->r.sb.extent_sectors << 9;
}

static bool cuts_member(const struct shrinking *s)
{
	return shrink_sectors(&s->r.sb, s->dev) != shrink_sectors(s->r.m[FAST]->sb, s->dev);
}

/* -- doing it ------------------------------------------------------------------------------- */

/* The landing log cannot leave the fast slots that are given up. */
static int log_off(struct shrinking *s)
{
	return s->log_off ? 0 : turn_log_off(s->r.name, "shrink", &s->log_off);
}

/* What is given up has to be empty before, and the kernel looks at it once more. */
static int shrink_it(struct shrinking *s)
{
	char options[64] = "";
	sigset_t before;
	int rc;

	hold_ending_signals(&before);
	rc = shrink_check_content(s);
	if (!rc)
		rc = shrink_discard(s);
	if (!rc && s->dev == FAST && cuts_member(s))
		rc = log_off(s);
	if (!rc)
		rc = shrink_evacuate(s);
	/* that may have taken hours */
	if (!rc)
		rc = shrink_check_content(s);
	/* small writes go past it from here on */
	if (!rc)
		rc = log_off(s);
	if (cuts_member(s))
		snprintf(options, sizeof(options), " %s_sectors %" PRIu64, fus_role_name[s->dev],
			 shrink_sectors(&s->r.sb, s->dev));
	if (!rc)
		rc = resize_exchange(&s->r, options);
	if (rc && s->fenced)
		shrink_end_fence(s);
	if (rc && s->log_off)
		turn_log_on(s->r.name);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static int ask(const struct shrinking *s)
{
	const bool whole = (s->size == SIZE_WHOLE || s->size == SIZE_UNKNOWN) && !s->reach.held;
	char nobody[512], question[640], size[SIZE_TEXT], lost[SIZE_TEXT];

	if (!s->behind && !whole)
		return 0;
	fus_size_text(size, fusion_sb_sectors(&s->r.sb) << 9);
	fus_size_text(lost, extents(s, s->behind));
	if (s->behind) {
		snprintf(nobody, sizeof(nobody), "%s behind the first %s of %s would be lost", lost,
			 size, s->r.name);
		snprintf(question, sizeof(question), "%s behind the first %s of %s will be lost",
			 lost, size, s->r.name);
	} else {
		snprintf(nobody, sizeof(nobody), "its %s may use more than the first %s, which "
			 "would be left", s->content.type, size);
		snprintf(question, sizeof(question), "the %s on %s may use more than the first %s, "
			 "which will be left", s->content.type, s->r.name, size);
	}
	return confirm(s->r.name, nobody, question);
}

/* -- output --------------------------------------------------------------------------------- */

static void print_as_json(const struct shrinking *s, bool dry_run)
{
	const char *const path[2] = { s->r.m[FAST]->path, s->r.m[SLOW]->path };
	struct json_object *o = fus_json_base();

	fus_json_add_bool(o, "dry_run", dry_run);
	fus_json_add_set(o, s->r.name, true, &s->r.sb, path);
	fus_json_add_u64(o, "old_bytes", fusion_sb_sectors(s->r.m[FAST]->sb) << 9);
	fus_json_add_u64(o, "old_extents", s->r.m[FAST]->sb->nr_lexts);
	fus_json_add_str(o, "content", *s->content.type ? s->content.type : NULL);
	if (s->size == SIZE_KNOWN)
		fus_json_add_u64(o, "content_bytes", s->content_bytes);
	else
		json_object_object_add(o, "content_bytes", NULL);
	fus_json_add_str(o, "member", fus_role_name[s->dev]);
	fus_json_add_u64(o, "old_member_bytes", shrink_sectors(s->r.m[FAST]->sb, s->dev) << 9);
	fus_json_add_u64(o, "moved_bytes", extents(s, s->moving));
	fus_json_add_u64(o, "discarded_bytes", extents(s, s->behind));
	if (dry_run)
		json_object_object_add(o, "paused_ms", NULL);
	else
		fus_json_add_u64(o, "paused_ms", s->r.paused_ms);
	print_json(o, false);
}

static void show(const struct shrinking *s)
{
	char was[SIZE_TEXT], is[SIZE_TEXT], size[SIZE_TEXT];

	printf("%s: would shrink from %s to %s\n", s->r.name,
	       fus_size_text(was, fusion_sb_sectors(s->r.m[FAST]->sb) << 9),
	       fus_size_text(is, fusion_sb_sectors(&s->r.sb) << 9));
	if (s->behind)
		printf("%s: %s behind its new end would be lost\n", s->r.name,
		       fus_size_text(size, extents(s, s->behind)));
	if (!cuts_member(s))
		return;
	printf("%s: would need %s instead of %s; %s would be moved out of its end\n",
	       s->r.m[s->dev]->path, fus_size_text(is, shrink_sectors(&s->r.sb, s->dev) << 9),
	       fus_size_text(was, shrink_sectors(s->r.m[FAST]->sb, s->dev) << 9),
	       fus_size_text(size, extents(s, s->moving)));
}

static void tell(const struct shrinking *s, bool told)
{
	const uint64_t bytes = shrink_sectors(&s->r.sb, s->dev) << 9;
	char was[SIZE_TEXT], is[SIZE_TEXT];

	printf("%s: has shrunk from %s to %s; I/O waited for %u ms\n", s->r.name,
	       fus_size_text(was, fusion_sb_sectors(s->r.m[FAST]->sb) << 9),
	       fus_size_text(is, fusion_sb_sectors(&s->r.sb) << 9), s->r.paused_ms);
	if (!cuts_member(s) || (s->dev == SLOW && !told))
		return;
	printf("%s: only its first %" PRIu64 " bytes (%s) are in use; its partition or volume can "
	       "be made as small as that\n", s->r.m[s->dev]->path, bytes, fus_size_text(is, bytes));
	printf("to take the rest back while it is as large as now: fusionctl grow %s\n", s->r.name);
}

int cmd_shrink(const struct args *a)
{
	struct shrinking s = {
		.r = { .name = a->word[0], .verb = "shrink", .done = "shrunk" },
	};
	const bool dry_run = a->opt[OPT_DRY_RUN], json = a->opt[OPT_JSON];
	bool told = true;
	int rc;

	rc = check_no_question(a);
	if (rc)
		return rc;
	rc = resize_get(&s.r);
	if (!rc)
		rc = shrink_plan(&s, a);
	if (!rc)
		rc = shrink_count(&s);
	if (!rc)
		rc = shrink_check_room(&s);
	if (!rc && !dry_run && !a->opt[OPT_YES])
		rc = ask(&s);
	if (!rc && !dry_run)
		rc = shrink_it(&s);
	if (!rc && !dry_run)
		told = resize_finish(&s.r);
	if (!rc && json)
		print_as_json(&s, dry_run);
	else if (!rc && dry_run)
		show(&s);
	else if (!rc)
		tell(&s, told);
	resize_put(&s.r);
	return rc;
}
