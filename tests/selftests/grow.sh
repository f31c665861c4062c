#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# An open set grows with its members, while a file system on it is in use. What cannot grow is
# refused, and stays as it was.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/resize.sh
. "$here/lib/resize.sh"

# begin FAST_MIB SLOW_MIB FORMAT-OPTION...: an open set, data, on members that can become as large
# as the disks of `members`
begin() {
	resizable "$1" "$2"
	opened data "${@:3}"
}

# widen fast|slow MIB: the member has that size now
widen() {
	swap "$1" "0 $(($2 * 2048)) linear /dev/$1 0"
}

# Both members, one after the other, and the map becomes more than one block.
test_while_in_use() {
	local dir=$TMP/mnt was writer
	need mkfs.ext4 resize2fs
	members 64 256
	begin 24 40 --extent-size 64K
	was=$(extents)
	same "blocks of the map" "$(sb map_blocks)" 1
	mkfs.ext4 -q /dev/mapper/data
	mkdir "$dir"
	mount /dev/mapper/data "$dir"
	defer umount_quietly "$dir"
	fill "$dir/first" 12
	touch "$TMP/go"
	while [[ -e $TMP/go ]]; do
		dd if=/dev/zero of="$dir/busy" bs=64K count=16 conv=fsync status=none
	done &
	writer=$!
	widen slow 200
	good fusionctl grow data --dry-run
	shows "data: would grow from"
	same "extents" "$(extents)" "$was"
	good fusionctl grow data --json
	json .old_extents "$was"
	json .content ext4
	at_least "extents" "$(extents)" $((was + 2500))
	good fusionctl promote data 0-99
	resize2fs /dev/mapper/data >&2
	fill "$dir/second" 48
	unchanged
	was=$(extents)
	widen fast 60
	good fusionctl grow data
	shows "$FAST: grew from 24M to 60M"
	shows "to use all of it: mount /dev/mapper/data and run resize2fs"
	at_least "extents" "$(extents)" $((was + 500))
	at_least "blocks of the map" "$(sb map_blocks)" 4
	unchanged
	rm "$TMP/go"
	wait "$writer"
	umount "$dir"
	e2fsck -fn /dev/mapper/data >&2
	was=$(extents)
	good fusionctl close data
	sound "$was"
	good fusionctl open data "$FAST" "$SLOW"
	same "extents" "$(extents)" "$was"
	mount /dev/mapper/data "$dir"
	unchanged
	umount "$dir"
}

# What has been flushed after it is there after a power cut, as is the new size.
test_power_fails() {
	local was
	need_module dm-flakey
	members 64 256 cache_size=4096
	begin 24 40 --extent-size 64K
	was=$(extents)
	widen slow 256
	widen fast 64
	good fusionctl grow data
	was=$(extents)
	put_direct /dev/mapper/data 125 $(((was - 1) * 65536)) 65536
	sync /dev/mapper/data
	power_off
	close data
	power_on
	good fusionctl open data "$FAST" "$SLOW"
	same "extents" "$(extents)" "$was"
	cmp -n 65536 -i $(((was - 1) * 65536)):0 /dev/mapper/data \
		<(head -c 65536 /dev/zero | tr '\0' '\125') >&2 || fail "what was flushed is lost"
	good fusionctl close data
	sound "$was"
}

test_size() {
	local was
	members 64 256
	begin 24 40 --extent-size 64K
	was=$(extents)
	widen slow 200
	refused "is not more than data has" fusionctl grow data --size 20M
	refused "is more than there is room for; the most is" \
		fusionctl grow data --size 3G
	refused "is no size" fusionctl grow data --size many
	good fusionctl grow data --size 100M
	same "extents" "$(extents)" 1600
	good fusionctl grow data --size 150M
	same "extents" "$(extents)" 2400
	good fusionctl grow data
	at_least "extents" "$(extents)" 3000
	good fusionctl close data
	sound "$(sb nr_lexts)"
}

# The map has a gap for four times its size, and no more.
test_map_is_full() {
	members 64 2048
	begin 24 40 --extent-size 64K
	widen slow 2048
	good fusionctl grow data
	same "blocks of the map" "$(sb map_blocks)" "$(($(sb map_start1) - $(sb map_start0)))"
	same "extents" "$(extents)" $(($(sb map_blocks) * 1012))
	refused "the map has no room for more extents; copy the data to a new set" \
		fusionctl grow data
	good fusionctl close data
	sound "$(sb nr_lexts)"
}

test_refusals() {
	local len
	members 64 256
	begin 24 40 --extent-size 64K
	refused "the members have no room for more extents; enlarge one of them first" \
		fusionctl grow data
	len=$((LEN + 128))
	refused "device length must be $LEN sectors, not $len" \
		dmsetup load data --table "0 $len fusion $FAST $SLOW"
	refused "the members have no room for more extents" \
		dmsetup load data --table "0 $len fusion $FAST $SLOW 2 resize on"
	widen slow 200
	refused "device length must be" dmsetup load data --table "0 $len fusion $FAST $SLOW"
	refused "device length must be" \
		dmsetup load data --table "0 $((LEN + 8)) fusion $FAST $SLOW 2 resize on"
	dmsetup suspend data
	refused "it is suspended; run dmsetup resume data first" fusionctl grow data
	# the command that has suspended it, perhaps
	exec 9>>/run/fusion/lock
	flock 9
	refused "it is suspended; another fusionctl is working on it: wait" fusionctl grow data
	exec 9>&-
	dmsetup resume data
	good fusionctl close data
	blockdev --setro "$SLOW"
	dm data "0 $LEN fusion $FAST $SLOW" -r -u "FUSION-$(uuid_of "$FAST")"
	refused "it is in mode ro" fusionctl grow data
	good fusionctl close data
	refused "a set that is opened read-only cannot grow" \
		dmsetup create data -r --table "0 $len fusion $FAST $SLOW 2 resize on"
	dm_remove data
	blockdev --setrw "$SLOW"
	refused "no such set is open" fusionctl grow data
	# without the tool, at the opening
	dm data "0 $len fusion $FAST $SLOW 2 resize on"
	same "extents" "$(extents)" $((len / 128))
	close data
	good fusionctl check "$FAST" "$SLOW"
}

run_tests
