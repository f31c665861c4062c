// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb complete: print the completions of the last word, one on each line, with a description after
 * a tab. The completions of the shells use it (userspace/system/completion); they complete file
 * names themselves. Root is not needed: open sets are those of sysfs, closed ones those of the
 * database of udev.
 */
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device.h"
#include "dm.h"
#include "profile.h"
#include "released.h"
#include "setting.h"
#include "size.h"
#include "super.h"
#include "sysfs.h"
#include "text.h"
#include "verb.h"
#include "where.h"

static void offer(const char *begun, const char *word, const char *end, const char *means)
{
	char safe[2][512];

	if (strncmp(word, begun, strlen(begun)))
		return;
	printf("%s%s", fus_safe_text(safe[0], sizeof(safe[0]), word, SIZE_MAX, true), end);
	if (means)
		printf("\t%s", fus_safe_text(safe[1], sizeof(safe[1]), means, SIZE_MAX, true));
	putchar('\n');
}

/* Uuids are offered only once the word has begun as one: names are shorter. */
static bool offer_open_set(struct udev_device *dev, void *ctx)
{
	const char *name = udev_device_get_sysattr_value(dev, "dm/name"), *begun = ctx;
	const char *uuid = udev_device_get_sysattr_value(dev, "dm/uuid");

	if (fus_is_released(udev_device_get_devnum(dev)))
		return false;
	if (name)
		offer(begun, name, "", "an open set");
	if (uuid && *begun)
		offer(begun, uuid + strlen(DM_PREFIX), "", "uuid of an open set");
	return false;
}

static void offer_open_sets(const char *begun)
{
	fus_block_any(&(struct block_match){ .attr = "dm/uuid", .value = DM_PREFIX "*" },
		      offer_open_set, (void *)begun);
}

static bool offer_rescued_one(struct udev_device *dev, void *ctx)
{
	const char *name = udev_device_get_sysattr_value(dev, "dm/name");

	if (name)
		offer(ctx, name, "", "a salvaged set");
	return false;
}

static void offer_rescued(const char *begun)
{
	fus_block_any(&(struct block_match){ .attr = "dm/uuid", .value = DM_SALVAGE_PREFIX "*" },
		      offer_rescued_one, (void *)begun);
}

/* -- closed sets ---------------------------------------------------------------- */

/* A member, as our rule has told udev. */
struct known {
	dev_t devno;
	char uuid[UUID_TEXT];	/* of its set */
	char label[128];	/* with \xNN for characters that no name has */
	char role[8];
};

static void copy(struct udev_device *dev, const char *key, char *buf, size_t size)
{
	const char *value = udev_device_get_property_value(dev, key);

	snprintf(buf, size, "%s", value ? value : "");
}

static bool read_known(struct udev_device *dev, struct known *k)
{
	k->devno = udev_device_get_devnum(dev);
	copy(dev, "ID_FS_UUID", k->uuid, sizeof(k->uuid));
	copy(dev, "ID_FS_LABEL_ENC", k->label, sizeof(k->label));
	copy(dev, "ID_FUSION_ROLE", k->role, sizeof(k->role));
	return *k->uuid;
}

static bool is_set(dev_t devno, void *ctx)
{
	(void)ctx;
	return fus_sysfs_is_set(devno);
}

/* Was the other member of its set offered already? */
static bool seen(const char *uuid)
{
	static char (*all)[UUID_TEXT], (*more)[UUID_TEXT];
	static unsigned int nr;

	for (unsigned int i = 0; i < nr; i++)
		if (!strcmp(all[i], uuid))
			return true;
	more = realloc(all, (nr + 1) * sizeof(*all));
	if (!more)
		return true;
	all = more;
	snprintf(all[nr++], sizeof(*all), "%s", uuid);
	return false;
}

static void offer_set(const struct known *k, const char *begun)
{
	bool named = fus_valid_name(k->label);

	if (seen(k->uuid))
		return;
	if (named)
		offer(begun, k->label, "", "a closed set");
	if (*begun || !named)
		offer(begun, k->uuid, "", "uuid of a closed set");
}

static void offer_member(const struct known *k, const char *begun)
{
	char node[160], means[256];

	fus_device_node(k->devno, node, sizeof(node));
	snprintf(means, sizeof(means), "%s member of %s", k->role,
		 fus_valid_name(k->label) ? k->label : k->uuid);
	offer(begun, node, "", means);
}

struct wanted {
	const char *begun;
	bool open, names, devices;
};

static bool offer_known(struct udev_device *dev, void *ctx)
{
	const struct wanted *w = ctx;
	struct known k;

	/* a device with another device above is in use, perhaps by an open set */
	if (!read_known(dev, &k) || fus_sysfs_any(k.devno, "holders", w->open ? is_set : NULL,
						  NULL) != w->open)
		return false;
	if (w->names)
		offer_set(&k, w->begun);
	if (w->devices)
		offer_member(&k, w->begun);
	return false;
}

static void offer_members(struct wanted w)
{
	static const struct block_match members = {
		.property = "ID_FS_TYPE",
		.value = "fusion_member",
	};

	if (w.names || w.devices)
		fus_block_any(&members, offer_known, &w);
}

/* Labels and uuids, devices, or both. Completion never reads from a disk. */
static void offer_closed_sets(bool names, bool devices, const char *begun)
{
	offer_members((struct wanted){
		.begun = begun,
		.names = names,
		/* a path may be that of an image, but not one that begins with /dev/ */
		.devices = devices && (*begun ? !strncmp(begun, "/dev/", 5) : !names),
	});
}

