#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The life of a set, with the smallest and the largest extents: a disk with a file system is
# adopted, both members are replaced by larger ones and the set grows while files are written, then
# it shrinks, gets another name, and is released.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"
# shellcheck source=lib/contents.sh
. "$here/lib/contents.sh"

NR_BUSY=8

# keeps_writing: until $TMP/go is removed, files and their checksums
keeps_writing() {
	local n=0 i
	while [[ -e $TMP/go ]]; do
		i=$((n++ % NR_BUSY))
		head -c 512K /dev/urandom | tee "$TMP/mnt/busy.$i" | md5sum >"$TMP/busy.$i"
		sync -f "$TMP/mnt"
	done
}

# unchanged: the files of the beginning, and those written since, on $TMP/mnt
unchanged() {
	local i
	(cd "$TMP/mnt/files" && md5sum --quiet -c "$TMP/sums" >&2) || fail "files have changed"
	for ((i = 0; i < NR_BUSY; i++)); do
		same "busy.$i" "$(md5sum <"$TMP/mnt/busy.$i")" "$(<"$TMP/busy.$i")"
	done
}

# checked DEV [MIB]: its file system is whole, and gets that size
checked() {
	e2fsck -fp "$1" >"$TMP/out" 2>&1 || fail "$1: $(tail -n 5 "$TMP/out")"
	[[ ! ${2:-} ]] || resize2fs "$1" "$2M" >"$TMP/out" 2>&1 || fail "$(tail -n 5 "$TMP/out")"
}

# life EXTENT FAST SLOW NEXT_FAST NEXT_SLOW SMALLER [OPTION...]: sizes of the members and of the set
# that shrinks, in MiB; and options of release
life() {
	local set=/dev/mapper/data writer extents disk
	need mkfs.ext4 e2fsck resize2fs fstrim
	need_module dm-fusion
	two "$2" "$3"
	null next-fast "$4"
	null next-slow "$5"
	rotational /dev/next-slow 1
	open_sets data other
	content ext4 "$SLOW"

	good fusionctl adopt data "$SLOW" "$FAST" --yes --extent-size "$1"
	good fusionctl set data --now idle=100 duty=100 commit_interval=100
	mount $set "$TMP/mnt"
	# otherwise all of the disk would move, which is more than there is RAM here
	fstrim "$TMP/mnt"
	touch "$TMP/go"
	keeps_writing &
	writer=$!
	extents=$(status data extents)
	good fusionctl promote data "0-$((extents / 8))"

	good fusionctl replace data "$FAST" /dev/next-fast --yes
	good fusionctl replace data "$SLOW" /dev/next-slow --yes
	for disk in "$FAST" "$SLOW"; do
		same "what is on $disk" "$(probed "$disk")" ""
	done
	good fusionctl grow data
	at_least "extents" "$(status data extents)" $((extents + 1))
	resize2fs $set >"$TMP/out" 2>&1 || fail "$(tail -n 5 "$TMP/out")"
	good fusionctl demote data 0-8
	rm "$TMP/go"
	wait "$writer"
	unchanged
	umount "$TMP/mnt"

	checked $set "$3"
	good fusionctl shrink data --size "$6M" --yes
	at_most "extents" "$(status data extents)" "$extents"
	good fusionctl rename data other
	good fusionctl close other
	good fusionctl check /dev/next-fast /dev/next-slow
	has "findings" "$(tail -n 1 "$TMP/out")" "0 errors, 0 warnings"
	# it has given up a part of each member, which only grow takes back
	refused "run fusionctl grow other" fusionctl release other --yes
	good fusionctl open other
	good fusionctl grow other
	good fusionctl close other
	good fusionctl release other --yes "${@:7}"
	same "what is on the SSD" "$(probed /dev/next-fast)" ""
	checked /dev/next-slow
	mount /dev/next-slow "$TMP/mnt"
	unchanged
}

# shellcheck disable=SC2034 # for the content
test_largest_extents() {
	RANDOM_MIB=40
	# A member has at least 64 of them. The file system was larger once, and has left data behind its
	# end.
	life 16M 1152 1216 1200 1408 2112 --leave-unmapped --size 1216M
}

# shellcheck disable=SC2034 # for the content
test_smallest_extents() {
	RANDOM_MIB=16
	life 64K 16 64 24 80 64
}

run_tests
