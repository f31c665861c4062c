// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another uuid for a closed set. Every metadata block carries the uuid of the set, so all of them
 * are written again. Each of these steps ends with a flush, and a power cut in it is safe:
 *
 * 1. Map and bitmaps under the new uuid go to what is unused: on each member the map copy that is
 *    not active, and the ring behind the end of its chain. They are read back. Nothing that the
 *    superblocks name has changed. Blocks of another uuid count as none, so the set is the old one.
 * 2. Both copies of the slow member's superblock, under the new uuid and in transit: with the old
 *    uuids, and marked so that the kernel refuses it. If the first one is torn, the other copy is
 *    as before, and the set is the old one. From then on the slow member says that the change is to
 *    be finished, and with which uuids. The fast member is as before, and has the map.
 * 3. The heat, block by block, which is read under either uuid. Then both copies of the fast
 *    member's superblock under the new uuid. Until the first one is written, the fast member has
 *    its old map, and step 1 can be done for it again; afterwards it has the new one.
 * 4. The other map copy, the rest of the ring, and the heartbeat: nothing of the old uuid is left
 *    by which a backup of the other set would be taken to fit. Nothing uses these.
 * 5. Both copies of the slow member's superblock without the mark. One that has it is enough for
 *    the change to be unfinished; if the last one is torn, the other copy is enough for a set.
 *
 * The slow member comes first because it has no map of its own: a fast member under the new uuid
 * beside a slow one under the old uuid would be a set that lacks its slow member, and nothing would
 * tell which. What goes on later recognises the fast member by the old uuids, and its state by
 * epoch, activation and generation: one that was used meanwhile is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "new-uuid.h"
#include "error.h"
#include "fusionctl.h"

#define CHUNK_BLOCKS	256U

/* Change a block in place. Return: whether it did. */
typedef bool (*block_fn)(const struct new_uuid *n, int dev, u64 blocknr, void *block);

static int put_run(const struct offline *o, u64 start, u32 first, u32 end, const u8 *buf)
{
	return first == end ? 0 :
	       fus_offline_write(o, (start + first) * FUSION_BLOCK_SIZE,
				 (size_t)(end - first) * FUSION_BLOCK_SIZE,
				 buf + (size_t)first * FUSION_BLOCK_SIZE);
}

/* Blocks that do not change are not written, as a write that fails may lose them. */
static int change_blocks(const struct new_uuid *n, int dev, u64 start, u32 nr, block_fn fn)
{
	const struct offline *o = &n->meta->m[dev].o;
	u8 *buf = fus_offline_buffer((size_t)min(nr, CHUNK_BLOCKS) * FUSION_BLOCK_SIZE);
	int err = 0, rc = buf ? 0 : FC_FAILED;
	u32 i, k, first;

	for (i = 0; i < nr && !rc; i += k) {
		const u64 at = (start + i) * FUSION_BLOCK_SIZE;

		k = min(nr - i, CHUNK_BLOCKS);
		/* one that cannot be read becomes readable by being written */
		if (fus_offline_read(o, at, (size_t)k * FUSION_BLOCK_SIZE, buf))
			k = 1;
		if (k == 1 && fus_offline_read(o, at, FUSION_BLOCK_SIZE, buf))
			memset(buf, 0xff, FUSION_BLOCK_SIZE);
		first = 0;
		for (u32 j = 0; j < k && !err; j++) {
			if (!fn(n, dev, start + i + j, buf + (size_t)j * FUSION_BLOCK_SIZE)) {
				err = put_run(o, start + i, first, j, buf);
				first = j + 1;
			}
		}
		if (!err)
			err = put_run(o, start + i, first, k, buf);
		if (err)
			rc = fus_meta_io_failed(n->meta, dev, "write", err);
	}
	free(buf);
	return rc ? rc : fus_meta_flush(n->meta, dev);
}

static bool zero(void *block)
{
	const bool was = memchr_inv(block, 0, FUSION_BLOCK_SIZE);

	memset(block, 0, FUSION_BLOCK_SIZE);
	return was;
}

static bool is_new(const struct new_uuid *n, int dev, u64 blocknr, const void *block)
{
	return !fusion_block_check(&n->sb[dev], FUSION_MAGIC_JOURNAL, blocknr, block);
}

static bool drop_new(const struct new_uuid *n, int dev, u64 blocknr, void *block)
{
	return is_new(n, dev, blocknr, block) && zero(block);
}

static bool drop_old(const struct new_uuid *n, int dev, u64 blocknr, void *block)
{
	return !is_new(n, dev, blocknr, block) && zero(block);
}

static bool drop(const struct new_uuid *n, int dev, u64 blocknr, void *block)
{
	(void)n;
	(void)dev;
	(void)blocknr;
	return zero(block);
}

