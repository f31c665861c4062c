/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl simulate: the module's policy, unchanged, against models of the two members, in
 * simulated time.
 *
 * simulate.c	the verb: its options
 * sim-load.c	generated loads
 * sim-trace.c	recorded loads
 * sim-tier.c	the time that a disk and an SSD need for a command
 * sim-slot.c	the slots of a member
 * sim-engine.c	the set: foreground I/O, events; inside: sim-engine.h
 * sim-create.c	the same: its geometry, its first placement, and a check of its map
 * sim-phase.c	the same: what is counted, and how good a phase was
 * sim-land*.c	the same: its landing log, see sim-land.h
 * sim-copies.c	the same: copies of what is read, in room that the log does not use
 * sim-mover.c	the same: the migration engine, as in dm-fusion-mover.c
 * sim-oracle.c	the best fixed placement
 * sim-run.c	a simulation and the ones it is compared with
 * sim-report.c	the result for people and programs
 * sim-svg.c	the result drawn
 *
 * All of it is deterministic: one seed, one result. Times are nanoseconds of simulated time unless
 * stated otherwise.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "random.h"
#include "dm-fusion-policy.h"

#define SIM_MAX_LOADS	8
#define SIM_MAX_ZONES	8
#define SIM_MAX_DEPTH	1024U
#define SIM_MAX_PHASES	64
#define SIM_MAX_BLOCKS	0x10000000ULL	/* of a load with place=blocks */
#define SIM_MS		1000000ULL
#define SIM_S		1000000000ULL
#define SIM_NEVER	UINT64_MAX

/* Promotions that bring fewer hits than this before the extent leaves are called wasted. */
#define SIM_REPAID	8U
/* The share of the oracle's hit ratio that counts as converged, in percent. */
#define SIM_CONVERGED	90U

/* -- random numbers ------------------------------------------------------------ */

static inline u64 sim_random(u64 *state)
{
	return random64(*state += RANDOM_STEP);
}

/* 0..n - 1, for n below 2^32 */
static inline u32 sim_below(u64 *state, u32 n)
{
	return (sim_random(state) >> 32) * n >> 32;
}

/* [0, 1) */
static inline double sim_unit(u64 *state)
{
	return (sim_random(state) >> 11) / 9007199254740992.0;
}

/* -- sim-load.c ---------------------------------------------------------------- */

enum sim_shape { SIM_UNIFORM, SIM_ZIPF, SIM_ZONED, SIM_LOOP, SIM_SCAN };

/* A load as it was asked for. */
struct sim_spec {
	char name[64];		/* its shape, as given */
	enum sim_shape shape;
	double value;		/* zipf: exponent; loop: size, the fast member being 1 */
	unsigned int nr_zones;
	struct {
		double accesses, span;	/* shares of the whole */
	} zone[SIM_MAX_ZONES];
	unsigned int reads;	/* percent */
	u32 bytes;
	u32 depth;		/* I/Os in flight: closed loop; not used with a rate */
	double rate;		/* I/Os a second, 0: closed loop */
	u32 visits;		/* loop: accesses to an extent each time round */
	double at;		/* where it begins, as a share of the span */
	bool hashed;		/* ranks are strewn over the span, not side by side */
	bool blocks;		/* a rank is a block of 4 KiB, not an extent */
	u64 from, to;
	double shift;		/* share of the ranks that change places with others at @shift_at */
	u64 shift_at;
};

/* Parse "zipf:1.0,read=70,qd=16". Exit code, after a message. */
int sim_parse_load(const char *text, struct sim_spec *spec);
/* "90s", "6h" in nanoseconds; a bare number is in seconds. */
bool sim_parse_time(const char *s, u64 *ns);

struct sim_access {
	u32 lext;
	u32 offset;
	u32 bytes;
	bool write;
	bool last;		/* the load has ended */
};

/* A load while it runs. */
struct sim_load {
	const struct sim_spec *spec;
	u64 seed;
	u64 rng;
	u32 nr;			/* extents of the span */
	u32 nr_ranks;		/* of these, some are used: loop */
	u32 extent_bytes;
	u32 first;		/* extent of rank 0, if not hashed */
	u32 pos_extent;
	u32 pos_offset;		/* loop: accesses of this visit */
	bool shifted;
	double zipf_h1, zipf_hn, zipf_s;
	u32 zone_first[SIM_MAX_ZONES + 1];
	u32 feistel_bits;
};

/* @nr_fast: slots that the loop's size is counted in. */
void sim_load_init(struct sim_load *load, const struct sim_spec *spec, u32 nr, u32 nr_fast,
		   u32 extent_bytes, u64 seed);
