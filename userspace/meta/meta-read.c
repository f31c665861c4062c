// SPDX-License-Identifier: GPL-2.0-only
/* All the metadata on the members, block by block, each checked on its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "meta.h"
#include "progress.h"
#include "role.h"
#include "super.h"

#define CHUNK_BLOCKS	256U

static const char cant_read[] = "cannot be read";

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough for the map; close programs and try "
			"again");
}

/* -- superblocks ---------------------------------------------------------------- */

/* Whatever the module can do, only a verb that looks at the landing log may know a set with one. */
static void unpack_copy(const struct meta *meta, u64 blocknr, u64 sectors, const void *buf,
			struct meta_copy *c)
{
	const u64 known = FUSION_INCOMPAT_KNOWN & ~FUSION_INCOMPAT_LANDING;

	c->err = fusion_sb_unpack_known(buf, blocknr, sectors,
					meta->landing ? known | FUSION_INCOMPAT_LANDING : known,
					&c->sb, &c->why);
}

static void read_copy(const struct meta *meta, struct meta_member *m, int copy, void *buf)
{
	const u64 blocknr = FUSION_SUPER_BLOCKNR(copy);
	struct meta_copy *c = &m->copy[copy];

	if (fus_offline_read(&m->o, blocknr * FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE, buf)) {
		c->err = -EIO;
		c->why = cant_read;
		return;
	}
	unpack_copy(meta, blocknr, m->o.sectors, buf, c);
}

bool fus_meta_has_blocks(const struct meta *meta, int dev)
{
	const struct meta_member *m = &meta->m[dev];
	const struct fusion_sb *geo = &meta->geo[dev];

	if (m->ring.max_seq)
		return true;
	for (int set = 0; set < FUSION_NR_SETS; set++)
		for (u32 i = 0; i < geo->map_blocks; i++)
			if (!m->set[set].block[i].why)
				return true;
	for (u32 i = 0; dev == FAST && i < geo->heat_blocks; i++)
		if (!m->heat_block[i].why)
			return true;
	return false;
}

static bool same_identity(const struct fusion_sb *a, const struct fusion_sb *b)
{
	return !memcmp(a->set_uuid, b->set_uuid, 16) && !memcmp(a->dev_uuid, b->dev_uuid, 16) &&
	       a->role == b->role;
}

/* The valid copy with the higher generation; superblocks of another member do not count. */
static int best_copy(const struct meta_member *m, const struct fusion_sb *as)
{
	int best = -1;

	if (fus_meta_unknown_copy(m))
		return best;
	for (int i = 0; i < 2; i++) {
		const struct meta_copy *c = &m->copy[i];

		if (c->err || (as && !same_identity(&c->sb, as)))
			continue;
		if (best < 0 || c->sb.generation > m->copy[best].sb.generation)
			best = i;
	}
	return best;
}

const struct fusion_sb *fus_meta_sb(const struct meta *meta, int dev)
{
	const struct meta_member *m = &meta->m[dev];

	return m->best < 0 ? NULL : &m->copy[m->best].sb;
}

bool fus_meta_slow_lags(const struct meta *meta)
{
	const struct fusion_sb *fast = fus_meta_sb(meta, FAST), *slow = fus_meta_sb(meta, SLOW);

	return fast && slow && (meta->shrunk || fusion_sb_grown_from(fast, slow));
}

const struct fusion_sb *fus_meta_bounds(const struct meta *meta, const struct fusion_sb *sb)
{
	const struct fusion_sb *slow = fus_meta_sb(meta, SLOW);

	if (sb->role != FUSION_SLOW || !slow || !fus_meta_slow_lags(meta))
		return sb;
	return meta->shrunk ? &meta->before : slow;
}

bool fus_meta_covers(const struct meta *meta, const struct fusion_sb *sb)
{
	const struct fusion_sb *geo = &meta->geo[sb->role];

	return sb->nr_lexts <= geo->nr_lexts && sb->map_blocks <= geo->map_blocks &&
	       sb->heat_blocks <= geo->heat_blocks && sb->nr_fast_slots <= geo->nr_fast_slots &&
	       sb->nr_slow_slots <= geo->nr_slow_slots && fusion_sb_same_places(sb, geo);
}

void fus_sb_of_peer(const struct fusion_sb *sb, struct fusion_sb *peer)
{
	struct fusion_sb one = *sb;

	fusion_sb_for_slow(&one, peer);
	peer->role = !one.role;
	peer->incompat &= ~FUSION_INCOMPAT_SHADOW;
}

