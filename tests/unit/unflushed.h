/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two devices in RAM that lose what was not flushed when power fails, sector by sector. They wrap
 * fus_offline_write() and fus_offline_sync(), with the linker's --wrap.
 */
#ifndef UNFLUSHED_H
#define UNFLUSHED_H

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "meta.h"
#include "nobody.h"

#define MAX_WRITES	2048

static struct {
	size_t bytes[2];
	u8 *mem[2];		/* as a program sees it */
	u8 *durable[2];
	u8 *disk;		/* the content of the disk, before */
	int fd[2];
	u64 seed;
	bool dead;
	unsigned int writes, last;	/* the one in which power fails */
	struct {
		int dev;
		unsigned int from, nr;	/* of its writes: 0 if none */
	} fails;
	u8 *rots;		/* a byte that changes after that write, or NULL */
	unsigned int rots_after;
	unsigned int nr;
	struct {
		int dev;
		u64 offset;
		size_t bytes;
	} unsynced[MAX_WRITES];
} world;

int __real_fus_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf);
int __real_fus_offline_sync(const struct offline *o);
int __wrap_fus_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf);
int __wrap_fus_offline_sync(const struct offline *o);

static int dev_of(const struct offline *o)
{
	REQUIRE(o->fd == world.fd[0] || o->fd == world.fd[1]);
	return o->fd == world.fd[1];
}

/* Two devices of these sizes, with zeros. */
static void world_begin(u64 seed, const u64 sectors[2])
{
	world.seed = seed;
	for (int dev = 0; dev < 2; dev++) {
		world.bytes[dev] = sectors[dev] << 9;
		world.fd[dev] = memfd_create(dev ? "slow" : "fast", 0);
		REQUIRE(world.fd[dev] >= 0 && !ftruncate(world.fd[dev], world.bytes[dev]));
		world.mem[dev] = mmap(NULL, world.bytes[dev], PROT_READ | PROT_WRITE, MAP_SHARED,
				      world.fd[dev], 0);
		world.durable[dev] = calloc(1, world.bytes[dev]);
		REQUIRE(world.mem[dev] != MAP_FAILED && world.durable[dev]);
	}
}

/* Each sector is old or new; sometimes whole writes are. */
static void power_fails(void)
{
	const unsigned int how = rnd_below(&world.seed, 3);

	for (unsigned int i = 0; i < world.nr; i++) {
		const int dev = world.unsynced[i].dev;
		const bool whole = rnd_below(&world.seed, 2);

		for (size_t b = 0; b < world.unsynced[i].bytes; b += 512) {
			const u64 at = world.unsynced[i].offset + b;

			if (how == 2 ? whole : !how || rnd_below(&world.seed, 2))
				memcpy(world.durable[dev] + at, world.mem[dev] + at, 512);
		}
	}
	for (unsigned int i = 0; i < world.nr; i++)
		memcpy(world.mem[world.unsynced[i].dev] + world.unsynced[i].offset,
		       world.durable[world.unsynced[i].dev] + world.unsynced[i].offset,
		       world.unsynced[i].bytes);
	world.nr = 0;
	world.dead = true;
}

int __wrap_fus_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf)
{
	const int dev = dev_of(o);

	if (world.dead)
		return -EIO;
	if (dev == world.fails.dev && world.fails.nr) {
		if (world.fails.from)
			world.fails.from--;
		else if (world.fails.nr--)
			return -EIO;
	}
	REQUIRE(offset + bytes <= world.bytes[dev] && !(offset % 512) && !(bytes % 512));
	REQUIRE(!(offset % o->block_bytes) && world.nr < MAX_WRITES);
	memcpy(world.mem[dev] + offset, buf, bytes);
	world.unsynced[world.nr].dev = dev;
	world.unsynced[world.nr].offset = offset;
	world.unsynced[world.nr++].bytes = bytes;
	if (world.rots && world.writes == world.rots_after)
		*world.rots ^= 1;
	if (world.writes++ != world.last)
		return 0;
	power_fails();
	return -EIO;
}

int __wrap_fus_offline_sync(const struct offline *o)
{
	const int dev = dev_of(o);
	unsigned int n = 0;

	if (world.dead)
		return -EIO;
	for (unsigned int i = 0; i < world.nr; i++) {
		if (world.unsynced[i].dev == dev)
			memcpy(world.durable[dev] + world.unsynced[i].offset,
			       world.mem[dev] + world.unsynced[i].offset,
			       world.unsynced[i].bytes);
		else
			world.unsynced[n++] = world.unsynced[i];
	}
	world.nr = n;
	return 0;
}

/* The machine runs until it has begun @writes more, and one. */
static void power_on(unsigned int writes)
{
	world.dead = false;
	world.writes = 0;
	world.last = writes;
	world.nr = 0;
}

#endif