void sim_load_next(struct sim_load *load, struct sim_access *access);
/* Add @weight times the probability that an access goes to an extent, for each. */
void sim_load_density(const struct sim_load *load, double weight, float *density);

/* -- sim-trace.c --------------------------------------------------------------- */

struct sim_record {
	u64 ns;			/* since the first; 0 if the trace has no times */
	u64 byte;
	u32 bytes;
	bool write;
};

struct sim_trace {
	struct sim_record *record;
	u64 nr, room;
	u64 end_byte;
	u64 skipped;		/* lines that are no read or write */
	bool timed;
	const char *format;
};

/* fio iolog version 2 or 3, or the text of blkparse. Exit code. */
int sim_trace_load(const char *path, u32 extent_bytes, struct sim_trace *trace);
void sim_trace_free(struct sim_trace *trace);

/* -- sim-tier.c ---------------------------------------------------------------- */

struct sim_disk_params {
	u32 hdd_seek_track_us, hdd_seek_full_us, hdd_settle_us, hdd_overhead_us;
	u32 hdd_rpm, hdd_rate, hdd_depth, hdd_age_ms;
	u32 ssd_read_us, ssd_write_us, ssd_flush_us, ssd_overhead_us;
	u32 ssd_read_rate, ssd_write_rate, ssd_channels;
};

void sim_disk_defaults(struct sim_disk_params *p);
/* "hdd_rpm=5400". Exit code. */
int sim_disk_set(struct sim_disk_params *p, const char *word);
/* The name of the @i-th parameter, and its value; NULL after the last. */
const char *sim_disk_get(const struct sim_disk_params *p, unsigned int i, u32 *value);

#define SIM_HDD_MAX_DEPTH	256U
#define SIM_SSD_MAX_CHANNELS	64U
/* Commands that wait for the disk: all of the foreground, those of the mover. */
#define SIM_HDD_QUEUE		4096U

struct sim_cmd {
	u64 byte;
	u32 bytes;
	u32 id;
	u64 since;
	u64 angle;		/* position on the track where it begins, as time */
	bool write;
	bool sorted;		/* one of many that lie close together */
};

struct sim_hdd {
	u64 rotation;
	double track2, slope;	/* square of the seek time by distance */
	double ns_per_byte;
	u64 settle, overhead, age;
	u32 depth;
	u64 head;		/* byte behind the last command */
	bool head_wrote;
	bool oldest_last;
	u32 nr;
	struct sim_cmd queue[SIM_HDD_MAX_DEPTH];
	u32 wait_first, nr_waiting;
	struct sim_cmd waiting[SIM_HDD_QUEUE];
	bool busy;
	u32 current;
	u64 busy_ns;
};

void sim_hdd_init(struct sim_hdd *hdd, const struct sim_disk_params *p, u64 bytes);
/* Return: when the disk completes its next command, or 0 if it is busy with one already. */
u64 sim_hdd_submit(struct sim_hdd *hdd, const struct sim_cmd *cmd, u64 now);
/* Complete the present command, *@id. Return: when the next one will be complete, or SIM_NEVER. */
u64 sim_hdd_done(struct sim_hdd *hdd, u64 now, u32 *id);

struct sim_ssd {
	u64 channel[SIM_SSD_MAX_CHANNELS];	/* when it is free */
	u64 bus;
	u64 read, write, overhead;
	double read_ns_per_byte, write_ns_per_byte;
	u32 nr_channels;
};

void sim_ssd_init(struct sim_ssd *ssd, const struct sim_disk_params *p);
/* Return: when it will be done. */
u64 sim_ssd_submit(struct sim_ssd *ssd, u64 byte, u32 bytes, bool write, u64 now);

/* -- sim-slot.c ---------------------------------------------------------------- */

/* A bit for each slot, and one for each full group of 64. */
struct sim_slots {
	u64 *used, *full;
	u32 nr, nr_free;
	u32 cursor;
};

#define SIM_NO_SLOT	UINT32_MAX

bool sim_slots_init(struct sim_slots *s, u32 nr, u32 nr_reserved);
void sim_slots_exit(struct sim_slots *s);
/* The first free one from @near on, or from the cursor if it is SIM_NO_SLOT; round the end. */
u32 sim_slot_get(struct sim_slots *s, u32 near);
void sim_slot_put(struct sim_slots *s, u32 slot);
bool sim_slot_used(const struct sim_slots *s, u32 slot);

/* -- the whole ------------------------------------------------------------------ */

