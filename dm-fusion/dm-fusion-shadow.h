/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: shadows, which the slow member keeps of extents that went to the fast one. The head
 * of dm-fusion-shadow.c says what holds. fs->lock is held unless said otherwise.
 */
#ifndef DM_FUSION_SHADOW_H
#define DM_FUSION_SHADOW_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/bio.h>
#include <linux/types.h>

#include "dm-fusion-codec.h"
#include "dm-fusion-used.h"

/* A write with any of these is one of metadata. */
#define FUSION_METADATA_FLAGS	(REQ_META | REQ_PRIO | REQ_FUA)

/* What the extent of a shadow has: metadata is worth more, and most if a point needs it. */
enum fusion_shadow_kind {
	FUSION_OF_DATA,
	FUSION_OF_METADATA_READ,	/* only read so far */
	FUSION_OF_METADATA,
	FUSION_NR_KINDS,
};

struct fusion;
struct fusion_force;
struct fusion_job;

/*
 * In @slot: counted as current, until the mark of the extent is taken away; the replica on the
 * disk may name it, or will soon; and it was current at the point, or has been made since.
 */
#define FUSION_SHADOW_CURRENT	BIT(31)
#define FUSION_SHADOW_NAMED	BIT(30)
#define FUSION_SHADOW_SAME	BIT(29)
#define FUSION_SHADOW_FLAGS	(FUSION_SHADOW_CURRENT | FUSION_SHADOW_NAMED | FUSION_SHADOW_SAME)

/**
 * struct fusion_shadow - the shadow of the extent in a fast slot
 * @lext: that extent
 * @slot: its slow slot, and FUSION_SHADOW_FLAGS; 0: none, as slot 0 has a superblock
 */
struct fusion_shadow {
	u32 lext;
	u32 slot;
};

/* Most extents that a point leaves out. */
#define FUSION_LEFT_OUT	16U

/**
 * struct fusion_point - a point that is made: dm-fusion-point.c
 * @seen: a bit for each extent to which metadata was written. Set without fs->lock
 * @known: the same, and those of which some was read. Set without fs->lock
 * @meta: of these, those that the last point covers, or the one that is being made. NULL before the
 *	first one, as @pending, @gone, @bad and @jobs
 * @pending: a bit for each fast slot of an extent in @jobs that was not unmapped since then. Under
 *	fs->lock
 * @gone: a bit for each of those that has. Under fs->lock
 * @bad: a bit for each fast slot that a copy could not be read from
 * @bad_ms: ktime when the last of these was found
 * @left_out: extents that the one that is being made leaves out because of that
 * @out: these
 * @jobs: copies for it
 * @nr: number of these
 * @max: most of them
 * @since: @changed of struct fusion_shadows when the one that is being made began; 0: none is, or
 *	nothing was missing. Under fs->lock
 * @asked: the message that has asked for it, or NULL
 * @made_ms: ktime when the last one was made
 * @retry_ms: ktime before which none is tried, as the last one did not come about
 * @pause_ms: pause until then
 * @made: number so far
 * @round: last round of copies that had been completed then
 * @anew: that number at which the extents with metadata are looked for anew
 * @look_anew: they are the next time, as they were too many
 * @want: slow slots that shadows of data leave free for the next one
 */
struct fusion_point {
	unsigned long *seen;
	unsigned long *known;
	unsigned long *meta;
	unsigned long *pending;
	unsigned long *gone;
	unsigned long *bad;
	u64 bad_ms;
	u32 left_out;
	u32 out[FUSION_LEFT_OUT];
	struct fusion_job *jobs;
	u32 nr;
	u32 max;
	unsigned long since;
	const struct fusion_force *asked;
	u64 made_ms;
	u64 retry_ms;
	u32 pause_ms;
	u64 made;
	u32 round;
	u64 anew;
	bool look_anew;
	u32 want;
};

/**
 * struct fusion_pass - a pass of a round over the map: dm-fusion-refresh.c
 * @nr: 0: for metadata; 1: the first one for all
 * @cursor: the next extent
 * @before: how many extents the pass before has found
 * @found: and this one
 */
struct fusion_pass {
	u32 nr;
	u32 cursor;
	u32 before;
	u32 found;
};

