#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: mutants.sh [--fit|--short] [NAME...]
#
# Break the module's source in one place at a time, each a care that the design takes,
# and see that the crash simulator notices. POINTS bounds how long it may take for each.
# With --fit only see that each still finds what it changes. With --short only those are tried that
# are called quick: each was noticed within 3,000 points, which take less than a second, and fails
# if it has become so rare that 20,000 do not do.

set -euo pipefail
cd "$(dirname "$0")"

TREE=$(cd ../.. && pwd)
OUT=$TREE/build/sim-mutants
JOBS=${JOBS:-$(nproc)}
LIMIT=1800	# seconds

fit='' short='' points=1000000
case ${1:-} in
--fit)	fit=1
	shift ;;
--short) short=1 points=20000
	shift ;;
esac
POINTS=${POINTS:-$points}
wanted=("$@")
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
total=0

# mutant NAME FILE[,FILE] SED [OPTION...]: SED sees a file as one line; it must change each.
mutant() {
	[[ $short ]] || run "$@"
}

# quick NAME FILE SED [OPTION...]: the same, in the short form, too
quick() {
	run "$@"
}

# run NAME FILE SED [OPTION...]
run() {
	[[ ${#wanted[@]} -eq 0 || " ${wanted[*]} " == *" $1 "* ]] || return 0
	total=$((total + 1))
	if [[ $fit ]]; then
		fits "$@"
		return
	fi
	while [[ $(jobs -rp | wc -l) -ge $JOBS ]]; do
		wait -n || :
	done
	try $total "$@" &
}

# source_of FILE: of the module, or of what it shares with fusionctl
source_of() {
	ls "$TREE"/dm-fusion/{,shared/}"$1" 2>/dev/null
}

# fits NAME FILE SED [OPTION...]
fits() {
	local file source
	for file in ${2//,/ }; do
		source=$(source_of "$file") || :
		if [[ ! $source ]] || sed -zE "$3" "$source" | cmp -s "$source"; then
			echo "# $1: there is nothing to change in $file"
			touch "$results/$1"
		fi
	done
}

# try NUMBER NAME FILE SED [OPTION...]
try() {
	local nr=$1 name=$2 file=$3 script=$4 dir=$OUT/$2 start=$SECONDS why
	shift 4
	if why=$(noticed "$@"); then
		echo "ok $nr - $name ($((SECONDS - start)) s: $why)"
	else
		echo "not ok $nr - $name: $why"
		touch "$results/$nr"
	fi
}

# Says why it failed, or why it does not count.
noticed() {
	local rc=0
	mkdir -p "$dir"
	rm -f "$dir"/*.[cho]
	# a source finds its own folder's headers first
	[[ $file != *.h ]] || cp "$TREE"/dm-fusion/{,shared/}*.c "$dir"
	for file in ${file//,/ }; do
		cp "$(source_of "$file")" "$dir/original"
		sed -zE "$script" "$dir/original" >"$dir/$file"
		if cmp -s "$dir/original" "$dir/$file"; then
			echo "there is nothing to change in $file"
			return 1
		fi
	done
	if ! make -s MUTANT="$name" >"$dir/log" 2>&1; then
		echo "does not compile, see $dir/log"
		return 1
	fi
	timeout "$LIMIT" "$dir/crash" --no-shrink --points "$POINTS" "$@" >"$dir/log" 2>&1 || rc=$?
	if [[ $rc -eq 0 ]]; then
		echo "not noticed in $POINTS points"
		return 1
	fi
	if ! grep -q '^# FAILED: ' "$dir/log"; then
		echo "the simulator ended with $rc, see $dir/log"
		return 1
	fi
	sed -n 's/^# at //p' "$dir/log" | tr '\n' ' '
	sed -n 's/^# FAILED: //p' "$dir/log"
}

echo "KTAP version 1"

# What is not in the list, as nobody could notice:
#
# - replay_seq noted before the first commit of a checkpoint: replays one commit more,
#   which does no harm, as records carry absolute state.
# - the epoch, in the replay of the journal or not counted at all: the chain of checksums alone
#   is enough against what a power cut leaves. It is for members that were used apart.
# - the number of a transaction and the index of a block in it: a block of another attempt does
#   not fit the chain either.
# - a bitmap loaded into the structure of an OPEN extent that lay elsewhere: there is
#   always an UNMAP in between, which closes the structure. The check is for damage.
# - a commit that failed taking effect in memory: nothing is written any more, and either place
#   of a moved extent holds the same.
# - an open extent discarded while writes to it are in flight: they end in a slot that is given
#   to nobody before the drain, and set no bits.
# - a write of a part of a block setting the block's bit: the bit is set already, since
#   the block was zeroed before.
# - the flush before a transaction of the replica: what it names was flushed by the commits that
#   recorded it, of which the last one is waited for before (wait_for_map()).
# - extents counted as away though the record of that failed: nothing is promoted before a
#   whole set has been written, which takes that back.
# - a first write that the replica is not told of: it is told of its first valid block, and an
#   extent without one has nothing to be found.
# - the role of one member, or whether the two fit: members that are exchanged are found by either.
# - the place of a block: where it matters, generation, index or transaction are others, too.
# - an OPEN word without a bitmap, or their numbers, compared when a set is loaded: either finds it.
# - what was found in the journal when it was loaded, said to be durable: the simulator's disks lose
#   their caches with each cut, so nothing is found that is not durable.
# - the numbers of two activations that are further apart than a power cut leaves them: the one that
#   is ahead has seen superblocks of the other that are gone, and that refuses them, too. The unit
#   test of superblocks has it.
# - another activation of the same number: sets that were forked, and put together again, are for
#   the unit test of superblocks.
# - a slot that is given to an extent while it still has to be discarded: it is not free, and
#   so is not discarded until it has to be again.
# - a first write that does not wait for slots that are being discarded: it takes a spare.
# - the gate of a set that comes to rest, or meets a foreign beat, left open: the lease ends, and
#   closes it, before anybody's watch is over.
# - a contest for a set that is still being opened: here that takes less time than a claim.
# - a discard without a lease: sets of a dozen slots have none left to discard when somebody else's
#   watch is over.
# - two unreadable blocks of a journal, which may hide where it ends: the simulator's disks have one
#   at a time; the unit test of replay has two.
# - the second superblock of a closed set: the one of before has its map set and its journal still,
#   as nothing is written after. It spares a replay, and the heat.

# -- settings -------------------------------------------------------------------------

quick settings-answered-before-they-are-written dm-fusion-options.c \
	's/wait_event\(fs->commit.wait, READ_ONCE\(fs->commit.keep_done\) >= mine\);//'
quick settings-written-when-something-else-is dm-fusion-checkpoint.c \
	's/fusion_super_flags\(fs, 0, 0\)\)/0)/'
quick settings-lost-by-a-checkpoint dm-fusion-checkpoint.c \
	's/fusion_take_settings\(fs, sb\);\n\tsb->active_set/sb->settings_mask = 0;\n\tsb->active_set/'
quick settings-kept-from-the-slow-member dm-fusion-replica.c \
	's/\tfusion_take_settings\(fs, &rep->next\);\n//'
quick settings-not-loaded dm-fusion-load.c \
	's/\tfusion_load_settings\(fs, true\);\n//'
quick settings-of-the-table-are-those-of-the-set dm-fusion-options.c \
	's/if \(!\(fs->opt_table & BIT\(s\)\)\)/if (0)/'

# -- flushes --------------------------------------------------------------------------

quick slow-flush-dropped dm-fusion-flush.c \
	's/r = blkdev_issue_flush\(fs->dev\[FUSION_SLOW\]->bdev\);/r = 0;/'
quick slow-flush-for-records-dropped dm-fusion-journal.c \
	's/if \(!pk->slow && !pk->waiters\)/if (!pk->waiters)/'
quick slow-flush-for-waiters-dropped dm-fusion-journal.c \
	's/if \(!pk->slow && !pk->waiters\)/if (!pk->slow)/'
quick fast-flush-instead-of-slow dm-fusion-flush.c \
	's/blkdev_issue_flush\(fs->dev\[FUSION_SLOW\]/blkdev_issue_flush(fs->dev[FUSION_FAST]/'
quick slow-flush-after-journal dm-fusion-journal.c \
	's/\tr = fusion_commit_flush_slow\(pk\);\n\tif \(!r\)\n\t\tr = (fusion_flushes_ended\(fs\);\n\tif \(r\)\n\t\treturn r;\n\tr = fusion_chain_write\(fs, &fs->journal, pk->nr\);\n)/\tr = \1\tif (!r)\n\t\tr = fusion_commit_flush_slow(pk);\n/'
quick slow-dirty-cleared-after-flush dm-fusion-flush.c \
	's/dirty = xchg\(&fs->slow_dirty, 0\)/dirty = READ_ONCE(fs->slow_dirty)/; s/(r = blkdev_issue_flush\(fs->dev\[FUSION_SLOW\]->bdev\);)/\1 WRITE_ONCE(fs->slow_dirty, 0);/'
quick slow-dirty-not-set dm-fusion-io.c \
	's/\t\t\tfusion_mark_written\(fs, io->dev\);/\t\t\t;/'
quick slow-dirty-not-set-by-copies dm-fusion-batch.c \
	's/\tfusion_mark_written\(fs, job->move.to\);\n//'
quick slow-dirty-not-set-by-zeroing dm-fusion-open-excl.c \
	's/\tfusion_mark_written\(fs, fusion_word_dev\(open->word\)\);\n//'
quick slow-dirty-set-after-completion dm-fusion-io.c \
	's/(\t\t)if \(op_is_write\(bio_op\(bio\)\)\)\n\t\t\tfusion_mark_written\(fs, io->dev\);\n/\1bool late = op_is_write(bio_op(bio));\n/; s/(\t\tio->epoch = FUSION_NO_EPOCH;\n\t\})(\n\n\tif \(unlikely\(io->fua)/\t\tif (late \&\& fs->commit.commits % 2) fusion_mark_written(fs, io->dev);\n\1\2/'
quick preflush-dropped dm-fusion-chain.c \
	's/opf \| preflush, start/opf, start/'
quick fua-dropped dm-fusion-chain.c \
	's/ \| REQ_META \| fua, preflush;/ | REQ_META, preflush;/'
mutant fua-of-second-part-dropped dm-fusion-chain.c \
	's/fs, chain, opf, ring, first_part/fs, chain, opf \& ~REQ_FUA, ring, first_part/' --large
quick superblock-preflush-dropped dm-fusion-super.c \
	's/REQ_META \| preflush \| fua/REQ_META | fua/'
quick slow-superblock-preflush-dropped dm-fusion-super.c \
	's/r = fusion_flush_before\(fs, chain, &preflush\);/r = sb->role == FUSION_SLOW ? (preflush = 0) : fusion_flush_before(fs, chain, \&preflush);/'
quick superblock-fua-dropped dm-fusion-super.c \
	's/REQ_META \| preflush \| fua/REQ_META | preflush/'
quick flush-direct-while-slow-dirty dm-fusion-io.c \
	's/!READ_ONCE\(fs->slow_dirty\) &&/1 \&\&/'
mutant flush-direct-while-committing dm-fusion-io.c \
	's/\(!fs->commit.running && /(/'
quick flush-direct-with-records dm-fusion-io.c \
	's/!fs->txns.running->nr &&\n\t\t  list_empty/list_empty/'
mutant flush-direct-with-open-extents dm-fusion-io.c \
	's/list_empty\(&fs->opens.dirty\) &&/1 \&\&/'
quick flush-without-journal-flushes-slow-only dm-fusion-flush.c \
	's/int r = blkdev_issue_flush\(fs->dev\[FUSION_FAST\]->bdev\);/int r = 0;/'
quick flush-to-the-wrong-member dm-fusion-io.c \
	's/bio_set_dev\(bio, fs->dev\[FUSION_FAST\]->bdev\);\n\t\treturn/bio_set_dev(bio, fs->dev[FUSION_SLOW]->bdev);\n\t\treturn/'

# -- the order of a commit ----------------------------------------------------------------

quick waiters-completed-before-the-write dm-fusion-journal.c \
	's/\tpk.waiters = !bio_list_empty\(&waiters\);\n/&\tfusion_commit_complete(\&waiters, 0);\n/'
quick waiters-taken-after-the-write dm-fusion-journal.c \
	's/\twaiters = fs->commit.waiters;\n\tbio_list_init\(&fs->commit.waiters\);\n//; s/(\tspin_lock_irq\(&fs->lock\);\n)(\tif \(r\) \{\n\t\tfusion_commit_revert)/\1\twaiters = fs->commit.waiters;\n\tbio_list_init(\&fs->commit.waiters);\n\2/; s/struct bio_list waiters;/struct bio_list waiters = {};/'
mutant moves-applied-before-the-write dm-fusion-journal.c \
	's/(\tpk.waiters = !bio_list_empty)/\tspin_lock_irq(\&fs->lock);\n\tfusion_commit_apply(fs, txn, \&closing);\n\tspin_unlock_irq(\&fs->lock);\n\1/'
mutant failed-move-unlocked dm-fusion-journal.c \
	's/(static void fusion_commit_revert\(struct fusion \*fs, )(struct list_head \*closing\)\n\{\n[^\n]*\n)/\1struct fusion_txn *txn, \2\tu32 i;\n\tfor (i = 0; i < txn->nr; i++)\n\t\tif (txn->rec[i].op == FUSION_OP_MOVE)\n\t\t\tfusion_map_load(fs, txn->rec[i].lext, txn->rec[i].old);\n/; s/fusion_commit_revert\(fs, &closing\)/fusion_commit_revert(fs, txn, \&closing)/' \
	--faults --rarely 64
mutant stable-before-durable dm-fusion-journal.c \
	's/(\topen->closing = true;\n)/\1\t\t\t\tWRITE_ONCE(fs->map[open->lext], rec.new);\n/'
quick fua-of-open-extents-without-commit dm-fusion-open-bio.c \
	's/io->fua \|= !!\(bio->bi_opf & REQ_FUA\);\n\tbio->bi_opf &= ~REQ_FUA;//'
mutant fua-of-zeroes-without-commit dm-fusion-submit.c \
	's/\tfusion_io\(bio\)->fua \|= !!\(bio->bi_opf & REQ_FUA\);\n//'
mutant fua-of-unmapped-zeroes-without-commit dm-fusion-worker.c \
	's/if \(bio->bi_opf & REQ_FUA\)\n\t\tfusion_complete_after_commit/if (0)\n\t\tfusion_complete_after_commit/'
quick bits-set-before-the-write dm-fusion-open-bio.c \
	's/(\topen->writers\+\+;\n)/\1\tfusion_open_set_valid(fs, open, DIV_ROUND_UP(fusion_offset(fs, bio->bi_iter.bi_sector), 8), bio_sectors(bio) \/ 8 - 1 + !(bio_sectors(bio) \/ 8));\n/'

# -- slots ----------------------------------------------------------------------------------

quick slot-reused-before-release-is-durable dm-fusion-txn.c \
	's/\tfusion_log\(fs, lext, FUSION_WORD_UNMAPPED/\tfusion_slot_put(fs, old);\n\tfs->slots.nr_quarantined--;\n&/'
quick slot-freed-before-the-commit dm-fusion-journal.c \
	's/(\tfs->txns.running = fresh;\n)/\1\tif (txn->nr) { list_add_tail(\&txn->list, \&fs->txns.quarantined); queue_work(fs->txns.reclaim_wq, \&fs->txns.reclaim_work); }\n/; s/if \(!r && txn->nr\) \{\n.*\n\t\} else \{\n(\t\tlist_add\(&txn->list, &fs->txns.free\);)\n\t\}/if (!txn->nr)\n\1/'
mutant slot-freed-before-the-drain dm-fusion-txn.c \
	's/\tfusion_drain\(fs\);\n\n\tlist_for/\n\tlist_for/'
mutant slot-freed-with-a-later-commit dm-fusion-txn.c \
	's/(\tif \(list_empty\(&committed\)\)\n\t\treturn;\n)\tfusion_drain\(fs\);\n/\1\tfusion_drain(fs);\n\tspin_lock_irq(\&fs->lock);\n\tlist_splice_init(\&fs->txns.quarantined, \&committed);\n\tspin_unlock_irq(\&fs->lock);\n/' --rarely 16
quick cancelled-copy-frees-the-old-slot dm-fusion-batch.c \
	's/fusion_slot_put\(fs, job->new\)/fusion_slot_put(fs, job->old)/'

# -- discards ------------------------------------------------------------------------------------

mutant discard-of-slot-in-use dm-fusion-discard.c \
	's/ && !test_bit\(slot, fs->slots.used\[d->dev\]\);/;/'
mutant slot-given-away-while-it-is-discarded dm-fusion-discard.c \
	's/\t\t__set_bit\(slot, fs->slots.used\[d->dev\]\);\n//;s/\td->in_flight \+= \*nr;\n\tfs->slots.nr_free\[d->dev\] -= \*nr;\n//;s/\tfor \(slot = first; slot < first \+ nr; slot\+\+\)\n\t\t__clear_bit\(slot, fs->slots.used\[d->dev\]\);\n\td->in_flight -= nr;\n\tfs->slots.nr_free\[d->dev\] \+= nr;\n//'

# -- migration -------------------------------------------------------------------------------

mutant copy-without-a-drain dm-fusion-batch.c \
	's/\t\tfusion_drain\(fs\);\n//'
mutant cancelled-copy-applied dm-fusion-map.c \
	's/READ_ONCE\(fs->map\[lext\]\) == locked \|\|\n\t       cmpxchg\(&fs->map\[lext\], copying, locked\) == copying/xchg(\&fs->map[lext], locked) != FUSION_WORD_UNMAPPED/'
mutant write-does-not-cancel dm-fusion-io.c \
	's/seen = fusion_map_cancel\(slot, word\);/seen = word;/'
mutant write-to-locked-not-parked dm-fusion-io.c \
	's/(if \(fusion_word_state\(word\) == FUSION_LOCKED\) \{\n\t\t\tverdict = )FUSION_DEFER/\1FUSION_SUBMIT/'
quick failed-copy-applied dm-fusion-batch.c \
	's/job->copied = !copy.read_failed && !copy.write_failed;/job->copied = true;/' --faults
mutant discard-of-locked-not-parked dm-fusion-worker.c \
	's/fusion_word_state\(word\) == FUSION_LOCKED\) \{\n\t\t\tfusion_park/0) {\n\t\t\tfusion_park/'

# -- epochs ------------------------------------------------------------------------------------

mutant word-loaded-outside-the-epoch dm-fusion-io.c \
	's/(\trcu_read_lock\(\);\n\tepoch = fusion_enter\(fs\);\n)\tword = READ_ONCE\(\*slot\);\n(\trcu_read_unlock\(\);\n)/\tword = READ_ONCE(*slot);\n\1\2/' --rarely 64
mutant drain-does-not-wait dm-fusion-epoch.c \
	's/\twait_for_completion\(&fs->epochs\[old\].drained\);\n/\twhile (fs->epochs[old].ref.count) cond_resched();\n\tfs->epochs[old].drained.done = 0;\n/; s/while \(fs->epochs\[old\].ref.count\) cond_resched\(\);/if (1) { mutex_unlock(\&fs->drain_mutex); return; }/'
mutant write-not-pinned dm-fusion-open-bio.c \
	's/(\tio->nr = bio_sectors\(bio\);\n)\tfusion_pin_slot\(fs, bio, fusion_word_dev\(word\)\);/\1/'

# -- checkpoints ---------------------------------------------------------------------------------

quick superblock-to-the-same-copy dm-fusion-super.c \
	's/FUSION_SUPER_BLOCKNR\(sb->generation & 1\)/FUSION_SUPER_BLOCKNR(0)/'
quick map-written-to-the-active-set dm-fusion-checkpoint.c \
	's/sb->active_set = !fs->sb.active_set;/sb->active_set = fs->sb.active_set;/'
quick replay-seq-noted-too-late dm-fusion-checkpoint.c \
	's/(\tsb->replay_seq = fs->journal.next_seq;\n\tsb->replay_txn = fs->journal.next_txn;\n\tsb->replay_csum = fs->journal.prev_csum;\n)(.*\tr = fusion_commit\(fs, new_epoch\);\n\tif \(r\)\n\t\tgoto out;\n)/\2\1/'
quick second-commit-left-out dm-fusion-checkpoint.c \
	's/\tr = fusion_commit\(fs, new_epoch\);\n\tif \(r\)\n\t\tgoto out;\n//'
quick bitmaps-not-logged-again dm-fusion-checkpoint.c \
	's/\t\t\tfusion_open_mark_dirty\(fs, open\);\n/\t\t\t(void)0;\n/'
mutant bitmaps-logged-before-the-map dm-fusion-checkpoint.c \
	's/(\tr = fusion_checkpoint_map\(fs, sb->active_set, sb->generation\);\n[^}]*\tif \(r\)\n\t\tgoto out;\n\n)(\tspin_lock_irq[^}]*\tspin_unlock_irq\(&fs->lock\);\n\tr = fusion_commit\(fs, new_epoch\);\n\tif \(r\)\n\t\tgoto out;\n)/\2\1/'
mutant ring-overwritten dm-fusion-checkpoint.c,dm-fusion-chain.c \
	's/return fusion_chain_free\(&fs->journal\) < 4 \* fs->commit.max_blocks;/return false;/; s/if \(WARN_ON_ONCE\(nr > fusion_chain_free\(chain\)\)\)\n\t\treturn -ENOSPC;//'
mutant old-generation-in-the-set dm-fusion-checkpoint.c \
	's/fusion_checkpoint_map\(fs, sb->active_set, sb->generation\)/fusion_checkpoint_map(fs, sb->active_set, fs->sb.set_generation)/'
mutant states-of-copies-on-disk dm-fusion-codec.c \
	's/fusion_word_on_disk\(/(/'

# -- recovery ----------------------------------------------------------------------------------------

mutant chain-of-attempts-not-checked dm-fusion-replay.c \
	's/j.epoch != epoch \|\| j.prev_csum != csum/0/; s/if \(j.prev_csum != csum\)/if (0)/' \
	--large --about attempts
mutant chain-not-checked dm-fusion-replay.c \
	's/j.epoch != epoch \|\| j.prev_csum != csum/j.epoch != epoch/; s/if \(j.prev_csum != csum\)/if (0)/' \
	--large --about attempts
mutant half-transactions-applied dm-fusion-replay.c \
	's/count = j.count;\n\t\t\tepoch/count = 1;\n\t\t\tepoch/' --large
mutant epoch-counted-before-the-checkpoint dm-fusion-load.c \
	's/(\tr = fusion_flush_fast\(fs\);)/\tfs->sb.epoch = epoch;\n\1/'
mutant found-superblock-in-the-cache-only dm-fusion-load.c \
	's/r = fusion_flush_fast\(fs\);/r = 0;/'
mutant slow-told-after-the-superblock dm-fusion-load.c \
	's/\t\tr = fusion_replica_epoch\(fs, epoch\);\n\tif \(!r\)\n\t\tr = fusion_load_make_room\(fs\);/\t\tr = fusion_load_make_room(fs);/'
mutant recovery-without-checkpoint dm-fusion-load.c \
	's/\tif \(!r && !read_only\)\n\t\tr = fusion_load_start_epoch\(fs\);\n//'
mutant replay-starts-at-the-end dm-fusion-load.c \
	's/r = fusion_load_journal\(fs, &claim\);/r = fusion_load_journal(fs, \&claim), fs->journal.next_seq = fs->sb.replay_seq;/'
mutant older-superblock-taken dm-fusion-super.c \
	's/one->generation > sb->generation/one->generation < sb->generation/'
mutant read-only-writes dm-fusion-load.c \
	's/\tif \(!r && !read_only\)\n(\t\tr = fusion_load_start_epoch)/\tif (!r)\n\1/'

# -- other machines --------------------------------------------------------------------------------

mutant heartbeat-not-read dm-fusion-beat-block.c,dm-fusion-beat-take.c \
	's/if \(!r && !fusion_beat_is_own\(h, &seen\)\) \{/if (0) {/g' --hosts
mutant heartbeat-not-watched dm-fusion-beat-take.c \
	's/return fusion_beat_watch\(fs, sb, fusion_beat_watch_ms\(&h->own\)\);/return 0;/' --hosts
mutant claim-without-a-wait dm-fusion-beat-take.c \
	's/\tu32 ms = FUSION_CLAIM_MS;/\tu32 ms = 0;/' --hosts
mutant lease-without-an-end dm-fusion-gate.c \
	's/return h->pass && fusion_boottime_ms\(\) < h->lease_ms;/return h->pass;/' --hosts
mutant superblock-not-looked-at dm-fusion-beat-block.c \
	's/return sb.bad \? -EIO : FUSION_FOREIGN;/return 0;/' --hosts
mutant write-does-not-wake dm-fusion-worker.c \
	's/if \(op_is_write\(bio_op\(bio\)\) && READ_ONCE\(fs->gate\) && fusion_gate_park\(fs, bio\)\)/if (0)/' --hosts
mutant metadata-does-not-wake dm-fusion-metaio.c \
	's/if \(op_is_write\(opf\)\) \{/if (0) {/' --hosts
mutant first-lease-in-full dm-fusion-beat-block.c \
	's/lease = start \+ FUSION_CLAIM_MS;/lease = start + fusion_beat_lease_ms(FUSION_BEAT_MS);/' --hosts
mutant late-beat-counts dm-fusion-beat-block.c \
	's/\tif \(end >= lease && end - start >= FUSION_ENTER_MS\)\n\t\treturn FUSION_OVERDUE;\n//' --hosts
mutant late-claim-counts dm-fusion-beat-block.c \
	's/\tif \(!r && fusion_boottime_ms\(\) - start >= FUSION_ENTER_MS\)\n\t\tr = FUSION_OVERDUE;\n//' --hosts
mutant contest-without-a-wait dm-fusion-beat.c \
	's/\t\tmsleep\(fusion_beat_watch_ms\(&h->own\)\);\n//' --hosts
mutant order-to-stop-contested dm-fusion-beat.c \
	's/h->seen\.state == FUSION_BEAT_FORCED/0/g' --hosts
mutant wakes-without-a-look dm-fusion-beat.c \
	's/FUSION_BEAT_RESTING : FUSION_BEAT_BEATING, wake\)/FUSION_BEAT_RESTING : FUSION_BEAT_BEATING, false)/' --hosts
mutant journal-not-read-again-after-a-late-claim dm-fusion-load.c \
	's/ && fs->heart\.overdue\)/ \&\& 0)/' --hosts --seed 20390
mutant other-path-not-claimed dm-fusion-claim.c \
	's/ \|\| fusion_same_set\(a, b\)//' --hosts

# -- members of the past ---------------------------------------------------------------------------

mutant past-slow-member-accepted dm-fusion-load.c \
	's/if \(!fusion_sb_reached\(&rep->sb, [^\n]*\n[^\n]*\n//' --opening
mutant past-fast-member-accepted dm-fusion-load.c \
	's/if \(!fusion_sb_reached\(&fs->sb, [^\n]*\n[^\n]*\n//' --opening
mutant superblock-claimed-before-it-is-durable dm-fusion-super.c \
	's/(\tfusion_sb_pack\(sb, blocknr, page_address\(chain->buf\[0\]\)\);\n)/\tfusion_note_durable(chain, sb->generation, 0);\n\1/'
mutant transaction-claimed-before-it-is-durable dm-fusion-chain.c \
	's/(\tfusion_note_peer\(fs, chain, sb\);\n)/\1\tfusion_note_durable(chain, 0, chain->next_seq + nr);\n/'
mutant promotions-claimed-before-they-are-durable dm-fusion-promote.c \
	's/(\tsubmit_bio\(rep->bio\);\n)/\tfusion_note_durable(log, 0, log->next_seq + 1);\n\1/'

# -- open extents ----------------------------------------------------------------------------------------

mutant partial-block-not-zeroed dm-fusion-open-bio.c \
	's/discard \|\| fusion_open_partial_block\(fs, open, bio\) >= 0/discard/'
mutant holes-read-from-the-slot dm-fusion-open-bio.c \
	's/if \(valid\) \{/if (1) {/'
mutant discard-clears-the-blocks-at-its-edges dm-fusion-open-excl.c \
	's/for \(i = DIV_ROUND_UP\(first, FUSION_BLOCK_SECTORS\); i < end; i\+\+\)/for (i = first \/ FUSION_BLOCK_SECTORS; i < end; i++)/'
mutant discard-of-open-extent-during-its-commit dm-fusion-open-bio.c \
	's/ \|\| \(fs->commit.running && open->dirty\)//'
mutant discarded-open-extent-not-logged dm-fusion-open-bio.c \
	's/\t\tfusion_log_unmap\(fs, open->lext, open->word\);\n/\t\tfs->nr_mapped--;\n\t\tfusion_slot_put(fs, open->word);\n/'
mutant error-of-a-write-sets-its-bits dm-fusion-open-bio.c \
	's/if \(ok && !open->closed/if (!open->closed/' --faults

# -- the replica ------------------------------------------------------------------------------

mutant released-slots-not-held dm-fusion-replica-state.c \
	's/if \(fusion_word_dev\(word\) == FUSION_FAST \|\| known/if (1 || known/'
mutant slots-freed-before-the-replica-knows dm-fusion-replica.c \
	's/(\tr = fusion_replica_write\(fs\);\n)/\tfusion_held_end(fs, true);\n\1/'
mutant slots-held-during-an-update-freed dm-fusion-replica.c \
	's/\trep->cur = !rep->cur;\n//; s/\tfusion_replica_end_update\(fs, r, anew, started\);/\trep->cur = !rep->cur;\n\tfusion_replica_end_update(fs, r, anew, started);/'
mutant slots-freed-after-a-failed-update dm-fusion-replica.c \
	's/\tfusion_held_end\(fs, !r\);/\tfusion_held_end(fs, true);/' --faults
mutant free-slots-not-held-at-first dm-fusion-replica-open.c \
	's/\tfusion_held_begin\(fs\);\n//' --faults
mutant log-of-an-older-epoch-refused dm-fusion-replay.c \
	's/r->sb->epoch && r->sb->role == FUSION_FAST/r->sb->epoch/'
mutant log-goes-on-after-an-activation dm-fusion-replica-open.c \
	's/\n\trep->restart = true;\n\trep->stale = true;\n/\n\trep->stale = true;\n/'
mutant open-extents-in-the-set dm-fusion-replica.c \
	's/\t\t\tword = FUSION_WORD_UNMAPPED;\n//'
mutant replica-ahead-of-the-map dm-fusion-replica-log.c \
	's/\tif \(pending\)\n\t\treturn fusion_commit_wait\(fs\);\n/\tpending = false;\n/'
mutant discard-not-told dm-fusion-map.c \
	's/\tfusion_replica_mark\(fs, lext\);\n(\tfusion_policy_forget)/\1/'
mutant bitmap-not-told dm-fusion-open.c \
	's/(\tfusion_open_mark_dirty\(fs, open\);\n)\tfusion_replica_mark\(fs, open->lext\);\n(\t\/\*\n\t \* Full)/\1\2/'

# -- promotions in the replica -------------------------------------------------------------------

mutant promotions-not-recorded dm-fusion-batch.c \
	's/(\tif \()!fusion_replica_promote\(fs, lexts, n, max\)(\)\n\t\treturn )true;\n\tfusion_refuse_promotions\(jobs, nr\);\n/\1max > FUSION_MAX_LEAVING\2false;\n/'
mutant promotions-recorded-after-the-commit dm-fusion-batch.c \
	's/(\t\tpromoting = promoting && fusion_wait_for_record\(fs, jobs, nr\);\n)(\t\trecorded = .*\t\t\tr = fusion_commit_wait\(fs\);\n)(\t\tif \(promoting\))/\2\1\3/'
mutant promotions-recorded-and-not-flushed dm-fusion-promote.c \
	's/\tif \(!r\)\n\t\tr = fusion_flush_after\(fs, FUSION_SLOW, rep->bio->bi_opf & REQ_FUA\);\n//'
mutant replica-updated-before-the-promotion-is-committed dm-fusion-promote.c \
	's/\tif \(!rep->bio\)\n\t\treturn 0;\n/\tif (!rep->bio) {\n\t\tmutex_unlock(\&rep->mutex);\n\t\treturn 0;\n\t}\n/; s/(\tfusion_replica_end_leaving\(fs\);\n)(\treturn 0;\n)/\1\tmutex_unlock(\&rep->mutex);\n\2/; s/(void fusion_replica_promoted\(struct fusion \*fs\)\n\{\n)/\1\tmutex_lock(\&fs->replica.mutex);\n/'
mutant away-for-ever dm-fusion-replica.c \
	's/\t\tfusion_replica_mark_away\(fs\);/\t\t;/'
mutant away-though-recorded dm-fusion-replica-state.c \
	's/\tif \(__test_and_clear_bit\(lext, rep->away\)\)\n\t\trep->nr_away--;\n//'
mutant full-disk-taken-for-a-full-log dm-fusion-replica.c,dm-fusion-replica-log.c \
	's/FUSION_LOG_FULL/(-ENOSPC)/g' --faults

# -- what an activation finds ----------------------------------------------------------------

mutant checksum-not-checked dm-fusion-codec.c \
	's/if \(le32_to_cpu\(h->csum\) != fusion_block_csum\(block\)\)/if (0)/' --opening
mutant block-of-another-set-taken dm-fusion-codec.c \
	's/if \(memcmp\(h->set_uuid, sb->set_uuid, sizeof\(h->set_uuid\)\)\)/if (0)/' --opening
mutant map-of-another-generation-taken dm-fusion-codec.c \
	's/if \(!\*why && le64_to_cpu\(b->generation\) != generation\)/if (0)/' --opening
mutant two-extents-on-a-slot-loaded dm-fusion-load.c \
	's/if \(fusion_slot_claim\(fs, word\)\) \{/if (fusion_slot_claim(fs, word) \&\& !fs) {/' --opening
mutant journal-not-searched-beyond-its-end dm-fusion-replay.c \
	's/ret = fusion_replay_search_beyond\(r\);/ret = 0;/' --opening
mutant unreadable-block-taken-for-the-end dm-fusion-replay.c \
	's/return r->unreadable \? -EIO : -EILSEQ;/return r->unreadable ? 0 : -EILSEQ;/' --opening
mutant torn-tail-taken-for-a-hidden-end dm-fusion-replay.c \
	's/ && seq - r->next_seq >= fusion_replay_max_torn\(r->sb\)//'
mutant another-set-loaded dm-fusion-load.c \
	's/if \(!r && !fusion_sb_same_member\(fast, &fs->sb\)\)/if (0)/' --opening
mutant newer-version-written-over dm-fusion-load.c \
	's/if \(!read_only && \*why\)/if (0)/' --opening
mutant copy-from-before-a-newer-version dm-fusion-super.c \
	's/if \(r == -EPROTONOSUPPORT\) \{/if (0) {/' --opening
mutant only-the-fast-member-is-asked-for-features dm-fusion-load.c \
	's/if \(!\*why\)\n\t\twhy = fusion_sb_unknown\(slow/if (0)\n\t\twhy = fusion_sb_unknown(slow/' --opening
mutant failed-constructor-leaks dm-fusion-create.c \
	's/\tfusion_replica_exit\(fs\);\n\tfusion_alloc_exit\(fs\);\n/\tif (fs->worker.wq)\n\t\tfusion_replica_exit(fs);\n\tfusion_alloc_exit(fs);\n/' --opening
mutant journal-used-up-by-recoveries dm-fusion-load.c \
	's/r = fusion_load_make_room\(fs\);/r = 0;/' --opening
mutant holes-not-filled-for-room dm-fusion-load.c \
	's/r = blkdev_issue_zeroout\([^;]*;/r = 0;/' --opening
mutant filled-holes-not-flushed dm-fusion-load.c \
	's/\t\tr = blkdev_issue_flush\(fs->dev\[dev\]->bdev\);/\t\tr = 0;/' --opening

# -- failure ------------------------------------------------------------------------------------------------

quick replica-told-after-a-failure dm-fusion-replica.c \
	's/\tif \(fusion_mode\(fs\) != FUSION_RW\)\n\t\treturn -EROFS;\n//' --faults --about demotions
mutant failed-write-of-the-log-replayed dm-fusion-replica-log.c \
	's/\t\trep->restart \|= r;\n//' --faults
mutant failed-record-of-promotions-replayed dm-fusion-promote.c \
	's/\t\trep->restart = true;\n(\t\tfusion_replica_end_update)/\1/' --faults
mutant mark-of-a-failed-suspend-forgotten dm-fusion-replica.c \
	's/\trep->marked \|= .*\n(\tr = fusion_super_write)/\1/' --faults
mutant resumed-with-the-mark dm-fusion-target.c \
	's/r = fusion_replica_resume\(fs\);/fusion_replica_resume(fs), r = 0;/' --faults
mutant discard-refused-to-the-core dm-fusion-worker.c \
	's/clone->bi_status != BLK_STS_NOTSUPP && clone->bi_status != BLK_STS_TARGET/1/'
mutant claims-nothing dm-fusion-claim.c \
	's/other->claim\.held && fusion_share/0 \&\& fusion_share/'
mutant goes-on-though-overtaken dm-fusion-claim.c \
	's/other->claim\.overtaken = true;/;/'
mutant flush-after-failure-acknowledged dm-fusion-io.c \
	's/lost = \(fs->mode != FUSION_RW \|\| READ_ONCE\(fs->flush.lost\)\) && !fs->read_only;/lost = false;/' --faults
mutant journal-error-ignored dm-fusion-journal.c \
	's/(trace_fusion_commit\(.*, r\);\n)\tif \(r\) \{/\1\tif (0) {/' --faults
mutant slow-flush-error-ignored dm-fusion-flush.c \
	's/(r = blkdev_issue_flush\(fs->dev\[FUSION_SLOW\]->bdev\);)/\1 r = 0;/' --faults
mutant fua-of-metadata-trusted dm-fusion-flush.c \
	's/return dev == FUSION_FAST \|\| fusion_has_fua\(fs, dev\) \? REQ_FUA : 0;/return REQ_FUA;/' --faults --about replica
mutant fua-of-users-trusted dm-fusion.h \
	's/if \(unlikely\(bio->bi_opf & REQ_FUA\) && !fusion_has_fua\(fs, dev\)\) \{/if (0) {/' --faults
mutant metadata-without-fua-not-flushed dm-fusion-flush.c \
	's/\tfusion_mark_written\(fs, dev\);\n\treturn fusion_flush_slow\(fs\);/\treturn 0;/'
mutant journal-beside-users-flush dm-fusion-journal.c \
	's/(\tr = fusion_commit_flush_slow\(pk\);\n)\tif \(!r\)\n\t\tr = fusion_flushes_ended\(fs\);\n/\1/' --faults --about flushes --rarely 64
quick superblock-beside-users-flush dm-fusion-checkpoint.c \
	's/\tr = fusion_flushes_ended\(fs\);/\tr = READ_ONCE(fs->flush.lost) ? -EIO : 0;/' --faults --about flushes --rarely 8
mutant first-superblock-of-two-forgotten dm-fusion-checkpoint.c \
	's/\tif \(!r\)\n\t\tr = fusion_super_write_next\(fs\);\n/\tif (!r)\n\t\tr = fusion_super_write(fs, \&fs->journal, sb);\n/' --faults
mutant failed-commit-frees-slots dm-fusion-journal.c \
	's/if \(!r && txn->nr\)/if (txn->nr)/' --faults

wait
if [[ $fit ]]; then
	bad=$(find "$results" -type f | wc -l)
	echo "1..1"
	[[ $bad -eq 0 ]] || echo -n "not "
	echo "ok 1 - $((total - bad)) of $total mutants find what they change"
else
	echo "1..$total"
fi
[[ -z $(ls "$results") ]]
