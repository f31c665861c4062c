/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mutate: its inside.
 *
 * mutate.c		what is mutated; rot
 * mutate-super.c	superblocks
 * mutate-map.c		blocks of maps, of journals, and of heat
 * mutate-value.c	values at an edge, and any values
 * mutate-read.c	the set is decoded
 */
#ifndef MUTATE_INSIDE_H
#define MUTATE_INSIDE_H

#include "mutate.h"

static inline u8 *image_block(struct image *im, int dev, u64 blocknr)
{
	return im->mem[dev] + blocknr * FUSION_BLOCK_SIZE;
}

static inline const char *member_name(int dev)
{
	return dev == FUSION_FAST ? "fast" : "slow";
}

/* -- mutate-super.c, mutate-map.c ---------------------------------------------------- */

void mutate_super(struct image *im, struct mutation *m);
void mutate_geometry(struct image *im, struct mutation *m);
void mutate_map(struct image *im, struct mutation *m, int dev);
void mutate_journal(struct image *im, struct mutation *m, int dev);
void mutate_heat(struct image *im, struct mutation *m);

/* -- mutate-value.c ------------------------------------------------------------------ */

/* Random numbers: any, and true once in @n times. */
u64 mutate_draw(struct mutation *m);
bool mutate_one_in(struct mutation *m, u32 n);

/* Add to @m->what. */
__attribute__((format(printf, 2, 3)))
void mutate_note(struct mutation *m, const char *format, ...);

/* Little-endian numbers in a block. */
struct field {
	const char *name;
	unsigned int offset;
	unsigned int size;
};

#define FIELD(type, member) \
	{ #member, offsetof(struct type, member), sizeof(((struct type *)0)->member) }

u64 field_get(const u8 *p, unsigned int size);
void field_put(u8 *p, unsigned int size, u64 v);

/* Another value for a number of @size bytes that was @was. */
u64 mutate_value(struct mutation *m, const struct fusion_sb *sb, u64 was, unsigned int size);

/* A map word at an edge: of another extent, of no slot, in a state that exists in memory only. */
u32 mutate_word(struct mutation *m, const struct fusion_sb *sb, u32 was, u32 other);

/* Change one field, or one of some. */
void mutate_field(struct mutation *m, const struct fusion_sb *sb, u8 *base, const struct field *f);

#define CHANGE_ONE(m, sb, base, fields) \
	mutate_field(m, sb, base, &(fields)[mutate_below(&(m)->state, ARRAY_SIZE(fields))])

#endif
