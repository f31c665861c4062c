// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: messages.
 */
#include <linux/kstrtox.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dm-fusion.h"

#define MAX_BUCKETS	4096U

/* Extents of @stays, or of @range without it, are not moved away to make room. */
static int fusion_message_move(struct fusion *fs, enum fusion_dev to, char *range, char *stays,
			       char *result, unsigned int maxlen)
{
	static const char * const obstacles[] = {
		[FUSION_NO_OBSTACLE] = "",
		[FUSION_RANGE_FILLS] = " range",
		[FUSION_VICTIMS_BUSY] = " busy",
		[FUSION_NO_SPARE] = " spares",
	};
	struct fusion_force force = { .to = to, .victims.dev = to };
	unsigned int sz = 0;
	int r;

	r = fusion_parse_range(fs, range, &force.next, &force.last);
	force.victims.first = force.next;
	force.victims.last = force.last;
	if (!r && stays)
		r = fusion_parse_range(fs, stays, &force.victims.first, &force.victims.last);
	if (!r)
		r = fusion_force(fs, &force);
	if (r)
		return r;
	DMEMIT("%u %u %u %u%s", force.moved, force.already, force.unmapped, force.failed,
	       force.failed ? obstacles[force.obstacle] : "");
	return 1;
}

/* "fast|slow <first> <last>": slots, as the message map has them. */
static int fusion_message_fence(struct fusion *fs, const char *member, const char *first,
				const char *last)
{
	struct fusion_force force = { .kind = FUSION_FENCE };
	bool fast = !strcmp(member, "fast");

	if (!fast && strcmp(member, "slow"))
		return fusion_bad_message("fence: not a member, fast or slow", member);
	force.to = fast ? FUSION_FAST : FUSION_SLOW;
	if (kstrtou32(first, 10, &force.next))
		return fusion_bad_message("fence: not a number of a slot", first);
	if (kstrtou32(last, 10, &force.last))
		return fusion_bad_message("fence: not a number of a slot", last);
	if (force.next > force.last)
		return fusion_bad_message("fence: the last slot comes before the first one", last);
	if (!fusion_slot_valid(&fs->sb, force.to, force.next) ||
	    !fusion_slot_valid(&fs->sb, force.to, force.last)) {
		DMERR("message: fence: the %s member has slots %u to %u", member,
		      fast ? 0 : fs->sb.slow_first_slot, fusion_slot_end(fs, force.to) - 1);
		return -ERANGE;
	}
	/* Its mover would have two places to empty at once, and the shares of neither be known. */
	if (fusion_sb_has_old(&fs->sb) && fs->old.dev == force.to) {
		DMERR("message: fence: the %s member is being replaced; wait for that first",
		      member);
		return -EBUSY;
	}
	return fusion_force(fs, &force);
}

/* "on", "on zero" or "off" */
static int fusion_message_homing(struct fusion *fs, unsigned int argc, char **argv)
{
	struct fusion_force force = { .kind = FUSION_HOMING };

	if (argc == 1 && !strcmp(argv[0], "off"))
		force.kind = FUSION_NO_HOMING;
	else if (argc == 2 && !strcmp(argv[0], "on") && !strcmp(argv[1], "zero"))
		force.zero = true;
	else if (argc != 1 || strcmp(argv[0], "on"))
		return fusion_bad_message("not on, on zero, or off", "homing");
	/* The same mover empties the old member, whose slots are no homes. */
	if (fusion_sb_has_old(&fs->sb) && force.kind == FUSION_HOMING) {
		DMERR("message: homing: the %s member is being replaced; wait for that first",
		      fs->old.dev == FUSION_FAST ? "fast" : "slow");
		return -EBUSY;
	}
	return fusion_force(fs, &force);
}

/* Does b continue the run that a ends? */
static bool fusion_message_continues(u32 a, u32 b)
{
	if (!fusion_word_mapped(a) || !fusion_word_mapped(b))
		return a == b;
	return b == a + 1;
}

static int fusion_message_map(struct fusion *fs, const char *first_arg, const char *count_arg,
			      char *result, unsigned int maxlen)
{
	unsigned int sz = 0;
	u32 first, count, lext, end;
	int r = fusion_parse_extents(fs, first_arg, count_arg, &first, &count);

	if (r)
		return r;
	end = first + min(count, fs->sb.nr_lexts - first);

	/* If the buffer is full, the core tries again with a larger one. */
	for (lext = first; lext < end && sz + 1 < maxlen; ) {
		u32 word = READ_ONCE(fs->map[lext]);
		u32 run = lext, last = word;

		while (++run < end) {
			u32 next = READ_ONCE(fs->map[run]);

			if (!fusion_message_continues(last, next))
				break;
			last = next;
			if (!(run % 65536))
				cond_resched();
		}
		DMEMIT("%u %u ", lext, run - lext);
		if (fusion_word_mapped(word))
			DMEMIT("%s %u ", fusion_word_dev(word) == FUSION_FAST ? "fast" : "slow",
			       fusion_word_slot(word));
		else
			DMEMIT("- - ");
		DMEMIT("%s\n", fusion_state_name(word));
		lext = run;
		cond_resched();
	}
	return 1;
}

