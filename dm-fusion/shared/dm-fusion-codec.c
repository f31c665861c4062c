// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: packing, unpacking and checking of metadata blocks: their header, the heartbeat, map,
 * heat, journal. Superblocks are in dm-fusion-sb.c.
 *
 * See dm-fusion-codec.h for the contract and dm-fusion-format.h for the layout.
 * Replay of the journal is in dm-fusion-replay.c.
 */
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "dm-fusion-landing.h"

static_assert(sizeof(struct fusion_block_header) == 32);
static_assert(sizeof(struct fusion_super) <= FUSION_BLOCK_SIZE);
static_assert(sizeof(struct fusion_map_block) == FUSION_BLOCK_SIZE);
static_assert(sizeof(struct fusion_journal_block) == FUSION_BLOCK_SIZE);
static_assert(sizeof(struct fusion_journal_record) == 16);
static_assert(sizeof(struct fusion_beat_block) == FUSION_BLOCK_SIZE);
static_assert(sizeof(FUSION_SIGNATURE) - 1 == sizeof_field(struct fusion_super, signature));

/* -- the header of every block ------------------------------------------- */

static u32 fusion_block_csum(const void *block)
{
	const unsigned int skip = sizeof_field(struct fusion_block_header, csum);

	return crc32c(~0U, block + skip, FUSION_BLOCK_SIZE - skip);
}

u32 fusion_block_seal(const struct fusion_sb *sb, u32 magic, u64 blocknr, void *block)
{
	struct fusion_block_header *h = block;
	u32 csum;

	h->magic = cpu_to_le32(magic);
	h->blocknr = cpu_to_le64(blocknr);
	memcpy(h->set_uuid, sb->set_uuid, sizeof(h->set_uuid));
	csum = fusion_block_csum(block);
	h->csum = cpu_to_le32(csum);
	return csum;
}

const char *fusion_block_check(const struct fusion_sb *sb, u32 magic, u64 blocknr,
			       const void *block)
{
	const struct fusion_block_header *h = block;

	if (le32_to_cpu(h->magic) != magic)
		return "block of another kind";
	if (le32_to_cpu(h->csum) != fusion_block_csum(block))
		return "checksum mismatch";
	if (le64_to_cpu(h->blocknr) != blocknr)
		return "block belongs to another place";
	if (memcmp(h->set_uuid, sb->set_uuid, sizeof(h->set_uuid)))
		return "block of another set";
	return NULL;
}

bool fusion_text_padded(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	return !memchr_inv(text + len, 0, size - len);
}

/* -- the heartbeat --------------------------------------------------------- */

void fusion_beat_pack(const struct fusion_sb *sb, const struct fusion_beat *beat, void *block)
{
	struct fusion_beat_block *d = block;

	memset(block, 0, FUSION_BLOCK_SIZE);
	d->activation = cpu_to_le64(beat->activation);
	d->counter = cpu_to_le64(beat->counter);
	d->open_time = cpu_to_le64(beat->open_time);
	d->beat_time = cpu_to_le64(beat->beat_time);
	d->epoch = cpu_to_le32(beat->epoch);
	d->state = cpu_to_le32(beat->state);
	d->interval_ms = cpu_to_le32(beat->interval_ms);
	memcpy(d->host_id, beat->host_id, sizeof(d->host_id));
	memcpy(d->host_name, beat->host_name, strnlen(beat->host_name, sizeof(d->host_name)));
	fusion_block_seal(sb, FUSION_MAGIC_BEAT, FUSION_BEAT_BLOCKNR, block);
}

static const char *fusion_check_beat(const struct fusion_beat *beat)
{
	if (beat->state > FUSION_BEAT_FORCED)
		return "state is not known";
	if (beat->interval_ms < FUSION_MIN_BEAT_MS || beat->interval_ms > FUSION_MAX_BEAT_MS)
		return "interval is out of bounds";
	if (beat->counter > FUSION_MAX_COUNTER)
		return "counter is out of bounds";
	if (!fusion_text_padded(beat->host_name, FUSION_HOST_SIZE))
		return "name of the host is not padded with zeros";
	return NULL;
}

