// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time that the members need for a command.
 *
 * The disk, as in tests/spindle without its write cache: the square of a seek's time grows linearly
 * with the distance; the platter turns by the clock, and a sector passes the head once in a turn;
 * it serves the command in its queue that it reaches first, or, every second time once that is old,
 * the oldest. A command that continues the last one needs neither seek nor turn. 78 I/Os of 4 KiB a
 * second one at a time, 176 of 32 at a time.
 *
 * The SSD: channels, chosen by the address, each with one command at a time, and a bus for all
 * data. 112 us for 4 KiB, 57,000 a second of 32 at a time.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "sim.h"
#include "size.h"

#define STRIPE	16384U

/* -- parameters ------------------------------------------------------------------ */

#define KEY(name, lo, def, hi) { #name, offsetof(struct sim_disk_params, name), lo, def, hi }

static const struct {
	const char *name;
	size_t offset;
	u32 min, def, max;
} keys[] = {
	KEY(hdd_seek_track_us, 0, 1000, 1000000),
	KEY(hdd_seek_full_us, 0, 16000, 1000000),
	KEY(hdd_settle_us, 0, 1000, 1000000),
	KEY(hdd_overhead_us, 0, 50, 1000000),
	KEY(hdd_rpm, 60, 7200, 60000),
	KEY(hdd_rate, 1, 150, 10000),
	KEY(hdd_depth, 1, 32, SIM_HDD_MAX_DEPTH),
	KEY(hdd_age_ms, 1, 410, 100000),
	KEY(ssd_read_us, 0, 94, 1000000),
	KEY(ssd_write_us, 0, 52, 1000000),
	KEY(ssd_flush_us, 0, 3000, 1000000),
	KEY(ssd_overhead_us, 0, 9, 1000000),
	KEY(ssd_read_rate, 1, 480, 100000),
	KEY(ssd_write_rate, 1, 307, 100000),
	KEY(ssd_channels, 1, 8, SIM_SSD_MAX_CHANNELS),
};

#define NR_KEYS	(sizeof(keys) / sizeof(keys[0]))

static u32 *value(struct sim_disk_params *p, size_t i)
{
	return (u32 *)((char *)p + keys[i].offset);
}

void sim_disk_defaults(struct sim_disk_params *p)
{
	for (size_t i = 0; i < NR_KEYS; i++)
		*value(p, i) = keys[i].def;
}

int sim_disk_set(struct sim_disk_params *p, const char *word)
{
	const char *is = strchr(word, '=');
	uint64_t v;

	if (!is)
		return fus_fail(FC_USAGE, word, "not KEY=VALUE; see fusionctl(8) for the keys of "
				"--disk");
	for (size_t i = 0; i < NR_KEYS; i++) {
		if (strlen(keys[i].name) != (size_t)(is - word) ||
		    strncmp(keys[i].name, word, is - word))
			continue;
		if (!fus_parse_number(is + 1, keys[i].max, &v) || v < keys[i].min)
			return fus_fail(FC_USAGE, word, "out of range; %s takes %u to %u",
					keys[i].name, keys[i].min, keys[i].max);
		*value(p, i) = v;
		return 0;
	}
	return fus_fail(FC_USAGE, word, "no such key; see fusionctl(8) for the keys of --disk");
}

const char *sim_disk_get(const struct sim_disk_params *p, unsigned int i, u32 *v)
{
	if (i >= NR_KEYS)
		return NULL;
	*v = *(const u32 *)((const char *)p + keys[i].offset);
	return keys[i].name;
}

/* -- the disk -------------------------------------------------------------------- */

void sim_hdd_init(struct sim_hdd *hdd, const struct sim_disk_params *p, u64 bytes)
{
	double track = p->hdd_seek_track_us * 1000.0, full = p->hdd_seek_full_us * 1000.0;

	memset(hdd, 0, sizeof(*hdd));
	if (full < track)
		full = track;
	hdd->rotation = 60 * SIM_S / p->hdd_rpm;
	hdd->track2 = track * track;
	hdd->slope = (full * full - track * track) / bytes;
	hdd->ns_per_byte = 1000.0 / p->hdd_rate;
	hdd->settle = p->hdd_settle_us * 1000ULL;
	hdd->overhead = p->hdd_overhead_us * 1000ULL;
	hdd->age = p->hdd_age_ms * SIM_MS;
	hdd->depth = p->hdd_depth;
}

