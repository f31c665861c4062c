// SPDX-License-Identifier: GPL-2.0-only
/* Markup that is both HTML and XML. Text from disks and drives may contain anything. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "html.h"
#include "text.h"

#define TEXT	2048

static void escape(FILE *f, const char *text)
{
	static const char *const entity[128] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;",
		['\''] = "&#39;",
	};

	for (; *text; text++) {
		unsigned char c = *text;

		if (c < 128 && entity[c])
			fputs(entity[c], f);
		else
			fputc(c, f);
	}
}

void html_text(FILE *f, const char *text)
{
	char safe[4 * TEXT + 1];

	/* the page is UTF-8, whatever the terminal is */
	escape(f, fus_safe_text(safe, sizeof(safe), text, SIZE_MAX, true));
}

static __attribute__((format(printf, 2, 0)))
void put(FILE *f, const char *fmt, va_list ap)
{
	char text[TEXT];

	vsnprintf(text, sizeof(text), fmt, ap);
	html_text(f, text);
}

void html_put(FILE *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(f, fmt, ap);
	va_end(ap);
}

void html_element(FILE *f, const char *name, const char *fmt, ...)
{
	va_list ap;

	fprintf(f, "<%s>", name);
	va_start(ap, fmt);
	put(f, fmt, ap);
	va_end(ap);
	fprintf(f, "</%.*s>", (int)strcspn(name, " "), name);
}
