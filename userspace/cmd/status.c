// SPDX-License-Identifier: GPL-2.0-only
/* Verb status: is it well, how full is it, how much does it help. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "status.h"
#include "device.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "health.h"
#include "host.h"
#include "json.h"
#include "landing-size.h"
#include "list.h"
#include "open-set.h"
#include "output.h"
#include "protected.h"
#include "rescued.h"
#include "role.h"
#include "scan.h"
#include "set-json.h"
#include "show-rescued.h"
#include "size.h"
#include "status-parse.h"
#include "table.h"
#include "text.h"
#include "verb.h"

#define BAR_WIDTH	20

/* -- for people ----------------------------------------------------------------- */

/* "#####-----", or in eighths where the terminal can show them. */
static void bar(char *buf, size_t size, uint64_t part, uint64_t whole)
{
	uint64_t eighths = whole ? (part < whole ? part : whole) * BAR_WIDTH * 8 / whole : 0;
	bool utf8 = fus_utf8_output();
	size_t n = 0;

	for (unsigned int i = 0; i < BAR_WIDTH && n + 4 < size; i++) {
		unsigned int fill = eighths >= 8 ? 8 : eighths;

		eighths -= fill;
		if (!utf8)
			buf[n++] = fill >= 4 ? '#' : '-';
		else if (fill)	/* U+2588 is full, U+258F one eighth */
			n += snprintf(buf + n, size - n, "\xe2\x96%c", 0x90 - fill);
		else
			n += snprintf(buf + n, size - n, "\xe2\x96\x91");
	}
	buf[n] = 0;
}

static void percent(char *buf, size_t size, uint64_t part, uint64_t whole)
{
	snprintf(buf, size, "%.1f", whole ? 100.0 * part / whole : 0.0);
}

static void print_members(const struct set *set)
{
	static const char *const headings[] = {
		"MEMBER", "DEVICE", ">SIZE", ">USED", ">FULL%", "", ">READS", ">WRITES", ">ERRORS",
		NULL
	};
	const struct fusion_status *st = &set->st;
	struct libscols_table *tb = table_new(headings);

	for (int i = 0; i < 2; i++) {
		char node[160], size[SIZE_TEXT], used[SIZE_TEXT], full[16];
		char drawn[BAR_WIDTH * 3 + 4], reads[24], writes[24], errors[24];
		const char *cells[] = {
			fus_role_name[i], node, size, used, full, drawn, reads, writes, errors,
		};

		fus_device_node(set->member[i], node, sizeof(node));
		fus_size_text(size, st->total[i] * st->extent_sectors << 9);
		fus_size_text(used, st->used[i] * st->extent_sectors << 9);
		percent(full, sizeof(full), st->used[i], st->total[i]);
		bar(drawn, sizeof(drawn), st->used[i], st->total[i]);
		snprintf(reads, sizeof(reads), "%" PRIu64, st->reads[i]);
		snprintf(writes, sizeof(writes), "%" PRIu64, st->writes[i]);
		snprintf(errors, sizeof(errors), "%" PRIu64, st->errors[i]);
		table_row(tb, cells);
	}
	table_print(tb);
}

static const char *mode_text(const struct fusion_status *st)
{
	return !strcmp(st->mode, "rw") ? "read-write" : !strcmp(st->mode, "ro") ?
	       "READ-ONLY, see dmesg" : "FAILED, see dmesg";
}

/*
 * The machine that has the set. A set that works is this machine's; one that failed may have been
 * taken by another machine: only then the disk is asked, which may hang.
 */
