// SPDX-License-Identifier: GPL-2.0-only
/*
 * The progress of long work: on a terminal, one line that is redrawn; elsewhere, a line now and
 * then. Short work shows nothing.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "show-progress.h"
#include "terminal.h"
#include "text.h"

/* Seconds until the first output, between drawings, and between lines. */
#define QUIET_S		1.0
#define DRAW_S		0.2
#define LINE_S		10.0
/* The rate is that of the last one or two of these. */
#define WINDOW_S	10.0

static struct {
	struct progress p;
	char also[64];
	bool terminal, drawn;
	double said;
} shown;

/* -- the text --------------------------------------------------------------------- */

void progress_init(struct progress *p, const char *what, const struct progress_unit *unit,
		   uint64_t total, double now)
{
	memset(p, 0, sizeof(*p));
	snprintf(p->what, sizeof(p->what), "%s", what);
	p->unit = unit;
	p->total = total;
	p->mark[0].at = now;
	p->mark[1].at = now;
}

void progress_reach(struct progress *p, uint64_t done, double now)
{
	p->done = done;
	if (now < p->mark[1].at + WINDOW_S)
		return;
	p->mark[0] = p->mark[1];
	p->mark[1].at = now;
	p->mark[1].done = done;
}

/* "1:05", "2:01:05", "12 days" */
static void time_text(char *buf, size_t size, double seconds)
{
	unsigned long s = seconds < 1e9 ? seconds + 0.5 : 1e9;

	if (s < 3600)
		snprintf(buf, size, "%lu:%02lu", s / 60, s % 60);
	else if (s < 100 * 3600)
		snprintf(buf, size, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(buf, size, "%lu days", s / 86400);
}

void progress_text(const struct progress *p, const char *also, double now, char *buf, size_t size)
{
	double seconds = now - p->mark[0].at;
	double rate = seconds > 0 && p->done > p->mark[0].done ?
		      (p->done - p->mark[0].done) / seconds : 0;
	uint64_t left = p->done < p->total ? p->total - p->done : 0;
	char far[32], time[32] = "";

	/* unfinished work is below 100 % */
	if (p->total)
		snprintf(far, sizeof(far), "%u %%", left ?
			 (unsigned int)(100.0 * (p->total - left) / p->total) : 100);
	else
		snprintf(far, sizeof(far), "%.0f %s", p->done / p->unit->size, p->unit->name);
	if (left && rate > 0)
		time_text(time, sizeof(time), left / rate);
	snprintf(buf, size, "%s: %s, %.1f %s/s%s%s%s%s%s", p->what, far, rate / p->unit->size,
		 p->unit->name, *time ? ", " : "", time, *time ? " left" : "", *also ? ", " : "",
		 also);
}

/* -- where it goes ---------------------------------------------------------------- */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void draw(double t)
{
	char text[256], safe[2 * sizeof(text)];
	size_t room = terminal_width() - 1;

	progress_text(&shown.p, shown.also, t, text, sizeof(text));
	fus_safe_text(safe, sizeof(safe), text, sizeof(text), fus_utf8_output());
	if (shown.terminal)	/* a line that does not fit would start a new line each time */
		fprintf(stderr, "\r%.*s\033[K", (int)room, safe);
	else
		fprintf(stderr, "%s\n", safe);
	fflush(stderr);
	shown.drawn = shown.terminal;
	shown.said = t;
}

static void begin(const struct work *work)
{
	double t = now();

	progress_init(&shown.p, work->what, work->unit, work->total, t);
	*shown.also = 0;
	shown.terminal = isatty(STDERR_FILENO);
	shown.said = t + (shown.terminal ? QUIET_S - DRAW_S : 0);
}

static void go_on(const struct work *work)
{
	double t = now();

	shown.p.total = work->total;
	progress_reach(&shown.p, work->done, t);
	snprintf(shown.also, sizeof(shown.also), "%s", work->also ? work->also : "");
	if (t >= shown.said + (shown.terminal ? DRAW_S : LINE_S))
		draw(t);
}

static void show(enum work_stage stage, const struct work *work)
{
	switch (stage) {
	case WORK_BEGINS:
		begin(work);
		break;
	case WORK_GOES_ON:
		go_on(work);
		break;
	case WORK_ENDS:
		progress_hide();
		break;
	}
}

void progress_show(void)
{
	fus_on_progress(show);
}

void progress_stop(void)
{
	progress_hide();
	fus_on_progress(NULL);
}

void progress_hide(void)
{
	if (shown.drawn)
		fputs("\r\033[K", stderr);
	shown.drawn = false;
}
