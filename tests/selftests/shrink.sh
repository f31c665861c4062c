#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# An open set gives up its end, and that of a member, while a file system on it is in use. Then the
# end of the device can be cut off. What cannot shrink is refused, and stays as it was.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/resize.sh
. "$here/lib/resize.sh"

# begin FAST_MIB SLOW_MIB FORMAT-OPTION...: an open set, data, on members that can be cut short
begin() {
	resizable "$1" "$2"
	opened data --extent-size 64K "${@:3}"
	quick
}

# quick: moves out of a fence wait for little
quick() {
	good fusionctl set data --now idle=100 duty=100 commit_interval=100
}

# resized fast|slow SECTORS: the member has that size now
resized() {
	swap "$1" "0 $2 linear /dev/$1 0"
}

# bytes_of fast|slow: what the last JSON says of that member
bytes_of() {
	jq ".$1.bytes" "$TMP/out"
}

# zeros DEV: its last MiB has nothing in it
zeros() {
	local end
	end=$(sectors_of "$1")
	cmp -n $((1 << 20)) -i $(((end - 2048) * 512)):0 "$1" /dev/zero >&2 ||
		fail "$1: its last MiB is not empty"
}

# A file system, and writes to it; then the partition is made smaller.
test_while_in_use() {
	local dir=$TMP/mnt was writer bytes
	need mkfs.ext4 resize2fs e2fsck
	members 64 256
	begin 24 200
	mkfs.ext4 -q /dev/mapper/data
	mkdir "$dir"
	mount /dev/mapper/data "$dir"
	defer umount_quietly "$dir"
	fill "$dir/first" 30
	fill "$dir/second" 20
	umount "$dir"
	refused "and 100M would be left; shrink it first, with resize2fs" \
		fusionctl shrink data --size 100M --yes
	e2fsck -fp /dev/mapper/data >&2
	resize2fs /dev/mapper/data 150M >&2
	mount /dev/mapper/data "$dir"
	touch "$TMP/go"
	while [[ -e $TMP/go ]]; do
		dd if=/dev/zero of="$dir/busy" bs=64K count=16 conv=fsync status=none
	done &
	writer=$!
	was=$(extents)
	good fusionctl shrink data --dry-run
	shows "data: would shrink from"
	same "extents" "$(extents)" "$was"
	same "slots of the fence" "$(status data fence_slots)" 0
	good fusionctl shrink data --yes --json
	json .content ext4
	json .old_extents "$was"
	json .extents 2400
	same "extents" "$(extents)" 2400
	same "size" "$(sectors_of /dev/mapper/data)" $((150 * 2048))
	bytes=$(bytes_of slow)
	at_most "bytes of the slow member" "$bytes" $((140 << 20))
	unchanged
	rm "$TMP/go"
	wait "$writer"
	umount "$dir"
	e2fsck -fn /dev/mapper/data >&2
	good fusionctl close data
	sound 2400
	# the device as large as it was, then as small as was said, then a sector less
	good fusionctl open data "$FAST" "$SLOW"
	same "extents" "$(extents)" 2400
	good fusionctl close data
	resized slow $((bytes / 512))
	zeros "$SLOW"
	sound 2400
	good fusionctl open data "$FAST" "$SLOW"
	e2fsck -fn /dev/mapper/data >&2
	mount /dev/mapper/data "$dir"
	unchanged
	fill "$dir/third" 10
	unchanged
	umount "$dir"
	good fusionctl close data
	sound 2400
	resized slow $((bytes / 512 - 1))
	refused "restore its old size" fusionctl open data "$FAST" "$SLOW"
	# and back
	resized slow $((200 * 2048))
	good fusionctl open data "$FAST" "$SLOW"
	good fusionctl grow data
	same "extents" "$(extents)" "$was"
	good fusionctl close data
	sound "$was"
}

# What was flushed is there after a power cut, the set is as small as it was said to be, and the
# device may be so as well.
test_power_fails() {
	local bytes
	need_module dm-flakey
	members 64 256 cache_size=4096
	begin 24 200
	good fusionctl demote data 0-99
	put /dev/mapper/data 125 0 $((50 << 20))
	good fusionctl shrink data --size 80M --yes --json
	bytes=$(bytes_of slow)
	put_direct /dev/mapper/data 126 $((79 << 20)) 65536
	sync /dev/mapper/data
	power_off
	close data
	power_on
	resized slow $((bytes / 512))
	good fusionctl open data "$FAST" "$SLOW"
	same "extents" "$(extents)" 1280
	cmp -n $((50 << 20)) /dev/mapper/data \
		<(head -c $((50 << 20)) /dev/zero | tr '\0' '\125') >&2 || fail "data is lost"
	cmp -n 65536 -i $((79 << 20)):0 /dev/mapper/data \
		<(head -c 65536 /dev/zero | tr '\0' '\126') >&2 || fail "what was flushed is lost"
	good fusionctl close data
	sound 1280
}

