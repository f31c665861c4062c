// SPDX-License-Identifier: GPL-2.0-only
/*
 * A landing log of two segments: some numbers, then headers of batches and summaries. They
 * say where they are. All data are alike. What is found is bounded, and the same each time.
 */
#include <errno.h>

#include "fuzz.h"
#include "dm-fusion-landing.h"

#define MAX_BLOCKS	6U
#define NUMBERS		64U		/* bytes, in front of the blocks */
#define SEGMENTS	2U

static const struct fusion_sb *sb;
static struct fusion_segment seg[SEGMENTS];
static u8 live[SEGMENTS][4];
static const uint8_t *input;
static u32 input_blocks;
static uint8_t data_block[FUSION_BLOCK_SIZE];

/* The segments that the numbers tell of, and where the log goes on. */
static struct fusion_landed take_numbers(const uint8_t *n)
{
	u32 i;

	sb = fuzz_sb(FUSION_FAST);
	for (i = 0; i < SEGMENTS; i++) {
		memcpy(live[i], n + 4 * i, sizeof(live[i]));
		seg[i] = (struct fusion_segment){
			.slot = 4 + i,
			.segno = 10 + i * (1 + n[8] % 2),
			.key = 77 + i,
			.end = n[9 + i] % 17,
			.live = live[i],
		};
	}
	return (struct fusion_landed){
		.seq = n[11] % 32,
		.csum = get_le(n + 12, 4),
		.segno = 10 + n[16] % 3,
		.pos = n[17] % 16,
	};
}

/* Where a block lies: its segment and its place there. */
static u32 segment_of(const uint8_t *block)
{
	return block[64] % SEGMENTS;
}

static u32 place_of(const uint8_t *block)
{
	const u64 first = fusion_segment_blocknr(sb, seg[segment_of(block)].slot, 0);

	return (get_le(block + 8, 8) - first) % fusion_segment_blocks(sb);
}

/* Some entries, most of them right. Return: how many. */
static u32 fill(struct fusion_landing_block *d, u32 most, u64 *state)
{
	const u32 count = 1 + rnd_below(state, min(most, 5U)), crc = fusion_landing_crc(data_block);
	u32 i;

	d->count = cpu_to_le16(count);
	for (i = 0; i < count; i++) {
		d->entry[i].flags = 0;
		if (rnd_below(state, 64))
			d->entry[i].crc = cpu_to_le32(crc);
		if (!rnd_below(state, 64))
			continue;
		d->entry[i].lext = cpu_to_le32(rnd_below(state, sb->nr_lexts));
		d->entry[i].block = cpu_to_le16(rnd_below(state, 16));
	}
	return count;
}

/* Let the log be durable up to a batch, and go on behind it. */
static void land(uint8_t *numbers, const struct fusion_batch *b, u32 s, u32 pos)
{
	numbers[11] = b->seq;
	put_le(numbers + 12, 4, b->csum);
	numbers[16] = s;
	numbers[17] = pos;
}

