// SPDX-License-Identifier: GPL-2.0-only
/*
 * The identity of this machine, and of the one that has a set open. A number distinguishes machines
 * that reach the same disks.
 *
 * The number is derived from the machine-id, of which the initramfs has a copy, or else from the
 * firmware's UUID of the machine. Neither is used directly: according to machine-id(5) it must not
 * leave the machine, but disks do.
 */
#include <ctype.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "host.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "scan.h"
#include "text.h"
#include "dm-fusion-codec.h"

/* The copy comes first: an initramfs may invent a machine-id for each boot. */
static const char *const files[] = {
	"/etc/dm-fusion/machine-id",
	"/etc/machine-id",
	"/sys/class/dmi/id/product_uuid",
};

/* The namespace of these numbers. */
static const uuid_t fusion_space = {
	0x5b, 0x0e, 0x4c, 0x8a, 0x93, 0x1d, 0x4f, 0x02,
	0xae, 0x77, 0x2c, 0x64, 0xd1, 0x3f, 0x9a, 0x10
};

/* 32 hex digits, with or without dashes. All digits are the same if the firmware has no UUID. */
static bool digits_of(const char *text, char digits[33])
{
	size_t n = 0;

	for (; *text && *text != '\n'; text++) {
		if (*text == '-')
			continue;
		if (!isxdigit((unsigned char)*text) || n == 32)
			return false;
		digits[n++] = tolower((unsigned char)*text);
	}
	digits[n] = 0;
	return n == 32 && strspn(digits, (char[]){ digits[0], 0 }) < 32;
}

static bool read_digits(const char *path, char digits[33])
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 && digits_of(text, digits);
}

bool fus_host_id(unsigned char id[16])
{
	char digits[33];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (!read_digits(files[i], digits))
			continue;
		uuid_generate_sha1(id, fusion_space, digits, strlen(digits));
		return true;
	}
	memset(id, 0, 16);
	return false;
}

char *fus_host_hex(char buf[HOST_HEX], const unsigned char id[16])
{
	for (int i = 0; i < 16; i++)
		snprintf(buf + 2 * i, 3, "%02x", id[i]);
	return buf;
}

/* -- the machine that has a set ---------------------------------------------------------- */

/* Past the page cache, which another machine does not know of: @fd is to be so. */
static bool read_beat(int fd, const struct fusion_sb *sb, struct fusion_beat *beat)
{
	const char *why;
	bool valid = false;
	void *block;

	memset(beat, 0, sizeof(*beat));
	if (!posix_memalign(&block, FUSION_BLOCK_SIZE, FUSION_BLOCK_SIZE)) {
		valid = pread(fd, block, FUSION_BLOCK_SIZE, FUSION_BEAT_BLOCKNR *
			      FUSION_BLOCK_SIZE) == FUSION_BLOCK_SIZE &&
			!fusion_beat_unpack(sb, block, beat, &why);
		free(block);
	}
	return valid;
}

static int open_beat(const struct member *fast)
{
	return fus_open_node(fast->path, fast->devno, O_RDONLY | O_DIRECT | O_CLOEXEC);
}

