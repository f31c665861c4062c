// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verbs promote and demote. The kernel answers when the last extent of a message has moved, so a
 * range is sent in parts: in between, the verb can show its progress, and stop.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "json.h"
#include "open-set.h"
#include "output.h"
#include "progress.h"
#include "role.h"
#include "set-json.h"
#include "size.h"
#include "status-parse.h"
#include "tell.h"
#include "verb.h"

#define NUMBER		"%" SCNu64 " "
/* So many extents of the map at a time. */
#define WINDOW		65536
/* So much is moved with a message: the kernel moves 16 at a time, and ends only after these. */
#define PART_BYTES	(64 << 20)
#define MIN_PART	16
#define MAX_PART	64

#define NOWHERE		2	/* never written */

struct move {
	const char *name, *verb;
	int to;
	uint64_t first, last;
	uint64_t extent_bytes, part;
	uint64_t next;		/* the first that was not seen to */
	uint64_t where[3];	/* extents on either member, and unmapped, in the beginning */
	uint64_t moved, already, unmapped, failed;
	struct set set;
	bool stopped;
	char obstacle[8];	/* the kernel's word for why there is no more room; or empty */
	char reason[256];	/* of the kernel, to refuse */
};

/* -- where they are --------------------------------------------------------------- */

/* A run of extents of the map that are on the same member. */
struct run {
	uint64_t first, count;
	int where;
};

/* The next line of the answer to "map", which it cuts off; false if there is none. */
static bool next_run(char **map, struct run *r)
{
	const char *line = strsep(map, "\n");
	char member[8];

	if (!line || sscanf(line, NUMBER NUMBER "%7s ", &r->first, &r->count, member) != 3)
		return false;
	r->where = !strcmp(member, fus_role_name[FAST]) ? FAST :
		   !strcmp(member, fus_role_name[SLOW]) ? SLOW : NOWHERE;
	return true;
}

/* The map of a window of the range; to be freed. */
static int get_map(const struct move *m, uint64_t first, uint64_t *end, char **map)
{
	char msg[64];
	int rc;

	*end = m->last - first < WINDOW ? m->last + 1 : first + WINDOW;
	snprintf(msg, sizeof(msg), "map %" PRIu64 " %" PRIu64, first, *end - first);
	rc = fus_tell_set(m->name, msg, map);
	if (!rc && !*map)
		rc = fus_fail(FC_FAILED, m->name, "the kernel does not return the map; see dmesg");
	return rc;
}

/* Count the extents from @first on by where they are. */
static int look(const struct move *m, uint64_t first, uint64_t where[3])
{
	uint64_t end, seen;
	char *map, *line;
	struct run r;
	int rc;

	for (; first <= m->last; first = end) {
		rc = get_map(m, first, &end, &map);
		if (rc)
			return rc;
		for (line = map, seen = first; next_run(&line, &r); seen += r.count)
			where[r.where] += r.count;
		free(map);
		if (seen != end)
			return fus_fail(FC_FAILED, m->name, "cannot read the kernel's map; use "
					"matching versions of fusionctl and dm-fusion");
	}
	return 0;
}

/* -- moving them ------------------------------------------------------------------ */

/* From m->next up to and without @end, of which @planned are thought to have to move. */
static int send_part(struct move *m, uint64_t end, uint64_t planned)
{
	uint64_t moved, already, unmapped, failed;
	char msg[64], *answer = NULL;
	int rc;

	/* extents that other parts have moved, or will move, cannot make room for this one */
	snprintf(msg, sizeof(msg), "%s %" PRIu64 "-%" PRIu64 " %" PRIu64 "-%" PRIu64, m->verb,
		 m->next, end - 1, m->first, m->last);
	rc = fus_send_message(m->name, msg, &answer, m->reason, sizeof(m->reason));
	if (!rc && (!answer || sscanf(answer, NUMBER NUMBER NUMBER NUMBER "%7s", &moved, &already,
				      &unmapped, &failed, m->obstacle) < 4)) {
		rc = FC_FAILED;
		snprintf(m->reason, sizeof(m->reason), "its answer \"%.64s\" is of another version",
			 answer ? answer : "");
	}
	free(answer);
	if (rc)
		return rc;
	/* the kernel's lines of the meantime have another cause */
	*m->reason = 0;
	m->next = end;
	m->moved += moved;
	m->already += already;
	m->unmapped += unmapped;
	m->failed += failed;
	if (planned > moved)
		fus_progress_skip((planned - moved) * m->extent_bytes);
	fus_progress_at(m->moved * m->extent_bytes, NULL);
	return 0;
}

