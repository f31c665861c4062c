// SPDX-License-Identifier: GPL-2.0-only
/* The sectors of a set that one member alone still has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "meta-shadow.h"
#include "salvage.h"

const char *const fus_part_name[NR_PARTS] = {
	"intact", "empty", "shadow", "lost", "unknown",
};

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough for the list of areas; close programs and "
			"try again");
}

/* -- parts --------------------------------------------------------------------------- */

static bool continues(const struct part *p, u64 start, enum part_kind kind, u64 where)
{
	return p->kind == kind && p->start + p->nr == start &&
	       (!fus_part_is_here(kind) || p->where + p->nr == where);
}

static int append(struct part **list, size_t *nr, u64 start, u64 sectors, enum part_kind kind,
		  u64 where)
{
	struct part *p;

	if (*nr && continues(&(*list)[*nr - 1], start, kind, where)) {
		(*list)[*nr - 1].nr += sectors;
		return 0;
	}
	if (!(*nr & (*nr - 1))) {
		p = realloc(*list, (*nr ? 2 * *nr : 1) * sizeof(*p));
		if (!p)
			return no_memory();
		*list = p;
	}
	(*list)[(*nr)++] = (struct part){ start, sectors, where, kind };
	return 0;
}

int fus_salvage_add(struct salvage *s, u64 start, u64 sectors, enum part_kind kind, u64 where)
{
	s->sectors[kind] += sectors;
	return append(&s->part, &s->nr, start, sectors, kind, where);
}

int fus_salvage_add_stale(struct salvage *s, u64 start, u64 sectors, u64 where)
{
	return append(&s->stale, &s->nr_stale, start, sectors, PART_INTACT, where);
}

/* The blocks of an open extent that were written, and the holes between them. */
static int add_open(struct salvage *s, const struct fusion_sb *sb, const struct meta_open *open,
		    u64 where)
{
	const u64 start = (u64)open->lext * sb->extent_sectors;
	const enum part_kind hole = open->lost ? PART_LOST : s->current ? PART_EMPTY :
									  PART_UNKNOWN;
	int rc = 0;

	for (u32 i = 0; i < sb->extent_sectors / FUSION_BLOCK_SECTORS && !rc; i++) {
		const bool valid = open->bitmap[i / 8] >> i % 8 & 1;
		const u64 offset = (u64)i * FUSION_BLOCK_SECTORS;

		rc = fus_salvage_add(s, start + offset, FUSION_BLOCK_SECTORS,
				     valid ? PART_INTACT : hole, where + offset);
	}
	return rc;
}

/* The sector of the member at which the slot of a word begins. */
static u64 slot_start(const struct fusion_sb *sb, u32 word)
{
	return fusion_slot_sector(sb, sb->role, fusion_word_slot(word));
}

static bool is_outdated(u32 word)
{
	return fusion_names_shadow(word) && fusion_word_state(word) == (u32)FUSION_OUTDATED;
}

static int add_extent(struct salvage *s, const struct fusion_sb *sb, const struct rebuild *rb,
		      u32 lext)
{
	const u64 start = (u64)lext * sb->extent_sectors;
	const u32 word = rb->st.word[lext];
	const struct meta_open *open;
	u64 where;

	/* what is outdated is among the older versions */
	if ((rb->doubt && rb->doubt[lext]) || is_outdated(word) || fusion_word_lost(word))
		return fus_salvage_add(s, start, sb->extent_sectors, PART_LOST, 0);
	if (fusion_names_shadow(word))
		return fus_salvage_add(s, start, sb->extent_sectors, PART_SHADOW,
				       slot_start(sb, word));
	if (!fusion_word_mapped(word))
		return fus_salvage_add(s, start, sb->extent_sectors,
				       s->current ? PART_EMPTY : PART_UNKNOWN, 0);
	if (fusion_word_dev(word) != sb->role)
		return fus_salvage_add(s, start, sb->extent_sectors, PART_LOST, 0);
	if (fus_word_is_old(sb, word))
		return fus_salvage_add(s, start, sb->extent_sectors, PART_LOST, 0);
	where = slot_start(sb, word);
	open = fusion_word_state(word) == FUSION_OPEN ? fus_state_open_find(&rb->st, lext) : NULL;
	return open ? add_open(s, sb, open, where) :
	       fus_salvage_add(s, start, sb->extent_sectors, PART_INTACT, where);
}

/* -- older versions -------------------------------------------------------------------- */

struct stale_ctx {
	const struct fusion_sb *sb;
	u32 *slot;		/* of each extent: the slot it left last, or U32_MAX */
	u32 *owner;		/* for each slot: its last extent, if none took it since */
};

/* Number of a slot of this member, from 0 on. */
static u32 slot_index(const struct fusion_sb *sb, u32 word)
{
	return fusion_word_slot(word) - (sb->role == FUSION_SLOW ? sb->slow_first_slot : 0);
}

static bool is_here(const struct fusion_sb *sb, u32 word)
{
	return fus_word_is_place(word) && fusion_word_dev(word) == sb->role &&
	       !fus_word_is_old(sb, word);
}

/* The slot is that of an extent, or of a shadow. */
static bool is_taken(const struct fusion_sb *sb, u32 word)
{
	return is_here(sb, word) || fusion_names_shadow(word);
}

