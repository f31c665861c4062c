// SPDX-License-Identifier: GPL-2.0-only
/*
 * What fusionctl replace asks device mapper, udev and the disks, answered for the set that the
 * module has open in this world: open-host.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "busy.h"
#include "device.h"
#include "fusionctl.h"
#include "open-set.h"
#include "open-host.h"
#include "pausing.h"
#include "../disk.h"

#define HEAD_BLOCKS	(FUSION_GUARD_SECTORS / FUSION_BLOCK_SECTORS)

struct tool_set *tool_set;

/* -- tables ----------------------------------------------------------------------- */

static void put_in_place(const struct tool_table *t)
{
	struct sim_disk *disk[SIM_MAX_DISKS];
	int i;

	for (i = 0; i < SIM_MAX_DISKS; i++)
		disk[i] = tool_disk(i);
	for (i = 0; i < SIM_MAX_DISKS; i++) {
		world->disk[i] = disk[t->disk[i]];
		tool_place[t->disk[i]] = i;
	}
}

struct tool_table tool_table_with(int fast, int slow, int old_role)
{
	return (struct tool_table){ { fast, slow, 3 - fast - slow }, old_role };
}

int tool_make(const struct tool_table *t, struct sim_dev **dev)
{
	const struct setup *s = tool_set->setup;
	char options[sizeof(s->options) + 32];

	put_in_place(t);
	/* two more words than without: see make_setup() */
	if (t->old_role < 0)
		snprintf(options, sizeof(options), "%s", s->options);
	else
		snprintf(options, sizeof(options), "22%s old_%s old", s->options + 2,
			 t->old_role == FUSION_FAST ? "fast" : "slow");
	return sim_dev_create(dev, &s->sb, options, false);
}

static struct tool_table parse(const char *params)
{
	unsigned int fast, slow;
	int old_role = -1;

	if (sscanf(params, "%*u:%u %*u:%u", &fast, &slow) != 2)
		sim_fail("fusionctl loads the table \"%s\"", params);
	if (strstr(params, " old_fast "))
		old_role = FUSION_FAST;
	else if (strstr(params, " old_slow "))
		old_role = FUSION_SLOW;
	return tool_table_with(fast - 1, slow - 1, old_role);
}

/* As undo() in lib/dm-table.c: after a table that could not be resumed. */
static bool again(const struct dm_line *line)
{
	struct tool_table t;

	if (!line)
		return false;
	t = parse(line->params);
	if (tool_make(&t, &tool_set->dev))
		return false;
	if (sim_dev_resume(tool_set->dev)) {
		sim_dev_destroy(tool_set->dev);
		return false;
	}
	tool_set->table = t;
	return true;
}

/* As write_checkpoint() there. */
static void write_checkpoint(void)
{
	struct fusion_status st;
	char text[512];

	sim_dev_info(tool_set->dev, text, sizeof(text));
	if (!fus_parse_status(text, &st) && !st.errors[FAST] && !st.errors[SLOW])
		sim_dev_message(tool_set->dev, "checkpoint");
}

int __wrap_fus_dm_exchange(const char *name, struct dm_exchange *x);
int __wrap_fus_dm_exchange(const char *name, struct dm_exchange *x)
{
	const struct tool_table was = tool_set->table, next = parse(x->next->params);
	struct sim_dev *dev;
	int r = tool_make(&next, &dev);

	if (r) {
		put_in_place(&was);
		return r;
	}
	write_checkpoint();
	sim_dev_suspend(tool_set->dev);
	r = sim_dev_resume(dev);
	sim_dev_destroy(tool_set->dev);
	tool_set->dev = dev;
	tool_set->table = next;
	if (!r)
		return 0;
	sim_dev_destroy(dev);
	if (again(x->now))
		return r;
	if (again(x->next))
		return 0;
	x->is_back = again(x->back);
	x->stuck = !x->is_back;
	return r;
}

