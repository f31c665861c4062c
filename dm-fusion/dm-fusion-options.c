// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the options of the table line and of messages.
 */
#include <linux/kstrtox.h>
#include <linux/string.h>

#include "dm-fusion.h"

static const struct fusion_options default_options = {
	.migration = true,
	.discard_passdown = true,
	.duty = 25,
	.idle = 1000,
	.commit_interval = 1000,
	.replica_interval = 60,
};

static int parse_bool(const char *value, bool *result)
{
	if (!strcmp(value, "on"))
		WRITE_ONCE(*result, true);
	else if (!strcmp(value, "off"))
		WRITE_ONCE(*result, false);
	else
		return -EINVAL;
	return 0;
}

static int parse_u32(const char *value, u32 min, u32 max, u32 *result)
{
	u32 n;

	if (kstrtou32(value, 10, &n) || n < min || n > max)
		return -EINVAL;
	WRITE_ONCE(*result, n);
	return 0;
}

int fusion_set_option(struct fusion *fs, const char *key, const char *value)
{
	struct fusion_options *opt = &fs->opt;
	int r;

	if (!strcmp(key, "migration"))
		return parse_bool(value, &opt->migration);
	if (!strcmp(key, "discard_passdown"))
		return parse_bool(value, &opt->discard_passdown);
	if (!strcmp(key, "reserve"))
		return parse_u32(value, 0, fs->sb.nr_fast_slots / 2, &opt->reserve);
	if (!strcmp(key, "duty"))
		return parse_u32(value, 1, 100, &opt->duty);
	if (!strcmp(key, "idle"))
		return parse_u32(value, 0, 60000, &opt->idle);
	if (!strcmp(key, "commit_interval"))
		return parse_u32(value, 10, 60000, &opt->commit_interval);
	if (!strcmp(key, "replica_interval"))
		return parse_u32(value, 1, 86400, &opt->replica_interval);
	if (!strcmp(key, "standby"))
		return parse_u32(value, 0, 86400, &opt->standby);
	if (!strcmp(key, "write_budget"))
		return parse_u32(value, 0, 100000, &opt->write_budget);
	if (!strcmp(key, "half_life")) {
		r = parse_u32(value, 0, 604800, &opt->half_life);
		if (!r && fs->policy)
			WRITE_ONCE(fs->half_life_changed, 1);
		return r;
	}
	return -ENOENT;
}

int fusion_parse_options(struct fusion *fs, struct dm_arg_set *as, char **error)
{
	static const struct dm_arg args[] = {
		{ 0, 64, "Invalid number of optional arguments" },
	};
	unsigned int argc;
	int r;

	fs->opt = default_options;
	if (!as->argc)
		return 0;
	r = dm_read_arg_group(args, as, &argc, error);
	if (r)
		return r;
	if (argc & 1) {
		*error = "Optional arguments must be pairs of key and value";
		return -EINVAL;
	}
	while (argc) {
		const char *key = dm_shift_arg(as);
		const char *value = dm_shift_arg(as);

		argc -= 2;
		r = fusion_set_option(fs, key, value);
		if (r) {
			*error = r == -ENOENT ? "Unknown optional argument" :
						"Invalid value of an optional argument";
			DMERR("%s: %s %s", *error, key, value);
			return -EINVAL;
		}
	}
	if (as->argc) {
		*error = "Too many arguments";
		return -EINVAL;
	}
	return 0;
}

unsigned int fusion_emit_options(const struct fusion *fs, bool all, char *result,
				 unsigned int maxlen)
{
	const struct fusion_options *opt = &fs->opt, *def = &default_options;
	const struct {
		const char *key;
		bool is_bool;
		u32 value;
		u32 def;
	} list[] = {
		{ "migration", true, opt->migration, def->migration },
		{ "reserve", false, opt->reserve, def->reserve },
		{ "half_life", false, opt->half_life, def->half_life },
		{ "duty", false, opt->duty, def->duty },
		{ "idle", false, opt->idle, def->idle },
		{ "commit_interval", false, opt->commit_interval, def->commit_interval },
		{ "replica_interval", false, opt->replica_interval, def->replica_interval },
		{ "discard_passdown", true, opt->discard_passdown, def->discard_passdown },
		{ "standby", false, opt->standby, def->standby },
		{ "write_budget", false, opt->write_budget, def->write_budget },
	};
	unsigned int i, n = 0, sz = 0;

	for (i = 0; i < ARRAY_SIZE(list); i++)
		n += all || list[i].value != list[i].def;
	if (!n && !all)
		return 0;

	DMEMIT(" %u", 2 * n);
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		if (!all && list[i].value == list[i].def)
			continue;
		if (list[i].is_bool)
			DMEMIT(" %s %s", list[i].key, list[i].value ? "on" : "off");
		else
			DMEMIT(" %s %u", list[i].key, list[i].value);
	}
	return sz;
}