/* Tell the members apart by their superblocks, not by the order in which they were given. */
static int sort_members(struct meta *meta)
{
	const struct fusion_sb *a = fus_meta_sb(meta, 0), *b = fus_meta_sb(meta, 1);
	struct meta_member tmp;

	if (a && b && a->role == b->role)
		return fus_fail(FC_MEMBER, meta->m[1].o.path, "is a %s member, like %s; name one "
				"fast and one slow member", fus_role_name[a->role],
				meta->m[0].o.path);
	if (a && b && memcmp(a->set_uuid, b->set_uuid, 16))
		return fus_fail(FC_MEMBER, meta->m[1].o.path, "is a member of another set than %s; "
				"name two members of one set", meta->m[0].o.path);
	if ((a && a->role == FUSION_SLOW) || (b && b->role == FUSION_FAST)) {
		tmp = meta->m[0];
		meta->m[0] = meta->m[1];
		meta->m[1] = tmp;
	}
	return 0;
}

static int read_supers(struct meta *meta, const struct fusion_sb *geo)
{
	void *buf = fus_offline_buffer(FUSION_BLOCK_SIZE);
	struct fusion_sb slow;

	if (!buf)
		return FC_FAILED;
	if (geo)
		fus_sb_of_peer(geo, &slow);
	for (int dev = 0; dev < 2; dev++) {
		struct meta_member *m = &meta->m[dev];

		m->best = -1;
		if (m->o.fd < 0)
			continue;
		for (int i = 0; i < 2; i++)
			read_copy(meta, m, i, buf);
		m->best = best_copy(m, !geo ? NULL : dev == FAST ? geo : &slow);
	}
	free(buf);
	return geo ? 0 : sort_members(meta);
}

/* -- map copies, heat ------------------------------------------------------------- */

/* Called for each block; @buf is NULL if it cannot be read. */
typedef void (*block_fn)(struct meta *meta, int dev, void *ctx, u32 index, const void *buf);

static int walk_blocks(struct meta *meta, int dev, u64 start, u32 nr, block_fn fn, void *ctx)
{
	const struct offline *o = &meta->m[dev].o;
	char *buf = fus_offline_buffer((size_t)min(nr, CHUNK_BLOCKS) * FUSION_BLOCK_SIZE);
	u32 i, j, n;

	if (!buf)
		return FC_FAILED;
	for (i = 0; i < nr; i += n) {
		const u64 offset = (start + i) * FUSION_BLOCK_SIZE;
		bool all;

		n = min(nr - i, CHUNK_BLOCKS);
		all = !fus_offline_read(o, offset, (size_t)n * FUSION_BLOCK_SIZE, buf);
		for (j = 0; j < n; j++) {
			char *one = buf + (size_t)j * FUSION_BLOCK_SIZE;
			bool ok = all || !fus_offline_read(o, offset + (u64)j * FUSION_BLOCK_SIZE,
							   FUSION_BLOCK_SIZE, one);

			fn(meta, dev, ctx, i + j, ok ? one : NULL);
		}
		fus_progress_add((u64)n * FUSION_BLOCK_SIZE);
	}
	free(buf);
	return 0;
}

struct set_ctx {
	struct meta_set *set;
	unsigned int nr;
	struct fusion_sb now, before;	/* geometry: as it is, and was */
};

static void read_map_block(struct meta *meta, int dev, void *ctx, u32 index, const void *buf)
{
	const struct set_ctx *c = ctx;
	const struct fusion_sb *geo = &c->now, *before = &c->before;
	const struct fusion_map_block *b = buf;
	struct meta_block *block = &c->set->block[index];
	u32 *word = c->set->word + (size_t)index * FUSION_MAP_PER_BLOCK;
	u32 i, n = fusion_map_entries(geo, index);

	(void)meta;
	(void)dev;
	/* Of its map copies, one may be as large as the set was before, or both. */
	if (index >= before->map_blocks)
		before = geo;
	block->why = cant_read;
	block->unreadable = !buf;
	if (buf) {
		block->generation = le64_to_cpu(b->generation);
		if ((before != geo && !fusion_map_unpack(before, c->nr, index, block->generation,
							 buf, word, &block->why)) ||
		    !fusion_map_unpack(geo, c->nr, index, block->generation, buf, word,
				       &block->why)) {
			block->why = NULL;
			return;
		}
	}
	block->generation = 0;
	for (i = 0; i < n; i++)
		word[i] = FUSION_WORD_UNMAPPED;
}

