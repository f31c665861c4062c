// SPDX-License-Identifier: GPL-2.0-only
/* The map on the slow member, read as if the fast one were lost. */
#include "invariants.h"
#include "landed.h"
#include "model.h"
#include "points.h"
#include "replica.h"
#include "stale.h"

#define MAX_LEXTS	1024U
#define MAX_SLOTS	4096U	/* of the slow member and the old one */
#define MAX_BLOCKS	DIV_ROUND_UP(MAX_LEXTS, FUSION_MAP_PER_BLOCK)

struct replica {
	struct sim_disk *disk;
	struct sim_disk *old;	/* that it may name as well */
	struct fusion_sb sb;
	struct stale *stale;	/* what is older there than in the landing log */
	u32 word[MAX_BLOCKS * FUSION_MAP_PER_BLOCK];
	u32 valid[MAX_LEXTS];	/* bitmaps of OPEN extents */
	bool recorded[MAX_LEXTS];	/* an OPEN extent has its bitmap from the log */
	bool partly[MAX_LEXTS];		/* it is lost where it is not valid */
	u64 point;			/* of what is in shadows, in seconds; 0: not known */
};

static void load_map(struct replica *rep)
{
	const struct fusion_sb *sb = &rep->sb;
	const char *why;
	u32 i;

	if (sb->nr_lexts > MAX_LEXTS)
		sim_fail("replica: a map of %u extents", sb->nr_lexts);
	for (i = 0; i < sb->map_blocks; i++) {
		u64 nr = sb->map_start[FUSION_SLOW][sb->active_set] + i;

		if (fusion_map_unpack(sb, sb->active_set, i, sb->set_generation,
				      sim_disk_block(rep->disk, nr),
				      rep->word + min(i, MAX_BLOCKS - 1) * FUSION_MAP_PER_BLOCK,
				      &why))
			sim_fail("replica: map block %u: %s", i, why);
	}
}

static const void *read_log(void *ctx, u32 pos)
{
	struct replica *rep = ctx;

	return sim_disk_block(rep->disk, rep->sb.journal_start[FUSION_SLOW] + pos);
}

static int apply_record(void *ctx, const struct fusion_record *rec)
{
	struct replica *rep = ctx;

	if (rec->op == FUSION_OP_POINT) {
		rep->point = (u64)rec->old << 32 | rec->new;
		return 0;
	}
	rep->word[rec->lext] = rec->new;
	rep->valid[rec->lext] = 0;
	rep->recorded[rec->lext] = rec->bitmap;
	rep->partly[rec->lext] = rec->op == FUSION_OP_PARTLY_LOST;
	if (rec->bitmap)
		memcpy(&rep->valid[rec->lext], rec->bitmap, sizeof(rep->valid[0]));
	return 0;
}

static void load_log(struct replica *rep)
{
	struct fusion_replay replay = {
		.sb = &rep->sb,
		.read = read_log,
		.apply = apply_record,
		.ctx = rep,
	};

	if (fusion_replay(&replay))
		sim_fail("replica: log: %s", replay.why);
}

u32 replica_shadows(const struct replica *rep)
{
	u32 lext, nr = 0;

	for (lext = 0; lext < rep->sb.nr_lexts; lext++)
		nr += fusion_names_shadow(rep->word[lext]) &&
		      (enum fusion_shadow_state)fusion_word_state(rep->word[lext]) == FUSION_SHADOW;
	return nr;
}

/* Does it say that an extent lies on the slow disk? */
static bool says_slow(const struct replica *rep, u32 lext)
{
	return fusion_word_mapped(rep->word[lext]) &&
	       fusion_word_dev(rep->word[lext]) == FUSION_SLOW &&
	       !fusion_names_shadow(rep->word[lext]);
}

/* Does it name a slot of the slow disk for an extent? */
static bool names_slow(const struct replica *rep, u32 lext)
{
	return says_slow(rep, lext) || fusion_names_shadow(rep->word[lext]);
}

