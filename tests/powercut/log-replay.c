// SPDX-License-Identifier: GPL-2.0-only
/*
 * log-replay: write the part of a dm-log-writes log between two marks to a file.
 *
 * usage: log-replay LOG FILE FROM TO
 *
 * FROM and TO are names of marks; FROM may be "-", the beginning of the log. Discarded sectors
 * become zeros. Before a mark, the log has, in order, exactly the data that was flushed, or FUA, by
 * then: a mark is a power cut that loses all other data.
 *
 * The format of the log is that of the kernel's Documentation/admin-guide/device-mapper/
 * log-writes.rst: a superblock, then entries of a sector each, with their data behind them.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_MAGIC	0x6a736677736872ULL
#define LOG_DISCARD	4
#define LOG_MARK	8
#define MAX_SECTORS	2097152U
#define MAX_SECTOR_SIZE	4096U

/* Little endian, both. */
struct log_super {
	uint64_t magic;
	uint64_t version;
	uint64_t nr_entries;
	uint32_t sector_size;
} __attribute__((packed));

struct log_entry {
	uint64_t sector;
	uint64_t nr_sectors;
	uint64_t flags;
	uint64_t data_len;
} __attribute__((packed));

static const char *log_name, *file_name;
static int log_fd, file_fd;
static uint32_t sector_size = 512;
static uint64_t position;	/* in the log, bytes */

static void fail(const char *name, const char *what)
{
	fprintf(stderr, "log-replay: %s: %s\n", name, what);
	exit(1);
}

static void read_log(void *buf, size_t size)
{
	ssize_t n = pread(log_fd, buf, size, position);

	if (n != (ssize_t)size)
		fail(log_name, n < 0 ? strerror(errno) : "the log ends too early");
	position += size;
}

static void copy(const struct log_entry *e)
{
	size_t size = e->nr_sectors * sector_size;
	char *data = calloc(1, size ? size : 1);

	if (!data)
		fail(log_name, "out of memory");
	if (!(e->flags & LOG_DISCARD))
		read_log(data, size);
	if (pwrite(file_fd, data, size, e->sector * sector_size) != (ssize_t)size)
		fail(file_name, strerror(errno));
	free(data);
}

/* Return: the name of the mark that is the next entry, or NULL if it was another one. */
static const char *replay_one(bool write)
{
	static char block[MAX_SECTOR_SIZE];
	struct log_entry e;

	read_log(block, sector_size);
	memcpy(&e, block, sizeof(e));
	e.sector = le64toh(e.sector);
	e.nr_sectors = le64toh(e.nr_sectors);
	e.flags = le64toh(e.flags);
	e.data_len = le64toh(e.data_len);
	if (e.nr_sectors > MAX_SECTORS || e.data_len > sector_size - sizeof(e) - 1)
		fail(log_name, "an entry makes no sense");
	if (e.flags & LOG_MARK) {
		block[sizeof(e) + e.data_len] = 0;
		return block + sizeof(e);
	}
	if (write)
		copy(&e);
	else if (!(e.flags & LOG_DISCARD))
		position += e.nr_sectors * sector_size;
	return NULL;
}

int main(int argc, char **argv)
{
	struct log_super super;
	uint64_t i, nr;
	bool write;

	if (argc != 5) {
		fprintf(stderr, "usage: log-replay LOG FILE FROM TO\n");
		return 2;
	}
	log_name = argv[1];
	file_name = argv[2];
	log_fd = open(log_name, O_RDONLY | O_CLOEXEC);
	if (log_fd < 0)
		fail(log_name, strerror(errno));
	file_fd = open(file_name, O_WRONLY | O_CLOEXEC);
	if (file_fd < 0)
		fail(file_name, strerror(errno));

	read_log(&super, sizeof(super));
	if (le64toh(super.magic) != LOG_MAGIC || le64toh(super.version) != 1)
		fail(log_name, "not a log of dm-log-writes");
	sector_size = le32toh(super.sector_size);
	if (sector_size < 512 || sector_size > MAX_SECTOR_SIZE)
		fail(log_name, "its sectors have an odd size");
	position = sector_size;
	nr = le64toh(super.nr_entries);
	write = !strcmp(argv[3], "-");
	for (i = 0; i < nr; i++) {
		const char *mark = replay_one(write);

		if (mark && write && !strcmp(mark, argv[4]))
			return 0;
		if (mark && !strcmp(mark, argv[3]))
			write = true;
	}
	fail(log_name, "there is no such mark");
}
