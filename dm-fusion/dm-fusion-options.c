// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: settings from the table line, from messages and from the superblocks; the set's name.
 *
 * The fast member's superblock has the settings that the set keeps. An activation uses them, except
 * those that its table line gives. The message "keep" changes both the settings in effect and
 * fs->kept, which goes into each superblock written from then on. It waits until the committer has
 * written the superblock of the fast member. That of the slow member follows when it is written for
 * another reason: it is not used while the fast member is there. The message "label" changes the
 * name of the set in the same way; the next update of the replica writes it to the slow member. The
 * module itself has no use for a name.
 */
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/string.h>
#ifdef __has_include		/* sparse has none */
#if __has_include("linux/hex.h")
#include <linux/hex.h>		/* hex2bin(), which linux/kernel.h had before */
#endif
#endif

#include "dm-fusion.h"
#include "dm-fusion-settings.h"

/* -- what is in effect ------------------------------------------------------------------ */

/* Offset of the value of each setting. */
static const size_t places[FUSION_SETTINGS] = {
	[FUSION_SET_MIGRATION] = offsetof(struct fusion_options, migration),
	[FUSION_SET_RESERVE] = offsetof(struct fusion_options, reserve),
	[FUSION_SET_HALF_LIFE] = offsetof(struct fusion_options, half_life),
	[FUSION_SET_DUTY] = offsetof(struct fusion_options, duty),
	[FUSION_SET_IDLE] = offsetof(struct fusion_options, idle),
	[FUSION_SET_COMMIT_INTERVAL] = offsetof(struct fusion_options, commit_interval),
	[FUSION_SET_REPLICA_INTERVAL] = offsetof(struct fusion_options, replica_interval),
	[FUSION_SET_DISCARD_PASSDOWN] = offsetof(struct fusion_options, discard_passdown),
	[FUSION_SET_SHADOW] = offsetof(struct fusion_options, shadow),
	[FUSION_SET_SHADOW_AGE] = offsetof(struct fusion_options, shadow_age),
	[FUSION_SET_STANDBY] = offsetof(struct fusion_options, standby),
	[FUSION_SET_WRITE_BUDGET] = offsetof(struct fusion_options, write_budget),
};

static u32 *fusion_setting_place(struct fusion *fs, enum fusion_setting s)
{
	return (void *)&fs->opt + places[s];
}

static u32 fusion_setting_get(const struct fusion *fs, enum fusion_setting s)
{
	return READ_ONCE(*(const u32 *)((const void *)&fs->opt + places[s]));
}

static void fusion_setting_set(struct fusion *fs, enum fusion_setting s, u32 value)
{
	WRITE_ONCE(*fusion_setting_place(fs, s), value);
	if (s == FUSION_SET_HALF_LIFE && fs->policy)
		WRITE_ONCE(fs->half_life_changed, 1);
}

static int fusion_parse_switch(const char *text, u32 *value)
{
	*value = !strcmp(text, "on");
	return *value || !strcmp(text, "off") ? 0 : -EINVAL;
}

/* -- what the set keeps ---------------------------------------------------------------- */

/* Of a set with a landing log there are no points: it would lack what is only in the log. */
static bool fusion_setting_excluded(const struct fusion *fs, enum fusion_setting s)
{
	return s == FUSION_SET_SHADOW_AGE && fs->sb.incompat & FUSION_INCOMPAT_LANDING;
}

/* The value of a setting that no table line gives: kept or default. fs->lock held. */
static u32 fusion_setting_base(const struct fusion *fs, enum fusion_setting s)
{
	if (fusion_setting_excluded(fs, s))
		return fusion_settings[s].def;
	return fs->kept.mask & BIT(s) ? fs->kept.value[s] : fusion_settings[s].def;
}

