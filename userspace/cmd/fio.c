// SPDX-License-Identifier: GPL-2.0-only
/* Transfers and loads by fio(1), one for each run of it, and its report as JSON. */
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

/* What a run is for, in messages, and who wants to have its reports. */
struct purpose {
	const char *name, *verb;
	bool (*stopped)(void);
	const struct fio_load *each;	/* wants to have each of several; or NULL */
};

struct report {
	const struct purpose *p;
	char *text;
	size_t size;
	bool failed;		/* memory was short, or it is too long */
	bool ended;		/* as who has the reports wants it */
};

/* Return: whether fio may go on. */
static bool keep_line(const char *line, void *ctx)
{
	struct report *r = ctx;
	const struct fio_load *load = r->p->each;
	size_t len = strlen(line);
	struct fio_side side[2];
	char *text;

	/* another one begins */
	if (!strcmp(line, "{"))
		r->size = 0;
	text = r->size + len + 2 > MOST_TEXT ? NULL : realloc(r->text, r->size + len + 2);
	r->failed = !text;
	if (!text)
		return false;
	r->text = text;
	memcpy(text + r->size, line, len);
	r->size += len;
	text[r->size++] = '\n';
	text[r->size] = 0;
	if (load && !strcmp(line, "}") && !fio_parse_load(text, side))
		r->ended = !load->each(side, load->ctx);
	return !r->ended;
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

/* One direction of a job. Return: whether all is there. */
static bool read_side(struct json_object *job, const char *direction, struct fio_side *side)
{
	struct json_object *o, *latency, *percentiles;
	double bytes, ios, ms;

	if (!json_object_object_get_ex(job, direction, &o) ||
	    !get_double(o, "io_bytes", &bytes) || !get_double(o, "total_ios", &ios) ||
	    !get_double(o, "runtime", &ms) || !json_object_object_get_ex(o, "lat_ns", &latency) ||
	    !get_double(latency, "mean", &side->mean))
		return false;
	side->bytes = bytes;
	side->ios = ios;
	side->seconds = ms / 1e3;
	side->mean /= 1e9;
	/* only if it was asked for, and there were I/Os */
	if (json_object_object_get_ex(latency, "percentile", &percentiles) &&
	    get_double(percentiles, "99.000000", &side->p99))
		side->p99 /= 1e9;
	return true;
}

/* NULL, or the fault. */
static const char *read_job(struct json_object *job, struct fio_side side[2])
{
	double error;

	if (!get_double(job, "error", &error))
		return "its report has no error number";
	if (error)
		return strerror(error < 4096 ? (int)error : 0);
	if (!read_side(job, "read", &side[0]) || !read_side(job, "write", &side[1]))
		return "its report has no latency";
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

const char *fio_parse_load(const char *text, struct fio_side side[2])
{
	const char *begin = strchr(text, '{'), *why;
	struct json_object *o, *jobs;

	memset(side, 0, 2 * sizeof(*side));
	/* before it, and behind it, may be lines about what is unusual */
	o = begin ? json_tokener_parse(begin) : NULL;
	if (!o)
		return complaint(text);
	if (!json_object_object_get_ex(o, "jobs", &jobs) ||
	    !json_object_is_type(jobs, json_type_array) || json_object_array_length(jobs) != 1)
		why = "its report has no job";
	else
		why = read_job(json_object_array_get_idx(jobs, 0), side);
	json_object_put(o);
	return why;
}

struct fio_result fio_result_of(const struct fio_side *side)
{
	return (struct fio_result) { .bytes = side->bytes, .seconds = side->mean * side->ios };
}

/* Run it, and read its report. Return: 0 or an exit code. Silent about what was to end. */
static int run(const char *const argv[], const struct purpose *p, struct fio_side side[2])
{
	struct report report = { .p = p };
	const char *why;
	int rc = 0;

	if (fus_program_tied(argv, keep_line, &report) < 0 || report.failed)
		why = "ended abnormally";
	else
		why = report.text ? fio_parse_load(report.text, side) : "it prints nothing";
	if (why)
		rc = report.ended || p->stopped() ? FC_FAILED :
		     fus_fail(FC_FAILED, p->name, "fio cannot %s: %s; see dmesg", p->verb, why);
	free(report.text);
	return rc;
}

/* "--filename=" and the path of a target */
static int file_option(const char *path, const char *name, char *buf, size_t size)
{
	int n = snprintf(buf, size, "--filename=");

	return quote(path, buf + n, size - n) ? 0 :
	       fus_fail(FC_FAILED, name, "its name is too long for fio; use a shorter one");
}

int fio_run(const struct fio_job *job, struct fio_result *r)
{
	uint64_t block = job->bytes / fio_blocks(job->bytes);
	char path[2 * MOST_PATH + 16], bs[32], size[48], at[48];
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
	const struct purpose purpose = { job->name, job->write ? "write" : "read", job->stopped,
					 NULL };
	int rc = file_option(job->path, job->name, path, sizeof(path));
	struct fio_side side[2];

	if (rc)
		return rc;
	snprintf(bs, sizeof(bs), "--bs=%" PRIu64, block);
	snprintf(size, sizeof(size), "--size=%" PRIu64, job->bytes);
	snprintf(at, sizeof(at), "--offset=%" PRIu64, job->at);
	rc = run(argv, &purpose, side);
	if (!rc)
		*r = fio_result_of(&side[job->write]);
	return rc;
}

int fio_run_load(const struct fio_load *load, struct fio_side side[2])
{
	const struct fio_shape *s = &load->shape;
	const bool reads = s->read_percent, writes = s->read_percent < 100;
	/* a device is opened for writing only if that is asked for */
	const char *rw = !writes ? "read" : reads ? "rw" : "write";
	const struct purpose purpose = {
		load->name, !writes ? "read" : reads ? "read and write" : "write", load->stopped,
		load->each ? load : NULL
	};
	char path[2 * MOST_PATH + 16], bs[256], size[48], depth[32], mix[32], time[32], how[32];
	char every[48];
	const char *const argv[] = {
		"fio", "--name=bench", path, how, mix, bs, size, depth, time,
		s->zoned ? "--random_distribution=zoned:50/5:30/15:20/80" :
			   "--random_distribution=random",
		"--time_based=1", "--ioengine=libaio", "--direct=1", "--thread=1",
		"--norandommap=1",
		"--fallocate=none", "--end_fsync=1", "--refill_buffers=1", "--randrepeat=0",
		"--allrandrepeat=0", "--invalidate=1",
		load->create ? "--allow_file_create=1" : "--allow_file_create=0",
		"--clat_percentiles=0", "--lat_percentiles=1", "--percentile_list=99",
		"--output-format=json", load->each ? every : NULL, NULL
	};
	int rc = file_option(load->path, load->name, path, sizeof(path));

	if (rc)
		return rc;
	if (s->block)
		snprintf(bs, sizeof(bs), "--bs=%" PRIu64, s->block);
	else
		snprintf(bs, sizeof(bs), "--bssplit=%s", s->sizes);
	snprintf(size, sizeof(size), "--size=%" PRIu64, load->bytes);
	snprintf(depth, sizeof(depth), "--iodepth=%u", s->depth);
	snprintf(mix, sizeof(mix), "--rwmixread=%u", s->read_percent);
	snprintf(time, sizeof(time), "--runtime=%u", load->seconds);
	snprintf(how, sizeof(how), "--rw=%s%s", s->sequential ? "" : "rand", rw);
	snprintf(every, sizeof(every), "--status-interval=%u", load->every);
	return run(argv, &purpose, side);
}

int fio_run_replay(const struct fio_replay *replay, struct fio_side side[2])
{
	const struct purpose purpose = { replay->name, "read", replay->stopped, NULL };
	char log[MOST_PATH + 32];
	const char *const argv[] = {
		"fio", "--name=bench", log, "--replay_no_stall=1", "--iodepth=1",
		"--ioengine=psync", "--direct=1", "--thread=1", "--invalidate=1",
		"--allow_file_create=0", "--clat_percentiles=0", "--lat_percentiles=1",
		"--percentile_list=99", "--output-format=json", NULL
	};
	int rc;

	snprintf(log, sizeof(log), "--read_iolog=%s", replay->log);
	rc = run(argv, &purpose, side);
	if (!rc)
		side[0].seconds = fio_result_of(&side[0]).seconds;
	return rc;
}
