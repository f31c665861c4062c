// SPDX-License-Identifier: GPL-2.0-only
/* cut-every: what is done in each scenario, and the content that it begins with. */
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cut-every.h"
#include "../selftests/stamp.h"

static bool whole(unsigned int first, unsigned int nr)
{
	for (unsigned int i = first; i < first + nr; i++)
		if (!stamp_write(at(i), at(i + 1), false))
			return false;
	return true;
}

static bool half(unsigned int first, unsigned int nr, bool second)
{
	for (unsigned int i = first; i < first + nr; i++) {
		__u64 middle = at(i) + rig.extent_sectors / 2;

		if (!stamp_write(second ? middle : at(i), second ? at(i + 1) : middle, false))
			return false;
	}
	return true;
}

static bool move(const char *way, unsigned int first, unsigned int nr)
{
	char *answer;
	int err = set_message(&answer, "%s %u-%u", way, first, first + nr - 1);

	free(answer);
	return !err;
}

static bool ask(const char *what)
{
	char *answer;
	int err = set_message(&answer, "%s", what);

	free(answer);
	return !err;
}

static bool checkpoint(void)
{
	return ask("checkpoint");
}

static bool allocate(void)
{
	__u64 inside = at(NOTHING + 2) + 8;

	return half(NOTHING, 2, false) && stamp_write(inside, inside + 8, true) &&
	       whole(NOTHING + 3, 1) && stamp_flush() && half(NOTHING + 4, 1, true);
}

static bool complete(void)
{
	return half(HALF_FAST, 2, true) && half(HALF_SLOW, 1, true) && stamp_flush() &&
	       stamp_write(at(HALF_FAST), at(HALF_FAST) + 8, true);
}

static bool overwrite(void)
{
	return whole(ON_FAST, 1) && whole(ON_SLOW, 1) && stamp_flush() && whole(ON_SLOW + 1, 1) &&
	       stamp_write(at(ON_FAST + 1), at(ON_FAST + 2), true) &&
	       stamp_write(at(ON_SLOW + 1), at(ON_SLOW + 1) + 8, true);
}

static bool promote(void)
{
	return move("promote", ON_SLOW, 2) && whole(ON_SLOW, 1) && stamp_flush();
}

static bool demote(void)
{
	return move("demote", ON_FAST, 2) && whole(ON_FAST, 1) && stamp_flush();
}

static bool discard(void)
{
	return stamp_discard(at(ON_FAST), at(ON_FAST + 2)) &&
	       stamp_discard(at(ON_SLOW), at(ON_SLOW + 1)) &&
	       stamp_discard(at(HALF_FAST), at(HALF_FAST + 1)) && stamp_flush() &&
	       whole(NOTHING, 2) && whole(ON_FAST, 1) && stamp_flush();
}

static bool checkpoints(void)
{
	return half(NOTHING, 1, false) && whole(ON_SLOW, 1) &&
	       stamp_discard(at(ON_FAST), at(ON_FAST + 1)) && checkpoint() && checkpoint();
}

static bool close_it(void)
{
	bool ok = half(NOTHING, 2, false) && half(HALF_FAST, 1, true) &&
		  stamp_discard(at(ON_SLOW), at(ON_SLOW + 1));

	set_close();
	return ok;
}

/* -- with a landing log --------------------------------------------------------- */

/* Write to a block of an extent on the slow member, which lands. */
static bool block(unsigned int extent, unsigned int nr, bool dsync)
{
	__u64 start = at(extent) + nr * STAMP_BLOCK;

	return stamp_write(start, start + STAMP_BLOCK, dsync);
}

static bool land(void)
{
	return block(ON_SLOW, 1, false) && block(ON_SLOW + 1, 3, false) && stamp_flush() &&
	       block(ON_SLOW, 1, true) && block(ON_SLOW, 2, false) && stamp_flush() &&
	       whole(ON_SLOW, 1) && block(ON_SLOW + 1, 3, false) && stamp_flush() &&
	       stamp_discard(at(ON_SLOW + 1), at(ON_SLOW + 2)) && stamp_flush();
}

