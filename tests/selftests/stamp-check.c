// SPDX-License-Identifier: GPL-2.0-only
/* stamp: reads, and whether what they return is allowed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "stamp-state.h"

#define MAX_REPORTS	20

atomic_ullong stamp_mismatches;
atomic_ullong stamp_again;

static void describe(const struct sector *s, char *text, size_t size)
{
	if (s->done == PENDING || (stamp.power_cut && s->done > atomic_load(&state->flushed)))
		snprintf(text, size, "version %u..%u%s", s->durable, s->version,
			 s->flags & (WAS_ZERO | MAYBE_ZERO) ? " or zeros" : "");
	else if (reads_zero(s))
		snprintf(text, size, "zeros (%s)", s->version ? "discarded or zeroed" :
			 "never written");
	else
		snprintf(text, size, "version %u%s", s->version,
			 s->flags & MAYBE_ZERO ? " or zeros" : "");
}

static void describe_found(const __u64 *w, __u64 sector, char *text, size_t size)
{
	__u32 found = stamp_identify(w, sector);

	if (!found)
		snprintf(text, size, "zeros");
	else if (found != GARBAGE)
		snprintf(text, size, "version %u", found);
	else if (w[0] == (MAGIC ^ state->seed) && stamp_identify(w, w[1]) != GARBAGE)
		snprintf(text, size, "sector %llu version %llu", w[1], w[2]);
	else
		snprintf(text, size, "garbage %016llx %016llx %016llx %016llx",
			 w[0], w[1], w[2], w[3]);
}

/* Check the data read of a locked range. Return: the first wrong sector, or @end. */
static __u64 check(const void *buf, __u64 start, __u64 end, bool report)
{
	__u64 first = end;

	for (__u64 i = start; i < end; i++) {
		const __u64 *w = buf + (i - start) * SECTOR;
		const struct sector *s = sector_at(i);
		char want[80], got[120];

		if (state_allows(s, stamp_identify(w, i)))
			continue;
		if (first == end)
			first = i;
		if (!report || atomic_fetch_add(&stamp_mismatches, 1) >= MAX_REPORTS)
			continue;
		describe(s, want, sizeof(want));
		describe_found(w, i, got, sizeof(got));
		stamp_say("sector %llu (block %llu + %llu, read from %llu to %llu): "
			  "expected %s, got %s", i, i / BLOCK, i % BLOCK, start, end, want, got);
	}
	return first;
}

bool range_read(void *buf, __u64 start, __u64 end)
{
	struct iovec iov = { buf, (end - start) * SECTOR };
	ssize_t n = -1;

	/* stale content of the buffer must not pass for data that was read */
	for (__u64 i = 0; i < end - start; i++)
		memset(buf + i * SECTOR, 0xdb, stamp.light ? sizeof(__u64) : SECTOR);
	errno = EAGAIN;
	if (stamp.nowait)
		n = preadv2(stamp.fd, &iov, 1, start * SECTOR, RWF_NOWAIT);
	if (n < 0 && errno == EAGAIN) {
		stamp_again += stamp.nowait;
		n = preadv2(stamp.fd, &iov, 1, start * SECTOR, 0);
	}
	if (n >= 0 && n != (ssize_t)iov.iov_len)
		errno = ENODATA;
	return n == (ssize_t)iov.iov_len;
}

void range_check(void *buf, __u64 start, __u64 end)
{
	bool first = !stamp_mismatches;
	__u64 bad = check(buf, start, end, true);

	if (bad == end || !first)
		return;
	usleep(200000);
	stamp_say("sector %llu read again: %s", bad,
		  !range_read(buf, start, end) ? strerror(errno) :
		  check(buf, bad, bad + 1, false) == bad ? "still wrong" : "right now");
}
