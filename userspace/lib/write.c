// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write a new set: erase the old content, then write the empty map and its replica, and last the
 * superblocks, the fast member's after the slow one's, because a set is found through its fast
 * member. Until then neither device is a member, whenever this is interrupted.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "write.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "probe.h"
#include "progress.h"
#include "record.h"
#include "super.h"
#include "sysfs.h"
#include "dm-fusion-codec.h"

#define CHUNK_BLOCKS	256U
#define DISCARD_BYTES	0x40000000ULL	/* at once: it may take seconds */
#define CHUNK		((size_t)CHUNK_BLOCKS * FUSION_BLOCK_SIZE)

struct target {
	const struct device *dev;
	int fd;		/* past the page cache */
	char *buf;	/* CHUNK bytes, aligned */
};

static int io_failed(const struct target *t, const char *what)
{
	return fus_fail(FC_FAILED, t->dev->path, "%s failed: %s; check the device and the kernel's "
			"log", what, strerror(errno));
}

static int write_at(struct target *t, size_t bytes, uint64_t offset)
{
	ssize_t n = pwrite(t->fd, t->buf, bytes, offset);

	if (n >= 0 && (size_t)n < bytes)
		errno = EIO;
	return n == (ssize_t)bytes ? 0 : io_failed(t, "write");
}

static int read_at(struct target *t, size_t bytes, uint64_t offset)
{
	ssize_t n = pread(t->fd, t->buf, bytes, offset);

	if (n >= 0 && (size_t)n < bytes)
		errno = EIO;
	return n == (ssize_t)bytes ? 0 : io_failed(t, "read");
}

static int sync_target(struct target *t)
{
	return fsync(t->fd) ? io_failed(t, "flush") : 0;
}

static int zero(struct target *t, uint64_t offset, uint64_t bytes)
{
	int rc = 0;

	memset(t->buf, 0, CHUNK);
	while (bytes && !rc) {
		size_t n = bytes < CHUNK ? bytes : CHUNK;

		rc = write_at(t, n, offset);
		fus_progress_add(n);
		offset += n;
		bytes -= n;
	}
	return rc;
}

/*
 * Head and tail hold everyone's signatures. The superblocks of an earlier set go first, and
 * durably, or a power cut might leave them with a part of their journal, or of the data.
 */
static int clear_ends(struct target *t)
{
	uint64_t size = t->dev->sectors << 9, head = FUSION_GUARD_SECTORS * 512ULL;
	uint64_t tail = (size - head) & ~(FUSION_BLOCK_SIZE - 1ULL);
	int rc;

	rc = zero(t, 0, FUSION_FIRST_FREE_BLOCK * FUSION_BLOCK_SIZE);
	if (!rc)
		rc = sync_target(t);
	if (!rc)
		rc = zero(t, 0, head);
	if (!rc)
		rc = zero(t, tail, size - tail);
	return rc ? rc : sync_target(t);
}

static int erase(struct target *t, int fd)
{
	uint64_t size = t->dev->sectors << 9, head = FUSION_GUARD_SECTORS * 512ULL;
	uint64_t range[2] = { head, (size - 2 * head) & ~(FUSION_BLOCK_SIZE - 1ULL) };
	int rc;

	rc = fus_wipe_signatures(t->dev, fd);
	if (!rc)
		rc = clear_ends(t);
	/* partitions that were there could still be mounted; most have none, some are in use */
	if (!rc && ioctl(fd, BLKRRPART) && errno != EINVAL && errno != EBUSY)
		rc = io_failed(t, "reading the partition table");
	/* an SSD works better if it knows that it is empty; one without discard is fine */
	if (!rc && ioctl(fd, BLKDISCARD, range))
		errno = 0;
	return rc;
}

/* Blocks of map copy 0 from @first on, as many as fit; returns their number. */
static u32 pack_map(struct target *t, const struct fusion_sb *sb, u32 first)
{
	static u32 words[FUSION_MAP_PER_BLOCK];
	u32 n;

	for (n = 0; n < FUSION_MAP_PER_BLOCK; n++)
		words[n] = FUSION_WORD_UNMAPPED;
	for (n = 0; n < CHUNK_BLOCKS && first + n < sb->map_blocks; n++)
		fusion_map_pack(sb, sb->active_set, first + n, sb->set_generation, words,
				t->buf + n * FUSION_BLOCK_SIZE);
	return n;
}

