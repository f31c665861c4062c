// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: the target's face to device-mapper: table, options, status, messages,
 * limits, suspend and resume.
 */
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/string.h>

#include "dm-fusion.h"

#define CREATE_TRACE_POINTS
#include "dm-fusion-trace.h"

#define STATUS_VERSION		1
#define MAX_BUCKETS		4096U

/* -- mode ---------------------------------------------------------------------- */

static const char * const mode_names[] = {
	[FUSION_RW] = "rw",
	[FUSION_RO] = "ro",
	[FUSION_FAIL] = "fail",
};

void fusion_set_mode(struct fusion *fs, enum fusion_mode mode, const char *why)
{
	unsigned long flags;
	bool worse;

	spin_lock_irqsave(&fs->lock, flags);
	worse = mode > fs->mode;
	if (worse) {
		WRITE_ONCE(fs->mode, mode);
		fs->needs_check = true;
	}
	spin_unlock_irqrestore(&fs->lock, flags);
	if (!worse)
		return;
	DMERR("%s: %s: switched to mode %s", dm_table_device_name(fs->ti->table), why,
	      mode_names[mode]);
	dm_table_event(fs->ti->table);
}

/* -- counters ---------------------------------------------------------------------- */

u64 fusion_count_ios(const struct fusion *fs, enum fusion_dev dev, bool write)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(fs->stats, cpu)->ios[dev][write]);
	return sum;
}

u32 fusion_reserve(const struct fusion *fs)
{
	u32 want = READ_ONCE(fs->opt.reserve);
	u32 four_gib = (4ULL << (30 - SECTOR_SHIFT)) >> fs->shift;

	if (want)
		return want;
	return min(max(fs->sb.nr_fast_slots / 50, four_gib), fs->sb.nr_fast_slots / 10);
}

/* -- options ------------------------------------------------------------------------- */

static const struct fusion_options default_options = {
	.migration = true,
	.discard_passdown = true,
	.half_life = 3600,
	.duty = 25,
	.idle = 1000,
	.commit_interval = 1000,
};

static int parse_bool(const char *value, bool *result)
{
	if (!strcmp(value, "on"))
		*result = true;
	else if (!strcmp(value, "off"))
		*result = false;
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

/* Return: 0; -ENOENT: no such key; -EINVAL: value out of range. */
static int set_option(struct fusion *fs, const char *key, const char *value)
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
	if (!strcmp(key, "half_life")) {
		r = parse_u32(value, 1, 604800, &opt->half_life);
		if (!r && fs->policy)
			WRITE_ONCE(fs->half_life_changed, true);
		return r;
	}
	return -ENOENT;
}

static int parse_options(struct fusion *fs, struct dm_arg_set *as, char **error)
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
		r = set_option(fs, key, value);
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

