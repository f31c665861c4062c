// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device mapper returns only an errno. The kernel log has the reason why it refused a table or
 * a message, first in detail and then in general:
 *
 *	device-mapper: fusion: [253:0: ]<reason>
 *	device-mapper: table: 253:0: fusion: <reason> (-EINVAL)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kmsg.h"

int fus_kmsg_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* The reason in one record "<prefix>;<text>\n ..." of /dev/kmsg, or NULL. */
static char *reason_in(char *record)
{
	static const char head[] = "device-mapper: ", table[] = "table: ", type[] = "fusion: ";
	char *text = strchr(record, ';'), *end;
	unsigned int number;
	int n = 0;

	if (!text)
		return NULL;
	text++;
	text[strcspn(text, "\n")] = 0;
	if (strncmp(text, head, strlen(head)))
		return NULL;
	text += strlen(head);
	if (!strncmp(text, table, strlen(table))) {
		text = strstr(text, type);
		end = text ? strstr(text, " (-") : NULL;
		if (end)
			*end = 0;
	}
	if (!text || strncmp(text, type, strlen(type)))
		return NULL;
	text += strlen(type);
	/* a device that was never created has no known number */
	if (sscanf(text, "%u:%u: %n", &number, &number, &n) == 2)
		text += n;
	return text;
}

void fus_kmsg_reason(int fd, char *buf, size_t size)
{
	char record[8192], *text;
	ssize_t n;

	*buf = 0;
	if (fd < 0)
		return;
	/* EPIPE: records were overwritten before they were read */
	while ((n = read(fd, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0 || *buf)
			continue;
		record[n] = 0;
		text = reason_in(record);
		if (text)
			snprintf(buf, size, "%s", text);
	}
	close(fd);
}