/**
 * struct fusion_shadows - all of them: 8 bytes and two bits for each fast slot
 * @of: by fast slot. @of[].lext is valid while @of[].slot is not 0
 * @none: those of @of that have no slot, so that the next one that has is found in three steps
 * @unnamed: the same of those that have one, and that the replica does not name
 * @nr: number of these
 * @nr_named: of these, those that the replica may name
 * @nr_current: of these, counted as current. Changed without fs->lock
 * @nr_same: of these, those that the replica is to call current, be it durably or not
 * @nr_protected: at most as many extents as the durable replica calls a version of current, and
 *	which have not left their fast slots. Only an update that succeeds makes it more
 * @point_s: second since 1970 of the last POINT that was recorded durably; 0: none was, or the
 *	durable replica names no shadows
 * @changed: ktime in ms when one may have gone out of date that the replica calls current; 0: none
 *	has. Set without fs->lock, before the mark is taken away
 * @unsure: a write of a user has failed since the table was loaded, so the slots of an extent may
 *	differ after a power cut: dm-fusion-load-shadow.c. Set without fs->lock, before the bio
 *	leaves its epoch
 * @point: what makes them of one instant; only the mover's, except @seen and @known; others
 *	look at @meta, too
 * @next: fast slot at which the search for one to give up continues
 * @swept: fast slot at which fusion_shadow_tend() continues; only the mover's, as the next two
 * @barren: fast slots at which it has looked in vain since one was given up
 * @may_go: the last kind of which shadows are given up
 * @dropped: number that were given up so far
 * @demotions: number of demotions that copied nothing; only the mover's, as the next
 * @copies: number that were copied
 * @in_round: extents are copied: dm-fusion-refresh.c
 * @any: some were in this round
 * @pass: what passes over the map now
 * @renews: this pass, from the third on, takes what is out of date along
 * @after: the pass that goes on after one for metadata
 * @awaited: a point is to be tried when that one has ended
 * @rounds: number of rounds begun
 * @completed: number of the last one that has ended
 * @round_ms: ktime when the last round began; 0: there was none
 * @next_ms: ktime before which a round makes no copies under foreground I/O
 */
struct fusion_shadows {
	struct fusion_shadow *of;
	struct fusion_used none;
	struct fusion_used unnamed;
	u32 nr;
	u32 nr_named;
	atomic_t nr_current;
	u32 nr_same;
	u32 nr_protected;
	u64 point_s;
	unsigned long changed;
	bool unsure;
	struct fusion_point point;
	u32 next;
	u32 swept;
	u32 barren;
	enum fusion_shadow_kind may_go;
	u64 dropped;
	u64 demotions;
	u64 copies;
	bool in_round;
	bool any;
	struct fusion_pass pass;
	bool renews;
	struct fusion_pass after;
	bool awaited;
	u32 rounds;
	u32 completed;
	u64 round_ms;
	u64 next_ms;
};

/* -- dm-fusion-point-marks.c ----------------------------------------------------------------- */

int fusion_point_init(struct fusion *fs);
void fusion_point_exit(struct fusion *fs);

/* The extent with this word is unmapped: no job of a point is for it any more. fs->lock held. */
void fusion_point_forget(struct fusion *fs, u32 word);

/* Its extent has metadata: this is a write, or a read, of that. Any context. */
void fusion_point_note(struct fusion *fs, const struct bio *bio);
void fusion_metadata_note(struct fusion *fs, const struct bio *bio);

/* What was read and written in the extent since the set was opened? Any context. */
enum fusion_shadow_kind fusion_shadow_kind(const struct fusion *fs, u32 lext);

/* Has the extent metadata, so that the last point covers it, or the one that is being made? */
bool fusion_point_covers(const struct fusion *fs, u32 lext);

/* The same, or the next one will, as metadata has been written to it since. Any context. */
bool fusion_point_awaits(const struct fusion *fs, u32 lext);

/*
 * The point that is being made does not cover it. Context: the mover. Return: false if too many are
 * left out.
 */
bool fusion_point_leave_out(struct fusion *fs, u32 lext);

/*
 * Make sure of the memory that points need. Context: the mover. Return: is it there? Sets without
 * points do without.
 */
bool fusion_point_equip(struct fusion *fs);

/*
 * Choose the extents that the next point covers; from here on it is the same ones, whatever is
 * written. One to which no metadata was written for some points is left out again. Return: it was
 * looked for these, so fusion_point_chosen() is to be told whether the point was @made. Context:
 * the mover.
 */
bool fusion_point_choose(struct fusion *fs);
void fusion_point_chosen(struct fusion *fs, bool made);

/* A round of copies is over: the next point may want fewer slots. Context: the mover. */
void fusion_point_want_less(struct fusion *fs);

/* Let a point copy so many extents, if there is memory. Context: the mover; it has no jobs. */
void fusion_point_enlarge(struct fusion *fs, u32 nr);

/* -- dm-fusion-shadow.c ---------------------------------------------------------------------- */

int fusion_shadow_init(struct fusion *fs);
void fusion_shadow_exit(struct fusion *fs);