void fusion_load_settings(struct fusion *fs, bool tell)
{
	const struct fusion_sb *sb = &fs->sb;
	enum fusion_setting s;
	u32 bad = 0, value;

	spin_lock_irq(&fs->lock);
	fs->kept.mask = sb->settings_mask;
	memcpy(fs->kept.value, sb->setting, sizeof(fs->kept.value));
	memcpy(fs->kept.label, sb->label, sizeof(fs->kept.label));
	for (s = 0; s < FUSION_SETTINGS; s++) {
		if (!fusion_sb_setting(sb, s, &value)) {
			bad |= fs->kept.mask & BIT(s);
			fs->kept.mask &= ~BIT(s);
		}
		if (!(fs->opt_table & BIT(s)))
			fusion_setting_set(fs, s, fusion_setting_base(fs, s));
	}
	spin_unlock_irq(&fs->lock);
	for (s = 0; tell && s < FUSION_SETTINGS; s++)
		if (bad & BIT(s))
			DMWARN("%s: the set keeps %s %u, which is out of range: ignored",
			       dm_table_device_name(fs->ti->table), fusion_settings[s].key,
			       sb->setting[s]);
}

void fusion_take_kept(struct fusion *fs, struct fusion_sb *sb)
{
	spin_lock_irq(&fs->lock);
	sb->settings_mask = fs->kept.mask;
	memcpy(sb->setting, fs->kept.value, sizeof(sb->setting));
	memcpy(sb->label, fs->kept.label, sizeof(sb->label));
	spin_unlock_irq(&fs->lock);
}

/*
 * fs->kept has changed: ask for a superblock. fs->lock held, and in the same critical section
 * fs->commit.closed was false: the checkpoint that closes the set serves all earlier requests, and
 * the committer does not run after it. Return: what fusion_keep_wait() waits for.
 */
static u64 fusion_keep_ask(struct fusion *fs)
{
	fusion_commit_kick(fs);
	return ++fs->commit.keep_wanted;
}

/* Wait for that superblock. Return: 0, or -EIO: mode RW has ended. */
static int fusion_keep_wait(struct fusion *fs, u64 mine)
{
	wait_event(fs->commit.wait, READ_ONCE(fs->commit.keep_done) >= mine);
	return fusion_mode(fs) == FUSION_RW ? 0 : -EIO;
}

/* -- parsing ------------------------------------------------------------------------------ */

/* Changes of settings, with their new values. */
struct changes {
	u32 mask;
	u32 defaults;		/* those given as "default" */
	u32 value[FUSION_SETTINGS];
};

/* Return: 0; -ENOENT: unknown key; -EINVAL: value not allowed. */
static int fusion_setting_parse(const struct fusion *fs, const char *key, const char *text,
				struct changes *c)
{
	int s = fusion_setting_find(key), r;
	u32 value;

	if (s < 0)
		return -ENOENT;
	r = fusion_settings[s].unit == FUSION_UNIT_SWITCH ? fusion_parse_switch(text, &value) :
							    kstrtou32(text, 10, &value);
	if (r || !fusion_setting_valid(s, value, fs->sb.nr_fast_slots))
		return -EINVAL;
	if (value != fusion_settings[s].def && fusion_setting_excluded(fs, s)) {
		DMERR("%s: a set with a landing log makes no copies for that; leave it at %u", key,
		      fusion_settings[s].def);
		return -EINVAL;
	}
	c->mask |= BIT(s);
	c->defaults &= ~BIT(s);
	c->value[s] = value;
	return 0;
}

/* A message may also give "default". */
static int fusion_setting_parse_change(const struct fusion *fs, const char *key, const char *text,
				       struct changes *c)
{
	int s = fusion_setting_find(key);

	if (s < 0 || strcmp(text, "default"))
		return fusion_setting_parse(fs, key, text, c);
	c->mask |= BIT(s);
	c->defaults |= BIT(s);
	c->value[s] = fusion_settings[s].def;
	return 0;
}

