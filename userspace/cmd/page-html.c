// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of a report: one file without scripts, which loads nothing. It is HTML that is also XML.
 * Every text of the document is escaped: labels, models and serial numbers come from disks.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "page.h"
#include "html.h"
#include "protected.h"
#include "size.h"

#define WHEN_TEXT	64

char *page_share(char buf[SHARE_TEXT], uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * part / whole : 0;

	/* only all is 100 %, and only nothing is 0 % */
	if (part < whole && percent > 99.9)
		percent = 99.9;
	if (part && percent < 0.1)
		percent = 0.1;
	snprintf(buf, SHARE_TEXT, percent == (int)percent ? "%.0f" : "%.1f", percent);
	return buf;
}

void page_row(FILE *f, const char *term, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs("<div>", f);
	html_element(f, "dt", "%s", term);
	html_element(f, "dd", "%s", text);
	fputs("</div>\n", f);
}

static const char *when_text(char buf[WHEN_TEXT], struct json_object *doc)
{
	time_t at = page_u64(doc, "/time");
	struct tm tm;

	if (!gmtime_r(&at, &tm) || !strftime(buf, WHEN_TEXT, "%-d %B %Y, %H:%M UTC", &tm))
		snprintf(buf, WHEN_TEXT, "at an unknown time");
	return buf;
}

/* -- the head of the page ----------------------------------------------------------- */

static void figure(FILE *f, const char *name, const char *value, const char *below)
{
	fputs("<div>", f);
	html_element(f, "dt", "%s", name);
	html_element(f, "dd class=\"figure\"", "%s", value);
	html_element(f, "dd", "%s", below);
	fputs("</div>\n", f);
}

static void hits_figure(struct json_object *doc, FILE *f, const char *name, const char *key)
{
	char fast[32], slow[32], share[SHARE_TEXT], text[SHARE_TEXT + 4];
	uint64_t n, all;

	snprintf(fast, sizeof(fast), "/status/fast/%s", key);
	snprintf(slow, sizeof(slow), "/status/slow/%s", key);
	n = page_u64(doc, fast);
	all = n + page_u64(doc, slow);
	snprintf(text, sizeof(text), "%s %%", page_share(share, n, all));
	figure(f, name, all ? text : "none", all ? "by the fast member, since opening" :
	       "since the set was opened");
}

static void protected_figure(struct json_object *doc, FILE *f)
{
	struct json_object *p = page_at(doc, "/status/protected");
	char text[16], below[80], age[AGE_TEXT];
	uint64_t seconds = page_u64(p, "/as_of");

	if (!page_at(p, "/as_of")) {
		figure(f, "Protected", "none", "if the fast member is lost");
		return;
	}
	snprintf(text, sizeof(text), "%" PRIu64 " %%", page_u64(p, "/percent"));
	snprintf(below, sizeof(below), "of the fast member, as of %s%s",
		 seconds ? fus_age_text(age, seconds) : "now", seconds ? " ago" : "");
	figure(f, "Protected", text, below);
}

static void figures(struct json_object *doc, FILE *f)
{
	uint64_t extent = page_u64(doc, "/status/extent_bytes");
	uint64_t all = page_u64(doc, "/status/extents"), used = page_u64(doc, "/status/mapped");
	char size[2][SIZE_TEXT], below[64], share[SHARE_TEXT];

	snprintf(below, sizeof(below), "%s in use, %s %%", fus_size_text(size[1], used * extent),
		 page_share(share, used, all));
	fputs("<dl class=\"figures\">\n", f);
	figure(f, "Size", fus_size_text(size[0], all * extent), below);
	hits_figure(doc, f, "Reads", "reads");
	hits_figure(doc, f, "Writes", "writes");
	protected_figure(doc, f);
	fputs("</dl>\n", f);
}

static const char *mode_text(struct json_object *doc)
{
	const char *mode = page_text(doc, "/status/mode");

	if (page_is(doc, "/status/suspended"))
		return "suspended";
	return !mode ? "unknown" : !strcmp(mode, "rw") ? "read-write" : !strcmp(mode, "ro") ?
	       "read-only" : "failed";
}

static void head(struct json_object *doc, FILE *f)
{
	static const char *const word[NR_HEALTHS] = {
		[HEALTH_OK] = "Healthy", [HEALTH_NOTE] = "Healthy", [HEALTH_WARNING] = "Warning",
		[HEALTH_ERROR] = "Fault",
	};
	enum health level = page_level(doc);
	const char *host = page_text(doc, "/host");
	char when[WHEN_TEXT], extent[SIZE_TEXT];

	fputs("<header>\n<p class=\"kind\">dm-fusion report</p>\n", f);
	html_element(f, "h1", "%s", page_text(doc, "/name"));
	html_element(f, "p class=\"when\"", "%s%s%s: %s, in extents of %s", when_text(when, doc),
		     host ? ", on " : "", host ? host : "", mode_text(doc),
		     fus_size_text(extent, page_u64(doc, "/status/extent_bytes")));
	fprintf(f, "\n<p class=\"verdict %s\">", fus_health_name[level]);
	html_element(f, "strong", "%s", word[level]);
	html_element(f, "span", "%s", page_text(doc, "/verdict"));
	fputs("</p>\n", f);
	figures(doc, f);
	fputs("</header>\n", f);
}

/* -- and its end -------------------------------------------------------------------- */

static void foot(struct json_object *doc, FILE *f)
{
	const char *target = page_text(doc, "/software/target");

	fputs("<footer>\n", f);
	html_element(f, "p", "Made by fusionctl %s with the kernel target %s on Linux %s. Sizes "
		     "are powers of 1024: 1K is 1024 bytes. Counters begin when the set is "
		     "opened.%s",
		     page_text(doc, "/software/fusionctl"), target ? target : "?",
		     page_text(doc, "/kernel"), page_is(doc, "/anonymous") ?
		     " Serial numbers, uuids and the host are left out." : "");
	fputs("\n</footer>\n", f);
}

void page_html(struct json_object *doc, FILE *f)
{
	char when[WHEN_TEXT];

	fputs("<!DOCTYPE html>\n"
	      "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
	      "<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
	      "<meta name=\"referrer\" content=\"no-referrer\"/>\n", f);
	html_element(f, "title", "%s: dm-fusion report, %s", page_text(doc, "/name"),
		     when_text(when, doc));
	fputs("\n<style>\n", f);
	page_style(f);
	fputs("</style>\n</head>\n<body>\n<main>\n", f);
	head(doc, f);
	page_advice(doc, f);
	page_capacity(doc, f);
	page_map(doc, f);
	page_hits(doc, f);
	page_moves(doc, f);
	page_protection(doc, f);
	page_drives(doc, f);
	page_settings(doc, f);
	foot(doc, f);
	fputs("</main>\n</body>\n</html>\n", f);
}
