// SPDX-License-Identifier: GPL-2.0-only
/* See mutate.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "../../userspace/lib/random.h"
#include "../reseal.h"

struct field {
	const char *name;
	unsigned int offset;
	unsigned int size;
};

#define FIELD(type, member) \
	{ #member, offsetof(struct type, member), sizeof(((struct type *)0)->member) }

static const struct field super_fields[] = {
	FIELD(fusion_super, h.magic), FIELD(fusion_super, h.blocknr),
	FIELD(fusion_super, version), FIELD(fusion_super, role), FIELD(fusion_super, incompat),
	FIELD(fusion_super, ro_compat), FIELD(fusion_super, compat),
	FIELD(fusion_super, generation), FIELD(fusion_super, flags), FIELD(fusion_super, epoch),
	FIELD(fusion_super, self_sectors), FIELD(fusion_super, peer_sectors),
	FIELD(fusion_super, extent_sectors), FIELD(fusion_super, nr_lexts),
	FIELD(fusion_super, journal_start), FIELD(fusion_super, journal_blocks),
	FIELD(fusion_super, map_blocks), FIELD(fusion_super, map_start[0]),
	FIELD(fusion_super, map_start[1]), FIELD(fusion_super, heat_start),
	FIELD(fusion_super, heat_blocks), FIELD(fusion_super, nr_fast_slots),
	FIELD(fusion_super, fast_data_start), FIELD(fusion_super, slow_first_slot),
	FIELD(fusion_super, nr_slow_slots), FIELD(fusion_super, log_start),
	FIELD(fusion_super, log_blocks), FIELD(fusion_super, spare_fast),
	FIELD(fusion_super, spare_slow), FIELD(fusion_super, active_set),
	FIELD(fusion_super, replay_csum), FIELD(fusion_super, set_generation),
	FIELD(fusion_super, replay_seq), FIELD(fusion_super, replay_txn),
	FIELD(fusion_super, layout_seq), FIELD(fusion_super, slow_map_start[0]),
	FIELD(fusion_super, slow_map_start[1]), FIELD(fusion_super, activation),
	FIELD(fusion_super, prev_activation), FIELD(fusion_super, peer_generation),
	FIELD(fusion_super, peer_seq), FIELD(fusion_super, settings_mask),
	FIELD(fusion_super, setting[0]),
	/* a string without an end */
	{ "label", offsetof(struct fusion_super, label) + FUSION_LABEL_SIZE - 8, 8 },
	{ "peer.serial", offsetof(struct fusion_super, peer.serial) + FUSION_IDENT_SIZE - 8, 8 },
	{ "dev_uuid", offsetof(struct fusion_super, dev_uuid), 8 },
	{ "set_uuid", offsetof(struct fusion_super, h.set_uuid), 8 },
};

static const struct field map_fields[] = {
	FIELD(fusion_map_block, h.magic), FIELD(fusion_map_block, h.blocknr),
	FIELD(fusion_map_block, generation), FIELD(fusion_map_block, index),
	FIELD(fusion_map_block, count),
};

static const struct field journal_fields[] = {
	FIELD(fusion_journal_block, h.magic), FIELD(fusion_journal_block, h.blocknr),
	FIELD(fusion_journal_block, seq), FIELD(fusion_journal_block, txn),
	FIELD(fusion_journal_block, epoch), FIELD(fusion_journal_block, index),
	FIELD(fusion_journal_block, count), FIELD(fusion_journal_block, prev_csum),
	FIELD(fusion_journal_block, used), FIELD(fusion_journal_block, peer_generation),
	FIELD(fusion_journal_block, peer_seq),
};

static const struct field record_fields[] = {
	FIELD(fusion_journal_record, lext), FIELD(fusion_journal_record, new),
	FIELD(fusion_journal_record, old), FIELD(fusion_journal_record, op),
};

u32 mutate_below(u64 *state, u32 limit)
{
	return random64(*state += RANDOM_STEP) % limit;
}

