/* SPDX-License-Identifier: GPL-2.0-only */
/* What goes to standard output, from any function. */
#ifndef CAPTURED_H
#define CAPTURED_H

#include <stdio.h>
#include <unistd.h>

#include "unit.h"

static int out;
static FILE *printed;

static void print_to(FILE *f)
{
	REQUIRE(f);
	printed = f;
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	REQUIRE(out >= 0 && dup2(fileno(f), STDOUT_FILENO) >= 0);
}

/* The text since print_to(); it lasts until the next one. */
static const char *printed_text(void)
{
	static char text[65536];
	size_t n;

	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(printed);
	n = fread(text, 1, sizeof(text) - 1, printed);
	text[n] = 0;
	fclose(printed);
	return text;
}

#endif