/*
 * Is the slow slot of @old to be kept as the shadow of extent @lext, which has moved to @new? Both
 * are STABLE words.
 */
bool fusion_shadow_wanted(const struct fusion *fs, u32 lext, u32 old, u32 new);

/**
 * fusion_shadow_keep() - keep a slot instead of releasing it
 * @fs: device
 * @lext: extent that has moved
 * @old: STABLE word of the slot that it has left, durably and drained
 * @new: STABLE word of the one it has come to
 *
 * Context: fs->lock held. Return: is it kept, if only as one that is out of date? Otherwise the
 * extent is not WATCHED for it either.
 */
bool fusion_shadow_keep(struct fusion *fs, u32 lext, u32 old, u32 new);

/**
 * fusion_shadow_refresh() - a copy becomes the shadow, in place of the one that is there, if any
 * @fs: device
 * @lext: the extent
 * @slow: STABLE word of the slow slot with the copy, which is durable
 * @fast: that of the extent's own slot. The extent was WATCHED, and drained, before the copy began
 *
 * Context: the mover; fs->lock held. Return: is it? If a write was faster, it is out of date.
 * Otherwise the extent may still be WATCHED.
 */
bool fusion_shadow_refresh(struct fusion *fs, u32 lext, u32 slow, u32 fast);

/* The first fast slot from @from on that has a shadow, or their number. */
static inline u32 fusion_shadow_from(const struct fusion_shadows *s, u32 from)
{
	return fusion_used_next_free(&s->none, from);
}

/* Are shadows kept now? Any context. */
bool fusion_shadow_allowed(const struct fusion *fs);

/*
 * How many slow slots are free too few, beside shadows of this kind? Each kind leaves more room
 * than the next one does, and all but the last what the next point may want. fs->lock held.
 */
u32 fusion_shadow_missing(const struct fusion *fs, enum fusion_shadow_kind kind);

/*
 * Does the extent with this word lie on the fast member, whole, and lack a current shadow? Any
 * context.
 */
bool fusion_word_lacking(const struct fusion *fs, u32 word);

/*
 * The same for a copy of a point, even if the extent was written to since that. Return: is it? The
 * extent may have gone.
 */
bool fusion_shadow_replace(struct fusion *fs, u32 lext, u32 slow, u32 fast);

/*
 * May one more slot be taken for a shadow of this kind? fs->lock held; without it, the answer may
 * be wrong by the time it is used.
 */
bool fusion_shadow_room(const struct fusion *fs, enum fusion_shadow_kind kind);

/* Has the extent with this word a shadow, current or not? And a current one, if it is WATCHED? */
bool fusion_has_shadow(const struct fusion *fs, u32 word);
bool fusion_shadow_is_current(const struct fusion *fs, u32 word);

/*
 * Take the shadow away from the extent with this word, which stays WATCHED if it was. Return:
 * STABLE word of the slow slot, which is the caller's now.
 */
u32 fusion_shadow_take(struct fusion *fs, u32 word);

/* Give up the shadow of the extent in this fast slot; there is one. */
void fusion_shadow_give_up(struct fusion *fs, u32 fast);

/* Give up the shadow of the extent that has this word, or had it, if there is one. */
void fusion_shadow_drop(struct fusion *fs, u32 word);

/**
 * fusion_shadow_record() - what the replica is to say of an extent
 * @fs: device
 * @word: the extent's
 * @names: it may name shadows
 *
 * Context: fs->lock held, and replica.mutex; the word returned goes into a map copy or the log.
 * Return: a word as on disk: that of the shadow, if the extent has one.
 */
u32 fusion_shadow_record(struct fusion *fs, u32 word, bool names);

/*
 * From now on the replica is to call those out of date that are; with @points only those of
 * extents without metadata, as the others were current at the point. Context: sleeps; takes
 * fs->lock itself; replica.mutex is held.
 */
void fusion_shadow_look(struct fusion *fs, bool points);

/**
 * fusion_shadow_recorded() - an update of the replica has succeeded: what it recorded is durable
 * @fs: device
 * @names: the replica names shadows now
 * @point_s: the update's POINT; 0: it had nothing to record, so that of an earlier one holds
 *
 * Context: replica.mutex held; takes fs->lock itself.
 */
void fusion_shadow_recorded(struct fusion *fs, bool names, u64 point_s);

/*
 * Would the slow member give back the extent with this word of the fast one? Any context, no lock:
 * it may change at any moment.
 */
bool fusion_shadow_protects(const struct fusion *fs, u32 word);

/*
 * The same of those of which metadata was read or written since the set was opened; @fast: all of
 * these on the fast member. Context: sleeps; takes no lock, so they may be some of one time and
 * some of another.
 */
