// SPDX-License-Identifier: GPL-2.0-only
/* Parts of a report: capacity, map, hits, moves, protection. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "page.h"
#include "explain.h"
#include "html.h"
#include "landing-size.h"
#include "protected.h"
#include "role.h"
#include "size.h"

#define COUNT_TEXT	32

static const char *const kind[2] = { "SSD", "HDD" };

static void section(FILE *f, const char *heading)
{
	fputs("<section>\n", f);
	html_element(f, "h2", "%s", heading);
	fputs("\n", f);
}

static void end(FILE *f)
{
	fputs("</section>\n", f);
}

/* "1,234,567" */
static const char *count_text(char buf[COUNT_TEXT], uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	char *to = buf;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
	return buf;
}

static const char *rate_text(char buf[SIZE_TEXT + 2], double bytes)
{
	char size[SIZE_TEXT];

	snprintf(buf, SIZE_TEXT + 2, "%s/s", fus_size_text(size, bytes > 0 ? bytes : 0));
	return buf;
}

static void legend(FILE *f, const char *style, const char *text)
{
	fprintf(f, "<li><i class=\"%s\"></i>", style);
	html_text(f, text);
	fputs("</li>", f);
}

/* -- capacity ----------------------------------------------------------------------- */

static void member_bar(struct json_object *doc, FILE *f, int role)
{
	struct json_object *m = page_at(doc, role ? "/status/slow" : "/status/fast");
	uint64_t used = page_u64(m, "/used_bytes"), total = page_u64(m, "/total_bytes");
	uint64_t extent = page_u64(doc, "/status/extent_bytes");
	uint64_t shadows = role ? page_u64(doc, "/status/shadows") * extent : 0;
	struct page_part part[2] = { { fus_role_name[role], used }, { "shadow", shadows } };
	char a[SIZE_TEXT], b[SIZE_TEXT], share[SHARE_TEXT], title[160];

	fputs("<div class=\"line\">", f);
	html_element(f, "b", "%s member (%s)", role ? "Slow" : "Fast", kind[role]);
	html_element(f, "span", "%s of %s, %s %%", fus_size_text(a, used), fus_size_text(b, total),
		     page_share(share, used, total));
	fputs("</div>\n", f);
	snprintf(title, sizeof(title), "%s member: %s of %s in use", role ? "Slow" : "Fast", a, b);
	page_bar(f, title, part, 2, total);
}

static void log_row(struct json_object *doc, FILE *f, uint64_t extent)
{
	struct json_object *log = page_at(doc, "/status/landing_log");
	char used[SIZE_TEXT], most[SIZE_TEXT], logged[SIZE_TEXT];
	const char *state = page_text(log, "/state");

	if (!log)
		return;
	fus_size_text(used, page_u64(log, "/segments") * extent);
	fus_size_text(most, page_u64(log, "/most") * extent);
	fus_size_text(logged, page_u64(log, "/blocks") * FUS_LANDING_BLOCK);
	page_row(f, "Landing log", "%s of %s in use, with %s that the %s does not have yet%s%s",
		 used, most, logged, kind[1], state && strcmp(state, "ok") ? "; " : "",
		 state && strcmp(state, "ok") ? state : "");
}

void page_capacity(struct json_object *doc, FILE *f)
{
	uint64_t extent = page_u64(doc, "/status/extent_bytes");
	uint64_t lost = page_u64(doc, "/status/lost"), all = page_u64(doc, "/status/extents");
	uint64_t mapped = page_u64(doc, "/status/mapped");
	char a[SIZE_TEXT];

	section(f, "Capacity");
	member_bar(doc, f, 0);
	member_bar(doc, f, 1);
	fputs("<ul class=\"legend\">", f);
	legend(f, "fast", "in use, fast");
	legend(f, "slow", "in use, slow");
	legend(f, "shadow", "shadows: copies of data of the fast member, in room that is free");
	legend(f, "none", "free");
	fputs("</ul>\n<dl>\n", f);
	page_row(f, "Mapped", "%s", fus_size_text(a, mapped * extent));
	page_row(f, "Unmapped", "%s",
		 fus_size_text(a, mapped < all ? (all - mapped) * extent : 0));
	if (lost)
		page_row(f, "Lost", "%s: reads of it fail", fus_size_text(a, lost * extent));
	log_row(doc, f, extent);
	fputs("</dl>\n", f);
	end(f);
}

