// SPDX-License-Identifier: GPL-2.0-only
/* The optional arguments of a table line; dm-spindle-target.c describes them. */
#include <linux/kernel.h>
#include <linux/string.h>

#include "dm-spindle-target.h"

#define DM_MSG_PREFIX "spindle"

static int parse_profile(struct spindle *s, struct dm_arg_set *as, char **error)
{
	enum spindle_profile profile = SPINDLE_HDD;
	unsigned int i;
	int p;

	for (i = 0; i + 1 < as->argc; i += 2) {
		if (strcasecmp(as->argv[i], "profile"))
			continue;
		p = match_string(spindle_profile_names, SPINDLE_PROFILES, as->argv[i + 1]);
		if (p < 0) {
			*error = "profile must be hdd, consumer or ssd";
			return -EINVAL;
		}
		profile = p;
		s->set |= SET_PROFILE;
	}
	spindle_defaults(&s->drive.p, profile);
	return 0;
}

static int parse_key(struct spindle *s, const char *name, const char *value)
{
	struct spindle_params *p = &s->drive.p;
	const struct spindle_key *key;
	unsigned int i;
	u32 number;

	for (i = 0; i < SPINDLE_KEYS; i++)
		if (!strcasecmp(name, spindle_keys[i].name))
			break;
	key = &spindle_keys[i];
	if (i == SPINDLE_KEYS || key->defaults[p->profile] == SPINDLE_NO_KEY) {
		DMERR("profile %s has no key %s", spindle_profile_names[p->profile], name);
		return -EINVAL;
	}
	if (kstrtou32(value, 10, &number) || number < key->min || number > key->max) {
		DMERR("%s must be a number from %u to %u", name, key->min, key->max);
		return -EINVAL;
	}
	*spindle_param(p, i) = number;
	s->set |= BIT(i);
	return 0;
}

int spindle_options(struct spindle *s, struct dm_arg_set *as, char **error)
{
	static const struct dm_arg count = {
		0, 2 * (SPINDLE_KEYS + 1), "Invalid number of optional arguments"
	};
	const char *name, *contradiction;
	unsigned int argc = 0;
	int r;

	if (as->argc) {
		r = dm_read_arg_group(&count, as, &argc, error);
		if (r)
			return r;
	}
	if (argc % 2 || argc != as->argc) {
		*error = "Optional arguments must be as many as announced, and pairs";
		return -EINVAL;
	}

	r = parse_profile(s, as, error);
	while (!r && as->argc) {
		name = dm_shift_arg(as);
		if (strcasecmp(name, "profile"))
			r = parse_key(s, name, dm_shift_arg(as));
		else
			dm_consume_args(as, 1);
		if (r)
			*error = "Invalid optional argument";
	}
	if (r)
		return r;

	contradiction = spindle_check(&s->drive.p);
	if (contradiction) {
		*error = (char *)contradiction;
		return -EINVAL;
	}
	return 0;
}
