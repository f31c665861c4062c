// SPDX-License-Identifier: GPL-2.0-only
/*
 * A journal: the first blocks of a ring from replay_seq on; the rest of the ring is empty. Returned
 * records are bounded, and a refused journal changes nothing.
 */
#include "fuzz.h"
#include "dm-fusion-landing.h"

#define MAX_BLOCKS	6U

static const uint8_t *input;	/* what read_block() reads */
static u32 input_blocks;
static u64 applied;
static const u8 bitmap[512] = { 0x5a };

/* The committer adds to blocks that it began itself. */
static void bound_used(uint8_t *block)
{
	struct fusion_journal_block *jb = (struct fusion_journal_block *)block;

	if (le32_to_cpu(jb->used) > FUSION_JOURNAL_PAYLOAD)
		jb->used = cpu_to_le32(FUSION_JOURNAL_PAYLOAD);
}

/* Chain the blocks to each other as a committer would. */
static void chain(const struct fusion_sb *sb, uint8_t *data, u32 nr, u64 *state)
{
	u32 csum = sb->replay_csum, i, left = 0, count = 0;
	u64 txn = sb->replay_txn;

	for (i = 0; i < nr; i++) {
		uint8_t *block = data + i * FUSION_BLOCK_SIZE;

		if (!left) {
			count = 1 + rnd_below(state, nr - i);
			left = count;
		}
		bound_used(block);
		csum = fusion_journal_seal(sb, block, sb->replay_seq + i, txn, count - left,
					   count, csum);
		if (!--left)
			txn++;
	}
}

static void landing_record(const struct fusion_sb *sb, struct fusion_record *rec, u64 *state)
{
	*rec = (struct fusion_record){ .op = FUSION_OP_SEGMENT + rnd_below(state, 3) };
	if (rec->op == FUSION_OP_LANDED)
		rec->landed = (struct fusion_landed){
			.seq = 1 + rnd_below(state, 9), .segno = 1 + rnd_below(state, 9),
			.pos = rnd_below(state, fusion_segment_blocks(sb)),
		};
	else
		rec->segment = (struct fusion_segment){
			.slot = rnd_below(state, sb->nr_fast_slots), .key = 1,
			.segno = 1 + rnd_below(state, 9), .live = bitmap,
			.end = rnd_below(state, 2) ? 0 : rnd_below(state, 16),
		};
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	const struct fusion_sb *sb;
	u32 nr = size / FUSION_BLOCK_SIZE, victim, i;
	const u32 max = min_t(size_t, max_size / FUSION_BLOCK_SIZE, MAX_BLOCKS);
	u64 state = seed;

	if (!max)
		return 0;
	sb = fuzz_sb(rnd_below(&state, FUZZ_NR_SBS));
	nr = min(nr, max);
	if (!nr || (nr < max && !rnd_below(&state, 8)))
		fusion_journal_init(data + nr++ * FUSION_BLOCK_SIZE);
	else if (nr > 1 && !rnd_below(&state, 8))
		nr--;

	victim = rnd_below(&state, nr);
	if (rnd_below(&state, 3)) {
		struct fusion_record rec = {
			.lext = rnd_below(&state, sb->nr_lexts),
			.new = fusion_word(FUSION_STABLE, FUSION_FAST,
					   rnd_below(&state, sb->nr_fast_slots)),
			.old = FUSION_WORD_UNMAPPED,
			.op = FUSION_OP_STABLE + rnd_below(&state, 2),
		};

		if (sb->incompat & FUSION_INCOMPAT_LANDING && rnd_below(&state, 2)) {
			landing_record(sb, &rec, &state);
		} else if (sb->incompat & FUSION_INCOMPAT_SHADOW && rnd_below(&state, 2)) {
			rec.op = FUSION_OP_SHADOW + rnd_below(&state, 2);
			rec.lext = rec.op == FUSION_OP_POINT ? 0 : rec.lext;
			rec.new = fusion_shadow_word(FUSION_SHADOW + rnd_below(&state, 2),
						     sb->slow_first_slot +
						     rnd_below(&state, sb->nr_slow_slots));
		} else if (rnd_below(&state, 2)) {
			rec.op = sb->incompat & FUSION_INCOMPAT_DAMAGED && rnd_below(&state, 2) ?
				 FUSION_OP_PARTLY_LOST : FUSION_OP_OPEN;
			rec.new = fusion_word_set_state(rec.new, FUSION_OPEN);
			rec.bitmap = bitmap;
		}
		bound_used(data + victim * FUSION_BLOCK_SIZE);
		fusion_journal_add(sb, data + victim * FUSION_BLOCK_SIZE, &rec);
	} else {
		fuzz_block(data + victim * FUSION_BLOCK_SIZE,
			   rnd_below(&state, 4) ? 64 : sizeof(struct fusion_block_header));
	}
	chain(sb, data, nr, &state);
	/* then a sealed one that is not in its place */
	if (!rnd_below(&state, 4)) {
		fuzz_block(data + victim * FUSION_BLOCK_SIZE, 4);
		reseal(data + victim * FUSION_BLOCK_SIZE);
	}
	for (i = victim + 1; i < nr && !rnd_below(&state, 8); i++)
		reseal(data + i * FUSION_BLOCK_SIZE);
	return nr * FUSION_BLOCK_SIZE;
}

