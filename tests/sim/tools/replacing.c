// SPDX-License-Identifier: GPL-2.0-only
/*
 * fusionctl replace on an open set, which the module has open in this world, with the power cut at
 * any write of either. What fusionctl asks device mapper, udev and the disks is answered here; all
 * else of the verb is the real one.
 *
 * After each cut the tool's own search for three disks tells how to open the set, which has all its
 * content then. The command is given again, or --abort, and has to come to its end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "assemble.h"
#include "busy.h"
#include "device.h"
#include "dm.h"
#include "fusionctl.h"
#include "open-set.h"
#include "scan.h"
#include "super.h"
#include "trio.h"
#include "../disk.h"
#include "../invariants.h"
#include "tool.h"

#define MAJOR_NR	250
#define HEAD_BLOCKS	(FUSION_GUARD_SECTORS / FUSION_BLOCK_SECTORS)

/* What stands where: numbers of disks by their places in the world. */
struct table {
	int disk[SIM_MAX_DISKS];
	int old_role;		/* of the old member, or -1: the table names none */
};

static struct rig {
	const struct life *life;
	const struct image *image;
	struct tally *tally;
	enum fusion_dev role;	/* of the member that is replaced */
	u32 one_in;		/* changes of a disk after which power is cut */
	struct sim_dev *dev;
	struct table table;
} *rig;

static dev_t devno_of(int disk)
{
	return makedev(MAJOR_NR, disk + 1);
}

static int disk_with(dev_t devno)
{
	return minor(devno) - 1;
}

static struct sim_disk *disk_nr(int nr)
{
	return world->disk[tool_place[nr]];
}

/* -- tables ----------------------------------------------------------------------------------- */

static void put_in_place(const struct table *t)
{
	struct sim_disk *disk[SIM_MAX_DISKS];
	int i;

	for (i = 0; i < SIM_MAX_DISKS; i++)
		disk[i] = disk_nr(i);
	for (i = 0; i < SIM_MAX_DISKS; i++) {
		world->disk[i] = disk[t->disk[i]];
		tool_place[t->disk[i]] = i;
	}
}

static struct table table_with(int fast, int slow, int old_role)
{
	return (struct table){ { fast, slow, 3 - fast - slow }, old_role };
}

static int make(const struct table *t, struct sim_dev **dev)
{
	const struct setup *s = rig->life->setup;
	char options[sizeof(s->options) + 32];

	put_in_place(t);
	/* two more words than without: see make_setup() */
	if (t->old_role < 0)
		snprintf(options, sizeof(options), "%s", s->options);
	else
		snprintf(options, sizeof(options), "18%s old_%s old", s->options + 2,
			 t->old_role == FUSION_FAST ? "fast" : "slow");
	return sim_dev_create(dev, &s->sb, options, false);
}

static struct table parse(const char *params)
{
	unsigned int fast, slow;
	int old_role = -1;

	if (sscanf(params, "%*u:%u %*u:%u", &fast, &slow) != 2)
		sim_fail("fusionctl loads the table \"%s\"", params);
	if (strstr(params, " old_fast "))
		old_role = FUSION_FAST;
	else if (strstr(params, " old_slow "))
		old_role = FUSION_SLOW;
	return table_with(fast - 1, slow - 1, old_role);
}

/* As reload() in lib/dm.c: after a table that could not be resumed. */
static bool again(const struct dm_line *line)
{
	struct table t;

	if (!line)
		return false;
	t = parse(line->params);
	if (make(&t, &rig->dev))
		return false;
	if (sim_dev_resume(rig->dev)) {
		sim_dev_destroy(rig->dev);
		return false;
	}
	rig->table = t;
	return true;
}

