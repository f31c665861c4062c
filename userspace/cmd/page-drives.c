// SPDX-License-Identifier: GPL-2.0-only
/* Part of a report: the members, and the drives beneath them. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "page.h"
#include "endurance.h"
#include "html.h"
#include "members.h"
#include "role.h"
#include "size.h"

#define HOURS	24

/* -- a drive ------------------------------------------------------------------------ */

static void hardware(struct json_object *d, FILE *f)
{
	struct json_object *rotational = page_at(d, "/rotational");
	const char *link = page_text(d, "/link");
	char size[SIZE_TEXT];

	page_row(f, "Drive", "%s, %s%s%s%s", page_text(d, "/device"),
		 fus_size_text(size, page_u64(d, "/bytes")), !rotational ? "" :
		 json_object_get_boolean(rotational) ? ", rotational" : ", not rotational",
		 link ? ", " : "", link ? link : "");
	if (page_at(d, "/serial"))
		page_row(f, "Serial", "%s", page_text(d, "/serial"));
	if (page_at(d, "/firmware"))
		page_row(f, "Firmware", "%s", page_text(d, "/firmware"));
}

static void verdict(struct json_object *d, FILE *f)
{
	const char *state = page_text(d, "/smart"), *reason = page_text(d, "/smart_reason");
	struct json_object *passed = page_at(d, "/passed");

	if (state && !strcmp(state, "asleep"))
		page_row(f, "SMART", "not asked: the drive sleeps");
	else if (!state || strcmp(state, "ok"))
		page_row(f, "SMART", "unknown%s%s", reason ? ": " : "", reason ? reason : "");
	else
		page_row(f, "SMART", "%s", !passed ? "no verdict" :
			 json_object_get_boolean(passed) ? "passed" : "FAILING");
}

static void condition(struct json_object *d, FILE *f)
{
	char limit[40] = "", time[TIME_TEXT];

	if (page_at(d, "/temperature_limit"))
		snprintf(limit, sizeof(limit), ", limit %" PRIu64 " °C",
			 page_u64(d, "/temperature_limit"));
	if (page_at(d, "/temperature"))
		page_row(f, "Temperature", "%.0f °C%s", page_number(d, "/temperature"), limit);
	if (page_at(d, "/power_on_hours"))
		page_row(f, "Powered on", "for %s",
			 members_time(time, page_u64(d, "/power_on_hours")));
	if (page_at(d, "/pending_sectors"))
		page_row(f, "Sectors", "%" PRIu64 " pending, %" PRIu64 " reallocated",
			 page_u64(d, "/pending_sectors"),
			 page_u64(d, "/reallocated_sectors"));
	if (page_at(d, "/media_errors"))
		page_row(f, "Media errors", "%" PRIu64, page_u64(d, "/media_errors"));
}

static void wear(struct json_object *d, FILE *f)
{
	uint64_t used = page_u64(d, "/percentage_used");
	struct page_part part = { used > 90 ? "bad" : "fast", used < 100 ? used : 100 };
	char title[80], size[SIZE_TEXT], written[SIZE_TEXT + 16] = "";

	if (page_at(d, "/written_bytes"))
		snprintf(written, sizeof(written), ", %s written",
			 fus_size_text(size, page_u64(d, "/written_bytes")));
	if (!page_at(d, "/percentage_used")) {
		if (*written)
			page_row(f, "Written in its life", "%s", written + 2);
		return;
	}
	fputs("<div><dt>Wear</dt><dd>", f);
	html_put(f, "%" PRIu64 " %% used%s", used, written);
	snprintf(title, sizeof(title), "Wear: %" PRIu64 " percent used", used);
	page_bar(f, title, &part, 1, 100);
	fputs("</dd></div>\n", f);
}

static void lasts(struct json_object *e, FILE *f)
{
	char time[TIME_TEXT], size[SIZE_TEXT];

	if (page_at(e, "/life_days"))
		page_row(f, "Lasts", "%s as used so far, with %s written a day",
			 members_time(time, page_u64(e, "/life_days") * HOURS),
			 fus_size_text(size, page_u64(e, "/life_bytes_per_day")));
	if (page_at(e, "/days"))
		page_row(f, "Lasts", "%s as used since boot, with %s written a day",
			 members_time(time, page_u64(e, "/days") * HOURS),
			 fus_size_text(size, page_u64(e, "/bytes_per_day")));
	if (page_at(e, "/moved_bytes_per_day"))
		page_row(f, "Moves write", "%s a day",
			 fus_size_text(size, page_u64(e, "/moved_bytes_per_day")));
	if (page_u64(e, "/five_years_budget"))
		page_row(f, "Advice", "it lasts %d years with write_budget=%" PRIu64,
			 ENDURANCE_YEARS, page_u64(e, "/five_years_budget"));
}

static void drive(struct json_object *d, FILE *f)
{
	const char *model = page_text(d, "/model");

	html_element(f, "h4", "%s", model ? model : "Model unknown");
	fputs("\n<dl>\n", f);
	hardware(d, f);
	verdict(d, f);
	condition(d, f);
	wear(d, f);
	lasts(page_at(d, "/endurance"), f);
	fputs("</dl>\n", f);
}

/* -- a member ----------------------------------------------------------------------- */

static void missing(struct json_object *m, FILE *f)
{
	const char *model = page_text(m, "/missing_model");
	const char *serial = page_text(m, "/missing_serial");

	fputs("<p class=\"verdict error\"><strong>Missing</strong>", f);
	html_element(f, "span", "%s%s%s", model ? model : "Its model is unknown.",
		     serial ? ", serial number " : "", serial ? serial : "");
	fputs("</p>\n", f);
}

static void member(struct json_object *m, FILE *f)
{
	struct json_object *drives = page_at(m, "/drives");
	const char *role = page_text(m, "/role"), *device = page_text(m, "/device");
	size_t nr = drives ? json_object_array_length(drives) : 0;
	char size[SIZE_TEXT];

	fputs("<article>\n", f);
	html_element(f, "h3", "%s member%s%s%s, %s", !role ? "A" :
		     strcmp(role, fus_role_name[0]) ? "Slow" : "Fast",
		     page_is(m, "/being_replaced") ? ", being replaced" : "", device ? ": " : "",
		     device ? device : "", fus_size_text(size, page_u64(m, "/bytes")));
	fputs("\n", f);
	if (page_is(m, "/missing"))
		missing(m, f);
	else if (!nr)
		fputs("<p>No drive of this system lies beneath it.</p>\n", f);
	for (size_t i = 0; i < nr; i++)
		drive(json_object_array_get_idx(drives, i), f);
	fputs("</article>\n", f);
}

void page_drives(struct json_object *doc, FILE *f)
{
	struct json_object *all = page_at(doc, "/members/members");
	size_t nr = all ? json_object_array_length(all) : 0;

	fputs("<section>\n<h2>Drives</h2>\n<div class=\"pair\">\n", f);
	for (size_t i = 0; i < nr; i++)
		member(json_object_array_get_idx(all, i), f);
	fputs("</div>\n", f);
	if (!nr)
		fputs("<p>The members are not known.</p>\n", f);
	fputs("</section>\n", f);
}
