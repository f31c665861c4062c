// SPDX-License-Identifier: GPL-2.0-only
/* What fusionctl says on standard error. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "message.h"
#include "progress.h"
#include "terminal.h"
#include "text.h"

static bool to_kernel;
static const char prefix[] = "fusionctl: ";
static char said[2048];

void messages_to_kernel(bool on)
{
	to_kernel = on;
}

/* As an error (3): the console of a system that boots quietly shows those. */
static void tell_kernel(const char *line)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	char record[960];	/* it takes 1 KiB, in one piece, and cannot be sought in */
	int n;

	if (fd < 0)
		return;
	n = snprintf(record, sizeof(record), "<3>%.900s\n", line);
	if (write(fd, record, n) < 0)
		n = 0;	/* there is nobody to tell */
	close(fd);
}

/* Labels and serial numbers come from disks: they must not break the line, or the terminal. */
static void say(const char *thing, const char *fmt, va_list ap)
{
	char line[1024];
	int n;

	n = snprintf(line, sizeof(line), "%s%s: ", prefix, thing);
	if (n < 0 || (size_t)n >= sizeof(line))
		n = 0;
	vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	safe_text(said, sizeof(said), line, sizeof(line), utf8_output());
	fflush(stdout);
	progress_hide();
	fprintf(stderr, "%s\n", said);
	if (to_kernel)
		tell_kernel(said);
}

const char *last_said(void)
{
	return said + (strncmp(said, prefix, strlen(prefix)) ? 0 : strlen(prefix));
}

int fail(int rc, const char *thing, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(thing, fmt, ap);
	va_end(ap);
	return rc;
}

void warn(const char *thing, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(thing, fmt, ap);
	va_end(ap);
}
