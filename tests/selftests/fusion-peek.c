// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusion-peek: print a number in a metadata block, past the page cache.
 *
 *	fusion-peek DEV BLOCK OFFSET SIZE
 *	fusion-peek DEV super OFFSET SIZE	of the newer copy of the superblock
 *
 * One process in place of a dozen: tests ask for hundreds of numbers, and on an emulated kernel
 * processes are what takes time.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm-fusion-format.h"

static int fd;
/* two, as direct I/O needs them */
static unsigned char blocks[2 * FUSION_BLOCK_SIZE]
	__attribute__((aligned(FUSION_BLOCK_SIZE)));

static int get(void *block, unsigned long long nr)
{
	ssize_t n = pread(fd, block, FUSION_BLOCK_SIZE, (off_t)(nr * FUSION_BLOCK_SIZE));

	if (n == FUSION_BLOCK_SIZE)
		return 0;
	if (n >= 0)
		errno = ENODATA;
	return -1;
}

static unsigned long long number(const unsigned char *block, size_t offset, size_t size)
{
	unsigned long long value = 0;

	memcpy(&value, block + offset, size);
	return le64toh(value);
}

/* The newer copy, or the one that can be read. */
static int get_super(unsigned char *block, unsigned char *other)
{
	const size_t at = offsetof(struct fusion_super, generation);

	if (get(block, FUSION_SUPER_BLOCKNR(0)))
		return get(block, FUSION_SUPER_BLOCKNR(1));
	if (!get(other, FUSION_SUPER_BLOCKNR(1)) &&
	    number(other, at, 8) > number(block, at, 8))
		memcpy(block, other, FUSION_BLOCK_SIZE);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long offset, size;

	if (argc != 5) {
		fputs("usage: fusion-peek DEV BLOCK|super OFFSET SIZE\n", stderr);
		return 2;
	}
	offset = strtoul(argv[3], NULL, 10);
	size = strtoul(argv[4], NULL, 10);
	if (!size || size > 8 || offset > FUSION_BLOCK_SIZE - size) {
		fprintf(stderr, "fusion-peek: %s %s: not in a block\n", argv[3], argv[4]);
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_DIRECT);
	if (fd < 0 || (strcmp(argv[2], "super") ? get(blocks, strtoull(argv[2], NULL, 10)) :
					get_super(blocks, blocks + FUSION_BLOCK_SIZE))) {
		fprintf(stderr, "fusion-peek: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	printf("%llu\n", number(blocks, offset, size));
	return 0;
}
