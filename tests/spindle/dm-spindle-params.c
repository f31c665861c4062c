// SPDX-License-Identifier: GPL-2.0-only
/* spindle: the keys of the table line, their ranges and defaults. */
#include "dm-spindle.h"

#define NO SPINDLE_NO_KEY

#define KEY(key, lo, hi, hdd, consumer, ssd) {			\
	.name = #key,						\
	.offset = offsetof(struct spindle_params, key),		\
	.min = lo,						\
	.max = hi,						\
	.defaults = { hdd, consumer, ssd },			\
}

const struct spindle_key spindle_keys[SPINDLE_KEYS] = {
	/*  key               least      most      hdd consumer      ssd */
	KEY(depth,                 1,      256,      32,       7,       32),
	KEY(overhead_us,           0,  1000000,      50,      50,        9),

	KEY(rpm,                  60,    60000,    7200,    5400,       NO),
	KEY(heads,                 1,       64,       4,       4,       NO),
	KEY(seek_track_us,         0,  1000000,    1000,    1000,       NO),
	KEY(seek_full_us,          0,  1000000,   16000,   21200,       NO),
	KEY(head_switch_us,        0,  1000000,     500,     500,       NO),
	KEY(write_settle_us,       0,  1000000,    1000,    1000,       NO),
	KEY(rate,                  1,    10000,     150,     120,       NO),
	KEY(interface,             1,   100000,     300,     300,       NO),
	KEY(age_ms,                0,   100000,     410,     500,       NO),
	KEY(cache_kib,             0,  1048576,    2048,    2048,       NO),
	KEY(cache_slots,           1, SPINDLE_MAX_SLOTS,       8,       8,       NO),
	KEY(readahead,             0,  1048576,    1280,    1280,       NO),

	KEY(read_us,               0,  1000000,      NO,      NO,      102),
	KEY(write_us,              0,  1000000,      NO,      NO,       60),
	KEY(flush_us,              0, 10000000,      NO,      NO,     3000),
	KEY(channels,              1, SPINDLE_MAX_CHANNELS,      NO,      NO,        8),
	KEY(stripe_kib,            4,     1024,      NO,      NO,       16),
	KEY(read_rate,             1,   100000,      NO,      NO,      480),
	KEY(write_rate,            1,   100000,      NO,      NO,      307),
};

const char *const spindle_profile_names[SPINDLE_PROFILES] = {
	[SPINDLE_HDD] = "hdd",
	[SPINDLE_CONSUMER] = "consumer",
	[SPINDLE_SSD] = "ssd",
};

/**
 * spindle_param() - where the value of a key is kept
 * @p: the parameters
 * @key: index into spindle_keys
 *
 * Return: pointer to it, in @p.
 */
u32 *spindle_param(struct spindle_params *p, unsigned int key)
{
	return (u32 *)((char *)p + spindle_keys[key].offset);
}

/**
 * spindle_defaults() - set all parameters to a profile's
 * @p: the parameters
 * @profile: the profile
 */
void spindle_defaults(struct spindle_params *p, enum spindle_profile profile)
{
	unsigned int i;

	p->profile = profile;
	for (i = 0; i < SPINDLE_KEYS; i++)
		*spindle_param(p, i) = spindle_keys[i].defaults[profile];
}

/**
 * spindle_check() - look for parameters that contradict each other
 * @p: parameters, each within its own range
 *
 * Return: what is wrong, or NULL.
 */
const char *spindle_check(const struct spindle_params *p)
{
	if (p->profile == SPINDLE_SSD)
		return NULL;
	if (p->seek_full_us < p->seek_track_us)
		return "seek_full_us is less than seek_track_us";
	if (p->head_switch_us > p->seek_track_us)
		return "head_switch_us is more than seek_track_us";
	return NULL;
}
