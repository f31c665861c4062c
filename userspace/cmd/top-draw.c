// SPDX-License-Identifier: GPL-2.0-only
/* A look at a set as a screenful: the rows from the top, as many as there is room for. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "top.h"
#include "fusionctl.h"
#include "role.h"
#include "size.h"

#define LEAST_COLS	79	/* of the table of members; a wider screen has longer devices */
#define DEVICE		10
#define MOST_DEVICE	40

static uint64_t bytes(const struct top_look *look, double extents)
{
	return extents * (look->st.extent_sectors << 9);
}

/* -- the members ------------------------------------------------------------------ */

static void ios_text(char buf[16], double ios)
{
	snprintf(buf, 16, ios >= 99999.5 ? "%.0fk" : "%.0f", ios >= 99999.5 ? ios / 1000 : ios);
}

static void ms_text(char buf[16], double ms)
{
	snprintf(buf, 16, ms < 0 ? "-" : ms < 10 ? "%.2f" : ms < 100 ? "%.1f" : "%.0f", ms);
}

static unsigned int device_width(const struct top_screen *s)
{
	unsigned int more = s->cols > LEAST_COLS ? s->cols - LEAST_COLS : 0;

	return DEVICE + more < MOST_DEVICE ? DEVICE + more : MOST_DEVICE;
}

static void draw_member(struct top_screen *s, const struct top_look *look, int dev,
			unsigned int row)
{
	const struct top_rate *r = &look->rates.disk[dev];
	const struct fusion_status *st = &look->st;
	const char *device = look->device[dev];
	char size[2][SIZE_TEXT], ios[2][16], ms[2][16];
	unsigned int col, width = device_width(s);

	if (!strncmp(device, "/dev/", 5))
		device += 5;
	col = top_put(s, row, 0, dev == FAST ? TOP_FAST : TOP_SLOW, "%s", fus_role_name[dev]);
	col = top_put(s, row, TOP_LABEL, TOP_PLAIN, "%-*.*s", width, width - 1, device);
	if (!look->sample.disk[dev].known) {
		top_put(s, row, col, TOP_BAD, "the device is gone");
		return;
	}
	if (!r->known)
		return;
	for (int dir = 0; dir < 2; dir++) {
		fus_size_text(size[dir], r->bytes[dir]);
		ios_text(ios[dir], r->ios[dir]);
		ms_text(ms[dir], r->ms[dir]);
	}
	top_put(s, row, col, TOP_PLAIN, "%8s%9s%7s%7s%7s%7s%6.*f%4.0f%%%4.0f%%", size[TOP_READ],
		size[TOP_WRITE], ios[TOP_READ], ios[TOP_WRITE], ms[TOP_READ], ms[TOP_WRITE],
		r->queue < 1000 ? 1 : 0, r->queue, r->busy * 100,
		st->total[dev] ? 100.0 * st->used[dev] / st->total[dev] : 0.0);
}

static void draw_members(struct top_screen *s, const struct top_look *look, unsigned int row)
{
	top_put(s, row, 0, TOP_HEAD, "MEMBER  %-*s%8s%9s%7s%7s%7s%7s%6s%5s%5s", device_width(s),
		"DEVICE", "READ/s", "WRITE/s", "R/s", "W/s", "R ms", "W ms", "QUEUE", "BUSY",
		"FULL");
	for (int dev = 0; dev < 2; dev++)
		draw_member(s, look, dev, row + 1 + dev);
}

/* -- hits ------------------------------------------------------------------------- */

/* "15 min" */
static void time_text(char buf[16], double seconds)
{
	double whole = seconds < 10 ? (int)(seconds + 0.5) : seconds;
	bool is_whole = seconds - whole < 0.05 && whole - seconds < 0.05;

	if (seconds < 59)
		snprintf(buf, 16, "%.*f s", is_whole ? 0 : 1, seconds);
	else
		snprintf(buf, 16, "%.0f min", seconds / 60);
}

static void draw_hits(struct top_screen *s, const struct top_look *look, enum top_direction dir,
		      unsigned int row)
{
	const struct top_history *h = &look->history;
	unsigned int col, room, nr;

	top_put(s, row, TOP_LABEL, TOP_PLAIN, dir == TOP_READ ? "reads" : "writes");
	for (int i = 0; i < NR_TOP_WINDOWS; i++) {
		char time[16], share[16] = "-";
		struct top_hits hits;

		top_get_hits(h, dir, top_window[i], &hits);
		if (hits.seconds <= 0)
			continue;
		time_text(time, hits.seconds);
		if (hits.all)
			snprintf(share, sizeof(share), "%.0f%%", 100.0 * hits.fast / hits.all);
		top_put(s, row, TOP_LABEL + 7 + i * 15, TOP_PLAIN, "%4s in %-6s", share, time);
	}
	col = TOP_LABEL + 7 + NR_TOP_WINDOWS * 15;
	room = s->cols > col ? s->cols - col : 0;
	nr = h->nr_past < room ? h->nr_past : room;
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int percent = h->past[dir][h->nr_past - nr + i];

		top_put_block(s, row, col + i, TOP_FAST,
			      percent == TOP_NO_IO ? 0 : 1 + percent * 7 / 100);
	}
}

