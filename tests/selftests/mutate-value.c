// SPDX-License-Identifier: GPL-2.0-only
/* mutate: random numbers, and the values that a field gets. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mutate-inside.h"
#include "../../userspace/lib/random.h"

u32 mutate_below(u64 *state, u32 limit)
{
	return random64(*state += RANDOM_STEP) % limit;
}

u64 mutate_draw(struct mutation *m)
{
	return random64(m->state += RANDOM_STEP);
}

bool mutate_one_in(struct mutation *m, u32 n)
{
	return !mutate_below(&m->state, n);
}

void mutate_note(struct mutation *m, const char *format, ...)
{
	size_t len = strlen(m->what);
	va_list args;

	va_start(args, format);
	vsnprintf(m->what + len, sizeof(m->what) - len, format, args);
	va_end(args);
}

u64 field_get(const u8 *p, unsigned int size)
{
	u64 v = 0;

	while (size--)
		v = v << 8 | p[size];
	return v;
}

void field_put(u8 *p, unsigned int size, u64 v)
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

u64 mutate_value(struct mutation *m, const struct fusion_sb *sb, u64 was, unsigned int size)
{
	const unsigned int bits = size * 8;

	switch (mutate_below(&m->state, 11)) {
	case 0:
		return 0;
	case 1:
		return ~0ULL;
	case 2:
		return (1ULL << (bits - 1)) - mutate_one_in(m, 2);
	case 3:
		return was ^ 1ULL << mutate_below(&m->state, bits);
	case 4:
	case 5:
		return was + (mutate_one_in(m, 2) ? 1 : -1) * (s64)(1 + mutate_below(&m->state, 4));
	case 6:
		return mutate_one_in(m, 2) ? was * 2 : was / 2;
	case 7:
		return mutate_draw(m) >> mutate_below(&m->state, 64);
	default:
		return edge_of(m, sb);
	}
}

u32 mutate_word(struct mutation *m, const struct fusion_sb *sb, u32 was, u32 other)
{
	const u32 dev = mutate_below(&m->state, FUSION_NR_DEVS);
	const u32 first = dev == FUSION_FAST ? 0 : sb->slow_first_slot;
	const u32 nr = dev == FUSION_FAST ? sb->nr_fast_slots : sb->nr_slow_slots;
	const u32 state = mutate_below(&m->state, 4);

	switch (mutate_below(&m->state, 9)) {
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
	case 7:
		return fusion_shadow_word(state & 1 ? FUSION_SHADOW : FUSION_OUTDATED,
					  sb->slow_first_slot +
					  mutate_below(&m->state, sb->nr_slow_slots));
	default:
		return mutate_value(m, sb, was, 4);
	}
}

void mutate_field(struct mutation *m, const struct fusion_sb *sb, u8 *base, const struct field *f)
{
	const u64 was = field_get(base + f->offset, f->size);
	const u64 now = mutate_value(m, sb, was, f->size);

	field_put(base + f->offset, f->size, now);
	mutate_note(m, " %s=%llx", f->name,
		    (unsigned long long)field_get(base + f->offset, f->size));
}