/* -- map ---------------------------------------------------------------------------- */

void page_map(struct json_object *doc, FILE *f)
{
	struct json_object *map = page_at(doc, "/map"), *cells = page_at(map, "/cells");
	uint64_t bytes = page_u64(map, "/extent_bytes") * page_u64(map, "/extents");
	char size[SIZE_TEXT];

	section(f, "Where the data lies");
	if (!cells || !json_object_array_length(cells)) {
		fputs("<p>The kernel does not return the map.</p>\n", f);
		end(f);
		return;
	}
	page_strips(f, map);
	fputs("<div class=\"axis\">", f);
	html_element(f, "span", "0");
	for (int i = 1; i < 4; i++)
		html_element(f, "span", "%s", fus_size_text(size, bytes / 4 * i));
	html_element(f, "span", "%s", fus_size_text(size, bytes));
	fputs("</div>\n<ul class=\"legend\">", f);
	legend(f, "fast", "fast member");
	legend(f, "slow", "slow member");
	legend(f, "none", "unmapped");
	fputs("</ul>\n", f);
	fputs("<p class=\"note\">From the beginning of the set to its end; a column is ", f);
	html_put(f, "%s", fus_size_text(size, page_u64(cells, "/0/count") *
					page_u64(map, "/extent_bytes")));
	fputs(". Heat is how often data is read and written, on a logarithmic scale; its colour is "
	      "that of the member that has more of the column. Hot data of the slow member moves "
	      "as time and room allow.</p>\n", f);
	end(f);
}

/* -- hits --------------------------------------------------------------------------- */

static void hits_bar(FILE *f, const char *what, uint64_t fast, uint64_t all)
{
	struct page_part part[2] = { { "fast", fast }, { "slow", all - fast } };
	char share[SHARE_TEXT], n[COUNT_TEXT], title[160];

	fputs("<div class=\"line\">", f);
	html_element(f, "b", "%s", what);
	if (all)
		html_element(f, "span", "%s %% of %s", page_share(share, fast, all),
			     count_text(n, all));
	else
		html_element(f, "span", "none");
	fputs("</div>\n", f);
	snprintf(title, sizeof(title), "%s: %" PRIu64 " of %" PRIu64 " by the fast member", what,
		 fast, all);
	page_bar(f, title, part, 2, all);
}

static void hits_since_open(struct json_object *doc, FILE *f, const char *what, const char *key)
{
	char path[32];
	uint64_t fast, slow;

	snprintf(path, sizeof(path), "/status/fast/%s", key);
	fast = page_u64(doc, path);
	snprintf(path, sizeof(path), "/status/slow/%s", key);
	slow = page_u64(doc, path);
	hits_bar(f, what, fast, fast + slow);
}

static void hits_watched(struct json_object *doc, FILE *f, const char *what, const char *key)
{
	struct json_object *history = page_at(doc, "/history");
	char path[32], title[80];
	uint64_t fast, all;

	snprintf(path, sizeof(path), "/top/hits/%s/fast", key);
	fast = page_u64(doc, path);
	snprintf(path, sizeof(path), "/top/hits/%s/all", key);
	all = page_u64(doc, path);
	hits_bar(f, what, fast < all ? fast : all, all);
	if (!all || !history || json_object_array_length(history) < 2)
		return;
	snprintf(title, sizeof(title), "%s by the fast member in each of %zu looks", what,
		 json_object_array_length(history));
	page_columns(f, title, history, key);
	fputs("<div class=\"axis\">", f);
	html_element(f, "span", "0 s");
	html_element(f, "span", "%.0f s", page_number(doc, "/top/seconds"));
	fputs("</div>\n", f);
}