/* Write the member's map, or with @verify compare the written one with it. */
static int empty_map(struct target *t, const struct fusion_sb *sb, bool verify)
{
	uint64_t start = sb->map_start[sb->role][sb->active_set] * FUSION_BLOCK_SIZE;
	static u32 words[FUSION_MAP_PER_BLOCK];
	const char *why;
	u32 i, n;
	int rc = 0;

	for (i = 0; i < sb->map_blocks && !rc; i += n) {
		uint64_t offset = start + (uint64_t)i * FUSION_BLOCK_SIZE;

		n = pack_map(t, sb, i);
		fus_progress_add((uint64_t)n * FUSION_BLOCK_SIZE);
		if (!verify) {
			rc = write_at(t, n * FUSION_BLOCK_SIZE, offset);
			continue;
		}
		rc = read_at(t, n * FUSION_BLOCK_SIZE, offset);
		for (u32 j = 0; j < n && !rc; j++)
			if (fusion_map_unpack(sb, sb->active_set, i + j, sb->set_generation,
					      t->buf + j * FUSION_BLOCK_SIZE, words, &why))
				rc = fus_fail(FC_FAILED, t->dev->path, "does not return what was "
					      "written to it (map block %u: %s); replace the "
					      "device", i + j, why);
	}
	return rc;
}

/*
 * Two updates in a row, so that both copies are valid from the start: generation g
 * goes to copy g & 1.
 */
static int write_supers(struct target *t, struct fusion_sb *sb)
{
	int rc = 0;

	for (sb->generation = 1; sb->generation <= 2 && !rc; sb->generation++) {
		u64 blocknr = FUSION_SUPER_BLOCKNR(sb->generation & 1);

		fusion_sb_pack(sb, blocknr, t->buf);
		rc = write_at(t, FUSION_BLOCK_SIZE, blocknr * FUSION_BLOCK_SIZE);
		if (!rc)
			rc = sync_target(t);
	}
	return rc;
}

static int verify_supers(struct target *t, const struct fusion_sb *want)
{
	enum member_state state;
	char text[SUPER_TEXT];
	struct fusion_sb sb;
	const char *why;
	int err;

	err = fus_super_read(t->fd, t->dev->sectors, &state, &sb, &why, text);
	if (err) {
		errno = -err;
		return io_failed(t, "read");
	}
	if (state == MEMBER_OK && !why && !memcmp(sb.dev_uuid, want->dev_uuid, 16) &&
	    sb.generation == 2)
		return 0;
	return fus_fail(FC_FAILED, t->dev->path, "does not return what was written to it "
			"(superblock: %s); replace the device", why ? why : "an older one");
}

/* The maps are written and read back. */
static void begin_progress(const struct fusion_sb *fast)
{
	uint64_t blocks = fast->journal_blocks[FAST] + fast->journal_blocks[SLOW] +
			  4ULL * fast->map_blocks;

	fus_progress_begin("writing the metadata", &fus_progress_mib, blocks * FUSION_BLOCK_SIZE);
}

