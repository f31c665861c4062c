// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb doctor: each installed kernel needs the module, and if the root file system lies on a set,
 * an initramfs with the module.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "doctor.h"
#include "fusionctl.h"
#include "health.h"
#include "program.h"

#define MODULE	"dm-fusion"

/* An installed kernel. */
struct kernel {
	const char *release;
	char subject[300];	/* "kernel RELEASE" */
	bool here;		/* it is the running kernel */
};

/* The severity of a fault with this kernel. */
static enum health how_bad(const struct doctor *d, const struct kernel *k)
{
	return k->here || d->root_on_set ? HEALTH_ERROR : HEALTH_WARNING;
}

/* -- module --------------------------------------------------------------------- */

/* What modinfo says about the kernel's module, or "". */
static void module_value(const struct doctor *d, const struct kernel *k, const char *field,
			 char *buf, size_t size)
{
	const char *const argv[] = {
		"modinfo", "-b", *d->dir ? d->dir : "/", "-k", k->release, "-F", field, MODULE, NULL
	};

	if (fus_program_say(argv, buf, size))
		*buf = 0;
}

static bool secure_boot(void)
{
	static const char path[] = "/sys/firmware/efi/efivars/"
				   "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
	unsigned char v[5];	/* four bytes of attributes, and the value */
	FILE *f = fopen(path, "re");
	bool on = f && fread(v, sizeof(v), 1, f) == 1 && v[4] == 1;

	if (f)
		fclose(f);
	return on;
}

/* Return: whether the kernel has a key of this name. Root sees all of them. */
static bool key_known(const char *signer)
{
	FILE *f = fopen("/proc/keys", "re");
	bool found = false;
	char line[1024];

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "asymmetri") && strstr(line, signer);
	if (f)
		fclose(f);
	return found;
}

static void check_signature(struct doctor *d, const struct kernel *k)
{
	char signer[256];

	if (!secure_boot()) {
		doctor_say(d, HEALTH_OK, k->subject, NULL, "has the module");
		return;
	}
	module_value(d, k, "signer", signer, sizeof(signer));
	if (!*signer)
		doctor_say(d, HEALTH_ERROR, k->subject, "have DKMS sign it: dkms "
			   "generate_mok, then reinstall dm-fusion-dkms", "the module is not "
			   "signed, and Secure Boot accepts only signed ones");
	else if (!key_known(signer))
		doctor_say(d, HEALTH_WARNING, k->subject, "mokutil --import "
			   "/var/lib/dkms/mok.pub, and confirm it at the next boot", "the module "
			   "is signed by '%s', whose key the firmware does not seem to have",
			   signer);
	else
		doctor_say(d, HEALTH_OK, k->subject, NULL, "has the module, signed by '%s'",
			   signer);
}

/* Return: whether it has the module. */
static bool check_module(struct doctor *d, const struct kernel *k)
{
	char path[PATH_TEXT], remedy[512], release[256];

	if (!fus_program_exists("modinfo")) {
		doctor_say(d, HEALTH_NOTE, k->subject, "install kmod", "is not examined: there is "
			   "no modinfo on this system");
		return false;
	}
	module_value(d, k, "filename", path, sizeof(path));
	if (!*path) {
		snprintf(remedy, sizeof(remedy), "install its headers, then dkms autoinstall -k %s",
			 k->release);
		doctor_say(d, how_bad(d, k), k->subject, remedy, "has no module " MODULE);
		return false;
	}
	/* the first word is the kernel that the module was built for */
	module_value(d, k, "vermagic", release, sizeof(release));
	release[strcspn(release, " ")] = 0;
	if (!*release) {
		doctor_say(d, how_bad(d, k), k->subject, "reinstall dm-fusion-dkms, or run depmod",
			   "its module cannot be read (%s)", path);
		return false;
	}
	if (strcmp(release, k->release)) {
		snprintf(remedy, sizeof(remedy), "dkms install --force " MODULE "/"
			 FUSIONCTL_VERSION " -k %s", k->release);
		doctor_say(d, how_bad(d, k), k->subject, remedy, "its module " MODULE
			   " was built for another kernel (%s)", path);
		return false;
	}
	check_signature(d, k);
	return true;
}

/* -- initramfs ------------------------------------------------------------------ */

/* The parts of ours in an initramfs. */
struct content {
	unsigned int lines;
	bool module, tool, rule;
};

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static void look_at_line(const char *line, void *ctx)
{
	struct content *c = ctx;

	c->lines++;
	/* compressed ones end in .ko.xz and the like */
	c->module |= strstr(line, "/dm-fusion.ko") || strstr(line, "/dm_fusion.ko");
	c->tool |= ends_in(line, "/fusionctl");
	c->rule |= ends_in(line, "/69-fusion.rules");
}

/* Programs that list the content of an initramfs, and that rebuild it. */
static const struct maker {
	const char *lists, *makes;
} makers[] = {
	{ "lsinitramfs", "update-initramfs -u -k" },
	{ "lsinitrd", "dracut --force --kver" },
	{ "lsinitcpio", "mkinitcpio -P #" },
};

