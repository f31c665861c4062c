// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads that were recorded.
 *
 * fio's iolog (write_iolog=, or blkparse -d and fio --read_iolog): version 2, lines of
 * "FILE ACTION OFFSET LENGTH", and 3, which has milliseconds before. Offsets count from the
 * beginning of the set; of several files all lie there.
 *
 * The text of blkparse: requests as they are queued (Q).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "sim.h"
#include "size.h"

#define MAX_RECORDS	(2048ULL << 20)

struct parser {
	const char *path;
	u64 line;
	u32 extent_bytes;
	u64 first_ns;
	u64 clock_ns;		/* for records without a time: the sum of the waits */
	bool begun;
	struct sim_trace *t;
};

static int bad_line(const struct parser *p, const char *what)
{
	char thing[4200];

	snprintf(thing, sizeof(thing), "%s, line %" PRIu64, p->path, (uint64_t)p->line);
	return fus_fail(FC_FAILED, thing, "%s; give a trace of fio (write_iolog) or the text of "
			"blkparse", what);
}

static int append(struct parser *p, const struct sim_record *record)
{
	struct sim_trace *t = p->t;
	struct sim_record *more;

	if (t->nr == t->room) {
		u64 room = t->room ? 2 * t->room : 4096;

		more = room <= MAX_RECORDS ? realloc(t->record, room * sizeof(*more)) : NULL;
		if (!more)
			return fus_fail(FC_FAILED, p->path, "too many lines for this machine's "
					"memory; cut it shorter");
		t->record = more;
		t->room = room;
	}
	t->record[t->nr++] = *record;
	return 0;
}

/* One request; as the block layer does, it is split where an extent ends. */
static int add(struct parser *p, u64 ns, u64 byte, u64 bytes, bool write)
{
	struct sim_record r = { .write = write };
	int rc;

	if (byte > 1ULL << 60 || bytes > 1ULL << 40)
		return bad_line(p, "an offset or a length beyond all disks");
	if (!p->begun) {
		p->begun = true;
		p->first_ns = ns;
	}
	/* several CPUs' lines may be out of order by a little */
	r.ns = ns > p->first_ns ? ns - p->first_ns : 0;
	if (p->t->nr && r.ns < p->t->record[p->t->nr - 1].ns)
		r.ns = p->t->record[p->t->nr - 1].ns;
	while (bytes) {
		u64 left = p->extent_bytes - byte % p->extent_bytes;

		r.byte = byte;
		r.bytes = bytes < left ? bytes : left;
		rc = append(p, &r);
		if (rc)
			return rc;
		byte += r.bytes;
		bytes -= r.bytes;
		if (byte > p->t->end_byte)
			p->t->end_byte = byte;
	}
	return 0;
}

static bool number(const char *word, u64 *v)
{
	uint64_t n;

	if (!word || !fus_parse_number(word, UINT64_MAX, &n))
		return false;
	*v = n;
	return true;
}

static int parse_fio(struct parser *p, char *line, bool timed)
{
	char *rest = line, *word[6];
	u64 ms = 0, offset, length;
	int n = 0;

	while (n < 6 && (word[n] = strsep(&rest, " \t")))
		n += !!*word[n];
	if (!n)
		return 0;
	if (timed && !number(word[0], &ms))
		return bad_line(p, "no time in milliseconds at its beginning");
	if (timed && ms > 1ULL << 42)
		return bad_line(p, "a time beyond all clocks");
	if (n - timed < 2)
		return bad_line(p, "fewer words than a file and an action");
	memmove(word, word + timed, (n - timed) * sizeof(word[0]));
	n -= timed;
	if (!strcmp(word[1], "wait")) {
		/* microseconds, in the place of the offset */
		if (n < 3 || !number(word[2], &offset) || offset > 1ULL << 50)
			return bad_line(p, "no time to wait");
		p->clock_ns += offset * 1000;
		p->t->timed = true;
		return 0;
	}
	if (strcmp(word[1], "read") && strcmp(word[1], "write")) {
		p->t->skipped += n > 2;
		return 0;
	}
	if (n < 4 || !number(word[2], &offset) || !number(word[3], &length))
		return bad_line(p, "no offset and length");
	return add(p, timed ? ms * SIM_MS : p->clock_ns, offset, length, *word[1] == 'w');
}

