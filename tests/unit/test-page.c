// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl report: pages of made-up sets, each read by a parser of XML. With PAGES=DIR the pages
 * are written there, to be looked at.
 */
#include <json-c/json.h>

#include "unit.h"

#include "fusionctl.h"
#include "html.h"
#include "json.h"
#include "page.h"

#define CELLS	480
#define LOOKS	60

/* -- a set -------------------------------------------------------------------------- */

static void put(struct json_object *doc, const char *path, struct json_object *value)
{
	REQUIRE(!json_pointer_set(&doc, path, value), "%s", path);
}

static void put_u64(struct json_object *doc, const char *path, uint64_t v)
{
	put(doc, path, json_object_new_uint64(v));
}

static void put_text(struct json_object *doc, const char *path, const char *text)
{
	struct json_object *o = json_object_new_object();

	/* as the tool does it */
	fus_json_add_str(o, "text", text);
	put(doc, path, json_object_get(json_object_object_get(o, "text")));
	json_object_put(o);
}

static struct json_object *hits(unsigned int fast, unsigned int all)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_u64(o, "fast", fast);
	fus_json_add_u64(o, "all", all);
	return o;
}

static void add_history(struct json_object *doc)
{
	struct json_object *array = json_object_new_array(), *o;
	unsigned int sum[4] = { 0 };

	for (unsigned int i = 0; i < LOOKS; i++) {
		unsigned int reads = i % 17 == 9 ? 0 : 900 + i * 37 % 400;
		unsigned int writes = i % 11 == 5 ? 0 : 400 + i * 53 % 300;
		unsigned int in[4] = { reads * (70 + i * 7 % 29) / 100, reads,
				       writes * (90 + i * 31 % 11) / 100, writes };

		o = json_object_new_object();
		json_object_object_add(o, "seconds", json_object_new_double(1));
		json_object_object_add(o, "reads", hits(in[0], in[1]));
		json_object_object_add(o, "writes", hits(in[2], in[3]));
		json_object_array_add(array, o);
		for (int k = 0; k < 4; k++)
			sum[k] += in[k];
	}
	put(doc, "/history", array);
	put(doc, "/top/hits/reads", hits(sum[0], sum[1]));
	put(doc, "/top/hits/writes", hits(sum[2], sum[3]));
}

/* Metadata at every eighth of the set, a hot database, photographs, and films that rest. */
static void add_cells(struct json_object *doc)
{
	struct json_object *array = json_object_new_array(), *o;
	const uint64_t extents = page_u64(doc, "/map/extents");
	unsigned int noise = 1;
	uint64_t first = 0;

	for (unsigned int i = 0; i < CELLS; i++) {
		uint64_t count = extents * (i + 1) / CELLS - first, fast, slow, heat;
		bool metadata = i % 60 < 2, database = i > 58 && i < 84, used = i < 345;

		noise = noise * 1103515245 + 12345;
		heat = metadata ? 180 : database ? 500 + (noise >> 16) % 900 :
		       !used ? 0 : i < 150 ? (noise >> 16) % (20 + 200 / (1 + (noise >> 20) % 9)) :
		       (noise >> 16) % 5;
		fast = metadata || database ? count : heat > 9 ? count * heat / 250 : 0;
		fast = fast < count ? fast : count;
		slow = used ? count - fast : 0;
		o = json_object_new_object();
		fus_json_add_u64(o, "first", first);
		fus_json_add_u64(o, "count", count);
		fus_json_add_u64(o, "fast", used ? fast : fast / 6);
		fus_json_add_u64(o, "slow", slow);
		fus_json_add_u64(o, "protected", fast / 2);
		fus_json_add_u64(o, "heat_mean", heat);
		fus_json_add_u64(o, "heat_max", heat * 2);
		json_object_array_add(array, o);
		first += count;
	}
	put(doc, "/map/cells", array);
}

static struct json_object *a_set(void)
{
	struct json_object *doc = json_object_from_file("screens/report.json");

	REQUIRE(doc, "run this in tests/unit");
	add_history(doc);
	add_cells(doc);
	return doc;
}

/* -- its page ----------------------------------------------------------------------- */

static char *render(struct json_object *doc)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	REQUIRE(f);
	page_html(doc, f);
	fclose(f);
	return text;
}

static void check_page(const char *name, const char *text)
{
	const char *dir = getenv("PAGES");
	char path[256];
	FILE *f;

	if (dir) {
		snprintf(path, sizeof(path), "%s/%s.html", dir, name);
		f = fopen(path, "w");
		REQUIRE(f && fputs(text, f) >= 0 && !fclose(f), "%s", path);
	}
	fflush(stdout);
	f = popen("/usr/bin/python3 check-page.py", "w");
	REQUIRE(f && fputs(text, f) >= 0);
	REQUIRE(!pclose(f), "page %s", name);
}

