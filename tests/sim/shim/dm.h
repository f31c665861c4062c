/* SPDX-License-Identifier: GPL-2.0-only */
/* The interface between device-mapper and a target. The core is ../dm.c. */
#ifndef SIM_SHIM_DM_H
#define SIM_SHIM_DM_H

#include <linux/bio.h>
#include <linux/jiffies.h>
#include <linux/types.h>

struct dm_table;
struct mapped_device;
struct gendisk;
struct module;
struct target_type;
typedef unsigned int fmode_t;

enum {
	DM_MAPIO_SUBMITTED	= 0,
	DM_MAPIO_REMAPPED	= 1,
	DM_MAPIO_KILL		= 4,
};

enum {
	DM_ENDIO_DONE		= 0,
	DM_ENDIO_INCOMPLETE	= 1,
};

typedef enum {
	STATUSTYPE_INFO,
	STATUSTYPE_TABLE,
	STATUSTYPE_IMA,
} status_type_t;

struct dm_dev {
	struct block_device *bdev;
	char name[16];
};

struct dm_target {
	struct dm_table *table;
	struct target_type *type;
	sector_t begin;
	sector_t len;
	u32 max_io_len;
	unsigned int num_flush_bios;
	unsigned int num_discard_bios;
	unsigned int num_write_zeroes_bios;
	unsigned int per_io_data_size;
	void *private;
	char *error;
	bool flush_supported : 1;
	bool discards_supported : 1;
	bool limit_swap_bios : 1;
	bool accounts_remapped_io : 1;
};

struct queue_limits {
	unsigned int discard_granularity;
	unsigned int discard_alignment;
	unsigned int max_sectors;
	unsigned int max_hw_sectors;
	unsigned int max_discard_sectors;
	unsigned int max_hw_discard_sectors;
	unsigned int io_min;
	unsigned int io_opt;
};

typedef int (*iterate_devices_callout_fn)(struct dm_target *ti, struct dm_dev *dev,
					  sector_t start, sector_t len, void *data);

#define DM_TARGET_NOWAIT		0x1
#define DM_TARGET_ALWAYS_WRITEABLE	0x2

struct target_type {
	u64 features;
	const char *name;
	struct module *module;
	unsigned int version[3];
	int (*ctr)(struct dm_target *ti, unsigned int argc, char **argv);
	void (*dtr)(struct dm_target *ti);
	int (*map)(struct dm_target *ti, struct bio *bio);
	int (*end_io)(struct dm_target *ti, struct bio *bio, blk_status_t *error);
	void (*presuspend)(struct dm_target *ti);
	void (*presuspend_undo)(struct dm_target *ti);
	void (*postsuspend)(struct dm_target *ti);
	int (*preresume)(struct dm_target *ti);
	void (*resume)(struct dm_target *ti);
	void (*status)(struct dm_target *ti, status_type_t type, unsigned int flags,
		       char *result, unsigned int maxlen);
	int (*message)(struct dm_target *ti, unsigned int argc, char **argv, char *result,
		       unsigned int maxlen);
	int (*iterate_devices)(struct dm_target *ti, iterate_devices_callout_fn fn, void *data);
	void (*io_hints)(struct dm_target *ti, struct queue_limits *limits);
};

int dm_register_target(struct target_type *type);
void dm_unregister_target(struct target_type *type);
int dm_get_device(struct dm_target *ti, const char *path, fmode_t mode, struct dm_dev **result);
void dm_put_device(struct dm_target *ti, struct dm_dev *dev);
int dm_set_target_max_io_len(struct dm_target *ti, sector_t len);
void *dm_per_bio_data(struct bio *bio, size_t size);
void dm_accept_partial_bio(struct bio *bio, unsigned int nr);
void dm_submit_bio_remap(struct bio *clone, struct bio *tgt_clone);
struct mapped_device *dm_table_get_md(struct dm_table *table);
struct gendisk *dm_disk(struct mapped_device *md);
int get_disk_ro(struct gendisk *disk);
int dm_suspended(struct dm_target *ti);

#define dm_table_get_mode(table)	((void)(table), 0U)
#define dm_table_device_name(table)	((void)(table), "sim")
#define dm_table_event(table)		((void)(table))

/* -- arguments, messages --------------------------------------------------------- */

struct dm_arg_set {
	unsigned int argc;
	char **argv;
};

struct dm_arg {
	unsigned int min;
	unsigned int max;
	char *error;
};

const char *dm_shift_arg(struct dm_arg_set *as);
int dm_read_arg_group(const struct dm_arg *arg, struct dm_arg_set *as, unsigned int *argc,
		      char **error);

#define DM_NAME			"device-mapper"
#define DMERR(...)		sim_err("E " __VA_ARGS__)
#define DMWARN(...)		sim_log("W " __VA_ARGS__)
#define DMINFO(...)		sim_log("I " __VA_ARGS__)
#define DMERR_LIMIT(...)	DMERR(__VA_ARGS__)
#define DMWARN_LIMIT(...)	DMWARN(__VA_ARGS__)
#define DMEMIT(...) (sz += sz >= maxlen ? 0 : scnprintf(result + sz, maxlen - sz, __VA_ARGS__))
#define DMEMIT_TARGET_NAME_VERSION(type) \
	DMEMIT("target_name=%s,target_version=%u.%u.%u", (type)->name, (type)->version[0], \
	       (type)->version[1], (type)->version[2])

/* -- kcopyd ---------------------------------------------------------------------- */

struct dm_io_region {
	struct block_device *bdev;
	sector_t sector;
	sector_t count;
};

struct dm_kcopyd_client;
struct dm_kcopyd_throttle;
typedef void (*dm_kcopyd_notify_fn)(int read_err, unsigned long write_err, void *context);

struct dm_kcopyd_client *dm_kcopyd_client_create(struct dm_kcopyd_throttle *throttle);
void dm_kcopyd_client_destroy(struct dm_kcopyd_client *kc);
void dm_kcopyd_zero(struct dm_kcopyd_client *kc, unsigned int nr, struct dm_io_region *to,
		    unsigned int flags, dm_kcopyd_notify_fn fn, void *context);

#endif
