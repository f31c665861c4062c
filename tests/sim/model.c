// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>

#include "model.h"
#include "shim/misc.h"

#define NEVER		U64_MAX
#define STAMP_BIT	BIT_ULL(62)

struct change_info {
	enum change kind;
	u32 sector;
	u32 nr;
	u64 issued;
	u64 completed;		/* without an error */
	bool durable;
	bool ended;
	u32 life;		/* of the set: a cut ends it */
};

/* The changes that can still be found in a sector. */
struct history {
	u32 *number;
	u32 nr;
	u32 max;
};

/* The changes of an extent that the replica may not know yet. */
struct unmapping {
	u32 under_way;		/* changes that may unmap it */
	u64 last;		/* when it was, or may have been, unmapped last */
	u64 thinned;		/* when a part of it was, or may have been, discarded last */
	u64 known;		/* the replica knows of all before */
};

/* The last change of a sector that has completed for certain, since the last cut. */
struct newest {
	u32 number;		/* 0: none */
	u64 second;		/* of the time of day, when it completed */
};

/*
 * What may be found in a sector after a cut, as long as the model does not change. The many cuts in
 * a recovery ask for the same again.
 */
struct judged {
	u64 content;
	u32 state;
};

struct model {
	u32 nr_sectors;
	u32 extent_sectors;
	u64 now;
	struct change_info *changes;	/* number 0 is the content in base */
	u32 nr;
	u32 max;
	unsigned int reads;		/* under way: they may still find what is gone now */
	u32 first_volatile;		/* all before are durable, or failed */
	struct history *history;
	struct judged *judged;		/* of each sector */
	u32 state;			/* counts what a verdict depends on */
	u64 *base;
	struct unmapping *unmapping;	/* of each extent */
	struct history *all;		/* of each extent: all changes there ever were */
	u32 life;
	struct newest *newest;		/* of each sector */
	bool cut;
};

struct model *model_new(u32 nr_sectors, u32 extent_sectors)
{
	struct model *m = calloc(1, sizeof(*m));
	u64 *zeros = calloc(nr_sectors, sizeof(*zeros));

	m->nr_sectors = nr_sectors;
	m->extent_sectors = extent_sectors;
	m->history = calloc(nr_sectors, sizeof(*m->history));
	m->judged = calloc(nr_sectors, sizeof(*m->judged));
	m->base = calloc(nr_sectors, sizeof(*m->base));
	m->unmapping = calloc(nr_sectors / extent_sectors, sizeof(*m->unmapping));
	m->newest = calloc(nr_sectors, sizeof(*m->newest));
	m->all = calloc(nr_sectors / extent_sectors, sizeof(*m->all));
	m->max = 64;
	m->changes = calloc(m->max, sizeof(*m->changes));
	m->nr = 1;
	model_rebase(m, zeros);
	free(zeros);
	return m;
}

void model_free(struct model *m)
{
	u32 s;

	if (!m)
		return;
	for (s = 0; s < m->nr_sectors; s++)
		free(m->history[s].number);
	for (s = 0; s < m->nr_sectors / m->extent_sectors; s++)
		free(m->all[s].number);
	free(m->all);
	free(m->history);
	free(m->judged);
	free(m->base);
	free(m->unmapping);
	free(m->newest);
	free(m->changes);
	free(m);
}

static void remember(struct history *h, u32 number)
{
	if (h->nr == h->max) {
		h->max = max(2 * h->max, 4U);
		h->number = realloc(h->number, h->max * sizeof(*h->number));
	}
	h->number[h->nr++] = number;
}

/* A change that may unmap extents begins or ends. */
static void count_unmapping(struct model *m, const struct change_info *c, int nr)
{
	u32 lext = DIV_ROUND_UP(c->sector, m->extent_sectors);
	u32 end = (c->sector + c->nr) / m->extent_sectors;

	if (c->kind == CHANGE_WRITE)
		return;
	for (; lext < end; lext++) {
		m->unmapping[lext].under_way += nr;
		m->unmapping[lext].last = m->now;
	}
	if (c->kind != CHANGE_DISCARD)
		return;
	for (lext = c->sector / m->extent_sectors; lext * m->extent_sectors < c->sector + c->nr;
	     lext++)
		m->unmapping[lext].thinned = m->now;
}

/*
 * The numbers go on, so that no stamp comes twice. Until now a sector of which a part of an
 * extent was discarded could hold what was there before as well: who learns late may say so
 * still, but it is no content of the sector any more.
 */
