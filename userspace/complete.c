// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb complete: what the last of some words may become, a line each, after a tab what it means.
 * Shells ask for it (userspace/completion); files they know themselves. Nobody has to be root:
 * names are those of sysfs, uuids those of the links that udev makes.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "fusionctl.h"

static void offer(const char *begun, const char *word, const char *end, const char *means)
{
	char safe[2][512];

	if (strncmp(word, begun, strlen(begun)))
		return;
	printf("%s%s", safe_text(safe[0], sizeof(safe[0]), word, SIZE_MAX, true), end);
	if (means)
		printf("\t%s", safe_text(safe[1], sizeof(safe[1]), means, SIZE_MAX, true));
	putchar('\n');
}

static void offer_open_sets(const char *begun)
{
	DIR *dir = opendir("/sys/dev/block");
	char uuid[160], name[160];
	struct dirent *e;
	dev_t devno;

	while (dir && (e = readdir(dir)))
		if (parse_devno(e->d_name, &devno) &&
		    sysfs_read(devno, "dm/uuid", uuid, sizeof(uuid)) &&
		    !strncmp(uuid, DM_PREFIX, strlen(DM_PREFIX)) &&
		    sysfs_read(devno, "dm/name", name, sizeof(name)))
			offer(begun, name, "", "an open set");
	if (dir)
		closedir(dir);
}

/* Links are called UUID-fast and UUID-slow. */
static void offer_uuids(const char *begun)
{
	DIR *dir = opendir("/dev/disk/by-fusion");
	struct dirent *e;
	char *dash;

	while (dir && (e = readdir(dir))) {
		dash = strrchr(e->d_name, '-');
		if (!dash || strcmp(dash + 1, role_name[FAST]))
			continue;
		*dash = 0;
		offer(begun, e->d_name, "", "uuid of a set");
	}
	if (dir)
		closedir(dir);
}

/* What the synopsis calls word @n, in any of its alternatives: "NAME DEV | NAME --fast DEV". */
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
		/* an option, and its value */
		if (!strncmp(name, "--", 2)) {
			word = strtok_r(NULL, " ", &save);
			if (!word)
				break;
			continue;
		}
		last = strstr(word, "...");
		if ((i == n || (last && i < n)) && !strncmp(name, what, strlen(what)))
			return true;
		i++;
	}
	return false;
}

static void offer_words(const struct verb *v, int n, const char *begun)
{
	const char *key;

	if (takes(v, n, "NAME") && v->run != cmd_create && v->run != cmd_format)
		offer_open_sets(begun);
	if (takes(v, n, "NAME") && (v->run == cmd_open || v->run == cmd_check ||
				    v->run == cmd_dump || v->run == cmd_repair ||
				    v->run == cmd_wipe))
		offer_uuids(begun);
	for (unsigned int i = 0; takes(v, n, "KEY=VALUE") && (key = setting_key(i)); i++)
		offer(begun, key, "=", setting_unit(key));
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

/* Values that are not files; false if the option is one of others. */
static bool offer_values(int option, const char *begun)
{
	static const char *const when[] = { "auto", "always", "never" };
	const char *name;

	for (unsigned int i = 0; option == OPT_PROFILE && (name = profile_name(i)); i++)
		offer(begun, name, "", "a profile");
	for (unsigned int i = 0; option == OPT_COLOR && i < 3; i++)
		offer(begun, when[i], "", NULL);
	for (unsigned int i = 0; option == OPT_SET && (name = setting_key(i)); i++)
		offer(begun, name, "=", setting_unit(name));
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

	for (size_t i = 0; i < nr_verbs; i++) {
		if (a->n < 2)
			offer(begun, verbs[i].name, "", verbs[i].summary);
		else if (!strcmp(verbs[i].name, a->word[0]))
			v = &verbs[i];
	}
	if (a->n < 2)
		offer(begun, "help", "", "tell more of a verb");
	for (size_t i = 0; a->n == 2 && !strcmp(a->word[0], "help") && i < nr_verbs; i++)
		offer(begun, verbs[i].name, "", verbs[i].summary);
	if (!v)
		return 0;
	/* words before that are not options, nor their values */
	for (int i = 1; i < a->n - 1; i++) {
		bool value = option >= 0 && options[option].arg && *options[option].arg != '[';

		option = value ? -1 : option_of(v, a->word[i]);
		n += !value && strncmp(a->word[i], "--", 2);
	}
	if (option >= 0 && offer_values(option, begun))
		return 0;
	if (*begun == '-')
		offer_options(v, begun);
	else
		offer_words(v, n, begun);
	return 0;
}