/* All options, or only those that differ from the default. Return: characters written. */
static unsigned int emit_options(const struct fusion *fs, bool all, char *result,
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
		{ "discard_passdown", true, opt->discard_passdown, def->discard_passdown },
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

/* -- constructor ------------------------------------------------------------------------ */

static int parse_dev(struct fusion *fs, enum fusion_dev dev, struct dm_arg_set *as,
		     char **error)
{
	int r;

	r = dm_get_device(fs->ti, dm_shift_arg(as), dm_table_get_mode(fs->ti->table),
			  &fs->dev[dev]);
	if (r)
		*error = dev == FUSION_FAST ? "Error opening the fast device" :
					      "Error opening the slow device";
	return r;
}

/* What is wrong with a member, for the one who made the table. */
static char *member_error(enum fusion_dev dev, int r)
{
	static char *const texts[][FUSION_NR_DEVS] = {
		{ "Fast device has no valid superblock; see the kernel log",
		  "Slow device has no valid superblock; see the kernel log" },
		{ "Fast device is not a fusion member; fusionctl format makes one",
		  "Slow device is not a fusion member; fusionctl format makes one" },
		{ "Fast device is smaller than when it was formatted",
		  "Slow device is smaller than when it was formatted" },
		{ "Fast device is the slow member; swap the devices",
		  "Slow device is the fast member; swap the devices" },
		{ "Fast device was formatted by a newer version",
		  "Slow device was formatted by a newer version" },
	};

	switch (r) {
	case -ENODATA:
		return texts[1][dev];
	case -ENOSPC:
		return texts[2][dev];
	case -EXDEV:
		return texts[3][dev];
	case -EPROTONOSUPPORT:
		return texts[4][dev];
	default:
		return texts[0][dev];
	}
}

/* The geometry, from both superblocks. What else they say is read again by fusion_load(). */
static int read_geometry(struct fusion *fs, char **error)
{
	struct fusion_sb *slow = &fs->sb_next;
	struct dm_target *ti = fs->ti;
	const char *why = NULL;
	unsigned int dev;
	sector_t len;
	int r;

	for (dev = 0; dev < FUSION_NR_DEVS; dev++) {
		r = fusion_super_read(fs, dev, dev == FUSION_FAST ? &fs->sb : slow, &why);
		if (r) {
			DMERR("%s device %s: %s", dev == FUSION_FAST ? "fast" : "slow",
			      fs->dev[dev]->name, why);
			*error = member_error(dev, r);
			return r;
		}
	}

	r = fusion_sb_match(&fs->sb, slow, &why);
	if (r) {
		DMERR("%s and %s: %s", fs->dev[FUSION_FAST]->name, fs->dev[FUSION_SLOW]->name,
		      why);
		*error = r == -ESTALE ?
			 "One of the devices was used without the other; see the kernel log" :
			 "The devices are not members of the same set";
		return r;
	}

	fs->shift = __ffs(fs->sb.extent_sectors);
	fs->base[FUSION_FAST] = fs->sb.fast_data_start;
	len = (sector_t)fs->sb.nr_lexts << fs->shift;
	if (ti->len != len) {
		DMERR("device length must be %llu sectors, not %llu", (unsigned long long)len,
		      (unsigned long long)ti->len);
		*error = "Device length does not match the set; see the kernel log";
		return -EINVAL;
	}
	return 0;
}

static int alloc_workqueues(struct fusion *fs)
{
	fs->deferred_wq = alloc_ordered_workqueue("fusion-io", WQ_MEM_RECLAIM);
	fs->commit_wq = alloc_ordered_workqueue("fusion-commit", WQ_MEM_RECLAIM);
	fs->reclaim_wq = alloc_ordered_workqueue("fusion-reclaim", WQ_MEM_RECLAIM);
	fs->move_wq = alloc_ordered_workqueue("fusion-move", WQ_MEM_RECLAIM);
	if (!fs->deferred_wq || !fs->commit_wq || !fs->reclaim_wq || !fs->move_wq)
		return -ENOMEM;
	INIT_WORK(&fs->deferred_work, fusion_do_deferred);
	INIT_DELAYED_WORK(&fs->commit_work, fusion_do_commit);
	INIT_WORK(&fs->reclaim_work, fusion_do_reclaim);
	return 0;
}

static void free_workqueues(struct fusion *fs)
{
	if (fs->move_wq)
		destroy_workqueue(fs->move_wq);
	if (fs->reclaim_wq)
		destroy_workqueue(fs->reclaim_wq);
	if (fs->commit_wq)
		destroy_workqueue(fs->commit_wq);
	if (fs->deferred_wq)
		destroy_workqueue(fs->deferred_wq);
}

static int alloc_map(struct fusion *fs)
{
	fs->map = kvmalloc_array(fs->sb.nr_lexts, sizeof(*fs->map), GFP_KERNEL);
	if (!fs->map)
		return -ENOMEM;
	memset32(fs->map, FUSION_WORD_UNMAPPED, fs->sb.nr_lexts);
	fs->policy = fusion_policy_create(fs->map, fs->sb.nr_lexts, fs->sb.nr_fast_slots);
	if (!fs->policy)
		return -ENOMEM;
	fusion_policy_set_half_life(fs->policy, fs->opt.half_life);
	fs->stats = alloc_percpu(struct fusion_stats);
	return fs->stats ? 0 : -ENOMEM;
}

/* Undoes whatever part of the constructor was done. */
static void destroy(struct fusion *fs)
{
	unsigned int dev;

	free_workqueues(fs);
	fusion_migrate_exit(fs);
	bioset_exit(&fs->bs);
	fusion_open_exit(fs);
	if (fs->running)
		fusion_journal_exit_state(fs);
	fusion_alloc_exit(fs);
	if (fs->epochs_ready)
		fusion_epochs_exit(fs);
	free_percpu(fs->stats);
	if (fs->policy)
		fusion_policy_destroy(fs->policy);
	kvfree(fs->map);
	for (dev = 0; dev < FUSION_NR_DEVS; dev++)
		if (fs->dev[dev])
			dm_put_device(fs->ti, fs->dev[dev]);
	kvfree(fs);
}

static int allocate(struct fusion *fs)
{
	int r;

	r = alloc_map(fs);
	if (!r)
		r = fusion_epochs_init(fs);
	if (r)
		return r;
	fs->epochs_ready = true;

	r = fusion_alloc_init(fs);
	if (!r)
		r = fusion_journal_init_state(fs);
	if (!r)
		r = fusion_open_init(fs);
	if (!r)
		r = bioset_init(&fs->bs, 64, 0, 0);
	if (!r)
		r = fusion_migrate_init(fs);
	if (!r)
		r = alloc_workqueues(fs);
	return r;
}

static int fusion_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct dm_arg_set as = { .argc = argc, .argv = argv };
	struct fusion *fs;
	int r;

	if (argc < 2) {
		ti->error = "Invalid argument count: fast and slow device are needed";
		return -EINVAL;
	}
	if (ti->begin) {
		ti->error = "The target must start at sector 0";
		return -EINVAL;
	}

	fs = kvzalloc(sizeof(*fs), GFP_KERNEL);
	if (!fs) {
		ti->error = "Cannot allocate memory";
		return -ENOMEM;
	}
	fs->ti = ti;
	fs->mode = FUSION_FAIL;
	spin_lock_init(&fs->lock);
	init_waitqueue_head(&fs->commit_wait);
	init_waitqueue_head(&fs->txn_wait);

	r = parse_dev(fs, FUSION_FAST, &as, &ti->error);
	if (!r)
		r = parse_dev(fs, FUSION_SLOW, &as, &ti->error);
	if (r)
		goto out_with_fs;
	if (fs->dev[FUSION_FAST]->bdev == fs->dev[FUSION_SLOW]->bdev) {
		ti->error = "Fast and slow device are the same";
		r = -EINVAL;
		goto out_with_fs;
	}

	r = read_geometry(fs, &ti->error);
	if (r)
		goto out_with_fs;
	r = parse_options(fs, &as, &ti->error);
	if (r)
		goto out_with_fs;
	r = allocate(fs);
	if (r) {
		ti->error = "Cannot allocate memory";
		goto out_with_fs;
	}
	r = dm_set_target_max_io_len(ti, fs->sb.extent_sectors);
	if (r) {
		ti->error = "Cannot set the maximum I/O length";
		goto out_with_fs;
	}

	ti->private = fs;
	ti->per_io_data_size = sizeof(struct fusion_io);
	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->num_write_zeroes_bios = 1;
	ti->flush_supported = true;
	ti->discards_supported = true;
	ti->limit_swap_bios = true;
	ti->accounts_remapped_io = true;
	return 0;

out_with_fs:
	destroy(fs);
	return r;
}

