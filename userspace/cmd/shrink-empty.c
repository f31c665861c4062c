// SPDX-License-Identifier: GPL-2.0-only
/* Verb shrink: what is given up becomes empty. Until the end of that the set keeps its size. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <linux/fs.h>

#include "shrink.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "progress.h"
#include "role.h"
#include "runs.h"
#include "size.h"
#include "tell.h"

/* So much is discarded at a time. */
#define DISCARD_BYTES	(64ULL << 30)
/* How often to look at the fence; and how long there may be no room before that is the end. */
#define LOOK_MS		250
#define NO_ROOM_LOOKS	120

/* -- where the extents lie ------------------------------------------------------------------ */

/* How many of @nr numbers from @first on are not below @end? */
static uint64_t beyond(uint64_t first, uint64_t nr, uint64_t end)
{
	return first >= end ? nr : first + nr > end ? first + nr - end : 0;
}

static void count_run(void *ctx, const struct map_run *run)
{
	struct shrinking *s = ctx;
	const struct fusion_sb *sb = &s->r.sb;
	const uint64_t end[2] = { fusion_sb_slot_end(sb, FUSION_FAST),
				  fusion_sb_slot_end(sb, FUSION_SLOW) };
	uint64_t behind;

	behind = beyond(run->first, run->nr, sb->nr_lexts);
	/* what is lost there has to be discarded as well */
	if (run->dev < 0) {
		s->behind += run->lost ? behind : 0;
		return;
	}
	s->behind += behind;
	s->kept += run->nr - behind;
	s->moving += beyond(run->slot, run->nr - behind, end[run->dev]);
}

int shrink_count(struct shrinking *s)
{
	s->kept = 0;
	s->behind = 0;
	s->moving = 0;
	return fus_each_run(s->r.name, s->r.m[FAST]->sb->nr_lexts, count_run, s);
}

/* Slots that are out of use for ever, after write errors, make less room than the sizes tell. */
int shrink_check_room(const struct shrinking *s)
{
	const struct fusion_sb *sb = &s->r.sb, *now = s->r.m[FAST]->sb;
	const uint64_t room = (uint64_t)sb->nr_fast_slots - now->spare_fast + sb->nr_slow_slots -
			      now->spare_slow - now->landing_slots;
	uint64_t retired;
	int rc;

	rc = fus_tell_stat(s->r.name, "retired_slots", &retired);
	if (rc)
		return rc;
	if (s->kept + retired <= room)
		return 0;
	return fus_fail(FC_REFUSED, s->r.name, "has %" PRIu64 " extents in use, and would have "
			"room for %" PRIu64 "; discard free space, as with fstrim, or choose a "
			"larger size", s->kept, room - (retired < room ? retired : room));
}

/* -- discarding ----------------------------------------------------------------------------- */

static int stopped(const struct shrinking *s)
{
	return fus_fail(FC_FAILED, s->r.name, "was stopped, and is as large as before; run "
			"fusionctl shrink again");
}

int shrink_discard(const struct shrinking *s)
{
	const uint64_t extent = (uint64_t)s->r.sb.extent_sectors << 9;
	const uint64_t end = s->r.m[FAST]->sb->nr_lexts * extent;
	uint64_t range[2] = { s->r.sb.nr_lexts * extent };
	char path[160];
	int fd, err = 0;

	if (range[0] >= end)
		return 0;
	snprintf(path, sizeof(path), "/dev/mapper/%s", s->r.name);
	fd = fus_open_node(path, s->r.table.devno, O_RDWR);
	if (fd < 0)
		return fus_fail(FC_FAILED, path, "cannot be opened for writing: %s; see dmesg",
				strerror(errno));
	for (; range[0] < end && !err; range[0] += range[1]) {
		range[1] = end - range[0] < DISCARD_BYTES ? end - range[0] : DISCARD_BYTES;
		err = ioctl(fd, BLKDISCARD, range) ? errno : 0;
		if (!err && ending_signal_came()) {
			close(fd);
			return stopped(s);
		}
	}
	close(fd);
	return err ? fus_fail(FC_FAILED, s->r.name, "its end cannot be discarded: %s; see dmesg",
			      strerror(err)) : 0;
}

/* -- evacuating ----------------------------------------------------------------------------- */

static int put_up_fence(const struct shrinking *s)
{
	const struct fusion_sb *sb = &s->r.sb, *now = s->r.m[FAST]->sb;
	const uint64_t first = fusion_sb_slot_end(sb, s->dev);
	const uint64_t end = fusion_sb_slot_end(now, s->dev);
	char msg[96], reason[256], *answer;
	int rc;

	snprintf(msg, sizeof(msg), "fence %s %" PRIu64 " %" PRIu64, fus_role_name[s->dev], first,
		 end - 1);
	rc = fus_send_message(s->r.name, msg, &answer, reason, sizeof(reason));
	free(answer);
	return rc ? fus_fail(rc, s->r.name, "the end of %s cannot be emptied: %s; see dmesg",
			     s->r.m[s->dev]->path, reason) : 0;
}

/* Free slots outside the fence, without the spares. */
static bool has_room(const struct shrinking *s, const struct fusion_status *st)
{
	const struct fusion_sb *now = s->r.m[FAST]->sb;

	return st->total[FAST] - st->used[FAST] > now->spare_fast ||
	       st->total[SLOW] - st->used[SLOW] > now->spare_slow || st->quarantined ||
	       st->in_flight;
}

/* Until the fence is empty. */
static int wait_empty(const struct shrinking *s)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	const uint64_t extent = (uint64_t)s->r.sb.extent_sectors << 9;
	unsigned int full = 0;
	uint64_t most = 0;
	struct set set;
	int rc;

	for (;;) {
		rc = fus_set_get(s->r.name, &set);
		if (rc)
			return rc;
		fus_set_put(&set);
		if (strcmp(set.st.mode, "rw"))
			return fus_fail(FC_FAILED, s->r.name, "has had an error, and is in mode "
					"%s; see dmesg", set.st.mode);
		if (!set.st.fence_slots)
			return fus_fail(FC_BUSY, s->r.name, "its fence was taken down by someone "
					"else; run fusionctl shrink again");
		if (!set.st.fence_used)
			return 0;
		if (set.st.fence_used > most)
			most = set.st.fence_used;
		fus_progress_at((most - set.st.fence_used) * extent, NULL);
		full = has_room(s, &set.st) ? 0 : full + 1;
		if (full >= NO_ROOM_LOOKS)
			return fus_fail(FC_REFUSED, s->r.name, "has been written to, and %" PRIu64
					" extents have no room any more; discard free space, as "
					"with fstrim, or choose a larger size", set.st.fence_used);
		if (ending_signal_came())
			return stopped(s);
		nanosleep(&pause, NULL);
	}
}

void shrink_end_fence(const struct shrinking *s)
{
	char reason[256], *answer;

	fus_send_message(s->r.name, "fence off", &answer, reason, sizeof(reason));
	free(answer);
}

int shrink_evacuate(struct shrinking *s)
{
	char what[160];
	int rc;

	if (shrink_sectors(&s->r.sb, s->dev) == shrink_sectors(s->r.m[FAST]->sb, s->dev))
		return 0;
	rc = put_up_fence(s);
	if (rc)
		return rc;
	s->fenced = true;
	snprintf(what, sizeof(what), "%s: moving what is at the end of %s", s->r.name,
		 s->r.m[s->dev]->path);
	fus_progress_begin(what, &fus_progress_mib,
			   s->moving * ((uint64_t)s->r.sb.extent_sectors << 9));
	rc = wait_empty(s);
	fus_progress_end();
	return rc;
}