/* "desk, since 2026-11-24 19:00:00" */
static void holder_text(const struct fusion_sb *sb, const struct fusion_beat *beat, char *buf,
			size_t size)
{
	const bool beats = beat->state >= FUSION_BEAT_BEATING;
	const unsigned char *id = beats ? beat->host_id : sb->host_id;
	const char *name = beats ? beat->host_name : sb->host_name;
	const time_t t = beats ? beat->open_time : sb->open_time;
	char hex[HOST_HEX], when[32] = "an unknown time", safe[4 * FUSION_HOST_SIZE + 1];
	struct tm tm;

	fus_safe_text(safe, sizeof(safe), name, FUSION_HOST_SIZE, fus_utf8_output());
	if (t && localtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(buf, size, "%s%s(%s), which opened it at %s", safe, *safe ? " " : "",
		 uuid_is_null(id) ? "unknown machine" : fus_host_hex(hex, id), when);
}

bool fus_host_text(const struct fusion_sb *sb, char *buf, size_t size)
{
	const struct fusion_beat none = { 0 };

	if (uuid_is_null(sb->host_id))
		return false;
	holder_text(sb, &none, buf, size);
	return true;
}

char *fus_host_short(const struct fusion_sb *sb, char buf[HOST_SHORT])
{
	char hex[HOST_HEX];

	if (sb->flags & FUSION_SB_CLEAN || uuid_is_null(sb->host_id))
		snprintf(buf, HOST_SHORT, "-");
	else if (*sb->host_name)
		snprintf(buf, HOST_SHORT, "%s", sb->host_name);
	else
		snprintf(buf, HOST_SHORT, "%.8s", fus_host_hex(hex, sb->host_id));
	return buf;
}

bool fus_host_holds(const struct member *fast, char *buf, size_t size, unsigned int *watch_ms)
{
	const int fd = open_beat(fast);
	struct fusion_beat beat;
	unsigned char id[16];

	fus_host_id(id);
	/* a member that cannot be opened has no heartbeat */
	read_beat(fd, fast->sb, &beat);
	if (fd >= 0)
		close(fd);
	holder_text(fast->sb, &beat, buf, size);
	*watch_ms = fusion_beat_watch_ms(&beat);
	return fusion_beat_taking(fast->sb, &beat, id) == FUSION_TAKE_WATCH;
}

#define POLL_MS	200

/* As the kernel does it before it opens a set. */
int fus_host_watch(const char *path, int fd, const struct fusion_sb *sb)
{
	const struct timespec poll = { .tv_nsec = POLL_MS * 1000000L };
	struct fusion_beat first, now;
	char text[HOST_TEXT];
	unsigned char id[16];
	unsigned int ms;

	fus_host_id(id);
	read_beat(fd, sb, &first);
	if (fusion_beat_taking(sb, &first, id) != FUSION_TAKE_WATCH)
		return 0;
	ms = fusion_beat_watch_ms(&first);
	holder_text(sb, &first, text, sizeof(text));
	fus_warn(path, "its set was not closed by the machine %s; checking for %u s whether that "
		 "machine still uses it", text, (ms + 999) / 1000);
	for (unsigned int waited = 0; waited < ms; waited += POLL_MS) {
		nanosleep(&poll, NULL);
		read_beat(fd, sb, &now);
		if (!memcmp(&now, &first, sizeof(now)))
			continue;
		/* if the set was closed in this moment, its earlier state no longer holds */
		holder_text(sb, &now, text, sizeof(text));
		return fus_fail(FC_BUSY, path, "its set is in use by the machine %s; close it "
				"there first", text);
	}
	return 0;
}

static int watch_fast(const char *path, const struct member *fast)
{
	const int fd = open_beat(fast);
	int rc;

	if (fd < 0)
		return 0;
	rc = fus_host_watch(path, fd, fast->sb);
	close(fd);
	return rc;
}

/* The slow member has no heartbeat; @fast, which is watched anyway, may be the one that has. */
static int watch_member(const struct member *m, const struct member *fast)
{
	struct member *list = NULL, *peer = NULL;
	int rc;

	if (m->sb->role == FUSION_FAST)
		return watch_fast(m->path, m);
	if (fast && fus_member_is(fast, m->sb->peer_uuid))
		return 0;
	rc = fus_scan_members(&list);
	if (!rc)
		rc = fus_find_member(list, m->sb->peer_uuid, &peer);
	if (!rc && peer)
		rc = watch_fast(m->path, peer);
	fus_free_members(list);
	return rc;
}

int fus_host_watch_devices(const struct device *dev, int nr)
{
	struct member *m[3] = { NULL, NULL, NULL }, *fast = NULL;
	int rc = 0;

	for (int i = 0; i < nr; i++)
		if (!fus_member_at(dev[i].devno, &m[i]) && m[i] && fus_has_identity(m[i]) &&
		    m[i]->sb->role == FUSION_FAST && !fast)
			fast = m[i];
	for (int i = 0; i < nr && !rc; i++)
		if (m[i] && fus_has_identity(m[i]))
			rc = watch_member(m[i], fast);
	for (int i = 0; i < nr; i++)
		fus_free_members(m[i]);
	return rc;
}

void fus_host_json(struct json_object *o, const struct fusion_sb *sb)
{
	struct json_object *host = NULL;
	char hex[HOST_HEX], safe[4 * FUSION_HOST_SIZE + 1];

	if (sb && !uuid_is_null(sb->host_id)) {
		host = json_object_new_object();
		fus_json_add_str(host, "id", fus_host_hex(hex, sb->host_id));
		fus_json_add_str(host, "name", fus_safe_text(safe, sizeof(safe), sb->host_name,
							     FUSION_HOST_SIZE, true));
		fus_json_add_u64(host, "opened", sb->open_time);
	}
	json_object_object_add(o, "host", host);
}