static void member_rates(struct json_object *doc, FILE *f, int role)
{
	struct json_object *m = page_at(doc, role ? "/top/slow" : "/top/fast");
	char reads[SIZE_TEXT + 2], writes[SIZE_TEXT + 2], read_ms[32] = "", write_ms[32] = "";

	if (page_at(m, "/read_ms"))
		snprintf(read_ms, sizeof(read_ms), " (%.2f ms)", page_number(m, "/read_ms"));
	if (page_at(m, "/write_ms"))
		snprintf(write_ms, sizeof(write_ms), " (%.2f ms)", page_number(m, "/write_ms"));
	if (!page_is(m, "/present"))
		page_row(f, role ? "Slow member" : "Fast member", "is not there");
	else
		page_row(f, role ? "Slow member" : "Fast member",
			 "reads %s%s, writes %s%s, busy %.0f %%",
			 rate_text(reads, page_number(m, "/read_bytes_per_second")), read_ms,
			 rate_text(writes, page_number(m, "/write_bytes_per_second")), write_ms,
			 100 * page_number(m, "/busy"));
}

void page_hits(struct json_object *doc, FILE *f)
{
	section(f, "Hits");
	fputs("<p class=\"note\">The share of reads and writes that the fast member served.</p>\n"
	      "<h3>Since the set was opened</h3>\n", f);
	hits_since_open(doc, f, "Reads", "reads");
	hits_since_open(doc, f, "Writes", "writes");
	html_element(f, "h3", "In the %.0f s in which this report was made",
		     page_number(doc, "/top/seconds"));
	fputs("\n", f);
	hits_watched(doc, f, "Reads", "reads");
	hits_watched(doc, f, "Writes", "writes");
	fputs("<dl>\n", f);
	member_rates(doc, f, 0);
	member_rates(doc, f, 1);
	fputs("</dl>\n", f);
	end(f);
}

/* -- moves -------------------------------------------------------------------------- */

static void waits_row(struct json_object *doc, FILE *f)
{
	struct json_object *waits = page_at(doc, "/top/moves/waits_for");
	size_t nr = waits ? json_object_array_length(waits) : 0;
	uint64_t candidates = page_u64(doc, "/top/moves/candidates");
	char text[512] = "";

	for (size_t i = 0; i < nr; i++) {
		const char *word = json_object_get_string(json_object_array_get_idx(waits, i));
		size_t len = strlen(text);

		for (int w = 0; w < NR_WAITS && word; w++)
			if (!strcmp(word, explain_wait_name[w]))
				snprintf(text + len, sizeof(text) - len, "%s%s", len ? "; " : "",
					 explain_wait_text[w]);
	}
	if (nr)
		page_row(f, "Held back", "%s", text);
	else if (page_at(doc, "/top/moves/candidates"))
		page_row(f, "Held back", "by nothing; %" PRIu64 " extent%s of the slow member "
			 "may be hot enough to move", candidates, fus_plural(candidates));
}

static void moved_row(struct json_object *doc, FILE *f, const char *what, const char *total,
		      const char *rate)
{
	uint64_t n = page_u64(doc, total), extent = page_u64(doc, "/status/extent_bytes");
	char count[COUNT_TEXT], size[SIZE_TEXT], now[SIZE_TEXT + 2];

	page_row(f, what, "%s extent%s (%s) since opening, %s while watched", count_text(count, n),
		 fus_plural(n), fus_size_text(size, n * extent),
		 rate_text(now, page_number(doc, rate)));
}