struct sim_config {
	u64 size[FUSION_NR_DEVS];
	u32 extent_bytes;
	unsigned int fill;	/* percent of the set that is in use before */
	u64 duration;
	u64 seed;
	struct sim_spec load[SIM_MAX_LOADS];
	unsigned int nr_loads;	/* 0: the trace */
	const struct sim_trace *trace;
	u32 trace_depth;	/* 0: at its own times */
	struct sim_disk_params disk;

	/* as in fusionctl set */
	bool migration;
	u32 shadow;		/* 0 or 1 */
	u32 reserve;		/* extents; 0: the module's default */
	u32 half_life;		/* seconds; 0 likewise */
	u32 duty;
	u32 idle_ms;

	const char *landing;	/* size of the landing log, as --landing has it; or NULL: */
	u64 landing_bytes;	/* that of a set that was named */

	bool check;		/* the map, at every interval: for tests */
	bool compare;		/* run the members alone, too */
	bool progress;
};

void sim_config_init(struct sim_config *cfg);

/* The events of an interval. */
struct sim_point {
	u64 at;			/* where it begins */
	u64 ios, hits, bytes;
	u64 unmoved_hits;	/* hits of the first placement */
	u64 latency;		/* sum */
	u64 load_ios[SIM_MAX_LOADS], load_hits[SIM_MAX_LOADS];
	u32 promotions, demotions;
	u32 copied_fast;	/* copies to the fast member, cancelled ones included */
};

/* The loads are the same throughout. */
struct sim_phase {
	u64 start, end;
	struct sim_point sum, tail;	/* tail: the last tenth of it */
	double oracle;
	double load_oracle[SIM_MAX_LOADS];	/* hits of each load under that placement */
	u64 converged;		/* since start; SIM_NEVER: not */
	u64 copied_then;	/* copies to the fast member until then, or all */
};

struct sim_rate {
	double iops, bytes;	/* a second */
	double latency;		/* mean, seconds */
};

struct sim_result {
	u32 nr_lexts, nr_used, nr_fast, usable, reserve, spare;
	u64 interval;
	u32 nr_points, room;
	struct sim_point *point;
	unsigned int nr_phases;
	struct sim_phase phase[SIM_MAX_PHASES];
	u64 end;
	struct sim_point total;
	u64 promotions, demotions, demotions_free, cancelled, skipped;
	u64 copied_fast;
	u64 wasted, again;	/* promotions: not repaid; of an extent demoted within an hour */
	u64 resting;		/* on the fast member for a half-life, and not repaid by the end */
	u32 half_life;		/* seconds */
	u64 batches;
	struct {
		u32 slots;		/* of the landing log, or 0: there is none */
		u64 landed, reads;	/* I/Os that it had */
		u64 waited, wait_ns;	/* writes that waited for room, and for how long together */
		u64 drained;		/* blocks */
		u64 copied, copy_reads;	/* blocks that got copies, I/Os that these served */
	} land;
	double hdd_busy;	/* share of the time */
	struct sim_rate fused, unmoved, alone[FUSION_NR_DEVS];
};

/* -- sim-oracle.c ---------------------------------------------------------------- */

/*
 * Sum of the @k greatest of @density, which are not negative. *@least, if asked for, is the
 * smallest of them, *@part the share of those equal to it that belong to the k.
 */
double sim_greatest(const float *density, u32 nr, u32 k, float *least, double *part);

/* -- sim-engine.c, sim-create.c --------------------------------------------------- */

struct sim_engine;

enum sim_kind { SIM_FUSED, SIM_UNMOVED, SIM_ALONE };

/*
 * @kind: the set with its policy, the same with migration off, or the member @alone in
 * place of the set. NULL, an exit code and a message if the geometry is impossible or memory
 * is short.
 */
struct sim_engine *sim_engine_create(const struct sim_config *cfg, enum sim_kind kind,
				     enum fusion_dev alone, struct sim_result *result,
				     int *rc);
void sim_engine_destroy(struct sim_engine *e);
/* From one time to another, or for that many I/Os. Exit code. */
int sim_engine_run(struct sim_engine *e, u64 from, u64 until, u64 max_ios);
/* Check the map. Return: NULL, or the fault in it. */
const char *sim_engine_check(const struct sim_engine *e);

/* -- sim-run.c, sim-report.c, sim-svg.c --------------------------------------------- */

/* Exit code; the result is to be freed. */
int sim_run(const struct sim_config *cfg, struct sim_result *result);
void sim_result_free(struct sim_result *result);

double sim_hit_ratio(const struct sim_point *p);
void sim_report_text(const struct sim_config *cfg, const struct sim_result *result);
void sim_report_json(const struct sim_config *cfg, const struct sim_result *result);
void sim_report_svg(const struct sim_config *cfg, const struct sim_result *result, FILE *f);

#endif
