#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# File systems on a set with a landing log, under loads that flush all the time: many small files,
# and a database with its log. Extents move, the log is drained, and all is there afterwards, also
# after a power cut.

# shellcheck disable=SC2119 # what lib/landing.sh has takes options of its own
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/landing.sh
. "$here/lib/landing.sh"
# shellcheck source=lib/contents.sh
. "$here/lib/contents.sh"

MNT=''

# begin TYPE: a file system, all of which is on the slow member
begin() {
	has_fs "$1" || skip "no $1 here"
	need fio
	switched 64 288
	stale "$FAST"
	LANDING=8M format --extent-size 256K
	fusion landing
	# a small ext4 has blocks of 1 KiB, which do not land
	if [[ $1 == ext4 ]]; then
		mkfs.ext4 -q -b 4096 "$SET"
	else
		"mkfs.$1" -q "$SET"
	fi
	MNT=$TMP/mnt
	mkdir "$MNT"
	defer umount_quietly "$MNT"
	mount "$SET" "$MNT"
	head -c 20M /dev/urandom >"$MNT/base"
	mkdir "$MNT/small"
	sync -f "$MNT"
	demote_all
}

demote_all() {
	msg landing demote 0-$(($(status landing extents) - 1)) >/dev/null
}

# database: random writes to a file with a flush after each few, and a log that is
# written in order, with a flush after each
database() {
	fio --output="$TMP/fio" --directory="$MNT" --bs=4k --ioengine=psync \
		--time_based --runtime="$([[ $QUICK ]] && echo 4 || echo 15)" \
		--name=db --rw=randwrite --size=12m --fdatasync=4 \
		--name=wal --rw=write --size=4m --fdatasync=1 --bs=4k ||
		fail "fio: $(tail -n 5 "$TMP/fio")"
	# as the page cache has it
	md5sum "$MNT"/{db,wal}.* "$MNT/base" >"$TMP/sums"
}

# files FROM TO: small ones, each flushed; "SUM NAME" in $TMP/synced
files() {
	local i sum
	for ((i = $1; i < $2; i++)); do
		sum=$(head -c $((1 + RANDOM % 9000)) /dev/urandom | tee "$MNT/small/$i" | md5sum)
		sync "$MNT/small/$i" "$MNT/small"
		echo "${sum%% *}  $i" >>"$TMP/synced"
	done
}

content_is_right() {
	sync -f "$MNT"
	echo 3 >/proc/sys/vm/drop_caches
	(cd "$MNT/small" && md5sum -c --quiet "$TMP/synced") >&2 || fail "small files differ"
	md5sum -c --quiet "$TMP/sums" >&2 || fail "the database differs"
}

# on_top TYPE FSCK...
on_top() {
	local storm
	begin "$1"
	background files 0 60
	storm=$REPLY
	database
	wait "$storm" || fail "small files: status $?"
	content_is_right
	demote_all
	background storm landing
	storm=$REPLY
	files 60 90
	database
	finish "$storm"
	content_is_right
	say "$(log_has drained) blocks drained, $(log_has blocks) blocks in the log"
	at_least "blocks that landed" $(($(log_has drained) + $(log_has blocks))) 50
	umount "$MNT"
	fsck_finds_nothing "${@:2}"
	reopened
	fsck_finds_nothing "${@:2}"
	mount "$SET" "$MNT"
	content_is_right

	# the power fails under the same load
	demote_all
	: >"$TMP/cut"
	background files_until_cut
	storm=$REPLY
	sleep 3
	power_off
	rm "$TMP/cut"
	wait "$storm" || :
	umount "$MNT"
	close landing
	power_on
	fusion landing
	mount "$SET" "$MNT"
	content_is_right
	umount "$MNT"
	fsck_finds_nothing "${@:2}"
	drained
	fsck_finds_nothing "${@:2}"
	close landing
	checked_closed
}

# files_until_cut: until $TMP/cut is gone, or I/O fails
files_until_cut() {
	local i sum
	for ((i = 1000; ; i++)); do
		sum=$(head -c $((1 + RANDOM % 9000)) /dev/urandom | tee "$MNT/small/$i" | md5sum)
		sync "$MNT/small/$i" "$MNT/small" || break
		[[ -e $TMP/cut ]] || break
		echo "${sum%% *}  $i" >>"$TMP/synced"
	done 2>/dev/null
}

fsck_finds_nothing() {
	"$@" "$SET" >"$TMP/fsck" 2>&1 || fail "$1: status $?: $(tail -n 5 "$TMP/fsck")"
}

test_ext4() {
	need e2fsck
	on_top ext4 e2fsck -fn
}

test_xfs() {
	need xfs_repair
	on_top xfs xfs_repair -n
}

test_btrfs() {
	need btrfs
	on_top btrfs btrfs check
}

run_tests