static bool part(void)
{
	__u64 inside = at(ON_SLOW) + STAMP_BLOCK + 2;

	return block(ON_SLOW, 1, false) && stamp_write(inside, inside + 3, false) &&
	       stamp_flush() && stamp_write(inside + 1, inside + 2, true) &&
	       block(ON_SLOW, 2, true);
}

static bool drain(void)
{
	return block(ON_SLOW, 1, false) && block(ON_SLOW, 2, false) &&
	       block(ON_SLOW + 2, 5, false) && stamp_flush() && block(ON_SLOW + 1, 0, false) &&
	       ask("drain") && block(ON_SLOW, 1, false) && stamp_flush() && ask("drain");
}

static bool merge(void)
{
	return block(ON_SLOW, 1, false) && block(ON_SLOW, 7, false) &&
	       block(ON_SLOW + 1, 4, false) && stamp_flush() && block(ON_SLOW, 2, false) &&
	       move("promote", ON_SLOW, 2) && block(ON_SLOW, 1, false) && stamp_flush() &&
	       move("demote", ON_SLOW, 1) && block(ON_SLOW, 7, false) && stamp_flush();
}

static bool have_copies(void)
{
	static const char key[] = "\ncopies ";
	char *stats, *at = NULL;
	bool have;

	if (set_message(&stats, "stats"))
		return false;
	at = strstr(stats, key);
	have = at && atoi(at + strlen(key)) > 0;
	free(stats);
	return have;
}

/* Copies of blocks, which then change, and slots that copies have, which then get other data. */
static bool copies(void)
{
	const size_t size = STAMP_BLOCK * STAMP_SECTOR;
	void *buf;
	bool ok = true;

	if (posix_memalign(&buf, size, size))
		die("out of memory");
	for (unsigned int i = 0; ok && i < 4; i++)
		ok = pread(rig.fd, buf, size, (at(ON_SLOW + i) + 24) * STAMP_SECTOR) ==
		     (ssize_t)size;
	free(buf);
	for (unsigned int i = 0; ok && i < 100 && power_is_on() && !have_copies(); i++)
		usleep(10000);
	if (ok && power_is_on() && !have_copies())
		die("a read of the slow member gets no copy");
	return ok && block(ON_SLOW, 3, false) && block(ON_SLOW + 1, 3, true) &&
	       move("promote", ON_SLOW + 2, 1) && whole(NOTHING, 4) && stamp_flush();
}

const struct scenario scenarios[] = {
	{ "open", NULL },
	{ "allocate", allocate },
	{ "stable", complete },
	{ "overwrite", overwrite },
	{ "promote", promote },
	{ "demote", demote },
	{ "discard", discard },
	{ "checkpoint", checkpoints },
	{ "close", close_it },
	{ NULL, NULL },
};

const struct scenario log_scenarios[] = {
	{ "land", land },
	{ "part", part },
	{ "drain", drain },
	{ "merge", merge },
	{ "copies", copies },
	{ NULL, NULL },
};

/* -- the content to begin with ------------------------------------------------ */

/* Without stamps. */
static bool zero(unsigned int first, unsigned int nr)
{
	size_t size = rig.extent_sectors * STAMP_SECTOR;
	void *buf;
	bool ok;

	if (posix_memalign(&buf, size, size))
		die("out of memory");
	memset(buf, 0, size);
	ok = true;
	for (unsigned int i = first; ok && i < first + nr; i++)
		ok = pwrite(rig.fd, buf, size, i * size) == (ssize_t)size;
	free(buf);
	return ok;
}

static bool discard_all(unsigned int first, unsigned int nr)
{
	__u64 range[2] = { at(first) * STAMP_SECTOR, at(nr) * STAMP_SECTOR };

	return !ioctl(rig.fd, BLKDISCARD, range);
}

/* The start of each scenario. First writes go to the slow member when the fast one is full. */
bool populate(void)
{
	return whole(ON_FAST, 4) && whole(ON_SLOW, 4) && half(HALF_FAST, 2, false) &&
	       stamp_flush() && move("demote", ON_SLOW, 4) &&
	       zero(FILLER, rig.nr_fast_slots) && half(HALF_SLOW, 2, false) &&
	       discard_all(FILLER, rig.nr_fast_slots) && stamp_flush();
}