static int write_both(struct target t[2], const int fd[2], const struct fusion_sb *fast,
		      int *lock)
{
	struct fusion_sb sb[2] = { [FAST] = *fast };
	int rc = 0;

	fusion_sb_for_slow(fast, &sb[SLOW]);
	/* a missing lock is found before anything is erased */
	rc = fus_run_lock(ASSEMBLY_LOCK, lock);
	fus_run_unlock(lock);
	for (int i = 0; i < 2 && !rc; i++)
		rc = erase(&t[i], fd[i]);
	begin_progress(fast);
	for (int i = 0; i < 2 && !rc; i++)
		rc = zero(&t[i], fast->journal_start[i] * FUSION_BLOCK_SIZE,
			  (uint64_t)fast->journal_blocks[i] * FUSION_BLOCK_SIZE);
	for (int i = 0; i < 2 && !rc; i++)
		rc = empty_map(&t[i], &sb[i], false);
	for (int i = 0; i < 2 && !rc; i++)
		rc = sync_target(&t[i]);
	/* not before: a discard of an SSD may take minutes, and other sets wait for the lock */
	if (!rc)
		rc = fus_run_lock(ASSEMBLY_LOCK, lock);
	if (!rc)
		rc = write_supers(&t[SLOW], &sb[SLOW]);
	if (!rc)
		rc = write_supers(&t[FAST], &sb[FAST]);
	for (int i = 0; i < 2 && !rc; i++)
		rc = empty_map(&t[i], &sb[i], true);
	for (int i = 0; i < 2 && !rc; i++)
		rc = verify_supers(&t[i], &sb[i]);
	fus_progress_end();
	return rc;
}

static int target_open(struct target *t, const struct device *dev)
{
	void *buf;

	t->dev = dev;
	errno = posix_memalign(&buf, FUSION_BLOCK_SIZE, CHUNK);
	if (errno)
		return io_failed(t, "allocating memory");
	t->buf = buf;
	t->fd = fus_device_open(dev, O_RDWR | O_DIRECT);
	return t->fd < 0 ? io_failed(t, "open") : 0;
}

static void target_close(struct target *t)
{
	if (t->fd >= 0)
		close(t->fd);
	free(t->buf);
}

int fus_write_set(const struct device dev[2], const int fd[2], const struct fusion_sb *fast,
		  int *lock)
{
	struct target t[2] = { { .fd = -1 }, { .fd = -1 } };
	int rc = 0;

	for (int i = 0; i < 2 && !rc; i++)
		rc = target_open(&t[i], &dev[i]);
	if (!rc)
		rc = write_both(t, fd, fast, lock);
	for (int i = 0; i < 2; i++)
		target_close(&t[i]);
	return rc;
}

int fus_erase(const struct device *dev, int fd)
{
	struct target t = { .fd = -1 };
	int rc;

	rc = target_open(&t, dev);
	if (!rc)
		rc = erase(&t, fd);
	target_close(&t);
	return rc;
}

int fus_wipe_member(const struct device *dev, int fd)
{
	struct target t = { .fd = -1 };
	int rc;

	rc = target_open(&t, dev);
	if (!rc)
		rc = clear_ends(&t);
	target_close(&t);
	/* drop from the page cache what was read through it */
	if (!rc && ioctl(fd, BLKFLSBUF, 0))
		errno = 0;
	return rc;
}

int fus_check_discard(const struct device *dev)
{
	char most[32];

	if (fus_sysfs_read(dev->disk, "queue/discard_max_bytes", most, sizeof(most)) &&
	    strcmp(most, "0"))
		return 0;
	return fus_fail(FC_MEMBER, dev->path, "cannot discard; leave out --discard, or wipe each "
			"member by itself");
}

int fus_discard(int fd, uint64_t from, uint64_t end)
{
	uint64_t range[2] = { from };

	for (; range[0] < end; range[0] += range[1]) {
		range[1] = end - range[0] < DISCARD_BYTES ? end - range[0] : DISCARD_BYTES;
		if (ioctl(fd, BLKDISCARD, range))
			return errno;
		fus_progress_add(range[1]);
	}
	return 0;
}

int fus_discard_member(const struct device *dev, int fd)
{
	const uint64_t guard = FUSION_GUARD_SECTORS * 512ULL;
	const uint64_t end = ((dev->sectors << 9) - guard) & ~(FUSION_BLOCK_SIZE - 1ULL);
	int err;

	if (end <= guard)
		return 0;
	fus_progress_begin("discarding", &fus_progress_mib, end - guard);
	err = fus_discard(fd, guard, end);
	fus_progress_end();
	return err ? fus_fail(FC_FAILED, dev->path, "is wiped, but discarding it failed: %s; run "
			      "blkdiscard %s", strerror(err), dev->path) : 0;
}
