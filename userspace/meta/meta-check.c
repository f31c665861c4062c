// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every invariant of a closed set. An error makes the kernel refuse the set, or serve wrong data. A
 * warning is a fault that the kernel tolerates. A note is no fault.
 */
#include <stdlib.h>
#include <string.h>

#include "fusionctl.h"
#include "meta.h"
#include "meta-shadow.h"
#include "dm-fusion-settings.h"

/* -- superblocks ------------------------------------------------------------------ */

static void check_copies(const struct meta *meta, int dev, struct report *r)
{
	const struct meta_member *m = &meta->m[dev];
	const struct fusion_sb *a = &m->copy[0].sb, *b = &m->copy[1].sb;
	char text[FUSION_UNKNOWN_TEXT];
	const bool unknown = fus_meta_is_unknown(m, text);

	for (int i = 0; i < 2; i++) {
		const struct meta_copy *c = &m->copy[i];
		const u64 block = FUSION_SUPER_BLOCKNR(i);

		if (c->err)
			fus_report_add(r, m->best < 0 ? LEVEL_ERROR : LEVEL_WARNING, dev, block,
				       "superblock", "%s%s", fus_meta_copy_why(c, text),
				       m->best < 0 ? "" : "; the other copy is used");
		else if (m->best < 0 && !unknown)
			fus_report_add(r, LEVEL_ERROR, dev, block, "superblock",
				       "belongs to another member");
	}
	if (m->copy[0].err || m->copy[1].err)
		return;
	if (memcmp(a->set_uuid, b->set_uuid, 16) || memcmp(a->dev_uuid, b->dev_uuid, 16) ||
	    a->role != b->role)
		fus_report_add(r, LEVEL_ERROR, dev, FUSION_SUPER_BLOCKNR(!m->best), "superblock",
			       "the two copies are of different members");
	else if (a->generation + 1 != b->generation && b->generation + 1 != a->generation)
		fus_report_add(r, LEVEL_WARNING, dev, FUSION_SUPER_BLOCKNR(!m->best), "superblock",
			       "older than it should be: generations %llu and %llu",
			       (unsigned long long)a->generation,
			       (unsigned long long)b->generation);
}

/* A verb that gets as far as here knows a landing log. */
static bool read_only(const struct fusion_sb *sb, char *text)
{
	struct fusion_sb known = *sb;

	known.incompat &= ~FUSION_INCOMPAT_LANDING;
	return *fusion_sb_unknown(&known, text);
}

static void check_numbers(const struct fusion_sb *sb, int dev, u64 block, struct report *r)
{
	char text[FUSION_UNKNOWN_TEXT];

	if (sb->set_generation > sb->generation || sb->replay_txn > sb->replay_seq)
		fus_report_add(r, LEVEL_WARNING, dev, block, "superblock",
			       "its numbers contradict each other");
	if (read_only(sb, text))
		fus_report_add(r, LEVEL_WARNING, dev, block, "superblock",
			       "%s; it can be opened read-only", text);
	if (!fusion_sb_lasts(sb))
		fus_report_add(r, LEVEL_WARNING, dev, block, "superblock",
			       "a counter is near its end; it can be opened read-only");
	if (sb->compat)
		fus_report_add(r, LEVEL_NOTE, dev, block, "superblock",
			       "has features of a newer version that do no harm: compat 0x%llx",
			       (unsigned long long)sb->compat);
	if (sb->flags & FUSION_SB_NEEDS_CHECK)
		fus_report_add(r, LEVEL_WARNING, dev, block, "superblock",
			       "the kernel met an error and asks for a check");
	if (dev == FAST && sb->incompat & FUSION_INCOMPAT_SHADOW)
		fus_report_add(r, LEVEL_WARNING, dev, block, "superblock",
			       "announces shadows, which only the slow member has");
	if (dev == FAST && !(sb->flags & FUSION_SB_CLEAN))
		fus_report_add(r, LEVEL_NOTE, dev, block, "superblock", "was not closed cleanly; "
			       "what was flushed is recovered when it opens");
}

