// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: counters, the status line, and the stats message.
 */
#include <linux/math64.h>

#include "dm-fusion.h"

#define STATUS_VERSION	6

static u64 fusion_count_errors(const struct fusion *fs, unsigned int disk)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(fs->stats, cpu)->errors[disk]);
	return sum;
}

/*
 * Seconds since when writes may be missing in what the replica calls current, rounded up: 0 means
 * that none is. fs->lock held.
 */
static u64 fusion_point_age(const struct fusion *fs)
{
	u64 since = fusion_replica_since(fs), now = fusion_now_ms();

	return since ? div_u64(now - min(now, since), 1000) + 1 : 0;
}

/* Seconds for which the replica has been out of date, or 0. fs->lock held. */
static u64 fusion_replica_age(const struct fusion *fs)
{
	const struct fusion_replica *rep = &fs->replica;

	if (!rep->nr_dirty && !READ_ONCE(rep->stale))
		return 0;
	return div_u64(fusion_now_ms() - rep->since_ms, 1000);
}

static const char *fusion_replica_state(const struct fusion *fs)
{
	return fs->read_only ? "-" : fs->replica.failed ? "failed" : "ok";
}

static void fusion_emit_status(struct fusion *fs, char *result, unsigned int maxlen)
{
	u32 free_fast, free_slow, mapped, open, quarantined, in_flight, dirty, fenced, fence;
	const struct fusion_homing *h = &fs->mover.homing;
	u32 away, blank, left, unread, shadows;
	u32 protected, fast, lost, partly, metadata, metadata_fast;
	unsigned int sz = 0;
	u32 logged, segments, spares;
	bool homing, pointed;
	u64 age, point_age;

	metadata = fusion_metadata_protected(fs, &metadata_fast);
	spin_lock_irq(&fs->lock);
	homing = h->on;
	away = h->away;
	blank = h->blank;
	/* what copies have may be had at any time */
	free_fast = fusion_slots_free(fs, FUSION_FAST) + fs->land.nr_lent;
	free_slow = fusion_slots_free(fs, FUSION_SLOW) + fusion_slots_held(fs);
	mapped = fs->nr_mapped;
	open = fs->opens.nr;
	quarantined = fs->slots.nr_quarantined;
	in_flight = fs->mover.in_flight;
	dirty = fs->replica.nr_dirty;
	age = fusion_replica_age(fs);
	fenced = fusion_fence_used(&fs->slots.fence);
	fence = fusion_fence_size(&fs->slots.fence);
	shadows = fs->shadows.nr;
	protected = fusion_shadow_protected(fs);
	fast = fs->nr_fast;
	partly = fs->opens.nr_lost;
	lost = fs->nr_lost + partly;
	pointed = fs->shadows.point_s;
	point_age = fusion_point_age(fs);
	logged = fs->land.max ? READ_ONCE(fs->land.nr_live) : 0;
	segments = fusion_land_in_use(&fs->land);
	spares = fusion_spares(fs, FUSION_FAST) + fs->land.nr_lent;
	spin_unlock_irq(&fs->lock);

	DMEMIT("%u %s %u %u/%u %u/%u %u/%u %u/%u", STATUS_VERSION,
	       fusion_mode_name(fusion_mode(fs)),
	       fs->sb.extent_sectors,
	       fs->sb.nr_fast_slots - free_fast, fs->sb.nr_fast_slots,
	       fs->sb.nr_slow_slots - free_slow, fs->sb.nr_slow_slots,
	       mapped, fs->sb.nr_lexts,
	       fs->loaded ? fusion_chain_used(&fs->journal) : 0,
	       fs->sb.journal_blocks[FUSION_FAST]);
	DMEMIT(" %llu %llu %llu %llu",
	       fusion_count_ios(fs, FUSION_FAST, false), fusion_count_ios(fs, FUSION_SLOW, false),
	       fusion_count_ios(fs, FUSION_FAST, true), fusion_count_ios(fs, FUSION_SLOW, true));
	DMEMIT(" %llu %llu %llu %u %u %u %llu %llu %llu %u/%u",
	       fs->mover.promotions, fs->mover.demotions, fs->mover.cancelled, in_flight, open,
	       quarantined,
	       fs->commit.commits, fs->commit.checkpoints, fs->flush.slow_flushes,
	       free_fast - min(free_fast, spares), fusion_reserve(fs));
	DMEMIT(" %s %u %llu %llu %llu %u/%u", fusion_replica_state(fs), dirty, age,
	       fusion_count_errors(fs, FUSION_FAST), fusion_count_errors(fs, FUSION_SLOW),
	       fenced, fence);
	DMEMIT(" %u/%u %llu", min(fusion_shadows_current(fs), shadows), shadows,
	       fs->shadows.demotions);
	DMEMIT(" %u/%u ", protected, fast);
	if (pointed)
		DMEMIT("%llu", point_age);
	else
		DMEMIT("-");
	DMEMIT(" %u/%u", metadata, metadata_fast);
	if (sz < maxlen)
		sz += fusion_emit_options(fs, true, result + sz, maxlen - sz);
	DMEMIT(" %s", fs->needs_check ? "needs_check" : "-");
	if (homing)
		DMEMIT(" homing %u %u", away, blank);
	if (lost)
		DMEMIT(" lost %u %u", lost, partly);
	if (fs->land.max)
		DMEMIT(" log %u %u/%u %llu %s copies %u %llu %llu", logged, segments, fs->land.max,
		       READ_ONCE(fs->land.nr_drained), fusion_land_state(&fs->land),
		       READ_ONCE(fs->land.copies->nr), READ_ONCE(fs->land.copies->hits),
		       READ_ONCE(fs->land.copies->made));
	if (!fusion_sb_has_old(&fs->sb))
		return;
	spin_lock_irq(&fs->lock);
	left = fs->old.nr;
	unread = fs->old.nr_unread;
	spin_unlock_irq(&fs->lock);
	DMEMIT(" old %s %s %u %u %u", fs->old.dev == FUSION_FAST ? "fast" : "slow",
	       fs->dev[FUSION_OLD] ? fs->dev[FUSION_OLD]->name : "-", left, fs->old.at_first,
	       unread);
}

