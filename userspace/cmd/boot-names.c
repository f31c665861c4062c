// SPDX-License-Identifier: GPL-2.0-only
/* How the system finds a disk at boot, and whether it would find its content on another device. */
#include <fcntl.h>
#include <libmount/libmount.h>
#include <libudev.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot-names.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "probe.h"
#include "stands-on.h"
#include "sysfs.h"

static int refuse_offset(const char *word, dev_t devno)
{
	(void)devno;
	return fus_fail(FC_REFUSED, word, "on the kernel's command line: a hibernated system may "
			"be there, so no disk is adopted or released; boot once without that");
}

int check_boot_script(const char *instead)
{
	if (!access(AT_BOOT_SCRIPT, F_OK))
		return 0;
	return fus_fail(FC_REFUSED, "--at-boot", "%s is missing, and only initramfs-tools is "
			"supported; %s from another system, such as a live one", AT_BOOT_SCRIPT,
			instead);
}

/* What the system cannot boot without. */
static const char *const of_system[] = { "/", "/usr" };

int check_boot_finishes(const char *name, dev_t devno)
{
	bool needed = false;

	for (size_t i = 0; i < sizeof(of_system) / sizeof(of_system[0]); i++)
		needed |= fus_path_stands_on(of_system[i], devno);
	if (!needed)
		return 0;
	if (access(AT_BOOT_SCRIPT, F_OK))
		return fus_fail(FC_REFUSED, name, "has a part of this system, and after a power "
				"failure in the last step the initramfs could not finish that, as "
				"%s is missing; release it from another system, such as a live one",
				AT_BOOT_SCRIPT);
	return each_boot_word("resume_offset=", refuse_offset, 0);
}

/* Return: whether the text names this device, and not its content. */
static bool names_device(const char *text, dev_t devno)
{
	static const char *const content[] = { "/dev/disk/by-uuid/", "/dev/disk/by-label/" };
	char path[512];
	struct stat st;

	if (!strncmp(text, "PARTUUID=", 9))
		snprintf(path, sizeof(path), "/dev/disk/by-partuuid/%s", text + 9);
	else if (!strncmp(text, "PARTLABEL=", 10))
		snprintf(path, sizeof(path), "/dev/disk/by-partlabel/%s", text + 10);
	else
		snprintf(path, sizeof(path), "%s", text);
	for (size_t i = 0; i < sizeof(content) / sizeof(content[0]); i++)
		if (!strncmp(path, content[i], strlen(content[i])))
			return false;
	return *path == '/' && !stat(path, &st) && S_ISBLK(st.st_mode) && st.st_rdev == devno;
}

static int refuse(const char *file, const char *text)
{
	return fus_fail(FC_REFUSED, file, "has %s, which would not lead to the content any more; "
			"name it by UUID= there", text);
}

static int warn(const char *file, const char *text)
{
	fus_warn(file, "has %s, which leads to the content until the next boot, and not after it; "
		 "name it by UUID= there", text);
	return 0;
}

/* What to do about each. */
static int (*found)(const char *file, const char *text) = refuse;

static bool is_of_system(const char *target)
{
	for (size_t i = 0; i < sizeof(of_system) / sizeof(of_system[0]); i++)
		if (target && !strcmp(target, of_system[i]))
			return true;
	return false;
}

static int check_fstab(dev_t devno)
{
	struct libmnt_table *tb = mnt_new_table();
	struct libmnt_iter *it = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	int rc = 0;

	if (tb && it && !mnt_table_parse_fstab(tb, NULL))
		while (!rc && !mnt_table_next_fs(tb, it, &fs)) {
			const char *source = mnt_fs_get_source(fs);

			if (source && names_device(source, devno))
				rc = is_of_system(mnt_fs_get_target(fs)) ?
				     refuse(mnt_get_fstab_path(), source) :
				     found(mnt_get_fstab_path(), source);
		}
	mnt_free_iter(it);
	mnt_unref_table(tb);
	return rc;
}

static int check_crypttab(dev_t devno)
{
	FILE *f = fopen("/etc/crypttab", "re");
	char line[1024], source[512];
	int rc = 0;

	while (f && !rc && fgets(line, sizeof(line), f))
		if (*line != '#' && sscanf(line, "%*s %511s", source) == 1 &&
		    names_device(source, devno))
			rc = found("/etc/crypttab", source);
	if (f)
		fclose(f);
	return rc;
}

int each_boot_word(const char *prefix, int (*is)(const char *word, dev_t devno), dev_t devno)
{
	FILE *f = fopen("/proc/cmdline", "re");
	char line[8192], *save, *w;
	int rc = 0;

	if (f && fgets(line, sizeof(line), f))
		for (w = strtok_r(line, " \t\n", &save); w && !rc;
		     w = strtok_r(NULL, " \t\n", &save))
			if (!strncmp(w, prefix, strlen(prefix)))
				rc = is(w, devno);
	if (f)
		fclose(f);
	return rc;
}

static int check_root(const char *word, dev_t devno)
{
	return names_device(strchr(word, '=') + 1, devno) ?
	       refuse("the kernel's command line", word) : 0;
}

int check_boot_names(dev_t devno)
{
	int rc;

	rc = check_fstab(devno);
	if (!rc)
		rc = check_crypttab(devno);
	return rc ? rc : each_boot_word("root=", check_root, devno);
}

int check_later_boot_names(dev_t devno)
{
	int rc;

	found = warn;
	rc = check_boot_names(devno);
	found = refuse;
	return rc;
}

/* -- hibernation ----------------------------------------------------------------------------- */

static bool has_image(struct udev_device *udev, void *node)
{
	char type[64];
	bool fs, is;
	int fd;

	fus_device_node(udev_device_get_devnum(udev), node, 160);
	fd = open(node, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	is = fus_probe_type(fd, &fs, type, sizeof(type)) && !strcmp(type, "swsuspend");
	close(fd);
	return is;
}

int check_not_hibernated(void)
{
	char node[160];

	if (fus_block_any(&(struct block_match){ 0 }, has_image, node) > 0)
		return fus_fail(FC_REFUSED, node, "has the image of a hibernated system, so no "
				"disk is adopted or released; resume it and reboot");
	return each_boot_word("resume_offset=", refuse_offset, 0);
}
