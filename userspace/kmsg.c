// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device mapper returns no more than an errno; why it refuses a table or a
 * message is in the kernel's log:
 *
 *	device-mapper: table: 253:0: fusion: <reason> (-EINVAL)
 *	device-mapper: fusion: <reason>
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fusionctl.h"

int kmsg_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* The reason in one record "<prefix>;<text>\n ..." of /dev/kmsg, or NULL. */
static char *reason_in(char *record, bool *table)
{
	static const char head[] = "device-mapper: ", type[] = "fusion: ";
	char *text = strchr(record, ';'), *end;

	if (!text)
		return NULL;
	text++;
	text[strcspn(text, "\n")] = 0;
	if (strncmp(text, head, strlen(head)))
		return NULL;
	text += strlen(head);
	*table = !strncmp(text, "table: ", 7);
	if (*table) {
		text = strstr(text, type);
		if (!text)
			return NULL;
	}
	if (strncmp(text, type, strlen(type)))
		return NULL;
	text += strlen(type);
	end = strrchr(text, '(');
	if (*table && end && end > text && !strncmp(end, "(-", 2))
		end[-1] = 0;
	return text;
}

void kmsg_reason(int fd, char *buf, size_t size)
{
	char record[8192], *text;
	bool table, have_table = false;
	ssize_t n;

	*buf = 0;
	if (fd < 0)
		return;
	/* EPIPE: records were overwritten before we came to read them */
	while ((n = read(fd, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		record[n] = 0;
		text = reason_in(record, &table);
		if (!text || (have_table && !table))
			continue;
		have_table = table;
		snprintf(buf, size, "%s", text);
	}
	close(fd);
}