/* Time until the head reaches a command's first sector, if it starts now. */
static u64 reach(const struct sim_hdd *hdd, const struct sim_cmd *cmd, u64 now)
{
	u64 distance = cmd->byte < hdd->head ? hdd->head - cmd->byte : cmd->byte - hdd->head;
	u64 seek, angle;

	if (!distance && cmd->write == hdd->head_wrote)
		return 0;
	seek = sqrt(hdd->track2 + hdd->slope * distance);
	if (cmd->write)
		seek += hdd->settle;
	/* that is too much for commands of which several are on a track */
	if (cmd->sorted && distance * hdd->ns_per_byte < hdd->rotation)
		seek = 0;
	angle = (now + seek) % hdd->rotation;
	return seek + (cmd->angle >= angle ? 0 : hdd->rotation) + cmd->angle - angle;
}

static u64 start_next(struct sim_hdd *hdd, u64 now)
{
	u64 best = UINT64_MAX;
	u32 i, which = 0, oldest = 0;

	while (hdd->nr < hdd->depth && hdd->nr_waiting) {
		hdd->queue[hdd->nr++] = hdd->waiting[hdd->wait_first];
		hdd->wait_first = (hdd->wait_first + 1) % SIM_HDD_QUEUE;
		hdd->nr_waiting--;
	}
	if (!hdd->nr) {
		hdd->busy = false;
		return SIM_NEVER;
	}
	now += hdd->overhead;
	for (i = 0; i < hdd->nr; i++) {
		u64 t = reach(hdd, &hdd->queue[i], now);

		if (t < best) {
			best = t;
			which = i;
		}
		if (hdd->queue[i].since < hdd->queue[oldest].since)
			oldest = i;
	}
	hdd->oldest_last = !hdd->oldest_last && now - hdd->queue[oldest].since > hdd->age;
	if (hdd->oldest_last) {
		which = oldest;
		best = reach(hdd, &hdd->queue[which], now);
	}
	best += hdd->overhead + hdd->queue[which].bytes * hdd->ns_per_byte;
	hdd->current = hdd->queue[which].id;
	hdd->head = hdd->queue[which].byte + hdd->queue[which].bytes;
	hdd->head_wrote = hdd->queue[which].write;
	hdd->queue[which] = hdd->queue[--hdd->nr];
	hdd->busy = true;
	hdd->busy_ns += best;
	return now - hdd->overhead + best;
}

u64 sim_hdd_submit(struct sim_hdd *hdd, const struct sim_cmd *cmd, u64 now)
{
	struct sim_cmd *c = &hdd->waiting[(hdd->wait_first + hdd->nr_waiting) % SIM_HDD_QUEUE];

	*c = *cmd;
	c->since = now;
	c->angle = (u64)(cmd->byte * hdd->ns_per_byte) % hdd->rotation;
	hdd->nr_waiting++;
	return hdd->busy ? 0 : start_next(hdd, now);
}

u64 sim_hdd_done(struct sim_hdd *hdd, u64 now, u32 *id)
{
	*id = hdd->current;
	return start_next(hdd, now);
}

/* -- the SSD --------------------------------------------------------------------- */

void sim_ssd_init(struct sim_ssd *ssd, const struct sim_disk_params *p)
{
	memset(ssd, 0, sizeof(*ssd));
	ssd->read = p->ssd_read_us * 1000ULL;
	ssd->write = p->ssd_write_us * 1000ULL;
	ssd->overhead = p->ssd_overhead_us * 1000ULL;
	ssd->read_ns_per_byte = 1000.0 / p->ssd_read_rate;
	ssd->write_ns_per_byte = 1000.0 / p->ssd_write_rate;
	ssd->nr_channels = p->ssd_channels;
}

u64 sim_ssd_submit(struct sim_ssd *ssd, u64 byte, u32 bytes, bool write, u64 now)
{
	u64 stripe = byte / STRIPE, last = (byte + bytes - 1) / STRIPE;
	u64 *channel, done = now, transfer;

	/* the drive's own mapping decides where a stripe lies: as good as random */
	for (; stripe <= last; stripe++) {
		channel = &ssd->channel[random64(stripe) % ssd->nr_channels];
		if (*channel < now)
			*channel = now;
		*channel += write ? ssd->write : ssd->read;
		if (*channel > done)
			done = *channel;
	}
	transfer = ssd->overhead +
		   bytes * (write ? ssd->write_ns_per_byte : ssd->read_ns_per_byte);
	/* the bus works while the channels do, except for the last piece */
	if (ssd->bus < now)
		ssd->bus = now;
	ssd->bus += transfer;
	if (bytes <= STRIPE)
		return done + transfer > ssd->bus ? done + transfer : ssd->bus;
	return done > ssd->bus ? done : ssd->bus;
}