int __wrap_fus_dm_exchange(const char *name, struct dm_exchange *x);
int __wrap_fus_dm_exchange(const char *name, struct dm_exchange *x)
{
	const struct table was = rig->table, next = parse(x->next->params);
	struct sim_dev *dev;
	int r = make(&next, &dev);

	if (r) {
		put_in_place(&was);
		return r;
	}
	sim_dev_suspend(rig->dev);
	r = sim_dev_resume(dev);
	sim_dev_destroy(rig->dev);
	rig->dev = dev;
	rig->table = next;
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
	const struct table *t = &rig->table;
	char old[32] = "";

	memset(m, 0, sizeof(*m));
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->target, sizeof(m->target), "fusion");
	m->sectors = (u64)rig->life->setup->sb.nr_lexts * EXTENT_SECTORS;
	m->exists = true;
	m->live = true;
	if (t->old_role >= 0)
		snprintf(old, sizeof(old), " old_%s %u:%u", t->old_role ? "slow" : "fast",
			 MAJOR_NR, t->disk[SIM_THIRD] + 1);
	if (what == MAPPING_TABLE &&
	    asprintf(&m->params, "%u:%u %u:%u %u%s", MAJOR_NR, t->disk[FUSION_FAST] + 1, MAJOR_NR,
		     t->disk[FUSION_SLOW] + 1, *old ? 2 : 0, old) < 0)
		abort();
	return 0;
}

int __wrap_fus_set_get(const char *name, struct set *set);
int __wrap_fus_set_get(const char *name, struct set *set)
{
	const struct table *t = &rig->table;
	const char *why;
	char text[512];

	memset(set, 0, sizeof(*set));
	__wrap_fus_dm_get_set(name, MAPPING_INFO, &set->m);
	set->member[FAST] = devno_of(t->disk[FUSION_FAST]);
	set->member[SLOW] = devno_of(t->disk[FUSION_SLOW]);
	set->old_role = t->old_role;
	set->old = t->old_role < 0 ? 0 : devno_of(t->disk[SIM_THIRD]);
	sim_dev_info(rig->dev, text, sizeof(text));
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
	return sim_dev_message(rig->dev, msg);
}

int __wrap_fus_tell_set(const char *name, const char *msg, char **answer);
int __wrap_fus_tell_set(const char *name, const char *msg, char **answer)
{
	*answer = NULL;
	return sim_dev_message(rig->dev, msg);
}

/* -- disks ------------------------------------------------------------------------------------ */

int __wrap_fus_member_at(dev_t devno, struct member **m);
int __wrap_fus_member_at(dev_t devno, struct member **m)
{
	const int nr = disk_with(devno);
	struct fusion_sb sb;

	*m = NULL;
	if (!sim_disk_super_seen(disk_nr(nr), &sb))
		return 0;
	*m = calloc(1, sizeof(**m));
	(*m)->sb = malloc(sizeof(sb));
	*(*m)->sb = sb;
	(*m)->devno = devno;
	(*m)->sectors = disk_nr(nr)->sectors;
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
		.path = strdup(path), .devno = devno_of(nr), .disk = devno_of(nr),
		.base = devno_of(nr), .sectors = disk_nr(nr)->sectors, .block_bytes = 512,
	};
	return 0;
}

void __wrap_fus_device_node(dev_t devno, char *buf, size_t size);
void __wrap_fus_device_node(dev_t devno, char *buf, size_t size)
{
	snprintf(buf, size, "%s", tool_path[disk_with(devno)]);
}

bool __wrap_fus_device_same(const struct device *a, const struct device *b);
bool __wrap_fus_device_same(const struct device *a, const struct device *b)
{
	return a->devno == b->devno;
}

int __wrap_fus_device_claim(const struct device *dev, int *fd);
int __wrap_fus_device_claim(const struct device *dev, int *fd)
{
	const int place = tool_place[disk_with(dev->devno)];

	if (place != SIM_THIRD || rig->table.old_role >= 0)
		sim_fail("fusionctl claims a disk that is in use");
	*fd = -1;
	return 0;
}

int __wrap_fus_device_open(const struct device *dev, int flags);
int __wrap_fus_device_open(const struct device *dev, int flags)
{
	return TOOL_FIRST_FD + disk_with(dev->devno);
}