static bool is_open(const struct replica *rep, u32 lext)
{
	return fusion_word_mapped(rep->word[lext]) &&
	       fusion_word_state(rep->word[lext]) == FUSION_OPEN;
}

static void check_slots(const struct replica *rep)
{
	unsigned long taken[BITS_TO_LONGS(MAX_SLOTS)] = {};
	u32 lext;

	for (lext = 0; lext < rep->sb.nr_lexts; lext++) {
		if (is_open(rep, lext) && !rep->recorded[lext])
			sim_fail("replica: extent %u is open but has no bitmap", lext);
		if (names_slow(rep, lext) &&
		    __test_and_set_bit(fusion_word_slot(rep->word[lext]), taken))
			sim_fail("replica: extent %u shares its slot", lext);
	}
}

struct replica *replica_load(struct sim_disk *slow, struct sim_disk *old)
{
	struct replica *rep = sim_alloc(sizeof(*rep), true);

	rep->disk = slow;
	rep->old = old;
	if (!sim_disk_super(slow, &rep->sb))
		sim_fail("replica: no superblock");
	rep->point = rep->sb.point;
	rep->stale = stale_load(slow, &rep->sb);
	load_map(rep);
	load_log(rep);
	check_slots(rep);
	return rep;
}

bool replica_is_exact(const struct replica *rep)
{
	/* a set that parts from its old member takes none over */
	return rep->sb.shadows_at && !fusion_sb_has_old(&rep->sb);
}

void replica_free(struct replica *rep)
{
	stale_free(rep->stale);
	sim_free(rep);
}

/*
 * What salvage calls current of an extent that had blocks in the landing log is as new as what had
 * been flushed when the stale list was written: INV23. After a close it is the newest.
 */
static const char *check_landed(const struct replica *rep, struct model *model, u32 lext, u32 s,
				u64 stamp)
{
	const u32 sector = lext * EXTENT_SECTORS + s;
	const char *wrong;

	if (stale_has(rep->stale, lext, s / FUSION_BLOCK_SECTORS))
		return NULL;
	wrong = model_check_cut(model, sector, stamp);
	return wrong && !stale_exact(rep->stale) ?
	       model_check_since(model, stale_time(rep->stale), sector, stamp) : wrong;
}

static void check_sector(const struct replica *rep, struct model *model, u32 lext, u32 s,
			 bool may_lag)
{
	u32 sector = lext * EXTENT_SECTORS + s;
	u32 slot = fusion_word_slot(rep->word[lext]);
	u64 start = fusion_slot_sector(&rep->sb, FUSION_SLOW, slot);
	u64 stamp = sim_disk_stamp(fusion_slot_is_old(&rep->sb, FUSION_SLOW, slot) ? rep->old :
				   rep->disk, start + s);
	const char *wrong;

	if (stamp && !model_stamp_is_of(stamp, sector))
		sim_fail("replica: extent %u, sector %u, lies where %llx is (INV6)", lext, s,
			 stamp);
	if (may_lag)
		return;
	wrong = landed_any(lext) ? check_landed(rep, model, lext, s, stamp) :
				   model_check_cut(model, sector, stamp);
	if (!wrong)
		return;
	model_explain(model, sector, stamp);
	sim_fail("replica: sector %u of extent %u: %s (%s)", s, lext, wrong,
		 landed_any(lext) ? "INV23" : "INV7");
}

/* A shadow is as old as the point, or newer; one that is out of date has content of its extent. */
static void check_shadow(const struct replica *rep, struct model *model, u32 lext, u32 s,
			 u64 point)
{
	u32 sector = lext * EXTENT_SECTORS + s, word = rep->word[lext];
	u64 start = fusion_slot_sector(&rep->sb, FUSION_SLOW, fusion_word_slot(word));
	u64 stamp = sim_disk_stamp(rep->disk, start + s);
	bool current = (enum fusion_shadow_state)fusion_word_state(word) == FUSION_SHADOW;
	const char *wrong;

	wrong = model_check_since(model, current ? point : 0, sector, stamp);
	if (!wrong)
		return;
	model_explain(model, sector, stamp);
	sim_fail("replica: sector %u of extent %u: its shadow of second %llu: %s (INV15)", s,
		 lext, point, wrong);
}