void fusion_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
		   char *result, unsigned int maxlen)
{
	struct fusion *fs = ti->private;
	unsigned int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		fusion_emit_status(fs, result, maxlen);
		break;
	case STATUSTYPE_TABLE:
		DMEMIT("%s %s", fs->dev[FUSION_FAST]->name, fs->dev[FUSION_SLOW]->name);
		if (sz < maxlen)
			fusion_emit_options(fs, false, result + sz, maxlen - sz);
		break;
	case STATUSTYPE_IMA:
		DMEMIT_TARGET_NAME_VERSION(ti->type);
		DMEMIT(",fast_device=%s,slow_device=%s", fs->dev[FUSION_FAST]->name,
		       fs->dev[FUSION_SLOW]->name);
		if (fs->dev[FUSION_OLD])
			DMEMIT(",old_%s_device=%s", fs->old.dev == FUSION_FAST ? "fast" : "slow",
			       fs->dev[FUSION_OLD]->name);
		DMEMIT(";");
		break;
	}
}

/* Slots that still await a discard. */
static u32 fusion_undiscarded(const struct fusion *fs, enum fusion_dev dev)
{
	return READ_ONCE(fs->slots.discards[dev].nr) + READ_ONCE(fs->slots.discards[dev].in_flight);
}

int fusion_message_stats(struct fusion *fs, char *result, unsigned int maxlen)
{
	const struct fusion_replica *rep = &fs->replica;
	/* read it before the clock, as the mover sets it to the current time */
	u64 used = READ_ONCE(fs->mover.slow_used_ms), now = fusion_now_ms();
	u64 age, point, point_age;
	unsigned int sz = 0;
	u32 protected, fast;

	spin_lock_irq(&fs->lock);
	age = fusion_replica_age(fs);
	protected = fusion_shadow_protected(fs);
	fast = fs->nr_fast;
	point = fs->shadows.point_s;
	point_age = point ? fusion_point_age(fs) : 0;
	spin_unlock_irq(&fs->lock);

	DMEMIT("reads_fast %llu\n", fusion_count_ios(fs, FUSION_FAST, false));
	DMEMIT("reads_slow %llu\n", fusion_count_ios(fs, FUSION_SLOW, false));
	DMEMIT("writes_fast %llu\n", fusion_count_ios(fs, FUSION_FAST, true));
	DMEMIT("writes_slow %llu\n", fusion_count_ios(fs, FUSION_SLOW, true));
	DMEMIT("errors_fast %llu\n", fusion_count_errors(fs, FUSION_FAST));
	DMEMIT("errors_slow %llu\n", fusion_count_errors(fs, FUSION_SLOW));
	DMEMIT("errors_old %llu\n", fusion_count_errors(fs, FUSION_OLD));
	DMEMIT("promotions %llu\n", fs->mover.promotions);
	DMEMIT("demotions %llu\n", fs->mover.demotions);
	DMEMIT("evacuated %llu\n", fs->mover.evacuated);
	DMEMIT("cancelled %llu\n", fs->mover.cancelled);
	DMEMIT("shadow_points %llu\n", fs->shadows.point.made);
	DMEMIT("shadow_copies %llu\n", READ_ONCE(fs->shadows.copies));
	DMEMIT("shadows_dropped %llu\n", READ_ONCE(fs->shadows.dropped));
	DMEMIT("extents_fast %u\n", fast);
	DMEMIT("extents_lost %u\n", READ_ONCE(fs->nr_lost) + READ_ONCE(fs->opens.nr_lost));
	DMEMIT("protected %u\n", protected);
	DMEMIT("point %llu\n", point);
	DMEMIT("point_age %llu\n", point_age);
	DMEMIT("half_life %u\n", fusion_half_life(fs));
	DMEMIT("payback %u\n", fusion_policy_pay(fs->policy) / FUSION_HEAT_TOUCH);
	DMEMIT("commits %llu\n", fs->commit.commits);
	DMEMIT("checkpoints %llu\n", fs->commit.checkpoints);
	DMEMIT("slow_flushes %llu\n", fs->flush.slow_flushes);
	DMEMIT("slow_idle %llu\n", div_u64(now - min(now, used), 1000));
	DMEMIT("budget_left %llu\n", fusion_budget_left(fs) >> 20);
	DMEMIT("migrated_fast %llu\n",
	       READ_ONCE(fs->mover.copied_fast) << fs->shift >> (20 - SECTOR_SHIFT));
	DMEMIT("retired_slots %u\n", fs->mover.nr_retired);
	DMEMIT("undiscarded_fast %u\n", fusion_undiscarded(fs, FUSION_FAST));
	DMEMIT("undiscarded_slow %u\n", fusion_undiscarded(fs, FUSION_SLOW));
	DMEMIT("open_extents %u\n", READ_ONCE(fs->opens.nr));
	DMEMIT("open_limit %u\n", fs->opens.max);
	DMEMIT("generation %llu\n", fs->sb.generation);
	DMEMIT("epoch %u\n", fs->sb.epoch);
	DMEMIT("heartbeats %llu\n", fs->heart.beats);
	DMEMIT("heartbeats_late %llu\n", fs->heart.late);
	DMEMIT("replica_dirty %u\n", READ_ONCE(rep->nr_dirty));
	DMEMIT("replica_age %llu\n", age);
	DMEMIT("replica_away %u\n", READ_ONCE(rep->nr_away));
	DMEMIT("replica_held %u\n", READ_ONCE(rep->nr_held));
	DMEMIT("replica_writes %llu\n", rep->writes);
	DMEMIT("replica_sets %llu\n", rep->sets);
	DMEMIT("replica_errors %llu\n", rep->errors);
	if (sz < maxlen)
		fusion_emit_land(fs, result + sz, maxlen - sz);
	return 1;
}
