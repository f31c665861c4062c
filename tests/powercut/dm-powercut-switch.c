// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-powercut: the switch. One worker serves the commands of all members, so the
 * power goes for all between the same two of them.
 */
#include <linux/device-mapper.h>
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dm-powercut.h"

const char *const powercut_fate_names[POWERCUT_FATES] = {
	"any", "drop", "keep", "whole", "torn",
};

const char *const powercut_role_names[POWERCUT_ROLES] = { "fast", "slow", "third" };

static LIST_HEAD(switches);
static DEFINE_MUTEX(switches_mutex);	/* covers the list and refs */

/* -- the worker -------------------------------------------------------------------- */

static void cut(struct powercut *pc)
{
	unsigned int role;

	for (role = 0; role < POWERCUT_ROLES; role++)
		if (pc->present[role])
			powercut_disk_cut(&pc->disk[role], pc->fate, &pc->random);
	pc->on = false;
	pc->cut_in = 0;
	pc->cuts++;
}

/* Discards are advice: sometimes nothing is done. */
static int discard(struct powercut *pc, struct powercut_disk *disk, struct bio *bio)
{
	if (prandom_u32_state(&pc->random) & 1)
		return 0;
	return powercut_disk_zero(disk, bio->bi_iter.bi_sector, bio_sectors(bio), false);
}

/* Is this the command with which the power goes? */
static bool is_last(struct powercut *pc, enum powercut_role role)
{
	pc->commands++;
	if (!pc->cut_in || (pc->cut_of != POWERCUT_ROLES && pc->cut_of != role))
		return false;
	return !--pc->cut_in;
}

static int serve_change(struct powercut *pc, struct powercut_disk *disk, struct bio *bio)
{
	bool last = is_last(pc, powercut_bio(bio)->role);
	/* The last command was not acknowledged: nothing is promised about it. */
	bool fua = bio->bi_opf & REQ_FUA && !last;
	u64 sector = bio->bi_iter.bi_sector;
	int r = 0;

	if (!bio_sectors(bio)) {
		if (!last)
			powercut_disk_flush(disk);
	} else if (bio_op(bio) == REQ_OP_DISCARD) {
		r = discard(pc, disk, bio);
	} else if (bio_op(bio) == REQ_OP_WRITE_ZEROES) {
		r = powercut_disk_zero(disk, sector, bio_sectors(bio), fua);
	} else {
		r = powercut_disk_write(disk, bio, sector, fua);
	}
	if (last) {
		cut(pc);
		r = -EIO;
	}
	return r;
}

static int serve(struct powercut *pc, struct bio *bio)
{
	struct powercut_disk *disk = &pc->disk[powercut_bio(bio)->role];

	if (!pc->on)
		return -EIO;
	if (op_is_write(bio_op(bio)) || op_is_flush(bio->bi_opf))
		return serve_change(pc, disk, bio);
	powercut_disk_read(disk, bio, bio->bi_iter.bi_sector);
	return 0;
}

/* The next to serve: any of the oldest. */
static struct bio *next_bio(struct powercut *pc)
{
	struct bio *bio = NULL;
	unsigned int i;

	spin_lock_irq(&pc->lock);
	while (pc->nr_ready < POWERCUT_DEPTH && (bio = bio_list_pop(&pc->queue)))
		pc->ready[pc->nr_ready++] = bio;
	bio = NULL;
	if (pc->nr_ready) {
		i = prandom_u32_state(&pc->pick) % pc->nr_ready;
		bio = pc->ready[i];
		pc->ready[i] = pc->ready[--pc->nr_ready];
	}
	spin_unlock_irq(&pc->lock);
	return bio;
}

static void powercut_work(struct work_struct *work)
{
	struct powercut *pc = container_of(work, struct powercut, work);
	unsigned int noio = memalloc_noio_save();
	struct bio *bio;

	while ((bio = next_bio(pc))) {
		mutex_lock(&pc->mutex);
		bio->bi_status = errno_to_blk_status(serve(pc, bio));
		mutex_unlock(&pc->mutex);
		bio_endio(bio);
		cond_resched();
	}
	memalloc_noio_restore(noio);
}

void powercut_queue(struct powercut *pc, struct bio *bio)
{
	unsigned long flags;

	spin_lock_irqsave(&pc->lock, flags);
	bio_list_add(&pc->queue, bio);
	spin_unlock_irqrestore(&pc->lock, flags);
	queue_work(pc->wq, &pc->work);
}

/* -- members come and go -------------------------------------------------------------- */

static void set_seed(struct powercut *pc, u64 seed)
{
	pc->seed = seed;
	prandom_seed_state(&pc->random, seed);
	spin_lock_irq(&pc->lock);
	prandom_seed_state(&pc->pick, seed);
	spin_unlock_irq(&pc->lock);
}

static struct powercut *find_switch(const char *name)
{
	struct powercut *pc;

	list_for_each_entry(pc, &switches, list)
		if (!strcmp(pc->name, name))
			return pc;
	return NULL;
}

static struct powercut *new_switch(const char *name)
{
	struct powercut *pc = kzalloc(sizeof(*pc), GFP_KERNEL);

	if (!pc)
		return NULL;
	pc->name = kstrdup(name, GFP_KERNEL);
	pc->wq = alloc_ordered_workqueue("powercut", WQ_MEM_RECLAIM);
	if (!pc->name || !pc->wq) {
		if (pc->wq)
			destroy_workqueue(pc->wq);
		kfree(pc->name);
		kfree(pc);
		return NULL;
	}
	INIT_WORK(&pc->work, powercut_work);
	spin_lock_init(&pc->lock);
	mutex_init(&pc->mutex);
	bio_list_init(&pc->queue);
	set_seed(pc, 0);
	pc->on = true;
	list_add(&pc->list, &switches);
	return pc;
}

