// SPDX-License-Identifier: GPL-2.0-only
/* Messages, counters and the table line; dm-spindle-target.c describes them. */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>

#include "dm-spindle-target.h"

#define DM_MSG_PREFIX "spindle"

static int parse_watch(unsigned int argc, char **argv, u64 *start, u64 *count)
{
	if (argc != 3 || kstrtou64(argv[1], 10, start) || kstrtou64(argv[2], 10, count) ||
	    *start > MAX_SECTORS || *count > MAX_SECTORS) {
		DMERR("watch needs the first sector and how many");
		return -EINVAL;
	}
	return 0;
}

int spindle_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
		    unsigned int maxlen)
{
	struct spindle *s = ti->private;
	bool watch = !strcasecmp(argv[0], "watch");
	unsigned long flags;
	u64 start, count;
	int r;

	if (watch) {
		r = parse_watch(argc, argv, &start, &count);
		if (r)
			return r;
	} else if (argc != 1 || strcasecmp(argv[0], "reset")) {
		DMERR("unknown message %s; there are reset and watch", argv[0]);
		return -EINVAL;
	}
	spin_lock_irqsave(&s->lock, flags);
	if (watch)
		spindle_watch(&s->drive, start, start + count, ktime_get_ns());
	else
		spindle_stats_reset(&s->drive, ktime_get_ns());
	s->errors = 0;
	spin_unlock_irqrestore(&s->lock, flags);
	return 0;
}

static void emit_counters(struct spindle *s, char *result, unsigned int maxlen)
{
	struct spindle_stats st;
	unsigned long flags;
	u64 errors, dirty;
	u32 inflight;
	int sz = 0;

	spin_lock_irqsave(&s->lock, flags);
	spindle_stats_read(&s->drive, &st, ktime_get_ns());
	errors = s->errors;
	dirty = spindle_dirty(&s->drive);
	inflight = s->drive.outstanding;
	spin_unlock_irqrestore(&s->lock, flags);

	DMEMIT("reads=%llu writes=%llu flushes=%llu discards=%llu fuas=%llu",
	       st.reads, st.writes, st.flushes, st.discards, st.fuas);
	DMEMIT(" read_sectors=%llu write_sectors=%llu discard_sectors=%llu errors=%llu",
	       st.read_sectors, st.write_sectors, st.discard_sectors, errors);
	DMEMIT(" inflight=%u queue_max=%llu dirty_kib=%llu busy_us=%llu",
	       inflight, st.queue_max, dirty / 2, div_u64(st.busy_ns, NSEC_PER_USEC));
	DMEMIT(" read_hits=%llu cached=%llu destages=%llu",
	       st.read_hits, st.cached, st.destages);
	DMEMIT(" seeks=%llu seek_us=%llu rotate_us=%llu transfer_us=%llu aged=%llu",
	       st.seeks, div_u64(st.seek_ns, NSEC_PER_USEC),
	       div_u64(st.rotate_ns, NSEC_PER_USEC),
	       div_u64(st.transfer_ns, NSEC_PER_USEC), st.aged);
	DMEMIT(" work_us=%llu watched=%llu watched_us=%llu", div_u64(st.work_ns, NSEC_PER_USEC),
	       st.watched, div_u64(st.watched_ns, NSEC_PER_USEC));
}

void spindle_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
		    char *result, unsigned int maxlen)
{
	struct spindle *s = ti->private;
	struct spindle_params *p = &s->drive.p;
	unsigned int i;
	int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		emit_counters(s, result, maxlen);
		break;

	case STATUSTYPE_TABLE:
		DMEMIT("%s", s->dev->name);
		if (s->set)
			DMEMIT(" %lu", 2 * hweight_long(s->set));
		if (s->set & SET_PROFILE)
			DMEMIT(" profile %s", spindle_profile_names[p->profile]);
		for (i = 0; i < SPINDLE_KEYS; i++)
			if (s->set & BIT(i))
				DMEMIT(" %s %u", spindle_keys[i].name, *spindle_param(p, i));
		break;

	case STATUSTYPE_IMA:
		DMEMIT_TARGET_NAME_VERSION(ti->type);
		DMEMIT(",profile=%s;", spindle_profile_names[p->profile]);
		break;
	}
}