/* Apply the changes; they replace values of the table line. fs->lock held. */
static void fusion_settings_apply(struct fusion *fs, const struct changes *c, bool keep)
{
	enum fusion_setting s;

	for (s = 0; s < FUSION_SETTINGS; s++) {
		if (!(c->mask & BIT(s)))
			continue;
		fusion_setting_set(fs, s, c->value[s]);
		if (!keep)
			continue;
		fs->kept.mask &= ~BIT(s);
		fs->kept.value[s] = 0;
		if (c->defaults & BIT(s))
			continue;
		fs->kept.mask |= BIT(s);
		fs->kept.value[s] = c->value[s];
	}
	fs->opt_table &= ~c->mask;
	if (c->mask & BIT(FUSION_SET_DISCARD_PASSDOWN))
		fusion_discard_kick(fs);
}

int fusion_change_settings(struct fusion *fs, unsigned int argc, char **argv, bool keep)
{
	struct changes c = { };
	unsigned int i;
	u64 mine = 0;
	int r;

	for (i = 0; i < argc; i += 2) {
		r = fusion_setting_parse_change(fs, argv[i], argv[i + 1], &c);
		if (r == -ENOENT && !i && !keep)
			return r;
		if (r) {
			DMERR("message: %s %s: %s", argv[i], argv[i + 1],
			      r == -ENOENT ? "no such setting" : "value out of range");
			return -EINVAL;
		}
	}

	spin_lock_irq(&fs->lock);
	if (keep && fs->commit.closed) {
		spin_unlock_irq(&fs->lock);
		return -EAGAIN;
	}
	fusion_settings_apply(fs, &c, keep);
	if (keep)
		mine = fusion_keep_ask(fs);
	spin_unlock_irq(&fs->lock);
	return keep ? fusion_keep_wait(fs, mine) : 0;
}

/* Printable ASCII without blanks, no slash: other names would be hard to type, or not a file's. */
static bool fusion_label_valid(const char *label)
{
	size_t n = 0;

	while (label[n] > ' ' && label[n] < 0x7f && label[n] != '/')
		n++;
	return n && n <= FUSION_LABEL_SIZE && !label[n];
}

int fusion_change_label(struct fusion *fs, const char *label)
{
	u64 mine;

	if (!fusion_label_valid(label)) {
		DMERR("message: label: not a name of 1 to %d printable characters without /",
		      FUSION_LABEL_SIZE);
		return -EINVAL;
	}
	spin_lock_irq(&fs->lock);
	if (fs->commit.closed) {
		spin_unlock_irq(&fs->lock);
		return -EAGAIN;
	}
	memset(fs->kept.label, 0, sizeof(fs->kept.label));
	memcpy(fs->kept.label, label, strlen(label));
	mine = fusion_keep_ask(fs);
	spin_unlock_irq(&fs->lock);
	return fusion_keep_wait(fs, mine);
}

/* Parse arguments that are not settings. Return: as fusion_setting_parse(). */
static int fusion_parse_other(struct fusion *fs, const char *key, const char *text)
{
	bool *flag;
	u32 on;

	if (!strcmp(key, "host")) {
		const size_t size = sizeof(fs->heart.host_id);

		fs->heart.host_given = true;
		return strlen(text) == 2 * size && !hex2bin(fs->heart.host_id, text, size) &&
		       memchr_inv(fs->heart.host_id, 0, size) ? 0 : -EINVAL;
	}
	if (!strcmp(key, "fast_sectors") || !strcmp(key, "slow_sectors")) {
		u64 *sectors = &fs->resize_sectors[*key == 'f' ? FUSION_FAST : FUSION_SLOW];

		return kstrtou64(text, 10, sectors) || !*sectors ? -EINVAL : 0;
	}
	/* fusion_create() has opened it */
	if (!strcmp(key, "old_fast") || !strcmp(key, "old_slow"))
		return 0;
	flag = !strcmp(key, "takeover") ? &fs->heart.insist :
	       !strcmp(key, "resize") ? &fs->resize : NULL;
	if (!flag)
		return -ENOENT;
	if (fusion_parse_switch(text, &on))
		return -EINVAL;
	*flag = on;
	return 0;
}