int __wrap_fus_dm_get_set(const char *name, enum mapping_info what, struct mapping *m);
int __wrap_fus_dm_get_set(const char *name, enum mapping_info what, struct mapping *m)
{
	const struct tool_table *t = &tool_set->table;
	char old[32] = "";

	memset(m, 0, sizeof(*m));
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->target, sizeof(m->target), "fusion");
	m->sectors = (u64)tool_set->setup->sb.nr_lexts * EXTENT_SECTORS;
	m->exists = true;
	m->live = true;
	if (t->old_role >= 0)
		snprintf(old, sizeof(old), " old_%s %u:%u", t->old_role ? "slow" : "fast",
			 TOOL_MAJOR, t->disk[SIM_THIRD] + 1);
	if (what == MAPPING_TABLE &&
	    asprintf(&m->params, "%u:%u %u:%u %u%s", TOOL_MAJOR, t->disk[FUSION_FAST] + 1,
		     TOOL_MAJOR, t->disk[FUSION_SLOW] + 1, *old ? 2 : 0, old) < 0)
		abort();
	return 0;
}

int __wrap_fus_set_get(const char *name, struct set *set);
int __wrap_fus_set_get(const char *name, struct set *set)
{
	const struct tool_table *t = &tool_set->table;
	const char *why;
	char text[512];

	memset(set, 0, sizeof(*set));
	__wrap_fus_dm_get_set(name, MAPPING_INFO, &set->m);
	set->member[FAST] = tool_devno(t->disk[FUSION_FAST]);
	set->member[SLOW] = tool_devno(t->disk[FUSION_SLOW]);
	set->old_role = t->old_role;
	set->old = t->old_role < 0 ? 0 : tool_devno(t->disk[SIM_THIRD]);
	sim_dev_info(tool_set->dev, text, sizeof(text));
	why = fus_parse_status(text, &set->st);
	if (why)
		sim_fail("fusionctl does not understand \"%s\": %s", text, why);
	return 0;
}

int __wrap_fus_send_message(const char *name, const char *msg, char **answer, char *reason,
			    size_t size);
int __wrap_fus_send_message(const char *name, const char *msg, char **answer, char *reason,
			    size_t size)
{
	*answer = NULL;
	snprintf(reason, size, "none");
	return sim_dev_message(tool_set->dev, msg);
}

int __wrap_fus_tell_set(const char *name, const char *msg, char **answer);
int __wrap_fus_tell_set(const char *name, const char *msg, char **answer)
{
	*answer = NULL;
	return sim_dev_message(tool_set->dev, msg);
}

/* -- disks ------------------------------------------------------------------------ */

int __wrap_fus_member_at(dev_t devno, struct member **m)
{
	const int nr = tool_disk_with(devno);
	struct fusion_sb sb;

	*m = NULL;
	if (!sim_disk_super_seen(tool_disk(nr), &sb))
		return 0;
	*m = calloc(1, sizeof(**m));
	(*m)->sb = malloc(sizeof(sb));
	*(*m)->sb = sb;
	(*m)->devno = devno;
	(*m)->sectors = tool_disk(nr)->sectors;
	(*m)->state = !(sb.incompat & FUSION_INCOMPAT_OLD_MEMBER) ? MEMBER_OK :
		      sb.old.state == FUSION_OLD_PREPARED ? MEMBER_PREPARED :
		      sb.old.state == FUSION_OLD_LEFT ? MEMBER_LEFT : MEMBER_OK;
	snprintf((*m)->path, sizeof((*m)->path), "%s", tool_path[nr]);
	return 0;
}

int __wrap_fus_device_get(const char *path, struct device *dev);
int __wrap_fus_device_get(const char *path, struct device *dev)
{
	int nr = 0;

	while (strcmp(path, tool_path[nr]))
		nr++;
	*dev = (struct device){
		.path = strdup(path), .devno = tool_devno(nr), .disk = tool_devno(nr),
		.base = tool_devno(nr), .sectors = tool_disk(nr)->sectors, .block_bytes = 512,
	};
	return 0;
}