void page_moves(struct json_object *doc, FILE *f)
{
	uint64_t reserve = page_u64(doc, "/top/reserve_bytes");
	uint64_t free = page_u64(doc, "/top/reserve_free_bytes");
	struct page_part part = { "fast", free < reserve ? free : reserve };
	char a[SIZE_TEXT], b[SIZE_TEXT], count[COUNT_TEXT], title[160];

	section(f, "Moves and reserve");
	fputs("<dl>\n", f);
	moved_row(doc, f, "Promoted", "/status/promotions",
		  "/top/moves/promoted_bytes_per_second");
	moved_row(doc, f, "Demoted", "/status/demotions",
		  "/top/moves/demoted_bytes_per_second");
	page_row(f, "Without a copy", "%s of the demotions, because the slow member had a shadow",
		 count_text(count, page_u64(doc, "/status/demotions_free")));
	waits_row(doc, f);
	fputs("</dl>\n<div class=\"line\">", f);
	html_element(f, "b", "Reserve for new writes");
	html_element(f, "span", "%s of %s free", fus_size_text(a, part.amount),
		     fus_size_text(b, reserve));
	fputs("</div>\n", f);
	snprintf(title, sizeof(title), "Reserve: %s of %s are free", a, b);
	page_bar(f, title, &part, 1, reserve);
	end(f);
}

/* -- protection --------------------------------------------------------------------- */

/* The value of a setting; NULL if it is not known. */
static struct json_object *setting(struct json_object *doc, const char *key)
{
	struct json_object *all = page_at(doc, "/settings"), *one;
	size_t nr = all ? json_object_array_length(all) : 0;

	for (size_t i = 0; i < nr; i++) {
		one = json_object_array_get_idx(all, i);
		if (!strcmp(page_text(one, "/key"), key))
			return page_at(one, "/value");
	}
	return NULL;
}

static void protected_bar(struct json_object *p, FILE *f)
{
	uint64_t part_bytes = page_u64(p, "/bytes"), all = page_u64(p, "/fast_bytes");
	struct page_part part = { "good", part_bytes < all ? part_bytes : all };
	char a[SIZE_TEXT], b[SIZE_TEXT], share[SHARE_TEXT], title[160];

	fputs("<div class=\"line\">", f);
	html_element(f, "b", "Also on the slow member");
	html_element(f, "span", "%s of %s, %s %%", fus_size_text(a, part.amount),
		     fus_size_text(b, all), page_share(share, part.amount, all));
	fputs("</div>\n", f);
	snprintf(title, sizeof(title), "Protected: %s of %s", a, b);
	page_bar(f, title, &part, 1, all);
}

void page_protection(struct json_object *doc, FILE *f)
{
	struct json_object *p = page_at(doc, "/status/protected");
	uint64_t metadata = page_u64(p, "/metadata_fast"), seconds = page_u64(p, "/as_of");
	struct json_object *shadow = setting(doc, "shadow"), *age = setting(doc, "shadow_age");
	char text[AGE_TEXT], share[SHARE_TEXT];

	section(f, "If the fast member is lost");
	protected_bar(p, f);
	fputs("<dl>\n", f);
	if (page_at(p, "/as_of"))
		page_row(f, "Copies", "as of %s%s", seconds ?
			 fus_age_text(text, seconds) : "now", seconds ? " ago" : "");
	else if (shadow && age && (!json_object_get_uint64(shadow) || !json_object_get_uint64(age)))
		page_row(f, "Copies", "none are kept; to change that: fusionctl set %s shadow=on "
			 "shadow_age=3m", page_text(doc, "/name"));
	else
		page_row(f, "Copies", "none is recorded yet");
	if (metadata)
		page_row(f, "Metadata", "%s %% of that of the file system",
			 page_share(share, page_u64(p, "/metadata"), metadata));
	if (page_u64(doc, "/status/replica_dirty"))
		page_row(f, "Map", "its replica on the slow member is %" PRIu64 " extents "
			 "behind, for %" PRIu64 " s", page_u64(doc, "/status/replica_dirty"),
			 page_u64(doc, "/status/replica_age"));
	fputs("</dl>\n<p class=\"note\">A set needs both members. Copies on the slow one save what "
	      "they can; they are no backup.</p>\n", f);
	end(f);
}
