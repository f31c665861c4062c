// SPDX-License-Identifier: GPL-2.0-only
/* Errors: noted in a structure, and passed to a listener. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

static const char parts[] = "; ";

static struct fus_error last;
static void (*listen)(const struct fus_error *e);

/* The length of the output of @fmt up to @end. */
static size_t length_to(const char *fmt, const char *end, va_list ap)
{
	char head[FUS_ERROR_TEXT];

	snprintf(head, sizeof(head), "%.*s", (int)(end - fmt), fmt);
	return vsnprintf(NULL, 0, head, ap);
}

static void fill_in(struct fus_error *e, const char *subject, const char *fmt, va_list ap)
{
	const char *part = strstr(fmt, parts);
	char text[2 * FUS_ERROR_TEXT];
	va_list again;
	size_t n;

	va_copy(again, ap);
	n = part ? length_to(fmt, part, again) : sizeof(text);
	va_end(again);
	vsnprintf(text, sizeof(text), fmt, ap);
	snprintf(e->subject, sizeof(e->subject), "%s", subject);
	*e->remedy = 0;
	if (n < strlen(text)) {
		text[n] = 0;
		snprintf(e->remedy, sizeof(e->remedy), "%s", text + n + strlen(parts));
	}
	snprintf(e->what, sizeof(e->what), "%s", text);
}

int fus_fail(int code, const char *subject, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill_in(&last, subject, fmt, ap);
	va_end(ap);
	last.code = code;
	if (listen)
		listen(&last);
	return code;
}

void fus_warn(const char *subject, const char *fmt, ...)
{
	struct fus_error e = { .warning = true };
	va_list ap;

	va_start(ap, fmt);
	fill_in(&e, subject, fmt, ap);
	va_end(ap);
	if (listen)
		listen(&e);
}

const struct fus_error *fus_last_error(void)
{
	return &last;
}

void fus_on_error(void (*listener)(const struct fus_error *e))
{
	listen = listener;
}