static const struct maker *find_maker(void)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (fus_program_exists(makers[i].lists))
			return &makers[i];
	return NULL;
}

/* The file, by the names distributions give it. */
static bool find_initramfs(const struct doctor *d, const struct kernel *k, char path[PATH_TEXT])
{
	static const char *const name[] = {
		"/boot/initrd.img-%s", "/boot/initramfs-%s.img", "/boot/initrd-%s",
	};
	char base[64] = "", file[PATH_TEXT];
	FILE *f;

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		snprintf(file, sizeof(file), name[i], k->release);
		doctor_path(d, path, "%s", file);
		if (doctor_has(d, "%s", file))
			return true;
	}
	/* Arch names it by the package */
	f = fopen(doctor_path(d, path, "/lib/modules/%s/pkgbase", k->release), "re");
	if (!f)
		return false;
	if (fscanf(f, "%63[a-zA-Z0-9._-]", base) != 1)
		*base = 0;
	fclose(f);
	doctor_path(d, path, "/boot/initramfs-%s.img", base);
	return *base && doctor_has(d, "/boot/initramfs-%s.img", base);
}

/* The essential parts that are missing. */
static void lacking(const struct content *c, char *buf, size_t size)
{
	const char *what[] = {
		c->module ? NULL : "the module", c->tool ? NULL : "fusionctl",
		c->rule ? NULL : "the rule of udev",
	};
	size_t n = 0;

	*buf = 0;
	for (size_t i = 0; i < 3; i++)
		if (what[i] && n < size)
			n += snprintf(buf + n, size - n, "%s%s", n ? ", " : "", what[i]);
}

static void check_initramfs(struct doctor *d, const struct kernel *k)
{
	/* a system whose root is not on a set boots without the module */
	enum health bad = d->root_on_set ? HEALTH_ERROR : HEALTH_NOTE;
	const struct maker *maker = find_maker();
	char path[PATH_TEXT], remedy[512], missing[128];
	struct content c = { 0 };
	int status;

	if (!find_initramfs(d, k, path)) {
		doctor_say(d, d->root_on_set ? HEALTH_WARNING : HEALTH_NOTE, k->subject,
			   d->root_on_set ? "make one that contains the module" : NULL,
			   "has no initramfs in the usual places");
		return;
	}
	if (!maker) {
		doctor_say(d, HEALTH_NOTE, k->subject, NULL, "no program on this system can list "
			   "%s", path);
		return;
	}
	snprintf(remedy, sizeof(remedy), "%s %s", maker->makes, k->release);
	status = fus_program_run((const char *[]){ maker->lists, path, NULL }, look_at_line, &c);
	if (status || !c.lines) {
		doctor_say(d, d->root_on_set ? HEALTH_ERROR : HEALTH_WARNING, k->subject, remedy,
			   "%s cannot read %s", maker->lists, path);
		return;
	}
	lacking(&c, missing, sizeof(missing));
	if (*missing)
		doctor_say(d, bad, k->subject, d->root_on_set ? remedy : NULL,
			   "%s lacks %s%s", path, missing,
			   d->root_on_set ? "" : ", which only a root on a set needs");
	else
		doctor_say(d, HEALTH_OK, k->subject, NULL, "%s has everything that opening a set "
			   "needs", path);
}

/* -- all of them ---------------------------------------------------------------- */

static void check_kernel(struct doctor *d, const char *release)
{
	struct kernel k = { .release = release };
	struct utsname u;

	snprintf(k.subject, sizeof(k.subject), "kernel %s", release);
	k.here = d->running && !uname(&u) && !strcmp(u.release, release);
	/* without the module an initramfs cannot have it */
	if (check_module(d, &k) && !d->no_boot)
		check_initramfs(d, &k);
}

static int visible(const struct dirent *e)
{
	return *e->d_name != '.';
}

static int by_version(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

void doctor_kernels(struct doctor *d)
{
	char path[PATH_TEXT], subject[300];
	struct dirent **entry;
	struct utsname u;
	int n, found = 0;

	n = scandir(doctor_path(d, path, "/lib/modules"), &entry, visible, by_version);
	for (int i = 0; i < n; i++) {
		/* the remains of a removed kernel have none of its own modules */
		if (doctor_has(d, "/lib/modules/%s/kernel", entry[i]->d_name) ||
		    doctor_has(d, "/lib/modules/%s/modules.builtin", entry[i]->d_name)) {
			check_kernel(d, entry[i]->d_name);
			found++;
		}
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	if (!found)
		doctor_say(d, HEALTH_WARNING, path, "check that this is the right system",
			   "no kernel is installed");
	if (!d->running || uname(&u) || doctor_has(d, "/lib/modules/%s", u.release))
		return;
	snprintf(subject, sizeof(subject), "kernel %s", u.release);
	doctor_say(d, HEALTH_ERROR, subject, "boot an installed one", "is running, "
		   "but is not installed, so it has no module " MODULE);
}