void model_rebase(struct model *m, const u64 *content)
{
	struct unmapping *u;
	u32 i;

	m->reads = 0;
	m->life++;
	m->now++;
	m->state++;
	memcpy(m->base, content, m->nr_sectors * sizeof(*m->base));
	for (i = 0; i < m->nr; i++) {
		if (!m->changes[i].ended)
			count_unmapping(m, &m->changes[i], -1);
		m->changes[i].ended = true;
	}
	for (u = m->unmapping; u < m->unmapping + m->nr_sectors / m->extent_sectors; u++)
		if (u->thinned > u->known)
			u->last = max(u->last, u->thinned);
	memset(m->newest, 0, m->nr_sectors * sizeof(*m->newest));
	m->cut = false;
	m->changes[0].completed = m->now;
	m->changes[0].durable = true;
	for (i = 0; i < m->nr_sectors; i++) {
		m->history[i].nr = 0;
		remember(&m->history[i], 0);
	}
	m->first_volatile = m->nr;
}

u32 model_issue(struct model *m, enum change kind, u32 sector, u32 nr)
{
	struct change_info *c;
	u32 i;

	if (m->nr == m->max) {
		m->max *= 2;
		m->changes = realloc(m->changes, m->max * sizeof(*m->changes));
	}
	m->state++;
	c = &m->changes[m->nr];
	*c = (struct change_info) { kind, sector, nr, ++m->now, NEVER, false, false, m->life };
	for (i = 0; i < nr; i++)
		remember(&m->history[sector + i], m->nr);
	for (i = sector / m->extent_sectors; i * m->extent_sectors < sector + nr; i++)
		remember(&m->all[i], m->nr);
	count_unmapping(m, c, 1);
	return m->nr++;
}

u64 model_stamp(u32 number, u32 sector)
{
	return STAMP_BIT | (u64)number << 24 | sector;
}

bool model_stamp_is_of(u64 stamp, u32 sector)
{
	return (stamp & STAMP_BIT) && !(stamp >> 63) && (stamp & 0xffffff) == sector;
}

/* Does it say what the sector holds then? */
static bool certain(const struct model *m, const struct change_info *c, u32 sector)
{
	u32 first = round_down(sector, m->extent_sectors);

	return c->kind != CHANGE_DISCARD ||
	       (c->sector <= first && c->sector + c->nr >= first + m->extent_sectors);
}

static bool gone_after_cut(const struct model *m, const struct change_info *k, u32 sector)
{
	const struct history *h = &m->history[sector];
	u32 i;

	for (i = 0; i < h->nr; i++) {
		const struct change_info *j = &m->changes[h->number[i]];

		if (j->durable && k->completed < j->issued && certain(m, j, sector))
			return true;
	}
	return false;
}

static bool gone_at(const struct model *m, const struct change_info *k, u32 sector, u64 time)
{
	const struct history *h = &m->history[sector];
	u32 i;

	for (i = 0; i < h->nr; i++) {
		const struct change_info *j = &m->changes[h->number[i]];

		if (j->completed < time && k->completed < j->issued && certain(m, j, sector))
			return true;
	}
	return false;
}

/* Content that will never be found again can be forgotten. */
static void forget(struct model *m, const struct change_info *c)
{
	u32 i, s, n;

	if (m->reads)
		return;
	for (s = c->sector; s < c->sector + c->nr; s++) {
		struct history *h = &m->history[s];

		if (!certain(m, c, s))
			continue;
		for (i = 0, n = 0; i < h->nr; i++)
			if (m->changes[h->number[i]].completed >= c->issued)
				h->number[n++] = h->number[i];
		h->nr = n;
	}
}

static void make_durable(struct model *m, struct change_info *c)
{
	c->durable = true;
	m->state++;
	forget(m, c);
}

void model_complete(struct model *m, u32 number, bool ok, bool durable)
{
	struct change_info *c = &m->changes[number];
	u64 second = ktime_get_real_seconds();
	u32 s;

	if (c->ended)
		return;
	c->ended = true;
	m->now++;
	m->state++;
	count_unmapping(m, c, -1);
	if (!ok)
		return;
	c->completed = m->now;
	for (s = c->sector; s < c->sector + c->nr; s++)
		if (certain(m, c, s))
			m->newest[s] = (struct newest){ number, second };
	if (durable)
		make_durable(m, c);
}

u64 model_time(struct model *m)
{
	return ++m->now;
}

void model_flushed(struct model *m, u64 time)
{
	u32 i;

	for (i = m->first_volatile; i < m->nr; i++) {
		struct change_info *c = &m->changes[i];

		if (!c->durable && c->completed < time)
			make_durable(m, c);
	}
	while (m->first_volatile < m->nr && m->changes[m->first_volatile].ended &&
	       (m->changes[m->first_volatile].durable ||
		m->changes[m->first_volatile].completed == NEVER))
		m->first_volatile++;
}

static u64 value(const struct model *m, u32 number, u32 sector)
{
	if (!number)
		return m->base[sector];
	return m->changes[number].kind == CHANGE_WRITE ? model_stamp(number, sector) : 0;
}

