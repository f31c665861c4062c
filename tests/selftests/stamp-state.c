// SPDX-License-Identifier: GPL-2.0-only
/* stamp: the state, the stamps, and the allowed content of a sector. See stamp.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stamp-state.h"

struct state *state;
static struct state *kept[STAMP_COPIES];

/* -- changes ------------------------------------------------------------------------ */

void state_begin(__u64 start, __u64 end, __u32 version, bool zero)
{
	__u32 flushed = atomic_load(&state->flushed);

	for (__u64 i = start; i < end; i++) {
		struct sector *s = sector_at(i);
		__u32 flags = zero ? ZERO : 0;

		if (s->done <= flushed)
			s->durable = s->version;
		else
			flags |= s->flags & WAS_ZERO;
		if (reads_zero(s) || s->flags & MAYBE_ZERO)
			flags |= WAS_ZERO;
		*s = (struct sector){ version, s->durable, PENDING, flags };
	}
}

void state_finish(__u64 start, __u64 end)
{
	__u32 now = atomic_fetch_add(&state->clock, 1) + 1;

	for (__u64 i = start; i < end; i++)
		sector_at(i)->done = now;
}

bool state_allows(const struct sector *s, __u32 found)
{
	bool exact = stamp.power_cut ? s->done <= atomic_load(&state->flushed) : s->done != PENDING;

	if (!found)
		return reads_zero(s) || s->flags & MAYBE_ZERO ||
		       (!exact && s->flags & WAS_ZERO);
	if (exact)
		return !reads_zero(s) && found == s->version;
	return found >= s->durable && found <= s->version;
}

/* -- stamps ------------------------------------------------------------------------- */

static __u64 word(__u64 sector, __u32 version, unsigned int i)
{
	__u64 mix = (sector * 0x9e3779b97f4a7c15ULL) ^ (version * 0xc2b2ae3d27d4eb4fULL);

	return mix + state->seed + i * 0x165667b19e3779f9ULL;
}

void stamp_fill_in(__u64 *w, __u64 sector, __u32 version)
{
	w[0] = MAGIC ^ state->seed;
	w[1] = sector;
	w[2] = version;
	for (unsigned int i = 3; i < WORDS; i++)
		w[i] = word(sector, version, i);
}

__u32 stamp_identify(const __u64 *w, __u64 sector)
{
	static const __u64 zeros[WORDS];
	bool stamped = w[0] == (MAGIC ^ state->seed) && w[1] == sector && w[2] && w[2] < GARBAGE;
	__u64 want[WORDS];

	if (stamp.light) {
		__u64 last = stamped ? word(sector, w[2], WORDS - 1) : 0;

		return (stamped || !(w[0] | w[1] | w[2])) && w[WORDS - 1] == last ? w[2] : GARBAGE;
	}
	if (!stamped)
		return memcmp(w, zeros, SECTOR) ? GARBAGE : 0;
	stamp_fill_in(want, sector, w[2]);
	return memcmp(w, want, SECTOR) ? GARBAGE : w[2];
}

/* -- its life ----------------------------------------------------------------------- */

static bool failed(const char *what)
{
	stamp_say("%s: %s", what, strerror(errno));
	return false;
}

bool stamp_state(const char *path, bool create, __u64 seed, __u64 start, __u64 sectors)
{
	size_t size = sizeof(*state) + sectors * sizeof(struct sector), mapped = size;
	int state_fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) :
		       memfd_create("state", MFD_CLOEXEC);
	__u64 dev_size;
	struct stat sb;

	if (state_fd < 0 || fstat(state_fd, &sb))
		return failed(path ? path : "memory");
	if (!sb.st_size && !create) {
		stamp_say("state file %s is missing: run or fill writes it", path);
		return false;
	}
	if (!sb.st_size && ftruncate(state_fd, size))
		return failed(path ? path : "memory");
	if (sb.st_size)
		mapped = sb.st_size;
	state = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, state_fd, 0);
	if (state == MAP_FAILED)
		return failed("state");
	close(state_fd);
	/* the memory of a device, which has a size from the start, begins as zeros */
	if (create && mapped >= size && !state->magic) {
		state->magic = MAGIC;
		state->seed = seed;
		state->start = start;
		state->sectors = sectors;
	}
	if (state->magic != MAGIC ||
	    mapped < sizeof(*state) + state->sectors * sizeof(struct sector)) {
		stamp_say("state file %s is not one of this program", path);
		return false;
	}
	if (ioctl(stamp.fd, BLKGETSIZE64, &dev_size) ||
	    ioctl(stamp.fd, BLKSSZGET, &stamp.lb_sectors))
		return failed("not a block device");
	stamp.lb_sectors /= SECTOR;
	if ((state->start + state->sectors) * SECTOR > dev_size || state->start % BLOCK) {
		stamp_say("the region ends beyond the device or begins inside a block");
		return false;
	}
	return true;
}

__u64 stamp_seed(void)
{
	return state->seed;
}

void stamp_restart(__u64 seed)
{
	memset(state->sector, 0, state->sectors * sizeof(struct sector));
	state->seed = seed;
	state->version = 0;
	state->clock = 0;
	state->flushed = 0;
}

void stamp_keep(unsigned int nr)
{
	size_t size = sizeof(*state) + state->sectors * sizeof(struct sector);

	if (!kept[nr])
		kept[nr] = malloc(size);
	if (!kept[nr]) {
		stamp_say("out of memory");
		exit(STAMP_FAILED);
	}
	memcpy(kept[nr], state, size);
}

/* Except for the version: none is used twice. */
void stamp_go_back(unsigned int nr)
{
	__u32 version = state->version;

	memcpy(state, kept[nr], sizeof(*state) + state->sectors * sizeof(struct sector));
	state->version = version;
}
