// SPDX-License-Identifier: GPL-2.0-only
/* Verb doctor: find what keeps sets from opening, now or at boot. */
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "error.h"
#include "fsck.h"
#include "fusionctl.h"
#include "health.h"
#include "json.h"
#include "meta.h"
#include "output.h"
#include "size.h"
#include "terminal.h"
#include "text.h"
#include "verb.h"

static char *path_of(const struct doctor *d, char buf[PATH_TEXT], const char *fmt, va_list ap)
{
	int n = snprintf(buf, PATH_TEXT, "%s", d->dir);

	if (n >= 0 && n < PATH_TEXT)
		vsnprintf(buf + n, PATH_TEXT - n, fmt, ap);
	return buf;
}

char *doctor_path(const struct doctor *d, char buf[PATH_TEXT], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	path_of(d, buf, fmt, ap);
	va_end(ap);
	return buf;
}

bool doctor_has(const struct doctor *d, const char *fmt, ...)
{
	char path[PATH_TEXT];
	struct stat st;
	va_list ap;

	va_start(ap, fmt);
	path_of(d, path, fmt, ap);
	va_end(ap);
	/* a link there may well lead to where it only makes sense in that system */
	return !lstat(path, &st);
}

static void add_finding(struct doctor *d, enum health level, const char *subject,
			const char *text, const char *remedy)
{
	struct json_object *o = json_object_new_object();

	fus_json_add_str(o, "level", fus_health_name[level]);
	fus_json_add_str(o, "subject", subject);
	fus_json_add_str(o, "text", text);
	fus_json_add_str(o, "remedy", remedy);
	json_object_array_add(d->findings, o);
}

static void print_finding(const struct doctor *d, enum health level, const char *subject,
			  const char *text, const char *remedy)
{
	static const char *const color[NR_HEALTHS] = { "32", "36", "33", "31" };
	char line[1024], safe[2 * sizeof(line)];

	snprintf(line, sizeof(line), "%s: %s%s%s", subject, text, remedy ? "; " : "",
		 remedy ? remedy : "");
	fus_safe_text(safe, sizeof(safe), line, sizeof(line), fus_utf8_output());
	if (d->color != COLOR_NONE)
		printf("\033[%sm%-7s\033[m  %s\n", color[level], fus_health_name[level], safe);
	else
		printf("%-7s  %s\n", fus_health_name[level], safe);
	fflush(stdout);	/* the next one may take a second */
}

void doctor_say(struct doctor *d, enum health level, const char *subject, const char *remedy,
		const char *fmt, ...)
{
	char text[768];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->count[level]++;
	if (d->findings)
		add_finding(d, level, subject, text, remedy);
	else
		print_finding(d, level, subject, text, remedy);
}

struct json_object *doctor_json(const struct doctor *d)
{
	struct json_object *o = fus_json_base();

	fus_json_add_u64(o, "errors", d->count[HEALTH_ERROR]);
	fus_json_add_u64(o, "warnings", d->count[HEALTH_WARNING]);
	fus_json_add_bool(o, "root_on_set", d->root_on_set);
	json_object_object_add(o, "findings", d->findings);
	return o;
}

void doctor_system(struct doctor *d)
{
	doctor_root(d);	/* first, because the others use root_on_set */
	doctor_kernels(d);
	doctor_boot(d);
}

/* The directory that stands for /, as an absolute path, because other programs get it. */
static int choose_dir(struct doctor *d, const char *dir, char buf[PATH_MAX])
{
	struct stat st;

	d->running = !dir;
	d->dir = "";
	if (!dir)
		return 0;
	if (!realpath(dir, buf) || stat(buf, &st))
		return fus_fail(FC_FAILED, dir, "%s; give the directory where the system is "
				"mounted", strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return fus_fail(FC_FAILED, dir, "not a directory; give the one where the system is "
				"mounted");
	if (strcmp(buf, "/"))
		d->dir = buf;
	else
		d->running = true;
	return 0;
}

int cmd_doctor(const struct args *a)
{
	struct doctor d = { 0 };
	char dir[PATH_MAX];
	int rc;

	rc = choose_dir(&d, a->opt[OPT_ROOT], dir);
	if (!rc)
		rc = color_mode(NULL, &d.color);
	if (rc)
		return fsck_code(rc);
	if (a->opt[OPT_JSON])
		d.findings = json_object_new_array();
	doctor_system(&d);
	rc = doctor_sets(&d);
	if (rc) {
		json_object_put(d.findings);
		return fsck_code(rc);
	}
	if (d.findings)
		print_json(doctor_json(&d), false);
	else
		printf("%u error%s, %u warning%s\n", d.count[HEALTH_ERROR],
		       fus_plural(d.count[HEALTH_ERROR]), d.count[HEALTH_WARNING],
		       fus_plural(d.count[HEALTH_WARNING]));
	return d.count[HEALTH_ERROR] ? FSCK_ERRORS : d.count[HEALTH_WARNING] ? FSCK_MINOR : 0;
}
