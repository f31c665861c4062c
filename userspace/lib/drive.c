// SPDX-License-Identifier: GPL-2.0-only
/* The drives beneath a device. Nothing here opens a disk, so none is woken, except by its SMART. */
#include <inttypes.h>
#include <libudev.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "drive.h"
#include "device.h"
#include "size.h"
#include "stands-on.h"
#include "sysfs.h"
#include "text.h"

#define MAX_DEPTH	8	/* of loop devices on each other */
#define WORN		90	/* percent */
#define HOT_DISK	60	/* degrees, of a drive that names no limit */
#define HOT_SSD		70

/* -- beneath ----------------------------------------------------------------------- */

struct under {
	dev_t *disks;
	unsigned int nr, depth;
};

static bool add(dev_t devno, void *ctx);

/* Return: whether it is a loop device on something that is on a device. */
static bool add_backing(dev_t devno, struct under *u)
{
	char path[512];
	struct stat st;
	dev_t on;

	if (!fus_sysfs_read(devno, "loop/backing_file", path, sizeof(path)) ||
	    u->depth == MAX_DEPTH)
		return false;
	if (!stat(path, &st) && S_ISBLK(st.st_mode))
		on = st.st_rdev;
	else if (!fus_path_device(path, &on) || !fus_sysfs_has(on, "size"))
		return false;
	u->depth++;
	fus_stands_on(on, add, u);
	u->depth--;
	return true;
}

static bool add(dev_t devno, void *ctx)
{
	struct under *u = ctx;

	if (fus_sysfs_disk(devno) != devno || fus_sysfs_any(devno, "slaves", NULL, NULL) ||
	    add_backing(devno, u))
		return false;
	for (unsigned int i = 0; i < u->nr && i < MAX_DRIVES; i++)
		if (u->disks[i] == devno)
			return false;
	if (u->nr < MAX_DRIVES)
		u->disks[u->nr] = devno;
	u->nr++;
	return false;
}

unsigned int fus_drives_under(dev_t devno, dev_t disks[MAX_DRIVES])
{
	struct under u = { .disks = disks };

	fus_stands_on(devno, add, &u);
	return u.nr;
}

/* -- what the kernel knows --------------------------------------------------------- */

static void learn(char buf[SMART_TEXT], const char *text)
{
	size_t len;

	if (*buf || !text)
		return;
	fus_safe_text(buf, SMART_TEXT, text + strspn(text, " "), SIZE_MAX, true);
	for (len = strlen(buf); len && buf[len - 1] == ' '; len--)
		buf[len - 1] = 0;
}

static void learn_attr(char buf[SMART_TEXT], dev_t disk, const char *attr)
{
	char text[256];

	if (!*buf && fus_sysfs_read(disk, attr, text, sizeof(text)))
		learn(buf, text);
}

static uint64_t field(dev_t disk, const char *attr, unsigned int n)
{
	char text[512], *save, *word;
	uint64_t v = 0;

	if (!fus_sysfs_read(disk, attr, text, sizeof(text)))
		return 0;
	for (word = strtok_r(text, " ", &save); word && n; word = strtok_r(NULL, " ", &save))
		n--;
	return word && fus_parse_number(word, UINT64_MAX >> 9, &v) ? v : 0;
}

static void ask_udev(struct udev_device *dev, struct drive *d)
{
	if (!dev)
		return;
	learn(d->serial, udev_device_get_property_value(dev, "ID_SERIAL_SHORT"));
	learn(d->firmware, udev_device_get_property_value(dev, "ID_REVISION"));
	learn(d->wwn, udev_device_get_property_value(dev, "ID_WWN"));
}

void fus_drive_get(dev_t disk, struct drive *d)
{
	struct udev *udev = udev_new();
	struct udev_device *dev = udev ? udev_device_new_from_devnum(udev, 'b', disk) : NULL;
	char text[256];

	memset(d, 0, sizeof(*d));
	d->devno = disk;
	fus_device_node(disk, d->node, sizeof(d->node));
	learn_attr(d->model, disk, "device/model");
	fus_device_serial(disk, text, sizeof(text));
	learn(d->serial, text);
	learn_attr(d->firmware, disk, "device/firmware_rev");
	learn_attr(d->firmware, disk, "device/rev");
	ask_udev(dev, d);
	learn_attr(d->wwn, disk, "wwid");
	learn_attr(d->wwn, disk, "device/wwid");
	fus_drive_link(disk, d->link, sizeof(d->link));
	d->bytes = field(disk, "size", 0) << 9;
	d->written = field(disk, "stat", 6) << 9;
	d->rotational = fus_sysfs_read(disk, "queue/rotational", text, sizeof(text)) ?
			*text == '1' : -1;
	fus_smart_clear(&d->smart);
	udev_device_unref(dev);
	udev_unref(udev);
}