static const char *check(struct model *m, u32 sector, u64 found, u64 time)
{
	const struct history *h = &m->history[sector];
	u32 i;

	for (i = 0; i < h->nr; i++) {
		const struct change_info *k = &m->changes[h->number[i]];

		if (value(m, h->number[i], sector) != found)
			continue;
		if (time == NEVER ? !gone_after_cut(m, k, sector) :
				    !gone_at(m, k, sector, time))
			return NULL;
	}
	if (!found)
		return "zeros where there is data";
	if (found == MODEL_LOST)
		return "lost, and it was not";
	if (found >> 63)
		return "what somebody else left on the disk";
	if (!model_stamp_is_of(found, sector))
		return "another sector's data";
	return "data that was overwritten";
}

u64 model_read_begin(struct model *m)
{
	m->reads++;
	return ++m->now;
}

void model_read_end(struct model *m)
{
	m->reads--;
}

const char *model_check_read(struct model *m, u64 time, u32 sector, u64 found)
{
	return check(m, sector, found, time);
}

const char *model_check_cut(struct model *m, u32 sector, u64 found)
{
	struct judged *judged = &m->judged[sector];
	const char *wrong;

	if (judged->state == m->state && judged->content == found)
		return NULL;
	wrong = check(m, sector, found, NEVER);
	if (!wrong)
		*judged = (struct judged){ found, m->state };
	return wrong;
}

bool model_cut(struct model *m, bool cut)
{
	const bool before = m->cut;

	m->cut = cut;
	return before;
}

const char *model_check_since(struct model *m, u64 second, u32 sector, u64 found)
{
	const struct newest *newest = &m->newest[sector];
	const struct history *h = &m->history[sector];
	const struct change_info *last = &m->changes[newest->number];
	u32 i;

	if (found && !model_stamp_is_of(found, sector))
		return "another sector's data";
	if (!newest->number || newest->second >= second || (m->cut && !last->durable))
		return NULL;
	if (found)
		return m->changes[found >> 24 & U32_MAX].completed < last->issued ?
		       "data from before that" : NULL;
	for (i = 0; i < h->nr; i++)
		if (h->number[i] && m->changes[h->number[i]].kind != CHANGE_WRITE &&
		    m->changes[h->number[i]].completed >= last->issued)
			return NULL;
	return last->kind == CHANGE_WRITE ? "zeros from before that" : NULL;
}

/* Had the change @c, before another one began, certainly replaced something that was found? */
static bool replaced(const struct model *m, const struct change_info *c, u32 first,
		     const u64 *found)
{
	u32 s, end = min(c->sector + c->nr, first + m->extent_sectors);

	for (s = max(c->sector, first); s < end; s++) {
		const struct change_info *k = &m->changes[found[s - first] >> 24 & U32_MAX];

		if (found[s - first] && certain(m, c, s) &&
		    (k->life < c->life || k->completed < c->issued))
			return true;
	}
	return false;
}

bool model_is_whole(const struct model *m, u32 lext, const u64 *found)
{
	const struct history *all = &m->all[lext];
	u32 first = lext * m->extent_sectors, s, i, newest = 0;

	for (s = 0; s < m->extent_sectors; s++)
		newest = max(newest, (u32)(found[s] >> 24));
	for (i = 0; newest && i < all->nr; i++) {
		const struct change_info *c = &m->changes[all->number[i]];
		const struct change_info *last = &m->changes[newest];

		/* a cut may have undone what was not durable */
		if (c->durable && c->life == last->life && c->completed < last->issued &&
		    replaced(m, c, first, found)) {
			sim_log("change %u, %u+%u, is missing, and %u came later", all->number[i],
				c->sector, c->nr, newest);
			return false;
		}
	}
	return true;
}

void model_unmapped(struct model *m, u32 lext)
{
	m->unmapping[lext].last = ++m->now;
}

void model_replica_knows(struct model *m, u32 lext)
{
	m->unmapping[lext].known = m->now;
}

bool model_replica_may_lag(const struct model *m, u32 lext)
{
	const struct unmapping *u = &m->unmapping[lext];

	return u->under_way || u->last > u->known;
}

void model_explain(struct model *m, u32 sector, u64 found)
{
	static const char * const names[] = { "write", "zeroes", "discard" };
	const struct history *h = &m->history[sector];
	u32 i;

	sim_log("sector %u (extent %u) holds %llx; may hold:", sector,
		sector / m->extent_sectors, found);
	for (i = 0; i < h->nr; i++) {
		const struct change_info *c = &m->changes[h->number[i]];

		sim_log("  %llx: %s %u+%u issued %llu completed %lld%s",
			value(m, h->number[i], sector), h->number[i] ? names[c->kind] : "base",
			c->sector, c->nr, c->issued, (long long)c->completed,
			c->durable ? " durable" : "");
	}
}