/* -- moves ------------------------------------------------------------------------ */

unsigned int top_waits(const struct top_look *look)
{
	struct explain_policy p = look->policy;
	unsigned int waits;

	/* the status line is known in any case */
	waits = (strcmp(look->st.mode, "rw") ? 1U << WAIT_MODE : 0) |
		(look->suspended ? 1U << WAIT_STOPPED : 0);
	if (!look->has_policy)
		return waits;
	p.rw = true;
	waits |= explain_mover_waits(&p);
	if (p.limited && p.budget <= 0)
		waits |= 1U << WAIT_BUDGET;
	return waits;
}

/* Why nothing, or not more, moves: what is in the way, or else that nothing has to. */
static void draw_waits(struct top_screen *s, const struct top_look *look, unsigned int row)
{
	const struct explain_policy *p = &look->policy;
	unsigned int waits = top_waits(look), col = TOP_LABEL;
	const char *between = "waits: ";

	top_put(s, row, 0, TOP_HEAD, "MOVER");
	for (int i = 0; i < NR_WAITS; i++) {
		if (!(waits >> i & 1))
			continue;
		col = top_put(s, row, col, i == WAIT_DUTY ? TOP_PLAIN : TOP_BAD, "%s%s", between,
			      explain_wait_text[i]);
		between = ", ";
	}
	if (waits)
		return;
	if (!look->has_policy)
		top_put(s, row, col, TOP_DIM, "the kernel does not tell");
	else if (p->view.shortfall)
		top_put(s, row, col, TOP_PLAIN, "demotes: the reserve lacks %" PRIu32 " extent%s",
			p->view.shortfall, fus_plural(p->view.shortfall));
	else if (p->candidates)
		top_put(s, row, col, TOP_PLAIN, "%" PRIu32 " extent%s of the slow member may be "
			"hot enough, the hottest has %" PRIu32, p->candidates,
			fus_plural(p->candidates), p->hottest);
	else
		top_put(s, row, col, TOP_PLAIN, "nothing to do: no extent of the slow member is "
			"hot enough");
}

static void draw_moves(struct top_screen *s, const struct top_look *look, unsigned int row)
{
	const double *moves = look->rates.moves;
	char up[SIZE_TEXT], down[SIZE_TEXT], free[SIZE_TEXT], shadow[SIZE_TEXT], left[SIZE_TEXT];
	unsigned int col;

	fus_size_text(up, bytes(look, moves[TOP_PROMOTED]));
	fus_size_text(down, bytes(look, moves[TOP_DEMOTED]));
	fus_size_text(free, bytes(look, moves[TOP_DEMOTED_FREE]));
	fus_size_text(shadow, bytes(look, moves[TOP_SHADOWED]));
	fus_size_text(left, bytes(look, moves[TOP_EVACUATED]));
	top_put(s, row, 0, TOP_HEAD, "MOVES");
	col = top_put(s, row, TOP_LABEL, TOP_PLAIN,
		      "promoted %s/s, demoted %s/s (%s/s without a copy)",
		      up, down, free);
	if (look->rates.moves[TOP_EVACUATED] > 0)
		top_put(s, row, col, TOP_PLAIN, ", evacuated %s/s", left);
	top_put(s, row + 1, TOP_LABEL, TOP_PLAIN,
		"shadows %s/s; up to %.1f swaps/s, %.1f cancelled/s, "
		"%" PRIu64 " in flight", shadow, look->rates.swaps, moves[TOP_CANCELLED],
		look->st.in_flight);
}

static void draw_room(struct top_screen *s, const struct top_look *look, unsigned int row)
{
	const struct fusion_status *st = &look->st;
	char free[SIZE_TEXT], all[SIZE_TEXT], budget[SIZE_TEXT];
	unsigned int col;

	fus_size_text(free, bytes(look, st->reserve_free));
	fus_size_text(all, bytes(look, st->reserve));
	top_put(s, row, 0, TOP_HEAD, "RESERVE");
	col = top_put(s, row, TOP_LABEL, st->reserve_free || !st->reserve ? TOP_PLAIN : TOP_BAD,
		      "%s of %s free", free, all);
	col = top_put(s, row, col, TOP_PLAIN, "; %" PRIu64 " partial extent%s", st->open,
		      fus_plural(st->open));
	if (st->shadows)
		col = top_put(s, row, col, TOP_PLAIN, "; shadows %" PRIu64 " of %" PRIu64,
			      st->shadows_current, st->shadows);
	if (look->has_policy && look->policy.limited)
		top_put(s, row, col, TOP_PLAIN, "; budget %s",
			fus_size_text(budget, look->policy.budget > 0 ?
				      bytes(look, look->policy.budget) : 0));
}

