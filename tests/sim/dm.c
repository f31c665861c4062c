// SPDX-License-Identifier: GPL-2.0-only
/*
 * The core of device-mapper, as far as one target on two disks sees it: a table line,
 * suspend and resume, messages, and how bios are split and cloned.
 */
#include <stdio.h>
#include <linux/device-mapper.h>

#include "sim.h"

struct sim_dev {
	struct dm_target ti;
	struct dm_dev member[SIM_MAX_DISKS];
	struct block_device path[SIM_MAX_DISKS];	/* used where the world is shared */
	bool read_only;
	bool blocked;		/* new I/O waits */
	bool suspended;
	bool removed;
	unsigned int in_flight;
	unsigned int holders;	/* tasks that have found the device, and are not done with it */
	u64 messages;		/* begun */
	u64 message_ended[4];	/* numbers of those under way; 0: none */
	wait_queue_head_t wait;
};

/* In front of the target's own data per bio. */
struct clone {
	struct sim_io *io;
};

struct sim_io {
	struct sim_dev *dev;
	u32 len;		/* sectors the target takes of the clone being mapped */
	unsigned int pending;
	int error;
	struct completion done;
};

static struct target_type *target;

int dm_register_target(struct target_type *type)
{
	target = type;
	return 0;
}

void dm_unregister_target(struct target_type *type)
{
	target = NULL;
}

/* -- what a constructor asks ----------------------------------------------------- */

int dm_get_device(struct dm_target *ti, const char *path, fmode_t mode, struct dm_dev **result)
{
	struct sim_dev *dev = container_of(ti, struct sim_dev, ti);
	unsigned int i = !strcmp(path, "slow") ? FUSION_SLOW : !strcmp(path, "old") ? SIM_THIRD :
			 FUSION_FAST;

	snprintf(dev->member[i].name, sizeof(dev->member[i].name), "%s", path);
	dev->member[i].bdev = sim_disk_bdev(world->disk[i]);
	/* each machine has a path of its own */
	if (world->shared) {
		dev->path[i] = *dev->member[i].bdev;
		dev->member[i].bdev = &dev->path[i];
	}
	*result = &dev->member[i];
	return 0;
}

void dm_put_device(struct dm_target *ti, struct dm_dev *dev)
{
	dev->bdev = NULL;
}

int dm_set_target_max_io_len(struct dm_target *ti, sector_t len)
{
	ti->max_io_len = len;
	return 0;
}

const char *dm_shift_arg(struct dm_arg_set *as)
{
	if (!as->argc)
		return NULL;
	as->argc--;
	return *as->argv++;
}

int dm_read_arg_group(const struct dm_arg *arg, struct dm_arg_set *as, unsigned int *argc,
		      char **error)
{
	const char *s = dm_shift_arg(as);
	u32 n;

	if (!s || kstrtou32(s, 10, &n) || n < arg->min || n > arg->max || n > as->argc) {
		*error = arg->error;
		return -EINVAL;
	}
	*argc = n;
	return 0;
}

struct mapped_device *dm_table_get_md(struct dm_table *table)
{
	return (struct mapped_device *)table;
}

struct gendisk *dm_disk(struct mapped_device *md)
{
	return (struct gendisk *)md;
}

int get_disk_ro(struct gendisk *disk)
{
	return ((struct sim_dev *)disk)->read_only;
}

int dm_suspended(struct dm_target *ti)
{
	return container_of(ti, struct sim_dev, ti)->suspended;
}

/* -- life ------------------------------------------------------------------------ */

#define MAX_ARGS	32