# Every slot is in use, and what is left is under I/O.
test_full() {
	local all load
	members 64 256
	begin 24 64
	all=$(extents)
	fusion-stamp fill /dev/mapper/data --state "$TMP/state" --size $((50 << 20))
	dd if=/dev/urandom of=/dev/mapper/data bs=64K seek=800 count=$((all - 800)) oflag=direct \
		conv=fsync status=none
	same "mapped" "$(status data mapped)" "$all"
	refused "would be lost, and there is no terminal to ask on" \
		fusionctl shrink data --size 50M
	same "mapped" "$(status data mapped)" "$all"
	background fusion-stamp run /dev/mapper/data --state "$TMP/state" --size $((50 << 20)) \
		--seconds 600 --mix 40:35:10:0:0:5
	load=$REPLY
	good fusionctl shrink data --member fast --member-size 16M --yes
	shows "$FAST: only its first"
	good fusionctl shrink data --size 50M --yes
	shows "data: has shrunk from"
	same "extents" "$(extents)" 800
	finish "$load"
	fusion-stamp verify /dev/mapper/data --state "$TMP/state" --size $((50 << 20))
	good fusionctl close data
	resized fast $((16 * 2048))
	zeros "$FAST"
	sound "$(sb nr_lexts)"
}

# A signal in the evacuation changes nothing.
test_interrupted() {
	local was pid
	need_module dm-delay
	members 64 128
	begin 24 80
	good fusionctl set data --now migration=off
	dd if=/dev/urandom of=/dev/mapper/data bs=1M count=80 oflag=direct conv=fsync status=none
	blkdiscard --offset $((4 << 20)) --length $((50 << 20)) /dev/mapper/data
	# now each move takes its time
	swap slow "0 $((80 * 2048)) delay /dev/slow 0 300"
	was=$(extents)
	# without job control, the shell has its background ignore SIGQUIT
	set -m
	fusionctl shrink data --member-size 40M --yes >"$TMP/out" 2>&1 &
	set +m
	pid=$!
	within 20 "a fence" fenced
	kill -QUIT "$pid"
	kill -TERM "$pid" || :
	! wait "$pid" || fail "it has not noticed the signal: $(<"$TMP/out")"
	shows "was stopped, and is as large as before"
	resized slow $((80 * 2048))
	same "slots of the fence" "$(status data fence_slots)" 0
	same "extents" "$(extents)" "$was"
	good fusionctl close data
	good fusionctl check "$FAST" "$SLOW"
	same "extents" "$(sb nr_lexts)" "$was"
}

fenced() {
	[[ $(status data fence_slots) != 0 ]]
}

test_refusals() {
	local len now
	members 64 256
	begin 24 100
	refused "say with --size how large" fusionctl shrink data --yes
	refused "is not less than data has" fusionctl shrink data --size 1T --yes
	refused "is less than is possible; the least is" fusionctl shrink data --size 1M --yes
	refused "is no size" fusionctl shrink data --size little --yes
	refused "exclude each other" fusionctl shrink data --size 50M --member-size 50M --yes
	refused "is no member of data" fusionctl shrink data --size 50M --member /dev/mapper/data --yes
	refused "is not less than the 100M" fusionctl shrink data --member-size 100M --yes
	refused "the least is" fusionctl shrink data --member-size 2M --yes
	refused "allows no question" fusionctl shrink data --size 50M --json
	linear top /dev/mapper/data 0 $((90 * 2048))
	refused "/dev/mapper/top on it reaches to 90M" fusionctl shrink data --size 50M --yes
	dm_remove top
	# by the kernel
	now=$LEN
	len=$((LEN / 2 / 128 * 128))
	refused "device length must be $now sectors, not $len" \
		dmsetup load data --table "0 $len fusion $FAST $SLOW"
	refused "need resize on" \
		dmsetup load data --table "0 $len fusion $FAST $SLOW 2 slow_sectors 100000"
	refused "the slow member would be too small" \
		dmsetup load data --table "0 $len fusion $FAST $SLOW 4 resize on slow_sectors 2048"
	refused "leave out their sizes" dmsetup load data --table \
		"0 $((now + 128)) fusion $FAST $SLOW 4 resize on slow_sectors 100000"
	put_direct /dev/mapper/data 77 $(((len + 128) * 512)) 65536
	dmsetup load data --table "0 $len fusion $FAST $SLOW 2 resize on"
	dmsetup suspend data
	refused "1 extents are in use behind its new end, from" dmsetup resume data
	dmsetup load data --table "0 $now fusion $FAST $SLOW"
	dmsetup resume data
	cmp -n 65536 -i $(((len + 128) * 512)):0 /dev/mapper/data \
		<(head -c 65536 /dev/zero | tr '\0' '\77') >&2 || fail "data is lost"
	dmsetup suspend data
	refused "it is suspended" fusionctl shrink data --size 50M --yes
	dmsetup resume data
	good fusionctl close data
	refused "no such set is open" fusionctl shrink data --size 50M --yes
	good fusionctl check "$FAST" "$SLOW"
	same "extents" "$(($(sb nr_lexts) * 128))" "$now"
}

run_tests