/* -- the rest --------------------------------------------------------------------- */

static void draw_title(struct top_screen *s, const struct top_look *look,
		       const struct top_view *view)
{
	const struct fusion_status *st = &look->st;
	char all[SIZE_TEXT], extent[SIZE_TEXT], right[64];
	unsigned int col;

	col = top_put(s, 0, 0, TOP_HEAD, "%s", look->name);
	col = top_put(s, 0, col, TOP_PLAIN, ": %s in extents of %s, ",
		      fus_size_text(all, bytes(look, st->extents)),
		      fus_size_text(extent, bytes(look, 1)));
	col = top_put(s, 0, col, strcmp(look->health, "ok") ? TOP_BAD : TOP_PLAIN, "%s",
		      look->health);
	if (strcmp(st->mode, "rw"))
		col = top_put(s, 0, col, TOP_BAD, ", mode %s", st->mode);
	if (look->replacing)
		col = top_put(s, 0, col, TOP_PLAIN, ", %" PRIu64 " to move off the old member",
			      st->old.left);
	snprintf(right, sizeof(right), "%severy %g s%s%s", view->paused ? "PAUSED  " : "",
		 view->interval, view->clock ? "  " : "", view->clock ? view->clock : "");
	/* not over what is wrong with the set */
	if (view->paused || col + 2 + strlen(right) <= s->cols)
		top_put_right(s, 0, s->cols, view->paused ? TOP_BAD : TOP_PLAIN, right);
}

static void draw_help(struct top_screen *s)
{
	static const char *const text[] = {
		"q        quit",
		"p        pause: the screen stays as it is",
		"s        sort the hottest ranges by mean heat, maximum or place",
		"f        show files in place of sectors, and back; all files are read for that",
		"+ -      look less often, more often",
		"n        next open set",
		"?        this page, and back",
		"",
		"QUEUE    I/Os in flight, on average; BUSY  time with any of them",
		"R ms     latency of a read of the member; moves count like foreground I/O",
		"HITS     I/Os of the set that the fast member served; the graph has a block",
		"         for each look",
		"MOVER    what keeps extents from moving now; fusionctl explain tells it for one",
		"swaps    pairs of a promotion and a demotion, at most",
		"RESERVE  room that is kept free on the fast member for writes",
		"LOG      small writes on the fast member that the slow one does not have yet",
		"HEAT     mean heat from the beginning of the set to its end, logarithmic",
		"FAST     extents of the range that lie on the fast member; SLOW on the slow one",
		"FILES    with any of the range; MOSTLY  the one with most of it",
	};

	for (unsigned int i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		top_put(s, 2 + i, 0, TOP_PLAIN, "%s", text[i]);
}

static void draw_keys(struct top_screen *s)
{
	static const char *const keys[][2] = {
		{ "q", "quit" }, { "p", "pause" }, { "s", "sort" }, { "f", "files" },
		{ "+ -", "interval" }, { "n", "next set" }, { "?", "help" },
	};
	unsigned int col = 0;

	for (unsigned int i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		col = top_put(s, s->rows - 1, col, TOP_HEAD, "%s", keys[i][0]);
		col = top_put(s, s->rows - 1, col, TOP_PLAIN, " %s   ", keys[i][1]);
	}
}

void top_draw(struct top_screen *s, const struct top_look *look, const struct top_view *view)
{
	const unsigned int rows = s->rows;

	for (size_t i = 0; i < (size_t)s->rows * s->cols; i++)
		s->cell[i] = (struct top_cell) { .c = ' ' };
	if (view->live && rows) {
		draw_keys(s);
		/* what follows stays above the keys */
		s->rows--;
	}
	draw_title(s, look, view);
	if (view->help) {
		draw_help(s);
	} else {
		draw_members(s, look, 2);
		top_put(s, 6, 0, TOP_HEAD, "HITS");
		draw_hits(s, look, TOP_READ, 6);
		draw_hits(s, look, TOP_WRITE, 7);
		draw_moves(s, look, 8);
		draw_waits(s, look, 10);
		draw_room(s, look, 11);
		top_draw_heat(s, look, view, top_draw_log(s, look, 12) + 1, s->rows);
	}
	s->rows = rows;
}
