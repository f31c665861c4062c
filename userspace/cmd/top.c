// SPDX-License-Identifier: GPL-2.0-only
/* Verb top: a set at work, until it is ended, or once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "top.h"
#include "error.h"
#include "fusionctl.h"
#include "output.h"
#include "progress.h"
#include "terminal.h"
#include "text.h"
#include "verb.h"

#define ROWS		23	/* of a screen of 24, without the keys */
#define COLS		80
#define ROW_TEXT	4096

static bool parse_interval(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	return !text[strspn(text, "0123456789.")] && !*end && *seconds >= 0.1 && *seconds <= 3600;
}

static void wait_for(double seconds)
{
	struct timespec ts = { .tv_sec = seconds, .tv_nsec = (seconds - (time_t)seconds) * 1e9 };

	nanosleep(&ts, NULL);
}

static int print_screen(const struct top_look *look, double interval)
{
	const struct top_view view = { .interval = interval };
	unsigned int cols = terminal_width();
	struct top_screen s;
	char text[ROW_TEXT];

	if (!top_screen_init(&s, ROWS, cols < COLS ? COLS : cols, fus_utf8_output()))
		return fus_fail(FC_FAILED, "top", "not enough memory; close programs and try "
				"again");
	top_draw(&s, look, &view);
	for (unsigned int row = 0; row < s.rows; row++)
		puts(top_row(&s, row, text, sizeof(text)));
	top_screen_free(&s);
	return 0;
}

/* They are those of a moment after it. */
static int name_ranges(struct top_look *look)
{
	int rc;

	look->naming = true;
	fus_progress_begin("reading the files", &fus_progress_inodes, 0);
	rc = top_files_read(look->name, &look->heat, &look->names);
	fus_progress_end();
	return rc;
}

/* With a look that is incomplete, the exit status says so. */
static int look_once(const char *name, double interval, const struct args *a)
{
	struct top_look *look = calloc(1, sizeof(*look));
	char uuid[UUID_TEXT] = "";
	int rc;

	if (!look)
		return fus_fail(FC_FAILED, "top", "not enough memory; close programs and try "
				"again");
	rc = top_look(look, name, uuid);
	if (!rc) {
		wait_for(interval);
		rc = top_look(look, name, uuid);
	}
	if (!rc && a->opt[OPT_BY_FILE])
		rc = name_ranges(look);
	if (!rc && a->opt[OPT_JSON])
		print_json(top_json(look, uuid), false);
	else if (!rc)
		rc = print_screen(look, interval);
	if (!rc && look->names.unread)
		rc = FC_FAILED;
	top_look_end(look);
	free(look);
	return rc;
}

int cmd_top(const struct args *a)
{
	const char *once = a->opt[OPT_ONCE], *name = a->n ? a->word[0] : NULL;
	double interval = 1;
	char first[128];
	int rc;

	if (!once && a->opt[OPT_JSON])
		return fus_fail(FC_USAGE, "--json", "needs --once; write fusionctl top --once "
				"--json");
	if (!once && a->opt[OPT_BY_FILE])
		return fus_fail(FC_USAGE, "--by-file", "needs --once; in a terminal, press f");
	if (once && *once && !parse_interval(once, &interval))
		return fus_fail(FC_USAGE, once, "not an interval; give 0.1 to 3600 seconds");
	if (!once && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		return fus_fail(FC_USAGE, "top", "needs a terminal; write fusionctl top --once");
	if (!name) {
		rc = top_next_set(NULL, first, sizeof(first));
		if (rc)
			return rc;
		name = first;
	}
	return once ? look_once(name, interval, a) : top_live(name);
}
