// SPDX-License-Identifier: GPL-2.0-only
/* Rates of two samples, and the share of hits over longer times. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "top.h"
#include "fusionctl.h"

/* Two marks are about a second apart. */
#define MARK_SECONDS	0.9
/* Samples do not come at the exact second. */
#define TOLERANCE	0.1

const double top_window[NR_TOP_WINDOWS] = { 1, 60, 900 };

bool top_parse_disk(const char *text, struct top_disk *d)
{
	uint64_t merges[2];

	*d = (struct top_disk) { 0 };
	d->known = sscanf(text, "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64
			  "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64,
			  &d->ios[TOP_READ], &merges[TOP_READ], &d->sectors[TOP_READ],
			  &d->ms[TOP_READ], &d->ios[TOP_WRITE], &merges[TOP_WRITE],
			  &d->sectors[TOP_WRITE], &d->ms[TOP_WRITE], &d->in_flight, &d->busy_ms,
			  &d->queue_ms) == 11;
	return d->known;
}

void top_parse_stats(const char *answer, struct top_sample *s)
{
	s->moves[TOP_EVACUATED] = fus_stat_of(answer, "evacuated");
	s->moves[TOP_SHADOWED] = fus_stat_of(answer, "shadow_copies");
	fus_log_stats(answer, &s->log);
}

/* A counter that went back began again. */
static uint64_t since(uint64_t was, uint64_t is)
{
	return is >= was ? is - was : is;
}

static void disk_rate(const struct top_disk *was, const struct top_disk *is, double seconds,
		      struct top_rate *r)
{
	r->ms[TOP_READ] = -1;
	r->ms[TOP_WRITE] = -1;
	r->known = was->known && is->known && was->devno == is->devno;
	if (!r->known)
		return;
	r->in_flight = is->in_flight;
	for (int dir = 0; dir < 2; dir++) {
		uint64_t ios = since(was->ios[dir], is->ios[dir]);

		r->ios[dir] = ios / seconds;
		r->bytes[dir] = since(was->sectors[dir], is->sectors[dir]) * 512.0 / seconds;
		r->ms[dir] = ios ? (double)since(was->ms[dir], is->ms[dir]) / ios : -1;
	}
	/* the kernel's time and ours differ a little */
	r->busy = since(was->busy_ms, is->busy_ms) / seconds / 1000;
	if (r->busy > 1)
		r->busy = 1;
	r->queue = since(was->queue_ms, is->queue_ms) / seconds / 1000;
}

void top_get_rates(const struct top_sample *was, const struct top_sample *is, struct top_rates *r)
{
	double demoted;

	*r = (struct top_rates) { .seconds = is->at - was->at };
	if (r->seconds <= 0)
		return;
	for (int dev = 0; dev < 2; dev++)
		disk_rate(&was->disk[dev], &is->disk[dev], r->seconds, &r->disk[dev]);
	for (int i = 0; i < NR_TOP_MOVES; i++)
		r->moves[i] = since(was->moves[i], is->moves[i]) / r->seconds;
	demoted = r->moves[TOP_DEMOTED];
	r->swaps = r->moves[TOP_PROMOTED] < demoted ? r->moves[TOP_PROMOTED] : demoted;
	r->drained = since(was->drained, is->drained) / r->seconds;
	if (!was->log.known || !is->log.known)
		return;
	r->landed = since(was->log.landed, is->log.landed) / r->seconds;
	r->waited = since(was->log.waited, is->log.waited) / r->seconds;
}

/* -- history ---------------------------------------------------------------------- */

static unsigned int nth(const struct top_history *h, unsigned int i)
{
	return (h->first + i) % TOP_MARKS;
}

static bool went_back(const struct top_history *h, const struct top_sample *s)
{
	const uint64_t (*last)[2] = h->mark[nth(h, h->nr - 1)].hits;

	for (int i = 0; i < 4; i++)
		if (s->hits[i / 2][i % 2] < last[i / 2][i % 2])
			return true;
	return false;
}

static void remember_past(struct top_history *h, const struct top_sample *s)
{
	const uint64_t (*last)[2] = h->mark[nth(h, h->nr - 1)].hits;
	bool full = h->nr_past == TOP_PAST;

	h->nr_past -= full;
	for (int dir = 0; dir < 2; dir++) {
		uint64_t fast = s->hits[dir][FAST] - last[dir][FAST];
		uint64_t all = fast + s->hits[dir][SLOW] - last[dir][SLOW];

		if (full)
			memmove(h->past[dir], h->past[dir] + 1, TOP_PAST - 1);
		h->past[dir][h->nr_past] = all ? fast * 100 / all : TOP_NO_IO;
	}
	h->nr_past++;
}

void top_remember(struct top_history *h, const struct top_sample *s)
{
	unsigned int i;

	if (h->nr && went_back(h, s))
		memset(h, 0, sizeof(*h));
	if (h->nr)
		remember_past(h, s);
	/* the newest is always there; those before it are as far apart as they have to be */
	if (h->nr >= 2 && h->mark[nth(h, h->nr - 1)].at - h->mark[nth(h, h->nr - 2)].at <
	    MARK_SECONDS)
		h->nr--;
	if (h->nr == TOP_MARKS) {
		h->first = nth(h, 1);
		h->nr--;
	}
	i = nth(h, h->nr++);
	h->mark[i].at = s->at;
	memcpy(h->mark[i].hits, s->hits, sizeof(s->hits));
}

void top_get_hits(const struct top_history *h, enum top_direction dir, double seconds,
		  struct top_hits *hits)
{
	unsigned int from, now;
	uint64_t slow;

	*hits = (struct top_hits) { 0 };
	if (h->nr < 2)
		return;
	now = nth(h, h->nr - 1);
	from = now;
	for (unsigned int i = h->nr - 1; i; i--) {
		from = nth(h, i - 1);
		hits->seconds = h->mark[now].at - h->mark[from].at;
		if (hits->seconds >= seconds - TOLERANCE)
			break;
	}
	hits->fast = h->mark[now].hits[dir][FAST] - h->mark[from].hits[dir][FAST];
	slow = h->mark[now].hits[dir][SLOW] - h->mark[from].hits[dir][SLOW];
	hits->all = hits->fast + slow;
}