int fusion_beat_unpack(const struct fusion_sb *sb, const void *block, struct fusion_beat *beat,
		       const char **why)
{
	const struct fusion_beat_block *d = block;

	memset(beat, 0, sizeof(*beat));
	if (le32_to_cpu(d->h.magic) != FUSION_MAGIC_BEAT) {
		*why = "no heartbeat";
		return -ENODATA;
	}
	*why = fusion_block_check(sb, FUSION_MAGIC_BEAT, FUSION_BEAT_BLOCKNR, block);
	if (*why)
		return -EILSEQ;
	beat->activation = le64_to_cpu(d->activation);
	beat->counter = le64_to_cpu(d->counter);
	beat->open_time = le64_to_cpu(d->open_time);
	beat->beat_time = le64_to_cpu(d->beat_time);
	beat->epoch = le32_to_cpu(d->epoch);
	beat->state = le32_to_cpu(d->state);
	beat->interval_ms = le32_to_cpu(d->interval_ms);
	memcpy(beat->host_id, d->host_id, sizeof(beat->host_id));
	memcpy(beat->host_name, d->host_name, sizeof(d->host_name));
	*why = fusion_check_beat(beat);
	if (!*why)
		return 0;
	memset(beat, 0, sizeof(*beat));
	return -EILSEQ;
}

enum fusion_taking fusion_beat_taking(const struct fusion_sb *sb, const struct fusion_beat *beat,
				      const u8 host_id[16])
{
	const bool known = memchr_inv(host_id, 0, sizeof(sb->host_id));
	const bool active = beat->state >= FUSION_BEAT_BEATING;

	/* A claim that came to nothing is watched, too: it may be under way. */
	if (active && (!known || memcmp(beat->host_id, host_id, sizeof(beat->host_id))))
		return FUSION_TAKE_WATCH;
	if (known && !memcmp(sb->host_id, host_id, sizeof(sb->host_id)))
		return FUSION_TAKE_AT_ONCE;
	return sb->flags & FUSION_SB_CLEAN ? FUSION_TAKE_CLAIM : FUSION_TAKE_WATCH;
}

/* -- map and heat blocks ---------------------------------------------------- */

static u32 fusion_entries_of(const struct fusion_sb *sb, u32 index, u32 per_block)
{
	u64 first = (u64)index * per_block;

	return first < sb->nr_lexts ? min_t(u64, sb->nr_lexts - first, per_block) : 0;
}

u32 fusion_map_entries(const struct fusion_sb *sb, u32 index)
{
	return fusion_entries_of(sb, index, FUSION_MAP_PER_BLOCK);
}

u32 fusion_heat_entries(const struct fusion_sb *sb, u32 index)
{
	return fusion_entries_of(sb, index, FUSION_HEAT_PER_BLOCK);
}

static const char *fusion_check_place(const struct fusion_map_block *b, u32 index, u32 count)
{
	if (le32_to_cpu(b->index) != index || le32_to_cpu(b->count) != count)
		return "index or number of entries is wrong";
	return NULL;
}

/* The beginning of a map or heat block; the entries are zeros. */
static struct fusion_map_block *fusion_begin_block(void *block, u64 generation, u32 index,
						   u32 count)
{
	struct fusion_map_block *b = block;

	memset(block, 0, FUSION_BLOCK_SIZE);
	b->generation = cpu_to_le64(generation);
	b->index = cpu_to_le32(index);
	b->count = cpu_to_le32(count);
	return b;
}

void fusion_map_pack(const struct fusion_sb *sb, unsigned int set, u32 index,
		     u64 generation, const u32 *words, void *block)
{
	const u32 count = fusion_map_entries(sb, index);
	struct fusion_map_block *b = fusion_begin_block(block, generation, index, count);
	u32 word, i;

	for (i = 0; i < count; i++) {
		word = READ_ONCE(words[i]);
		if (sb->role == FUSION_FAST)
			word = fusion_word_on_disk(word);
		b->word[i] = cpu_to_le32(word);
	}
	fusion_block_seal(sb, FUSION_MAGIC_MAP, sb->map_start[sb->role][set] + index, block);
}

