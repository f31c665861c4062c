// SPDX-License-Identifier: GPL-2.0-only
/*
 * powercut: a dm target that is a disk in memory, with a volatile write cache and
 * a power switch that it shares with others. For tests.
 *
 *   <start> <len> powercut <switch> fast|slow|third
 *
 * The devices whose table lines name the same switch are its members. The first one creates the
 * switch, the last one removes it, and the content of a member goes with it. At first a disk is
 * full of the byte 0xa5.
 *
 * A write is complete when it is in the cache of its member. FLUSH makes the cache of that member
 * durable; FUA makes that write durable. A work item serves commands, up to 8 of them in any order,
 * those of all members mixed. So none completes within its submission, and commands that nothing
 * waited for have no order. The member can WRITE ZEROES, and DISCARD, which leaves zeros or, at
 * random, the old content.
 *
 * When the power goes, each write that is neither flushed nor FUA happens or not, as "fate" says.
 * From then on every command fails until "restore".
 *
 * Messages, to any member; all but counters are for all:
 *
 *   arm <n> [fast|slow|third]
 *                    the power goes with the n-th command from now on, without reads; or
 *                    with the n-th of that member. That command fails. A write counts as
 *                    unflushed, and a flush flushes nothing. 0: never
 *   cut              the power goes now
 *   restore          the power is back
 *   seed <number>    start of the random numbers for order, fate and discards (0)
 *   fate <fate>      of the writes in the caches when the power goes:
 *                      drop   all are lost
 *                      keep   none is lost
 *                      whole  each bio happens or not, with new odds for each member
 *                      torn   each sector of 512 bytes of each bio happens or not
 *                      any    one of the others, for each member by itself (the default)
 *   lie fast|slow|third|none
 *                    that member acknowledges flushes and does nothing (none)
 *   save 0|1         save the content of all disks; only while the power is off
 *   load 0|1         restore it, any number of times
 *
 * Status: "<key>=<value>" words; later versions may append some.
 *
 *   power armed      on or off; commands until the power goes, 0 if it does not
 *   commands cuts    commands served without reads, and cuts, of the switch
 *   seed fate lies   as set by messages
 *   reads writes fuas discards flushes
 *                    commands of this member; fuas are of the writes
 *   cached           bytes of memory its cache takes
 *   kept dropped     sectors of unflushed writes that happened, and did not, at cuts
 */
#include <linux/device-mapper.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "dm-powercut.h"

#define MAX_SECTORS	BIT(21)	/* 1 GiB, in memory at least twice */
#define MAX_IO_SECTORS	128U

struct member {
	struct powercut *pc;
	enum powercut_role role;
};

static int powercut_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct member *m;
	int role, r;

	if (argc != 2) {
		ti->error = "Requires the name of a switch, and fast, slow or third";
		return -EINVAL;
	}
	role = match_string(powercut_role_names, POWERCUT_ROLES, argv[1]);
	if (role < 0) {
		ti->error = "Second argument must be fast, slow or third";
		return -EINVAL;
	}
	if (ti->len > MAX_SECTORS) {
		ti->error = "Too large";
		return -EINVAL;
	}
	r = dm_set_target_max_io_len(ti, MAX_IO_SECTORS);
	if (r)
		return r;

	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m) {
		ti->error = "Cannot allocate context";
		return -ENOMEM;
	}
	m->role = role;
	m->pc = powercut_join(argv[0], role, ti->len, &ti->error);
	if (IS_ERR(m->pc)) {
		r = PTR_ERR(m->pc);
		kfree(m);
		return r;
	}

	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->num_write_zeroes_bios = 1;
	ti->flush_supported = true;
	ti->discards_supported = true;
	ti->per_io_data_size = sizeof(struct powercut_bio);
	ti->private = m;
	return 0;
}

static void powercut_dtr(struct dm_target *ti)
{
	struct member *m = ti->private;

	powercut_leave(m->pc, m->role);
	kfree(m);
}

static int powercut_map(struct dm_target *ti, struct bio *bio)
{
	struct member *m = ti->private;

	powercut_bio(bio)->role = m->role;
	bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	powercut_queue(m->pc, bio);
	return DM_MAPIO_SUBMITTED;
}

static int powercut_target_message(struct dm_target *ti, unsigned int argc, char **argv,
				   char *result, unsigned int maxlen)
{
	struct member *m = ti->private;

	if (argc == 1 && !strcmp(argv[0], "counters")) {
		powercut_counters(m->pc, m->role, result, maxlen);
		return 1;
	}
	return powercut_message(m->pc, argc, argv, result, maxlen);
}

static void powercut_status(struct dm_target *ti, status_type_t type,
			    unsigned int status_flags, char *result, unsigned int maxlen)
{
	struct member *m = ti->private;
	unsigned int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		powercut_counters(m->pc, m->role, result, maxlen);
		break;
	case STATUSTYPE_TABLE:
		DMEMIT("%s %s", m->pc->name, powercut_role_names[m->role]);
		break;
	case STATUSTYPE_IMA:
		DMEMIT_TARGET_NAME_VERSION(ti->type);
		DMEMIT(",switch=%s,role=%s;", m->pc->name, powercut_role_names[m->role]);
		break;
	}
}

/* None; but the core lets only targets with such a function write zeroes. */
static int powercut_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn,
				    void *data)
{
	return 0;
}

static void powercut_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	limits->max_discard_sectors = MAX_SECTORS;
	limits->max_hw_discard_sectors = MAX_SECTORS;
	limits->discard_granularity = SECTOR_SIZE;
}

static struct target_type powercut_target = {
	.name = "powercut",
	.version = { 1, 0, 0 },
	.module = THIS_MODULE,
	.ctr = powercut_ctr,
	.dtr = powercut_dtr,
	.map = powercut_map,
	.message = powercut_target_message,
	.status = powercut_status,
	.iterate_devices = powercut_iterate_devices,
	.io_hints = powercut_io_hints,
};

static int __init powercut_module_init(void)
{
	return dm_register_target(&powercut_target);
}

static void __exit powercut_module_exit(void)
{
	dm_unregister_target(&powercut_target);
}

module_init(powercut_module_init);
module_exit(powercut_module_exit);

MODULE_DESCRIPTION(DM_NAME " target that is a disk whose power can be cut");
MODULE_LICENSE("GPL");