/* "8,0  3  1  0.000000000  697  Q  WS 223490 + 8 [kjournald]" */
static int parse_blkparse(struct parser *p, const char *line)
{
	uint64_t s, sector, sectors;
	char action[8], rwbs[16];
	unsigned int ns;

	/* a summary follows the events */
	if (sscanf(line, "%*u,%*u %*u %*u %12" SCNu64 ".%9u %*d %7s %15s %19" SCNu64 " + %12"
		   SCNu64, &s, &ns, action, rwbs, &sector, &sectors) != 6) {
		p->t->skipped++;
		return 0;
	}
	if (strcmp(action, "Q"))
		return 0;
	if (strchr(rwbs, 'D') || (!strchr(rwbs, 'R') && !strchr(rwbs, 'W')) || !sectors) {
		p->t->skipped++;
		return 0;
	}
	if (sector > 1ULL << 51 || sectors > 1ULL << 31 || s > 1ULL << 32)
		return bad_line(p, "a sector or a time beyond all disks");
	return add(p, s * SIM_S + ns, sector * 512, sectors * 512, !!strchr(rwbs, 'W'));
}

static int parse(struct parser *p, FILE *f)
{
	enum { UNKNOWN, FIO2, FIO3, BLKPARSE } format = UNKNOWN;
	struct sim_trace *t = p->t;
	size_t room = 0;
	char *line = NULL;
	unsigned int a, b;
	ssize_t n;
	int rc = 0;

	while (!rc && (n = getline(&line, &room, f)) >= 0) {
		p->line++;
		if (n && line[n - 1] == '\n')
			line[n - 1] = 0;
		if (format == FIO2 || format == FIO3) {
			rc = parse_fio(p, line, format == FIO3);
		} else if (format == BLKPARSE) {
			rc = parse_blkparse(p, line);
		} else if (!strcmp(line, "fio version 2 iolog")) {
			format = FIO2;
			t->format = "fio iolog version 2";
		} else if (!strcmp(line, "fio version 3 iolog")) {
			format = FIO3;
			t->format = "fio iolog version 3";
			t->timed = true;
		} else if (sscanf(line, "%u,%u %*u %*u %*u.", &a, &b) == 2) {
			format = BLKPARSE;
			t->format = "blkparse";
			t->timed = true;
			rc = parse_blkparse(p, line);
		} else if (line[strspn(line, " \t\r")]) {
			rc = bad_line(p, "neither fio's iolog version 2 or 3 nor blkparse");
		}
	}
	free(line);
	if (!rc && ferror(f))
		rc = fus_fail(FC_FAILED, p->path, "cannot read: %s; check that it is a file",
			      strerror(errno));
	if (!rc && !t->nr)
		rc = fus_fail(FC_FAILED, p->path, "no reads and writes in it; give a trace of fio "
			      "(write_iolog) or the text of blkparse");
	return rc;
}

int sim_trace_load(const char *path, u32 extent_bytes, struct sim_trace *t)
{
	struct parser p = { .path = path, .extent_bytes = extent_bytes, .t = t };
	FILE *f = fopen(path, "re");
	int rc;

	memset(t, 0, sizeof(*t));
	if (!f)
		return fus_fail(FC_FAILED, path, "%s; give a file that can be read",
				strerror(errno));
	rc = parse(&p, f);
	fclose(f);
	if (rc)
		sim_trace_free(t);
	return rc;
}

void sim_trace_free(struct sim_trace *t)
{
	free(t->record);
	memset(t, 0, sizeof(*t));
}