int fusion_map_unpack(const struct fusion_sb *sb, unsigned int set, u32 index,
		      u64 generation, const void *block, u32 *words, const char **why)
{
	const u32 count = fusion_map_entries(sb, index);
	const struct fusion_map_block *b = block;
	u32 i;

	*why = fusion_block_check(sb, FUSION_MAGIC_MAP, sb->map_start[sb->role][set] + index,
				  block);
	if (!*why && le64_to_cpu(b->generation) != generation)
		*why = "block of another generation";
	if (!*why)
		*why = fusion_check_place(b, index, count);
	if (*why)
		return -EILSEQ;
	for (i = 0; i < count; i++) {
		words[i] = le32_to_cpu(b->word[i]);
		if (!fusion_word_valid(sb, words[i])) {
			*why = "map word is out of bounds";
			return -EILSEQ;
		}
	}
	if (memchr_inv(&b->word[count], 0, sizeof(b->word) - count * sizeof(b->word[0]))) {
		*why = "padding is not zero";
		return -EILSEQ;
	}
	return 0;
}

void fusion_heat_pack(const struct fusion_sb *sb, u32 index, u64 generation,
		      const u16 *heat, void *block)
{
	const u32 count = fusion_heat_entries(sb, index);
	struct fusion_map_block *b = fusion_begin_block(block, generation, index, count);
	u32 i;

	for (i = 0; i < count; i++)
		b->heat[i] = cpu_to_le16(heat[i]);
	fusion_block_seal(sb, FUSION_MAGIC_HEAT, sb->heat_start + index, block);
}

int fusion_heat_unpack(const struct fusion_sb *sb, u32 index, const void *block, u16 *heat,
		       const char **why)
{
	const u32 count = fusion_heat_entries(sb, index);
	const struct fusion_map_block *b = block;
	u32 i;

	*why = fusion_block_check(sb, FUSION_MAGIC_HEAT, sb->heat_start + index, block);
	if (!*why)
		*why = fusion_check_place(b, index, count);
	if (*why)
		return -EILSEQ;
	for (i = 0; i < count; i++)
		heat[i] = le16_to_cpu(b->heat[i]);
	return 0;
}

/* -- journal ---------------------------------------------------------------- */

void fusion_journal_init(void *block)
{
	memset(block, 0, FUSION_BLOCK_SIZE);
}

bool fusion_journal_add(const struct fusion_sb *sb, void *block,
			const struct fusion_record *rec)
{
	const u32 bytes = fusion_record_bytes(sb, rec->op);
	struct fusion_journal_block *b = block;
	const u32 used = le32_to_cpu(b->used);
	struct fusion_journal_record *d = (void *)(b->payload + used);

	if (used + bytes > FUSION_JOURNAL_PAYLOAD)
		return false;
	b->used = cpu_to_le32(used + bytes);
	if (fusion_op_is_landing(rec->op)) {
		fusion_landing_record_pack(sb, rec, d);
		return true;
	}
	d->lext = cpu_to_le32(rec->lext);
	d->new = cpu_to_le32(rec->new);
	d->old = cpu_to_le32(rec->op == FUSION_OP_POINT ? rec->old :
			     fusion_word_on_disk(rec->old));
	d->op = cpu_to_le32(rec->op);
	if (fusion_op_has_bitmap(rec->op))
		memcpy(d + 1, rec->bitmap, bytes - sizeof(*d));
	return true;
}

u32 fusion_journal_seal(const struct fusion_sb *sb, void *block, u64 seq, u64 txn,
			unsigned int index, unsigned int count, u32 prev_csum)
{
	struct fusion_journal_block *b = block;

	b->seq = cpu_to_le64(seq);
	b->txn = cpu_to_le64(txn);
	b->epoch = cpu_to_le32(sb->epoch);
	b->index = cpu_to_le16(index);
	b->count = cpu_to_le16(count);
	b->prev_csum = cpu_to_le32(prev_csum);
	b->peer_generation = cpu_to_le64(sb->peer_at.generation);
	b->peer_seq = cpu_to_le64(sb->peer_at.seq);
	return fusion_block_seal(sb, FUSION_MAGIC_JOURNAL, fusion_journal_blocknr(sb, seq), block);
}

u64 fusion_journal_blocknr(const struct fusion_sb *sb, u64 seq)
{
	u32 pos;

	div_u64_rem(seq, sb->journal_blocks[sb->role], &pos);
	return sb->journal_start[sb->role] + pos;
}

void fusion_journal_restart(struct fusion_sb *sb, u64 beyond)
{
	const u64 seq = max(sb->replay_seq + sb->journal_blocks[sb->role], beyond);

	sb->replay_txn += seq - sb->replay_seq;
	sb->replay_seq = seq;
	sb->replay_csum = 0;
}