static void print_host(const struct set *set)
{
	char name[HOST_NAME_MAX + 1] = "", safe[4 * sizeof(name)], text[HOST_TEXT];
	struct member *fast = NULL;
	unsigned int ms;

	if (!strcmp(set->st.mode, "fail") && !fus_device_gone(set->member[FAST]))
		fus_member_at(set->member[FAST], &fast);
	if (fast && fus_has_identity(fast)) {
		fus_host_holds(fast, text, sizeof(text), &ms);
		printf("host     %s\n", text);
	} else if (*set->host) {
		gethostname(name, sizeof(name) - 1);
		printf("host     %s (%s), this machine\n",
		       fus_safe_text(safe, sizeof(safe), name, SIZE_MAX, fus_utf8_output()),
		       set->host);
	}
	fus_free_members(fast);
}

/* Data on the slow member that would also be lost with the fast member. */
static void print_replica(const struct fusion_status *st, bool slow_is_well)
{
	if (!strcmp(st->replica, "-"))
		return;
	printf("replica  %s", !strcmp(st->replica, "ok") ? "" : "FAILED, see dmesg; ");
	if (st->replica_dirty)
		printf("%" PRIu64 " extents behind, for %" PRIu64 " s\n", st->replica_dirty,
		       st->replica_age);
	else
		printf("up to date%s\n", slow_is_well ? "" :
		       " when it was last written; the slow member may not answer now");
}

static void print_more(void *ctx, enum health health, const char *text, const char *remedy)
{
	const char *said = ctx;

	(void)health;
	if (strncmp(said, text, strlen(text)))
		printf("         %s%s%s\n", text, remedy ? "; " : "", remedy ? remedy : "");
}

/* The worst finding comes first; the others follow below it. */
static void print_health(const struct set *set)
{
	char text[512];
	enum condition word = fus_set_condition_text(set, text, sizeof(text));

	printf("health   %s%s%s\n", fus_condition_name[word], *text ? ": " : "", text);
	fus_set_health(set, print_more, text);
}

static void print_landing(const struct set *set)
{
	const struct fusion_status *st = &set->st;
	const uint64_t extent = st->extent_sectors << 9;
	char logged[SIZE_TEXT], used[SIZE_TEXT], most[SIZE_TEXT], drained[SIZE_TEXT];

	if (!st->logs)
		return;
	printf("landing  %s, for which the log takes %s of %s; %s drained%s\n",
	       fus_size_text(logged, st->log_blocks * FUS_LANDING_BLOCK),
	       fus_size_text(used, st->log_segments * extent),
	       fus_size_text(most, st->log_most * extent),
	       fus_size_text(drained, st->log_drained * FUS_LANDING_BLOCK),
	       st->log_stopped ? "; STOPPED after an error" :
	       st->log_off && set->old ? "; off while a member is being replaced" :
	       st->log_off ? "; off" :
	       st->log_segments == st->log_most ? "; full, so writes may go past it" : "");
}

/* While a member is being replaced. */
static void print_old(const struct set *set)
{
	const struct fusion_status *st = &set->st;
	char node[160], nr[EXTENTS_TEXT];

	if (!set->old)
		return;
	fus_device_node(set->old, node, sizeof(node));
	printf("old      %s, %s member: %s of %" PRIu64 " to move", node,
	       fus_role_name[set->old_role],
	       fus_extents_text(nr, st->old.left, st->extent_sectors), st->old.total);
	if (st->old.unreadable)
		printf(", %" PRIu64 " of them UNREADABLE", st->old.unreadable);
	puts("");
}

