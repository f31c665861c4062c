/* SPDX-License-Identifier: GPL-2.0-only */
/* A set that loses superblocks, and verbs that are run on it. */
#ifndef BACKUP_SET_H
#define BACKUP_SET_H

#include "image.h"
#include "backup-dir.h"
#include "fusionctl.h"
#include "meta.h"
#include "verb.h"

#define SECTORS		(64U << 11)

enum life { LIFE_NEW, LIFE_OPEN, LIFE_CLOSED, NR_LIVES };

static inline void make(struct image *im, u64 seed, enum life life)
{
	image_format(im, seed, SECTORS, 2 * SECTORS);
	if (life == LIFE_NEW)
		return;
	image_activate(im);
	image_work(im, 5 + rnd_below(&im->seed, 400));
	if (life == LIFE_CLOSED)
		image_close(im);
}

static inline void forget(struct image *im, int dev)
{
	for (int copy = 0; copy < 2; copy++)
		memset(im->mem[dev] + FUSION_SUPER_BLOCKNR(copy) * FUSION_BLOCK_SIZE, 0,
		       FUSION_BLOCK_SIZE);
}

static inline void forget_both(struct image *im)
{
	forget(im, FAST);
	forget(im, SLOW);
}

/* Return: the exit code; what was said is in @said. */
static inline int run(verb_fn *verb, struct image *im, const char *file, bool force)
{
	char *word[3] = { (char *)file, im->path[FAST], im->path[SLOW] };
	struct args a = { .n = file ? 3 : 2, .word = word + !file };

	a.opt[OPT_YES] = "";
	a.opt[OPT_FORCE] = force ? "" : NULL;
	a.opt[OPT_GEOMETRY] = verb == cmd_restore ? "" : NULL;
	a.opt[OPT_JSON] = "";
	*said = 0;
	return verb(&a);
}

static inline u64 sum(const struct image *im)
{
	u64 sum = 0;

	for (int dev = 0; dev < 2; dev++)
		sum = sum * 31 + crc32c(0, im->mem[dev], im->bytes[dev]);
	return sum;
}

static inline void refused(verb_fn *verb, struct image *im, const char *file, bool force, int code,
			   const char *why)
{
	const u64 before = sum(im);
	const int rc = run(verb, im, file, force);

	REQUIRE(rc == code && strstr(said, why), "%d: %s", rc, said);
	REQUIRE(sum(im) == before, "%s", said);
}

#endif