static int read_set(struct meta *meta, int dev, unsigned int nr)
{
	const struct fusion_sb *geo = &meta->geo[dev];
	struct set_ctx ctx = { &meta->m[dev].set[nr], nr, *geo, *fus_meta_bounds(meta, geo) };
	struct meta_set *set = ctx.set;

	/* they may be lost in blocks from before, whatever the superblock says */
	ctx.now.incompat |= FUSION_INCOMPAT_DAMAGED;
	ctx.before.incompat |= FUSION_INCOMPAT_DAMAGED;

	set->block = calloc(geo->map_blocks, sizeof(*set->block));
	/* the region may have more blocks than the extents need */
	set->word = calloc((size_t)geo->map_blocks * FUSION_MAP_PER_BLOCK, sizeof(*set->word));
	if (!set->block || !set->word)
		return no_memory();
	return walk_blocks(meta, dev, geo->map_start[dev][nr], geo->map_blocks, read_map_block,
			      &ctx);
}

static void read_heat_block(struct meta *meta, int dev, void *ctx, u32 index, const void *buf)
{
	const struct fusion_map_block *b = buf;
	struct meta_member *m = ctx;
	struct meta_block *block = &m->heat_block[index];

	block->why = cant_read;
	if (!buf)
		return;
	block->generation = le64_to_cpu(b->generation);
	if (!fusion_heat_unpack(&meta->geo[dev], index, buf,
				m->heat + (size_t)index * FUSION_HEAT_PER_BLOCK, &block->why))
		block->why = NULL;
}

static int read_heat(struct meta *meta)
{
	const struct fusion_sb *geo = &meta->geo[FAST];
	struct meta_member *m = &meta->m[FAST];

	m->heat_block = calloc(geo->heat_blocks, sizeof(*m->heat_block));
	m->heat = calloc((size_t)geo->heat_blocks * FUSION_HEAT_PER_BLOCK, sizeof(*m->heat));
	if (!m->heat_block || !m->heat)
		return no_memory();
	return walk_blocks(meta, FAST, geo->heat_start, geo->heat_blocks, read_heat_block, m);
}

/* -- journal -------------------------------------------------------------------------- */

static void read_ring_block(struct meta *meta, int dev, void *ctx, u32 pos, const void *buf)
{
	const struct fusion_sb *geo = &meta->geo[dev];
	const struct fusion_journal_block *b = buf;
	struct meta_ring *ring = ctx;
	const u64 blocknr = geo->journal_start[dev] + pos;
	u64 seq;

	ring->unreadable[pos] = !buf;
	if (!buf)
		return;
	memcpy(ring->block + (size_t)pos * FUSION_BLOCK_SIZE, buf, FUSION_BLOCK_SIZE);
	seq = le64_to_cpu(b->seq);
	if (fusion_block_check(geo, FUSION_MAGIC_JOURNAL, blocknr, buf) ||
	    !fus_journal_sane(b) || fusion_journal_blocknr(geo, seq) != blocknr)
		return;
	ring->max_seq = max(ring->max_seq, seq);
	if (le64_to_cpu(b->peer_seq) < FUSION_MAX_COUNTER / 4 &&
	    le64_to_cpu(b->peer_generation) < FUSION_MAX_COUNTER / 4)
		fusion_progress_raise(&ring->peer_at, le64_to_cpu(b->peer_generation),
				      le64_to_cpu(b->peer_seq));
	if (b->peer_generation)
		ring->kernel_seq = max(ring->kernel_seq, seq);
	ring->max_txn = max_t(u64, ring->max_txn, le64_to_cpu(b->txn));
	ring->max_epoch = max_t(u32, ring->max_epoch, le32_to_cpu(b->epoch));
}

static int read_ring(struct meta *meta, int dev)
{
	const struct fusion_sb *geo = &meta->geo[dev];
	struct meta_ring *ring = &meta->m[dev].ring;
	const u32 nr = geo->journal_blocks[dev];

	ring->block = calloc(nr, FUSION_BLOCK_SIZE);
	ring->unreadable = calloc(nr, sizeof(*ring->unreadable));
	if (!ring->block || !ring->unreadable)
		return no_memory();
	return walk_blocks(meta, dev, geo->journal_start[dev], nr, read_ring_block, ring);
}