/* Return: the page, to be freed; the document is dropped. */
static char *page_of(struct json_object *doc, const char *name)
{
	char *text = render(doc);

	json_object_put(doc);
	check_page(name, text);
	return text;
}

#define HAS(text, part)		REQUIRE(strstr(text, part), "\"%s\" is missing", part)
#define HAS_NOT(text, part)	REQUIRE(!strstr(text, part), "there is \"%s\"", part)

static void test_ordinary(void)
{
	char *text = page_of(a_set(), "ordinary");

	HAS(text, "<h1>data</h1>");
	HAS(text, "29 November 2026, ");
	HAS(text, ", on desk: read-write, in extents of 1M");
	HAS(text, "Samsung SSD 980 PRO 1TB");
	HAS(text, "S5GXNX0T412345A");
	HAS(text, "<code>fusionctl replace data /dev/sda NEW</code>");
	HAS(text, "<td>now only, not kept; the set keeps 50%</td>");
	HAS(text, "<dt>Wear</dt><dd>11 % used, 62.2T written");
	HAS(text, "kept in the set");
	HAS(text, "94.6 %");
	HAS(text, "In the 60 s in which this report was made");
	REQUIRE(strlen(text) < 40000, "%zu bytes", strlen(text));
	free(text);
}

static void test_landing(void)
{
	static const char log[] = "{\"blocks\":20,\"segments\":3,\"most\":12,\"drained\":7,"
				  "\"state\":\"full\"}";
	struct json_object *doc = a_set();
	char *text;

	put(doc, "/status/landing_log", json_tokener_parse(log));
	text = page_of(doc, "landing");

	HAS(text, "<dt>Landing log</dt><dd>3M of 12M in use, with 80K that the HDD does not have "
	    "yet; full</dd>");
	free(text);
}

/* -- extremes ----------------------------------------------------------------------- */

static void test_empty(void)
{
	struct json_object *doc = a_set();
	static const char *const none[] = {
		"/status/fast/used_bytes", "/status/slow/used_bytes", "/status/fast/reads",
		"/status/fast/writes", "/status/slow/reads", "/status/slow/writes",
		"/status/mapped", "/status/shadows", "/status/protected/extents",
		"/status/protected/bytes", "/status/protected/fast_extents",
		"/status/protected/fast_bytes", "/status/protected/metadata",
		"/status/protected/metadata_fast", "/top/reserve_bytes",
		"/top/reserve_free_bytes", "/top/hits/reads/all", "/top/hits/reads/fast",
		"/top/hits/writes/all", "/top/hits/writes/fast", "/top/seconds",
	};
	char *text;

	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		put_u64(doc, none[i], 0);
	put(doc, "/status/protected/as_of", NULL);
	put(doc, "/history", json_object_new_array());
	put(doc, "/doctor/findings", json_object_new_array());
	text = page_of(doc, "empty");
	HAS(text, "There is nothing to do.");
	HAS(text, "0B in use, 0 %");
	HAS(text, "none is recorded yet");
	free(text);
}

static void test_full(void)
{
	struct json_object *doc = a_set();
	uint64_t extents = page_u64(doc, "/status/extents");
	char *text;

	put_u64(doc, "/status/fast/used_bytes", page_u64(doc, "/status/fast/total_bytes"));
	put_u64(doc, "/status/slow/used_bytes", page_u64(doc, "/status/slow/total_bytes"));
	put_u64(doc, "/status/mapped", extents);
	put_u64(doc, "/status/lost", 3);
	put_u64(doc, "/top/reserve_free_bytes", 0);
	put_u64(doc, "/members/members/0/drives/0/percentage_used", 255);
	text = page_of(doc, "full");
	HAS(text, "in use, 100 %");
	HAS(text, "3M: reads of it fail");
	HAS(text, "255 % used");
	free(text);
}

