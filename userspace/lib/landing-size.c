// SPDX-License-Identifier: GPL-2.0-only
/* The landing log of a set: its size as users write it, and what cannot be done with one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "landing-size.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "log-stats.h"
#include "open-set.h"
#include "scan.h"
#include "setting.h"
#include "status-parse.h"
#include "dm-fusion-landing.h"

char *fus_slots_text(char buf[SIZE_TEXT], const struct fusion_sb *sb, uint64_t slots)
{
	return fus_size_text(buf, slots * sb->extent_sectors << 9);
}

static int too_large(const char *text, const struct fusion_sb *sb, u32 most)
{
	char size[SIZE_TEXT];

	fus_slots_text(size, sb, most);
	if (most == sb->nr_fast_slots / 2)
		return fus_fail(FC_USAGE, text, "is more than half of the fast member; choose a "
				"landing log of at most %s", size);
	return fus_fail(FC_USAGE, text, "is more than the journal of the set can keep track of; "
			"choose a landing log of at most %s, or larger extents", size);
}

/* Of what is a size. */
static bool is_zero(const char *text)
{
	return !strpbrk(text, "123456789");
}

int fus_landing_slots(const char *text, const struct fusion_sb *sb, u32 *slots)
{
	const uint64_t extent = (uint64_t)sb->extent_sectors << 9;
	const u32 most = fusion_landing_limit(sb);
	uint64_t bytes, nr;
	char least[SIZE_TEXT];

	if (fus_parse_share(text, sb->nr_fast_slots, &nr))
		bytes = nr * extent;
	else if (!fus_parse_size(text, &bytes))
		return fus_fail(FC_USAGE, text, "not a size; write a landing log as 8G or 12%%, "
				"or 0 for none");
	nr = bytes / extent + !!(bytes % extent);
	*slots = 0;
	if (nr > most)
		return too_large(text, sb, most);
	/* a share may come to nothing */
	if (nr < FUS_MIN_LANDING && !is_zero(text))
		return fus_fail(FC_USAGE, text, "is too small for a landing log; choose at least "
				"%s, or 0 for none", fus_slots_text(least, sb, FUS_MIN_LANDING));
	*slots = nr;
	return 0;
}

const char *fus_landing_state(const struct fusion_status *st)
{
	return st->log_stopped ? "stopped" : st->log_off ? "off" :
	       st->log_segments == st->log_most ? "full" : "ok";
}

void fus_landing_stats(const struct set *set, struct log_stats *log)
{
	char *stats = NULL;

	*log = (struct log_stats) { 0 };
	/* the kernel refuses that in mode fail, and says so in its log */
	if (set->st.logs && strcmp(set->st.mode, "fail") &&
	    !fus_dm_message(set->m.name, "stats", &stats) && stats)
		fus_log_stats(stats, log);
	free(stats);
}

int fus_landing_listed(const struct set *set, bool *listed)
{
	struct member *fast = NULL;
	int err = fus_member_at(set->member[FAST], &fast);

	if (!err && (!fast || !fast->sb))
		err = -ENODATA;
	*listed = !err && fast->sb->stale_places;
	fus_free_members(fast);
	return err;
}
