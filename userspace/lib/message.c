// SPDX-License-Identifier: GPL-2.0-only
/* What fusionctl says: errors, tables, JSON. */
#include <fcntl.h>
#include <json-c/json.h>
#include <langinfo.h>
#include <libsmartcols/libsmartcols.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fusionctl.h"
#include "progress.h"

const char *const role_name[2] = { "fast", "slow" };

static bool to_kernel;
static const char prefix[] = "fusionctl: ";
static char said[2048];

void messages_to_kernel(bool on)
{
	to_kernel = on;
}

/* As an error (3): the console of a system that boots quietly shows those. */
static void tell_kernel(const char *line)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	char record[960];	/* it takes 1 KiB, in one piece, and cannot be sought in */
	int n;

	if (fd < 0)
		return;
	n = snprintf(record, sizeof(record), "<3>%.900s\n", line);
	if (write(fd, record, n) < 0)
		n = 0;	/* there is nobody to tell */
	close(fd);
}

/* Labels and serial numbers come from disks: they must not break the line, or the terminal. */
static void say(const char *thing, const char *fmt, va_list ap)
{
	char line[1024];
	int n;

	n = snprintf(line, sizeof(line), "%s%s: ", prefix, thing);
	if (n < 0 || (size_t)n >= sizeof(line))
		n = 0;
	vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	safe_text(said, sizeof(said), line, sizeof(line), utf8_output());
	fflush(stdout);
	progress_hide();
	fprintf(stderr, "%s\n", said);
	if (to_kernel)
		tell_kernel(said);
}

const char *last_said(void)
{
	return said + (strncmp(said, prefix, strlen(prefix)) ? 0 : strlen(prefix));
}

int fail(int rc, const char *thing, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(thing, fmt, ap);
	va_end(ap);
	return rc;
}

void warn(const char *thing, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(thing, fmt, ap);
	va_end(ap);
}

bool may_ask(const struct args *a)
{
	return isatty(STDIN_FILENO) && !a->opt[OPT_YES] && !a->opt[OPT_JSON];
}

int check_may_go(const struct args *a, const char *path, const char *content)
{
	if (!*content || a->opt[OPT_FORCE] || may_ask(a))
		return 0;
	return fail(FC_REFUSED, path, "carries %s; if that can go, add --force", content);
}

void add_contents(char *question, size_t size, const char *const path[2],
		  char content[2][CONTENT_TEXT])
{
	const char *sep = ", with ";

	for (int i = 0; i < 2; i++) {
		size_t n = strlen(question);

		if (!*content[i])
			continue;
		snprintf(question + n, size - n, "%s%s on %s", sep, content[i], path[i]);
		sep = " and ";
	}
}

int confirm(const char *thing, const char *nobody, const char *question)
{
	char answer[16], safe[2048];

	if (!isatty(STDIN_FILENO))
		return fail(FC_REFUSED, thing, "%s and there is nobody to ask; add --yes", nobody);
	fflush(stdout);
	/* the output may go to a file */
	fprintf(stderr, "%s; type yes: ",
		safe_text(safe, sizeof(safe), question, SIZE_MAX, utf8_output()));
	if (!fgets(answer, sizeof(answer), stdin))
		*answer = 0;
	answer[strcspn(answer, "\n")] = 0;
	if (!strcasecmp(answer, "yes") || !strcasecmp(answer, "y"))
		return 0;
	return fail(FC_REFUSED, thing, "nothing was changed; answer yes to go on");
}

int check_no_question(const struct args *a)
{
	if (!a->opt[OPT_JSON] || a->opt[OPT_YES] || a->opt[OPT_DRY_RUN])
		return 0;
	return fail(FC_USAGE, "--json", "leaves no place for a question; add --yes or --dry-run");
}

int color_mode(const char *when, enum color *mode)
{
	const char *term = getenv("TERM"), *depth = getenv("COLORTERM"), *no = getenv("NO_COLOR");

	*mode = COLOR_NONE;
	if (when && !strcmp(when, "never"))
		return 0;
	if (!when || !strcmp(when, "auto")) {
		if ((no && *no) || !isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb"))
			return 0;
	} else if (strcmp(when, "always")) {
		return fail(FC_USAGE, when, "not a choice for --color; give auto, always or never");
	}
	*mode = depth && (!strcmp(depth, "truecolor") || !strcmp(depth, "24bit")) ?
		COLOR_TRUE : COLOR_256;
	return 0;
}

bool utf8_output(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

unsigned int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws;
	uint64_t n;

	if (columns && parse_number(columns, 10000, &n) && n)
		return n;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) && ws.ws_col)
		return ws.ws_col;
	return 80;
}

struct json_object *json_base(void)
{
	struct json_object *o = json_object_new_object();

	json_add_u64(o, "version", JSON_VERSION);
	return o;
}

void json_add_u64(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

void json_add_str(struct json_object *o, const char *key, const char *v)
{
	char safe[4096];

	if (v)
		safe_text(safe, sizeof(safe), v, SIZE_MAX, true);
	json_object_object_add(o, key, v ? json_object_new_string(safe) : NULL);
}

void json_add_bool(struct json_object *o, const char *key, bool v)
{
	json_object_object_add(o, key, json_object_new_boolean(v));
}

void print_json(struct json_object *o, bool one_line)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

	flags |= one_line ? JSON_C_TO_STRING_PLAIN :
		 JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
	puts(json_object_to_json_string_ext(o, flags));
	fflush(stdout);
	json_object_put(o);
}

struct libscols_table *table_new(const char *const headings[])
{
	struct libscols_table *tb = scols_new_table();

	for (; tb && *headings; headings++) {
		bool right = **headings == '>';

		scols_table_new_column(tb, *headings + right, 0, right ? SCOLS_FL_RIGHT : 0);
	}
	return tb;
}

void table_row(struct libscols_table *tb, const char *const cells[])
{
	struct libscols_line *line = tb ? scols_table_new_line(tb, NULL) : NULL;

	for (size_t i = 0; line && i < scols_table_get_ncols(tb); i++)
		scols_line_set_data(line, i, cells[i]);
}

void table_print(struct libscols_table *tb)
{
	if (tb)
		scols_print_table(tb);
	scols_unref_table(tb);
}
