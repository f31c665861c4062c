#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# File systems on a set: a tree is copied and compared while extents move, and the file system is
# whole. The same again after closing and opening.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/fs

begin() {
	members 96 288 irqmode=2 completion_nsec=20000
	stale "$FAST"
	format --extent-size 256K
	fusion fs half_life 10 idle 100
	# 80 MiB of this system's files
	find -L /usr/bin /usr/sbin /usr/lib -xdev -type f -size -6000k -size +3k -print 2>/dev/null |
		sort -u | xargs -d '\n' stat -L -c '%s %n' |
		awk '(sum += $1) <= 80000000 { sub(/^[0-9]* /, ""); print }' >"$TMP/files"
	at_least "files to copy" "$(wc -l <"$TMP/files")" 20
	xargs -d '\n' md5sum <"$TMP/files" >"$TMP/sums"
	mkdir "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
}

copy() {
	mkdir "$TMP/mnt/$1"
	xargs -d '\n' cp -L --parents -t "$TMP/mnt/$1" <"$TMP/files"
}

compare() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	(cd "$TMP/mnt/$1" && sed 's|  /|  |' "$TMP/sums" | md5sum -c --quiet) ||
		fail "tree $1 differs"
}

# on_top FSCK...: the file system has been made
on_top() {
	local storm start=$SECONDS
	mount "$SET" "$TMP/mnt"
	background storm fs
	storm=$REPLY
	copy one
	copy two
	compare one
	rm -r "$TMP/mnt/one"
	copy three
	compare two
	compare three
	# a fast machine copies all that before many extents can move
	while ! enough fs; do
		[[ $((SECONDS - start)) -lt $((120 * SLOWNESS)) ]] || fail "extents hardly move"
		rm -r "$TMP/mnt/three"
		copy three
		compare two
		compare three
	done
	umount "$TMP/mnt"
	finish "$storm"
	say "$(status fs promotions) promotions, $(status fs demotions) demotions"
	"$@" "$SET" >"$TMP/fsck" 2>&1 || fail "$1: status $?: $(tail -n 5 "$TMP/fsck")"
	close fs
	fusion fs
	"$@" "$SET" >"$TMP/fsck" 2>&1 || fail "$1: status $?: $(tail -n 5 "$TMP/fsck")"
	mount "$SET" "$TMP/mnt"
	compare two
	compare three
	umount "$TMP/mnt"
}

test_ext4() {
	need mkfs.ext4 e2fsck
	begin
	mkfs.ext4 -q "$SET"
	on_top e2fsck -fn
}

test_xfs() {
	need mkfs.xfs xfs_repair
	need_module xfs
	begin
	mkfs.xfs -q "$SET"
	on_top xfs_repair -n
}

# the file system does not show on a member
test_members_show_no_filesystem() {
	need mkfs.ext4 blkid
	begin
	mkfs.ext4 -q "$SET"
	close fs
	same "fast member" "$(blkid -p -o value -s TYPE "$FAST" | grep -i ext || :)" ""
	same "slow member" "$(blkid -p -o value -s TYPE "$SLOW" | grep -i ext || :)" ""
}

run_tests
