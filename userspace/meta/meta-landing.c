// SPDX-License-Identifier: GPL-2.0-only
/*
 * The landing log of a closed set: the segments that the journal lists, and what they have. The log
 * is read as it is when the set is opened: dm-fusion-landing.h has the rules.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "meta-landing.h"
#include "meta-stale.h"

static const char what[] = "landing log";

/* -- what the journal says -------------------------------------------------------- */

static void free_blocks(struct log_blocks *has)
{
	free(has->block);
	free(has->at);
}

void fus_log_init(struct meta_log *log)
{
	*log = (struct meta_log){ .from = FUSION_LANDED_NOWHERE };
}

void fus_log_free(struct meta_log *log)
{
	for (u32 i = 0; i < log->nr; i++)
		free(log->seg[i]);
	free(log->seg);
	free_blocks(&log->has);
	fus_log_init(log);
}

/* Index of the first one whose slot is not below @slot. */
static u32 slot_index(const struct meta_log *log, u32 slot)
{
	u32 lo = 0, hi = log->nr;

	while (lo < hi) {
		const u32 mid = lo + (hi - lo) / 2;

		if (log->seg[mid]->seg.slot < slot)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool slot_is(const struct meta_log *log, u32 i, u32 slot)
{
	return i < log->nr && log->seg[i]->seg.slot == slot;
}

/* The segment in this slot, a new one if there is none; NULL if memory is short. */
static struct meta_segment *segment_get(struct meta_log *log, u32 slot)
{
	const u32 i = slot_index(log, slot);
	struct meta_segment *new, **seg;

	if (slot_is(log, i, slot))
		return log->seg[i];
	/* grows to powers of two */
	if (!(log->nr & (log->nr - 1))) {
		seg = realloc(log->seg, (log->nr ? 2 * (size_t)log->nr : 1) * sizeof(*seg));
		if (!seg)
			return NULL;
		log->seg = seg;
	}
	new = calloc(1, sizeof(*new));
	if (!new)
		return NULL;
	memmove(log->seg + i + 1, log->seg + i, (log->nr - i) * sizeof(*log->seg));
	log->seg[i] = new;
	log->nr++;
	return new;
}

static void segment_drop(struct meta_log *log, const struct fusion_segment *seg)
{
	const u32 i = slot_index(log, seg->slot);

	if (!slot_is(log, i, seg->slot) || log->seg[i]->seg.segno != seg->segno)
		return;
	free(log->seg[i]);
	log->nr--;
	memmove(log->seg + i, log->seg + i + 1, (log->nr - i) * sizeof(*log->seg));
}

int fus_log_apply(struct meta_log *log, const struct fusion_sb *sb,
		  const struct fusion_record *rec)
{
	struct meta_segment *s;

	if (rec->op == FUSION_OP_LANDED) {
		log->from = rec->landed;
		return 0;
	}
	if (rec->op == FUSION_OP_SEGFREE) {
		segment_drop(log, &rec->segment);
		return 0;
	}
	s = segment_get(log, rec->segment.slot);
	if (!s)
		return -ENOMEM;
	s->seg = rec->segment;
	s->seg.live = s->live;
	memcpy(s->live, rec->segment.live, fusion_bitmap_bytes(sb->extent_sectors));
	return 0;
}

static bool same_segment(const struct meta_segment *a, const struct meta_segment *b)
{
	return a->seg.slot == b->seg.slot && a->seg.segno == b->seg.segno &&
	       a->seg.key == b->seg.key && a->seg.end == b->seg.end &&
	       !memcmp(a->live, b->live, sizeof(a->live));
}

bool fus_log_same(const struct meta_log *a, const struct meta_log *b)
{
	if (a->nr != b->nr || a->from.seq != b->from.seq || a->from.csum != b->from.csum ||
	    a->from.segno != b->from.segno || a->from.pos != b->from.pos)
		return false;
	for (u32 i = 0; i < a->nr; i++)
		if (!same_segment(a->seg[i], b->seg[i]))
			return false;
	return true;
}

/* -- what it has -------------------------------------------------------------------- */

#define WINDOW_BLOCKS	64U	/* read at once */

struct reading {
	const struct offline *o;
	const struct fusion_sb *sb;
	const struct meta_state *st;
	struct landing_sum sum;
	struct log_blocks has;	/* of each entry that counts, older ones first; then sorted */
	size_t room;
	u32 partial;		/* an extent with entries that is partial, or U32_MAX */
	char *buf;
	u64 first;		/* block of the member in it, */
	u32 nr;			/* and the number of blocks */
};

static const void *read_block(void *ctx, const struct fusion_segment *seg, u32 pos)
{
	struct reading *c = ctx;
	const u64 nr = fusion_segment_blocknr(c->sb, seg->slot, pos);
	u32 n;

	if (nr < c->first || nr - c->first >= c->nr) {
		c->first = nr;
		n = min(WINDOW_BLOCKS, fusion_segment_blocks(c->sb) - pos);
		c->nr = n;
		if (fus_offline_read(c->o, nr * FUSION_BLOCK_SIZE, (size_t)n * FUSION_BLOCK_SIZE,
				     c->buf)) {
			/* perhaps it is another one that cannot be read */
			c->nr = !fus_offline_read(c->o, nr * FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE,
						  c->buf);
			if (!c->nr)
				return NULL;
		}
	}
	return c->buf + (nr - c->first) * FUSION_BLOCK_SIZE;
}

static int grow(struct reading *c)
{
	const size_t room = c->room ? 2 * c->room : 1024;
	u64 *block = realloc(c->has.block, room * sizeof(*block)), *at;

	if (!block)
		return -ENOMEM;
	c->has.block = block;
	at = realloc(c->has.at, room * sizeof(*at));
	if (!at)
		return -ENOMEM;
	c->has.at = at;
	c->room = room;
	return 0;
}

/* INV18: an extent that is partial has none, as it would not be known which of them count. */
static int count_entry(void *ctx, const struct fusion_segment *seg, u32 pos,
		       const struct fusion_entry *entry)
{
	struct reading *c = ctx;
	const u32 word = c->st->word[entry->lext];

	if (fusion_word_mapped(word) && fusion_word_state(word) == FUSION_OPEN)
		c->partial = min(c->partial, entry->lext);
	if (!fusion_word_mapped(word) || fusion_word_dev(word) == FUSION_FAST ||
	    fusion_word_state(word) == FUSION_OPEN) {
		c->sum.void_entries++;
		return 0;
	}
	if (c->has.nr == c->room && grow(c))
		return -ENOMEM;
	c->has.block[c->has.nr] = (u64)entry->lext * fusion_segment_blocks(c->sb) + entry->block;
	c->has.at[c->has.nr++] = fusion_segment_blocknr(c->sb, seg->slot, pos);
	return 0;
}

/* Of two that are the same block, the newer one comes later. */
static int by_block(const void *a, const void *b, void *block)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;
	const u64 *nr = block;

	return nr[x] < nr[y] ? -1 : nr[x] > nr[y] ? 1 : x < y ? -1 : x > y;
}

/* Sorts them, and leaves the newest version of each. */
static int keep_newest(struct log_blocks *has)
{
	u32 *order = malloc((has->nr + 1) * sizeof(*order));
	u64 *block = malloc((has->nr + 1) * sizeof(*block));
	u64 *at = malloc((has->nr + 1) * sizeof(*at));
	u64 nr = 0;

	if (!order || !block || !at) {
		free(order);
		free(block);
		free(at);
		return -ENOMEM;
	}
	for (u64 i = 0; i < has->nr; i++)
		order[i] = i;
	if (has->nr)
		qsort_r(order, has->nr, sizeof(*order), by_block, has->block);
	for (u64 i = 0; i < has->nr; i++) {
		nr += !nr || has->block[order[i]] != block[nr - 1];
		block[nr - 1] = has->block[order[i]];
		at[nr - 1] = has->at[order[i]];
	}
	free(order);
	free(has->block);
	free(has->at);
	*has = (struct log_blocks){ block, at, nr };
	return 0;
}

static int by_segno(const void *a, const void *b)
{
	const u64 x = ((const struct fusion_segment *)a)->segno;
	const u64 y = ((const struct fusion_segment *)b)->segno;

	return x < y ? -1 : x > y;
}

static struct fusion_segment *sorted(const struct meta_log *log)
{
	struct fusion_segment *seg = calloc(log->nr + 1, sizeof(*seg));

	for (u32 i = 0; seg && i < log->nr; i++)
		seg[i] = log->seg[i]->seg;
	if (seg)
		qsort(seg, log->nr, sizeof(*seg), by_segno);
	return seg;
}

static void tell_damage(const struct fusion_landing *l, struct report *r)
{
	if (l->bad)
		fus_report_add(r, LEVEL_ERROR, FAST,
			       fusion_segment_blocknr(l->sb, l->bad->slot, l->bad_pos), what,
			       "%s (segment %llu, block %u)", l->why,
			       (unsigned long long)l->bad->segno, l->bad_pos);
	else
		fus_report_add(r, LEVEL_ERROR, FAST, NO_BLOCK, what, "%s", l->why);
}

/* Return: 0, -ENOMEM, or another -errno if the log is damaged; then @r has a finding. */
static int replay(const struct meta_log *log, struct fusion_segment *seg, struct reading *c,
		  struct report *r)
{
	struct fusion_landing l = {
		.sb = c->sb, .seg = seg, .nr = log->nr, .from = log->from,
		.read = read_block, .apply = count_entry, .ctx = c,
	};
	int err = fusion_landing_replay(&l);

	c->sum.entries = c->has.nr;
	if (!err && c->partial == U32_MAX)
		err = keep_newest(&c->has);
	if (err == -ENOMEM) {
		fus_report_add(r, LEVEL_ERROR, FAST, NO_BLOCK, what, "not checked: out of memory");
	} else if (err) {
		tell_damage(&l, r);
	} else if (c->partial != U32_MAX) {
		fus_report_add(r, LEVEL_ERROR, FAST, NO_BLOCK, what, "has blocks of extent %u, "
			       "which is partial: it is unknown which of them count", c->partial);
	} else {
		c->sum.found = true;
		c->sum.segments = log->nr;
		c->sum.blocks = c->has.nr;
		c->sum.at = l.at;
		c->sum.listed = c->sb->stale_places;
		r->landing = c->sum;
	}
	return err;
}

/* *has is found only if r->landing is. Return: -ENOMEM if it is not for that, which @r says. */
static int read_log(const struct meta *meta, const struct fusion_sb *sb,
		    const struct meta_state *st, struct report *r, struct log_blocks *has)
{
	struct reading c = {
		.o = &meta->m[FAST].o, .sb = sb, .st = st, .partial = U32_MAX,
		.buf = fus_offline_buffer(WINDOW_BLOCKS * FUSION_BLOCK_SIZE),
	};
	struct fusion_segment *seg = sorted(&st->log);
	int err = -ENOMEM;

	if (c.buf && seg)
		err = replay(&st->log, seg, &c, r);
	else
		fus_report_add(r, LEVEL_ERROR, FAST, NO_BLOCK, what, "not checked: out of memory");
	free(seg);
	free(c.buf);
	*has = c.has;
	return err == -ENOMEM ? err : 0;
}

void fus_landing_check(const struct meta *meta, const struct fusion_sb *sb,
		       const struct meta_state *st, struct report *r)
{
	struct log_blocks has;

	if (st->log.nr > sb->landing_slots)
		fus_report_add(r, LEVEL_ERROR, FAST, NO_BLOCK, what, "has %u segments, more than "
			       "the %u slots that are kept for it", st->log.nr, sb->landing_slots);
	read_log(meta, sb, st, r, &has);
	if (r->landing.found)
		fus_stale_check(meta, has.block, has.nr, r);
	free_blocks(&has);
}

int fus_log_read(const struct meta *meta, const struct fusion_sb *sb, struct meta_state *st)
{
	struct report r = { 0 };
	struct log_blocks has;
	char text[320];
	int err, rc = 0;

	if (!fus_has_landing(sb) || !st->log.nr)
		return 0;
	err = read_log(meta, sb, st, &r, &has);
	if (r.landing.found) {
		free_blocks(&st->log.has);
		st->log.has = has;
	} else if (err) {
		rc = fus_fail(FC_FAILED, "memory", "not enough for the landing log; close programs "
			      "and try again");
		free_blocks(&has);
	} else {
		fus_finding_text(fus_report_worst(&r), text, sizeof(text));
		rc = fus_fail(FC_DAMAGED, sb->label, "%s; run fusionctl check %s", text, sb->label);
		free_blocks(&has);
	}
	fus_report_free(&r);
	return rc;
}

void fus_landing_check_told(const struct meta *meta, struct report *r)
{
	const struct fusion_sb *fast = fus_meta_sb(meta, FAST), *slow = fus_meta_sb(meta, SLOW);
	bool told;

	if (!fast || !slow)
		return;
	told = slow->incompat & FUSION_INCOMPAT_LANDING;
	if (fus_has_landing(fast) && (!told || slow->stale_places != fast->stale_places))
		fus_report_add(r, LEVEL_WARNING, SLOW, NO_BLOCK, "superblock", "does not tell of "
			       "the landing log on the fast member; the next opening writes it "
			       "again");
	else if (!fus_has_landing(fast) && told)
		fus_report_add(r, LEVEL_NOTE, SLOW, NO_BLOCK, "superblock", "tells of a landing "
			       "log, and the fast member has none; the next opening writes it "
			       "again");
}
