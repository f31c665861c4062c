// SPDX-License-Identifier: GPL-2.0-only
/* fusion-mutated: what is on the members, and what has to be. */
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "mutated.h"

/* -- bytes -------------------------------------------------------------------------- */

const u8 zeros[CHUNK];

struct bytes bytes_new(size_t size)
{
	struct bytes b = { calloc(size, 1), calloc(size / CHUNK, 1), size };

	if (!b.p || !b.used)
		die("memory");
	return b;
}

void bytes_free(struct bytes *b)
{
	free(b->p);
	free(b->used);
}

const u8 *bytes_at(const struct bytes *b, size_t at)
{
	return b->used[at / CHUNK] ? b->p + at : zeros + at % CHUNK;
}

void bytes_put(struct bytes *b, size_t at, const u8 *data, size_t len)
{
	if (!memcmp(bytes_at(b, at), data, len))
		return;
	b->used[at / CHUNK] = 1;
	memcpy(b->p + at, data, len);
}

/* -- members ------------------------------------------------------------------------ */

/* RAM disks: discarded memory is freed. Most of a member is empty. */
void write_member(int dev, const u8 *head)
{
	static u64 before[FUSION_NR_DEVS];	/* what the last one had */
	const u64 size = trial.base->im.size[dev];
	u64 range[2] = { 0, member_size[dev] };

	if (before[dev])
		range[1] = size > before[dev] ? size : before[dev];
	before[dev] = size;
	if (ioctl(member_fd[dev], BLKDISCARD, range))
		die("discard");
	for (u64 at = 0; at < size; at += CHUNK) {
		const u8 *p = at < trial.base->head[dev] ? head + at :
						       bytes_at(&trial.base->member[dev], at);

		if (p == zeros)
			continue;
		memcpy(trial.buf, p, CHUNK);
		if (pwrite(member_fd[dev], trial.buf, CHUNK, at) != CHUNK)
			die(member[dev]);
	}
}

/* Only the mutated blocks. */
void write_mutated(void)
{
	for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		for (size_t at = 0; at < trial.base->head[dev]; at += BLOCK) {
			if (!memcmp(trial.im.mem[dev] + at, trial.base->im.mem[dev] + at, BLOCK))
				continue;
			memcpy(trial.buf, trial.im.mem[dev] + at, BLOCK);
			if (pwrite(member_fd[dev], trial.buf, BLOCK, at) != BLOCK)
				die(member[dev]);
		}
	}
}

void check_tails(void)
{
	const size_t tail = FUSION_GUARD_SECTORS * 512;

	for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		const size_t size = trial.base->im.size[dev];
		size_t end = 512 * (dev == FUSION_FAST ? trial.sb.self_sectors :
							 trial.sb.peer_sectors);

		end = min_t(u64, round_down(end, CHUNK), member_size[dev]);
		for (size_t at = end - tail; at < min_t(u64, end + tail, member_size[dev]);
		     at += CHUNK) {
			if (pread(member_fd[dev], trial.buf, CHUNK, at) != CHUNK)
				die(member[dev]);
			if (memcmp(trial.buf, at < size ?
				   bytes_at(&trial.base->member[dev], at) : zeros, CHUNK))
				bad("the %s member was written to at byte %zu",
				    dev == FUSION_FAST ? "fast" : "slow", at);
		}
	}
}