static void check_settings(const struct fusion_sb *sb, int dev, u64 block, struct report *r)
{
	u32 value;

	for (int s = 0; s < FUSION_SETTINGS; s++)
		if (sb->settings_mask & BIT(s) && !fusion_sb_setting(sb, s, &value))
			fus_report_add(r, LEVEL_WARNING, dev, block, "settings",
				       "keeps %s %u, which is out of range and ignored",
				       fusion_settings[s].key, value);
	if (sb->settings_mask & ~FUSION_SETTINGS_KNOWN)
		fus_report_add(r, LEVEL_NOTE, dev, block, "settings",
			       "keeps settings of a newer version, which have no effect: bits 0x%x",
			       sb->settings_mask & ~(u32)FUSION_SETTINGS_KNOWN);
}

static void check_match(const struct meta *meta, struct report *r)
{
	const struct fusion_sb *fast = fus_meta_sb(meta, FAST), *slow = fus_meta_sb(meta, SLOW);
	struct meta_past past;
	char text[sizeof(r->f->text)];
	const char *why;
	int err;

	for (int dev = 0; dev < 2; dev++)
		if (meta->m[dev].o.fd < 0)
			fus_report_add(r, LEVEL_ERROR, dev, NO_BLOCK, "member", "is missing");
	if (!fast || !slow)
		return;
	err = fusion_sb_match(fast, slow, &why);
	if (fus_meta_past(meta, &past)) {
		fus_meta_past_text(meta, &past, text, sizeof(text));
		fus_report_add(r, LEVEL_ERROR, past.dev, NO_BLOCK, "past", "%s", text);
	} else if (err) {
		fus_report_add(r, LEVEL_ERROR, BOTH, NO_BLOCK, "match", "%s", why);
	}
	if (!err && fus_meta_slow_lags(meta))
		fus_report_add(r, LEVEL_NOTE, SLOW, NO_BLOCK, "match", "does not know yet that the "
			       "set has %s, the next opening tells it",
			       meta->shrunk ? "shrunk" : "grown");
	if (!err && slow->epoch != fast->epoch)
		fus_report_add(r, LEVEL_NOTE, BOTH, NO_BLOCK, "match", "an open was interrupted");
	if (fast->flags & slow->flags & FUSION_SB_CLEAN && !fusion_sb_same_kept(fast, slow))
		fus_report_add(r, LEVEL_NOTE, BOTH, NO_BLOCK, "settings", "the slow member keeps "
			       "other settings, or another name; those of the fast member count");
}

static void check_supers(const struct meta *meta, struct report *r)
{
	for (int dev = 0; dev < 2; dev++) {
		if (meta->m[dev].o.fd < 0)
			continue;
		check_copies(meta, dev, r);
		if (fus_meta_sb(meta, dev))
			check_numbers(fus_meta_sb(meta, dev), dev,
				      FUSION_SUPER_BLOCKNR(meta->m[dev].best), r);
		if (fus_meta_sb(meta, dev))
			check_settings(fus_meta_sb(meta, dev), dev,
				       FUSION_SUPER_BLOCKNR(meta->m[dev].best), r);
	}
	check_match(meta, r);
}

/* -- unused metadata ------------------------------------------------------------------ */

/*
 * The map copy that is not active. It is from the last checkpoint but one, or from an interrupted
 * one, which leaves two generations in it, or was never written. The next checkpoint overwrites it.
 */
static void check_inactive(const struct meta *meta, const struct fusion_sb *sb, struct report *r)
{
	const int dev = sb->role;
	const struct meta_set *set = &meta->m[dev].set[!sb->active_set];
	const u64 start = sb->map_start[dev][!sb->active_set];
	u64 generation = 0;
	u32 i, bad = 0;

	for (i = 0; i < sb->map_blocks; i++) {
		bad += !!set->block[i].why;
		generation = max(generation, set->block[i].generation);
	}
	if (bad == sb->map_blocks && sb->generation <= 2)
		return;		/* never written */
	for (i = 0; i < sb->map_blocks; i++) {
		const struct meta_block *b = &set->block[i];

		if (b->why)
			fus_report_add(r, LEVEL_NOTE, dev, start + i, "map",
				       "%s (the map copy that is not active)", b->why);
		else if (b->generation != generation)
			fus_report_add(r, LEVEL_NOTE, dev, start + i, "map",
				       "generation %llu, others %llu (the map copy that is not "
				       "active)", (unsigned long long)b->generation,
				       (unsigned long long)generation);
	}
}

