// SPDX-License-Identifier: GPL-2.0-only
/*
 * The status line of the kernel's target. Nothing else in the tool knows its order. This depends
 * on nothing, so that it can be tested and fuzzed alone.
 */
#include <stdlib.h>
#include <string.h>

#include "status-parse.h"
#include "fusionctl.h"

/* The next word, up to a space, into @word; false at the end or if it is too long. */
static bool next_word(const char **p, char *word, size_t size)
{
	size_t n;

	*p += strspn(*p, " ");
	n = strcspn(*p, " ");
	if (!n || n >= size)
		return false;
	memcpy(word, *p, n);
	word[n] = 0;
	*p += n;
	return true;
}

static bool next_number(const char **p, char stop, uint64_t *v)
{
	uint64_t digit;
	const char *s;

	*p += strspn(*p, " ");
	*v = 0;
	for (s = *p; *s >= '0' && *s <= '9'; s++) {
		digit = *s - '0';
		if (*v > (UINT64_MAX - digit) / 10)
			return false;
		*v = *v * 10 + digit;
	}
	if (s == *p || (*s != stop && (*s || stop != ' ')))
		return false;
	*p = *s && stop != ' ' ? s + 1 : s;
	return true;
}

static bool next_pair(const char **p, uint64_t *part, uint64_t *whole)
{
	return next_number(p, '/', part) && **p != ' ' && next_number(p, ' ', whole);
}

/* How much the slow member has, and since when. */
static bool parse_protected(const char **p, struct fusion_status *st)
{
	const char *s;

	if (!next_pair(p, &st->protected, &st->on_fast))
		return false;
	s = *p + strspn(*p, " ");
	st->pointed = *s != '-';
	if (!st->pointed)
		*p = s + 1;
	else if (!next_number(p, ' ', &st->point_age))
		return false;
	return **p == ' ' && next_pair(p, &st->metadata, &st->metadata_fast);
}

static const char *parse_options(const char **p, struct fusion_status *st)
{
	uint64_t words;

	if (!next_number(p, ' ', &words) || words % 2)
		return "bad number of options";
	if (words / 2 > STATUS_MAX_OPTIONS)
		return "too many options";
	for (; st->nr_options < words / 2; st->nr_options++)
		if (!next_word(p, st->option[st->nr_options].key,
			       sizeof(st->option[0].key)) ||
		    !next_word(p, st->option[st->nr_options].value,
			       sizeof(st->option[0].value)))
			return "bad option";
	return NULL;
}

/* Only while it is on. */
static const char *parse_homing(const char **p, struct fusion_status *st)
{
	char word[16];

	*p += strspn(*p, " ");
	if (strncmp(*p, "homing ", strlen("homing ")))
		return NULL;
	next_word(p, word, sizeof(word));
	if (!next_number(p, ' ', &st->homing_away) || !next_number(p, ' ', &st->homing_blank))
		return "bad homing";
	st->homing = true;
	return NULL;
}

/* Only if there are any. */
static const char *parse_lost(const char **p, struct fusion_status *st)
{
	char word[16];

	*p += strspn(*p, " ");
	if (strncmp(*p, "lost ", strlen("lost ")))
		return NULL;
	next_word(p, word, sizeof(word));
	if (!next_number(p, ' ', &st->lost) || !next_number(p, ' ', &st->partly_lost) ||
	    st->partly_lost > st->lost)
		return "bad number of lost extents";
	return NULL;
}

/* Only of a set that has one. */
static const char *parse_log(const char **p, struct fusion_status *st)
{
	char word[16];

	*p += strspn(*p, " ");
	if (strncmp(*p, "log ", strlen("log ")))
		return NULL;
	next_word(p, word, sizeof(word));
	if (!next_number(p, ' ', &st->log_blocks) ||
	    !next_pair(p, &st->log_segments, &st->log_most) || st->log_segments > st->log_most ||
	    !next_number(p, ' ', &st->log_drained) || !next_word(p, word, sizeof(word)))
		return "bad landing log";
	st->log_stopped = !strcmp(word, "stopped");
	st->log_off = !strcmp(word, "off");
	if (!st->log_stopped && !st->log_off && strcmp(word, "ok"))
		return "bad state of the landing log";
	st->logs = true;
	return NULL;
}

/* The same: copies of what is read, which are in slots that the log does not use. */
static const char *parse_copies(const char **p, struct fusion_status *st)
{
	char word[16];

	*p += strspn(*p, " ");
	if (strncmp(*p, "copies ", strlen("copies ")))
		return NULL;
	next_word(p, word, sizeof(word));
	return next_number(p, ' ', &st->copies) && next_number(p, ' ', &st->copies_read) &&
	       next_number(p, ' ', &st->copies_made) ? NULL : "bad number of copies";
}