static u64 draw(struct mutation *m)
{
	return random64(m->state += RANDOM_STEP);
}

static bool one_in(struct mutation *m, u32 n)
{
	return !mutate_below(&m->state, n);
}

static __attribute__((format(printf, 2, 3)))
void note(struct mutation *m, const char *format, ...)
{
	size_t len = strlen(m->what);
	va_list args;

	va_start(args, format);
	vsnprintf(m->what + len, sizeof(m->what) - len, format, args);
	va_end(args);
}

/* -- what there is ------------------------------------------------------------------ */

static u8 *block_at(struct image *im, int dev, u64 blocknr)
{
	return im->mem[dev] + blocknr * FUSION_BLOCK_SIZE;
}

struct walk {
	struct image *im;
	int dev;
	struct fusion_replay r;
};

static const void *walk_read(void *ctx, u32 pos)
{
	struct walk *w = ctx;

	return block_at(w->im, w->dev, w->im->sb[w->dev].journal_start[w->dev] + pos);
}

static int walk_apply(void *ctx, const struct fusion_record *rec)
{
	struct walk *w = ctx;
	struct image *im = w->im;

	if (im->last[w->dev] && w->r.next_seq >= im->last_txn[w->dev])
		im->last[w->dev][rec->lext] = 1;
	return 0;
}

static const char *find_super(struct image *im, int dev)
{
	const char *why = NULL;
	struct fusion_sb one;
	bool found = false;

	for (int copy = 0; copy < 2; copy++) {
		const u64 blocknr = FUSION_SUPER_BLOCKNR(copy);

		if (fusion_sb_unpack(block_at(im, dev, blocknr), blocknr, im->size[dev] / 512,
				     &one, &why))
			continue;
		if (!found || one.generation > im->sb[dev].generation)
			im->sb[dev] = one;
		found = true;
	}
	return found ? NULL : why;
}

static const char *find_last_txn(struct image *im, int dev)
{
	static struct walk w;	/* it has the text of the error */
	const struct fusion_journal_block *b;

	w = (struct walk){ .im = im, .dev = dev, .r = {
		.sb = &im->sb[dev], .read = walk_read, .apply = walk_apply, .ctx = &w,
	} };
	if (fusion_replay(&w.r))
		return w.r.why;
	im->next_seq[dev] = w.r.next_seq;
	im->last_txn[dev] = w.r.next_seq;
	if (w.r.next_seq == im->sb[dev].replay_seq)
		return NULL;
	b = (void *)block_at(im, dev, fusion_journal_blocknr(&im->sb[dev], w.r.next_seq - 1));
	im->last_txn[dev] -= le16toh(b->count);
	im->last[dev] = calloc(im->sb[dev].nr_lexts, 1);
	return !im->last[dev] || fusion_replay(&w.r) ? "out of memory" : NULL;
}

const char *image_read(struct image *im)
{
	const char *why = NULL;

	for (int dev = 0; dev < FUSION_NR_DEVS && !why; dev++) {
		why = find_super(im, dev);
		if (!why)
			why = find_last_txn(im, dev);
	}
	return why;
}

/* -- numbers ------------------------------------------------------------------------- */

static u64 get(const u8 *p, unsigned int size)
{
	u64 v = 0;

	while (size--)
		v = v << 8 | p[size];
	return v;
}

static void put(u8 *p, unsigned int size, u64 v)
{
	for (; size--; v >>= 8)
		*p++ = v;
}

