// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusion-poke: change numbers in a metadata block and seal it again.
 *
 *	fusion-poke DEV BLOCK OFFSET:SIZE=VALUE...
 *
 * For tests of blocks with a valid checksum and invalid content.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm-fusion-format.h"
#include "../reseal.h"

static int set_field(unsigned char *block, const char *arg)
{
	unsigned long long value;
	unsigned int offset, size;
	char end;

	if (sscanf(arg, "%u:%u=%lli%c", &offset, &size, (long long *)&value, &end) != 3 ||
	    size > 8 || offset > FUSION_BLOCK_SIZE - size) {
		fprintf(stderr, "fusion-poke: %s: not OFFSET:SIZE=VALUE\n", arg);
		return 2;
	}
	value = htole64(value);
	memcpy(block + offset, &value, size);
	return 0;
}

int main(int argc, char **argv)
{
	struct fusion_block_header *h;
	off_t where;
	int fd, i;

	if (argc < 3) {
		fputs("usage: fusion-poke DEV BLOCK OFFSET:SIZE=VALUE...\n", stderr);
		return 2;
	}
	h = aligned_alloc(FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE);
	where = atoll(argv[2]) * FUSION_BLOCK_SIZE;
	fd = open(argv[1], O_RDWR | O_DIRECT);
	if (!h || fd < 0 || pread(fd, h, FUSION_BLOCK_SIZE, where) != FUSION_BLOCK_SIZE) {
		fprintf(stderr, "fusion-poke: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	for (i = 3; i < argc; i++)
		if (set_field((unsigned char *)h, argv[i]))
			return 2;
	reseal(h);
	if (pwrite(fd, h, FUSION_BLOCK_SIZE, where) != FUSION_BLOCK_SIZE || fsync(fd)) {
		fprintf(stderr, "fusion-poke: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	return 0;
}