/* -- all of it ---------------------------------------------------------------------------- */

/* For a large set with small extents it is some GiB. */
static void begin_progress(const struct meta *meta)
{
	u64 blocks = 0;

	for (int dev = 0; dev < 2; dev++) {
		const struct fusion_sb *geo = &meta->geo[dev];

		if (meta->m[dev].o.fd >= 0)
			blocks += geo->journal_blocks[dev] +
				  (u64)FUSION_NR_SETS * geo->map_blocks +
				  (dev == FAST ? geo->heat_blocks : 0);
	}
	fus_progress_begin("reading the metadata", &fus_progress_mib, blocks * FUSION_BLOCK_SIZE);
}

/* See struct meta. */
static void see_shrunk(struct meta *meta)
{
	const struct fusion_sb *fast = fus_meta_sb(meta, FAST), *slow = fus_meta_sb(meta, SLOW);
	struct meta_member *m = &meta->m[SLOW];

	meta->shrunk = fast && slow && fusion_sb_shrunk_from(fast, slow);
	if (!meta->shrunk)
		return;
	meta->before = *slow;
	fusion_sb_take_geometry(&m->copy[m->best].sb, fast);
}

/* And with these, identity and geometry. */
static int read_known(struct meta *meta, const struct fusion_sb *geo)
{
	int rc;

	rc = read_supers(meta, geo);
	if (rc)
		return rc;
	meta->known = geo || fus_meta_sb(meta, FAST) || fus_meta_sb(meta, SLOW);
	if (!meta->known)
		return 0;
	if (geo || fus_meta_sb(meta, FAST)) {
		meta->geo[FAST] = geo ? *geo : *fus_meta_sb(meta, FAST);
		fus_sb_of_peer(&meta->geo[FAST], &meta->geo[SLOW]);
	} else {
		meta->geo[SLOW] = *fus_meta_sb(meta, SLOW);
		fus_sb_of_peer(&meta->geo[SLOW], &meta->geo[FAST]);
	}
	meta->geo[FAST].incompat &= ~FUSION_INCOMPAT_SHADOW;
	meta->geo[SLOW].incompat |= FUSION_INCOMPAT_SHADOW;
	if (!geo)
		see_shrunk(meta);
	return 0;
}

int fus_meta_read_supers(struct meta *meta)
{
	return read_known(meta, NULL);
}

static int read_rest(struct meta *meta)
{
	int rc = 0;

	for (int dev = 0; dev < 2 && !rc; dev++) {
		if (meta->m[dev].o.fd < 0)
			continue;
		rc = read_ring(meta, dev);
		for (unsigned int set = 0; set < FUSION_NR_SETS && !rc; set++)
			rc = read_set(meta, dev, set);
		if (!rc && dev == FAST)
			rc = read_heat(meta);
	}
	return rc;
}

static int read_all(struct meta *meta, const struct fusion_sb *geo)
{
	int rc;

	rc = read_known(meta, geo);
	if (rc || !meta->known)
		return rc;
	begin_progress(meta);
	rc = read_rest(meta);
	fus_progress_end();
	return rc;
}

int fus_meta_read(struct meta *meta)
{
	return read_all(meta, NULL);
}

int fus_meta_read_as(struct meta *meta, const struct fusion_sb *geo)
{
	return read_all(meta, geo);
}

static void free_blocks(struct meta_member *m)
{
	for (int i = 0; i < FUSION_NR_SETS; i++) {
		free(m->set[i].block);
		free(m->set[i].word);
	}
	free(m->ring.block);
	free(m->ring.unreadable);
	free(m->heat_block);
	free(m->heat);
}

int fus_meta_read_again(struct meta *meta)
{
	int rc;

	for (int dev = 0; dev < 2; dev++) {
		const struct offline o = meta->m[dev].o;

		free_blocks(&meta->m[dev]);
		meta->m[dev] = (struct meta_member){ .o = o, .best = -1 };
	}
	rc = read_known(meta, NULL);
	return rc || !meta->known ? rc : read_rest(meta);
}

void fus_meta_free(struct meta *meta)
{
	for (int dev = 0; dev < 2; dev++) {
		free_blocks(&meta->m[dev]);
		fus_offline_close(&meta->m[dev].o);
	}
	memset(meta, 0, sizeof(*meta));
}