u32 fusion_metadata_protected(const struct fusion *fs, u32 *fast);

/* How many extents would the slow member give back of what is on the fast one? fs->lock held. */
u32 fusion_shadow_protected(const struct fusion *fs);

/* Number of those that are current; a write under way may not be counted yet. Any context. */
u32 fusion_shadows_current(const struct fusion *fs);

/* From @ms on, a ktime, something is missing in what the replica calls current. Any context. */
void fusion_shadow_changed(struct fusion *fs, u64 ms);

/*
 * A write is about to take the mark away from the extent with the word @word. Context: as
 * fusion_shadow_outdated(), which follows if it has.
 */
void fusion_shadow_writes(struct fusion *fs, u32 word);

/*
 * A write has taken the mark of the extent away that had the word @word. Any context, no lock. The
 * caller is in the epoch in which it loaded the word: so the extent does not leave
 * the slot, and another shadow of it does not become current, before this returns (the drain).
 */
void fusion_shadow_outdated(struct fusion *fs, u32 word);

/* -- dm-fusion-shadow-room.c ----------------------------------------------------------------- */

/*
 * Give up shadows until more than @keep slow slots are free, or will be after the next update of
 * the replica, or there are no shadows left. Then slots are held that were not before, if any of
 * these is named by the replica.
 */
void fusion_shadow_yield(struct fusion *fs, u32 keep);

/* Give up those that have a slow slot from @first to @last. Sleeps; takes fs->lock itself. */
void fusion_shadow_leave(struct fusion *fs, u32 first, u32 last);

/* Give up all of them. Sleeps; takes fs->lock itself. */
void fusion_shadow_forget_all(struct fusion *fs);

/*
 * Give up those that are out of date, or too many. Context: the mover, with each tick; takes
 * fs->lock itself.
 */
void fusion_shadow_tend(struct fusion *fs);

/* -- dm-fusion-load-shadow.c ----------------------------------------------------------------- */

/**
 * fusion_load_shadows() - take over the shadows of a set that was closed cleanly
 * @fs: device that is being loaded for writing; its map is loaded and checked
 * @single: by member, of its superblocks: one copy is not valid, or not of the generation before
 *
 * Not an error if there are none: it takes over all that are current, or nothing. Context: sleeps;
 * reads the slow member; nothing else runs, so fs->lock is not needed.
 */
void fusion_load_shadows(struct fusion *fs, const bool single[FUSION_NR_DEVS]);

/* -- dm-fusion-refresh.c --------------------------------------------------------------------- */

/*
 * Copy some extents that lack a current shadow, if a round is due or under way, and copies need not
 * pause for foreground I/O. Context: the mover. Return: is there more to do now?
 */
bool fusion_refresh(struct fusion *fs);

/*
 * A point has failed, as fusion_point_premature(): let the round, if there is one, pass over
 * metadata before it goes on. The first time in a row, the point is tried again then. Context: the
 * mover.
 */
void fusion_refresh_metadata(struct fusion *fs);

/* -- dm-fusion-point-lacking.c --------------------------------------------------------------- */

/* Pause after a point that did not come about. */
#define FUSION_POINT_RETRY_MS	5000U

/*
 * The number of extents on the fast member that the point is to cover, and that have neither a
 * current shadow nor a copy. From here on these include all to which metadata was written by now.
 * Context: the mover.
 */
u32 fusion_point_lacking(struct fusion *fs);

/* Have many of them no shadow at all? Then rounds go first. Context: the mover. */
bool fusion_point_premature(const struct fusion *fs);

/*
 * How many slots this point needs, so the next one may as well. If they are not there, shadows of
 * data go until then (dm-fusion-shadow-room.c). Context: the mover.
 */
void fusion_point_want(struct fusion *fs);

/*
 * A fast slot cannot be read: could it not be read FUSION_POINT_RETRY_MS ago either? Context: the
 * mover.
 */
bool fusion_point_bad_for_long(struct fusion *fs, u32 fast);

/*
 * Partial extents cannot be copied: complete those that the point is to cover, without those that
 * have lost blocks. Context: the mover. Return: false if that failed.
 */
bool fusion_point_fill(struct fusion *fs);

/* -- dm-fusion-point.c ----------------------------------------------------------------------- */

/* Is a point due? */
bool fusion_point_due(const struct fusion *fs);

/* Make a point, if one is due. Context: the mover. Return: was it tried? */
bool fusion_point(struct fusion *fs);

/*
 * Make a point, due or not, as @force asks. Context: the mover. Return: 0: made, or nothing has
 * changed; -EINVAL: the settings allow none; -EAGAIN: it did not come about.
 */
int fusion_point_now(struct fusion *fs, const struct fusion_force *force);

#endif