int fusion_parse_options(struct fusion *fs, struct dm_arg_set *as, char **error)
{
	static const struct dm_arg args[] = {
		{ 0, 64, "Invalid number of optional arguments" },
	};
	struct changes c = { };
	unsigned int argc = 0;
	int r;

	if (as->argc) {
		r = dm_read_arg_group(args, as, &argc, error);
		if (r)
			return r;
	}
	if (argc & 1) {
		*error = "Optional arguments must be pairs of key and value";
		return -EINVAL;
	}
	for (; argc; argc -= 2) {
		const char *key = dm_shift_arg(as);
		const char *value = dm_shift_arg(as);

		r = fusion_parse_other(fs, key, value);
		if (r == -ENOENT)
			r = fusion_setting_parse(fs, key, value, &c);
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

	fusion_load_settings(fs, false);
	spin_lock_irq(&fs->lock);
	fusion_settings_apply(fs, &c, false);
	fs->opt_table = c.mask;
	spin_unlock_irq(&fs->lock);
	return 0;
}

/* -- printing ----------------------------------------------------------------------------- */

static unsigned int fusion_emit_value(enum fusion_setting s, u32 value, char *result,
				      unsigned int maxlen)
{
	unsigned int sz = 0;

	if (fusion_settings[s].unit == FUSION_UNIT_SWITCH)
		DMEMIT(" %s", value ? "on" : "off");
	else
		DMEMIT(" %u", value);
	return sz;
}

/* A consistent copy of the values, and of those they are compared with. */
struct view {
	u32 value[FUSION_SETTINGS];
	u32 base[FUSION_SETTINGS];
	u32 kept;
	u32 table;
};

static void fusion_settings_look(struct fusion *fs, struct view *v)
{
	enum fusion_setting s;

	spin_lock_irq(&fs->lock);
	for (s = 0; s < FUSION_SETTINGS; s++) {
		v->value[s] = fusion_setting_get(fs, s);
		v->base[s] = fusion_setting_base(fs, s);
	}
	v->kept = fs->kept.mask;
	v->table = fs->opt_table;
	spin_unlock_irq(&fs->lock);
}

unsigned int fusion_emit_options(struct fusion *fs, bool all, char *result, unsigned int maxlen)
{
	unsigned int n = 0, sz = 0;
	enum fusion_setting s;
	struct view v;
	bool host, old;

	fusion_settings_look(fs, &v);
	for (s = 0; s < FUSION_SETTINGS; s++)
		n += all || v.value[s] != v.base[s];
	/* Only in the table line, as they are no settings. */
	host = !all && fs->heart.host_given;
	old = !all && fs->dev[FUSION_OLD];
	if (!n && !host && !old && !all)
		return 0;

	DMEMIT(" %u", 2 * (n + host + old));
	if (old)
		DMEMIT(" old_%s %s", fs->old.dev == FUSION_FAST ? "fast" : "slow",
		       fs->dev[FUSION_OLD]->name);
	if (host)
		DMEMIT(" host %*phN", (int)sizeof(fs->heart.host_id), fs->heart.host_id);
	for (s = 0; s < FUSION_SETTINGS; s++) {
		if (!all && v.value[s] == v.base[s])
			continue;
		DMEMIT(" %s", fusion_settings[s].key);
		if (sz < maxlen)
			sz += fusion_emit_value(s, v.value[s], result + sz, maxlen - sz);
	}
	return sz;
}

int fusion_message_settings(struct fusion *fs, char *result, unsigned int maxlen)
{
	enum fusion_setting s;
	unsigned int sz = 0;
	struct view v;

	fusion_settings_look(fs, &v);
	for (s = 0; s < FUSION_SETTINGS; s++) {
		DMEMIT("%s", fusion_settings[s].key);
		if (sz < maxlen)
			sz += fusion_emit_value(s, v.value[s], result + sz, maxlen - sz);
		DMEMIT(" %s", v.table & BIT(s) ? "table" : v.value[s] != v.base[s] ? "now" :
			      v.kept & BIT(s) ? "set" : "default");
		if (!(v.kept & BIT(s)))
			DMEMIT(" -");
		else if (sz < maxlen)
			sz += fusion_emit_value(s, v.base[s], result + sz, maxlen - sz);
		DMEMIT("\n");
	}
	return 1;
}