static void print_text(const struct set *set)
{
	const struct fusion_status *st = &set->st;
	uint64_t extent = st->extent_sectors << 9;
	uint64_t reads = st->reads[FAST] + st->reads[SLOW];
	uint64_t writes = st->writes[FAST] + st->writes[SLOW];
	const char *migration = fus_status_option(st, "migration");
	char a[SIZE_TEXT], b[SIZE_TEXT], nr[EXTENTS_TEXT], hit[2][16];

	printf("%s: %s in extents of %s, %s, migration %s%s\n", set->m.name,
	       fus_size_text(a, st->extents * extent), fus_size_text(b, extent), mode_text(st),
	       migration ? migration : "?", st->needs_check ? ", NEEDS CHECK" : "");
	print_health(set);
	print_host(set);
	print_members(set);
	printf("mapped   %s of %s", fus_size_text(a, st->mapped * extent),
	       fus_size_text(b, st->extents * extent));
	printf(", %" PRIu64 " extents open, %" PRIu64 " quarantined\n", st->open, st->quarantined);
	if (st->lost)
		printf("lost     %s, %" PRIu64 " of them in part: reads of these fail\n",
		       fus_extents_text(nr, st->lost, st->extent_sectors), st->partly_lost);
	printf("reserve  %s; %s of the fast member are free\n",
	       fus_size_text(a, st->reserve * extent), fus_size_text(b, st->reserve_free * extent));
	percent(hit[0], sizeof(hit[0]), st->reads[FAST], reads);
	percent(hit[1], sizeof(hit[1]), st->writes[FAST], writes);
	printf("hits     %s%% of reads, %s%% of writes went to the fast member\n", hit[0], hit[1]);
	printf("moves    %" PRIu64 " promoted, %" PRIu64 " demoted, %" PRIu64 " cancelled, %" PRIu64
	       " in flight\n", st->promotions, st->demotions, st->cancelled, st->in_flight);
	printf("journal  %" PRIu64 " of %" PRIu64 " blocks, %" PRIu64 " commits, %" PRIu64
	       " checkpoints, %" PRIu64 " flushes of the slow member\n", st->journal_used,
	       st->journal_size, st->commits, st->checkpoints, st->slow_flushes);
	print_replica(st, !st->errors[SLOW] && !fus_device_gone(set->member[SLOW]));
	protected_print(set);
	print_landing(set);
	print_old(set);
	if (st->fence_slots)
		printf("fence    %" PRIu64 " of %" PRIu64 " slots are not empty yet\n",
		       st->fence_used, st->fence_slots);
	if (st->homing)
		printf("homing   %" PRIu64 " extents are not in their place yet, and %" PRIu64
		       " are to be zeroed\n", st->homing_away, st->homing_blank);
}

/* Counters start again when a set is reopened. */
static double rate(uint64_t was, uint64_t is, double seconds)
{
	return (is >= was ? is - was : is) / seconds;
}

static void print_rates(const struct fusion_status *was, const struct fusion_status *is, double s)
{
	double extent = is->extent_sectors * 512.0 / 1048576;

	printf("rates    reads %.0f/s fast, %.0f/s slow; writes %.0f/s fast, %.0f/s slow; "
	       "%.1f MiB/s up, %.1f MiB/s down\n",
	       rate(was->reads[FAST], is->reads[FAST], s),
	       rate(was->reads[SLOW], is->reads[SLOW], s),
	       rate(was->writes[FAST], is->writes[FAST], s),
	       rate(was->writes[SLOW], is->writes[SLOW], s),
	       rate(was->promotions, is->promotions, s) * extent,
	       rate(was->demotions, is->demotions, s) * extent);
}

/* -- the verb ----------------------------------------------------------------------- */

/* What --watch remembers of the last round. */
struct round {
	char name[128];
	struct fusion_status st;
};

static void show_one(const struct set *set, struct round *last, double seconds,
		     struct json_object *json)
{
	if (json) {
		json_object_array_add(json, status_json(set));
	} else {
		print_text(set);
		if (seconds > 0 && !strcmp(last->name, set->m.name))
			print_rates(&last->st, &set->st, seconds);
	}
	snprintf(last->name, sizeof(last->name), "%s", set->m.name);
	last->st = set->st;
}

#define MAX_WATCHED	32