static void put_switch(struct powercut *pc)
{
	if (pc->refs)
		return;
	list_del(&pc->list);
	destroy_workqueue(pc->wq);
	kfree(pc->name);
	kfree(pc);
}

struct powercut *powercut_join(const char *name, enum powercut_role role, u64 sectors,
			       char **error)
{
	struct powercut *pc;
	int r = -ENOMEM;

	mutex_lock(&switches_mutex);
	pc = find_switch(name) ?: new_switch(name);
	if (!pc) {
		*error = "Cannot allocate the switch";
		goto out;
	}
	mutex_lock(&pc->mutex);
	if (pc->present[role]) {
		*error = "The switch has such a member already";
		r = -EBUSY;
	} else {
		r = powercut_disk_init(&pc->disk[role], sectors);
		if (r)
			*error = "Cannot allocate the member";
	}
	pc->present[role] |= !r;
	mutex_unlock(&pc->mutex);
	if (r)
		put_switch(pc);
	else
		pc->refs++;
out:
	mutex_unlock(&switches_mutex);
	return r ? ERR_PTR(r) : pc;
}

void powercut_leave(struct powercut *pc, enum powercut_role role)
{
	mutex_lock(&switches_mutex);
	mutex_lock(&pc->mutex);
	pc->present[role] = false;
	powercut_disk_exit(&pc->disk[role]);
	mutex_unlock(&pc->mutex);
	pc->refs--;
	put_switch(pc);
	mutex_unlock(&switches_mutex);
}

/* -- messages -------------------------------------------------------------------------- */

static int save(struct powercut *pc, unsigned int nr, int (*move)(struct powercut_disk *disk,
								  unsigned int nr))
{
	unsigned int role;
	int r = 0;

	if (pc->on) {
		DMERR("message: cut the power first");
		return -EBUSY;
	}
	for (role = 0; role < POWERCUT_ROLES && !r; role++)
		if (pc->present[role])
			r = move(&pc->disk[role], nr);
	return r;
}

static int lie(struct powercut *pc, const char *who)
{
	unsigned int role;
	int liar = match_string(powercut_role_names, POWERCUT_ROLES, who);

	if (liar < 0 && strcmp(who, "none"))
		return -EINVAL;
	for (role = 0; role < POWERCUT_ROLES; role++)
		pc->disk[role].lies = role == liar;
	return 0;
}

static void arm(struct powercut *pc, u64 number, enum powercut_role role)
{
	pc->cut_in = number;
	pc->cut_of = role;
}

static int message_one(struct powercut *pc, const char *word)
{
	if (!strcmp(word, "cut")) {
		if (pc->on)
			cut(pc);
	} else if (!strcmp(word, "restore")) {
		pc->on = true;
	} else {
		return -EINVAL;
	}
	return 0;
}

static int message_two(struct powercut *pc, const char *word, const char *arg)
{
	u64 number;
	int fate;

	if (!strcmp(word, "lie"))
		return lie(pc, arg);
	if (!strcmp(word, "fate")) {
		fate = match_string(powercut_fate_names, POWERCUT_FATES, arg);
		if (fate < 0)
			return -EINVAL;
		pc->fate = fate;
		return 0;
	}
	if (kstrtou64(arg, 10, &number))
		return -EINVAL;
	if (!strcmp(word, "arm"))
		arm(pc, number, POWERCUT_ROLES);
	else if (!strcmp(word, "seed"))
		set_seed(pc, number);
	else if (!strcmp(word, "save") && number < POWERCUT_SAVES)
		return save(pc, number, powercut_disk_save);
	else if (!strcmp(word, "load") && number < POWERCUT_SAVES)
		return save(pc, number, powercut_disk_load);
	else
		return -EINVAL;
	return 0;
}

static int message_three(struct powercut *pc, char **argv)
{
	int role = match_string(powercut_role_names, POWERCUT_ROLES, argv[2]);
	u64 number;

	if (strcmp(argv[0], "arm") || role < 0 || kstrtou64(argv[1], 10, &number))
		return -EINVAL;
	arm(pc, number, role);
	return 0;
}

int powercut_message(struct powercut *pc, unsigned int argc, char **argv, char *result,
		     unsigned int maxlen)
{
	int r = -EINVAL;

	mutex_lock(&pc->mutex);
	if (argc == 1)
		r = message_one(pc, argv[0]);
	else if (argc == 2)
		r = message_two(pc, argv[0], argv[1]);
	else if (argc == 3)
		r = message_three(pc, argv);
	mutex_unlock(&pc->mutex);
	if (r == -EINVAL)
		DMERR("message: unknown: %s%s%s", argv[0], argc > 1 ? " " : "",
		      argc > 1 ? argv[1] : "");
	return r;
}

void powercut_counters(struct powercut *pc, enum powercut_role role, char *result,
		       unsigned int maxlen)
{
	const struct powercut_disk *disk = &pc->disk[role];
	unsigned int sz = 0;

	mutex_lock(&pc->mutex);
	DMEMIT("power=%s armed=%llu commands=%llu cuts=%llu seed=%llu fate=%s lies=%d",
	       pc->on ? "on" : "off", pc->cut_in, pc->commands, pc->cuts,
	       pc->seed, powercut_fate_names[pc->fate], disk->lies);
	DMEMIT(" reads=%llu writes=%llu fuas=%llu discards=%llu flushes=%llu",
	       disk->reads, disk->writes, disk->fuas, disk->discards, disk->flushes);
	DMEMIT(" cached=%zu kept=%llu dropped=%llu", disk->cache_bytes, disk->kept,
	       disk->dropped);
	mutex_unlock(&pc->mutex);
}
