// SPDX-License-Identifier: GPL-2.0-only
/* Parts of a report: advice, and settings. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "page.h"
#include "html.h"
#include "setting.h"
#include "size.h"

/* -- advice ------------------------------------------------------------------------- */

static bool has_level(struct json_object *finding, enum health level)
{
	const char *word = page_text(finding, "/level");

	return word && !strcmp(word, fus_health_name[level]);
}

/* The commands that a remedy may be, or begin with, stand out. */
static void remedy(const char *text, FILE *f)
{
	static const char *const programs[] = { "fusionctl ", "dmsetup ", "mokutil ", "apt ",
						"dkms ", "update-initramfs " };

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strncmp(text, programs[i], strlen(programs[i])) && !strpbrk(text, ",;")) {
			html_element(f, "code", "%s", text);
			return;
		}
	html_text(f, text);
}

static void one(struct json_object *finding, enum health level, FILE *f)
{
	const char *what = page_text(finding, "/remedy");

	fprintf(f, "<li class=\"%s\"><strong>", fus_health_name[level]);
	html_put(f, "%c%s", fus_health_name[level][0] - 'a' + 'A', fus_health_name[level] + 1);
	fputs("</strong><div><p>", f);
	html_put(f, "%s: %s", page_text(finding, "/subject"), page_text(finding, "/text"));
	fputs("</p>", f);
	if (what) {
		fputs("<p class=\"remedy\">To do: ", f);
		remedy(what, f);
		fputs("</p>", f);
	}
	fputs("</div></li>\n", f);
}

static unsigned int list(struct json_object *findings, enum health level, FILE *f)
{
	size_t nr = findings ? json_object_array_length(findings) : 0;
	unsigned int found = 0;

	for (size_t i = 0; i < nr; i++) {
		struct json_object *o = json_object_array_get_idx(findings, i);

		if (!has_level(o, level))
			continue;
		if (!found++ && level == HEALTH_OK)
			fputs("<details>\n<summary>What is as it should be</summary>\n<ul>\n", f);
		if (level != HEALTH_OK) {
			one(o, level, f);
			continue;
		}
		html_element(f, "li", "%s: %s", page_text(o, "/subject"),
			     page_text(o, "/text"));
		fputs("\n", f);
	}
	if (found && level == HEALTH_OK)
		fputs("</ul>\n</details>\n", f);
	return found;
}

void page_advice(struct json_object *doc, FILE *f)
{
	struct json_object *findings = page_at(doc, "/doctor/findings");

	fputs("<section>\n<h2>Advice</h2>\n", f);
	if (page_level(doc) == HEALTH_OK) {
		fputs("<p>There is nothing to do.</p>\n", f);
	} else {
		fputs("<ul class=\"advice\">\n", f);
		for (int level = HEALTH_ERROR; level > HEALTH_OK; level--)
			list(findings, level, f);
		fputs("</ul>\n", f);
	}
	list(findings, HEALTH_OK, f);
	fputs("</section>\n", f);
}

/* -- settings ----------------------------------------------------------------------- */

/* The index of a setting that this tool knows, or -1. */
static int index_of(const char *key)
{
	for (int i = 0; key && i < FUSION_SETTINGS; i++)
		if (!strcmp(fusion_settings[i].key, key))
			return i;
	return -1;
}

static const char *source_text(const char *source)
{
	static const char *const words[NR_SOURCES] = {
		[SOURCE_DEFAULT] = "default", [SOURCE_SET] = "kept in the set",
		[SOURCE_TABLE] = "table line, not kept", [SOURCE_NOW] = "now only, not kept",
	};

	for (int i = 0; source && i < NR_SOURCES; i++)
		if (!strcmp(source, fus_source_name[i]))
			return words[i];
	return "";
}

static void setting_row(struct json_object *o, const struct scale *scale, FILE *f)
{
	int i = index_of(page_text(o, "/key"));
	const char *source = page_text(o, "/source");
	char value[SETTING_SHOWN];

	if (i < 0)
		return;
	fprintf(f, "<tr%s><th scope=\"row\">", source && strcmp(source, "default") ?
		" class=\"changed\"" : "");
	html_put(f, "%s", fusion_settings[i].key);
	html_element(f, "small", "%s", fusion_settings[i].help);
	fputs("</th>", f);
	html_element(f, "td", "%s", fus_setting_shown(value, i, page_u64(o, "/value"), scale));
	fputs("<td>", f);
	html_put(f, "%s", source_text(source));
	/* another value is in effect until the set is closed */
	if (page_at(o, "/kept") && source && strcmp(source, fus_source_name[SOURCE_SET]))
		html_put(f, "; the set keeps %s", fus_setting_shown(value, i, page_u64(o, "/kept"),
								    scale));
	fputs("</td></tr>\n", f);
}

void page_settings(struct json_object *doc, FILE *f)
{
	uint64_t extent = page_u64(doc, "/status/extent_bytes");
	struct json_object *all = page_at(doc, "/settings");
	const struct scale scale = {
		.nr_fast_slots = extent ? page_u64(doc, "/status/fast/total_bytes") / extent : 0,
		.extent_sectors = extent >> 9,
	};

	fputs("<section>\n<h2>Settings</h2>\n", f);
	if (!all) {
		fputs("<p>The set does not work, so its settings are not known.</p>\n</section>\n",
		      f);
		return;
	}
	fputs("<table>\n<tbody>\n<tr class=\"head\"><th scope=\"col\">Setting</th>"
	      "<th scope=\"col\">Value</th><th scope=\"col\">From</th></tr>\n", f);
	for (size_t i = 0; i < json_object_array_length(all); i++)
		setting_row(json_object_array_get_idx(all, i), &scale, f);
	fputs("</tbody>\n</table>\n</section>\n", f);
}
