// SPDX-License-Identifier: GPL-2.0-only
/* Bios, and those that kcopyd makes for zeroes. */
#include "landed.h"
#include "sim.h"

void bio_init(struct bio *bio, struct block_device *bdev, void *table, unsigned short max,
	      blk_opf_t opf)
{
	memset(bio, 0, offsetof(struct bio, pages));
	bio->bi_bdev = bdev;
	bio->bi_opf = opf;
	bio->remaining = 1;
	bio->on_stack = true;
}

struct bio *sim_bio_alloc(struct block_device *bdev, blk_opf_t opf, size_t extra)
{
	struct bio *bio = sim_alloc(sizeof(*bio) + extra, false);

	bio_init(bio, bdev, NULL, 0, opf);
	bio->on_stack = false;
	return bio;
}

void bio_put(struct bio *bio)
{
	if (bio->on_stack)
		sim_fail("bio_put() of a bio on the stack");
	sim_free(bio);
}

void __bio_add_page(struct bio *bio, struct page *page, unsigned int len, unsigned int off)
{
	if (bio->nr_pages == SIM_BIO_PAGES || len != PAGE_SIZE || off)
		sim_fail("__bio_add_page() of what the simulator does not know");
	bio->pages[bio->nr_pages++] = page;
	bio->bi_iter.bi_size += len;
}

struct bio *bio_alloc_clone(struct block_device *bdev, struct bio *src, gfp_t gfp,
			    struct bio_set *bs)
{
	struct bio *bio = sim_bio_alloc(bdev, src->bi_opf, 0);

	bio->bi_iter = src->bi_iter;
	bio->stamps = src->stamps;
	return bio;
}

void bio_trim(struct bio *bio, sector_t offset, sector_t size)
{
	if (offset + size > bio_sectors(bio))
		sim_fail("bio_trim() beyond the end");
	bio->bi_iter.bi_sector += offset;
	bio->bi_iter.bi_size = size << SECTOR_SHIFT;
	if (bio->stamps)
		bio->stamps += offset;
}

static void chain_endio(struct bio *bio)
{
	struct bio *parent = bio->parent;

	if (bio->bi_status && !parent->bi_status)
		parent->bi_status = bio->bi_status;
	bio_put(bio);
	bio_endio(parent);
}

void bio_chain(struct bio *bio, struct bio *parent)
{
	bio->parent = parent;
	bio->bi_end_io = chain_endio;
	parent->remaining++;
}

void bio_endio(struct bio *bio)
{
	if (--bio->remaining)
		return;
	bio->remaining = 1;
	bio->bi_end_io(bio);
}

void zero_fill_bio(struct bio *bio)
{
	memset(bio->stamps, 0, bio_sectors(bio) * sizeof(*bio->stamps));
}

bool sim_bio_sector(const struct bio *bio, const struct bvec_iter *iter, struct bio_vec *vec)
{
	const u32 left = iter->bi_size >> SECTOR_SHIFT;

	if (!left)
		return false;
	vec->at = &bio->stamps[bio_sectors(bio) - left];
	vec->stamp = *vec->at;
	vec->bv_len = 1 << SECTOR_SHIFT;
	vec->bv_offset = 0;
	return true;
}

/* Nobody else runs before it is used. */
void *bvec_kmap_local(struct bio_vec *vec)
{
	static u8 bytes[1 << SECTOR_SHIFT];

	landed_raw_bytes(vec->stamp, bytes);
	return bytes;
}

void memcpy_to_bvec(struct bio_vec *vec, const void *from)
{
	*vec->at = landed_raw_stamp(from);
}

/* As deep in the block layer as a bio may sleep for a request. */
void submit_bio_noacct(struct bio *bio)
{
	sim_might_sleep();
	sim_disk_submit(bio);
	sim_point();
}

static void wake_submitter(struct bio *bio)
{
	complete(bio->bi_private);
}

int submit_bio_wait(struct bio *bio)
{
	struct completion done;

	init_completion(&done);
	bio->bi_private = &done;
	bio->bi_end_io = wake_submitter;
	submit_bio_noacct(bio);
	wait_for_completion(&done);
	return blk_status_to_errno(bio->bi_status);
}

int blkdev_issue_flush(struct block_device *bdev)
{
	struct bio bio;

	bio_init(&bio, bdev, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH);
	return submit_bio_wait(&bio);
}

int blkdev_issue_zeroout(struct block_device *bdev, sector_t sector, sector_t nr, gfp_t gfp,
			 unsigned int flags)
{
	struct bio bio;

	bio_init(&bio, bdev, NULL, 0, REQ_OP_WRITE_ZEROES);
	bio.bi_iter.bi_sector = sector;
	bio.bi_iter.bi_size = nr << SECTOR_SHIFT;
	return submit_bio_wait(&bio);
}

static const struct {
	blk_status_t status;
	int error;
} statuses[] = {
	{ BLK_STS_OK, 0 },
	{ BLK_STS_NOTSUPP, -EOPNOTSUPP },
	{ BLK_STS_NOSPC, -ENOSPC },
	{ BLK_STS_AGAIN, -EAGAIN },
	{ BLK_STS_TARGET, -EREMOTEIO },
	{ BLK_STS_MEDIUM, -ENODATA },
	{ BLK_STS_IOERR, -EIO },
};

blk_status_t errno_to_blk_status(int error)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++)
		if (statuses[i].error == error)
			return statuses[i].status;
	return BLK_STS_IOERR;
}

int blk_status_to_errno(blk_status_t status)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++)
		if (statuses[i].status == status)
			return statuses[i].error;
	return -EIO;
}

/* -- kcopyd ---------------------------------------------------------------------- */

struct dm_kcopyd_client {
	struct mutex thread;	/* callbacks come from one thread */
	unsigned int jobs;
};

struct job {
	struct dm_kcopyd_client *kc;
	struct dm_io_region to;
	dm_kcopyd_notify_fn fn;
	void *context;
};

struct dm_kcopyd_client *dm_kcopyd_client_create(struct dm_kcopyd_throttle *throttle)
{
	struct dm_kcopyd_client *kc = sim_try_alloc(sizeof(*kc), true);

	return kc ?: ERR_PTR(-ENOMEM);
}

void dm_kcopyd_client_destroy(struct dm_kcopyd_client *kc)
{
	sim_might_sleep();
	wait_event(kc->jobs, !kc->jobs);
	sim_free(kc);
}

static void run_job(void *arg)
{
	struct job *job = arg;
	struct dm_kcopyd_client *kc = job->kc;
	struct bio bio;
	int error;

	bio_init(&bio, job->to.bdev, NULL, 0, REQ_OP_WRITE_ZEROES);
	bio.bi_iter.bi_sector = job->to.sector;
	bio.bi_iter.bi_size = job->to.count << SECTOR_SHIFT;
	error = submit_bio_wait(&bio);

	mutex_lock(&kc->thread);
	job->fn(0, error ? 1 : 0, job->context);
	mutex_unlock(&kc->thread);
	kc->jobs--;
	sim_wake(&kc->jobs);
	sim_free(job);
}

void dm_kcopyd_zero(struct dm_kcopyd_client *kc, unsigned int nr, struct dm_io_region *to,
		    unsigned int flags, dm_kcopyd_notify_fn fn, void *context)
{
	struct job *job = sim_alloc(sizeof(*job), true);

	job->kc = kc;
	job->to = *to;
	job->fn = fn;
	job->context = context;
	kc->jobs++;
	sim_spawn("kcopyd", run_job, job);
	sim_point();
}
