/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The promise of a disk with a volatile cache: which contents each sector may have, now and after a
 * power cut.
 *
 * Time is a count of events. A change k of a sector is overwritten for certain by a later
 * one j if j was issued when k had completed; changes that overlap in time are in no order.
 * What a read may find: any change that no completed one has overwritten for certain. What a
 * cut may leave: any change that no durable one has, durable being what had completed when a
 * flush was issued that was acknowledged, and what was acknowledged with FUA.
 */
#ifndef MODEL_H
#define MODEL_H

#include <linux/types.h>

struct model;

/* In the place of content: the sector is lost, and a read of it fails. */
#define MODEL_LOST	U64_MAX

enum change {
	CHANGE_WRITE,
	CHANGE_ZERO,
	CHANGE_DISCARD,		/* zeros in whole extents, else zeros or what was there */
};

struct model *model_new(u32 nr_sectors, u32 extent_sectors);
void model_free(struct model *m);

/* A change begins. Return: its number, of which the stamps of a write are made. */
u32 model_issue(struct model *m, enum change kind, u32 sector, u32 nr);
u64 model_stamp(u32 number, u32 sector);
bool model_stamp_is_of(u64 stamp, u32 sector);

/* It has ended; @ok: without an error; @durable: it was done with FUA. */
void model_complete(struct model *m, u32 number, bool ok, bool durable);

/* The time now; and all that had completed at @time has become durable. */
u64 model_time(struct model *m);
void model_flushed(struct model *m, u64 time);

/* A read begins, and ends. Return: the time. */
u64 model_read_begin(struct model *m);
void model_read_end(struct model *m);

/* May a read that began at @time find this now? Return: NULL, or what is wrong. */
const char *model_check_read(struct model *m, u64 time, u32 sector, u64 found);

/* May this be found after a cut? */
const char *model_check_cut(struct model *m, u32 sector, u64 found);

/*
 * Has power failed, and is what was found since not yet the model's content? Whatever was not
 * durable then may be gone. Return: what was known of that before. model_rebase() ends it.
 */
bool model_cut(struct model *m, bool cut);

/*
 * May this be what a sector held at the beginning of a second of the time of day, or later? Before
 * the model has learnt of a cut, but for model_cut().
 */
const char *model_check_since(struct model *m, u64 second, u32 sector, u64 found);

/*
 * Are these sectors of an extent, each of which is its own or zeros, what the extent held at some
 * time, but for changes that were lost in a cut?
 */
bool model_is_whole(const struct model *m, u32 lext, const u64 *found);

/*
 * The replica on the slow member may learn late that an extent was unmapped, and what was written
 * to it since. The extent turned out to be unmapped; the replica durably knows what was done to it
 * until now; may it not know yet?
 */
void model_unmapped(struct model *m, u32 lext);
void model_replica_knows(struct model *m, u32 lext);
bool model_replica_may_lag(const struct model *m, u32 lext);

/* From now on this is the content of all sectors, and durable. */
void model_rebase(struct model *m, const u64 *content);

/* Print what is known of a sector to the log. */
void model_explain(struct model *m, u32 sector, u64 found);

#endif