/* A window of the range, in parts: each ends where enough has to move. */
static int move_window(struct move *m, char *map, uint64_t end)
{
	uint64_t planned = 0, n;
	struct run r;
	int rc = 0;

	while (!rc && next_run(&map, &r)) {
		while (r.where == !m->to && r.count && !rc && !m->stopped && !*m->obstacle) {
			n = m->part - planned < r.count ? m->part - planned : r.count;
			planned += n;
			r.first += n;
			r.count -= n;
			if (planned < m->part)
				continue;
			rc = send_part(m, r.first, planned);
			planned = 0;
			m->stopped = ending_signal_came();
		}
	}
	if (!rc && !m->stopped && !*m->obstacle && m->next < end)
		rc = send_part(m, end, planned);
	m->stopped |= ending_signal_came();
	return rc;
}

/* There is no room for the rest of the range: only count it. */
static int give_up(struct move *m)
{
	uint64_t where[3] = { 0 };
	int rc = look(m, m->next, where);

	if (rc)
		return rc;
	m->failed += where[!m->to];
	m->already += where[m->to];
	m->unmapped += where[NOWHERE];
	m->next = m->last + 1;
	return 0;
}

static int move_all(struct move *m)
{
	char what[160], *map;
	uint64_t end;
	int rc = 0;

	/* to the end, so that what the kernel answers is counted and told */
	hold_ending_signals(NULL);
	snprintf(what, sizeof(what), "%s: %s", m->name, m->verb);
	fus_progress_begin(what, &fus_progress_mib, m->where[!m->to] * m->extent_bytes);
	while (!rc && !m->stopped && !*m->obstacle && m->next <= m->last) {
		rc = get_map(m, m->next, &end, &map);
		if (rc)
			break;
		rc = move_window(m, map, end);
		free(map);
	}
	fus_progress_end();
	if (!rc && !m->stopped && *m->obstacle)
		rc = give_up(m);
	/* a signal after the last of them stops nothing */
	m->stopped &= m->next <= m->last;
	return rc;
}

/* -- what there is to say --------------------------------------------------------- */

static void print_text(const struct move *m, bool dry_run)
{
	if (dry_run)
		printf("%" PRIu64 " would be moved, %" PRIu64 " already there, %" PRIu64
		       " unmapped\n", m->moved, m->already, m->unmapped);
	else
		printf("%" PRIu64 " moved, %" PRIu64 " already there, %" PRIu64 " unmapped, "
		       "%" PRIu64 " failed\n", m->moved, m->already, m->unmapped, m->failed);
}

static void print_move(const struct move *m, bool dry_run)
{
	struct json_object *o = fus_json_base();

	fus_json_add_bool(o, "dry_run", dry_run);
	fus_json_add_open(o, &m->set.m);
	fus_json_add_str(o, "member", fus_role_name[m->to]);
	fus_json_add_u64(o, "first", m->first);
	fus_json_add_u64(o, "last", m->last);
	fus_json_add_u64(o, "extent_bytes", m->extent_bytes);
	fus_json_add_u64(o, "moved", m->moved);
	fus_json_add_u64(o, "already", m->already);
	fus_json_add_u64(o, "unmapped", m->unmapped);
	fus_json_add_u64(o, "failed", m->failed);
	if (*m->obstacle)
		fus_json_add_str(o, "obstacle", m->obstacle);
	else
		json_object_object_add(o, "obstacle", NULL);
	if (m->next <= m->last)
		fus_json_add_u64(o, "next", m->next);
	else
		json_object_object_add(o, "next", NULL);
	print_json(o, false);
}

/* Some extents could not be moved: report the cause. */
static int not_all(const struct move *m)
{
	const char *to = fus_role_name[m->to], *from = fus_role_name[!m->to];

	if (!strcmp(m->obstacle, "range"))
		return fus_fail(FC_FAILED, m->name, "%" PRIu64 " extents could not be moved: the "
				"%s member is full of extents of the same range; give a smaller "
				"range", m->failed, to);
	if (!strcmp(m->obstacle, "busy"))
		return fus_fail(FC_FAILED, m->name, "%" PRIu64 " extents could not be moved: the "
				"%s member is full, and its other extents are being written or "
				"cannot be copied; look for I/O errors in dmesg, or try again "
				"later", m->failed, to);
	if (!strcmp(m->obstacle, "spares"))
		return fus_fail(FC_FAILED, m->name, "%" PRIu64 " extents could not be moved: the "
				"%s member is full, and the %s member has no free slot to swap "
				"with; look for I/O errors in dmesg", m->failed, to, from);
	return fus_fail(FC_FAILED, m->name, "%" PRIu64 " extents could not be moved: they are "
			"being written or cannot be copied; look for I/O errors in dmesg, or try "
			"again later", m->failed);
}