/* Under either uuid it is the same; without it, the policy learns from scratch. */
static bool rename_heat(const struct new_uuid *n, int dev, u64 blocknr, void *block)
{
	const u32 index = blocknr - n->sb[dev].heat_start;
	struct fusion_sb was = n->sb[dev];
	u16 heat[FUSION_HEAT_PER_BLOCK];
	const char *why;

	memcpy(was.set_uuid, n->transit.was_set, 16);
	if (fusion_heat_unpack(&was, index, block, heat, &why) &&
	    fusion_heat_unpack(&n->sb[dev], index, block, heat, &why))
		memset(heat, 0, sizeof(heat));
	fusion_heat_pack(&n->sb[dev], index, n->sb[dev].set_generation, heat, block);
	return true;
}

/* Read what was written, as the set that it is going to be. */
static int read_back(const struct new_uuid *n, int dev)
{
	struct meta is = { 0 };
	struct meta_state st = { 0 };
	bool same = false;
	int rc;

	for (int d = 0; d < 2; d++) {
		is.m[d].o = n->meta->m[d].o;
		if (d != dev)
			is.m[d].o.fd = -1;
	}
	rc = fus_meta_read_as(&is, &n->sb[FAST]);
	if (!rc)
		rc = fus_state_init(&st, n->st.nr_lexts);
	if (!rc)
		same = fus_state_load(&is, &n->sb[dev], &st, NULL) &&
		       st.nr_open == n->st.nr_open &&
		       !memcmp(st.word, n->st.word, st.nr_lexts * sizeof(*st.word));
	for (u32 i = 0; i < n->st.nr_open && same; i++)
		same = !memcmp(st.open[i], n->st.open[i], sizeof(*st.open[i]));
	fus_state_free(&st);
	for (int d = 0; d < 2; d++)
		is.m[d].o = (struct offline){ .fd = -1 };
	fus_meta_free(&is);
	return rc || same ? rc : fus_fail(FC_FAILED, n->meta->m[dev].o.path, "does not return what "
					  "was written to it; replace the device");
}

static int put_state(const struct new_uuid *n, int dev)
{
	const struct fusion_sb *sb = &n->sb[dev];
	int rc;

	/* of another attempt, which may have ended elsewhere */
	rc = change_blocks(n, dev, sb->journal_start[dev], sb->journal_blocks[dev], drop_new);
	if (!rc)
		rc = fus_meta_put_state(n->meta, sb, &n->st);
	return rc ? rc : read_back(n, dev);
}

static int put_twice(const struct new_uuid *n, struct fusion_sb *sb)
{
	int rc = fus_meta_put_super(n->meta, sb);

	return rc ? rc : fus_meta_put_super(n->meta, sb);
}

/* Step 2; after an interruption the copy that may be missing. */
static int mark(struct new_uuid *n)
{
	struct fusion_sb transit = n->sb[SLOW];
	int rc;

	transit.incompat = FUSION_INCOMPAT_IN_TRANSIT;
	transit.transit = n->transit;
	transit.peer_at.generation = n->generation;
	rc = n->resumed ? fus_meta_put_super(n->meta, &transit) : put_twice(n, &transit);
	n->sb[SLOW].generation = transit.generation;
	return rc;
}

static int clear_old(const struct new_uuid *n, int dev)
{
	struct fusion_sb other = n->sb[dev];
	int rc;

	rc = change_blocks(n, dev, other.journal_start[dev], other.journal_blocks[dev], drop_old);
	if (!rc && dev == FAST)
		rc = change_blocks(n, dev, FUSION_BEAT_BLOCKNR, 1, drop);
	/* so that there are two, as after a checkpoint; the older one is as good */
	other.active_set = !other.active_set;
	other.set_generation--;
	if (!rc)
		rc = fus_meta_put_map(n->meta, &other, &n->st);
	return rc ? rc : fus_meta_flush(n->meta, dev);
}

int fus_new_uuid_write(struct new_uuid *n)
{
	const struct fusion_sb *fast = &n->sb[FAST];
	int rc = 0;

	/* The copies that were found may only be in the caches of the disks. */
	for (int dev = 0; dev < 2 && !rc; dev++)
		rc = fus_meta_flush(n->meta, dev);
	if (!rc && !n->resumed)
		rc = put_state(n, SLOW);
	if (!rc && !n->fast_done)
		rc = put_state(n, FAST);
	if (!rc)
		rc = mark(n);
	if (!rc && !n->fast_done)
		rc = change_blocks(n, FAST, fast->heat_start, fast->heat_blocks, rename_heat);
	if (!rc)
		rc = put_twice(n, &n->sb[FAST]);
	for (int dev = 0; dev < 2 && !rc; dev++)
		rc = clear_old(n, dev);
	return rc ? rc : put_twice(n, &n->sb[SLOW]);
}