static void fusion_dtr(struct dm_target *ti)
{
	destroy(ti->private);
}

/* -- suspend and resume --------------------------------------------------------------------- */

/*
 * Loading belongs here, not in the constructor, which runs while an older table may
 * still be writing to the same members.
 */
static int fusion_preresume(struct dm_target *ti)
{
	struct fusion *fs = ti->private;
	bool read_only = get_disk_ro(dm_disk(dm_table_get_md(ti->table)));
	int r;

	if (fs->load_error)
		return fs->load_error;
	if (fs->loaded)
		return fusion_mode(fs) == FUSION_RW ? fusion_reopen(fs) : 0;

	fs->loaded = true;
	/* The commits of loading work as any; bios do not come before resume. */
	fs->mode = FUSION_RW;
	r = fusion_load(fs, read_only);
	if (r) {
		fs->mode = FUSION_FAIL;
		DMERR("%s: cannot load the set (%d); see fusionctl status",
		      dm_table_device_name(ti->table), r);
	} else if (read_only) {
		fs->mode = FUSION_RO;
	}
	fs->load_error = r;
	return r;
}

static void fusion_resume(struct dm_target *ti)
{
	struct fusion *fs = ti->private;

	if (fusion_mode(fs) != FUSION_FAIL)
		fusion_migrate_start(fs);
}

static void fusion_presuspend(struct dm_target *ti)
{
	fusion_migrate_stop(ti->private);
}