/*
 * It is a version of the extent, not parts of two; and that of the point of second @point, if it
 * was made for that.
 */
static void check_shadow_whole(const struct replica *rep, const struct model *model, u32 lext,
			       u64 point, const void *private)
{
	u64 start = fusion_slot_sector(&rep->sb, FUSION_SLOW, fusion_word_slot(rep->word[lext]));
	u64 found[EXTENT_SECTORS];
	u32 s;

	for (s = 0; s < EXTENT_SECTORS; s++)
		found[s] = sim_disk_stamp(rep->disk, start + s);
	if ((enum fusion_shadow_state)fusion_word_state(rep->word[lext]) == FUSION_SHADOW &&
	    point && !point_had(private, point, lext, fusion_word_slot(rep->word[lext]), found))
		sim_fail("replica: the shadow of extent %u is not that of the point of second %llu "
			 "(INV16)", lext, point);
	if (model_is_whole(model, lext, found))
		return;
	for (s = 0; s < EXTENT_SECTORS; s += 8)
		sim_log("sector %u of extent %u holds %llx", s, lext, found[s]);
	sim_fail("replica: the shadow of extent %u has parts of two versions (INV15)", lext);
}

/* Zeros never take the place of what is lost. */
static void check_zeros(const struct replica *rep, struct model *model, u32 lext)
{
	bool open = is_open(rep, lext);
	u32 s;

	if (open ? rep->partly[lext] : rep->word[lext] != FUSION_WORD_UNMAPPED)
		return;
	for (s = 0; s < EXTENT_SECTORS; s++) {
		u32 sector = lext * EXTENT_SECTORS + s;

		if (open && rep->valid[lext] & 1U << s / FUSION_BLOCK_SECTORS)
			continue;
		if (!model_check_cut(model, sector, 0) ||
		    model_check_cut(model, sector, MODEL_LOST))
			continue;
		model_explain(model, sector, 0);
		sim_fail("replica: sector %u of extent %u is lost, and would read as zeros", s,
			 lext);
	}
}

void replica_check_content(const struct replica *rep, struct model *model, const void *private,
			   bool exact)
{
	u64 point = private && rep->sb.epoch == set_epoch(private) ? rep->point : 0;
	int unnamed = point && exact ? point_unnamed(private, point, rep->word) : -1;
	u32 lext, s;

	if (exact && !stale_whole(rep->stale))
		sim_fail("the stale list lacks entries that its head speaks of");
	if (unnamed >= 0)
		sim_fail("replica: does not name the shadow of extent %d, of the point of second "
			 "%llu (INV16)", unnamed, point);
	for (lext = 0; lext < rep->sb.nr_lexts; lext++) {
		bool may_lag = model_replica_may_lag(model, lext);

		check_zeros(rep, model, lext);
		for (s = 0; fusion_names_shadow(rep->word[lext]) && s < EXTENT_SECTORS; s++)
			check_shadow(rep, model, lext, s, point);
		if (fusion_names_shadow(rep->word[lext]))
			check_shadow_whole(rep, model, lext, exact ? point : 0, private);
		if (!says_slow(rep, lext))
			continue;
		for (s = 0; s < EXTENT_SECTORS; s++)
			if (!is_open(rep, lext) ||
			    rep->valid[lext] & 1U << s / FUSION_BLOCK_SECTORS)
				check_sector(rep, model, lext, s, may_lag);
	}
}

