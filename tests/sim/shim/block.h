/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bios. Metadata comes in pages; user data, which the target never looks at, is a stamp
 * for each sector: a number that says what the 512 bytes are.
 */
#ifndef SIM_SHIM_BLOCK_H
#define SIM_SHIM_BLOCK_H

#include <errno.h>
#include <limits.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/types.h>

typedef u64 sector_t;
typedef u32 blk_opf_t;
typedef u8 blk_status_t;

#define SECTOR_SHIFT		9

enum req_op {
	REQ_OP_READ		= 0,
	REQ_OP_WRITE		= 1,
	REQ_OP_DISCARD		= 3,
	REQ_OP_WRITE_ZEROES	= 9,
	REQ_OP_MASK		= 0xff,
};

#define REQ_SYNC		0x0100U
#define REQ_META		0x0200U
#define REQ_FUA			0x0400U
#define REQ_PREFLUSH		0x0800U
#define REQ_NOWAIT		0x1000U
#define REQ_PRIO		0x2000U
#define REQ_IDLE		0x4000U
#define REQ_POLLED		0x8000U

enum {
	BLK_STS_OK		= 0,
	BLK_STS_NOTSUPP		= 1,
	BLK_STS_NOSPC		= 3,
	BLK_STS_IOERR		= 10,
	BLK_STS_AGAIN		= 12,
	BLK_STS_TARGET		= 5,
	BLK_STS_MEDIUM		= 7,
};

struct sim_disk;

struct block_device {
	struct sim_disk *disk;
};

struct bio;
typedef void (bio_end_io_t)(struct bio *bio);

struct bvec_iter {
	sector_t bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;		/* these are not used */
	unsigned int bi_bvec_done;
};

/* Of a bio of users: one of its sectors. */
struct bio_vec {
	u64 stamp;
	u64 *at;
	unsigned int bv_len;
	unsigned int bv_offset;
};

#define SIM_BIO_PAGES	64U

/**
 * struct bio - a bio
 * @stamps: of user data; with neither these nor pages, a write writes zeros
 * @remaining: completions to come, with those of chained ones
 * @parent: the bio this one was chained to
 * @flushed: REQ_PREFLUSH is done
 * @written: so is the write, of a disk that flushes in place of REQ_FUA
 * @delay: times it is passed over
 * @held_ns: until when the disk does nothing about it
 * @snap: writes of the disk that had completed when the flush began
 * @entry: the write in the disk's cache
 */
struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	blk_opf_t bi_opf;
	unsigned short bi_ioprio;
	blk_status_t bi_status;
	struct bvec_iter bi_iter;
	bio_end_io_t *bi_end_io;
	void *bi_private;

	u64 *stamps;
	unsigned int nr_pages;
	unsigned int remaining;
	struct bio *parent;
	atomic_t __bi_remaining;	/* not used */
	bool on_stack;

	bool flushed;
	bool written;
	unsigned int delay;
	u64 held_ns;
	u32 snap;
	struct sim_entry *entry;
	struct page *pages[SIM_BIO_PAGES];
};

/* A bio with room for @extra bytes after it. */
struct bio *sim_bio_alloc(struct block_device *bdev, blk_opf_t opf, size_t extra);

struct bio_set {
	int unused;
};

#define BIOSET_NEED_BVECS	0
#define bioset_init(bs, n, pad, flags)	((void)(bs), sim_out_of_memory() ? -ENOMEM : 0)
#define bioset_exit(bs)			((void)(bs))

#define bio_alloc_bioset(bdev, nr, opf, gfp, bs) \
	((void)(bs), (void)(nr), sim_bio_alloc(bdev, opf, 0))
#define bio_alloc(bdev, nr, opf, gfp)	((void)(nr), sim_bio_alloc(bdev, opf, 0))
void bio_init(struct bio *bio, struct block_device *bdev, void *table, unsigned short max,
	      blk_opf_t opf);
