// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-fusion: reading and writing blocks of metadata.
 */
#include "dm-fusion.h"

static int fusion_rw_pages(struct fusion *fs, struct block_device *bdev, blk_opf_t opf, u64 blocknr,
			   struct page **pages, unsigned int nr)
{
	struct bio *bio = bio_alloc_bioset(bdev, nr, opf, GFP_NOIO, &fs->meta_bs);
	unsigned int i;
	int r;

	bio->bi_iter.bi_sector = blocknr * FUSION_BLOCK_SECTORS;
	for (i = 0; i < nr; i++)
		__bio_add_page(bio, pages[i], FUSION_BLOCK_SIZE, 0);
	r = submit_bio_wait(bio);
	bio_put(bio);
	return r;
}

/* The caller reports the consequence; only this function knows the sectors. */
void fusion_rw_failed(struct fusion *fs, const struct fusion_chain *chain, bool write, u64 blocknr,
		      unsigned int nr, int r)
{
	DMERR_LIMIT("%s: %s member %s: metadata cannot be %s, sectors %llu to %llu: %d",
		    dm_table_device_name(fs->ti->table),
		    chain->sb->role == FUSION_FAST ? "fast" : "slow",
		    fs->dev[fs->meta[chain->sb->role]]->name, write ? "written" : "read",
		    blocknr * FUSION_BLOCK_SECTORS, (blocknr + nr) * FUSION_BLOCK_SECTORS - 1, r);
}

int fusion_rw_page(struct fusion *fs, unsigned int disk, blk_opf_t opf, u64 blocknr,
		   struct page *page)
{
	return fusion_rw_pages(fs, fs->dev[disk]->bdev, opf, blocknr, &page, 1);
}

int fusion_rw_blocks(struct fusion *fs, struct fusion_chain *chain, blk_opf_t opf, u64 blocknr,
		     unsigned int first, unsigned int nr)
{
	int r;

	if (op_is_write(opf)) {
		r = fusion_gate_ready(fs);
		if (r)
			return r;
	}
	r = fusion_rw_pages(fs, fs->dev[fs->meta[chain->sb->role]]->bdev, opf, blocknr,
			    chain->buf + first, nr);
	if (r)
		fusion_rw_failed(fs, chain, op_is_write(opf), blocknr, nr, r);
	return r;
}