/* Chain the blocks to each other, as a writer would, perhaps with the summary of a segment. */
static void chain(uint8_t *numbers, uint8_t *blocks, u32 nr, u64 *state)
{
	const u32 room = fusion_segment_room(sb), at = rnd_below(state, nr + 2);
	struct fusion_summary summary = { .first_seq = 1 };
	struct fusion_entry entries[16] = {};
	struct fusion_batch b = {};
	u32 s = 0, pos = 0, i, k, count;

	numbers[8] = 0;
	if (!at)
		land(numbers, &b, 0, 0);
	for (i = 0; i < nr; i++) {
		uint8_t *block = blocks + (size_t)i * FUSION_BLOCK_SIZE;

		if (pos + 2 > room) {
			s++;
			pos = 0;
		}
		if (s == SEGMENTS)
			return;
		if (s && i == nr - 1 && rnd_below(state, 2)) {
			fusion_summary_pack(sb, &seg[0], 0, &summary, entries, block);
			return;
		}
		count = fill((void *)block, room - pos - 1, state);
		b.seq++;
		b.flushed_seq = rnd_below(state, 4) ? 0 : rnd_below(state, b.seq);
		b.prev_csum = b.csum;
		b.csum = fusion_batch_seal(sb, &seg[s], pos, &b, block);
		if (!s)
			entries[pos] = (struct fusion_entry){ FUSION_LANDING_HEAD, count, b.csum };
		for (k = 0; k < count && !s; k++)
			fusion_landing_entry(block, k, &entries[pos + 1 + k]);
		pos += 1 + count;
		if (!s)
			summary.end = pos;
		if (i + 1 == at) {
			land(numbers, &b, s, pos);
			numbers[9] = s ? summary.end : 0;
			numbers[10] = 0;
		}
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	uint8_t *blocks = data + NUMBERS;
	u64 state = seed;
	u32 nr, i;

	if (max_size < NUMBERS + MAX_BLOCKS * FUSION_BLOCK_SIZE)
		return 0;
	nr = 1 + rnd_below(&state, MAX_BLOCKS);
	if (size < NUMBERS)
		memset(data, 0, NUMBERS);
	for (i = 0; i < nr; i++)
		if (size < NUMBERS + (i + 1) * FUSION_BLOCK_SIZE)
			memset(blocks + (size_t)i * FUSION_BLOCK_SIZE, 0, FUSION_BLOCK_SIZE);
	LLVMFuzzerMutate(data, NUMBERS, NUMBERS);
	take_numbers(data);
	i = rnd_below(&state, nr);
	fuzz_block(blocks + (size_t)i * FUSION_BLOCK_SIZE, sizeof(struct fusion_block_header));
	if (rnd_below(&state, 4))
		chain(data, blocks, nr, &state);
	else
		reseal(blocks + (size_t)i * FUSION_BLOCK_SIZE);
	return NUMBERS + nr * FUSION_BLOCK_SIZE;
}

static const void *read_block(void *ctx, const struct fusion_segment *s, u32 pos)
{
	u32 i;

	(void)ctx;
	PROMISED(pos < fusion_segment_blocks(sb));
	for (i = 0; i < input_blocks; i++) {
		const uint8_t *block = input + (size_t)i * FUSION_BLOCK_SIZE;

		if (&seg[segment_of(block)] == s && place_of(block) == pos)
			return block;
	}
	return data_block;
}

static int apply_entry(void *ctx, const struct fusion_segment *s, u32 pos,
		       const struct fusion_entry *entry)
{
	u64 *sum = ctx;

	PROMISED(pos < fusion_segment_room(sb) && fusion_segment_live(s, pos));
	PROMISED(entry->lext < sb->nr_lexts && entry->block < fusion_segment_blocks(sb));
	*sum = *sum * 31 + entry->lext + pos;
	return 0;
}

static int replay(struct fusion_landing *l, const struct fusion_landed *from, u64 *sum)
{
	int r;

	*sum = 0;
	memset(l, 0, sizeof(*l));
	l->sb = sb;
	l->seg = seg;
	l->nr = SEGMENTS;
	l->from = *from;
	l->read = read_block;
	l->apply = apply_entry;
	l->ctx = sum;
	r = fusion_landing_replay(l);
	PROMISED(!r || r == -EILSEQ || r == -EIO);
	PROMISED(!r == !l->why);
	return r;
}

/* The numbers as a record. */
static void one_record(const uint8_t *n)
{
	struct fusion_landed_record landed;
	struct fusion_landed at;
	struct fusion_segment s;
	u8 packed[NUMBERS];
	const char *why = NULL;

	if (!fusion_segment_unpack(sb, n, NUMBERS, &s, &why) && s.live) {
		fusion_segment_pack(sb, &s, packed);
		PROMISED(!memcmp(packed, n, fusion_record_bytes(sb, FUSION_OP_SEGMENT)));
	} else {
		PROMISED(why || !s.live);
	}
	if (!fusion_landed_unpack(sb, n, NUMBERS, &at, &why)) {
		fusion_landed_pack(&at, &landed);
		PROMISED(!memcmp(&landed, n, sizeof(landed)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fusion_landing l;
	struct fusion_landed from, at;
	u64 sum, again;
	int r;

	if (size < NUMBERS || size > NUMBERS + MAX_BLOCKS * FUSION_BLOCK_SIZE)
		return 0;
	from = take_numbers(data);
	input = data + NUMBERS;
	input_blocks = (size - NUMBERS) / FUSION_BLOCK_SIZE;
	one_record(data);
	r = replay(&l, &from, &sum);
	at = l.at;
	PROMISED(r == replay(&l, &from, &again) && sum == again);
	if (r)
		return 0;
	PROMISED(at.seq == from.seq + l.nr_walked && at.segno >= from.segno);
	PROMISED(l.nr_walked || at.csum == from.csum);
	return 0;
}