/*
 * No user I/O is in flight any more. Leave a clean set: the next to open it may be
 * another table, which loads from disk, so nothing may be written after this.
 */
static void fusion_postsuspend(struct dm_target *ti)
{
	struct fusion *fs = ti->private;

	if (!fs->loaded || fs->load_error)
		return;
	/* Zero-fills go on by themselves: each ends in the worker. */
	while (READ_ONCE(fs->nr_fills)) {
		dm_kcopyd_client_flush(fs->kcopyd);
		flush_work(&fs->deferred_work);
	}
	flush_work(&fs->deferred_work);
	if (fusion_mode(fs) == FUSION_RW)
		fusion_checkpoint_wait(fs, true);
	cancel_delayed_work_sync(&fs->commit_work);
	flush_work(&fs->reclaim_work);
}

/* -- status and messages ------------------------------------------------------------------- */

static void emit_status(struct fusion *fs, char *result, unsigned int maxlen)
{
	u32 free_fast, free_slow, mapped, open, quarantined, in_flight;
	u32 spare = fs->sb.spare_fast;
	unsigned int sz = 0;

	spin_lock_irq(&fs->lock);
	free_fast = fs->nr_free[FUSION_FAST];
	free_slow = fs->nr_free[FUSION_SLOW];
	mapped = fs->nr_mapped;
	open = fs->nr_open;
	quarantined = fs->nr_quarantined;
	in_flight = fs->in_flight;
	spin_unlock_irq(&fs->lock);

	DMEMIT("%u %s %u %u/%u %u/%u %u/%u %u/%u", STATUS_VERSION, mode_names[fusion_mode(fs)],
	       fs->sb.extent_sectors,
	       fs->sb.nr_fast_slots - free_fast, fs->sb.nr_fast_slots,
	       fs->sb.nr_slow_slots - free_slow, fs->sb.nr_slow_slots,
	       mapped, fs->sb.nr_lexts,
	       fs->loaded ? fusion_journal_used(fs) : 0, fs->sb.journal_blocks);
	DMEMIT(" %llu %llu %llu %llu",
	       fusion_count_ios(fs, FUSION_FAST, false), fusion_count_ios(fs, FUSION_SLOW, false),
	       fusion_count_ios(fs, FUSION_FAST, true), fusion_count_ios(fs, FUSION_SLOW, true));
	DMEMIT(" %llu %llu %llu %u %u %u %llu %llu %llu %u/%u",
	       fs->promotions, fs->demotions, fs->cancelled, in_flight, open, quarantined,
	       fs->commits, fs->checkpoints, fs->slow_flushes,
	       free_fast > spare ? free_fast - spare : 0, fusion_reserve(fs));
	if (sz < maxlen)
		sz += emit_options(fs, true, result + sz, maxlen - sz);
	DMEMIT(" %s", fs->needs_check ? "needs_check" : "-");
}

static void fusion_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
			  char *result, unsigned int maxlen)
{
	struct fusion *fs = ti->private;
	unsigned int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		emit_status(fs, result, maxlen);
		break;
	case STATUSTYPE_TABLE:
		DMEMIT("%s %s", fs->dev[FUSION_FAST]->name, fs->dev[FUSION_SLOW]->name);
		if (sz < maxlen)
			emit_options(fs, false, result + sz, maxlen - sz);
		break;
	case STATUSTYPE_IMA:
		DMEMIT_TARGET_NAME_VERSION(ti->type);
		DMEMIT(",fast_device=%s,slow_device=%s;", fs->dev[FUSION_FAST]->name,
		       fs->dev[FUSION_SLOW]->name);
		break;
	}
}

static int bad_message(const char *what, const char *arg)
{
	DMERR("message: %s: %s", arg, what);
	return -EINVAL;
}

/* "<first>[-<last>]", within the device. */
static int parse_range(const struct fusion *fs, char *arg, u32 *first, u32 *last)
{
	char *dash = strchr(arg, '-');
	int r;

	if (dash)
		*dash++ = '\0';
	r = kstrtou32(arg, 10, first);
	if (!r)
		r = kstrtou32(dash ?: arg, 10, last);
	if (r || *first > *last)
		return bad_message("not a range <first>[-<last>] of extents", arg);
	if (*last >= fs->sb.nr_lexts) {
		DMERR("message: extent %u is beyond the last one, %u", *last,
		      fs->sb.nr_lexts - 1);
		return -ERANGE;
	}
	return 0;
}