#define bio_uninit(bio)			((void)(bio))
/* there are no groups of tasks */
#define blkcg_root_css		NULL
#define bio_associate_blkg_from_css(bio, css)	((void)(bio), (void)(css))
#define bio_clone_blkg_association(bio, src)	((void)(bio), (void)(src))
void bio_put(struct bio *bio);
void __bio_add_page(struct bio *bio, struct page *page, unsigned int len, unsigned int off);
struct bio *bio_alloc_clone(struct block_device *bdev, struct bio *src, gfp_t gfp,
			    struct bio_set *bs);
void bio_trim(struct bio *bio, sector_t offset, sector_t size);
void bio_chain(struct bio *bio, struct bio *parent);
void bio_endio(struct bio *bio);
void zero_fill_bio(struct bio *bio);

/* The data that stamps stand for, sector by sector. */
#define bio_for_each_segment(vec, bio, iter)						\
	for ((iter) = (bio)->bi_iter; sim_bio_sector(bio, &(iter), &(vec));		\
	     (iter).bi_size -= (vec).bv_len)
bool sim_bio_sector(const struct bio *bio, const struct bvec_iter *iter, struct bio_vec *vec);
void *bvec_kmap_local(struct bio_vec *vec);
#define kunmap_local(p)			((void)(p))
void memcpy_to_bvec(struct bio_vec *vec, const void *from);
void submit_bio_noacct(struct bio *bio);
#define submit_bio(bio)			submit_bio_noacct(bio)
int submit_bio_wait(struct bio *bio);
int blkdev_issue_flush(struct block_device *bdev);
int blkdev_issue_zeroout(struct block_device *bdev, sector_t sector, sector_t nr, gfp_t gfp,
			 unsigned int flags);
sector_t bdev_nr_sectors(struct block_device *bdev);
unsigned int bdev_logical_block_size(struct block_device *bdev);
unsigned int bdev_max_discard_sectors(struct block_device *bdev);
bool bdev_write_cache(struct block_device *bdev);
bool bdev_fua(struct block_device *bdev);
blk_status_t errno_to_blk_status(int error);
int blk_status_to_errno(blk_status_t status);

#define bio_set_dev(bio, bdev)		((bio)->bi_bdev = (bdev))
#define bio_sectors(bio)		((bio)->bi_iter.bi_size >> SECTOR_SHIFT)
#define bio_end_sector(bio)		((bio)->bi_iter.bi_sector + bio_sectors(bio))

static inline enum req_op bio_op(const struct bio *bio)
{
	return bio->bi_opf & REQ_OP_MASK;
}

static inline bool op_is_write(blk_opf_t op)
{
	return op & 1;
}

static inline void bio_io_error(struct bio *bio)
{
	bio->bi_status = BLK_STS_IOERR;
	bio_endio(bio);
}

static inline void bio_wouldblock_error(struct bio *bio)
{
	bio->bi_status = BLK_STS_AGAIN;
	bio_endio(bio);
}

struct blk_plug {
	int unused;
};

#define blk_start_plug(plug)		((void)(plug))
#define blk_finish_plug(plug)		((void)(plug))

struct bio_list {
	struct bio *head, *tail;
};

static inline void bio_list_init(struct bio_list *l)
{
	l->head = NULL;
	l->tail = NULL;
}

static inline bool bio_list_empty(const struct bio_list *l)
{
	return !l->head;
}

static inline void bio_list_add(struct bio_list *l, struct bio *bio)
{
	bio->bi_next = NULL;
	if (l->tail)
		l->tail->bi_next = bio;
	else
		l->head = bio;
	l->tail = bio;
}

static inline void bio_list_merge(struct bio_list *l, struct bio_list *more)
{
	if (!more->head)
		return;
	if (l->tail)
		l->tail->bi_next = more->head;
	else
		l->head = more->head;
	l->tail = more->tail;
}

static inline void bio_list_add_head(struct bio_list *l, struct bio *bio)
{
	bio->bi_next = l->head;
	l->head = bio;
	if (!l->tail)
		l->tail = bio;
}

static inline struct bio *bio_list_peek(struct bio_list *l)
{
	return l->head;
}

static inline struct bio *bio_list_pop(struct bio_list *l)
{
	struct bio *bio = l->head;

	if (bio) {
		l->head = bio->bi_next;
		if (!l->head)
			l->tail = NULL;
		bio->bi_next = NULL;
	}
	return bio;
}

#endif
