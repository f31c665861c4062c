// SPDX-License-Identifier: GPL-2.0-only
/*
 * The place of a device's blocks on the set beneath it. Each device on the way is a layer: the set,
 * a disk of another kind, a partition, or a mapping with the lines of its table.
 */
#include <errno.h>
#include <libdevmapper.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "below.h"
#include "device.h"
#include "dm-task.h"
#include "error.h"
#include "size.h"
#include "sysfs.h"

#define MAX_DEPTH	16
#define MAX_LAYERS	256

struct layer {
	dev_t devno;
	enum { IS_SET, IS_ELSEWHERE, IS_MAPPING } kind;
	struct below_line *line;	/* a partition has one */
	size_t nr;
	unsigned int *child;		/* the layer of each leg, BELOW_LEGS for a line */
};

struct below {
	char set[128];
	struct layer layer[MAX_LAYERS];	/* the first is the device itself */
	unsigned int nr;
};

static int add(struct below *b, dev_t devno, unsigned int depth, unsigned int *index);

static int no_memory(void)
{
	return fus_fail(FC_FAILED, "memory", "not enough for the layers beneath a file system; "
			"close programs and try again");
}

/* -- the kinds of layers ---------------------------------------------------------------------- */

static struct below_line *add_line(struct layer *l)
{
	struct below_line *line = realloc(l->line, (l->nr + 1) * sizeof(*line));

	if (!line)
		return NULL;
	l->line = line;
	line = &line[l->nr++];
	memset(line, 0, sizeof(*line));
	return line;
}

static int add_partition(struct layer *l, dev_t disk)
{
	struct below_line *line = add_line(l);
	char start[32] = "", size[32] = "", node[160];

	if (!line)
		return no_memory();
	fus_sysfs_read(l->devno, "start", start, sizeof(start));
	fus_sysfs_read(l->devno, "size", size, sizeof(size));
	line->nr_legs = 1;
	line->leg[0].devno = disk;
	if (fus_parse_number(start, UINT64_MAX >> 9, &line->leg[0].sector) &&
	    fus_parse_number(size, UINT64_MAX >> 9, &line->length) && line->length) {
		line->chunk = line->length;
		return 0;
	}
	fus_device_node(l->devno, node, sizeof(node));
	return fus_fail(FC_FAILED, node, "cannot read from sysfs where this partition lies; see "
			"lsblk");
}

static int cannot_follow(dev_t devno, const char *kind)
{
	char node[160];

	fus_device_node(devno, node, sizeof(node));
	return fus_fail(FC_REFUSED, node, "blocks cannot be followed through a device of type %s; "
			"only partitions and mappings of type linear, crypt and striped can", kind);
}

static int found_set(struct below *b, struct layer *l, const char *name)
{
	l->kind = IS_SET;
	if (!*b->set || !strcmp(b->set, name)) {
		snprintf(b->set, sizeof(b->set), "%s", name);
		return 0;
	}
	return fus_fail(FC_REFUSED, name, "the file system lies on the set %s as well; only one "
			"set beneath a file system can be followed", b->set);
}

static int read_table(struct below *b, struct layer *l, struct dm_task *t, const char *name)
{
	char *target = NULL, *params = NULL;
	struct below_line *line;
	uint64_t start, length;
	void *next = NULL;

	do {
		next = dm_get_next_target(t, next, &start, &length, &target, &params);
		if (target && !strcmp(target, "fusion"))
			return found_set(b, l, name);
		line = add_line(l);
		if (!line)
			return no_memory();
		line->start = start;
		line->length = length;
		/* so that bytes are numbers */
		if (!target || !params || !length || length > UINT64_MAX >> 9 ||
		    !fus_below_parse(target, params, line))
			return cannot_follow(l->devno, target ? target : "none");
	} while (next);
	return 0;
}

static int add_mapping(struct below *b, struct layer *l, const char *name)
{
	struct dm_task *t = fus_dm_task(DM_DEVICE_TABLE, name);
	int err = -ENOMEM, rc;

	/* a table of type crypt has a key */
	if (t && dm_task_secure_data(t))
		err = fus_dm_run(t);
	rc = err ? fus_fail(FC_FAILED, name, "the device mapper reports: %s; see dmesg",
			    strerror(-err)) : read_table(b, l, t, name);
	if (t)
		dm_task_destroy(t);
	return rc;
}

/* -- the way down ----------------------------------------------------------------------------- */