static int message_move(struct fusion *fs, enum fusion_dev to, char *range, char *result,
			unsigned int maxlen)
{
	struct fusion_force force = { .to = to };
	unsigned int sz = 0;
	int r;

	r = parse_range(fs, range, &force.next, &force.last);
	if (!r)
		r = fusion_force(fs, &force);
	if (r)
		return r;
	DMEMIT("%u %u %u %u", force.moved, force.already, force.unmapped, force.failed);
	return 1;
}

static const char *state_name(u32 word)
{
	static const char * const names[] = {
		[FUSION_STABLE] = "stable",
		[FUSION_OPEN] = "open",
		[FUSION_COPYING] = "copying",
		[FUSION_LOCKED] = "locked",
	};

	return fusion_word_mapped(word) ? names[fusion_word_state(word)] : "unmapped";
}

/* Does b continue the run that a ends? */
static bool continues(u32 a, u32 b)
{
	if (!fusion_word_mapped(a) || !fusion_word_mapped(b))
		return fusion_word_mapped(a) == fusion_word_mapped(b);
	return b == a + 1;
}

static int message_map(struct fusion *fs, const char *first_arg, const char *count_arg,
		       char *result, unsigned int maxlen)
{
	unsigned int sz = 0;
	u32 first, count, lext, end;

	if (kstrtou32(first_arg, 10, &first) || first >= fs->sb.nr_lexts)
		return bad_message("not an extent of this device", first_arg);
	if (kstrtou32(count_arg, 10, &count) || !count)
		return bad_message("not a number of extents", count_arg);
	end = first + min(count, fs->sb.nr_lexts - first);

	/* A full buffer makes the caller come again with a larger one. */
	for (lext = first; lext < end && sz + 1 < maxlen; ) {
		u32 word = READ_ONCE(fs->map[lext]);
		u32 run = lext, last = word;

		while (++run < end) {
			u32 next = READ_ONCE(fs->map[run]);

			if (!continues(last, next))
				break;
			last = next;
		}
		DMEMIT("%u %u ", lext, run - lext);
		if (fusion_word_mapped(word))
			DMEMIT("%s %u ", fusion_word_dev(word) == FUSION_FAST ? "fast" : "slow",
			       fusion_word_slot(word));
		else
			DMEMIT("- - ");
		DMEMIT("%s\n", state_name(word));
		lext = run;
		cond_resched();
	}
	return 1;
}

static int message_heat(struct fusion *fs, const char *arg, char *result, unsigned int maxlen)
{
	u32 buckets, i, lext = 0;
	unsigned int sz = 0;

	if (kstrtou32(arg, 10, &buckets) || !buckets || buckets > MAX_BUCKETS)
		return bad_message("not a number of buckets, 1 to 4096", arg);
	buckets = min(buckets, fs->sb.nr_lexts);

	for (i = 0; i < buckets && sz + 1 < maxlen; i++) {
		u32 end = div_u64((u64)fs->sb.nr_lexts * (i + 1), buckets);
		u32 first = lext, nr[FUSION_NR_DEVS] = {}, max = 0;
		u64 sum = 0;

		for (; lext < end; lext++) {
			u32 word = READ_ONCE(fs->map[lext]);
			u32 heat = fusion_policy_heat(fs->policy, lext);

			if (fusion_word_mapped(word))
				nr[fusion_word_dev(word)]++;
			sum += heat;
			max = max(max, heat);
		}
		DMEMIT("%u %u %u %u %llu %u\n", first, end - first, nr[FUSION_FAST],
		       nr[FUSION_SLOW], div_u64(sum, end - first), max);
		cond_resched();
	}
	return 1;
}