/* The largest extents, and as many as there can be: beyond 100 TB. */
static void test_large(void)
{
	struct json_object *doc = a_set();
	uint64_t extents = 1ULL << 28, extent = 16 << 20;
	char *text;

	put_u64(doc, "/status/extent_bytes", extent);
	put_u64(doc, "/status/extents", extents);
	put_u64(doc, "/status/mapped", extents - 1);
	put_u64(doc, "/status/slow/total_bytes", extents * extent);
	put_u64(doc, "/status/slow/used_bytes", extents * extent - extent);
	put_u64(doc, "/status/fast/reads", UINT64_MAX / 2);
	put_u64(doc, "/status/promotions", UINT64_MAX);
	put_u64(doc, "/map/extents", extents);
	put_u64(doc, "/map/extent_bytes", extent);
	text = page_of(doc, "large");
	HAS(text, "4P");
	HAS(text, "99.9 %");
	HAS(text, "18,446,744,073,709,551,615 extents");
	free(text);
}

/* -- trouble ------------------------------------------------------------------------ */

static void test_lost(void)
{
	struct json_object *doc = a_set(), *finding = json_object_new_object();
	char *text;

	fus_json_add_str(finding, "level", "error");
	fus_json_add_str(finding, "subject", "set data");
	fus_json_add_str(finding, "text", "the fast member is gone from this system");
	fus_json_add_str(finding, "remedy", "close the set; connect the disk");
	put(doc, "/doctor/findings/0", finding);
	put_text(doc, "/status/health", "missing");
	put_text(doc, "/status/mode", "ro");
	put_text(doc, "/verdict", "A member is missing: the fast member is gone.");
	put(doc, "/top/fast/present", json_object_new_boolean(false));
	put(doc, "/members/members/0/missing", json_object_new_boolean(true));
	put(doc, "/members/members/0/device", NULL);
	put_text(doc, "/members/members/0/missing_model", "Samsung SSD");
	put(doc, "/members/members/0/drives", json_object_new_array());
	text = page_of(doc, "lost");
	HAS(text, "<p class=\"verdict error\"><strong>Fault</strong>");
	HAS(text, "<strong>Missing</strong><span>Samsung SSD</span>");
	HAS(text, "read-only");
	HAS(text, "is not there");
	free(text);
}

/* A set that failed: the kernel answers no message. */
static void test_unknown(void)
{
	struct json_object *doc = a_set();
	char *text;

	put_text(doc, "/status/mode", "fail");
	put(doc, "/map", NULL);
	put(doc, "/settings", NULL);
	put(doc, "/host", NULL);
	put(doc, "/software/target", NULL);
	put(doc, "/top/moves/waits_for", json_object_new_array());
	put(doc, "/top/moves/candidates", NULL);
	text = page_of(doc, "unknown");
	HAS(text, "The kernel does not return the map.");
	HAS(text, "its settings are not known");
	free(text);
}

/* -- what is not to be trusted ------------------------------------------------------ */

#define EVIL	"</p><script>alert('1')</script>&amp;\"\x1b[2J\xff\xe2\x80\xaex"

static void test_hostile(void)
{
	static const char *const paths[] = {
		"/name", "/host", "/kernel", "/verdict", "/software/target", "/status/health",
		"/doctor/findings/0/subject", "/doctor/findings/1/text",
		"/doctor/findings/1/remedy", "/members/members/0/device",
		"/members/members/0/drives/0/model", "/members/members/0/drives/0/serial",
		"/members/members/0/drives/0/firmware", "/members/members/0/drives/0/link",
		"/members/members/0/drives/0/device", "/members/members/1/role",
		"/settings/0/key", "/settings/1/source", "/top/moves/waits_for/0",
	};
	struct json_object *doc = a_set();
	char *text;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		put_text(doc, paths[i], EVIL);
	text = page_of(doc, "hostile");
	HAS_NOT(text, "<script");
	HAS_NOT(text, "\x1b");
	HAS_NOT(text, "\xff");
	HAS(text, "&lt;/p&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;&quot;");
	free(text);
}

/* The text of a JSON document is not trusted to be what the tool would have written. */
static void test_escape(void)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	html_element(f, "p class=\"x\"", "%s & %d%%", "<a href='x'>\n\t\"", 5);
	html_text(f, "\xc3\xa4\x01\x7f");
	fclose(f);
	REQUIRE(!strcmp(text, "<p class=\"x\">&lt;a href=&#39;x&#39;&gt;\\x0a\\x09&quot; &amp; "
			"5%</p>\xc3\xa4\\x01\\x7f"), "%s", text);
	free(text);
}

/* -- what is private ---------------------------------------------------------------- */