/* At the end, while a member is being replaced: "old fast 8:17 40 118 0". */
static const char *parse_old(const char **p, struct fusion_status *st)
{
	char word[8], dev[32];

	*p += strspn(*p, " ");
	if (!**p)
		return NULL;
	if (!next_word(p, word, sizeof(word)) || strcmp(word, "old"))
		return "more than expected";
	if (!next_word(p, word, sizeof(word)) || !next_word(p, dev, sizeof(dev)) ||
	    (strcmp(word, "fast") && strcmp(word, "slow")))
		return "bad old member";
	st->old.role = *word == 's' ? SLOW : FAST;
	if (!next_number(p, ' ', &st->old.left) || !next_number(p, ' ', &st->old.total) ||
	    !next_number(p, ' ', &st->old.unreadable))
		return "bad number of extents on the old member";
	*p += strspn(*p, " ");
	return **p ? "more than expected" : NULL;
}

const char *fus_parse_status(const char *line, struct fusion_status *st)
{
	uint64_t version;
	const char *why, *p = line;
	char word[16];

	memset(st, 0, sizeof(*st));
	st->old.role = -1;
	if (!next_number(&p, ' ', &version))
		return "no version";
	if (version != STATUS_VERSION)
		return "unknown version";
	if (!next_word(&p, st->mode, sizeof(st->mode)) ||
	    (strcmp(st->mode, "rw") && strcmp(st->mode, "ro") && strcmp(st->mode, "fail")))
		return "bad mode";
	if (!next_number(&p, ' ', &st->extent_sectors) || !st->extent_sectors)
		return "bad extent size";
	if (!next_pair(&p, &st->used[FAST], &st->total[FAST]) ||
	    !next_pair(&p, &st->used[SLOW], &st->total[SLOW]) ||
	    !next_pair(&p, &st->mapped, &st->extents) ||
	    !next_pair(&p, &st->journal_used, &st->journal_size))
		return "bad use of members, extents or journal";

	uint64_t *const counts[] = {
		&st->reads[FAST], &st->reads[SLOW], &st->writes[FAST], &st->writes[SLOW],
		&st->promotions, &st->demotions, &st->cancelled, &st->in_flight,
		&st->open, &st->quarantined, &st->commits, &st->checkpoints,
		&st->slow_flushes,
	};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (!next_number(&p, ' ', counts[i]))
			return "bad counter";
	if (!next_pair(&p, &st->reserve_free, &st->reserve))
		return "bad reserve";
	if (!next_word(&p, st->replica, sizeof(st->replica)) ||
	    (strcmp(st->replica, "ok") && strcmp(st->replica, "failed") &&
	     strcmp(st->replica, "-")) ||
	    !next_number(&p, ' ', &st->replica_dirty) ||
	    !next_number(&p, ' ', &st->replica_age))
		return "bad replica";
	if (!next_number(&p, ' ', &st->errors[FAST]) || !next_number(&p, ' ', &st->errors[SLOW]))
		return "bad number of errors";
	if (!next_pair(&p, &st->fence_used, &st->fence_slots))
		return "bad fence";
	if (!next_pair(&p, &st->shadows_current, &st->shadows) ||
	    !next_number(&p, ' ', &st->demotions_free))
		return "bad shadows";
	if (!parse_protected(&p, st))
		return "bad protected";
	why = parse_options(&p, st);
	if (why)
		return why;
	if (!next_word(&p, word, sizeof(word)) ||
	    (strcmp(word, "-") && strcmp(word, "needs_check")))
		return "bad end";
	st->needs_check = *word == 'n';
	why = parse_homing(&p, st);
	if (!why)
		why = parse_lost(&p, st);
	if (!why)
		why = parse_log(&p, st);
	if (!why)
		why = parse_copies(&p, st);
	return why ? why : parse_old(&p, st);
}

/* Rounded down, so 100 is all of it. */
static unsigned int percent(uint64_t part, uint64_t whole)
{
	if (part >= whole)
		return 100;
	return part > UINT64_MAX / 100 ? part / (whole / 100 + 1) : part * 100 / whole;
}

unsigned int fus_status_protected(const struct fusion_status *st)
{
	return percent(st->protected, st->on_fast);
}

unsigned int fus_status_metadata(const struct fusion_status *st)
{
	return percent(st->metadata, st->metadata_fast);
}

const char *fus_status_option(const struct fusion_status *st, const char *key)
{
	for (unsigned int i = 0; i < st->nr_options; i++)
		if (!strcmp(st->option[i].key, key))
			return st->option[i].value;
	return NULL;
}