/* Positions of the ends of things, for a set of this geometry. */
static u64 edge_of(struct mutation *m, const struct fusion_sb *sb)
{
	const u64 edges[] = {
		sb->nr_lexts, sb->nr_fast_slots, sb->nr_slow_slots, sb->slow_first_slot,
		(u64)sb->slow_first_slot + sb->nr_slow_slots, sb->journal_blocks[sb->role],
		sb->map_blocks, sb->heat_blocks, sb->self_sectors, sb->peer_sectors,
		sb->self_sectors / FUSION_BLOCK_SECTORS, sb->epoch, sb->generation,
		sb->set_generation, sb->replay_seq, sb->replay_txn, sb->fast_data_start,
		sb->map_start[sb->role][0], sb->map_start[sb->role][1], sb->heat_start,
		sb->journal_start[sb->role], sb->extent_sectors, FUSION_MAX_LEXTS,
		FUSION_MAX_JOURNAL_BLOCKS, FUSION_MAX_EXTENT_SECTORS, FUSION_JOURNAL_PAYLOAD,
		FUSION_MAP_PER_BLOCK, FUSION_WORD_UNMAPPED, 1ULL << 62, 1ULL << 52, U32_MAX,
	};

	return edges[mutate_below(&m->state, ARRAY_SIZE(edges))] + mutate_below(&m->state, 3) - 1;
}

static u64 value_for(struct mutation *m, const struct fusion_sb *sb, u64 was, unsigned int size)
{
	const unsigned int bits = size * 8;

	switch (mutate_below(&m->state, 11)) {
	case 0:
		return 0;
	case 1:
		return ~0ULL;
	case 2:
		return (1ULL << (bits - 1)) - one_in(m, 2);
	case 3:
		return was ^ 1ULL << mutate_below(&m->state, bits);
	case 4:
	case 5:
		return was + (one_in(m, 2) ? 1 : -1) * (s64)(1 + mutate_below(&m->state, 4));
	case 6:
		return one_in(m, 2) ? was * 2 : was / 2;
	case 7:
		return draw(m) >> mutate_below(&m->state, 64);
	default:
		return edge_of(m, sb);
	}
}

/* A map word at an edge: of another extent, of no slot, in a state that exists in memory only. */
static u32 word_for(struct mutation *m, const struct fusion_sb *sb, u32 was, u32 other)
{
	const u32 dev = mutate_below(&m->state, FUSION_NR_DEVS);
	const u32 first = dev == FUSION_FAST ? 0 : sb->slow_first_slot;
	const u32 nr = dev == FUSION_FAST ? sb->nr_fast_slots : sb->nr_slow_slots;
	const u32 state = mutate_below(&m->state, 4);

	switch (mutate_below(&m->state, 8)) {
	case 0:
		return other;
	case 1:
		return fusion_word(state, dev, first + nr);
	case 2:
		return fusion_word(state, dev, first - 1) & ~(1U << 31);
	case 3:
		return fusion_word(FUSION_STABLE, dev, first + mutate_below(&m->state, nr));
	case 4:
		return fusion_word_set_state(was, state);
	case 5:
		return FUSION_WORD_UNMAPPED | state << FUSION_WORD_STATE_SHIFT;
	case 6:
		return FUSION_WORD_UNMAPPED;
	default:
		return value_for(m, sb, was, 4);
	}
}

static void change(struct mutation *m, const struct fusion_sb *sb, u8 *base,
		   const struct field *f)
{
	const u64 was = get(base + f->offset, f->size);
	const u64 now = value_for(m, sb, was, f->size);

	put(base + f->offset, f->size, now);
	note(m, " %s=%llx", f->name, (unsigned long long)get(base + f->offset, f->size));
}

#define CHANGE_ONE(m, sb, base, fields) \
	change(m, sb, base, &(fields)[mutate_below(&(m)->state, ARRAY_SIZE(fields))])

static const char *member_name(int dev)
{
	return dev == FUSION_FAST ? "fast" : "slow";
}

/* -- superblocks ---------------------------------------------------------------------- */

static u8 *super_copy(struct image *im, int dev, int copy)
{
	return block_at(im, dev, FUSION_SUPER_BLOCKNR(copy));
}

