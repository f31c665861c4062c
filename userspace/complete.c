// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb complete: what the last of some words may become, a line each, after a tab what it means.
 * Shells ask for it (userspace/completion); files they know themselves. Nobody has to be root:
 * open sets are those of sysfs, closed ones those of the database of udev.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "setting.h"

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

/* Who wants a uuid has begun one: names are shorter, and as good. */
static void offer_open_sets(const char *begun)
{
	DIR *dir = opendir("/sys/dev/block");
	char uuid[160], name[160];
	struct dirent *e;
	dev_t devno;

	while (dir && (e = readdir(dir))) {
		if (!parse_devno(e->d_name, &devno) ||
		    !sysfs_read(devno, "dm/uuid", uuid, sizeof(uuid)) ||
		    strncmp(uuid, DM_PREFIX, strlen(DM_PREFIX)) ||
		    !sysfs_read(devno, "dm/name", name, sizeof(name)))
			continue;
		offer(begun, name, "", "an open set");
		if (*begun)
			offer(begun, uuid + strlen(DM_PREFIX), "", "uuid of an open set");
	}
	if (dir)
		closedir(dir);
}

/* -- closed sets ---------------------------------------------------------------- */

#define UDEV_DATA	"/run/udev/data"

/* A member, as our rule has told udev. */
struct known {
	dev_t devno;
	char uuid[UUID_TEXT];	/* of its set */
	char label[128];	/* with \xNN for what is in no name */
	char role[8];
};

/* Copy the value if the line is of that key. */
static void take(const char *line, const char *key, char *buf, size_t size)
{
	size_t n = strlen(key);

	if (!strncmp(line, "E:", 2) && !strncmp(line + 2, key, n) && line[2 + n] == '=')
		snprintf(buf, size, "%.*s", (int)strcspn(line + n + 3, "\n"), line + n + 3);
}

/* Of a file "b8:1". */
static bool read_known(const char *file, struct known *k)
{
	char path[320], *line = NULL, type[32] = "";
	size_t room = 0;
	FILE *f;

	memset(k, 0, sizeof(*k));
	if (*file != 'b' || !parse_devno(file + 1, &k->devno))
		return false;
	snprintf(path, sizeof(path), UDEV_DATA "/%s", file);
	f = fopen(path, "re");
	while (f && getline(&line, &room, f) > 0) {
		take(line, "ID_FS_TYPE", type, sizeof(type));
		take(line, "ID_FS_UUID", k->uuid, sizeof(k->uuid));
		take(line, "ID_FS_LABEL_ENC", k->label, sizeof(k->label));
		take(line, "ID_FUSION_ROLE", k->role, sizeof(k->role));
	}
	free(line);
	if (f)
		fclose(f);
	return !strcmp(type, "fusion_member") && *k->uuid;
}

static bool any(dev_t devno, void *ctx)
{
	(void)devno;
	(void)ctx;
	return true;
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
	bool named = valid_name(k->label);

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

	device_node(k->devno, node, sizeof(node));
	snprintf(means, sizeof(means), "%s member of %s", k->role,
		 valid_name(k->label) ? k->label : k->uuid);
	offer(begun, node, "", means);
}

/* Labels and uuids, devices, or both; nobody reads from a disk to complete a word. */
static void offer_closed_sets(bool names, bool devices, const char *begun)
{
	struct dirent **file;
	struct known k;
	int n;

	/* a path may be that of an image; but nobody begins one with /dev/ */
	devices = devices && (*begun ? !strncmp(begun, "/dev/", 5) : !names);
	n = scandir(UDEV_DATA, &file, NULL, versionsort);
	for (int i = 0; i < n; i++) {
		/* what something stands on is of an open set, or in use */
		if (read_known(file[i]->d_name, &k) &&
		    !sysfs_any(k.devno, "holders", any, NULL)) {
			if (names)
				offer_set(&k, begun);
			if (devices)
				offer_member(&k, begun);
		}
		free(file[i]);
	}
	if (n >= 0)
		free(file);
}

/* -- words ---------------------------------------------------------------------- */

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

static void offer_settings(const struct verb *v, const char *begun)
{
	const char *key;

	for (unsigned int i = 0; (key = setting_key(i)); i++)
		if (v->run != cmd_simulate || simulates_setting(key))
			offer(begun, key, "=", fusion_settings[i].help);
}

static void offer_words(const struct verb *v, int n, const char *begun)
{
	if ((v->set == OPEN_SET || v->set == ANY_SET) && takes(v, n, "NAME"))
		offer_open_sets(begun);
	/* behind its members a set is given a new name */
	if (v->set == CLOSED_SET || v->set == ANY_SET)
		offer_closed_sets(!n && takes(v, n, "NAME"), takes(v, n, "DEV") ||
				  takes(v, n, "FAST") || takes(v, n, "SLOW") ||
				  takes(v, n, "MEMBER"), begun);
	if (takes(v, n, "KEY=VALUE"))
		offer_settings(v, begun);
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
static bool offer_values(const struct verb *v, int option, const char *begun)
{
	static const char *const when[] = { "auto", "always", "never" };
	const char *name;

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
	if (option >= 0 && offer_values(v, option, begun))
		return 0;
	if (*begun == '-')
		offer_options(v, begun);
	else
		offer_words(v, n, begun);
	return 0;
}