/* Report what was done in any case; @rc is the result of the kernel messages. */
static int result(const struct move *m, int rc)
{
	if (rc && *m->reason)
		return fus_fail(rc, m->name, "the kernel refuses to %s extents from %" PRIu64 " "
				"on: %s; see dmesg", m->verb, m->next, m->reason);
	if (rc)
		return rc;
	if (m->stopped)
		return fus_fail(FC_FAILED, m->name, "was stopped before extent %" PRIu64 "; to "
				"continue, run fusionctl %s %s %" PRIu64 "-%" PRIu64, m->next,
				m->verb, m->name, m->next, m->last);
	if (m->failed)
		return not_all(m);
	return 0;
}

/*
 * The extents to move: a word names them, or --bytes a range of bytes of the fused device, whose
 * end is exclusive.
 */
static int read_range(const struct args *a, struct move *m)
{
	const char *bytes = a->opt[OPT_BYTES], *dash;
	bool word = a->n > 1;
	char first[32];

	if (word == !!bytes)
		return fus_fail(FC_USAGE, m->verb, "needs either FIRST[-LAST] or --bytes "
				"FIRST-LAST; see fusionctl help %s", m->verb);
	if (!bytes)
		return fus_parse_range(a->word[1], &m->first, &m->last) ? 0 :
		       fus_fail(FC_USAGE, a->word[1], "not a range of extents; write e.g. 0-1023");
	dash = strchr(bytes, '-');
	snprintf(first, sizeof(first), "%.*s", dash ? (int)(dash - bytes) : 0, bytes);
	if (!dash || dash - bytes >= (int)sizeof(first) || !fus_parse_size(first, &m->first) ||
	    !fus_parse_size(dash + 1, &m->last) || m->first >= m->last)
		return fus_fail(FC_USAGE, bytes, "not a range of bytes; write e.g. 10G-12G");
	return 0;
}

/* Bytes become the extents that they touch. */
static int find_extents(const struct args *a, struct move *m)
{
	const struct fusion_status *st = &m->set.st;

	if (a->opt[OPT_BYTES]) {
		m->first /= m->extent_bytes;
		m->last = (m->last - 1) / m->extent_bytes;
	}
	if (m->last < st->extents)
		return 0;
	if (a->opt[OPT_BYTES])
		return fus_fail(FC_USAGE, a->opt[OPT_BYTES], "beyond the end; %s has %" PRIu64
				" bytes", m->name, st->extents * m->extent_bytes);
	return fus_fail(FC_USAGE, a->word[1], "beyond the end; the extents of %s are 0-%" PRIu64,
			m->name, st->extents - 1);
}

static int prepare(const struct args *a, struct move *m)
{
	const struct fusion_status *st = &m->set.st;
	int rc;

	m->extent_bytes = st->extent_sectors << 9;
	rc = find_extents(a, m);
	if (rc)
		return rc;
	m->next = m->first;
	m->part = PART_BYTES / m->extent_bytes;
	m->part = m->part < MIN_PART ? MIN_PART : m->part > MAX_PART ? MAX_PART : m->part;
	if (strcmp(st->mode, "rw"))
		return fus_fail(FC_FAILED, m->name, "is in mode %s, nothing can be moved; see "
				"dmesg", st->mode);
	return look(m, m->first, m->where);
}

static int move(const struct args *a, const char *verb, int to)
{
	struct move m = { .name = a->word[0], .verb = verb, .to = to };
	bool dry_run = a->opt[OPT_DRY_RUN];
	int rc;

	rc = read_range(a, &m);
	if (rc)
		return rc;
	rc = fus_set_get(m.name, &m.set);
	if (rc)
		return rc;
	rc = prepare(a, &m);
	if (rc)
		goto out;
	if (dry_run) {
		m.moved = m.where[!to];
		m.already = m.where[to];
		m.unmapped = m.where[NOWHERE];
		m.next = m.last + 1;
	} else {
		rc = move_all(&m);
	}
	if (a->opt[OPT_JSON])
		print_move(&m, dry_run);
	else
		print_text(&m, dry_run);
	rc = result(&m, rc);
out:
	fus_set_put(&m.set);
	return rc;
}

int cmd_promote(const struct args *a)
{
	return move(a, "promote", FAST);
}

int cmd_demote(const struct args *a)
{
	return move(a, "demote", SLOW);
}