/* The generation decides which copy it is; a field that is changed in both copies keeps that. */
static void mutate_super(struct image *im, struct mutation *m)
{
	const int only_dev = one_in(m, 2) ? -1 : (int)mutate_below(&m->state, 2);
	const int only_copy = one_in(m, 4) ? (int)mutate_below(&m->state, 2) : -1;
	unsigned int fields = one_in(m, 3) ? 1 + mutate_below(&m->state, 3) : 1;

	note(m, " super %s copy %d", only_dev < 0 ? "both" : member_name(only_dev), only_copy);
	while (fields--) {
		const struct field *f =
			&super_fields[mutate_below(&m->state, ARRAY_SIZE(super_fields))];
		const u64 parity = f->offset == offsetof(struct fusion_super, generation) &&
				   !one_in(m, 4);
		u64 value = 0;
		bool drawn = false;

		for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
			if (only_dev >= 0 && dev != only_dev)
				continue;
			for (int copy = 0; copy < 2; copy++) {
				u8 *b = super_copy(im, dev, copy);

				if (only_copy >= 0 && copy != only_copy)
					continue;
				if (!drawn)
					value = value_for(m, &im->sb[dev],
							  get(b + f->offset, f->size), f->size);
				drawn = true;
				put(b + f->offset, f->size,
				    parity ? (value & ~1ULL) | copy : value);
				reseal(b);
			}
		}
		note(m, " %s=%llx", f->name, (unsigned long long)value);
	}
}

/* A whole geometry that is valid in itself, but not that of the set. */
static void mutate_geometry(struct image *im, struct mutation *m)
{
	const struct fusion_sb *old = &im->sb[FUSION_FAST];
	const u32 extent = one_in(m, 2) ? old->extent_sectors :
			   FUSION_MIN_EXTENT_SECTORS << mutate_below(&m->state, 4);
	u64 fast = old->self_sectors - (u64)mutate_below(&m->state, 16) * 64;
	u64 slow = old->peer_sectors - (u64)mutate_below(&m->state, 16) * 64;
	struct fusion_sb sb[2] = { *old };
	struct fusion_misfit misfit;

	if (fusion_sb_plan(&sb[0], fast, slow, extent, &misfit)) {
		mutate_super(im, m);
		return;
	}
	note(m, " geometry extent=%x fast=%llx slow=%llx lexts=%x", extent,
	     (unsigned long long)fast, (unsigned long long)slow, sb[0].nr_lexts);
	fusion_sb_for_slow(&sb[0], &sb[1]);
	for (int dev = 0; dev < FUSION_NR_DEVS; dev++) {
		for (int copy = 0; copy < 2; copy++) {
			sb[dev].generation = (im->sb[dev].generation | 1) - !copy;
			sb[dev].flags = im->sb[dev].flags;
			sb[dev].epoch = im->sb[dev].epoch;
			sb[dev].active_set = im->sb[dev].active_set;
			sb[dev].set_generation = im->sb[dev].set_generation;
			sb[dev].replay_seq = im->sb[dev].replay_seq;
			sb[dev].replay_txn = im->sb[dev].replay_txn;
			sb[dev].replay_csum = im->sb[dev].replay_csum;
			fusion_sb_pack(&sb[dev], FUSION_SUPER_BLOCKNR(copy),
				       super_copy(im, dev, copy));
		}
	}
}

/* -- map and journal ------------------------------------------------------------------- */

static void mutate_map(struct image *im, struct mutation *m, int dev)
{
	const struct fusion_sb *sb = &im->sb[dev];
	const unsigned int set = one_in(m, 8) ? !sb->active_set : sb->active_set;
	const u32 index = mutate_below(&m->state, sb->map_blocks);
	u8 *b = block_at(im, dev, sb->map_start[dev][set] + index);
	struct fusion_map_block *mb = (void *)b;
	const u32 entries = fusion_map_entries(sb, index);
	u32 n = 1 + (one_in(m, 2) ? 0 : mutate_below(&m->state, 4));

	note(m, " map %s set %u block %u", member_name(dev), set, index);
	if (one_in(m, 4) || !entries) {
		CHANGE_ONE(m, sb, b, map_fields);
		n = 0;
	}
	while (n--) {
		const u32 limit = one_in(m, 16) ? FUSION_MAP_PER_BLOCK : entries;
		const u32 i = mutate_below(&m->state, limit);
		const u32 other = mutate_below(&m->state, entries);
		const u32 now = word_for(m, sb, le32toh(mb->word[i]), le32toh(mb->word[other]));

		mb->word[i] = htole32(now);
		note(m, " [%u]=%x", i, now);
	}
	reseal(b);
}

