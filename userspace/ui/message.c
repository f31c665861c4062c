// SPDX-License-Identifier: GPL-2.0-only
/* The one place where errors and warnings become text. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "message.h"
#include "show-progress.h"
#include "text.h"

static bool to_kernel;
/* Those that wait; of more, the first ones tell what happened, and the last one what to do. */
static struct fus_error kept[8];
static unsigned int nr_kept, nr_told;	/* of them, the kernel log has so many */
static bool hold;
static const char prefix[] = "fusionctl: ";

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
		n = 0;	/* there is no other place for it */
	close(fd);
}

/* Labels and serial numbers come from disks: they must not break the line, or the terminal. */
static void compose(const struct fus_error *e, char buf[MESSAGE_TEXT])
{
	char line[1024];
	int n;

	n = snprintf(line, sizeof(line), "%s%s: ", prefix, e->subject);
	if (n < 0 || (size_t)n >= sizeof(line))
		n = 0;
	snprintf(line + n, sizeof(line) - n, "%s%s%s", e->what, *e->remedy ? "; " : "", e->remedy);
	fus_safe_text(buf, MESSAGE_TEXT, line, sizeof(line), fus_utf8_output());
}

const char *message_text(char buf[MESSAGE_TEXT], const struct fus_error *e)
{
	compose(e, buf);
	return buf + (strncmp(buf, prefix, strlen(prefix)) ? 0 : strlen(prefix));
}

/* To the kernel log first, as the other output may have to wait. */
static void tell_held(void)
{
	char line[MESSAGE_TEXT];

	for (; to_kernel && nr_told < nr_kept; nr_told++) {
		compose(&kept[nr_told], line);
		tell_kernel(line);
	}
}

static void keep(const struct fus_error *e)
{
	const unsigned int most = sizeof(kept) / sizeof(kept[0]);

	nr_kept += nr_kept < most;
	nr_told -= nr_told == most;
	kept[nr_kept - 1] = *e;
	tell_held();
}

static void print(const struct fus_error *e)
{
	char line[MESSAGE_TEXT];

	compose(e, line);
	fflush(stdout);
	progress_hide();
	fprintf(stderr, "%s\n", line);
}

static void take(const struct fus_error *e)
{
	char line[MESSAGE_TEXT];

	if (hold) {
		keep(e);
		return;
	}
	if (to_kernel) {
		compose(e, line);
		tell_kernel(line);
	}
	print(e);
}

void messages_to_kernel(bool on)
{
	to_kernel = on;
	tell_held();
}

void messages_begin(void)
{
	fus_on_error(take);
}

void messages_hold(bool on)
{
	hold = on;
	if (on)
		return;
	for (unsigned int i = 0; i < nr_kept; i++)
		print(&kept[i]);
	nr_kept = 0;
	nr_told = 0;
}