void __wrap_fus_device_node(dev_t devno, char *buf, size_t size);
void __wrap_fus_device_node(dev_t devno, char *buf, size_t size)
{
	snprintf(buf, size, "%s", tool_path[tool_disk_with(devno)]);
}

bool __wrap_fus_device_same(const struct device *a, const struct device *b);
bool __wrap_fus_device_same(const struct device *a, const struct device *b)
{
	return a->devno == b->devno;
}

int __wrap_fus_device_claim(const struct device *dev, int *fd);
int __wrap_fus_device_claim(const struct device *dev, int *fd)
{
	const int place = tool_place[tool_disk_with(dev->devno)];

	if (place != SIM_THIRD || tool_set->table.old_role >= 0)
		sim_fail("fusionctl claims a disk that is in use");
	*fd = -1;
	return 0;
}

int __wrap_fus_device_open(const struct device *dev, int flags);
int __wrap_fus_device_open(const struct device *dev, int flags)
{
	return TOOL_FIRST_FD + tool_disk_with(dev->devno);
}

int __wrap_fus_erase(const struct device *dev, int fd);
int __wrap_fus_erase(const struct device *dev, int fd)
{
	struct sim_disk *disk = tool_disk(tool_disk_with(dev->devno));
	const u8 zeros[FUSION_BLOCK_SIZE] = { 0 };
	u32 nr;

	for (nr = 0; nr < min_t(u32, HEAD_BLOCKS, sim_disk_blocks(disk)); nr++)
		sim_disk_set_block(disk, nr, zeros);
	tool_written();
	return 0;
}

bool __wrap_fus_device_user(dev_t devno, struct user *user);
bool __wrap_fus_device_user(dev_t devno, struct user *user)
{
	return false;
}

int __wrap_fus_probe_signature(const struct device *dev, bool *found, char *buf, size_t size);
int __wrap_fus_probe_signature(const struct device *dev, bool *found, char *buf, size_t size)
{
	*found = false;
	*buf = 0;
	return 0;
}

/* -- what is of no interest here -------------------------------------------------- */

int __wrap_fus_open_node(const char *path, dev_t devno, int flags);
int __wrap_fus_open_node(const char *path, dev_t devno, int flags)
{
	return -1;
}

int __wrap_fus_host_watch_devices(const struct device *dev, int nr);
int __wrap_fus_host_watch_devices(const struct device *dev, int nr)
{
	return 0;
}

int __wrap_fus_run_lock(const char *path, int *lock);
int __wrap_fus_run_lock(const char *path, int *lock)
{
	*lock = -1;
	return 0;
}

void __wrap_fus_backup_changed(dev_t fast);
void __wrap_fus_backup_changed(dev_t fast)
{
}

int __wrap_fus_record_write(const struct member *m);
int __wrap_fus_record_write(const struct member *m)
{
	return 0;
}

void __wrap_fus_opened_write(const struct member *a, const struct member *b);
void __wrap_fus_opened_write(const struct member *a, const struct member *b)
{
}

void __wrap_fus_gpt_tell_mark(const struct device *dev);
void __wrap_fus_gpt_tell_mark(const struct device *dev)
{
}

/* Only the set waits, not the rig. A power cut ends the command in between. The types are its. */
typeof(pausing_begin) __wrap_pausing_begin;
int __wrap_pausing_begin(struct pausing *p, size_t bytes)
{
	return 0;
}

typeof(pausing_reason) __wrap_pausing_reason;
void __wrap_pausing_reason(struct pausing *p, char *reason)
{
	*reason = 0;
}

typeof(pausing_end) __wrap_pausing_end;
void __wrap_pausing_end(struct pausing *p, bool stays)
{
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	msleep(time->tv_sec * 1000 + time->tv_nsec / 1000000);
	return 0;
}