static int follow(void *ctx, const struct meta_txn *t, const struct fusion_record *rec)
{
	struct stale_ctx *c = ctx;

	(void)t;
	if (rec->op == FUSION_OP_POINT)
		return 0;
	if (is_taken(c->sb, rec->new))
		c->owner[slot_index(c->sb, rec->new)] = U32_MAX;
	/* a discard takes the right to the content away */
	c->slot[rec->lext] = U32_MAX;
	if (is_here(c->sb, rec->old) && fusion_word_mapped(rec->new) &&
	    !is_taken(c->sb, rec->new)) {
		c->slot[rec->lext] = slot_index(c->sb, rec->old);
		c->owner[slot_index(c->sb, rec->old)] = rec->lext;
	}
	return 0;
}

/* The journal tells which slots extents left; as far back as it goes without a gap. */
static int follow_journal(const struct meta *meta, int dev, struct stale_ctx *c)
{
	struct meta_journal j;
	u32 i;
	int rc;

	rc = fus_journal_list(meta, dev, &j);
	for (i = j.nr; i > 1 && fus_txn_follows(&j.t[i - 2], &j.t[i - 1]); i--)
		;
	for (i = i ? i - 1 : 0; i < j.nr && !rc; i++)
		if (fus_journal_apply(meta, dev, &j.t[i], follow, c))
			rc = fus_fail(FC_DAMAGED, meta->m[dev].o.path, "transaction %llu of its "
				      "journal is not possible; leave out --stale",
				      (unsigned long long)j.t[i].txn);
	fus_journal_free(&j);
	return rc;
}

/* The word of a slot with an older version of a lost extent, or FUSION_WORD_UNMAPPED. */
static u32 stale_slot(const struct fusion_sb *sb, const struct rebuild *rb,
		      const struct stale_ctx *c, u32 lext)
{
	const u32 first = sb->role == FUSION_SLOW ? sb->slow_first_slot : 0;
	const u32 word = rb->st.word[lext];

	if (is_outdated(word))
		return word;
	if (c->slot[lext] == U32_MAX || c->owner[c->slot[lext]] != lext ||
	    !fusion_word_mapped(word) || is_taken(sb, word))
		return FUSION_WORD_UNMAPPED;
	return fusion_word(FUSION_STABLE, sb->role, first + c->slot[lext]);
}

static int find_stale(const struct fusion_sb *sb, const struct rebuild *rb,
		      const struct stale_ctx *c, struct salvage *s)
{
	const u32 nr = min(sb->nr_lexts, rb->st.nr_lexts);
	int rc = 0;

	for (u32 lext = 0; lext < nr; lext++)
		if (is_taken(sb, rb->st.word[lext]))
			c->owner[slot_index(sb, rb->st.word[lext])] = U32_MAX;
	for (u32 lext = 0; lext < nr && !rc; lext++) {
		const u32 word = stale_slot(sb, rb, c, lext);

		if (fusion_word_mapped(word))
			rc = fus_salvage_add_stale(s, (u64)lext * sb->extent_sectors,
						   sb->extent_sectors, slot_start(sb, word));
	}
	return rc;
}

static int plan_stale(const struct meta *meta, const struct fusion_sb *sb,
		      const struct rebuild *rb, struct salvage *s)
{
	const u32 slots = fusion_sb_nr_slots(sb, sb->role);
	struct stale_ctx c = { .sb = sb };
	int rc;

	c.slot = malloc((size_t)sb->nr_lexts * sizeof(*c.slot));
	c.owner = malloc((size_t)slots * sizeof(*c.owner));
	if (c.slot && c.owner) {
		memset(c.slot, 0xff, (size_t)sb->nr_lexts * sizeof(*c.slot));
		memset(c.owner, 0xff, (size_t)slots * sizeof(*c.owner));
		rc = follow_journal(meta, sb->role, &c);
		if (!rc)
			rc = find_stale(sb, rb, &c, s);
	} else {
		rc = no_memory();
	}
	free(c.slot);
	free(c.owner);
	return rc;
}

/* ---------------------------------------------------------------------------------------- */

int fus_salvage_plan(const struct meta *meta, const struct rebuild *rb, struct salvage *s)
{
	const struct fusion_sb *sb = fus_meta_sb(meta, rb->dev);
	int rc = 0;

	memset(s, 0, sizeof(*s));
	/* the fast member's journal has it all; the replica is up to date after a clean close */
	s->current = rb->exact && (rb->dev == FAST || (sb->flags & FUSION_SB_CLEAN));
	s->point = rb->st.point;
	for (u32 lext = 0; lext < min(sb->nr_lexts, rb->st.nr_lexts) && !rc; lext++)
		rc = add_extent(s, sb, rb, lext);
	if (!rc)
		rc = plan_stale(meta, sb, rb, s);
	return rc ? rc : fus_salvage_landing(meta, s);
}

void fus_salvage_free(struct salvage *s)
{
	free(s->part);
	free(s->stale);
	memset(s, 0, sizeof(*s));
}

/* The part that has this sector. */
static size_t find_part(const struct salvage *s, u64 sector)
{
	size_t lo = 0, hi = s->nr;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->part[mid].start <= sector)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

const struct part *fus_salvage_part(const struct salvage *s, u64 sector)
{
	const struct part *p = s->nr ? &s->part[find_part(s, sector)] : NULL;

	return p && sector >= p->start && sector - p->start < p->nr ? p : NULL;
}

bool fus_salvage_hit(const struct salvage *s, u64 byte, u64 bytes)
{
	const u64 first = byte >> 9;
	u64 last;

	if (!bytes || !s->nr)
		return false;
	last = (byte + bytes - 1 < byte ? UINT64_MAX : byte + bytes - 1) >> 9;
	for (size_t i = find_part(s, first); i < s->nr && s->part[i].start <= last; i++)
		if (s->part[i].kind >= PART_LOST && s->part[i].start + s->part[i].nr > first)
			return true;
	return false;
}
