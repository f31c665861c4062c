#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: mutants.sh [--fit] [NAME...]
#
# Break fusionctl in one place at a time, each a care that it takes of what is on the members, and
# see that the rig notices, JOBS of them at a time. SETS and ONE_IN bound how long it may take for
# each. What matters only after a repair that is forced, cut short, and then not repeated, is for a
# unit test to notice. With --fit only see that each still finds what it changes.

set -euo pipefail
cd "$(dirname "$0")"

TREE=$(cd ../../.. && pwd)
OUT=$TREE/build/tools-mutants
JOBS=${JOBS:-$(nproc)}
SETS=${SETS:-40}
ONE_IN=${ONE_IN:-4}
LIMIT=1800	# seconds

fit=
if [[ ${1:-} == --fit ]]; then
	fit=1
	shift
fi
wanted=("$@")
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
total=0

# mutant NAME FILE SED [TEST]: SED sees the file as one line; it must change it. TEST: the unit test
# that notices, if not the rig.
mutant() {
	[[ ${#wanted[@]} -eq 0 || " ${wanted[*]} " == *" $1 "* ]] || return 0
	total=$((total + 1))
	while [[ $(jobs -rp | wc -l) -ge $JOBS ]]; do
		wait -n || :
	done
	try "$total" "$@" &
}

# try NUMBER NAME FILE SED [TEST]
try() {
	local nr=$1 start=$SECONDS why
	shift
	if why=$(noticed "$@"); then
		[[ $fit ]] || echo "ok $nr - $1 ($((SECONDS - start)) s: $why)"
	else
		echo "${fit:+# }not ok $nr - $1: $why"
		touch "$results/$nr"
	fi
}

# Says why it failed, or why it does not count.
noticed() {
	local file=$2 script=$3 unit=${4:-} dir=$OUT/$1 rc=0 source
	mkdir -p "$dir"
	rm -f "$dir"/*
	source=$(echo "$TREE"/userspace/*/"$file")
	sed -zE "$script" "$source" >"$dir/$file"
	if cmp -s "$source" "$dir/$file"; then
		echo "there is nothing to change in $file"
		return 1
	fi
	[[ ! $fit ]] || return 0
	if [[ $unit ]]; then
		noticed_by "$unit" "$dir"
		return
	fi
	if ! make -s -C .. BROKEN="$dir" "$dir/tools" >"$dir/log" 2>&1; then
		echo "does not compile, see $dir/log"
		return 1
	fi
	timeout "$LIMIT" "$dir/tools" --sets "$SETS" --one-in "$ONE_IN" >"$dir/log" 2>&1 || rc=$?
	if [[ $rc -eq 0 ]]; then
		echo "not noticed in $SETS sets"
		return 1
	fi
	grep -q '^# FAILED: ' "$dir/log" || {
		echo "the rig ended with $rc, see $dir/log"
		return 1
	}
	sed -n 's/^# FAILED: //p' "$dir/log" | cut -c 1-120
}

# noticed_by TEST DIR
noticed_by() {
	local test=$1 dir=$2
	if ! make -s -C "$TREE/tests/unit" BROKEN="$dir" "$dir/$test" >"$dir/log" 2>&1; then
		echo "does not compile, see $dir/log"
		return 1
	fi
	if timeout "$LIMIT" "$dir/$test" >"$dir/log" 2>&1; then
		echo "not noticed by $test"
		return 1
	fi
	grep -q '^not ok' "$dir/log" || {
		echo "$test ended otherwise, see $dir/log"
		return 1
	}
	sed -n 's/^# .*: not so: //p' "$dir/log" | head -1 | cut -c 1-120
}

if [[ ! $fit ]]; then
	echo "KTAP version 1"
	# else what it finds of the mutants proves nothing
	make -s -C "$TREE/tests/unit" check T="test-next test-replace test-shadow" >"$OUT.log"
	make -s -C .. "$TREE/build/sim/tools/tools"
	"$TREE/build/sim/tools/tools" --sets "$SETS" --one-in "$ONE_IN" >"$OUT.log" 2>&1 ||
		{ echo "Bail out! fusionctl fails as it is, see $OUT.log"; exit 1; }
fi

# -- what is taken for a member ----------------------------------------------------

mutant repair-takes-any-device repair.c \
	's/return fus_meta_sb\(meta, dev\) \|\| fus_meta_has_blocks\(meta, dev\);/return true;/'
mutant repair-takes-the-past repair.c \
	's/rc = judge_past\(p, force\);/rc = judge_past(p, true);/'
mutant check-does-not-know-the-past meta-check.c \
	's/if \(fus_meta_past\(meta, &past\)\)/if (0 \&\& fus_meta_past(meta, \&past))/'
mutant restore-does-not-ask-for-the-age restore.c \
	's/rc = restore_check_age\(d, &meta, a->opt\[OPT_FORCE\]\);/rc = restore_check_age(d, \&meta, true);/'
mutant restore-over-newer-members restore-age.c \
	's/if \(is_newer\(d, meta, &p\[dev\], dev\)\)/if (0 \&\& is_newer(d, meta, \&p[dev], dev))/'
mutant restore-over-older-members restore-age.c \
	's/if \(is_older\(d, meta, dev\)\)/if (0 \&\& is_older(d, meta, dev))/'
mutant restore-over-a-map-that-is-whole restore-age.c \
	's/return rc \|\| !whole \?/return 1 ?/'
mutant restored-members-count-as-newer restore-age.c \
	's/if \(!sb->peer_at.generation/if (0 \&\& !sb->peer_at.generation/'
mutant restore-over-another-set restore.c \
	's/if \(memcmp\(sb->set_uuid[^{]*\{/if (0) {/'

# -- what is written ---------------------------------------------------------------

mutant the-epoch-is-not-raised meta-write.c \
	's/return newest \+ 1;/return newest;/; s/return fast->epoch \+ 1;/return fast->epoch;/'
mutant the-epoch-of-the-dump-counts meta-write.c \
	's/if \(fast \&\& slow \&\& fit\(meta\)\)/if (0 \&\& fit(meta))/'
mutant the-past-leads-on meta-write.c \
	's/\(slow \? 1 : 0\)/0/' test-next
mutant the-epoch-of-the-slow-members-log-is-forgotten meta-write.c \
	's/max\(meta->m\[FAST\]\.ring\.max_epoch, [^)]*\)/meta->m[FAST].ring.max_epoch/' test-next
mutant the-epoch-of-the-slow-member-is-forgotten meta-write.c \
	's/newest = max\(newest, slow->epoch\);/;/' test-next
mutant another-activation-before meta-write.c \
	's/prev_activation = fast \? fast->activation : activation/prev_activation = activation/'
mutant the-set-in-use-is-overwritten meta-write.c \
	's/have \? !have->active_set/have ? have->active_set/'
mutant the-copy-in-use-is-overwritten meta-write.c \
	's/if \(have && !\(\(sb->generation/if (have \&\& ((sb->generation/'
mutant the-slow-member-is-clean-first meta-write.c \
	's/sb\[SLOW\].flags = 0;/sb[SLOW].flags = FUSION_SB_CLEAN;/'
mutant the-slow-member-is-never-clean-first meta-write.c \
	's/if \(fus_meta_sb\(meta, FAST\)\)\n\t\tsb/if (1)\n\t\tsb/' test-shadow
mutant the-ring-begins-where-it-was meta-write.c \
	's/max\(ring->max_seq, have \? have->replay_seq : 0\) \+ 1/(have ? have->replay_seq : 1)/'
mutant what-the-other-member-claims-is-forgotten meta-write.c \
	's/max\(sb->replay_seq, least.seq\)/sb->replay_seq/' test-next
mutant the-superblocks-that-the-other-member-saw-are-forgotten meta-write.c \
	's/max\(max_generation\(meta, dev\), least.generation\)/max_generation(meta, dev)/' test-next
mutant bitmaps-are-not-written meta-write.c \
	's/rc = fus_meta_put_opens\(meta, sb, st\);/;/'
mutant an-unreadable-journal-block-stays meta-write.c \
	's/if \(ring->unreadable\[pos\] \&\&/if (0 \&\&/'
mutant an-unreadable-map-block-stays meta-write.c \
	's/if \(block\[i\].unreadable\)/if (0)/'
mutant restore-breaks-the-chain restore.c \
	's/&d->st, d->goes_on/\&d->st, false/'

mutant a-ring-that-never-was-counts meta-rebuild.c \
	's/if \(!sb \|\| !begins \|\| named\)/if (1)/'
mutant the-journal-is-whole-without-a-superblock meta-rebuild.c \
	's/if \(!rc \&\& !fus_meta_sb\(meta, rb->dev\)\)/if (0)/'
mutant an-old-shadow-is-the-place-of-an-extent meta-replica.c \
	's/rb->replica_same \&\& is_exact\(meta\)/rb->replica_same/' test-shadow
mutant a-hidden-superblock-does-not-count meta-replica.c \
	's/if \(meta->m\[dev\]\.copy\[0\]\.err [^)]*\)/if (0)/' test-shadow

# -- what is said ------------------------------------------------------------------

mutant repair-does-not-doubt meta-rebuild.c \
	's/rb->doubt\[lext\] = max_t\(u8, rb->doubt\[lext\], how\);/;/'
mutant repair-prefers-the-older-set meta-base.c \
	's/\.set = a->set < 0 \? -1 : !a->set/.set = a->set/'
mutant salvage-takes-the-other-members-slots salvage-plan.c \
	's/if \(fusion_word_dev\(word\) != sb->role\)/if (0)/'

# -- a member that is replaced: what is written on the disks that come and go ---------

mutant the-new-disk-is-a-member-at-once old-member.c \
	's/(fusion_old_describe\(old, FUSION_OLD_)PREPARED/\1MEMBER/' test-replace
mutant the-new-disk-has-the-uuid-of-the-old-one old-member.c \
	's/uuid_generate_random\(new->dev_uuid\);/;/' test-replace
mutant any-disk-may-be-erased old-member.c \
	's/sb->old.state == FUSION_OLD_LEFT \|\|/1 ||/; s/return sb->incompat \& [A-Z_]* \&\&/return 1 ||/' \
	test-replace
mutant a-disk-of-another-set-may-be-erased old-member.c \
	's/ \|\| memcmp\(sb\[newest\].set_uuid, uuid, 16\)//' test-replace
mutant the-superblock-that-counts-goes-first old-member.c \
	's/i \? newest : !newest/i ? !newest : newest/' test-replace
mutant superblocks-go-in-any-order old-member.c \
	's/(!newest\), zeros\);\n\t\tif \(!rc\)\n\t\t\trc = )sync_disk\(o\)/\10/' test-replace
mutant a-disk-that-may-join-counts-as-a-member trio.c \
	's/m->sb->old.state == FUSION_OLD_JOINING \&\& !is_named/0 \&\& !is_named/' test-replace
mutant an-old-disk-that-may-return-is-forgotten trio.c \
	's/return !peer \|\| !memcmp\(([^)]*)\) \|\|[^;]*;/return !peer || !memcmp(\1);/' test-replace

mutant the-old-disk-is-not-told-that-it-has-left replace-table.c \
	's/int rc = reload\(r, true\);/int rc = 0;/'
mutant the-set-is-left-before-all-has-moved replace.c \
	's/if \(!rc \&\& !r->set.st.old.left\) \{/if (!rc) {/; s/rc = replace_follow\(r\);/;/'
mutant a-new-disk-that-is-not-prepared-joins replace.c \
	's/if \(!rc\)\n\t\trc = prepare\(r\);//'
mutant the-old-disk-is-not-looked-for trio.c \
	's/t->old = with_uuid\(list, t->by->old.uuid\);/;/'

wait
failed=$(find "$results" -type f | wc -l)
[[ $fit ]] || echo "# $total mutants, $failed not noticed"
[[ $failed -eq 0 ]]