static int show_all(struct round last[MAX_WATCHED], double seconds,
		    const struct mapping *rescued, struct json_object *json)
{
	struct mapping *list;
	unsigned int i = 0;
	struct set set;
	bool found;
	int rc;

	rc = fus_dm_list(MAPPING_INFO, &list);
	for (struct mapping *m = list; m && !rc; m = m->next) {
		rc = fus_set_get_if_open(m->name, &set, &found);
		if (rc || !found)
			continue;
		if (i && !json)
			putchar('\n');
		show_one(&set, &last[i++ % MAX_WATCHED], seconds, json);
		fus_set_put(&set);
	}
	if (!rc && i && rescued && !json)
		putchar('\n');
	if (!rc && !json && !rescued_print(rescued, NULL) && !i)
		puts("no set is open");
	fus_dm_free_list(list);
	return rc;
}

static int show_whole(const struct args *a, struct round last[MAX_WATCHED], double seconds)
{
	struct json_object *o = a->opt[OPT_JSON] ? fus_json_base() : NULL;
	struct json_object *sets = o ? json_object_new_array() : NULL;
	const char *name = a->n ? a->word[0] : NULL;
	struct mapping *rescued, *m;
	struct set set;
	int rc;

	if (o) {
		fus_json_add_bool(o, "complete", true);
		json_object_object_add(o, "sets", sets);
	}
	rc = fus_dm_list_rescued(&rescued);
	for (m = rescued; name && m && strcmp(m->name, name); m = m->next)
		;
	if (!rc && !name) {
		rc = show_all(last, seconds, rescued, sets);
	} else if (!rc && m) {
		if (!o)
			rescued_print(rescued, name);
	} else if (!rc) {
		rc = fus_set_get(name, &set);
		if (!rc) {
			show_one(&set, &last[0], seconds, sets);
			fus_set_put(&set);
		}
	}
	if (o)
		json_object_object_add(o, "rescued", fus_rescued_array(rescued, name));
	fus_dm_free_list(rescued);
	if (o && rc)
		json_object_put(o);
	else if (o)
		print_json(o, a->opt[OPT_WATCH]);
	return rc;
}

static int show_round(const struct args *a, struct round last[MAX_WATCHED], double seconds)
{
	int rc;

	if (geteuid())
		rc = status_unprivileged(a->n ? a->word[0] : NULL, a->opt[OPT_JSON],
					 a->opt[OPT_WATCH]);
	else
		rc = show_whole(a, last, seconds);
	fflush(stdout);
	return rc;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static bool parse_interval(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	return !text[strspn(text, "0123456789.")] && !*end && *seconds >= 0.1 && *seconds <= 86400;
}

static void wait_for(double seconds)
{
	struct timespec ts = { .tv_sec = seconds, .tv_nsec = (seconds - (time_t)seconds) * 1e9 };

	nanosleep(&ts, NULL);
}

int cmd_status(const struct args *a)
{
	static struct round last[MAX_WATCHED];
	bool clear = isatty(STDOUT_FILENO) && !a->opt[OPT_JSON];
	double then = 0, start;
	double interval = 2;
	int rc;

	if (a->opt[OPT_CHECK] && (a->opt[OPT_JSON] || a->opt[OPT_WATCH]))
		return fus_fail(FC_USAGE, "--check", "goes without --json and --watch; leave them "
				"out");
	if (a->opt[OPT_CHECK])
		return status_check(a->n ? a->word[0] : NULL);
	if (!a->opt[OPT_WATCH])
		return show_round(a, last, 0);
	if (*a->opt[OPT_WATCH] && !parse_interval(a->opt[OPT_WATCH], &interval))
		return fus_fail(FC_USAGE, a->opt[OPT_WATCH], "not an interval; give 0.1 to 86400 "
				"seconds");
	for (;;) {
		if (clear)
			fputs("\033[H\033[J", stdout);
		start = now();
		rc = show_round(a, last, then ? start - then : 0);
		/* a reader that went away ends it */
		if (rc || ferror(stdout))
			return rc;
		if (!clear && !a->opt[OPT_JSON])
			putchar('\n');
		then = start;
		wait_for(interval);
	}
}
