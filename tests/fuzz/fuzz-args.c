// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line: words, separated by newlines. Everything up to the kernel's interface is the
 * real program; behind it nothing happens.
 */
#include <errno.h>
#include <getopt.h>

#include "fuzz.h"
#include "dm.h"
#include "fusionctl.h"
#include "settings-closed.h"
#include "json.h"
#include "kmsg.h"
#include "named.h"
#include "open-set.h"
#include "set-json.h"
#include "setting.h"
#include "size.h"
#include "verb.h"
#include "where.h"

int fusionctl_main(int argc, char **argv);

#define MAX_WORDS	24

/* The arguments of a verb: no options among them, and values where they are needed. */
static __attribute__((used)) int verb(const struct args *a)
{
	int i;

	PROMISED(a->n >= 0 && a->n <= MAX_WORDS);
	for (i = 0; i < a->n; i++)
		PROMISED(a->word[i]);
	return 0;
}

/* Each verb of the table, except for those that are linked: they only send messages. */
#define VERB(verb, ...)	cmd_##verb
extern __attribute__((weak, alias("verb"))) verb_fn
#include "verb-table.h"
cmd_nothing;

void fus_dm_setup(void)
{
}

int fus_dm_target_version(bool load, unsigned int version[3], bool *found)
{
	*found = false;
	return 0;
}

/* A set is open as data, and has another label. */
int fus_open_name(const char *word, bool salvaged, char *name, size_t size, bool *found)
{
	*found = !strcmp(word, "kept");
	if (*found)
		snprintf(name, size, "data");
	return 0;
}

bool simulates_setting(const char *key)
{
	return !strcmp(key, "duty") || !strcmp(key, "reserve");
}

int fus_set_get(const char *name, struct set *set)
{
	memset(set, 0, sizeof(*set));
	set->st.extent_sectors = 2048;
	set->st.extents = 1000;
	set->st.total[FAST] = 600;
	return fus_valid_name(name) ? 0 : FC_FAILED;
}

const char *where_sort_key(size_t i, const char **means)
{
	*means = "greatest first";
	return i ? NULL : "size";
}

/* Sets with an even name are closed. */
int fus_set_get_if_open(const char *name, struct set *set, bool *found)
{
	*found = strlen(name) % 2;
	return *found ? fus_set_get(name, set) : 0;
}

const char *fus_dm_set_uuid(const struct mapping *m)
{
	return m->uuid;
}

int fus_settings_closed(const char *name, bool writable, struct settings *s, struct closed **closed)
{
	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->scale.nr_fast_slots = 600;
	s->scale.extent_sectors = 2048;
	*closed = (struct closed *)s;
	return 0;
}

int fus_settings_write(struct closed *closed, struct settings *s, const struct setting *to,
		       unsigned int nr)
{
	for (; nr--; to++)
		PROMISED(to->which >= 0 && to->which < FUSION_SETTINGS &&
			 fusion_setting_valid(to->which, to->value, s->scale.nr_fast_slots));
	return 0;
}

void fus_backup_changed(dev_t fast)
{
	(void)fast;
}

void fus_closed_end(struct closed *closed)
{
}

void fus_json_add_open(struct json_object *o, const struct mapping *m)
{
	fus_json_add_str(o, "name", m->name);
}

void fus_set_put(struct set *set)
{
}

int fus_dm_list(enum mapping_info what, struct mapping **list)
{
	static struct mapping open = { .name = "data", .exists = true, .live = true };

	*list = &open;
	return 0;
}

void fus_dm_free_list(struct mapping *list)
{
}

int fus_kmsg_open(void)
{
	return -1;
}

void fus_kmsg_reason(int fd, char *buf, size_t size)
{
	*buf = 0;
}

/* A message is one line of printable text that the kernel can split at its spaces. */
int fus_dm_message(const char *name, const char *message, char **answer)
{
	bool settings = !strcmp(message, "settings");

	PROMISED(strlen(message) < 256);
	for (; *message; message++)
		PROMISED(*message >= ' ' && *message <= '~');
	*answer = strdup(!settings ? "3 1 0 0" :
			 "migration on default -\nreserve 0 default -\nhalf_life 0 default -\n"
			 "duty 40 set 40\nidle 1000 default -\ncommit_interval 1000 default -\n"
			 "replica_interval 60 table -\ndiscard_passdown off now -\n"
			 "standby 0 default -\nwrite_budget 20 now 30\n"
			 "shadow on default -\nshadow_age 0 default -\n");
	return *answer ? 0 : -ENOMEM;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *argv[MAX_WORDS + 2] = { (char[]){ "fusionctl" } };
	char *text = malloc(size + 1);
	int argc = 1, rc;
	char *p;

	PROMISED(text);
	memcpy(text, data, size);
	text[size] = 0;
	for (p = text; argc <= MAX_WORDS && p; argc++)
		argv[argc] = strsep(&p, "\n");
	argv[argc] = NULL;
	optind = 0;	/* getopt starts from the beginning */
	rc = fusionctl_main(argc, argv);
	PROMISED(rc >= FC_OK && rc <= FC_DAMAGED);
	free(text);
	return 0;
}