static void mutate_record(struct image *im, struct mutation *m, int dev,
			  struct fusion_journal_block *b)
{
	const struct fusion_sb *sb = &im->sb[dev];
	const u32 bitmap = fusion_bitmap_bytes(sb->extent_sectors);
	const u32 used = min_t(u32, le32toh(b->used), FUSION_JOURNAL_PAYLOAD);
	struct fusion_journal_record *pick = NULL;
	u32 pos = 0, seen = 0;

	while (pos + sizeof(*pick) <= used) {
		struct fusion_journal_record *d = (void *)(b->payload + pos);

		if (one_in(m, ++seen))
			pick = d;
		pos += sizeof(*d) + (le32toh(d->op) == FUSION_OP_OPEN ? bitmap : 0);
	}
	if (!pick) {
		CHANGE_ONE(m, sb, (u8 *)b, journal_fields);
		return;
	}
	note(m, " record at %zu", (u8 *)pick - b->payload);
	if (one_in(m, 2)) {
		const u32 now = word_for(m, sb, le32toh(pick->new), le32toh(pick->old));

		pick->new = htole32(now);
		note(m, " new=%x", now);
	} else if (le32toh(pick->op) == FUSION_OP_OPEN && one_in(m, 3)) {
		const u32 bit = mutate_below(&m->state, bitmap * 8);

		((u8 *)(pick + 1))[bit / 8] ^= 1U << bit % 8;
		note(m, " bit %u", bit);
	} else {
		CHANGE_ONE(m, sb, (u8 *)pick, record_fields);
	}
}

static struct fusion_journal_block *journal_block(struct image *im, int dev, u64 seq)
{
	return (void *)block_at(im, dev, fusion_journal_blocknr(&im->sb[dev], seq));
}

static void mutate_journal(struct image *im, struct mutation *m, int dev)
{
	const struct fusion_sb *sb = &im->sb[dev];
	const u64 live = im->next_seq[dev] - sb->replay_seq;
	const bool any = !live || one_in(m, 6);
	u64 seq = sb->replay_seq + mutate_below(&m->state, any ? sb->journal_blocks[dev] : live);
	struct fusion_journal_block *b = journal_block(im, dev, seq);

	note(m, " journal %s seq %llx%s", member_name(dev), (unsigned long long)seq,
	     seq < im->next_seq[dev] ? "" : " (dead)");
	if (one_in(m, 3))
		CHANGE_ONE(m, sb, (u8 *)b, journal_fields);
	else
		mutate_record(im, m, dev, b);
	if (one_in(m, 8))
		mutate_record(im, m, dev, b);
	reseal(b);
	if (any || one_in(m, 4))
		return;
	/* the blocks after it depend on its checksum */
	note(m, " rechained");
	while (++seq < im->next_seq[dev]) {
		struct fusion_journal_block *next = journal_block(im, dev, seq);

		next->prev_csum = b->h.csum;
		reseal(next);
		b = next;
	}
}

static void mutate_heat(struct image *im, struct mutation *m)
{
	const struct fusion_sb *sb = &im->sb[FUSION_FAST];
	const u32 index = mutate_below(&m->state, sb->heat_blocks);
	u8 *b = block_at(im, FUSION_FAST, sb->heat_start + index);

	note(m, " heat");
	if (one_in(m, 2)) {
		CHANGE_ONE(m, sb, b, map_fields);
	} else {
		for (u32 i = 0; i < 32; i++)
			put(b + 48 + 2 * mutate_below(&m->state, FUSION_HEAT_PER_BLOCK), 2,
			    draw(m));
	}
	reseal(b);
}