/*
 * The part of the journal before replay_seq, which is no longer replayed. Going back from there,
 * each block is chained to the next, as far as the last lap was not overwritten.
 */
static void check_old_journal(const struct meta *meta, const struct fusion_sb *sb, u64 next_seq,
			      struct report *r)
{
	const int dev = sb->role;
	const struct meta_ring *ring = &meta->m[dev].ring;
	const u32 blocks = sb->journal_blocks[dev];
	const u64 lap = next_seq > blocks ? next_seq - blocks : 1;
	u32 csum = sb->replay_csum;

	for (u64 seq = sb->replay_seq - 1; csum && seq >= lap; seq--) {
		const u64 blocknr = fusion_journal_blocknr(sb, seq);
		const u32 pos = blocknr - sb->journal_start[dev];
		const struct fusion_journal_block *b =
			(const void *)(ring->block + (size_t)pos * FUSION_BLOCK_SIZE);
		const char *why = fusion_block_check(sb, FUSION_MAGIC_JOURNAL, blocknr, b);

		/* where the last lap ends there may be pieces of a torn transaction */
		if (!why && le64_to_cpu(b->seq) > seq)
			return;
		if (!why && (le64_to_cpu(b->seq) != seq || le32_to_cpu(b->h.csum) != csum))
			why = "an older version of it";
		if (why) {
			fus_report_add(r, LEVEL_NOTE, dev, blocknr, "journal",
				       "%s (block %llu, which is no longer replayed)", why,
				       (unsigned long long)seq);
			return;
		}
		csum = le32_to_cpu(b->prev_csum);
	}
}

/*
 * These blocks are not needed now, or the state could not be loaded. But the ring will reach them
 * again.
 */
static void check_unreadable(const struct meta *meta, const struct fusion_sb *sb, struct report *r)
{
	const int dev = sb->role;

	for (u32 pos = 0; pos < sb->journal_blocks[dev]; pos++)
		if (meta->m[dev].ring.unreadable[pos])
			fus_report_add(r, LEVEL_WARNING, dev, sb->journal_start[dev] + pos,
				       dev == FAST ? "journal" : "replica", "cannot be read");
}

/*
 * In a closed set all heat is of the checkpoint that wrote the map copy: that of the close, or one
 * a short time before it. In another set it may be older, as a set that grows saves only the last
 * blocks again. Without heat the policy learns from scratch.
 */
static void check_heat(const struct meta *meta, const struct fusion_sb *sb, struct report *r)
{
	if (!(sb->flags & FUSION_SB_CLEAN) || !sb->epoch)
		return;
	for (u32 i = 0; i < sb->heat_blocks; i++) {
		const struct meta_block *b = &meta->m[FAST].heat_block[i];

		if (b->why || b->generation != sb->set_generation)
			fus_report_add(r, LEVEL_WARNING, FAST, sb->heat_start + i, "heat", "%s",
				       b->why ? b->why : "block of another generation");
	}
}

/* -- head and tail ---------------------------------------------------------------------- */

static bool in_region(u64 block, u64 start, u64 nr)
{
	return block >= start && block - start < nr;
}

/* Return: whether it is a block of the head with content. */
static bool is_metadata(const struct fusion_sb *geo, int dev, u64 block)
{
	if (block == FUSION_SUPER_BLOCKNR(0) || block == FUSION_SUPER_BLOCKNR(1) ||
	    (dev == FAST && block == FUSION_BEAT_BLOCKNR))
		return true;
	return in_region(block, geo->journal_start[dev], geo->journal_blocks[dev]) ||
	       in_region(block, geo->map_start[dev][0], geo->map_blocks) ||
	       in_region(block, geo->map_start[dev][1], geo->map_blocks) ||
	       (dev == FAST && in_region(block, geo->heat_start, geo->heat_blocks));
}

#define GUARD_BYTES	(FUSION_GUARD_SECTORS * 512U)