static unsigned int split_words(char *text, char **argv)
{
	unsigned int n = 0;
	char *word, *save;

	for (word = strtok_r(text, " ", &save); word && n < MAX_ARGS;
	     word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	return n;
}

int sim_dev_create(struct sim_dev **result, const struct fusion_sb *sb, const char *args,
		   bool read_only)
{
	struct sim_dev *dev = sim_alloc(sizeof(*dev), true);
	char *argv[MAX_ARGS], text[384];
	int r;

	dev->ti.type = target;
	dev->ti.table = (struct dm_table *)dev;
	dev->ti.len = (u64)sb->nr_lexts * sb->extent_sectors;
	dev->read_only = read_only;
	dev->blocked = true;
	dev->suspended = true;
	snprintf(text, sizeof(text), "fast slow %s", args);
	r = target->ctr(&dev->ti, split_words(text, argv), argv);
	if (r) {
		sim_log("ctr: %d: %s", r, dev->ti.error);
		sim_free(dev);
		return r;
	}
	sim_points_forget(world);
	*result = dev;
	return 0;
}

int sim_dev_load(struct sim_dev *dev)
{
	world->quiet = false;
	sim_points_forget(world);
	return target->preresume(&dev->ti);
}

void sim_dev_start(struct sim_dev *dev)
{
	target->resume(&dev->ti);
	dev->suspended = false;
	dev->blocked = false;
	wake_up_all(&dev->wait);
}

int sim_dev_resume(struct sim_dev *dev)
{
	int r = sim_dev_load(dev);

	if (!r)
		sim_dev_start(dev);
	return r;
}

/* Have all messages ended that had begun before the @nr-th? */
static bool messages_before_ended(const struct sim_dev *dev, u64 nr)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(dev->message_ended); i++)
		if (dev->message_ended[i] && dev->message_ended[i] <= nr)
			return false;
	return true;
}

void sim_dev_suspend(struct sim_dev *dev)
{
	u64 nr;

	target->presuspend(&dev->ti);
	dev->blocked = true;
	nr = dev->messages;	/* they hold the table, as bios do */
	wait_event(dev->wait, messages_before_ended(dev, nr));
	wait_event(dev->wait, !dev->in_flight);
	dev->suspended = true;
	/* again, for a task that has not seen that */
	nr = dev->messages;
	wait_event(dev->wait, messages_before_ended(dev, nr));
	target->postsuspend(&dev->ti);
	world->quiet = true;
}

void sim_dev_destroy(struct sim_dev *dev)
{
	wait_event(dev->wait, messages_before_ended(dev, dev->messages));
	target->dtr(&dev->ti);
	sim_free(dev);
}

void sim_dev_get(struct sim_dev *dev)
{
	dev->holders++;
}

void sim_dev_put(struct sim_dev *dev)
{
	dev->holders--;
	wake_up_all(&dev->wait);
}

/*
 * What dm_destroy() does with a table that is not suspended: it waits for a sender of messages only
 * before the end of the device, not before the end of postsuspend.
 */
void sim_dev_remove(struct sim_dev *dev)
{
	dev->removed = true;
	sim_point();
	target->presuspend(&dev->ti);
	dev->suspended = true;
	sim_point();
	target->postsuspend(&dev->ti);
	world->quiet = true;
	wait_event(dev->wait, !dev->holders);
	sim_dev_destroy(dev);
}

void *sim_dev_private(struct sim_dev *dev)
{
	return dev->ti.private;
}

int sim_dev_message(struct sim_dev *dev, const char *text)
{
	char *argv[MAX_ARGS], copy[256], result[512];
	unsigned int i;
	int r;

	if (dev->removed)
		return -ENXIO;
	sim_point();
	snprintf(copy, sizeof(copy), "%s", text);
	for (i = 0; i < ARRAY_SIZE(dev->message_ended) && dev->message_ended[i]; i++)
		;
	if (i == ARRAY_SIZE(dev->message_ended))
		return -EBUSY;
	dev->message_ended[i] = ++dev->messages;
	r = target->message(&dev->ti, split_words(copy, argv), argv, result, sizeof(result));
	dev->message_ended[i] = 0;
	wake_up_all(&dev->wait);
	return r;
}

void sim_dev_info(struct sim_dev *dev, char *text, size_t size)
{
	target->status(&dev->ti, STATUSTYPE_INFO, 0, text, size);
}

void sim_dev_status(struct sim_dev *dev)
{
	char text[512];

	target->status(&dev->ti, STATUSTYPE_INFO, 0, text, sizeof(text));
	sim_log("status: %s", text);
	target->status(&dev->ti, STATUSTYPE_TABLE, 0, text, sizeof(text));
}

/* -- bios ------------------------------------------------------------------------ */

static struct clone *bio_clone(struct bio *bio)
{
	return (struct clone *)(bio + 1);
}

void *dm_per_bio_data(struct bio *bio, size_t size)
{
	return bio_clone(bio) + 1;
}

