// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shadows: an extent of the fast member may have a slot on the slow one with what it had before.
 * The replica names that slot instead of the fast one, which it does not know then. So such a word
 * is no place of the extent, and nothing may take it for one.
 */
#include <stdio.h>
#include <time.h>

#include "fusionctl.h"
#include "meta.h"
#include "meta-base.h"
#include "meta-shadow.h"
#include "size.h"

void fus_count_shadows(const struct meta_state *st, struct shadows *s)
{
	*s = (struct shadows){ .point = st->point };
	for (u32 lext = 0; lext < st->nr_lexts; lext++) {
		if (!fusion_names_shadow(st->word[lext]))
			continue;
		if (fusion_word_state(st->word[lext]) == (u32)FUSION_SHADOW)
			s->current++;
		else
			s->outdated++;
	}
}

/* Of a clock that was set wrong there is no age to tell. */
static void add_age(char *buf, size_t size, u64 when)
{
	static const struct { u64 seconds; const char *name; } unit[] = {
		{ 86400, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" },
	};
	const time_t now = time(NULL);
	const u64 age = (u64)now - when;

	for (size_t i = 0; i < ARRAY_SIZE(unit) && when < (u64)now; i++) {
		const u64 n = age / unit[i].seconds;

		/* one hour is more than 60 minutes to some, and less to others */
		if (n < 2 && unit[i].seconds > 1)
			continue;
		snprintf(buf, size, ", %llu %s%s ago", (unsigned long long)n, unit[i].name,
			 fus_plural(n));
		return;
	}
}

char *fus_when_text(char buf[WHEN_TEXT], u64 when)
{
	const time_t t = when;
	struct tm tm;
	size_t n = 0;

	if (when && when <= INT64_MAX && localtime_r(&t, &tm))
		n = strftime(buf, WHEN_TEXT, "%Y-%m-%d %H:%M:%S", &tm);
	if (n)
		add_age(buf + n, WHEN_TEXT - n, when);
	else
		snprintf(buf, WHEN_TEXT, "an unknown time");
	return buf;
}

bool fus_any_shadow(const u32 *word, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (fusion_names_shadow(word[i]))
			return true;
	return false;
}

bool fus_replica_agrees(u32 map, u32 replica)
{
	if (!fusion_names_shadow(replica))
		return map == replica;
	return fusion_word_mapped(map) && fusion_word_dev(map) == FUSION_FAST &&
	       fusion_word_state(map) == FUSION_STABLE;
}

void fus_shadows_judge(const struct fusion_sb *sb, struct rebuild *rb)
{
	const bool announced = sb && sb->incompat & FUSION_INCOMPAT_SHADOW;

	for (u32 lext = 0; lext < rb->st.nr_lexts; lext++) {
		const u32 word = rb->st.word[lext];

		if (!fusion_names_shadow(word))
			continue;
		if (!announced)
			fus_rebuild_drop(rb, lext);
		else if (rb->missing_txns)
			rb->st.word[lext] = fusion_shadow_word(FUSION_OUTDATED,
							       fusion_word_slot(word));
	}
}
