// SPDX-License-Identifier: GPL-2.0-only
/* The abilities of standard output. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "terminal.h"
#include "error.h"
#include "fusionctl.h"
#include "size.h"

int color_mode(const char *when, enum color *mode)
{
	const char *term = getenv("TERM"), *depth = getenv("COLORTERM"), *no = getenv("NO_COLOR");

	*mode = COLOR_NONE;
	if (when && !strcmp(when, "never"))
		return 0;
	if (!when || !strcmp(when, "auto")) {
		if ((no && *no) || !isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb"))
			return 0;
	} else if (strcmp(when, "always")) {
		return fus_fail(FC_USAGE, when, "not a choice for --color; give auto, always or "
				"never");
	}
	*mode = depth && (!strcmp(depth, "truecolor") || !strcmp(depth, "24bit")) ?
		COLOR_TRUE : COLOR_256;
	return 0;
}

unsigned int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws;
	uint64_t n;

	if (columns && fus_parse_number(columns, 10000, &n) && n)
		return n;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) && ws.ws_col)
		return ws.ws_col;
	return 80;
}
