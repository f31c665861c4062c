// SPDX-License-Identifier: GPL-2.0-only
/* Verb report: ask for all that the other verbs tell of a set, and make one page of it. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "page.h"
#include "device.h"
#include "doctor.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "map.h"
#include "members.h"
#include "new-output.h"
#include "open-set.h"
#include "output.h"
#include "progress.h"
#include "setting.h"
#include "settings-json.h"
#include "size.h"
#include "status.h"
#include "top.h"
#include "version.h"
#include "verb.h"

#define SECONDS		5
#define MAX_SECONDS	3600
#define MOST_LOOKS	60
#define MAP_CELLS	480

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "report", "not enough memory; close programs and try again");
}

/* -- what changes: looks a second apart, or more if it takes long ------------------- */

static int watch(struct top_look *look, const char *name, uint64_t seconds, char uuid[UUID_TEXT])
{
	static const struct progress_unit unit = { "looks", 1 };
	uint64_t looks = seconds < MOST_LOOKS ? seconds : MOST_LOOKS;
	const double begin = top_now();
	struct top_sample first;
	int rc = top_look(look, name, uuid);

	first = look->sample;
	fus_progress_begin("watch the set", &unit, looks);
	for (uint64_t i = 1; i <= looks && !rc; i++) {
		double pause = begin + (double)seconds * i / looks - top_now();
		struct timespec ts = { .tv_sec = pause };

		ts.tv_nsec = (pause - ts.tv_sec) * 1e9;
		if (pause > 0)
			nanosleep(&ts, NULL);
		rc = top_look(look, name, uuid);
		fus_progress_at(i, NULL);
	}
	fus_progress_end();
	/* the rates of all of that time */
	if (!rc)
		top_get_rates(&first, &look->sample, &look->rates);
	return rc;
}

/* -- what is so now ------------------------------------------------------------------ */

static void say_drive(struct doctor *d, const struct owned *m, const struct drive *drive)
{
	struct drive_finding f[NR_DRIVE_FAULTS];
	unsigned int nr = fus_drive_findings(drive, f);
	char remedy[512];

	for (unsigned int i = 0; i < nr; i++)
		doctor_say(d, f[i].level, drive->node,
			   members_remedy(m, drive, &f[i], remedy, sizeof(remedy)), "%s",
			   f[i].text);
	if (!nr && drive->smart.known)
		doctor_say(d, HEALTH_OK, drive->node, NULL, "has no fault that it knows of");
}

static int get_members(struct page_parts *p, struct doctor *d)
{
	struct inventory inv = { 0 };
	int rc = members_of_set(&inv, p->name);

	if (!rc)
		p->members = members_json(&inv);
	if (!rc && !inv.smartctl)
		doctor_say(d, HEALTH_NOTE, "smartctl", "install the package " SMART_PACKAGE,
			   "not installed, so health, age and wear are unknown");
	for (unsigned int i = 0; i < inv.nr && !rc; i++)
		for (unsigned int k = 0; k < inv.m[i].nr && inv.m[i].chosen; k++)
			say_drive(d, &inv.m[i], &inv.drive[inv.m[i].drive[k]]);
	members_free(&inv);
	return rc;
}

/* A set whose metadata could not be loaded has no settings. */
static int get_settings(struct page_parts *p, const struct set *set)
{
	struct settings s;
	bool found;
	int rc;

	if (!strcmp(set->st.mode, "fail"))
		return 0;
	rc = fus_settings_open(p->name, &s, &found);
	if (!rc && !found)
		rc = fus_fail(FC_FAILED, p->name, "was closed meanwhile; see fusionctl list");
	if (!rc)
		p->settings = settings_json(&s);
	return rc;
}

static int get_state(struct page_parts *p, struct doctor *d)
{
	struct set set;
	int rc = fus_set_get(p->name, &set);

	if (rc)
		return rc;
	p->status = status_json(&set);
	doctor_open_set(d, &set);
	rc = get_settings(p, &set);
	fus_set_put(&set);
	if (!rc)
		rc = get_members(p, d);
	if (!rc)
		doctor_system(d);
	return rc;
}

static int collect(const char *name, uint64_t seconds, struct json_object **doc)
{
	struct page_parts p = { .name = name };
	struct doctor d = { .dir = "", .running = true, .findings = json_object_new_array() };
	struct top_look *look = calloc(1, sizeof(*look));
	char uuid[UUID_TEXT] = "";
	int rc;

	if (!look)
		return no_memory();
	look->heat_cells = MAP_CELLS;
	rc = watch(look, name, seconds, uuid);
	if (!rc)
		rc = get_state(&p, &d);
	if (!rc)
		rc = version_json(&p.version);
	if (!rc) {
		p.time = time(NULL);
		p.top = top_json(look, uuid);
		p.map = look->heat.nr ? map_json(&look->heat) : NULL;
		p.history = &look->history;
	}
	p.doctor = doctor_json(&d);
	*doc = page_json(&p);
	top_look_end(look);
	free(look);
	return rc;
}

/* -- the verb ------------------------------------------------------------------------ */

static int write_page(struct json_object *doc, struct new_output *to)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int rc;

	if (!f)
		return no_memory();
	page_html(doc, f);
	if (fclose(f)) {
		free(text);
		return no_memory();
	}
	rc = new_output_write(to, text);
	free(text);
	return rc;
}

int cmd_report(const struct args *a)
{
	const char *html = a->opt[OPT_HTML], *over = a->opt[OPT_OVER];
	struct new_output to = { .fd = -1 };
	struct json_object *doc = NULL;
	uint64_t seconds = SECONDS;
	int rc = 0;

	if (!html && !a->opt[OPT_JSON])
		return fus_fail(FC_USAGE, "report", "has nowhere to write; add --html FILE or "
				"--json");
	if (over && (!fus_parse_number(over, MAX_SECONDS, &seconds) || !seconds))
		return fus_fail(FC_USAGE, over, "not a time to watch; give 1 to %d seconds",
				MAX_SECONDS);
	if (html && a->opt[OPT_JSON] && !strcmp(html, "-"))
		return fus_fail(FC_USAGE, "--html", "cannot share standard output with --json; "
				"give a file");
	if (html && strcmp(html, "-"))
		rc = new_output_open(html, 0666, &to);
	if (rc)
		return rc;
	rc = collect(a->word[0], seconds, &doc);
	if (!rc && a->opt[OPT_ANONYMOUS] && !page_anonymise(doc))
		rc = no_memory();
	if (!rc && to.fd >= 0)
		rc = write_page(doc, &to);
	else if (!rc && html)
		page_html(doc, stdout);
	new_output_drop(&to);
	if (!rc && a->opt[OPT_JSON])
		print_json(json_object_get(doc), false);
	json_object_put(doc);
	return rc;
}
