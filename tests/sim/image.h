/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets as they are found when they are to be opened, for what goes wrong then. */
#ifndef IMAGE_H
#define IMAGE_H

#include "run.h"

/* Both members, and what has to be read there: a stamp for each sector. */
struct image {
	struct sim_disk *disk[SIM_NR_DISKS];
	u64 *content;
};

/* A set's life, of three activations. All belongs to the world it was lived in. */
struct life {
	const struct setup *setup;
	u32 nr_sectors;
	struct image older;	/* closed, two activations ago */
	struct image closed;
	struct image earlier;	/* in the activation of @cut */
	struct image cut;	/* by power, behind a flush */
	u64 *before;		/* content of @cut without what the last transaction says */
	bool *discarded;	/* extents that were, at any time */
};

/* Live it, in this world. */
struct life *image_life(const struct setup *setup);

/* Begin a world in this one, with members that share what they hold with @image. */
void image_enter(const struct image *image);
void image_leave(void);

/*
 * Context of these: a task. Open the world's set. Return: 0 or the error of constructor or resume;
 * then nothing is left.
 */
int image_open(const struct setup *setup, struct sim_dev **dev, bool read_only);

/* Read all of it. Fails unless that is @content, or, if not NULL, @other. */
void image_check(const struct life *life, struct sim_dev *dev, const u64 *content,
		 const u64 *other, const char *what);

/* The newest superblock of a member. */
void image_super(const struct image *image, enum fusion_dev dev, struct fusion_sb *sb);

/* damage.c: what may be damaged is, each in turn. */
void damage_all(const struct life *life, struct opening *o);

/* taken-over.c: what a close has left of shadows is right, or is not; on new members. */
void taken_over_all(const struct setup *setup);

/* unsure.c: a write has failed, and then the set was closed with shadows; on members of its own. */
void unsure_all(const struct setup *setup);

/* stopped.c: a write fails, perhaps of an opening, and then the set is opened; as above. */
void stopped_all(const struct setup *setup);

/* again.c: a recovery is cut short, again and again in the same place. */
void again_all(const struct life *life, struct opening *o);
void again_landed(const struct life *life, struct opening *o);

#endif
