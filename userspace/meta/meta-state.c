// SPDX-License-Identifier: GPL-2.0-only
/* The place of each extent: a map copy, and the journal replayed on top of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "meta-shadow.h"
#include "role.h"

/* -- OPEN extents ----------------------------------------------------------------- */

int fus_state_init(struct meta_state *st, u32 nr_lexts)
{
	memset(st, 0, sizeof(*st));
	st->nr_lexts = nr_lexts;
	fus_log_init(&st->log);
	st->word = malloc((size_t)nr_lexts * sizeof(*st->word));
	if (!st->word)
		return fus_fail(FC_FAILED, "memory", "not enough for the map; close programs and "
				"try again");
	for (u32 i = 0; i < nr_lexts; i++)
		st->word[i] = FUSION_WORD_UNMAPPED;
	return 0;
}

void fus_state_free(struct meta_state *st)
{
	for (u32 i = 0; i < st->nr_open; i++)
		free(st->open[i]);
	free(st->open);
	free(st->word);
	fus_log_free(&st->log);
	memset(st, 0, sizeof(*st));
}

/* Index of the first one that is not below @lext. */
static u32 open_index(const struct meta_state *st, u32 lext)
{
	u32 lo = 0, hi = st->nr_open;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (st->open[mid]->lext < lext)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct meta_open *fus_state_open_find(const struct meta_state *st, u32 lext)
{
	u32 i = open_index(st, lext);

	return i < st->nr_open && st->open[i]->lext == lext ? st->open[i] : NULL;
}

struct meta_open *fus_state_open_get(struct meta_state *st, u32 lext)
{
	u32 i = open_index(st, lext);
	struct meta_open *new, **open;

	if (i < st->nr_open && st->open[i]->lext == lext)
		return st->open[i];
	/* grows to powers of two */
	if (!(st->nr_open & (st->nr_open - 1))) {
		open = realloc(st->open, (st->nr_open ? 2 * (size_t)st->nr_open : 1) *
			       sizeof(*open));
		if (!open)
			return NULL;
		st->open = open;
	}
	new = calloc(1, sizeof(*new));
	if (!new)
		return NULL;
	new->lext = lext;
	memmove(st->open + i + 1, st->open + i, (st->nr_open - i) * sizeof(*st->open));
	st->open[i] = new;
	st->nr_open++;
	return new;
}

u32 fus_state_lost(const struct meta_state *st, u32 *partly)
{
	u32 lost = 0;

	*partly = 0;
	for (u32 i = 0; i < st->nr_open; i++)
		*partly += st->open[i]->lost;
	for (u32 i = 0; i < st->nr_lexts; i++)
		lost += fusion_word_lost(st->word[i]);
	return lost + *partly;
}

void fus_state_open_drop(struct meta_state *st, u32 lext)
{
	u32 i = open_index(st, lext);

	if (i == st->nr_open || st->open[i]->lext != lext)
		return;
	free(st->open[i]);
	st->nr_open--;
	memmove(st->open + i, st->open + i + 1, (st->nr_open - i) * sizeof(*st->open));
}

/* Without the map the set cannot be opened. The replica is read only if the fast member is lost. */
static enum severity level_of(const struct fusion_sb *sb)
{
	return sb->role == FUSION_FAST ? LEVEL_ERROR : LEVEL_WARNING;
}

/* The name of a finding: its kind in the map, or "replica". */
static const char *what_of(const struct fusion_sb *sb, const char *what)
{
	return sb->role == FUSION_FAST ? what : "replica";
}

/* -- the journal ------------------------------------------------------------------ */

int fus_state_apply(struct meta_state *st, const struct fusion_sb *sb,
		    const struct fusion_record *rec)
{
	struct meta_open *open;

	/* these are about no extent */
	if (fusion_op_is_landing(rec->op))
		return fus_log_apply(&st->log, sb, rec);
	if (rec->op == FUSION_OP_POINT) {
		st->point = fus_record_point(rec);
		return 0;
	}
	st->word[rec->lext] = rec->new;
	if (!fusion_op_has_bitmap(rec->op)) {
		fus_state_open_drop(st, rec->lext);
		return 0;
	}
	open = fus_state_open_get(st, rec->lext);
	if (!open)
		return -ENOMEM;
	open->word = rec->new;
	open->lost = rec->op == FUSION_OP_PARTLY_LOST;
	memset(open->bitmap, 0, sizeof(open->bitmap));
	memcpy(open->bitmap, rec->bitmap, fusion_bitmap_bytes(sb->extent_sectors));
	return 0;
}

struct replay_ctx {
	const struct meta_ring *ring;
	const struct fusion_sb *sb;
	struct meta_state *st;
	u32 max_open;
};

static const void *ring_read(void *ctx, u32 pos)
{
	const struct meta_ring *ring = ((struct replay_ctx *)ctx)->ring;

	return ring->unreadable[pos] ? NULL : ring->block + (size_t)pos * FUSION_BLOCK_SIZE;
}

static int ring_apply(void *ctx, const struct fusion_record *rec)
{
	struct replay_ctx *c = ctx;
	int err;

	/* of a slow member that lags: what is behind the end of the set now was unmapped since */
	if (rec->lext >= c->st->nr_lexts)
		return 0;
	err = fus_state_apply(c->st, c->sb, rec);
	return !err && c->st->nr_open > c->max_open ? -EILSEQ : err;
}

/* The first block of the ring from @seq on that does not belong there. */
static u64 failing_block(const struct meta_ring *ring, const struct fusion_sb *sb, u64 seq)
{
	for (u64 s = seq; s < sb->replay_seq + sb->journal_blocks[sb->role]; s++) {
		const u64 blocknr = fusion_journal_blocknr(sb, s);
		const u32 pos = blocknr - sb->journal_start[sb->role];
		const struct fusion_journal_block *b =
			(const void *)(ring->block + (size_t)pos * FUSION_BLOCK_SIZE);

		if (ring->unreadable[pos] ||
		    fusion_block_check(sb, FUSION_MAGIC_JOURNAL, blocknr, b) ||
		    le64_to_cpu(b->seq) != s)
			return blocknr;
	}
	return fusion_journal_blocknr(sb, seq);
}

static u64 unreadable_block(const struct meta_ring *ring, const struct fusion_sb *sb)
{
	for (u32 pos = 0; pos < sb->journal_blocks[sb->role]; pos++)
		if (ring->unreadable[pos])
			return sb->journal_start[sb->role] + pos;
	return NO_BLOCK;
}

static bool replay(const struct meta *meta, const struct fusion_sb *sb, struct meta_state *st,
		   struct report *r)
{
	const int dev = sb->role;
	const struct meta_ring *ring = &meta->m[dev].ring;
	struct replay_ctx ctx = {
		ring, sb, st, fusion_open_limit(fus_meta_bounds(meta, sb)),
	};
	struct fusion_replay rp = {
		.sb = fus_meta_bounds(meta, sb), .read = ring_read, .apply = ring_apply,
		.ctx = &ctx,
	};
	int err = fusion_replay(&rp);
	u64 block;

	st->next_seq = rp.next_seq;
	st->next_txn = rp.next_txn;
	st->next_csum = rp.csum;
	st->nr_records = rp.nr_records;
	if (!err)
		return true;
	block = err == -EIO ? unreadable_block(ring, sb) : failing_block(ring, sb, rp.next_seq);
	if (st->nr_open > ctx.max_open)
		fus_report_add(r, level_of(sb), dev, NO_BLOCK, what_of(sb, "journal"),
			       "more open extents than possible, %u", ctx.max_open);
	else
		fus_report_add(r, level_of(sb), dev, block, what_of(sb, "journal"),
			       "%s (transaction %llu)", rp.why ? rp.why : strerror(-err),
			       (unsigned long long)rp.next_txn);
	return false;
}

/* -- the whole -------------------------------------------------------------------------- */

/* The memory for it is as large as the geometry in @meta says. */
static bool refuse_larger(const struct meta *meta, const struct fusion_sb *sb, struct report *r)
{
	if (fus_meta_covers(meta, sb))
		return false;
	fus_report_add(r, level_of(sb), sb->role, NO_BLOCK, what_of(sb, "map"),
		       "not read: its superblock describes a set of another shape");
	return true;
}

static bool any_lost(const u32 *word, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (fusion_word_lost(word[i]))
			return true;
	return false;
}

static bool load_set(const struct meta *meta, const struct fusion_sb *sb, struct meta_state *st,
		     struct report *r)
{
	const int dev = sb->role;
	const struct meta_set *set = &meta->m[dev].set[sb->active_set];
	bool good = true;

	for (u32 i = 0; i < sb->map_blocks; i++) {
		const struct meta_block *b = &set->block[i];
		const u32 n = fusion_map_entries(sb, i);
		const u32 *word = set->word + (size_t)i * FUSION_MAP_PER_BLOCK;
		const char *why = b->why ? b->why : b->generation != sb->set_generation ?
				  "block of another generation" : NULL;

		if (!why && !(sb->incompat & FUSION_INCOMPAT_SHADOW) && fus_any_shadow(word, n))
			why = "names shadows, which the superblock does not announce";
		if (!why && !(sb->incompat & FUSION_INCOMPAT_DAMAGED) && any_lost(word, n))
			why = "has lost extents, which the superblock does not announce";
		if (!why) {
			memcpy(st->word + (size_t)i * FUSION_MAP_PER_BLOCK, word,
			       n * sizeof(*word));
			continue;
		}
		good = false;
		fus_report_add(r, level_of(sb), dev, sb->map_start[dev][sb->active_set] + i,
			       what_of(sb, "map"), "%s (extents %u to %u)", why,
			       i * FUSION_MAP_PER_BLOCK,
			       i * FUSION_MAP_PER_BLOCK + (n ? n - 1 : 0));
	}
	return good;
}

static bool lacks_bitmap(const struct meta_state *st)
{
	for (u32 lext = 0; lext < st->nr_lexts; lext++)
		if (fusion_word_mapped(st->word[lext]) && fusion_word_state(st->word[lext]) ==
		    FUSION_OPEN && !fus_state_open_find(st, lext))
			return true;
	return false;
}

bool fus_state_load(const struct meta *meta, const struct fusion_sb *sb, struct meta_state *st,
		    struct report *r)
{
	bool good;

	if (refuse_larger(meta, sb, r))
		return false;
	st->point = sb->point;
	good = load_set(meta, sb, st, r);
	/* one after the other, so that the report is complete */
	good &= replay(meta, sb, st, r);
	if (!fus_state_check(st, sb, r)) {
		if (good && lacks_bitmap(st))
			fus_report_add(r, level_of(sb), sb->role,
				       failing_block(&meta->m[sb->role].ring, sb, st->next_seq),
				       what_of(sb, "journal"), "ends here, before the bitmaps of "
				       "all open extents (transaction %llu)",
				       (unsigned long long)st->next_txn);
		good = false;
	}
	return good;
}

/* One bit for each data slot of both members, and of an old one. */
static bool claim_slot(const struct fusion_sb *sb, u8 *used, u32 word)
{
	u64 slot;

	/* the replica does not record their changes */
	if (sb->role == FUSION_SLOW && fusion_word_dev(word) == FUSION_FAST)
		return true;
	if (!fusion_slot_valid(sb, fusion_word_dev(word), fusion_word_slot(word)) &&
	    !fusion_old_slot_valid(sb, fusion_word_dev(word), fusion_word_slot(word)))
		return false;
	slot = fus_slot_number(sb, word) +
	       (fusion_word_dev(word) == FUSION_SLOW ? fus_slots_of(sb, FUSION_FAST) : 0);
	if (used[slot / 8] >> slot % 8 & 1)
		return false;
	used[slot / 8] |= 1 << slot % 8;
	return true;
}

/* Shadows come last: of a slot that is named twice, the extent that lies in it is right. */
static bool check_shadows(const struct meta_state *st, const struct fusion_sb *sb, u8 *used,
			  struct report *r)
{
	bool good = true;

	for (u32 lext = 0; lext < st->nr_lexts; lext++) {
		const u32 word = st->word[lext];

		if (!fusion_names_shadow(word) ||
		    (fusion_shadow_word_valid(sb, word) && claim_slot(sb, used, word)))
			continue;
		good = false;
		fus_report_add(r, level_of(sb), sb->role, NO_BLOCK, what_of(sb, "slot"),
			       "the shadow of extent %u is a slot of another one: slow slot %u",
			       lext, fusion_word_slot(word));
	}
	return good;
}

/* The map comes first: an extent that lies in a slot is right. */
static bool check_segments(const struct meta_state *st, const struct fusion_sb *sb, u8 *used,
			   struct report *r)
{
	bool good = true;

	for (u32 i = 0; i < st->log.nr; i++) {
		const struct fusion_segment *seg = &st->log.seg[i]->seg;

		if (claim_slot(sb, used, fusion_word(FUSION_STABLE, FUSION_FAST, seg->slot)))
			continue;
		good = false;
		fus_report_add(r, LEVEL_ERROR, sb->role, NO_BLOCK, "slot", "segment %llu of the "
			       "landing log lies on a slot of an extent: fast slot %u",
			       (unsigned long long)seg->segno, seg->slot);
	}
	return good;
}

bool fus_state_check(const struct meta_state *st, const struct fusion_sb *sb, struct report *r)
{
	u8 *used = calloc((fus_slots_of(sb, FUSION_FAST) + fus_slots_of(sb, FUSION_SLOW)) / 8 + 1,
			  1);
	const int dev = sb->role;
	u32 nr_open = 0;
	bool good = true;

	if (!used) {
		fus_report_add(r, level_of(sb), dev, NO_BLOCK, what_of(sb, "map"),
			       "not checked: out of memory");
		return false;
	}
	for (u32 lext = 0; lext < st->nr_lexts; lext++) {
		const u32 word = st->word[lext];
		const struct meta_open *open;

		if (!fus_word_is_place(word))
			continue;
		if (!claim_slot(sb, used, word)) {
			good = false;
			fus_report_add(r, level_of(sb), dev, NO_BLOCK, what_of(sb, "slot"),
				       "extent %u lies on a slot of another one: %s slot %u", lext,
				       fus_role_name[fusion_word_dev(word)],
				       fusion_word_slot(word));
		}
		if (fusion_word_state(word) != FUSION_OPEN)
			continue;
		open = fus_state_open_find(st, lext);
		nr_open += !!open;
		if (open && open->word == word)
			continue;
		good = false;
		fus_report_add(r, level_of(sb), dev, NO_BLOCK, what_of(sb, "open"), open ?
			       "bitmap of extent %u is of another slot" :
			       "extent %u is open but has no bitmap", lext);
	}
	good &= check_shadows(st, sb, used, r);
	good &= check_segments(st, sb, used, r);
	free(used);
	if (nr_open == st->nr_open)
		return good;
	fus_report_add(r, level_of(sb), dev, NO_BLOCK, what_of(sb, "open"),
		       "%u open extents but %u bitmaps", nr_open, st->nr_open);
	return false;
}