int __wrap_fus_erase(const struct device *dev, int fd);
int __wrap_fus_erase(const struct device *dev, int fd)
{
	struct sim_disk *disk = disk_nr(disk_with(dev->devno));
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

/* -- what is of no interest here ---------------------------------------------------------------- */

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

int __wrap_fus_kmsg_open(void);
int __wrap_fus_kmsg_open(void)
{
	return -1;
}

void __wrap_fus_kmsg_reason(int fd, char *buf, size_t size);
void __wrap_fus_kmsg_reason(int fd, char *buf, size_t size)
{
	*buf = 0;
}

int __wrap_mlockall(int flags);
int __wrap_mlockall(int flags)
{
	return 0;
}

int __wrap_munlockall(void);
int __wrap_munlockall(void)
{
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	msleep(time->tv_sec * 1000 + time->tv_nsec / 1000000);
	return 0;
}

/* -- opening ------------------------------------------------------------------------------------ */

static struct member *all_members(void)
{
	struct member *list = NULL, **tail = &list;
	int nr;

	for (nr = 0; nr < SIM_MAX_DISKS; nr++) {
		__wrap_fus_member_at(devno_of(nr), tail);
		if (*tail)
			tail = &(*tail)->next;
	}
	fus_set_apart(list);
	return list;
}

/* As fusionctl finds it; nobody helps. Fails the run unless it opens, and has its content. */
static void open_found(const char *when)
{
	struct member *list = all_members(), *m = list;
	struct pair p;
	int fast, slow, r;

	while (m && !fus_has_identity(m))
		m = m->next;
	if (!m || find_pair(list, m, &p) || !is_complete(&p))
		sim_fail("%s: fusionctl does not find the disks of the set", when);
	/* p.foreign: the old disk, if power failed before that was told that it has left */
	fast = disk_with((p.m->sb->role == FUSION_FAST ? p.m : p.peer)->devno);
	slow = disk_with((p.m->sb->role == FUSION_FAST ? p.peer : p.m)->devno);
	rig->table = table_with(fast, slow, p.old ? (int)p.old->sb->role : -1);
	fus_free_members(list);
	r = make(&rig->table, &rig->dev);
	if (!r)
		r = sim_dev_resume(rig->dev);
	if (r)
		sim_fail("%s: the kernel refuses the disks that fusionctl finds: %d", when, r);
	check_invariants(sim_dev_private(rig->dev));
	image_check(rig->life, rig->dev, rig->image->content, NULL, when);
}

/* -- a command ----------------------------------------------------------------------------------- */

static void complain_of(const struct tool_result *r, const char *what)
{
	sim_fail("replace: %s; status %d: %.300s%.300s", what, r->rc, r->err, r->out);
}

/* Which disk is the member now? */
static bool is_new(void)
{
	return rig->table.disk[rig->role] == SIM_THIRD;
}

/* It has joined, and the command does not wait. */
static void begin(void)
{
	struct tool_result r;

	tool_replace(&r, rig->role, TOOL_NO_WAIT);
	if (r.rc)
		complain_of(&r, "it does not begin");
	tool_end(&r);
}

/* To the end, whatever was before; then nothing is left of the disk that is none of the set. */
static void command(bool abort)
{
	struct tool_result r;
	struct fusion_sb sb;

	tool_replace(&r, rig->role, abort ? TOOL_ABORT : 0);
	if (abort && r.rc && (strstr(r.err, "no member of it is being replaced") ||
			      strstr(r.err, "--wait to end that")))
		abort = false;
	else if (!abort && r.rc && strstr(r.err, "moves from new to"))
		abort = true;
	else if (r.rc)
		complain_of(&r, "it does not end");
	if (r.rc) {
		/* too late for the one, or too early for the other */
		tool_end(&r);
		tool_replace(&r, rig->role, abort ? TOOL_ABORT : 0);
	}
	if (r.rc)
		complain_of(&r, "it does not end the second time");
	if (is_new() == abort)
		complain_of(&r, "it ends, with the wrong member");
	if (rig->table.old_role >= 0)
		complain_of(&r, "it ends, and there is an old member");
	if (sim_disk_super_seen(world->disk[SIM_THIRD], &sb) && fusion_sb_apart(&sb))
		complain_of(&r, "it ends, and a disk that has left is not wiped");
	tool_end(&r);
	check_invariants(sim_dev_private(rig->dev));
	image_check(rig->life, rig->dev, rig->image->content, NULL, "after the command");
}

static void shut(void)
{
	sim_dev_remove(rig->dev);
	rig->dev = NULL;
}

/* Power has failed; or the command has ended. */
static void go_on(void *arg)
{
	const bool *power_failed = arg;

	open_found(*power_failed ? "after the cut" : "closed");
	if (!*power_failed)
		goto out;
	/* perhaps after it was closed once more */
	if (!rnd_below(&world->rng, 4)) {
		shut();
		open_found("opened twice");
	}
	command(!rnd_below(&world->rng, 3));
	shut();
	open_found("in the end");
out:
	shut();
}

/* In a world of its own, with the same tables, which are another world's to change. */
static void in_another_world(bool power_failed)
{
	struct sim_world *from = world, *w = sim_world_new(rnd(&world->rng));
	struct rig inner = *rig, *outer = rig;
	u8 place[SIM_MAX_DISKS];
	int i;

	memcpy(place, tool_place, sizeof(place));
	for (i = 0; i < SIM_MAX_DISKS; i++)
		w->disk[i] = sim_disk_after_cut(from->disk[i], power_failed ?
						rnd_below(&w->rng, SIM_NR_LOSSES) : SIM_LOSE_NONE,
						&w->rng, false);
	rig = &inner;
	sim_run(go_on, &power_failed);
	sim_world_free(w);
	rig = outer;
	memcpy(tool_place, place, sizeof(place));
}

static void cut(struct sim_world *w, void *ctx)
{
	if (rnd_below(&w->rng, rig->one_in))
		return;
	rig->tally->replacing_cut++;
	in_another_world(true);
}

static void whole(void *arg)
{
	open_found("at first");
	world->cut = cut;
	if (rnd_below(&world->rng, 2)) {
		begin();
		command(true);
	}
	command(false);
	/* once more: nothing is to be done */
	command(false);
	shut();
	world->cut = NULL;
}

/* Of another life, perhaps, with as much room or more. */
static struct sim_disk *new_disk(const struct sim_disk *member)
{
	struct sim_disk *disk = disk_alloc(member);
	u32 i;

	for (i = 0; i < sim_disk_blocks(member); i++)
		sim_disk_set_block(disk, i, sim_disk_block(member, i));
	disk->tears = false;
	sim_disk_lose_data(disk, &world->rng);
	if (rnd_below(&world->rng, 2))
		disk->sectors += EXTENT_SECTORS * rnd_below(&world->rng, 4);
	/* no member of this set, as fusionctl does not let one be used */
	sim_disk_set_block(disk, FUSION_SUPER_BLOCKNR(0), (u8[FUSION_BLOCK_SIZE]){ 0 });
	sim_disk_set_block(disk, FUSION_SUPER_BLOCKNR(1), (u8[FUSION_BLOCK_SIZE]){ 0 });
	return disk;
}

void replacing_all(const struct life *life, u32 one_in, struct tally *t)
{
	const struct image *images[] = { &life->closed, &life->cut };
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(images); i++) {
		struct rig r = {
			.life = life,
			.image = images[i / 2],
			.tally = t,
			.role = i & 1,
			.one_in = one_in,
		};

		rig = &r;
		image_enter(r.image);
		for (int nr = 0; nr < SIM_MAX_DISKS; nr++)
			tool_place[nr] = nr;
		world->disk[SIM_THIRD] = new_disk(world->disk[r.role]);
		sim_run(whole, NULL);
		in_another_world(false);
		t->replaced++;
		image_leave();
		for (int nr = 0; nr < SIM_MAX_DISKS; nr++)
			tool_place[nr] = nr;
	}
}
