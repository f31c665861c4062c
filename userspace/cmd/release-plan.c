// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb release, --at-boot: a set that is in use, such as that of the root, is released before
 * anything is mounted. A file says which sets; the initramfs gets a copy of it when it is built. A
 * set that is released has its uuid no more, so that what the file says is done once.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "release.h"
#include "ask.h"
#include "boot-names.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "named.h"
#include "record.h"
#include "scan.h"
#include "verb.h"

#define PLAN_DIR	"/etc/fusion"
#define PLAN		PLAN_DIR "/release"	/* lines with uuids; hooks/fusion copies it */
#define TRIED		"/run/fusion.release"	/* not again in this boot */
#define MOST		16U

/* -- the file ---------------------------------------------------------------------------------- */

struct plan {
	char set[MOST][UUID_TEXT];
	unsigned int nr;
};

static void read_plan(struct plan *p)
{
	FILE *f = fopen(PLAN, "re");
	char line[128];
	uuid_t uuid;

	p->nr = 0;
	while (f && p->nr < MOST && fgets(line, sizeof(line), f)) {
		line[strcspn(line, " \t\n")] = 0;
		if (!uuid_parse(line, uuid))
			fus_uuid_text(p->set[p->nr++], uuid);
	}
	if (f)
		fclose(f);
}

static int write_plan(const struct plan *p)
{
	static const char new[] = PLAN ".new";
	FILE *f;
	bool ok;

	if (!p->nr)
		return !unlink(PLAN) || errno == ENOENT ? 0 :
		       fus_fail(FC_FAILED, PLAN, "%s; check the file system", strerror(errno));
	if (mkdir(PLAN_DIR, 0755) && errno != EEXIST)
		return fus_fail(FC_FAILED, PLAN_DIR, "%s; check the file system", strerror(errno));
	f = fopen(new, "we");
	ok = f;
	for (unsigned int i = 0; i < p->nr && ok; i++)
		ok = fprintf(f, "%s\n", p->set[i]) > 0;
	ok = ok && !fflush(f) && !fsync(fileno(f));
	if (f && fclose(f))
		ok = false;
	if (ok && !rename(new, PLAN))
		return 0;
	return fus_fail(FC_FAILED, new, "cannot write: %s; check the file system",
			strerror(errno));
}

static unsigned int find(const struct plan *p, const char *set)
{
	unsigned int i = 0;

	while (i < p->nr && strcmp(p->set[i], set))
		i++;
	return i;
}

/* -- planning ---------------------------------------------------------------------------------- */

/* The set must be open under a name. */
static int get_open(const char *word, char *name, size_t size, struct mapping *map)
{
	bool found;
	int rc;

	rc = fus_open_set_name(word, name, size, &found);
	if (!rc && !found)
		rc = fus_fail(FC_FAILED, word, "no such set is open; release one that is closed "
			      "without --at-boot");
	return rc ? rc : fus_dm_get(name, NULL, MAPPING_INFO, map);
}

static int ask(const char *name)
{
	char nobody[256], question[320];

	snprintf(nobody, sizeof(nobody), "its slow member would become a plain disk, and the fast "
		 "one be wiped");
	snprintf(question, sizeof(question), "at the next boot, the slow member of %s will become "
		 "a plain disk with its content, and the fast one will be wiped", name);
	return confirm(name, nobody, question);
}

int release_plan(const struct args *a)
{
	char name[128], set[UUID_TEXT];
	struct mapping map;
	struct plan p;
	int rc;

	if (a->n != 1 || a->opt[OPT_RESUME] || a->opt[OPT_ABORT] || a->opt[OPT_SIZE] ||
	    a->opt[OPT_LEAVE_UNMAPPED] || a->opt[OPT_JSON])
		return fus_fail(FC_USAGE, "--at-boot", "takes the name of a set that is open, and "
				"of the options --yes and --dry-run; see fusionctl help release");
	rc = get_open(a->word[0], name, sizeof(name), &map);
	if (!rc)
		rc = check_boot_script("release it");
	if (!rc)
		rc = check_boot_names(map.devno);
	if (rc)
		return rc;
	snprintf(set, sizeof(set), "%s", fus_dm_set_uuid(&map));
	read_plan(&p);
	if (find(&p, set) == p.nr && p.nr == MOST)
		return fus_fail(FC_REFUSED, PLAN, "names %u sets already; remove those that are "
				"released", MOST);
	if (a->opt[OPT_DRY_RUN]) {
		printf("%s would be released at the next boot\n", name);
		return 0;
	}
	rc = a->opt[OPT_YES] ? 0 : ask(name);
	if (rc)
		return rc;
	if (find(&p, set) == p.nr)
		snprintf(p.set[p.nr++], UUID_TEXT, "%s", set);
	rc = write_plan(&p);
	if (!rc)
		printf("%s is released at the next boot, before it is mounted, which lasts until "
		       "its extents have moved: run update-initramfs -u -k all, and reboot\n"
		       "to cancel that: fusionctl release %s --abort\n", name, name);
	return rc;
}

