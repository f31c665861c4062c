// SPDX-License-Identifier: GPL-2.0-only
/* How a drive is attached, and how fast, from sysfs. */
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"

/* Rates of PCIe as sysfs has them, "16.0 GT/s PCIe", and its generations. */
static const struct {
	const char *rate, *generation;
} generations[] = {
	{ "2.5 ", "1.0" }, { "5.0 ", "2.0" }, { "5 ", "2.0" }, { "8.0 ", "3.0" }, { "8 ", "3.0" },
	{ "16.0 ", "4.0" }, { "16 ", "4.0" }, { "32.0 ", "5.0" }, { "32 ", "5.0" },
	{ "64.0 ", "6.0" }, { "64 ", "6.0" },
};

static const char *generation_of(const char *rate)
{
	for (size_t i = 0; rate && i < sizeof(generations) / sizeof(generations[0]); i++)
		if (!strncmp(rate, generations[i].rate, strlen(generations[i].rate)))
			return generations[i].generation;
	return NULL;
}

/* "NVMe PCIe 4.0 x2 of x4" */
static void nvme(struct udev_device *dev, char *buf, size_t size)
{
	struct udev_device *pci = udev_device_get_parent_with_subsystem_devtype(dev, "pci", NULL);
	const char *generation, *width, *most;

	snprintf(buf, size, "NVMe");
	if (!pci)
		return;
	generation = generation_of(udev_device_get_sysattr_value(pci, "current_link_speed"));
	width = udev_device_get_sysattr_value(pci, "current_link_width");
	most = udev_device_get_sysattr_value(pci, "max_link_width");
	if (!generation || !width || !strcmp(width, "0"))
		return;
	snprintf(buf, size, "NVMe PCIe %s x%s", generation, width);
	if (most && strcmp(most, width))
		snprintf(buf + strlen(buf), size - strlen(buf), " of x%s", most);
}

/* "USB 5 Gb/s"; sysfs has Mb/s */
static void usb(struct udev_device *usb_device, char *buf, size_t size)
{
	const char *speed = udev_device_get_sysattr_value(usb_device, "speed");
	double mbit = speed ? atof(speed) : 0;

	if (mbit <= 0)
		snprintf(buf, size, "USB");
	else if (mbit < 1000)
		snprintf(buf, size, "USB %g Mb/s", mbit);
	else
		snprintf(buf, size, "USB %g Gb/s", mbit / 1000);
}

/* "SATA 6.0 Gb/s"; sysfs has "6.0 Gbps" */
static void ata(struct udev *udev, const char *port, char *buf, size_t size)
{
	struct udev_device *link;
	char name[32];
	const char *rate;

	snprintf(buf, size, "SATA");
	snprintf(name, sizeof(name), "link%u", (unsigned int)strtoul(port, NULL, 10));
	link = udev_device_new_from_subsystem_sysname(udev, "ata_link", name);
	rate = link ? udev_device_get_sysattr_value(link, "sata_spd") : NULL;
	if (rate && strstr(rate, " Gbps"))
		snprintf(buf, size, "SATA %.*s Gb/s", (int)strcspn(rate, " "), rate);
	udev_device_unref(link);
}

static void by_path(struct udev *udev, struct udev_device *dev, char *buf, size_t size)
{
	static const struct {
		const char *part, *link;
	} others[] = {
		{ "/end_device-", "SAS" }, { "/virtio", "virtio" }, { "/mmc_host/", "MMC" },
		{ "/rport-", "Fibre Channel" }, { "/session", "iSCSI" }, { "/block/loop", "loop" },
	};
	const char *path = udev_device_get_syspath(dev), *port = strstr(path, "/ata");
	struct udev_device *usb_device =
		udev_device_get_parent_with_subsystem_devtype(dev, "usb", "usb_device");

	if (usb_device) {
		usb(usb_device, buf, size);
	} else if (strstr(path, "/nvme")) {
		nvme(dev, buf, size);
	} else if (port && port[4] >= '0' && port[4] <= '9') {
		ata(udev, port + 4, buf, size);
	} else {
		for (size_t i = 0; !*buf && i < sizeof(others) / sizeof(others[0]); i++)
			if (strstr(path, others[i].part))
				snprintf(buf, size, "%s", others[i].link);
	}
}

void fus_drive_link(dev_t disk, char *buf, size_t size)
{
	struct udev *udev = udev_new();
	struct udev_device *dev = udev ? udev_device_new_from_devnum(udev, 'b', disk) : NULL;

	*buf = 0;
	if (dev)
		by_path(udev, dev, buf, size);
	udev_device_unref(dev);
	udev_unref(udev);
}
