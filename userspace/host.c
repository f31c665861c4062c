// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which machine this is: a number that tells those apart that reach the same disks.
 *
 * It is derived from the machine-id, which the initramfs gets a copy of; without one from the
 * UUID that the firmware gives the machine. Neither is passed on as it is: the machine-id is not to
 * leave the machine, says machine-id(5), and disks do.
 */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "fusionctl.h"

/* The copy comes first: an initramfs may make a machine-id up for each boot. */
static const char *const files[] = {
	"/etc/dm-fusion/machine-id",
	"/etc/machine-id",
	"/sys/class/dmi/id/product_uuid",
};

/* The namespace of these numbers. */
static const uuid_t fusion_space = {
	0x5b, 0x0e, 0x4c, 0x8a, 0x93, 0x1d, 0x4f, 0x02, 0xae, 0x77, 0x2c, 0x64, 0xd1, 0x3f, 0x9a, 0x10
};

/* 32 hex digits, with dashes or without, and not all the same, as of firmware that has none. */
static bool digits_of(const char *text, char digits[33])
{
	size_t n = 0;

	for (; *text && *text != '\n'; text++) {
		if (*text == '-')
			continue;
		if (!isxdigit((unsigned char)*text) || n == 32)
			return false;
		digits[n++] = tolower((unsigned char)*text);
	}
	digits[n] = 0;
	return n == 32 && strspn(digits, (char[]){ digits[0], 0 }) < 32;
}

static bool read_digits(const char *path, char digits[33])
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 && digits_of(text, digits);
}

bool host_id(unsigned char id[16])
{
	char digits[33];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (!read_digits(files[i], digits))
			continue;
		uuid_generate_sha1(id, fusion_space, digits, strlen(digits));
		return true;
	}
	memset(id, 0, 16);
	return false;
}

bool host_is_known(const unsigned char id[16])
{
	return !uuid_is_null(id);
}

char *host_hex(char buf[HOST_HEX], const unsigned char id[16])
{
	for (int i = 0; i < 16; i++)
		snprintf(buf + 2 * i, 3, "%02x", id[i]);
	return buf;
}