static void check_guard(const struct meta *meta, int dev, bool tail, u8 *buf, struct report *r)
{
	const struct fusion_sb *geo = &meta->geo[dev];
	const u64 size = geo->self_sectors << 9;
	const u64 start = tail ? round_up(size - GUARD_BYTES, (u64)FUSION_BLOCK_SIZE) : 0;
	const size_t bytes = tail ? size - start : GUARD_BYTES;
	const char *where = tail ? "last" : "first";
	const struct offline *o = &meta->m[dev].o;
	const bool all = !fus_offline_read(o, start, bytes, buf);

	for (size_t i = 0; i < bytes; i += FUSION_BLOCK_SIZE) {
		const u64 block = (start + i) / FUSION_BLOCK_SIZE;
		const size_t n = min_t(size_t, bytes - i, FUSION_BLOCK_SIZE);

		if (!tail && is_metadata(geo, dev, block))
			continue;
		if (!all && fus_offline_read(o, start + i, n, buf + i))
			fus_report_add(r, LEVEL_WARNING, dev, block, "guard",
				       "cannot be read, in its %s MiB, which is kept empty", where);
		else if (memchr_inv(buf + i, 0, n))
			fus_report_add(r, LEVEL_WARNING, dev, block, "guard",
				       "something wrote to its %s MiB, which is kept empty", where);
	}
}

static void check_guards(const struct meta *meta, struct report *r)
{
	u8 *buf = fus_offline_buffer(GUARD_BYTES);

	for (int dev = 0; buf && dev < 2; dev++) {
		if (meta->m[dev].o.fd < 0)
			continue;
		check_guard(meta, dev, false, buf, r);
		check_guard(meta, dev, true, buf, r);
	}
	free(buf);
}

/* -- map and replica ----------------------------------------------------------------------- */

/* More of the same would hide the rest. */
#define MAX_DIFFERENCES	10U

static bool open_same(const struct meta_state *a, const struct meta_state *b, u32 lext)
{
	const struct meta_open *x = fus_state_open_find(a, lext), *y = fus_state_open_find(b, lext);

	return x && y ? x->lost == y->lost && !memcmp(x->bitmap, y->bitmap, sizeof(x->bitmap)) :
			!x && !y;
}

/* After a clean close, map and replica are the same. */
static u32 check_same(const struct meta_state st[2], struct report *r)
{
	u32 differ = 0;

	for (u32 lext = 0; lext < st[FAST].nr_lexts; lext++) {
		if (fus_replica_agrees(st[FAST].word[lext], st[SLOW].word[lext]) &&
		    open_same(&st[FAST], &st[SLOW], lext))
			continue;
		if (differ++ < MAX_DIFFERENCES)
			fus_report_add(r, LEVEL_WARNING, SLOW, NO_BLOCK, "replica",
				       fusion_names_shadow(st[SLOW].word[lext]) ?
				       "extent %u has a shadow, but the map says that it is not, or "
				       "not in whole, on the fast member" :
				       "extent %u is not where the map says", lext);
	}
	return differ;
}

/* Otherwise, no slot that the replica names belongs to another extent. */
static u32 check_slots(const struct fusion_sb *sb, const struct meta_state st[2],
		       struct report *r)
{
	const size_t slots = fus_slots_of(sb, FUSION_SLOW);
	u32 *owner = malloc(slots * sizeof(*owner));
	u32 differ = 0, lext, word;

	if (!owner)
		return 0;
	memset(owner, 0xff, slots * sizeof(*owner));
	for (lext = 0; lext < st[FAST].nr_lexts; lext++) {
		word = st[FAST].word[lext];
		if (fusion_word_mapped(word) && fusion_word_dev(word) == FUSION_SLOW)
			owner[fus_slot_number(sb, word)] = lext;
	}
	for (lext = 0; lext < st[SLOW].nr_lexts; lext++) {
		word = st[SLOW].word[lext];
		if (!fusion_word_mapped(word) || fusion_word_dev(word) == FUSION_FAST)
			continue;
		word = owner[fus_slot_number(sb, word)];
		if (word == U32_MAX || word == lext)
			continue;
		if (differ++ < MAX_DIFFERENCES)
			fus_report_add(r, LEVEL_WARNING, SLOW, NO_BLOCK, "replica",
				       "the slot that it names for extent %u belongs to %u", lext,
				       word);
	}
	free(owner);
	return differ;
}

