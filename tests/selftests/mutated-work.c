// SPDX-License-Identifier: GPL-2.0-only
/* fusion-mutated: what is done with a set that opens. */
#include <errno.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mutated.h"

#define OPERATIONS	24

static void some_range(size_t *at, size_t *len)
{
	const size_t blocks = trial.size / BLOCK;

	*at = mutate_below(&trial.m.state, blocks);
	*len = 1 + mutate_below(&trial.m.state, 1 + mutate_below(&trial.m.state, CHUNK / BLOCK));
	*len = min(*len, blocks - *at);
	*at *= BLOCK;
	*len *= BLOCK;
}

/* A write that fails, or half fails, may leave either content. */
static void done(size_t at, size_t len, bool well, const u8 *data)
{
	if (!well)
		memset(trial.unknown + at / BLOCK, 1, len / BLOCK);
	else
		for (size_t i = 0; i < len; i += BLOCK)
			bytes_put(&trial.now, at + i, data ? data + i : zeros, BLOCK);
}

static void write_some(int flags)
{
	struct iovec iov = { .iov_base = trial.buf };
	size_t at, len;

	some_range(&at, &len);
	iov.iov_len = len;
	for (size_t i = 0; i < len; i += sizeof(u64)) {
		const u64 stamp = trial.seed << 32 | (at + i);

		memcpy(trial.buf + i, &stamp, sizeof(stamp));
	}
	done(at, len, pwritev2(trial.fd, &iov, 1, at, flags) == (ssize_t)len, trial.buf);
}

/* Whole extents: discarding a part is a hint, and the part may keep its content. */
static void discard_some(void)
{
	const size_t extent = extent_bytes();
	u64 range[2] = { mutate_below(&trial.m.state, trial.size / extent) * (u64)extent, extent };

	done(range[0], extent, !ioctl(trial.fd, BLKDISCARD, range), NULL);
}

static void zero_some(void)
{
	size_t at, len;
	u64 range[2];

	some_range(&at, &len);
	range[0] = at;
	range[1] = len;
	done(at, len, !ioctl(trial.fd, BLKZEROOUT, range), NULL);
}

static void move_some(void)
{
	const u32 lexts = trial.size / extent_bytes();
	const u32 first = mutate_below(&trial.m.state, lexts);
	const u32 last = min(first + mutate_below(&trial.m.state, 16), lexts - 1);

	say("%s %u-%u", mutate_below(&trial.m.state, 2) ? "promote" : "demote", first, last);
}

static void messages(void)
{
	say("stats");
	say("map 0 4294967295");
	say("heat 4096");
	say("map %u %u", mutate_below(&trial.m.state, 1000), mutate_below(&trial.m.state, 1000));
	say("reserve %u", mutate_below(&trial.m.state, 64));
}

static void work(void)
{
	for (unsigned int i = 0; i < OPERATIONS; i++) {
		switch (mutate_below(&trial.m.state, 10)) {
		case 0:
			fsync(trial.fd);
			break;
		case 1:
			discard_some();
			break;
		case 2:
			zero_some();
			break;
		case 3:
		case 4:
			move_some();
			break;
		case 5:
			if (mutate_below(&trial.m.state, 2))
				say("checkpoint");
			break;
		default:
			write_some(mutate_below(&trial.m.state, 3) ? 0 : RWF_DSYNC);
		}
	}
	fsync(trial.fd);
}

void serve(void)
{
	const struct mutation *m = &trial.m;
	const bool judged = m->rot && !(m->torn_tail && m->blocks > 1);
	bool was_in_order;

	if (m->rot && trial.size != trial.base->want.size)
		bad("after rot it has another size");
	trial.now = bytes_new(trial.size);
	trial.unknown = calloc(trial.size / BLOCK, 1);
	if (!trial.unknown)
		die("memory");
	/* rotten blocks of the last transactions count as never written */
	read_all(judged ? &trial.base->want : NULL,
		 m->torn_tail ? trial.base->im.last[FUSION_FAST] : NULL, &trial.now, "after rot");
	messages();
	if (trial.read_only) {
		count.read_only++;
	} else {
		work();
		read_all(&trial.now, NULL, NULL, "after writing");
	}
	was_in_order = in_order();
	close_set();
	check_tails();
	log_read();
	count.served++;
	/* a cleanly closed set opens, and holds the written data */
	if (was_in_order && !trial.read_only && mutate_below(&trial.m.state, 2)) {
		const int err = open_direct(false);

		if (err)
			bad("closed in order, it does not open: %s", strerror(-err));
		read_all(&trial.now, NULL, NULL, "opened again");
		close_set();
		count.again++;
	}
	bytes_free(&trial.now);
	free(trial.unknown);
}