/* -- what it says itself ----------------------------------------------------------- */

static void correct(char buf[SMART_TEXT], const char *text)
{
	if (*text)
		snprintf(buf, SMART_TEXT, "%s", text);
}

/* For a command of smartctl the kernel would resume the disk, even with -n standby. */
static bool is_suspended(dev_t disk)
{
	char status[32];

	return fus_sysfs_read(disk, "device/power/runtime_status", status, sizeof(status)) &&
	       !strcmp(status, "suspended");
}

void fus_drive_ask(struct drive *d)
{
	if (is_suspended(d->devno)) {
		d->smart.asleep = true;
		return;
	}
	fus_smart_ask(d->node, &d->smart);
	correct(d->model, d->smart.model);
	correct(d->serial, d->smart.serial);
	correct(d->firmware, d->smart.firmware);
	if (!*d->link && *d->smart.link)
		snprintf(d->link, sizeof(d->link), "SATA %.*s", SMART_TEXT - 6, d->smart.link);
}

const char *fus_drive_name(const struct drive *d, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", *d->model ? d->model : d->node, *d->serial ? ", serial " : "",
		 d->serial);
	return buf;
}

/* -- faults ------------------------------------------------------------------------ */

const char *const fus_drive_fault_name[NR_DRIVE_FAULTS] = {
	[DRIVE_FAILING] = "failing",
	[DRIVE_PENDING] = "pending",
	[DRIVE_WORN] = "worn",
	[DRIVE_HOT] = "hot",
};

const char *fus_drive_remedy(const struct drive_finding *f, const struct drive *d,
			     const struct drive_place *at, char *buf, size_t size)
{
	char node[160];

	fus_device_node(at->member, node, sizeof(node));
	if (!f->replace)
		snprintf(buf, size, "%s", f->remedy);
	else if (at->drives > 1)
		snprintf(buf, size, "replace %s in the array beneath %s", d->node, node);
	else if (!*at->open_as)
		snprintf(buf, size, "open the set, and replace this member");
	else if (at->old)
		snprintf(buf, size, "fusionctl replace %s --wait", at->open_as);
	else
		snprintf(buf, size, "fusionctl replace %s %s NEW", at->open_as, node);
	return buf;
}

static int64_t limit_of(const struct drive *d)
{
	if (d->smart.limit > 0)
		return d->smart.limit;
	return d->rotational ? HOT_DISK : HOT_SSD;
}

unsigned int fus_drive_findings(const struct drive *d, struct drive_finding f[NR_DRIVE_FAULTS])
{
	const struct smart *s = &d->smart;
	unsigned int nr = 0;

	if (!s->known)
		return 0;
	if (!s->passed) {
		f[nr] = (struct drive_finding) { DRIVE_FAILING, HEALTH_ERROR, 0, true, NULL, "" };
		snprintf(f[nr++].text, sizeof(f->text), "SMART predicts that it will fail "
			 "soon");
	}
	if (s->pending > 0) {
		f[nr] = (struct drive_finding) {
			DRIVE_PENDING, HEALTH_WARNING, s->pending, true, NULL, ""
		};
		snprintf(f[nr++].text, sizeof(f->text), "%" PRId64 " sector%s cannot be read",
			 s->pending, fus_plural(s->pending));
	}
	if (s->wear >= WORN) {
		f[nr] = (struct drive_finding) {
			DRIVE_WORN, HEALTH_WARNING, s->wear, true, NULL, ""
		};
		snprintf(f[nr++].text, sizeof(f->text), "%" PRId64 "%% of its life is used",
			 s->wear);
	}
	if (s->temperature != SMART_UNKNOWN && s->temperature >= limit_of(d)) {
		f[nr] = (struct drive_finding) {
			DRIVE_HOT, HEALTH_WARNING, 0, false, "improve its cooling", ""
		};
		snprintf(f[nr++].text, sizeof(f->text), "it has reached %" PRId64
			 " degrees, its limit is %" PRId64, s->temperature, limit_of(d));
	}
	return nr;
}