static int fusion_message_heat(struct fusion *fs, const char *arg, char *result,
			       unsigned int maxlen)
{
	u32 buckets, i, lext = 0;
	unsigned int sz = 0;

	if (kstrtou32(arg, 10, &buckets) || !buckets || buckets > MAX_BUCKETS)
		return fusion_bad_message("not a number of buckets, 1 to 4096", arg);
	buckets = min(buckets, fs->sb.nr_lexts);

	for (i = 0; i < buckets && sz + 1 < maxlen; i++) {
		u32 end = div_u64((u64)fs->sb.nr_lexts * (i + 1), buckets);
		u32 first = lext, nr[FUSION_NR_DEVS] = {}, max = 0, protected = 0;
		u64 sum = 0, logged = 0;

		for (; lext < end; lext++) {
			u32 word = READ_ONCE(fs->map[lext]);
			u32 heat = fusion_policy_heat(fs->policy, lext);

			if (fusion_word_mapped(word))
				nr[fusion_word_dev(word)]++;
			protected += fusion_shadow_protects(fs, word);
			sum += heat;
			max = max(max, heat);
			logged += fusion_land_logged(fs, lext);
			if (!(lext % 65536))
				cond_resched();
		}
		DMEMIT("%u %u %u %u %llu %u %u", first, end - first, nr[FUSION_FAST],
		       nr[FUSION_SLOW], div_u64(sum, end - first), max, protected);
		if (fs->land.max)
			DMEMIT(" %llu", logged);
		DMEMIT("\n");
		cond_resched();
	}
	return 1;
}

struct heat_bucket {
	u32 least;
	u32 nr[FUSION_NR_DEVS];
	u64 sum[FUSION_NR_DEVS];
};

/* Mapped extents by heat; unmapped ones need no room. */
static int fusion_message_histogram(struct fusion *fs, char *result, unsigned int maxlen)
{
	struct heat_bucket *hist, *b;
	unsigned int i, sz = 0;
	u32 lext, least;

	/* A set that was never written has nothing to print. */
	if (maxlen)
		*result = '\0';
	/* NOIO: the fused device may be suspended. */
	hist = kcalloc(FUSION_BUCKETS, sizeof(*hist), GFP_NOIO);
	if (!hist)
		return -ENOMEM;
	for (lext = 0; lext < fs->sb.nr_lexts; lext++) {
		u32 word = READ_ONCE(fs->map[lext]);

		if (fusion_word_mapped(word)) {
			u32 heat = fusion_policy_heat(fs->policy, lext);

			b = &hist[fusion_policy_bucket(heat, &least)];
			b->least = least;
			b->nr[fusion_word_dev(word)]++;
			b->sum[fusion_word_dev(word)] += heat;
		}
		if (!(lext % 65536))
			cond_resched();
	}
	for (i = 0; i < FUSION_BUCKETS; i++) {
		b = &hist[i];
		if (b->nr[FUSION_FAST] || b->nr[FUSION_SLOW])
			DMEMIT("%u %u %u %llu %llu\n", b->least, b->nr[FUSION_FAST],
			       b->nr[FUSION_SLOW], b->sum[FUSION_FAST], b->sum[FUSION_SLOW]);
	}
	kfree(hist);
	return 1;
}

/* Messages that write: may they now? */
static int fusion_may_write(struct dm_target *ti)
{
	if (fusion_mode(ti->private) != FUSION_RW)
		return -EROFS;
	return dm_suspended(ti) ? -EAGAIN : 0;
}

/* A request that says no more. With three of these, the frame of fusion_message() is too large. */
static noinline_for_stack int fusion_message_bare(struct fusion *fs, enum fusion_force_kind kind)
{
	struct fusion_force force = { .kind = kind };

	return fusion_force(fs, &force);
}

/* Turn the landing log off, until it is turned on or another table is loaded. */
static noinline_for_stack int fusion_message_landing(struct fusion *fs, unsigned int argc,
						     char **argv)
{
	struct fusion_force force = { .kind = FUSION_DRAIN, .off = true };
	int r;

	if (argc != 1 || (strcmp(argv[0], "on") && strcmp(argv[0], "off")))
		return fusion_bad_message("not on or off", "landing");
	if (!fs->land.max)
		return 0;
	if (fusion_sb_has_old(&fs->sb)) {
		DMERR("%s: landing: the log is off while a member is being replaced",
		      dm_table_device_name(fs->ti->table));
		return strcmp(argv[0], "off") ? -EBUSY : 0;
	}
	r = strcmp(argv[0], "on") ? fusion_force(fs, &force) : 0;
	if (r || !strcmp(argv[0], "on"))
		fusion_land_turn_on(fs);
	return r;
}

