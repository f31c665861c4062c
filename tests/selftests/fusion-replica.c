// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusion-replica: print the map as a member has it on disk, or its replica.
 *
 *	fusion-replica DEV
 *
 * It uses the module's own codec, as salvage does. The first line is the state in the superblock,
 * and when the replica was brought up to date. Then there is a line for each mapped extent, and
 * another kind of line for one of the fast member of which the replica names a shadow instead:
 *
 *	EXTENT fast|slow SLOT stable|open VALID
 *	EXTENT shadow SLOT current|outdated VALID
 *
 * VALID is the number of valid 4 KiB blocks. Exit status 1: there is no map; the reason is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm-fusion-codec.h"

struct map {
	const char *path;
	int fd;
	void *block;
	struct fusion_sb sb;
	u32 *word;
	u32 *valid;	/* blocks of an open extent */
	u64 point;	/* seconds since 1970 */
};

static int failed(const struct map *m, const char *what, u64 blocknr, const char *why)
{
	fprintf(stderr, "fusion-replica: %s: %s, block %llu: %s\n", m->path, what,
		(unsigned long long)blocknr, why);
	return 1;
}

static bool read_block(struct map *m, u64 blocknr)
{
	return pread(m->fd, m->block, FUSION_BLOCK_SIZE, blocknr * FUSION_BLOCK_SIZE) ==
	       FUSION_BLOCK_SIZE;
}

static int read_super(struct map *m)
{
	const char *why = "cannot be read";
	struct fusion_sb one;
	bool found = false;

	for (int copy = 0; copy < 2; copy++) {
		u64 blocknr = FUSION_SUPER_BLOCKNR(copy);

		if (!read_block(m, blocknr) ||
		    fusion_sb_unpack(m->block, blocknr, U64_MAX, &one, &why))
			continue;
		if (!found || one.generation > m->sb.generation)
			m->sb = one;
		found = true;
	}
	return found ? 0 : failed(m, "superblock", 0, why);
}

static int read_map(struct map *m)
{
	const u64 start = m->sb.map_start[m->sb.role][m->sb.active_set];
	const char *why = "cannot be read";

	m->word = calloc((size_t)m->sb.map_blocks * FUSION_MAP_PER_BLOCK, sizeof(u32));
	m->valid = calloc(m->sb.nr_lexts, sizeof(u32));
	if (!m->word || !m->valid)
		return failed(m, "map", start, "out of memory");
	for (u32 i = 0; i < m->sb.map_blocks; i++)
		if (!read_block(m, start + i) ||
		    fusion_map_unpack(&m->sb, m->sb.active_set, i, m->sb.set_generation, m->block,
				      m->word + (size_t)i * FUSION_MAP_PER_BLOCK, &why))
			return failed(m, "map", start + i, why);
	return 0;
}

static const void *read_ring(void *ctx, u32 pos)
{
	struct map *m = ctx;

	return read_block(m, m->sb.journal_start[m->sb.role] + pos) ? m->block : NULL;
}

static int apply(void *ctx, const struct fusion_record *rec)
{
	struct map *m = ctx;
	const u8 *bitmap = rec->bitmap;

	if (rec->op == FUSION_OP_POINT) {
		m->point = (u64)rec->old << 32 | rec->new;
		return 0;
	}
	m->word[rec->lext] = rec->new;
	m->valid[rec->lext] = 0;
	if (bitmap)
		for (u32 i = 0; i < fusion_bitmap_bytes(m->sb.extent_sectors); i++)
			m->valid[rec->lext] += __builtin_popcount(bitmap[i]);
	return 0;
}

static int read_journal(struct map *m, struct fusion_replay *r)
{
	m->point = m->sb.write_time;
	*r = (struct fusion_replay){
		.sb = &m->sb, .read = read_ring, .apply = apply, .ctx = m,
	};
	return fusion_replay(r) ? failed(m, "journal", r->next_seq, r->why) : 0;
}

static void print_map(const struct map *m, const struct fusion_replay *r)
{
	const u32 blocks = m->sb.extent_sectors / FUSION_BLOCK_SECTORS;

	printf("%s clean %u epoch %u generation %llu set %u set_generation %llu "
	       "replay %llu+%llu records %llu point %llu\n",
	       m->sb.role == FUSION_FAST ? "fast" : "slow", !!(m->sb.flags & FUSION_SB_CLEAN),
	       m->sb.epoch, (unsigned long long)m->sb.generation, m->sb.active_set,
	       (unsigned long long)m->sb.set_generation, (unsigned long long)m->sb.replay_seq,
	       (unsigned long long)(r->next_seq - m->sb.replay_seq),
	       (unsigned long long)r->nr_records, (unsigned long long)m->point);
	for (u32 i = 0; i < m->sb.nr_lexts; i++) {
		const u32 w = m->word[i];
		const bool open = fusion_word_state(w) == FUSION_OPEN;

		if (fusion_names_shadow(w))
			printf("%u shadow %u %s %u\n", i, fusion_word_slot(w),
			       fusion_word_state(w) == (u32)FUSION_SHADOW ? "current" : "outdated",
			       blocks);
		else if (fusion_word_mapped(w))
			printf("%u %s %u %s %u\n", i,
			       fusion_word_dev(w) == FUSION_FAST ? "fast" : "slow",
			       fusion_word_slot(w), open ? "open" : "stable",
			       open ? m->valid[i] : blocks);
	}
}

int main(int argc, char **argv)
{
	struct fusion_replay r;
	struct map m = { .path = argv[1] };

	if (argc != 2) {
		fputs("usage: fusion-replica DEV\n", stderr);
		return 2;
	}
	m.block = aligned_alloc(FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE);
	m.fd = open(m.path, O_RDONLY | O_DIRECT);
	if (!m.block || m.fd < 0) {
		fprintf(stderr, "fusion-replica: %s: %s\n", m.path, strerror(errno));
		return 1;
	}
	if (read_super(&m) || read_map(&m) || read_journal(&m, &r))
		return 1;
	print_map(&m, &r);
	return 0;
}
