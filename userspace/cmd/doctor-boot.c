// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb doctor: the parts that open sets automatically, and whether the root file system needs them.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assemble.h"
#include "doctor.h"
#include "health.h"
#include "released.h"
#include "stands-on.h"

/* -- where the root lies ---------------------------------------------------------- */

static bool is_set(dev_t devno, void *ctx)
{
	(void)ctx;
	return fus_sysfs_is_set(devno);
}

/* Return: whether the file system of @path lies on a set. */
static bool lies_on_set(const char *path)
{
	dev_t devno;

	return fus_path_device(path, &devno) && fus_stands_on(devno, is_set, NULL);
}

static bool has_kernel(const char *dir)
{
	struct dirent *e;
	bool found = false;
	DIR *d = opendir(dir);

	while (d && !found && (e = readdir(d)))
		found = !strncmp(e->d_name, "vmlinu", 6);
	if (d)
		closedir(d);
	return found;
}

void doctor_root(struct doctor *d)
{
	char path[PATH_TEXT];

	doctor_path(d, path, "/");
	d->root_on_set = lies_on_set(path);
	if (!d->root_on_set)
		return;
	doctor_say(d, HEALTH_OK, "root", NULL, "the root file system lies on a set");
	doctor_path(d, path, "/boot");
	if (!d->running && !has_kernel(path)) {
		d->no_boot = true;
		doctor_say(d, HEALTH_WARNING, "root", "mount its partition there",
			   "%s has no kernel, so no initramfs can be examined", path);
	} else if (lies_on_set(path))
		doctor_say(d, HEALTH_ERROR, "root", "move /boot to a partition of its own",
			   "/boot lies on a set, which no boot loader can read");
}

/* -- hooks ---------------------------------------------------------------------- */

#define OURS	"fusion-utils"

/* A file that we provide for a program of the system. */
static const struct hook {
	const char *subject;
	const char *of[3];	/* the program is installed if any of these exists */
	const char *file[4];	/* any of these is enough */
	const char *what;	/* consequence if it is missing */
	const char *package;	/* package of the file */
	bool root;		/* matters to a root on a set only */
} hooks[] = {
	{ "udev", { "/lib/udev", "/usr/lib/udev" },
	  { "/usr/lib/udev/rules.d/69-fusion.rules", "/lib/udev/rules.d/69-fusion.rules",
	    "/etc/udev/rules.d/69-fusion.rules" }, "sets do not open automatically", OURS, false },
	{ "udev", { "/lib/udev", "/usr/lib/udev" },
	  { "/usr/lib/udev/rules.d/55-dm.rules", "/lib/udev/rules.d/55-dm.rules",
	    "/usr/lib/udev/rules.d/10-dm.rules", "/lib/udev/rules.d/10-dm.rules" },
	  "sets have no links in /dev", "dmsetup", false },
	{ "initramfs-tools", { "/usr/sbin/update-initramfs", "/usr/sbin/mkinitramfs" },
	  { "/usr/share/initramfs-tools/hooks/fusion", "/etc/initramfs-tools/hooks/fusion" },
	  "an initramfs cannot open sets", OURS, true },
	{ "dracut", { "/usr/bin/dracut", "/usr/sbin/dracut" },
	  { "/usr/lib/dracut/modules.d/50fusion/module-setup.sh" },
	  "an initramfs cannot open sets", OURS, true },
	{ "mkinitcpio", { "/usr/bin/mkinitcpio" },
	  { "/usr/lib/initcpio/install/fusion", "/etc/initcpio/install/fusion" },
	  "an initramfs cannot open sets", OURS, true },
	{ "systemd", { "/lib/systemd/systemd", "/usr/lib/systemd/systemd" },
	  { "/usr/lib/systemd/system/fusion-waiting.timer",
	    "/lib/systemd/system/fusion-waiting.timer" },
	  "a missing member is not reported at boot", OURS, false },
	{ "systemd", { "/lib/systemd/systemd", "/usr/lib/systemd/systemd" },
	  { "/usr/lib/systemd/system/fusion-monitor.timer",
	    "/lib/systemd/system/fusion-monitor.timer" },
	  "the health of sets is not monitored", OURS, false },
	{ "systemd", { "/lib/systemd/systemd", "/usr/lib/systemd/systemd" },
	  { "/usr/lib/systemd/system/fusion-checkpoint.timer",
	    "/lib/systemd/system/fusion-checkpoint.timer" },
	  "heat is saved only at shutdown", OURS, false },
	{ "systemd", { "/lib/systemd/systemd", "/usr/lib/systemd/systemd" },
	  { "/usr/lib/systemd/system/fusion-pins.timer",
	    "/lib/systemd/system/fusion-pins.timer" },
	  "files are pinned only by fusionctl pin --refresh", OURS, false },
	{ "systemd", { "/lib/systemd/systemd", "/usr/lib/systemd/systemd" },
	  { "/usr/lib/systemd/system-shutdown/fusion.shutdown",
	    "/lib/systemd/system-shutdown/fusion.shutdown" },
	  "only the module itself writes a checkpoint at shutdown", OURS, false },
};

/* The first of these that exists, or NULL. */
static const char *find_any(const struct doctor *d, const char *const path[], size_t nr)
{
	for (size_t i = 0; i < nr && path[i]; i++)
		if (doctor_has(d, "%s", path[i]))
			return path[i];
	return NULL;
}

static void check_hook(struct doctor *d, const struct hook *h)
{
	enum health bad = !h->root ? HEALTH_WARNING : d->root_on_set ? HEALTH_ERROR : HEALTH_NOTE;
	const char *file = find_any(d, h->file, 4);
	char remedy[64];

	if (!find_any(d, h->of, 3))
		return;
	snprintf(remedy, sizeof(remedy), "reinstall %s", h->package);
	if (file)
		doctor_say(d, HEALTH_OK, h->subject, NULL, "has %s", strrchr(file, '/') + 1);
	else
		doctor_say(d, bad, h->subject, remedy, "has no %s: %s", h->file[0], h->what);
}

/* mkinitcpio takes only hooks that its configuration names. */
static void check_mkinitcpio(struct doctor *d)
{
	char path[PATH_TEXT], line[1024];
	bool named = false, any = false;
	FILE *f = fopen(doctor_path(d, path, "/etc/mkinitcpio.conf"), "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "HOOKS=", 6))
			continue;
		any = true;
		named = strstr(line, " fusion ") || strstr(line, "(fusion ") ||
			strstr(line, " fusion)");
	}
	if (f)
		fclose(f);
	if (any && !named)
		doctor_say(d, d->root_on_set ? HEALTH_WARNING : HEALTH_NOTE, "mkinitcpio",
			   d->root_on_set ? "if no other file does, put it before filesystems, "
			   "then mkinitcpio -P" : NULL, "HOOKS in %s does not seem to name fusion",
			   path);
}

void doctor_boot(struct doctor *d)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		check_hook(d, &hooks[i]);
	check_mkinitcpio(d);
	if (d->running && assembly_turned_off())
		doctor_say(d, HEALTH_WARNING, "boot", "boot without it, or fusionctl assemble "
			   "--scan", "nofusion is on the kernel's command line, so sets do not "
			   "open automatically");
}
