/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: the settings of a set, and what its superblocks keep.
 *
 * This is the only list of them. The table line and messages of the module, the superblocks,
 * fusionctl and its help use it. tests/unit/test-set.c fails if a manual page disagrees.
 *
 * Shared with userspace. Pure: no allocation, no locks, no global state.
 */
#ifndef DM_FUSION_SETTINGS_H
#define DM_FUSION_SETTINGS_H

#include <linux/bits.h>
#include <linux/string.h>

#include "dm-fusion-codec.h"

/* On disk these are bits of a mask and indices, so a number is never reused. */
enum fusion_setting {
	FUSION_SET_MIGRATION		= 0,
	FUSION_SET_RESERVE		= 1,
	FUSION_SET_HALF_LIFE		= 2,
	FUSION_SET_DUTY			= 3,
	FUSION_SET_IDLE			= 4,
	FUSION_SET_COMMIT_INTERVAL	= 5,
	FUSION_SET_REPLICA_INTERVAL	= 6,
	FUSION_SET_DISCARD_PASSDOWN	= 7,
	FUSION_SET_STANDBY		= 8,
	FUSION_SET_WRITE_BUDGET		= 9,
	FUSION_SET_SHADOW		= 10,
	FUSION_SET_SHADOW_AGE		= 11,
	FUSION_SETTINGS
};

enum fusion_unit {
	FUSION_UNIT_SWITCH,		/* 0: off, 1: on */
	FUSION_UNIT_EXTENTS,
	FUSION_UNIT_PERCENT,
	FUSION_UNIT_SECONDS,
	FUSION_UNIT_MILLISECONDS,
	FUSION_UNIT_GB_A_DAY,		/* 10^9 bytes */
};

/**
 * struct fusion_setting_info - a setting
 * @key: its name
 * @unit: unit of its values
 * @min: least value
 * @max: greatest value; for FUSION_UNIT_EXTENTS see fusion_setting_max()
 * @def: default value
 * @zero: meaning of 0, if it is not an ordinary value
 * @help: its purpose, in one line
 */
struct fusion_setting_info {
	const char *key;
	enum fusion_unit unit;
	u32 min;
	u32 max;
	u32 def;
	const char *zero;
	const char *help;
};

static const struct fusion_setting_info fusion_settings[FUSION_SETTINGS] = {
	[FUSION_SET_MIGRATION] = {
		"migration", FUSION_UNIT_SWITCH, 0, 1, 1, NULL,
		"promote hot extents, demote cold ones" },
	[FUSION_SET_RESERVE] = {
		"reserve", FUSION_UNIT_EXTENTS, 0, 0xffffffff, 0, "automatic",
		"free room on the fast member for new writes" },
	[FUSION_SET_HALF_LIFE] = {
		"half_life", FUSION_UNIT_SECONDS, 0, 604800, 0, "automatic",
		"time after which an access counts half" },
	[FUSION_SET_DUTY] = {
		"duty", FUSION_UNIT_PERCENT, 1, 100, 25, NULL,
		"share of the slow member's time for moves under load" },
	[FUSION_SET_IDLE] = {
		"idle", FUSION_UNIT_MILLISECONDS, 0, 60000, 1000, NULL,
		"time without I/O before moves run at full speed" },
	[FUSION_SET_COMMIT_INTERVAL] = {
		"commit_interval", FUSION_UNIT_MILLISECONDS, 10, 60000, 1000, NULL,
		"longest time until map changes are committed" },
	[FUSION_SET_REPLICA_INTERVAL] = {
		"replica_interval", FUSION_UNIT_SECONDS, 1, 86400, 60, NULL,
		"longest time that the replica may be behind" },
	[FUSION_SET_DISCARD_PASSDOWN] = {
		"discard_passdown", FUSION_UNIT_SWITCH, 0, 1, 1, NULL,
		"pass discards on to the members" },
	[FUSION_SET_STANDBY] = {
		"standby", FUSION_UNIT_SECONDS, 0, 86400, 0, "never",
		"idle time after which the slow member may rest" },
	[FUSION_SET_WRITE_BUDGET] = {
		"write_budget", FUSION_UNIT_GB_A_DAY, 0, 100000, 0, "unlimited",
		"most data that promotions may write to the fast member" },
	[FUSION_SET_SHADOW] = {
		"shadow", FUSION_UNIT_SWITCH, 0, 1, 1, NULL,
		"keep copies on the slow member of what is on the fast one" },
	[FUSION_SET_SHADOW_AGE] = {
		"shadow_age", FUSION_UNIT_SECONDS, 0, 86400, 0, "never",
		"time between two copies, when idle, of what was written to the fast member" },
};

/* Greatest value in a set whose fast member has @nr_fast_slots slots. */
static inline u32 fusion_setting_max(enum fusion_setting s, u32 nr_fast_slots)
{
	return fusion_settings[s].unit == FUSION_UNIT_EXTENTS ? nr_fast_slots / 2 :
								fusion_settings[s].max;
}

static inline bool fusion_setting_valid(enum fusion_setting s, u32 value, u32 nr_fast_slots)
{
	return value >= fusion_settings[s].min && value <= fusion_setting_max(s, nr_fast_slots);
}

/* Return: enum fusion_setting, or -1 if there is no such key. */
static inline int fusion_setting_find(const char *key)
{
	int s;

	for (s = 0; s < FUSION_SETTINGS; s++)
		if (!strcmp(fusion_settings[s].key, key))
			return s;
	return -1;
}

/* -- settings that a superblock keeps --------------------------------------------- */

/* Bits of the mask that this code knows. Other bits are kept, but have no effect. */
#define FUSION_SETTINGS_KNOWN	(BIT(FUSION_SETTINGS) - 1)

/* Return: whether @sb keeps the setting. One whose value is out of range has no effect either. */
static inline bool fusion_sb_setting(const struct fusion_sb *sb, enum fusion_setting s, u32 *value)
{
	*value = sb->setting[s];
	return (sb->settings_mask & BIT(s)) && fusion_setting_valid(s, *value, sb->nr_fast_slots);
}

/* Keep the setting with @value, or no longer keep it. */
static inline void fusion_sb_keep(struct fusion_sb *sb, enum fusion_setting s, bool keep, u32 value)
{
	sb->settings_mask &= ~BIT(s);
	if (keep)
		sb->settings_mask |= BIT(s);
	sb->setting[s] = keep ? value : 0;
}

/* Drop the settings whose values are out of range, and so have no effect. */
static inline void fusion_sb_drop_bad_settings(struct fusion_sb *sb)
{
	u32 value;
	int s;

	for (s = 0; s < FUSION_SETTINGS; s++)
		if (!fusion_sb_setting(sb, s, &value))
			fusion_sb_keep(sb, s, false, 0);
}

/* What users may change in the superblocks: settings, and the name of the set. */
static inline bool fusion_sb_same_kept(const struct fusion_sb *a, const struct fusion_sb *b)
{
	return a->settings_mask == b->settings_mask &&
	       !memcmp(a->setting, b->setting, sizeof(a->setting)) && !strcmp(a->label, b->label);
}

static inline void fusion_sb_copy_kept(const struct fusion_sb *from, struct fusion_sb *to)
{
	to->settings_mask = from->settings_mask;
	memcpy(to->setting, from->setting, sizeof(to->setting));
	memcpy(to->label, from->label, sizeof(to->label));
}

#endif