static void test_private(void)
{
	static const char *const secrets[] = {
		"S5GXNX0T412345A", "Z1K0A0B2FVNG", "eui.002538b411b2c3d4", "5000039cd8c1a2b3",
		"7c0a5b2e-41d3", "11111111-2222", "66666666-7777", "4f1c0d6e3b7a", "desk ",
		"desk\"", "0a1b2c3d", "39CD8C1A2B3",
	};
	struct json_object *doc = a_set();
	const char *json;
	char *text;

	put_text(doc, "/doctor/findings/1/subject", "Samsung, serial S5GXNX0T412345A on desk");
	put_text(doc, "/members/members/1/drives/0/smart_reason", "no Z1K0A0B2FVNG, Z1K0A0B2FVNG");
	put_text(doc, "/doctor/findings/0/text", "signed by 'desk Boot key', not by desktop");
	put_text(doc, "/doctor/findings/0/remedy",
		 "use /dev/mapper/luks-0a1b2c3d-1111-2222-3333-444455556666 or "
		 "/dev/mapper/35000039CD8C1A2B3");
	REQUIRE(page_anonymise(doc));
	json = json_object_to_json_string(doc);
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		HAS_NOT(json, secrets[i]);
	HAS(json, "\"Samsung, serial (left out) on (left out)\"");
	HAS(json, "\"no (left out), (left out)\"");
	HAS(json, "signed by '(left out) Boot key', not by desktop");
	HAS(json, "\"use \\/dev\\/mapper\\/luks-(left out) or \\/dev\\/mapper\\/3(left out)\"");
	HAS(json, "\"set_uuid\": \"00000000-0000-0000-0000-000000000000\"");
	HAS(json, "\"anonymous\": true");
	HAS(json, "Samsung SSD 980 PRO 1TB");
	text = page_of(doc, "private");
	HAS(text, "are left out.");
	HAS_NOT(text, "<dt>Serial</dt>");
	free(text);
}

/* -- words and numbers -------------------------------------------------------------- */

static void test_share(void)
{
	char buf[SHARE_TEXT];

	REQUIRE(!strcmp(page_share(buf, 0, 0), "0"));
	REQUIRE(!strcmp(page_share(buf, 0, 7), "0"));
	REQUIRE(!strcmp(page_share(buf, 7, 7), "100"));
	REQUIRE(!strcmp(page_share(buf, 1, UINT64_MAX), "0.1"));
	REQUIRE(!strcmp(page_share(buf, UINT64_MAX - 1, UINT64_MAX), "99.9") ||
		!strcmp(buf, "100"));
	REQUIRE(!strcmp(page_share(buf, 999999, 1000000), "99.9"));
	REQUIRE(!strcmp(page_share(buf, 1, 3), "33.3"));
}

static void require_verdict(const char *health, const char *level, const char *text)
{
	char json[512];
	struct page_parts p = { .name = "data" };
	struct json_object *doc;

	snprintf(json, sizeof(json), "{\"health\": \"%s\", \"reasons\": [{\"level\": \"note\", "
		 "\"text\": \"a note\"}, {\"level\": \"error\", \"text\": \"it broke\"}]}", health);
	p.status = json_tokener_parse(json);
	snprintf(json, sizeof(json), "{\"findings\": [{\"level\": \"ok\", \"subject\": \"a\", "
		 "\"text\": \"b\"}, {\"level\": \"%s\", \"subject\": \"c\", \"text\": \"d\"}]}",
		 level);
	p.doctor = json_tokener_parse(json);
	doc = page_json(&p);
	REQUIRE(!strcmp(page_text(doc, "/verdict"), text), "%s", page_text(doc, "/verdict"));
	REQUIRE(!strcmp(page_text(doc, "/level"), level));
	json_object_put(doc);
}

static void test_verdict(void)
{
	require_verdict("ok", "ok", "The set is healthy, and there is nothing to do.");
	require_verdict("ok", "note", "The set is healthy, and there is nothing to do.");
	require_verdict("ok", "warning", "The set is healthy, but there is a warning: c: d.");
	require_verdict("ok", "error", "The set is healthy, but there is a fault: c: d.");
	require_verdict("degraded", "error", "The set works, but needs attention: it broke.");
	require_verdict("failed", "error", "The set does not work as it should: it broke.");
	require_verdict("missing", "error", "A member is missing: it broke.");
}

static const struct unit_test tests[] = {
	{ "page of an ordinary set", test_ordinary },
	{ "report: a landing log", test_landing },
	{ "page of an empty set", test_empty },
	{ "page of a full set", test_full },
	{ "page of the largest set", test_large },
	{ "page of a set that has lost its SSD", test_lost },
	{ "page of a set of which little is known", test_unknown },
	{ "page of hostile names", test_hostile },
	{ "escapes", test_escape },
	{ "page without what is private", test_private },
	{ "shares", test_share },
	{ "verdicts", test_verdict },
};

UNIT_TESTS(tests)
