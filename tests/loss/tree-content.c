// SPDX-License-Identifier: GPL-2.0-only
/* tree: the content of blocks, and names. See tree.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../userspace/lib/random.h"
#include "tree.h"

/* At the beginning of each block. The rest is noise, which no layer can compress or share. */
struct head {
	__u64 magic;	/* of the seed */
	__u32 doc;
	__u32 block;
	__u32 version;
	__u32 unused;
};

static __u64 magic_of(__u64 seed)
{
	return random64(seed + RANDOM_STEP) | 1;	/* never zero */
}

void tree_fill_in(void *buf, __u64 seed, __u32 doc, __u32 block, __u32 version)
{
	struct head head = { magic_of(seed), doc, block, version, 0 };
	__u64 word, state = random64(seed ^ ((__u64)doc << 32 | block)) + version;

	memcpy(buf, &head, sizeof(head));
	for (size_t i = sizeof(head); i < TREE_BLOCK; i += sizeof(word)) {
		word = random64(state += RANDOM_STEP);
		memcpy((char *)buf + i, &word, sizeof(word));
	}
}

enum tree_found tree_identify(const void *buf, size_t len, __u64 seed, struct tree_block *b)
{
	static const char zeros[TREE_BLOCK];
	char want[TREE_BLOCK];
	struct head head;
	size_t good, n;

	if (!memcmp(buf, zeros, len))
		return FOUND_ZERO;
	if (len < sizeof(head))
		return FOUND_ALIEN;
	memcpy(&head, buf, sizeof(head));
	if (head.magic != magic_of(seed))
		return FOUND_ALIEN;
	tree_fill_in(want, seed, head.doc, head.block, head.version);
	for (good = 0; good < len; good += n) {
		n = len - good < TREE_GRAIN ? len - good : TREE_GRAIN;
		if (memcmp((const char *)buf + good, want + good, n))
			break;
	}
	if (!good || memcmp((const char *)buf + good, zeros, len - good))
		return FOUND_ALIEN;
	*b = (struct tree_block){ head.doc, head.block, head.version, good };
	return FOUND_OURS;
}

void tree_dir(char *path, __u32 dir)
{
	snprintf(path, TREE_PATH, "a%u/b%u", dir / 8, dir % 8);
}

void tree_path(char *path, __u32 doc, __u32 dir, __u32 name)
{
	snprintf(path, TREE_PATH, "a%u/b%u/f%u.%u", dir / 8, dir % 8, doc, name);
}

bool tree_parse(const char *path, __u32 *doc, __u32 *dir, __u32 *name)
{
	char again[TREE_PATH];
	__u32 a, b;

	if (sscanf(path, "a%u/b%u/f%u.%u", &a, &b, doc, name) != 4 || b >= 8)
		return false;
	*dir = a * 8 + b;
	tree_path(again, *doc, *dir, *name);
	return !strcmp(again, path);
}