static int message_stats(struct fusion *fs, char *result, unsigned int maxlen)
{
	unsigned int sz = 0;

	DMEMIT("reads_fast %llu\n", fusion_count_ios(fs, FUSION_FAST, false));
	DMEMIT("reads_slow %llu\n", fusion_count_ios(fs, FUSION_SLOW, false));
	DMEMIT("writes_fast %llu\n", fusion_count_ios(fs, FUSION_FAST, true));
	DMEMIT("writes_slow %llu\n", fusion_count_ios(fs, FUSION_SLOW, true));
	DMEMIT("promotions %llu\n", fs->promotions);
	DMEMIT("demotions %llu\n", fs->demotions);
	DMEMIT("cancelled %llu\n", fs->cancelled);
	DMEMIT("commits %llu\n", fs->commits);
	DMEMIT("checkpoints %llu\n", fs->checkpoints);
	DMEMIT("slow_flushes %llu\n", fs->slow_flushes);
	DMEMIT("retired_slots %u\n", fs->nr_retired);
	DMEMIT("open_extents %u\n", READ_ONCE(fs->nr_open));
	DMEMIT("open_limit %u\n", fs->max_open);
	DMEMIT("generation %llu\n", fs->sb.generation);
	DMEMIT("epoch %u\n", fs->sb.epoch);
	return 1;
}

static int fusion_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
			  unsigned int maxlen)
{
	struct fusion *fs = ti->private;
	int r;

	if (fusion_mode(fs) == FUSION_FAIL) {
		DMERR("message: the set is not loaded");
		return -EIO;
	}
	if (argc == 1 && !strcmp(argv[0], "checkpoint")) {
		if (fusion_mode(fs) != FUSION_RW)
			return -EROFS;
		if (dm_suspended(ti))
			return -EAGAIN;
		return fusion_checkpoint_wait(fs, false);
	}
	if (argc == 1 && !strcmp(argv[0], "stats"))
		return message_stats(fs, result, maxlen);
	if (argc == 2 && !strcmp(argv[0], "promote"))
		return message_move(fs, FUSION_FAST, argv[1], result, maxlen);
	if (argc == 2 && !strcmp(argv[0], "demote"))
		return message_move(fs, FUSION_SLOW, argv[1], result, maxlen);
	if (argc == 2 && !strcmp(argv[0], "heat"))
		return message_heat(fs, argv[1], result, maxlen);
	if (argc == 3 && !strcmp(argv[0], "map"))
		return message_map(fs, argv[1], argv[2], result, maxlen);
	if (argc == 2) {
		r = set_option(fs, argv[0], argv[1]);
		if (r == -EINVAL)
			return bad_message("value out of range", argv[1]);
		if (!r)
			return 0;
	}
	return bad_message("unknown message, or wrong number of arguments", argv[0]);
}

/* -- limits ------------------------------------------------------------------------------- */

static int fusion_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn,
				  void *data)
{
	struct fusion *fs = ti->private;
	int r;

	r = fn(ti, fs->dev[FUSION_FAST], fs->base[FUSION_FAST],
	       (sector_t)fs->sb.nr_fast_slots << fs->shift, data);
	if (!r)
		r = fn(ti, fs->dev[FUSION_SLOW], 0,
		       (sector_t)(fs->sb.slow_first_slot + fs->sb.nr_slow_slots) << fs->shift,
		       data);
	return r;
}

static void fusion_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	struct fusion *fs = ti->private;
	u32 max = round_down(UINT_MAX >> SECTOR_SHIFT, fs->sb.extent_sectors);

	/* Discards free whole extents, whatever the members can do. */
	limits->discard_granularity = fs->sb.extent_sectors << SECTOR_SHIFT;
	limits->discard_alignment = 0;
	limits->max_discard_sectors = max;
	limits->max_hw_discard_sectors = max;
	limits->max_write_zeroes_sectors = max;
}

static struct target_type fusion_target = {
	.name = "fusion",
	.version = { 1, 0, 0 },
	.features = DM_TARGET_NOWAIT,
	.module = THIS_MODULE,
	.ctr = fusion_ctr,
	.dtr = fusion_dtr,
	.map = fusion_map,
	.end_io = fusion_end_io,
	.presuspend = fusion_presuspend,
	.postsuspend = fusion_postsuspend,
	.preresume = fusion_preresume,
	.resume = fusion_resume,
	.status = fusion_status,
	.message = fusion_message,
	.iterate_devices = fusion_iterate_devices,
	.io_hints = fusion_io_hints,
};

static int __init fusion_init(void)
{
	return dm_register_target(&fusion_target);
}

static void __exit fusion_exit(void)
{
	dm_unregister_target(&fusion_target);
}

module_init(fusion_init);
module_exit(fusion_exit);

MODULE_DESCRIPTION(DM_NAME " target fusing a fast and a slow device into one");
MODULE_AUTHOR("dm-fusion developers");
MODULE_LICENSE("GPL");