static const void *read_block(void *ctx, u32 pos)
{
	static const u8 empty[FUSION_BLOCK_SIZE];
	const struct fusion_sb *sb = ctx;
	const u32 blocks = sb->journal_blocks[sb->role];
	const u32 i = (pos + blocks - sb->replay_seq % blocks) % blocks;

	PROMISED(pos < blocks);
	return i < input_blocks ? input + i * FUSION_BLOCK_SIZE : empty;
}

/* The last byte of a bitmap: all of it is in the block. */
static u8 last_of(const struct fusion_sb *sb, const void *bits)
{
	return ((const u8 *)bits)[fusion_bitmap_bytes(sb->extent_sectors) - 1];
}

static void check_landing(const struct fusion_sb *sb, const struct fusion_record *rec)
{
	const struct fusion_segment *seg = &rec->segment;

	if (rec->op == FUSION_OP_LANDED) {
		PROMISED(rec->landed.segno && rec->landed.segno <= FUSION_MAX_SEGNO);
		PROMISED(rec->landed.pos <= fusion_segment_room(sb));
		PROMISED(rec->landed.seq <= FUSION_MAX_COUNTER);
		return;
	}
	PROMISED(seg->segno && seg->segno <= FUSION_MAX_SEGNO && seg->slot < sb->nr_fast_slots);
	PROMISED(seg->end <= fusion_segment_room(sb));
	PROMISED(!seg->live == (rec->op == FUSION_OP_SEGFREE));
	PROMISED(!seg->live || last_of(sb, seg->live) <= 0xff);
}

static int apply(void *ctx, const struct fusion_record *rec)
{
	const struct fusion_sb *sb = ctx;

	applied++;
	if (fusion_op_is_landing(rec->op)) {
		PROMISED(sb->incompat & FUSION_INCOMPAT_LANDING);
		check_landing(sb, rec);
		return 0;
	}
	PROMISED(rec->lext < sb->nr_lexts);
	if (rec->op == FUSION_OP_POINT) {
		PROMISED(sb->incompat & FUSION_INCOMPAT_SHADOW && !rec->lext && !rec->bitmap);
		return 0;
	}
	PROMISED(rec->op == FUSION_OP_AWAY ? rec->new == FUSION_WORD_AWAY :
		 fusion_word_valid(sb, rec->new));
	PROMISED(fusion_word_valid(sb, rec->old));
	PROMISED(fusion_names_shadow(rec->new) == (rec->op == FUSION_OP_SHADOW));
	PROMISED(!rec->bitmap == !fusion_op_has_bitmap(rec->op));
	PROMISED(rec->op != FUSION_OP_PARTLY_LOST || sb->incompat & FUSION_INCOMPAT_DAMAGED);
	PROMISED(rec->op != FUSION_OP_UNMAP || !fusion_word_mapped(rec->new));
	PROMISED(!rec->bitmap || last_of(sb, rec->bitmap) <= 0xff);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int which;

	input = data;
	input_blocks = min_t(size_t, size / FUSION_BLOCK_SIZE, MAX_BLOCKS);
	for (which = 0; which < FUZZ_NR_SBS; which++) {
		struct fusion_sb sb = *fuzz_sb(which);
		struct fusion_replay r = {
			.sb = &sb, .read = read_block, .apply = apply, .ctx = &sb,
		};
		int err;

		applied = 0;
		err = fusion_replay(&r);
		if (err) {
			PROMISED(err < 0 && r.why && !applied);
			continue;
		}
		PROMISED(r.nr_records == applied);
		PROMISED(r.next_seq >= sb.replay_seq && r.next_seq <= sb.replay_seq + input_blocks);
		PROMISED(r.next_txn >= sb.replay_txn && r.next_txn <= sb.replay_txn + input_blocks);
	}
	return 0;
}