/* -- words ---------------------------------------------------------------------- */

/* The name of word @n in any alternative of the synopsis: "NAME DEV | NAME --fast DEV". */
static bool takes(const struct verb *v, int n, const char *what)
{
	char text[256], *save, *word, *name;
	bool last = false;
	int i = 0;

	snprintf(text, sizeof(text), "%s", v->words);
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (!strcmp(word, "|")) {
			i = 0;
			continue;
		}
		name = word + (*word == '[');
		/* an option, and its value if it has one */
		if (!strncmp(name, "--", 2)) {
			word = strtok_r(NULL, " ", &save);
			if (!word)
				break;
			if (!strcmp(word, "|"))
				i = 0;
			continue;
		}
		last = strstr(word, "...");
		if ((i == n || (last && i < n)) && !strncmp(name, what, strlen(what)))
			return true;
		i++;
	}
	return false;
}

static void offer_settings(const struct verb *v, const char *begun)
{
	const char *key;

	for (unsigned int i = 0; (key = fus_setting_key(i)); i++)
		if (v->settings != SIMULATED_SETTINGS || simulates_setting(key))
			offer(begun, key, "=", fusion_settings[i].help);
}

static void offer_words(const struct verb *v, int n, bool of_set, const char *begun)
{
	bool name = takes(v, n, "NAME"), device = takes(v, n, "DEV") || takes(v, n, "FAST") ||
		    takes(v, n, "SLOW") || takes(v, n, "MEMBER");
	/* one of its names is enough to offer; a device is asked for by its path */
	bool path = name && !strncmp(begun, "/dev/", 5);
	/* a simulation may be of a set, open or closed */
	bool any = v->set == ANY_SET || v->set == EITHER_SET ||
		   (name && v->settings == SIMULATED_SETTINGS);

	if (name && (v->set == OPEN_SET || of_set || any)) {
		offer_open_sets(begun);
		offer_members((struct wanted){ .begun = begun, .open = true, .devices = path });
	}
	/* the member that is to be replaced */
	if (takes(v, n, "OLD"))
		offer_members((struct wanted){ .begun = begun, .open = true, .devices = true });
	if (v->salvaged)
		offer_rescued(begun);
	if (v->set == CLOSED_SET || any)
		offer_closed_sets(name, device || path, begun);
	if (takes(v, n, "KEY=VALUE"))
		offer_settings(v, begun);
	for (int i = 0; takes(v, n, "honest") && i < NR_BENCH_PROFILES; i++)
		offer(begun, bench_profile_name[i], "", bench_profile_means[i]);
}

static void offer_options(const struct verb *v, const char *begun)
{
	char word[64];

	for (int i = 0; i < OPT_NR; i++) {
		if (!takes_option(v, i))
			continue;
		snprintf(word, sizeof(word), "--%s", options[i].name);
		offer(begun, word, "", options[i].help);
	}
}

/* Offer values that are not files; false if the option has no such values. */
static bool offer_values(const struct verb *v, int option, const char *begun)
{
	static const char *const when[] = { "auto", "always", "never" };
	const char *name, *means;

	for (size_t i = 0; option == OPT_SORT && (name = where_sort_key(i, &means)); i++)
		offer(begun, name, "", means);
	for (unsigned int i = 0; option == OPT_PROFILE && (name = profile_name(i)); i++)
		offer(begun, name, "", "a profile");
	for (unsigned int i = 0; option == OPT_COLOR && i < 3; i++)
		offer(begun, when[i], "", NULL);
	if (option == OPT_SET)
		offer_settings(v, begun);
	return options[option].arg && *options[option].arg != '[';
}

static int option_of(const struct verb *v, const char *word)
{
	if (strncmp(word, "--", 2))
		return -1;
	for (int i = 0; i < OPT_NR; i++)
		if (takes_option(v, i) && !strcmp(word + 2, options[i].name))
			return i;
	return -1;
}

int cmd_complete(const struct args *a)
{
	const char *begun = a->n ? a->word[a->n - 1] : "";
	const struct verb *v = NULL;
	int n = 0, option = -1;
	/* options that turn a verb for files into one for a set */
	bool of_set = false;

	for (size_t i = 0; i < nr_verbs; i++) {
		if (a->n < 2)
			offer(begun, verbs[i].name, "", verbs[i].summary);
		else if (!strcmp(verbs[i].name, a->word[0]))
			v = &verbs[i];
	}
	if (a->n < 2)
		offer(begun, "help", "", "show the help of a verb");
	for (size_t i = 0; a->n == 2 && !strcmp(a->word[0], "help") && i < nr_verbs; i++)
		offer(begun, verbs[i].name, "", verbs[i].summary);
	if (!v)
		return 0;
	/* words before that are not options, nor their values */
	for (int i = 1; i < a->n - 1; i++) {
		bool value = option >= 0 && options[option].arg && *options[option].arg != '[';

		option = value ? -1 : option_of(v, a->word[i]);
		of_set |= option == OPT_EXTENTS || option == OPT_SECTORS ||
			  option == OPT_PIN_EXTENTS || option == OPT_LIST || option == OPT_REFRESH;
		n += !value && strncmp(a->word[i], "--", 2);
	}
	if (option >= 0 && offer_values(v, option, begun))
		return 0;
	if (*begun == '-')
		offer_options(v, begun);
	else
		offer_words(v, n, of_set, begun);
	return 0;
}