/* The replica's map copies have no bitmaps, so they have no open extents: those are in the log. */
static void check_not_open(const struct meta *meta, const struct fusion_sb *sb, struct report *r)
{
	const u32 *word = meta->m[SLOW].set[sb->active_set].word;

	for (u32 lext = 0; lext < sb->nr_lexts; lext++) {
		const u32 index = lext / FUSION_MAP_PER_BLOCK;

		if (!fusion_word_mapped(word[lext]) ||
		    fusion_word_state(word[lext]) != FUSION_OPEN)
			continue;
		fus_report_add(r, LEVEL_WARNING, SLOW, sb->map_start[SLOW][sb->active_set] + index,
			       "replica", "extent %u is open in a map copy", lext);
		return;
	}
}

static void check_replica(const struct meta *meta, const struct meta_state st[2],
			  struct report *r)
{
	const struct fusion_sb *fast = fus_meta_sb(meta, FAST), *slow = fus_meta_sb(meta, SLOW);
	u32 differ;

	check_not_open(meta, slow, r);
	differ = fast->epoch == slow->epoch && (fast->flags & slow->flags & FUSION_SB_CLEAN) ?
		 check_same(st, r) : check_slots(fast, st, r);
	if (differ > MAX_DIFFERENCES)
		fus_report_add(r, LEVEL_WARNING, SLOW, NO_BLOCK, "replica",
			       "and so are %u more extents", differ - MAX_DIFFERENCES);
}

/* -------------------------------------------------------------------------------------------- */

/* The map copies and the journal of a member; on the slow member they are the replica. */
static bool check_side(const struct meta *meta, const struct fusion_sb *sb,
		       struct meta_state *st, struct report *r)
{
	bool good = fus_state_load(meta, sb, st, r);

	if (!fus_meta_covers(meta, sb))
		return false;
	check_inactive(meta, sb, r);
	check_old_journal(meta, sb, st->next_seq, r);
	check_unreadable(meta, sb, r);
	return good;
}

static void tell_lost(const struct meta_state *st, struct report *r)
{
	u32 partly, lost = fus_state_lost(st, &partly);

	if (lost)
		fus_report_add(r, LEVEL_NOTE, BOTH, NO_BLOCK, "lost", "%u extents are lost, %u of "
			       "them in part: reads of them fail, until they are written or "
			       "discarded", lost, partly);
}

void fus_meta_check(const struct meta *meta, struct report *r)
{
	const struct fusion_sb *sb;
	struct meta_state st[2] = { 0 };
	unsigned int good = 0;

	check_supers(meta, r);
	if (!meta->known)
		return;
	for (int dev = 0; dev < 2; dev++) {
		sb = fus_meta_sb(meta, dev);
		if (!sb || fus_state_init(&st[dev], meta->geo[dev].nr_lexts) ||
		    !check_side(meta, sb, &st[dev], r))
			continue;
		good++;
		if (fus_has_landing(sb))
			fus_landing_check(meta, sb, &st[dev], r);
	}
	fus_landing_check_told(meta, r);
	if (good == 2)
		check_replica(meta, st, r);
	if (st[FAST].word)
		tell_lost(&st[FAST], r);
	if (st[SLOW].word)
		fus_count_shadows(&st[SLOW], &r->shadows);
	sb = fus_meta_sb(meta, FAST);
	if (sb && fus_meta_covers(meta, sb))
		check_heat(meta, sb, r);
	check_guards(meta, r);
	for (int dev = 0; dev < 2; dev++)
		fus_state_free(&st[dev]);
}

bool fus_meta_has_errors(const struct meta *meta, char *text, size_t size)
{
	struct report r = { 0 };
	bool found;

	fus_meta_check(meta, &r);
	found = r.count[LEVEL_ERROR];
	if (found)
		fus_finding_text(fus_report_worst(&r), text, size);
	fus_report_free(&r);
	return found;
}