int fusion_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
		   unsigned int maxlen)
{
	struct fusion *fs = ti->private;
	int r;

	if (fusion_mode(fs) == FUSION_FAIL) {
		DMERR("message: the set is not loaded");
		return -EIO;
	}
	if (argc == 1 && !strcmp(argv[0], "checkpoint")) {
		r = fusion_may_write(ti);
		if (r)
			return r;
		r = fusion_checkpoint_wait(fs, false);
		/* The status of the replica shows a failure. */
		fusion_replica_update(fs, true);
		return r;
	}
	if (argc > 1 && argc & 1 && !strcmp(argv[0], "keep")) {
		return fusion_may_write(ti) ?:
		       fusion_change_settings(fs, argc - 1, argv + 1, true);
	}
	if (argc == 2 && !strcmp(argv[0], "label")) {
		r = fusion_may_write(ti) ?: fusion_change_label(fs, argv[1]);
		/* For the slow member. The status of the replica shows a failure. */
		if (!r)
			fusion_replica_update(fs, false);
		return r;
	}
	if (argc == 1 && !strcmp(argv[0], "settings"))
		return fusion_message_settings(fs, result, maxlen);
	if (argc == 1 && !strcmp(argv[0], "stats"))
		return fusion_message_stats(fs, result, maxlen);
	if (argc == 1 && !strcmp(argv[0], "histogram"))
		return fusion_message_histogram(fs, result, maxlen);
	if ((argc == 2 || argc == 3) && !strcmp(argv[0], "promote"))
		return fusion_message_move(fs, FUSION_FAST, argv[1], argc == 3 ? argv[2] : NULL,
					   result, maxlen);
	if ((argc == 2 || argc == 3) && !strcmp(argv[0], "demote"))
		return fusion_message_move(fs, FUSION_SLOW, argv[1], argc == 3 ? argv[2] : NULL,
					   result, maxlen);
	if (argc == 4 && !strcmp(argv[0], "fence"))
		return fusion_message_fence(fs, argv[1], argv[2], argv[3]);
	if (argc == 2 && !strcmp(argv[0], "fence") && !strcmp(argv[1], "off"))
		return fusion_message_bare(fs, FUSION_NO_FENCE);
	if (argc && !strcmp(argv[0], "fence"))
		return fusion_bad_message("not fast|slow <first slot> <last slot>, or off",
					  argv[0]);
	if (argc && !strcmp(argv[0], "homing"))
		return fusion_message_homing(fs, argc - 1, argv + 1);
	if (argc && !strcmp(argv[0], "pin"))
		return fusion_may_write(ti) ?: fusion_message_pin(fs, argc - 1, argv + 1);
	if (argc == 1 && !strcmp(argv[0], "pins"))
		return fusion_message_pins(fs, result, maxlen);
	if (argc == 1 && !strcmp(argv[0], "settle"))
		return fusion_may_write(ti) ?: fusion_message_bare(fs, FUSION_SETTLE);
	if (argc == 1 && !strcmp(argv[0], "point"))
		return fusion_may_write(ti) ?: fusion_message_bare(fs, FUSION_POINT);
	if (argc == 1 && !strcmp(argv[0], "drain"))
		return fusion_may_write(ti) ?: fusion_message_bare(fs, FUSION_DRAIN);
	if (argc && !strcmp(argv[0], "landing"))
		return fusion_may_write(ti) ?: fusion_message_landing(fs, argc - 1, argv + 1);
	if (argc == 1 && !strcmp(argv[0], "unreadable"))
		return fusion_message_unread(fs, result, maxlen);
	if (argc == 2 && !strcmp(argv[0], "unreadable") && !strcmp(argv[1], "retry")) {
		fusion_retry_unread_now(fs);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[0], "heat"))
		return fusion_message_heat(fs, argv[1], result, maxlen);
	if (argc == 3 && !strcmp(argv[0], "map"))
		return fusion_message_map(fs, argv[1], argv[2], result, maxlen);
	if (argc == 3 && !strcmp(argv[0], "logged"))
		return fusion_message_logged(fs, argv[1], argv[2], result, maxlen);
	if (argc == 3 && !strcmp(argv[0], "extents"))
		return fusion_message_extents(fs, argv[1], argv[2], result, maxlen);
	if (argc == 1 && !strcmp(argv[0], "policy"))
		return fusion_message_policy(fs, result, maxlen);
	if (argc && !(argc & 1)) {
		r = fusion_change_settings(fs, argc, argv, false);
		if (r != -ENOENT)
			return r;
	}
	return fusion_bad_message("unknown message, or wrong number of arguments", argv[0]);
}
