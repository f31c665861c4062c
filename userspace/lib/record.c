// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state that assembly keeps in /run/fusion from one member to the next. Each member appears on
 * its own, in a process of its own, many at the same time, in the initramfs and after it.
 *
 *	/run/fusion/lock		held while a set is opened, or devices become members
 *	/run/fusion/SET/ROLE-MEMBER	"8:1 /dev/sda1": the device that was that member
 *	/run/fusion/SET/opened		"8:1 12 8:17 13": of which devices the set was opened last
 *
 * Nothing of it is believed unseen: a device may be gone since, or its number another one's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "record.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "role.h"
#include "scan.h"
#include "super.h"
#include "sysfs.h"
#include "trio.h"
#include "dm-fusion-codec.h"

/*
 * Longer than a release of a set in use holds it: a minute of a pause (release-pause.c), and half a
 * minute for udev. That kills its programs after 180 s.
 */
#define LOCK_WAIT_MS	100000
#define LOCK_POLL_MS	20
#define RECORD_PATH	160

static int own = -1;		/* descriptor of ASSEMBLY_LOCK, if this process holds it */

int fus_run_lock(const char *path, int *lock)
{
	*lock = -1;
	if (!mkdir(RUN_DIR, 0755) || errno == EEXIST)
		*lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*lock < 0)
		return fus_fail(FC_FAILED, path, "cannot create: %s; mount a tmpfs on /run",
				strerror(errno));
	for (int ms = 0; flock(*lock, LOCK_EX | LOCK_NB); ms += LOCK_POLL_MS) {
		if (errno == EWOULDBLOCK && ms < LOCK_WAIT_MS) {
			usleep(LOCK_POLL_MS * 1000);
			continue;
		}
		fus_run_unlock(lock);
		return fus_fail(FC_BUSY, path, "another fusionctl has held it for %d s; wait for "
				"it, or end it, and try again", LOCK_WAIT_MS / 1000);
	}
	if (!strcmp(path, ASSEMBLY_LOCK))
		own = *lock;
	return 0;
}

void fus_run_unlock(int *lock)
{
	if (*lock >= 0) {
		if (*lock == own)
			own = -1;
		close(*lock);
	}
	*lock = -1;
}

static bool locked_by_another(void)
{
	int fd = own < 0 ? open(ASSEMBLY_LOCK, O_RDONLY | O_CLOEXEC) : -1;
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

const char *fus_suspended_remedy(const char *remedy)
{
	return locked_by_another() ? "another fusionctl is working on it: wait" : remedy;
}

int fus_fail_suspended(const char *name, const char *what)
{
	char remedy[192];

	snprintf(remedy, sizeof(remedy), "run dmsetup resume %s first", name);
	return fus_fail(FC_FAILED, name, "%s, it is suspended; %s", what,
			fus_suspended_remedy(remedy));
}

static void set_path(const struct fusion_sb *sb, const char *file, char buf[RECORD_PATH])
{
	char uuid[UUID_TEXT];

	snprintf(buf, RECORD_PATH, RUN_DIR "/%s%s%s", fus_uuid_text(uuid, sb->set_uuid),
		 *file ? "/" : "", file);
}

static void record_path(const struct fusion_sb *sb, int role, const unsigned char dev_uuid[16],
			char buf[RECORD_PATH])
{
	char file[8 + UUID_TEXT], uuid[UUID_TEXT];

	snprintf(file, sizeof(file), "%s-%s", fus_role_name[role], fus_uuid_text(uuid, dev_uuid));
	set_path(sb, file, buf);
}

/* Whole or not at all: a reader may come in between, or this process may be killed. */
static int write_file(const struct fusion_sb *sb, const char *path, const char *text)
{
	char dir[RECORD_PATH], new[RECORD_PATH + 4];
	ssize_t len = strlen(text);
	bool good;
	int fd;

	set_path(sb, "", dir);
	snprintf(new, sizeof(new), "%s.new", path);
	if (mkdir(dir, 0755) && errno != EEXIST)
		goto bad;
	fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		goto bad;
	good = write(fd, text, len) == len;
	if (!close(fd) && good && !rename(new, path))
		return 0;
bad:
	return fus_fail(FC_FAILED, path, "cannot write: %s; check that /run is not full",
			strerror(errno));
}

static bool read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	buf[n] = 0;
	buf[strcspn(buf, "\n")] = 0;
	return true;
}

