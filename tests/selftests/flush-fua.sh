#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Flushed data survives a power cut; the members have volatile caches that lose unflushed data.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/flush

cuts() {
	[[ $QUICK ]] && echo 2 || echo "$1"
}

begin() {
	switched 16 32
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 64K
	fusion flush "$@"
}

again() {
	close flush
	power_on
	fusion flush "$@"
	same "mode" "$(status flush mode needs_check)" "rw -"
}

test_power_cuts() {
	local i storm
	begin
	for ((i = 0; i < $(cuts 8); i++)); do
		background storm flush
		storm=$REPLY
		cut_during 1.$((RANDOM % 10)) 2>"$TMP/said"
		finish "$storm"
		again
		fusion-stamp verify "$SET" --state "$TMP/state" --power-cut
	done
}

# every write is acknowledged only when durable
test_power_cuts_synchronous() {
	local i
	begin
	for ((i = 0; i < $(cuts 4); i++)); do
		cut_during 1.$((RANDOM % 10)) --sync --mix 0:2:2:1:1:0 2>"$TMP/said"
		again
		fusion-stamp verify "$SET" --state "$TMP/state" --power-cut
	done
}

# commits are rare: data that a flush acknowledged may not wait for the next one
long_power_cuts_rare_commits() {
	local i
	begin commit_interval 60000
	for ((i = 0; i < $(cuts 4); i++)); do
		cut_during 1.$((RANDOM % 10)) --mix 2:10:10:2:2:8 2>"$TMP/said"
		again commit_interval 60000
		fusion-stamp verify "$SET" --state "$TMP/state" --power-cut
	done
}

# after a flush nothing can be lost, wherever the data lies
test_flushed_then_cut() {
	begin
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 2000
	sync "$SET"
	msg flush promote 0-$(($(status flush extents) - 1)) >/dev/null
	power_off
	again
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# FUA without a flush: XFS writes into an allocated file with O_DSYNC that way
long_fua() {
	need mkfs.xfs
	need_module xfs
	switched 96 280
	format --extent-size 256K
	fusion flush
	mkfs.xfs -q "$SET"
	mkdir "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	mount "$SET" "$TMP/mnt"
	dd if=/dev/zero of="$TMP/mnt/file" bs=1M count=100 conv=fsync status=none
	head -c 64K /dev/urandom >"$TMP/data"
	dd if="$TMP/data" of="$TMP/mnt/file" bs=4k seek=300 oflag=direct,dsync conv=notrunc \
		status=none
	dd if="$TMP/data" of="$TMP/mnt/file" bs=4k seek=24000 oflag=direct,dsync conv=notrunc \
		status=none
	power_off
	umount "$TMP/mnt"
	again
	mount "$SET" "$TMP/mnt"
	cmp -n 65536 -i $((300 * 4096)):0 "$TMP/mnt/file" "$TMP/data"
	cmp -n 65536 -i $((24000 * 4096)):0 "$TMP/mnt/file" "$TMP/data"
	umount "$TMP/mnt"
}

# the rig must be able to fail: a member that ignores flushes loses data, and the test notices
test_lying_member_is_seen() {
	local i
	members 16 32 cache_size=4096
	echo "write through" >/sys/block/slow/queue/write_cache
	linear fast-link "$FAST" 0 "$(sectors_of "$FAST")"
	linear slow-link "$SLOW" 0 "$(sectors_of "$SLOW")"
	FAST=/dev/mapper/fast-link
	SLOW=/dev/mapper/slow-link
	format --extent-size 64K
	echo "write back" >/sys/block/slow/queue/write_cache
	sync "/dev/slow"
	echo "write through" >/sys/block/slow/queue/write_cache
	fusion flush
	for ((i = 0; i < 5; i++)); do
		cut_during 1.5 --mix 0:4:4:0:0:2 2>"$TMP/said"
		close flush
		power_on
		echo "write through" >/sys/block/slow/queue/write_cache
		fusion flush || return 0
		fusion-stamp verify "$SET" --state "$TMP/state" --power-cut 2>"$TMP/said" || return 0
	done
	fail "5 power cuts with a member that ignores flushes, and nothing was lost"
}

run_tests
