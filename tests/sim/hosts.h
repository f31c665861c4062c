/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machines that reach the same disks.
 *
 * hosts.c		machines, what each may find, and the run of all scenes
 * hosts-in-turn.c	scenes in which one machine acts after the other
 * hosts-at-once.c	scenes in which all act at the same time
 * hosts-copies.c	scenes with copies of what was read
 */
#ifndef HOSTS_H
#define HOSTS_H

#include "run.h"

#define NR_HOSTS	3
/* How long the heartbeat of another machine is watched, in ms. */
#define WATCH		(2 * FUSION_BEAT_MS + FUSION_BEAT_GRACE_MS)

struct hosts {
	const struct setup *setup;
	struct opening *result;
	struct sim_dev *dev[NR_HOSTS];
	bool open[NR_HOSTS];
	u64 stamp;			/* last one used */
	u64 durable[NR_HOSTS];		/* greatest one of a host's own that must be found */
	u64 tried[NR_HOSTS];		/* greatest one that was tried */
	unsigned int running;
	unsigned int opened;
	unsigned int refused;
	unsigned int lost;
	wait_queue_head_t wait;
};

/* A scene: a task in a world of its own. @arg is the struct hosts. The lists end with NULL. */
typedef void (*scene_fn)(void *arg);
extern const scene_fn scenes_in_turn[];
extern const scene_fn scenes_at_once[];
extern const scene_fn scenes_of_copies[];

/* Begin a scene on newly formatted disks. */
void hosts_begin(struct hosts *h);

/*
 * Whatever has happened to the set, a machine gets it in the end, and finds everything that was
 * promised.
 */
void hosts_end(struct hosts *h);

/* -- one machine ------------------------------------------------------------------ */

struct fusion *fs_of(struct sim_dev *dev);

/* Open the set. @extra: more options, two words for each of @nr. Return: 0 or the error. */
int create_as(struct hosts *h, unsigned int host, struct sim_dev **dev, unsigned int nr,
	      const char *extra);
int open_as(struct hosts *h, unsigned int host);

/* As open_as(), of what rests: it may have something to do just then. Fails with @what. */
void open_soon(struct hosts *h, unsigned int host, const char *what);

void close_as(struct hosts *h, unsigned int host);

/* Each machine has an extent to itself. Return: 0 or the error. */
int write_as(struct hosts *h, unsigned int host, blk_opf_t opf);

/* Its slot is free then, and some other machine's first write may be given it. */
void discard_as(struct hosts *h, unsigned int host);

/* All that was promised to anybody is found by the one that has the set. */
void check_as(struct hosts *h, unsigned int host);

void wait_for_rest(struct hosts *h, unsigned int host);

/* Let it have done what it does by itself when it has time: complete extents, write the replica. */
void settle_as(struct hosts *h, unsigned int host);

/* Its timers do not run, its clock does. The mover is left in what it does. */
void stop_heart(struct fusion *fs);

/* The mover does nothing, either. */
void stop_machine(struct fusion *fs);

/* -- time and results --------------------------------------------------------------- */

u64 hosts_ms(void);

/* Sleep, and let the disks be no slower than they are: time goes on from one timer to the next. */
void hosts_nap(u64 time);

/* Fail with @what unless @r is 0, or @want. */
void must(int r, const char *what);
void must_not(int r, int want, const char *what);

/* In use elsewhere, or the disks stood still for seconds on the way, as they do here. */
bool not_now(int r);

#endif