int fus_record_write(const struct member *m)
{
	char path[RECORD_PATH], node[160], text[200];

	record_path(m->sb, m->sb->role, m->sb->dev_uuid, path);
	fus_device_node(m->devno, node, sizeof(node));
	snprintf(text, sizeof(text), "%u:%u %s\n", major(m->devno), minor(m->devno), node);
	return write_file(m->sb, path, text);
}

static void find_one(const struct fusion_sb *sb, int role, const unsigned char dev_uuid[16],
		     struct member **m)
{
	char path[RECORD_PATH], text[200];
	dev_t devno;

	record_path(sb, role, dev_uuid, path);
	if (!read_file(path, text, sizeof(text)))
		return;
	text[strcspn(text, " ")] = 0;
	if (fus_parse_devno(text, &devno))
		fus_member_at(devno, m);
	if (*m && (!fus_member_is(*m, dev_uuid) ||
		   memcmp((*m)->sb->set_uuid, sb->set_uuid, sizeof(sb->set_uuid)))) {
		fus_free_members(*m);
		*m = NULL;
	}
	if (!*m)
		unlink(path);
}

static void find_any(const struct fusion_sb *sb, int role, struct member **m)
{
	const size_t head = strlen(fus_role_name[role]) + 1;
	unsigned char dev_uuid[16];
	char path[RECORD_PATH];
	struct dirent *e;
	DIR *dir;

	set_path(sb, "", path);
	dir = opendir(path);
	while (dir && !*m && (e = readdir(dir))) {
		if (strlen(e->d_name) <= head || uuid_parse(e->d_name + head, dev_uuid))
			continue;
		find_one(sb, role, dev_uuid, m);
		/* one that is only to become a member, or does not say that it is one */
		if (*m && (!fus_has_identity(*m) ||
			   (*m)->sb->old.state == FUSION_OLD_JOINING)) {
			fus_free_members(*m);
			*m = NULL;
		}
	}
	if (dir)
		closedir(dir);
}

void fus_record_list(const struct fusion_sb *sb, struct member **list)
{
	struct member *m, **tail = list;
	unsigned char dev_uuid[16];
	char path[RECORD_PATH];
	const char *dash;
	struct dirent *e;
	DIR *dir;

	*list = NULL;
	set_path(sb, "", path);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		dash = strchr(e->d_name, '-');
		m = NULL;
		for (int role = 0; dash && role < 2 && !m; role++)
			if (!strncmp(e->d_name, fus_role_name[role], dash - e->d_name) &&
			    !uuid_parse(dash + 1, dev_uuid))
				find_one(sb, role, dev_uuid, &m);
		if (m) {
			*tail = m;
			tail = &m->next;
		}
	}
	if (dir)
		closedir(dir);
	fus_set_apart(*list);
}

void fus_record_find(const struct fusion_sb *sb, int role, const unsigned char dev_uuid[16],
		     struct member **m)
{
	*m = NULL;
	if (dev_uuid)
		find_one(sb, role, dev_uuid, m);
	else
		find_any(sb, role, m);
}

/*
 * A device number may be reused, so it proves nothing. diskseq, which the kernel increases for each
 * new disk, shows whether the disk is still the same.
 */
static void device_text(const struct member *m, char *buf, size_t size)
{
	char seq[32] = "";

	fus_sysfs_read(fus_sysfs_disk(m->devno), "diskseq", seq, sizeof(seq));
	snprintf(buf, size, "%u:%u %s", major(m->devno), minor(m->devno), *seq ? seq : "-");
}

static void opened_text(const struct member *fast, const struct member *slow, char buf[160])
{
	char a[64], b[64];

	device_text(fast, a, sizeof(a));
	device_text(slow, b, sizeof(b));
	snprintf(buf, 160, "%s %s\n", a, b);
}

void fus_opened_write(const struct member *a, const struct member *b)
{
	bool swapped = a->sb->role == FUSION_SLOW;
	char path[RECORD_PATH], text[160];

	set_path(a->sb, "opened", path);
	opened_text(swapped ? b : a, swapped ? a : b, text);
	write_file(a->sb, path, text);
}

bool fus_opened_before(const struct member *a, const struct member *b)
{
	bool swapped = a->sb->role == FUSION_SLOW;
	char path[RECORD_PATH], text[160], was[160];

	set_path(a->sb, "opened", path);
	if (!read_file(path, was, sizeof(was)))
		return false;
	opened_text(swapped ? b : a, swapped ? a : b, text);
	text[strcspn(text, "\n")] = 0;
	return !strcmp(text, was);
}
