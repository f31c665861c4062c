// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stale list of a set with two slots for a landing log: blocks of lists and of the head, which
 * say where they are. What is found is bounded, and the same each time; and bounded if the disk
 * gives another block of a place when it is read once more.
 */
#include "fuzz.h"
#include "dm-fusion-stale.h"

#define PLACES		2U
#define REGION		(2 + 2 * PLACES)
#define MAX_BLOCKS	8U

static struct fusion_sb sb;
static const uint8_t *input;
static u32 input_blocks;
static struct fusion_stale_scan first;
static u64 digest;
static u64 nr_told;
static bool fickle;
static u32 nr_reads[REGION];

static void begin(void)
{
	struct fusion_misfit misfit;

	if (sb.stale_places)
		return;
	sb = *fuzz_sb(FUSION_FAST);
	PROMISED(!fusion_sb_plan_landing(&sb, PLACES, &misfit));
}

static u64 place_of(const uint8_t *block)
{
	return (get_le(block + 8, 8) - sb.stale_start) % REGION;
}

static const void *read_block(void *ctx, u64 blocknr)
{
	u32 i, skip;

	PROMISED(blocknr >= sb.stale_start && blocknr - sb.stale_start < REGION);
	skip = fickle ? nr_reads[blocknr - sb.stale_start]++ : 0;
	for (i = input_blocks; i; i--)
		if (place_of(input + (i - 1) * FUSION_BLOCK_SIZE) == blocknr - sb.stale_start &&
		    !skip--)
			return input + (i - 1) * FUSION_BLOCK_SIZE;
	return NULL;
}

static int see_list(void *ctx, u32 copy, u32 place, const struct fusion_stale_seen *list,
		    bool counts)
{
	PROMISED(copy < FUSION_STALE_COPIES && place < PLACES);
	PROMISED(list->run && list->run <= FUSION_MAX_COUNTER);
	PROMISED(list->total <= 16 && !list->total == !list->segno);
	PROMISED(!counts || list->run <= ((struct fusion_stale_scan *)ctx)->head.run);
	digest = digest * 31 + list->run + list->total;
	return 0;
}

static int see_entry(void *ctx, u32 place, const struct fusion_stale_entry *entry)
{
	PROMISED(place < PLACES && entry->lext < sb.nr_lexts);
	PROMISED(entry->block < 16 && entry->pos < 16);
	digest = digest * 31 + entry->lext + entry->block + entry->pos;
	nr_told++;
	return 0;
}

static struct fusion_stale_scan scan(void)
{
	static struct fusion_stale_seen found[FUSION_STALE_COPIES * PLACES];
	struct fusion_stale_scan s = {
		.sb = &sb, .seen = found, .read = read_block, .list = see_list, .entry = see_entry,
	};

	digest = 0;
	nr_told = 0;
	memset(nr_reads, 0, sizeof(nr_reads));
	s.ctx = &s;
	PROMISED(!fusion_stale_scan(&s));
	PROMISED(s.nr_lists <= PLACES && s.nr_blocks <= PLACES * 16);
	PROMISED(s.nr_blocks <= nr_told);
	PROMISED(s.last_run >= s.head.run && (s.found || !s.head.run));
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u64 seen;

	begin();
	fickle = false;
	input = data;
	input_blocks = min(size / FUSION_BLOCK_SIZE, (size_t)MAX_BLOCKS);
	first = scan();
	seen = digest;
	PROMISED(scan().last_run == first.last_run && digest == seen);
	fickle = true;
	scan();
	return 0;
}

/* A block of the place that it says, most of it right. */
static void repair(uint8_t *block, u64 *state)
{
	const u64 place = rnd_below(state, REGION), run = 1 + rnd_below(state, 8);
	struct fusion_stale_block *d = (void *)block;
	u32 i, count;

	put_le(block + 8, 8, sb.stale_start + place);
	memcpy(d->h.set_uuid, sb.set_uuid, sizeof(d->h.set_uuid));
	put_le(block + 32, 8, place < 2 ? 2 * run + place : run);
	if (place < 2) {
		struct fusion_stale_head_block *h = (void *)block;

		put_le(block + 4, 4, FUSION_MAGIC_STALE_HEAD);
		h->flags = 0;
		h->nr_lists = cpu_to_le32(rnd_below(state, PLACES + 1));
		h->nr_blocks = cpu_to_le64(le32_to_cpu(h->nr_lists) * 5);
	} else {
		put_le(block + 4, 4, FUSION_MAGIC_STALE);
		count = rnd_below(state, 17);
		d->segno = cpu_to_le64(count);
		d->place = cpu_to_le32((place - 2) % PLACES);
		d->index = 0;
		d->count = cpu_to_le16(count);
		d->total = d->count;
		for (i = 0; i < count; i++) {
			d->entry[i].lext = cpu_to_le32(rnd_below(state, sb.nr_lexts));
			d->entry[i].block = cpu_to_le16(rnd_below(state, 16));
			d->entry[i].pos = cpu_to_le16(i);
		}
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	const size_t most = min(max_size / FUSION_BLOCK_SIZE, (size_t)MAX_BLOCKS);
	u64 state = seed;
	size_t n = min(size / FUSION_BLOCK_SIZE, most), i;
	uint8_t *block;

	begin();
	if (!most)
		return size;
	if (n < most && (!n || !rnd_below(&state, 4)))
		memset(data + n++ * FUSION_BLOCK_SIZE, 0, FUSION_BLOCK_SIZE);
	i = rnd_below(&state, n);
	block = data + i * FUSION_BLOCK_SIZE;
	if (rnd_below(&state, 2))
		repair(block, &state);
	if (rnd_below(&state, 2))
		fuzz_block(block, rnd_below(&state, 2) ? 0 : 32);
	if (rnd_below(&state, 8))
		reseal(block);
	return n * FUSION_BLOCK_SIZE;
}
