/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INVARIANTS_H
#define INVARIANTS_H

#include "sim.h"

/* Fails the run if the tables contradict each other. Whenever no lock is held. */
void check_invariants(const void *private);

/* Fails the run if it counts as in use while no bio of a user is under way. */
void check_at_rest(const void *private);

/* Fails the run if the levels of a struct fusion_used disagree. */
void check_used(const void *private);

/* The part of it about shadows; @taken gets the slow slots that they have. */
void check_shadows(const void *private, unsigned long **taken);

/* The part of it about the landing log. */
void check_landing(const void *private, unsigned long **taken);

/* The part of that about copies of what was read. */
void check_copies(const void *private, unsigned long **taken);

/* What is in the landing log: segments, or blocks if some still get there. */
u32 set_land_left(const void *private);
/* Segments that have a slot. */
u32 set_segments(const void *private);

/* The same, while nothing else happens, if shadows are not counted right. */
void check_shadow_counts(const void *private);

/* Of a set that has just been loaded: do the shadows that it has found have what they should? */
void check_shadows_found(const void *private);

/*
 * A fence, as it was seen last: slots that were free inside it then must be free as long as it
 * stands (INV9). Set @nr to 0 where it may have been taken down.
 */
struct fence_seen {
	u8 dev;
	u32 first;
	u32 nr;
	unsigned long empty[1024 / (8 * sizeof(long))];
};

void check_fence(const void *private, struct fence_seen *seen);

/* Slots inside the fence that are not empty; slots outside that may take in extents. */
u32 set_fence_used(const void *private);
u32 set_fence_room(const void *private);
u32 set_fence_size(const void *private);

/* Number of shadows that are current; has this extent one? */
u32 set_shadows_current(const void *private);

/* Is nothing out of date that the replica is to call current? */
bool set_shadows_settled(const void *private);
bool set_has_current_shadow(const void *private, u32 lext);

/*
 * Changes whenever a shadow goes; 0: there is none. So if it is the same twice, and not 0, there
 * was one all the time.
 */
u64 set_shadows(const void *private);

/* Is homing on? Extents that are not at home, or to get zeros; moves that it has made. */
bool set_homing(const void *private);
u32 set_away(const void *private);
u64 set_homing_moves(const void *private);

/* Fails the run if its pins contradict each other, or are more than there is room for. */
void check_pins(const void *private);

/* Whole extents that are pinned to a member and lie on the other one; free slow slots for these. */
u32 set_misplaced(const void *private, enum fusion_dev dev);
u32 set_slow_room(const void *private);

/* Extents on the old member, if it has one; and has it? */
u32 set_old_left(const void *private);
bool set_has_old(const void *private);

/* Does it take over shadows? Not if a disk was replaced, or it had to give up before. */
bool set_takes_over(const void *private);

/* Has a word of a set with this superblock of the slow member the same meaning? */
bool set_same_disks(const void *private, const struct fusion_sb *slow);

/* Extents that it has; those mapped behind the end of a set, or of a member, of geometry @sb. */
u32 set_lexts(const void *private);
u32 set_in_the_way(const void *private, const struct fusion_sb *sb);

/* Extents that are lost, as a whole or in part, are counted, and there may be some. */
void check_lost_extents(const void *private);

/* Extents of which some blocks are lost; as many as there may be; and is this one? */
u32 set_partly_lost(const void *private);
u32 set_most_lost(const void *private);
bool set_is_partly_lost(const void *private, u32 lext);

/* Its epoch: that of its superblocks, while it is open. */
u32 set_epoch(const void *private);

/* Is the set in mode rw? */
bool set_writable(const void *private);

/* Where the set has an extent, as a word on disk; the bitmap if it is open. */
u32 set_word(const void *private, u32 lext);
const void *set_bitmap(const void *private, u32 lext);

/* The slots of a member end here; may no extent get this slow one? */
u32 set_slot_end(const void *private, enum fusion_dev dev);
bool set_slot_taken(const void *private, u32 slot);

/* Does it say of the replica that it durably knows where this extent is now? */
bool set_replica_knows(const void *private, u32 lext);

/*
 * What it says would be left without the fast member: so many of its extents, of which nothing is
 * missing that was written before that second; 0: nothing, or in the midst of a change.
 */
struct told {
	u32 protected;
	u64 second;
};

struct told set_told(const void *private);

/* What the set keeps: a half-life, and a number in its name; 0 for one that was never changed. */
struct kept {
	u32 half_life;
	u32 label;
};

/* Fails the run if the half-life is not in effect. */
struct kept set_kept(const void *private);
/* The number in a name of a set, 0 if it has none. */
u32 label_number(const char *label);

/* Let it write the replica now. */
void set_update_replica(void *private);

#endif