bool release_is_planned(const char *word, char set[UUID_TEXT])
{
	bool is = false, begun = false, open;
	struct member *list;
	struct mapping map;
	struct plan p;
	char name[128];

	read_plan(&p);
	if (!p.nr)
		return false;
	if (!fus_open_set_name(word, name, sizeof(name), &open) && open &&
	    !fus_dm_get(name, NULL, MAPPING_INFO, &map) && map.exists) {
		snprintf(set, UUID_TEXT, "%s", fus_dm_set_uuid(&map));
		return find(&p, set) < p.nr;
	}
	if (fus_scan_members(&list))
		return false;
	for (struct member *m = list; m; m = m->next) {
		if (!fus_member_called(m, word))
			continue;
		begun |= m->state == MEMBER_TRANSIT;
		if (!is)
			is = find(&p, fus_uuid_text(set, m->sb->set_uuid)) < p.nr;
	}
	fus_free_members(list);
	return is && !begun;
}

int release_cancel(const struct args *a, const char *set)
{
	struct plan p;
	unsigned int i;
	int rc = 0;

	read_plan(&p);
	i = find(&p, set);
	if (i < p.nr)
		memcpy(p.set[i], p.set[--p.nr], UUID_TEXT);
	if (!a->opt[OPT_DRY_RUN])
		rc = write_plan(&p);
	if (!rc && !a->opt[OPT_JSON])
		printf("%s %s not released at the next boot: run update-initramfs -u -k all\n",
		       a->word[0], a->opt[OPT_DRY_RUN] ? "would be" : "is");
	return rc;
}

/* -- at boot ----------------------------------------------------------------------------------- */

/* What was open stays open if it cannot be released, since the boot needs it. */
static int release_one(char *set)
{
	char name[128], *word[] = { set, NULL }, *open[] = { name, NULL };
	struct args a = { .n = 1, .word = word }, of_open = { .n = 1, .word = open };
	bool was_open, is_open;
	int rc;

	rc = fus_open_name(set, false, name, sizeof(name), &was_open);
	if (rc)
		return rc;
	a.opt[OPT_YES] = "";
	of_open.opt[OPT_NO_DUMP] = "";
	if (was_open)
		rc = cmd_close(&of_open);
	if (!rc)
		rc = cmd_release(&a);
	if (rc && !fus_open_name(set, false, name, sizeof(name), &is_open) && !is_open)
		cmd_open(&a);
	return rc;
}

/* Return: whether any of its members is here. */
static bool is_here(const char *set)
{
	struct member *list, *m;
	bool is;

	if (fus_scan_members(&list))
		return false;
	for (m = list; m && !(m->state == MEMBER_OK && fus_member_called(m, set)); m = m->next)
		;
	is = m;
	fus_free_members(list);
	return is;
}

static void note_tried(void)
{
	FILE *f = fopen(TRIED, "we");

	if (f)
		fclose(f);
}

int release_planned(void)
{
	struct plan p;
	int rc = 0, one;

	read_plan(&p);
	if (!p.nr || !access(TRIED, F_OK))
		return 0;
	for (unsigned int i = 0; i < p.nr; i++) {
		/* the udev rule has opened it by now, or will when the other member is here */
		if (!is_here(p.set[i]))
			continue;
		note_tried();
		one = check_not_hibernated();
		if (!one)
			one = release_one(p.set[i]);
		rc = rc ? rc : one;
	}
	return rc;
}