static void mutate_sealed(struct image *im, struct mutation *m)
{
	const int dev = one_in(m, 4) ? FUSION_SLOW : FUSION_FAST;

	switch (mutate_below(&m->state, 12)) {
	case 0:
	case 1:
	case 2:
		mutate_super(im, m);
		break;
	case 3:
		mutate_geometry(im, m);
		break;
	case 4:
	case 5:
	case 6:
		mutate_map(im, m, dev);
		break;
	case 7:
		mutate_heat(im, m);
		break;
	default:
		mutate_journal(im, m, dev);
	}
}

/* -- rot ------------------------------------------------------------------------------- */

/* Any metadata block, most of the time one that matters. */
static u64 any_block(struct image *im, struct mutation *m, int dev)
{
	const struct fusion_sb *sb = &im->sb[dev];
	const u64 live = im->next_seq[dev] - sb->replay_seq;
	const unsigned int set = one_in(m, 4) ? !sb->active_set : sb->active_set;

	switch (mutate_below(&m->state, 8)) {
	case 0:
	case 1:
		return FUSION_SUPER_BLOCKNR(mutate_below(&m->state, 2));
	case 2:
		return dev == FUSION_FAST ?
		       sb->heat_start + mutate_below(&m->state, sb->heat_blocks) :
		       sb->map_start[dev][set] + mutate_below(&m->state, sb->map_blocks);
	case 3:
	case 4:
		return sb->map_start[dev][set] + mutate_below(&m->state, sb->map_blocks);
	case 5:
		return sb->journal_start[dev] + mutate_below(&m->state, sb->journal_blocks[dev]);
	default:
		return fusion_journal_blocknr(sb, sb->replay_seq +
					      (live ? mutate_below(&m->state, live) : 0));
	}
}

static void rot_block(struct image *im, struct mutation *m, int dev)
{
	const u64 blocknr = any_block(im, m, dev);
	u8 *b = block_at(im, dev, blocknr);
	const u32 sector = mutate_below(&m->state, FUSION_BLOCK_SECTORS) * 512;
	u32 n = 1 + mutate_below(&m->state, 32);

	for (u64 seq = im->last_txn[dev]; seq < im->next_seq[dev]; seq++)
		if (fusion_journal_blocknr(&im->sb[dev], seq) == blocknr)
			m->torn_tail = true;

	note(m, " rot %s block %llu", member_name(dev), (unsigned long long)blocknr);
	switch (mutate_below(&m->state, 6)) {
	case 0:
		memset(b, 0, FUSION_BLOCK_SIZE);
		note(m, " zeroed");
		break;
	case 1:
		memset(b + sector, 0, 512);
		note(m, " sector %u zeroed", sector / 512);
		break;
	case 2:
		for (u32 i = 0; i < 512; i++)
			b[sector + i] = draw(m);
		note(m, " sector %u random", sector / 512);
		break;
	case 3:
		memcpy(b, block_at(im, dev, any_block(im, m, dev)), FUSION_BLOCK_SIZE);
		note(m, " another one");
		break;
	default:
		while (n--) {
			const u32 bit = mutate_below(&m->state, FUSION_BLOCK_SIZE * 8);

			b[bit / 8] ^= 1U << bit % 8;
		}
		note(m, " bits flipped");
	}
}

static void mutate_rot(struct image *im, struct mutation *m)
{
	u32 n = one_in(m, 3) ? 2 + mutate_below(&m->state, 3) : 1;

	m->blocks = n;
	while (n--)
		rot_block(im, m, one_in(m, 3) ? FUSION_SLOW : FUSION_FAST);
}

void mutate(struct image *im, struct mutation *m)
{
	u32 n = one_in(m, 3) ? 2 : 1;

	m->what[0] = 0;
	m->torn_tail = false;
	m->rot = one_in(m, 3);
	if (m->rot)
		mutate_rot(im, m);
	else
		while (n--)
			mutate_sealed(im, m);
}