/* The device of each leg. */
static int add_children(struct below *b, struct layer *l, unsigned int depth)
{
	int rc = 0;

	l->child = calloc(l->nr * BELOW_LEGS, sizeof(*l->child));
	if (!l->child)
		return no_memory();
	for (size_t i = 0; i < l->nr && !rc; i++)
		for (unsigned int k = 0; k < l->line[i].nr_legs && !rc; k++)
			rc = add(b, l->line[i].leg[k].devno, depth + 1,
				 &l->child[i * BELOW_LEGS + k]);
	return rc;
}

static int look_at(struct below *b, struct layer *l, unsigned int depth)
{
	dev_t disk = fus_sysfs_disk(l->devno);
	char name[128];
	int rc = 0;

	l->kind = IS_MAPPING;
	if (disk != l->devno)
		rc = add_partition(l, disk);
	else if (fus_sysfs_read(l->devno, "dm/name", name, sizeof(name)))
		rc = add_mapping(b, l, name);
	else if (fus_sysfs_has(l->devno, "md"))
		rc = cannot_follow(l->devno, "md");
	else if (fus_sysfs_has(l->devno, "loop"))
		rc = cannot_follow(l->devno, "loop");
	else if (fus_sysfs_any(l->devno, "slaves", NULL, NULL))
		rc = cannot_follow(l->devno, "unknown");
	else
		l->kind = IS_ELSEWHERE;
	return rc || l->kind != IS_MAPPING ? rc : add_children(b, l, depth);
}

static int add(struct below *b, dev_t devno, unsigned int depth, unsigned int *index)
{
	char node[160];

	for (*index = 0; *index < b->nr; ++*index)
		if (b->layer[*index].devno == devno)
			return 0;
	if (depth == MAX_DEPTH || b->nr == MAX_LAYERS) {
		fus_device_node(devno, node, sizeof(node));
		return fus_fail(FC_REFUSED, node, "blocks cannot be followed through more than "
				"%d layers or %d devices; see lsblk", MAX_DEPTH, MAX_LAYERS);
	}
	b->layer[b->nr].devno = devno;
	return look_at(b, &b->layer[b->nr++], depth);
}

int fus_below_open(dev_t devno, struct below **out)
{
	struct below *b = calloc(1, sizeof(*b));
	char node[160];
	unsigned int first;
	int rc;

	*out = NULL;
	if (!b)
		return no_memory();
	rc = add(b, devno, 0, &first);
	if (!rc && !*b->set) {
		fus_device_node(devno, node, sizeof(node));
		rc = fus_fail(FC_FAILED, node, "does not lie on an open fusion set; see fusionctl "
			      "list");
	}
	if (rc)
		fus_below_close(b);
	else
		*out = b;
	return rc;
}

void fus_below_close(struct below *b)
{
	for (unsigned int i = 0; b && i < b->nr; i++) {
		free(b->layer[i].line);
		free(b->layer[i].child);
	}
	free(b);
}

const char *fus_below_set(const struct below *b)
{
	return b->set;
}

/* -- a block ---------------------------------------------------------------------------------- */

/* The line that has the sector; NULL if none has. */
static const struct below_line *line_of(const struct layer *l, uint64_t sector)
{
	size_t low = 0, high = l->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct below_line *line = &l->line[mid];

		if (sector < line->start)
			high = mid;
		else if (sector - line->start >= line->length)
			low = mid + 1;
		else
			return line;
	}
	return NULL;
}

/* One layer down. Return: NULL if the part lies on nothing there. */
static const struct layer *down(const struct below *b, const struct layer *l,
				struct below_part *part)
{
	const struct below_line *line = line_of(l, part->at >> 9);
	uint64_t within, sector, run;
	unsigned int leg = 0;

	if (!line)
		return NULL;
	within = (part->at >> 9) - line->start;
	run = line->length - within;
	if (line->nr_legs)
		leg = fus_below_leg(line, within, &sector, &run);
	run = (run << 9) - part->at % 512;
	if (run < part->bytes)
		part->bytes = run;
	if (!line->nr_legs)
		return NULL;
	part->at = (sector << 9) + part->at % 512;
	return &b->layer[l->child[(line - l->line) * BELOW_LEGS + leg]];
}

struct below_part fus_below_find(const struct below *b, uint64_t at, uint64_t bytes)
{
	struct below_part part = { .bytes = bytes, .at = at };
	const struct layer *l = &b->layer[0];

	while (l && l->kind == IS_MAPPING)
		l = down(b, l, &part);
	part.on_set = l && l->kind == IS_SET;
	return part;
}
