// SPDX-License-Identifier: GPL-2.0-only
/*
 * The landing log in simulated time: which I/Os it has, and writes that wait for room:
 * dm-fusion-land-append.c and dm-fusion-land-pace.c. The drain never stalls here, so no write goes
 * past a log that is full.
 */
#include <string.h>

#include "sim-engine.h"

/* A write of more blocks goes past the log. */
#define MOST_BLOCKS	16U
/* Writes that go on at once, if so many wait. */
#define GROUP		16U
#define DRY		(100 * SIM_MS)

static u64 beyond(u64 free, u64 total)
{
	const u64 last = total / 4;

	return free - min(free, last);
}

/* -- the pace --------------------------------------------------------------------------------- */

static u64 update(struct sim_land *land, u64 *total)
{
	const u64 free = sim_land_free(land, total), more = beyond(free, *total);

	if (more)
		land->limit = land->end + more;
	else if (land->limit > land->end + free)
		land->limit = land->end + free;
	return free;
}

static void grant(struct sim_land *land, u64 more, u64 free)
{
	land->limit = min(land->limit + more, land->end + free);
}

/*
 * What is left of the room is shared out with the blocks that are there: those that were drained
 * get as much of it as all others will get.
 */
void sim_land_credit(struct sim_engine *e, u32 nr)
{
	struct sim_land *land = &e->land;
	u64 total, free = update(land, &total);
	const u64 left = land->end + free - min(land->limit, land->end + free);

	if (nr)
		land->part += ((nr * left) << 8) / (land->nr_live + nr);
	grant(land, land->part >> 8, free);
	land->part &= 0xff;
	sim_land_admit(e, false);
}

/* None has gone on for a while: some of what is left is for those that wait. */
void sim_land_trickle(struct sim_engine *e)
{
	struct sim_land *land = &e->land;
	u64 total, free;

	if (!land->nr_waiting || e->now - land->admitted < DRY)
		return;
	free = update(land, &total);
	if (land->limit < land->end)
		land->limit = land->end;
	grant(land, free / 64 ? free / 64 : 1, free);
	sim_land_admit(e, true);
}

/* -- writes ----------------------------------------------------------------------------------- */

u64 sim_land_first(const struct sim_engine *e, const struct sim_io *io)
{
	return (u64)io->lext * e->land.blocks + io->offset / SIM_BLOCK;
}

u64 sim_land_end(const struct sim_engine *e, const struct sim_io *io)
{
	return sim_land_first(e, io) +
	       (io->offset % SIM_BLOCK + io->bytes + SIM_BLOCK - 1) / SIM_BLOCK;
}

void sim_land_send(struct sim_engine *e, u32 id, u32 pos)
{
	struct sim_io *io = &e->io[id];

	io->dev = FUSION_FAST;
	io->epoch = e->epoch;
	e->nr_flying[e->epoch]++;
	e->nr_at[FUSION_FAST]++;
	sim_submit(e, FUSION_FAST, sim_land_byte(e, pos), io->bytes, io->write, id);
}

static void append(struct sim_engine *e, u32 id)
{
	struct sim_io *io = &e->io[id];
	const u64 block = sim_land_first(e, io);
	const u32 nr = io->bytes / SIM_BLOCK;
	u32 pos = sim_land_put(e, block);

	for (u32 i = 1; i < nr; i++)
		sim_land_put(e, block + i);
	e->result->land.landed++;
	sim_land_send(e, id, pos);
}

void sim_land_admit(struct sim_engine *e, bool dry)
{
	struct sim_land *land = &e->land;
	const u32 least = dry ? 1 : min(land->nr_waiting, GROUP);
	u32 n = 0;

	if (land->limit < land->end + least)
		return;
	while (n < land->nr_waiting && land->end < land->limit) {
		const u32 id = land->waiting[n];

		if (!sim_land_room(e, e->io[id].bytes / SIM_BLOCK))
			break;
		e->result->land.wait_ns += e->now - land->wait_since[n++];
		/* its extent may have moved meanwhile */
		e->io[id].paced = true;
		sim_route(e, id);
	}
	if (!n)
		return;
	land->nr_waiting -= n;
	memmove(land->waiting, land->waiting + n, land->nr_waiting * sizeof(land->waiting[0]));
	memmove(land->wait_since, land->wait_since + n,
		land->nr_waiting * sizeof(land->wait_since[0]));
	land->admitted = e->now;
}

/* It goes past the log: what it covers there is dead, and the rest of a block is merged. */
static void kill(struct sim_engine *e, const struct sim_io *io)
{
	const u64 end = sim_land_end(e, io);

	for (u64 block = sim_land_first(e, io); block < end; block++) {
		const u32 pos = sim_land_find(&e->land, block);

		if (pos != SIM_NO_POS)
			sim_land_kill(e, pos);
	}
}

static bool route_write(struct sim_engine *e, u32 id)
{
	struct sim_land *land = &e->land;
	struct sim_io *io = &e->io[id];
	u64 total;

	sim_copies_kill(e, sim_land_first(e, io), sim_land_end(e, io));
	if (io->stream || (io->offset | io->bytes) % SIM_BLOCK ||
	    io->bytes > MOST_BLOCKS * SIM_BLOCK) {
		kill(e, io);
		return false;
	}
	update(land, &total);
	if ((io->paced || (!land->nr_waiting && land->end < land->limit)) &&
	    sim_land_room(e, io->bytes / SIM_BLOCK)) {
		append(e, id);
		return true;
	}
	if (!land->nr_waiting) {
		land->admitted = e->now;
		land->timer = e->now;
	}
	land->wait_since[land->nr_waiting] = e->now;
	land->waiting[land->nr_waiting++] = id;
	e->result->land.waited++;
	return true;
}

/* If only some blocks are in the log, the slow member's part of the time is what counts. */
static bool route_read(struct sim_engine *e, u32 id)
{
	struct sim_io *io = &e->io[id];
	const u64 first = sim_land_first(e, io), end = sim_land_end(e, io);
	u32 pos = sim_land_find(&e->land, first);

	for (u64 block = first; block < end; block++)
		if (sim_land_find(&e->land, block) == SIM_NO_POS)
			return false;
	e->result->land.reads++;
	sim_land_send(e, id, pos);
	return true;
}

bool sim_land_route(struct sim_engine *e, u32 id)
{
	if (!e->land.max)
		return false;
	if (e->io[id].write)
		return route_write(e, id);
	return (e->land.nr_live && route_read(e, id)) || sim_copies_read(e, id);
}
