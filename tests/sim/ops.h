/* SPDX-License-Identifier: GPL-2.0-only */
/* A run: its set, and what is done to it. Both follow from the seed. */
#ifndef OPS_H
#define OPS_H

#include "sim.h"

#define MAX_OPS		4096U

enum op_kind {
	OP_WRITE,
	OP_READ,
	OP_FLUSH,
	OP_DISCARD,
	OP_ZEROES,
	OP_SPRAY,		/* write a block of each of nr extents from that of sector on */
	OP_PROMOTE,		/* extents [sector, sector + nr) */
	OP_DEMOTE,
	OP_CHECKPOINT,
	OP_REPLICA,		/* update the replica, as when its interval ends */
	OP_SLEEP,		/* nr ms */
	OP_WAIT,		/* for all that was begun; look at the status */
	OP_SUSPEND,		/* and resume, I/O going on */
	OP_REOPEN,		/* close and open */
	OP_READONLY,		/* close, open read-only, close, open */
	OP_RELOAD,		/* another table takes over */
	OP_KEEP,		/* have the set keep a setting */
	OP_GROW,		/* the disks may become larger, and so does the set */
	OP_SHRINK,		/* the set gives up its end, or that of a member */
	OP_CRASH,		/* power fails; again in nr recoveries; open */
	OP_FAULT,		/* disk @sector fails one in @nr operations of kinds @flags */
	OP_DRAWN,		/* those above are drawn by weight, those below beside these */
	OP_FENCE = OP_DRAWN,	/* nr slots of disk @flags, from slot @sector on */
	OP_FENCE_OFF,
	OP_EMPTY,		/* wait for all; fence and old member get empty if they can */
	OP_HOMING,		/* on; @flags: with zeros */
	OP_HOMING_OFF,
	OP_HOMED,		/* wait for all, and for everything to be at home */
	OP_REPLACE,		/* a disk joins, is taken back, or leaves */
	OP_POINT,		/* make a point */
	OP_PIN,			/* a message of kind @flags, of extents as OP_PROMOTE */
	OP_PINNED,		/* wait for all, and for pinned extents to lie where they belong */
	OP_DRAIN,		/* drain the landing log; 1: turn it off, 2: on */
	OP_DRAINED,		/* the same, while nothing else happens */
	OP_NR,
};

#define OP_FUA		1U
#define OP_PREFLUSH	2U
#define OP_NOWAIT	4U
#define OP_LATE		8U		/* it begins some time after the others */
#define OP_SHUTDOWN	16U		/* of OP_CRASH: the machine is shut down before */

struct op {
	u8 kind;
	u8 flags;
	u32 sector;
	u32 nr;
};

struct setup {
	struct fusion_sb sb;
	struct fusion_sb most;		/* as large as it may become; @sb if it does not grow */
	bool discards[SIM_NR_DISKS];
	bool fua[SIM_NR_DISKS];
	bool through[SIM_NR_DISKS];	/* no write cache */
	bool tears[SIM_NR_DISKS];	/* sectors that were being written cannot be read */
	bool large;			/* enough extents for transactions of several blocks */
	u32 depth;			/* operations under way */
	u32 cut_one_in;			/* of the places where power may be cut */
	bool faults;
	u32 scarce;			/* so is memory: see struct sim_world */
	bool grows;
	bool shrinks;
	bool homes;			/* many extents have a home, and the others have room */
	u32 lost;			/* one extent in so many is lost at first; 0: none */
	const struct story *story;	/* all that is done; NULL: it differs from run to run */
	char options[192];
};

/* A sequence of operations on one subject, for what chance alone hardly meets. */
struct story {
	const char *name;
	u32 (*make)(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
	bool shrinks;	/* only of sets that shrink */
	bool homes;	/* only of sets in which homing has something to do */
	bool lost;	/* only of sets with extents that are lost */
	bool landed;	/* of sets with a landing log */
	bool roomy;	/* and with room in it */
	bool lags;	/* some accesses to data take long, in some runs */
	bool torn;	/* cut only where the fast disk writes several blocks of metadata at once */
};

/* -- setup.c ---------------------------------------------------------------------- */

/* Where @faults, disks fail now and then; @large: always many extents. */
void make_setup(struct setup *s, u64 seed, bool faults, bool large);

/*
 * Let it grow. Both disks become as small as they can be, so that what they get is new to the set.
 */
void setup_room(struct setup *s, u64 *rng);

/* Is the content of an extent lost when a run begins? */
bool setup_loses(const struct setup *s, u32 lext);

/* -- ops.c ------------------------------------------------------------------------ */

u32 make_ops(const struct setup *s, u64 seed, struct op *ops, u32 nr);
void print_op(const struct op *op, char *text, size_t size);

/* -- stories.c and stories-*.c, replace-ops.c -------------------------------------------- */

const struct story *find_story(const char *name);

static inline struct op *add(struct op *op, enum op_kind kind, u32 sector, u32 nr)
{
	*op = (struct op){ .kind = kind, .sector = sector, .nr = nr };
	return op + 1;
}

/* The machine crashes, perhaps while it goes down. */
static inline struct op *add_crash(struct op *op, u64 *rng)
{
	op = add(op, OP_CRASH, 0, rnd_below(rng, 3));
	op[-1].flags = rnd_below(rng, 2) ? OP_SHUTDOWN : 0;
	return op;
}

/* Where disks may fail, now and then any one does, in any way. */
struct op *fail_any(struct op *op, const struct setup *s, u64 *rng);

/* Other runs have these too, now and then. Return: the number of operations. */
u32 make_flush_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_fua_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_demote_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_checkpoint_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_close_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_swap_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_fence_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_replace_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);

u32 make_shadow_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_point_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_home_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_lost_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_pin_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_landing_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_pacing_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_append_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_log_size_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_log_replace_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);
u32 make_copies_ops(const struct setup *s, u64 *rng, struct op *ops, u32 nr);

/* Turn homing on, with zeros or without, or off, or let everything come home. */
void draw_homing(u64 *rng, struct op *op);

/* Put up a fence, take it down, or let it become empty. */
void draw_fence(const struct setup *s, u64 *rng, struct op *op);

#endif