void dm_accept_partial_bio(struct bio *bio, unsigned int nr)
{
	if (!nr || nr > bio_sectors(bio) || bio->bi_opf & REQ_PREFLUSH)
		sim_fail("dm_accept_partial_bio() of %u sectors", nr);
	bio->bi_iter.bi_size = nr << SECTOR_SHIFT;
	bio_clone(bio)->io->len = nr;
}

void dm_submit_bio_remap(struct bio *clone, struct bio *tgt_clone)
{
	submit_bio_noacct(tgt_clone ?: clone);
}

static void put_io(struct sim_io *io, int error)
{
	if (error && !io->error)
		io->error = error;
	if (!--io->pending)
		complete(&io->done);
}

static void clone_endio(struct bio *bio)
{
	struct clone *clone = bio_clone(bio);
	struct sim_io *io = clone->io;
	blk_status_t error = bio->bi_status;

	if (error == BLK_STS_TARGET)
		sim_fail("discards: the core has this device never do that any more");
	if (target->end_io(&io->dev->ti, bio, &error) == DM_ENDIO_INCOMPLETE)
		return;
	put_io(io, blk_status_to_errno(error));
	bio_put(bio);
}

/* Send one clone on its way. Return: sectors it takes. */
static u32 map_clone(struct sim_io *io, blk_opf_t opf, u64 sector, u32 nr, u64 *stamps)
{
	struct dm_target *ti = &io->dev->ti;
	struct bio *bio;
	int r;

	bio = sim_bio_alloc(NULL, opf, sizeof(struct clone) + ti->per_io_data_size);
	bio->bi_iter.bi_sector = sector;
	bio->bi_iter.bi_size = nr << SECTOR_SHIFT;
	bio->stamps = stamps;
	bio->bi_end_io = clone_endio;
	bio_clone(bio)->io = io;
	io->pending++;
	io->len = nr;
	r = target->map(ti, bio);
	if (r == DM_MAPIO_REMAPPED)
		submit_bio_noacct(bio);
	else if (r == DM_MAPIO_KILL)
		bio_io_error(bio);
	else if (r != DM_MAPIO_SUBMITTED)
		sim_fail("map() returned %d", r);
	return io->len;
}

/* As the core splits: reads and writes at the borders of extents, discards not at all. */
static u32 piece(const struct dm_target *ti, blk_opf_t opf, u64 sector, u32 nr)
{
	u32 op = opf & REQ_OP_MASK;

	if (op == REQ_OP_DISCARD || op == REQ_OP_WRITE_ZEROES)
		return nr;
	return min_t(u64, nr, ti->max_io_len - sector % ti->max_io_len);
}

static int wait_io(struct sim_io *io)
{
	put_io(io, 0);
	wait_for_completion(&io->done);
	return io->error;
}

static void start_io(struct sim_io *io, struct sim_dev *dev)
{
	io->dev = dev;
	io->pending = 1;
	io->error = 0;
	init_completion(&io->done);
}

int sim_dev_io(struct sim_dev *dev, blk_opf_t opf, u64 sector, u32 nr, u64 *stamps)
{
	struct sim_io io;
	int r = 0;

	wait_event(dev->wait, !dev->blocked);
	dev->in_flight++;
	if (opf & REQ_PREFLUSH) {
		start_io(&io, dev);
		map_clone(&io, REQ_OP_WRITE | REQ_PREFLUSH, 0, 0, NULL);
		r = wait_io(&io);
		opf &= ~REQ_PREFLUSH;
	}
	if (!r && nr) {
		start_io(&io, dev);
		while (nr) {
			u32 len = map_clone(&io, opf, sector, piece(&dev->ti, opf, sector, nr),
					    stamps);

			sector += len;
			nr -= len;
			if (stamps)
				stamps += len;
		}
		r = wait_io(&io);
	}
	dev->in_flight--;
	wake_up_all(&dev->wait);
	return r;
}

/* -- shutting down ---------------------------------------------------------------- */

void register_reboot_notifier(struct notifier_block *nb)
{
	world->reboot = nb;
}

void unregister_reboot_notifier(struct notifier_block *nb)
{
	if (world->reboot == nb)
		world->reboot = NULL;
}

void sim_reboot(void)
{
	if (world->reboot)
		world->reboot->notifier_call(world->reboot, 0, NULL);
}
