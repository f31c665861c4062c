// SPDX-License-Identifier: GPL-2.0-only
/* Transfers by fio(1), one for each run of it, and its report as JSON. */
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fio.h"
#include "error.h"
#include "fusionctl.h"
#include "program.h"

#define MOST_TEXT	(1024U * 1024)	/* fio's report has some 7 KiB */
#define MOST_PATH	4096

struct report {
	char *text;
	size_t size;
	bool failed;		/* memory was short, or it is too long */
};

static void keep_line(const char *line, void *ctx)
{
	struct report *r = ctx;
	size_t len = strlen(line);
	char *text;

	if (r->failed)
		return;
	text = r->size + len + 2 > MOST_TEXT ? NULL : realloc(r->text, r->size + len + 2);
	r->failed = !text;
	if (!text)
		return;
	r->text = text;
	memcpy(text + r->size, line, len);
	r->size += len;
	text[r->size++] = '\n';
	text[r->size] = 0;
}

int fio_find(char version[FIO_VERSION])
{
	const char *const argv[] = { "fio", "--version", NULL };

	if (!fus_program_exists("fio"))
		return fus_fail(FC_FAILED, "fio", "not installed; apt install fio");
	if (fus_program_say(argv, version, FIO_VERSION) || strncmp(version, "fio-", 4))
		return fus_fail(FC_FAILED, "fio", "its version cannot be read; apt install "
				"--reinstall fio");
	memmove(version, version + 4, strlen(version + 4) + 1);
	return 0;
}

/* fio takes a colon as the end of a name, and a backslash as the begin of such a character. */
static bool quote(const char *path, char *buf, size_t size)
{
	size_t n = 0;

	for (; *path && n + 2 < size; path++) {
		if (*path == ':' || *path == '\\')
			buf[n++] = '\\';
		buf[n++] = *path;
	}
	buf[n] = 0;
	return !*path;
}

static bool get_double(struct json_object *o, const char *key, double *v)
{
	struct json_object *field;

	if (!json_object_object_get_ex(o, key, &field) ||
	    !(json_object_is_type(field, json_type_double) ||
	      json_object_is_type(field, json_type_int)))
		return false;
	*v = json_object_get_double(field);
	return isfinite(*v) && *v >= 0;
}

static const char *read_job(struct json_object *job, bool write, struct fio_result *r)
{
	struct json_object *side, *latency;
	double error, bytes, ios, mean;

	if (!get_double(job, "error", &error))
		return "its report has no error number";
	if (error)
		return strerror(error < 4096 ? (int)error : 0);
	if (!json_object_object_get_ex(job, write ? "write" : "read", &side) ||
	    !get_double(side, "io_bytes", &bytes) || !get_double(side, "total_ios", &ios) ||
	    !json_object_object_get_ex(side, "lat_ns", &latency) ||
	    !get_double(latency, "mean", &mean))
		return "its report has no latency";
	*r = (struct fio_result) { .bytes = bytes, .seconds = mean * ios / 1e9 };
	return NULL;
}

/* The first line in which fio complains, or what is wrong with the report. */
static const char *complaint(const char *text)
{
	static char line[256];
	const char *said = strstr(text, "fio: ");

	if (!said)
		return "it prints no report";
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(said + 5, "\n"), said + 5);
	return line;
}

const char *fio_parse(const char *text, bool write, struct fio_result *r)
{
	const char *begin = strchr(text, '{'), *why;
	struct json_object *o, *jobs;

	*r = (struct fio_result) { 0 };
	/* before it, and behind it, may be lines about what is unusual */
	o = begin ? json_tokener_parse(begin) : NULL;
	if (!o)
		return complaint(text);
	if (!json_object_object_get_ex(o, "jobs", &jobs) ||
	    !json_object_is_type(jobs, json_type_array) || json_object_array_length(jobs) != 1)
		why = "its report has no job";
	else
		why = read_job(json_object_array_get_idx(jobs, 0), write, r);
	json_object_put(o);
	return why;
}

int fio_run(const struct fio_job *job, struct fio_result *r)
{
	uint64_t block = job->bytes / fio_blocks(job->bytes);
	char path[2 * MOST_PATH + 16] = "--filename=", bs[32], size[48], at[48];
	const char *const argv[] = {
		"fio", "--name=bench", path, job->write ? "--rw=write" : "--rw=read", bs, size, at,
		"--ioengine=psync", "--direct=1", "--thread=1", "--fallocate=none",
		/* a write that is not durable would be paid for by the next transfer */
		job->write ? "--end_fsync=1" : "--end_fsync=0",
		job->zeros ? "--zero_buffers=1" : "--refill_buffers=1",
		/* no two blocks alike, also from run to run: a disk may keep equal ones once */
		"--randrepeat=0", "--invalidate=1", "--output-format=json",
		job->create ? "--allow_file_create=1" : "--allow_file_create=0", NULL
	};
	struct report report = { 0 };
	const char *why;
	int rc;

	if (!quote(job->path, path + strlen(path), sizeof(path) - strlen(path)))
		return fus_fail(FC_FAILED, job->name, "its name is too long for fio; use a shorter "
				"one");
	snprintf(bs, sizeof(bs), "--bs=%" PRIu64, block);
	snprintf(size, sizeof(size), "--size=%" PRIu64, job->bytes);
	snprintf(at, sizeof(at), "--offset=%" PRIu64, job->at);
	if (fus_program_tied(argv, keep_line, &report) < 0 || report.failed)
		why = "ended abnormally";
	else
		why = fio_parse(report.text ? report.text : "", job->write, r);
	if (why && job->stopped())
		rc = FC_FAILED;
	else
		rc = why ? fus_fail(FC_FAILED, job->name, "fio cannot %s: %s; see dmesg",
				    job->write ? "write" : "read", why) : 0;
	free(report.text);
	return rc;
}
