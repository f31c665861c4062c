// SPDX-License-Identifier: GPL-2.0-only
/* Verb doctor: landing logs that do not get on, or of which nothing is left without the SSD. */
#include <string.h>

#include "doctor.h"
#include "landing-health.h"
#include "landing-size.h"
#include "open-set.h"
#include "dm-fusion-codec.h"

static void check_list(struct doctor *d, const char *subject, bool listed)
{
	if (!listed)
		doctor_say(d, HEALTH_NOTE, subject, FUS_NO_LIST_REMEDY, "%s", FUS_NO_LIST);
}

void doctor_landing(struct doctor *d, const struct set *set, const char *subject, health_fn each,
		    void *ctx)
{
	struct log_stats log;
	bool listed;

	if (!set->st.logs || !strcmp(set->st.mode, "fail"))
		return;
	fus_landing_stats(set, &log);
	fus_landing_health(set->m.name, &set->st, &log, each, ctx);
	if (!fus_landing_listed(set, &listed))
		check_list(d, subject, listed);
}

void doctor_closed_landing(struct doctor *d, const struct fusion_sb *sb, const char *subject)
{
	if (sb->incompat & FUSION_INCOMPAT_LANDING)
		check_list(d, subject, sb->stale_places);
}