void replica_check_owners(const struct replica *rep, const void *private)
{
	u16 owner[MAX_SLOTS] = {};	/* extent + 1 */
	u32 lext, word, slot;

	for (lext = 0; lext < rep->sb.nr_lexts; lext++) {
		if (!names_slow(rep, lext))
			continue;
		slot = fusion_word_slot(rep->word[lext]);
		owner[slot] = lext + 1;
		if (slot >= set_slot_end(private, FUSION_SLOW))
			continue;	/* given up, or old: nobody gets it */
		if (!set_slot_taken(private, slot))
			sim_fail("INV6: slow slot %u is free, but the replica has extent %u there",
				 slot, lext);
	}
	for (lext = 0; lext < min(rep->sb.nr_lexts, set_lexts(private)); lext++) {
		word = set_word(private, lext);
		if (!fusion_word_mapped(word) || fusion_word_dev(word) != FUSION_SLOW)
			continue;
		slot = fusion_word_slot(word);
		if (owner[slot] && owner[slot] != lext + 1)
			sim_fail("INV6: extent %u got slow slot %u, where the replica has %u",
				 lext, slot, owner[slot] - 1);
	}
}

static bool is_current(const struct replica *rep, u32 lext)
{
	return fusion_names_shadow(rep->word[lext]) &&
	       (enum fusion_shadow_state)fusion_word_state(rep->word[lext]) == FUSION_SHADOW;
}

void replica_check_told(const struct replica *rep, struct model *model, const void *private)
{
	struct told told = set_told(private);
	u32 lext, s, nr = 0;

	if (rep->sb.epoch != set_epoch(private) || !set_same_disks(private, &rep->sb))
		told.protected = 0;
	for (lext = 0; told.protected && lext < min(rep->sb.nr_lexts, set_lexts(private)); lext++) {
		u32 word = set_word(private, lext);

		if (!is_current(rep, lext) || !fusion_word_mapped(word) ||
		    fusion_word_dev(word) != FUSION_FAST)
			continue;
		nr++;
		for (s = 0; s < EXTENT_SECTORS; s++)
			check_shadow(rep, model, lext, s, told.second);
	}
	if (nr < told.protected)
		sim_fail("%u extents are said to be protected, the replica has %u",
			 told.protected, nr);
}

static void check_current(const struct replica *rep, u32 lext, u32 word, const void *private)
{
	if (fusion_names_shadow(rep->word[lext])) {
		if (!fusion_word_mapped(word) || fusion_word_dev(word) != FUSION_FAST ||
		    fusion_word_state(word) != FUSION_STABLE)
			sim_fail("replica: is up to date, and has a shadow of extent %u, %x", lext,
				 word);
		return;
	}
	if (rep->word[lext] != word)
		sim_fail("replica: is up to date, but extent %u is %x there, not %x", lext,
			 rep->word[lext], word);
	if (is_open(rep, lext) &&
	    memcmp(&rep->valid[lext], set_bitmap(private, lext), sizeof(rep->valid[0])))
		sim_fail("replica: is up to date, but not the bitmap of extent %u", lext);
	if (is_open(rep, lext) && rep->partly[lext] != set_is_partly_lost(private, lext))
		sim_fail("replica: is up to date, but not whether blocks of extent %u are lost",
			 lext);
}

void replica_check_map(const struct replica *rep, const struct model *model, const void *private)
{
	u32 lext;

	/* The superblock by which a disk has joined may be in a cache only: other numbers. */
	if (!set_same_disks(private, &rep->sb))
		return;
	for (lext = 0; lext < rep->sb.nr_lexts; lext++) {
		u32 word = lext < set_lexts(private) ? set_word(private, lext) :
			   FUSION_WORD_UNMAPPED;

		if (rep->sb.flags & FUSION_SB_CLEAN)
			check_current(rep, lext, word, private);
		if (!says_slow(rep, lext) || !fusion_word_mapped(word) ||
		    model_replica_may_lag(model, lext))
			continue;
		if (fusion_word_dev(word) == FUSION_FAST)
			sim_fail("INV7: the replica says slow of extent %u, the map fast", lext);
		if (fusion_word_slot(word) != fusion_word_slot(rep->word[lext]))
			sim_fail("INV7: extent %u lies on slow slot %u, not %u", lext,
				 fusion_word_slot(word), fusion_word_slot(rep->word[lext]));
	}
}
