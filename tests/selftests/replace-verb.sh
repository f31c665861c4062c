#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl replaces a member of an open set: it begins that, follows it and ends it, takes it back,
# and goes on after the set was closed. Whatever it refuses stays as it was.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/replace.sh
. "$here/lib/replace.sh"

# from fast|slow: the whole of it, and once more
from() {
	local role=$1 old pair size=40
	[[ $role == fast ]] || size=56
	begin 24 48 $size
	old=$(member "$role")
	pair=("$NEW" "$SLOW")
	[[ $role == fast ]] || pair=("$FAST" "$NEW")
	filled 6
	mkfs.ext4 -q "$NEW"
	refuses "$NEW: contains ext4" \
		fusionctl replace data "$old" "$NEW" --yes
	refuses "$NEW would be erased, with ext4" \
		fusionctl replace data "$old" "$NEW" --force
	good fusionctl replace data "$old" "$NEW" --dry-run
	shows "would move from its $role member $old to $NEW"
	shows "$NEW: would be erased, with ext4"
	good fusionctl replace data "$old" "$NEW" --yes --force --json
	json '.state, .member, .old_device, .new_device, .left, .unreadable, .wiped' \
		"ended
$role
$old
$NEW
0
0
true"
	as_filled
	blank "$old"
	members_are "${pair[@]}"
	# again, also over something that has nothing to do with it
	good fusionctl replace data "$old" "$NEW" --yes
	shows "nothing to do"
	mkfs.ext4 -q "$old"
	good fusionctl replace data "$old" "$NEW" --yes
	[[ $(blkid -p -o value -s TYPE "$old") == ext4 ]] || fail "it has erased $old"
	same "uuid" "$(jq -r ".members.$role.device_uuid" \
		"/etc/fusion/backup/$(uuid_of "$NEW").json")" "$(uuid_of "$NEW" device_uuid)"
	good fusionctl grow data
	as_filled
	good fusionctl close data
	good fusionctl check "${pair[@]}"
	good fusionctl open data
	as_filled
}

test_fast() {
	need mkfs.ext4 blkid
	from fast
}

test_slow() {
	need mkfs.ext4 blkid
	from slow
}

# A disk that hardly can be meant is told of before the question.
test_doubts() {
	begin 24 48 56
	echo 1 >/sys/block/new/queue/rotational
	swap new "0 $(sectors_of /dev/new) linear /dev/new 0"
	good fusionctl replace data "$SLOW" "$NEW" --dry-run --json
	json '.warnings | length' 0
	good fusionctl replace data "$FAST" "$NEW" --dry-run --json
	json '.warnings[]' fast_rotational$'\n'fast_larger
	refuses "data: the fast member $NEW is a rotational disk, the fast member (56M) is larger \
than the slow one (48M); check which devices are meant" fusionctl replace data "$FAST" "$NEW"
	says "$NEW would be erased"
}

# Every extent of the set is written, and the new disks have not one sector more than the old ones.
test_full() {
	local was
	begin 16 32 16
	was=$FAST
	content $(($(sectors_of /dev/mapper/data) * 512))
	dd if="$TMP/content" of=/dev/mapper/data bs=1M oflag=direct conv=fsync status=none
	same "mapped" "$(status data mapped)" "$(status data extents)"
	good fusionctl replace data "$FAST" "$NEW" --yes
	as_filled
	null roomy 32
	good fusionctl replace data "$SLOW" /dev/roomy --yes
	as_filled
	members_are "$NEW" /dev/roomy
	blank "$was"
	blank "$SLOW"
	# one extent less
	linear small /dev/fast 0 $(($(sectors_of /dev/fast) - 128))
	refuses "has only 15.9M ($(sectors_of /dev/mapper/small) sectors), and the set uses" \
		fusionctl replace data "$NEW" /dev/mapper/small --yes
	good fusionctl close data
	good fusionctl check "$NEW" /dev/roomy
}

# begun fast|slow: the disk has joined, and little has moved
begun() {
	slowed 50
	good fusionctl replace data "$(member "$1")" "$NEW" --yes --no-wait
	shows "goes on by itself; to follow that, and to end it: fusionctl replace data --wait"
	swap new
}

# back fast|slow: what has moved is taken back
back() {
	refuses "would go back to $(member "$1")" fusionctl replace data --abort
	good fusionctl replace data --abort --yes --json
	json '.state, .old_device, .new_device, .wiped' \
		"ended"$'\n'"$NEW"$'\n'"$(member "$1")"$'\n'true
	as_filled
	members_are "$FAST" "$SLOW"
	blank "$NEW"
}

# The verbs know a set of three disks, or refuse it; and it is taken back.
test_three_disks() {
	local slot
	begin 24 48 48
	filled 6
	# one extent stays on the old member, which so is needed
	slot=$(msg data "map 0 1" | cut -d ' ' -f 4)
	bad_sectors fast $(($(sb fast_data_start) + slot * 128)) 128
	begun fast
	good fusionctl status data
	shows "old      $FAST, fast member: "
	good fusionctl list
	shows "being replaced"
	good fusionctl status data --json
	json '.sets[0].old | .role, .device' "fast"$'\n'"$FAST"
	refuses "cannot grow while a member is being replaced; run fusionctl replace data --wait" \
		fusionctl grow data
	refuses "cannot shrink while a member is being replaced" \
		fusionctl shrink data --size 20M --yes
	refuses "moves from $FAST to $NEW already" fusionctl replace data "$SLOW" "$FAST" --yes
	dmsetup suspend data
	dmsetup resume data
	good fusionctl close data
	refuses "cannot be released while a member of it is being replaced" \
		fusionctl release data --yes
	refuses "cannot be repaired while a member" fusionctl repair data --yes
	refuses "cannot be given another uuid while" fusionctl uuid "$NEW" "$SLOW" --yes
	good fusionctl check data
	good fusionctl dump data -o "$TMP/dump"
	same "old member" "$(jq -r .old_member.role "$TMP/dump")" fast
	refuses "is of a set of which a member was being replaced" \
		fusionctl restore "$TMP/dump" data --yes
	good fusionctl salvage "$SLOW"
	good fusionctl salvage "$NEW"
	refuses "is being replaced, and its map is from before" fusionctl salvage "$FAST"
	good fusionctl probe "$SLOW"
	shows "replaces"
	good fusionctl open data
	quick
	swap fast
	back fast
	good fusionctl close data
	good fusionctl check data
}

# The same of a slow member; again when the new disk takes no metadata any more.
test_slow_back() {
	begin 24 48 48
	filled 6
	begun slow
	back slow
	begun slow
	bad_sectors new "$(($(sb log_start) * 8))" 8
	status_of fusionctl replace data --abort --yes
	same "exit code" "$RC" 1
	says "$SLOW is its slow member; $NEW has left, but was not wiped"
	says "$NEW: write failed: Input/output error; check the device, and see dmesg"
	as_filled
	members_are "$FAST" "$SLOW"
	good fusionctl close data
	good fusionctl check "$FAST" "$SLOW"
	swap new
	refuses "$NEW: was the slow member of data and has been replaced, and has nothing of the set" \
		fusionctl salvage "$NEW"
	good fusionctl wipe "$NEW" --yes
}

joins() {
	[[ $(dmsetup table data) == *" old_fast "* ]]
}

suspended() {
	[[ $(dmsetup info -c --noheadings -o suspended data) == Suspended ]]
}

# is_stopped PID: it has no processor, as after Ctrl-Z
is_stopped() {
	[[ $(<"/proc/$1/stat") == *') T '* ]]
}

# A new disk that fails while it joins does not become a member, and the set stays as it was. Signals
# neither end nor stop the verb while I/O waits.
test_broken_disk_and_signals() {
	local pid
	begin 24 48 48
	filled 6
	slowed 1000
	fusionctl replace data "$FAST" "$NEW" --yes >"$TMP/out" 2>&1 &
	pid=$!
	within 60 "a join" joins
	gone new
	! wait "$pid" || fail "it has not noticed that: $(<"$TMP/out")"
	shows "keeps $FAST, as $NEW cannot join: "
	as_filled
	members_are "$FAST" "$SLOW"
	put_direct /dev/mapper/data 125 $((20 << 20)) 65536
	good fusionctl close data
	swap new
	good fusionctl check "$FAST" "$SLOW"
	good fusionctl open data "$FAST" "$SLOW"
	as_filled
	quick
	# and again, with a disk that works; Ctrl-Z and Ctrl-C come while I/O waits
	slowed 300
	set -m
	fusionctl replace data "$FAST" "$NEW" --yes >"$TMP/out" 2>&1 &
	set +m
	pid=$!
	within 20 "I/O waits" suspended
	kill -TSTP "$pid"
	kill -QUIT "$pid"
	kill -INT "$pid"
	within 60 "it stops" is_stopped "$pid"
	! suspended || fail "the set is suspended"
	joins || fail "the new disk is no member"
	kill -CONT "$pid"
	! wait "$pid" || fail "it has not noticed the signal: $(<"$TMP/out")"
	shows "data: goes on moving without this command"
	! suspended || fail "the set is suspended"
	swap new
	good fusionctl replace data --wait
	shows "$FAST is free"
	as_filled
}

# assembled ORDER...: in that order, with the last one, and not before
assembled() {
	local i
	for i in "${@:1:$#-1}"; do
		good fusionctl assemble --incremental "$i"
		[[ ! -e /dev/mapper/data ]] || fail "open too early, at $i of $*"
	done
	good fusionctl assemble --incremental "${*: -1}"
	[[ -e /dev/mapper/data ]] || fail "not open after $*"
	good fusionctl close data
	rm -rf /run/fusion
}

test_assembled() {
	local first
	begin 24 48 48
	filled 6
	# all stays on the old member, which so is needed
	first=$(($(sb slow_first_slot) * 128))
	bad_sectors slow $first $((47 * 2048 - first))
	good fusionctl replace data "$SLOW" "$NEW" --yes --no-wait
	good fusionctl close data
	rm -rf /run/fusion
	assembled "$FAST" "$SLOW" "$NEW"
	assembled "$FAST" "$NEW" "$SLOW"
	assembled "$SLOW" "$FAST" "$NEW"
	assembled "$SLOW" "$NEW" "$FAST"
	assembled "$NEW" "$FAST" "$SLOW"
	assembled "$NEW" "$SLOW" "$FAST"
	good fusionctl assemble --scan
	good fusionctl close data
	# without one of them
	unplugged new
	refuses "the new one is missing" fusionctl open data
	good fusionctl assemble --waiting
	shows "the new slow one is missing"
	good fusionctl list
	shows "the new slow member is missing"
	plugged new
	unplugged slow
	refuses "the old one is missing" fusionctl open data
	good fusionctl assemble --waiting
	shows "the old slow one is missing"
	good fusionctl list --json
	json '.missing[0].role' slow
	plugged slow
	good fusionctl open data
	quick
	as_filled
	good fusionctl replace data --wait
	as_filled
	good fusionctl close data
}

# What cannot be read stays, is listed, and moves when it can be read.
test_unreadable() {
	local byte slot
	need mkfs.ext4 filefrag
	begin 24 48 48
	mkfs.ext4 -q /dev/mapper/data
	mkdir "$TMP/mnt"
	mount /dev/mapper/data "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	head -c 8M /dev/urandom >"$TMP/mnt/precious"
	sync
	byte=$(filefrag -b1 -v "$TMP/mnt/precious" | awk '$1 == "0:" { print $4 + 0 }')
	good fusionctl promote data 0-$(($(status data extents) - 1))
	slot=$(msg data "map $((byte / 65536 + 8)) 1" | cut -d ' ' -f 4)
	bad_sectors fast $(($(sb fast_data_start) + slot * 128)) 128
	status_of fusionctl replace data "$FAST" "$NEW" --yes
	same "exit code" "$RC" 1
	says "1 extent (64K) cannot be read on $FAST"
	says "unreadable: extent $((byte / 65536 + 8))"
	good fusionctl status data
	shows "1 of them UNREADABLE"
	good fusionctl replace data --wait --dry-run
	# to ask, and to try again, stops no I/O
	status_of fusionctl replace data --wait --json
	same "exit code" "$RC" 1
	same "pause" "$(jq -c '[.paused_ms, .left, .unreadable]' <<<"${OUT%%fusionctl:*}")" "[0,1,1]"
	status_of fusionctl replace data --wait --files "$TMP/mnt"
	same "exit code" "$RC" 1
	says "precious"
	swap fast
	good fusionctl replace data --wait
	shows "$FAST is free"
	umount "$TMP/mnt"
	e2fsck -fn /dev/mapper/data >&2
}

# reloaded [FILTER]: the set gets its table again, or as the sed filter makes it
reloaded() {
	dmsetup table data | sed "${1:-}" | dmsetup load data
	dmsetup suspend data
	dmsetup resume data
}

# A disk that is only prepared is no member, whoever asks, and one that has left is none either.
# Only such a disk is erased when the command is given again after the end.
test_apart() {
	begin 24 48 48
	filled 6
	good fusionctl close data
	fusion-prepare "$FAST" "$NEW"
	local is="was prepared to replace the fast member of data"
	local unaware="could not be told that it has left data, and is not wiped; to use it for \
something else, run fusionctl wipe $FAST"
	refuses "$NEW: $is" fusionctl check "$NEW"
	refuses "$NEW: $is" fusionctl check "$NEW" "$SLOW"
	refuses "$NEW: $is" fusionctl salvage "$NEW"
	refuses "$NEW: $is" fusionctl repair "$NEW" "$SLOW" --yes
	refuses "$NEW: $is" fusionctl open data "$NEW" "$SLOW"
	refuses "$NEW: $is" fusionctl open data "$NEW"
	good fusionctl list
	shows "prepared"
	# nor does it keep the set from being opened
	good fusionctl check data
	rm -rf /run/fusion
	assembled "$NEW" "$SLOW" "$FAST"
	good fusionctl assemble --scan
	# then it joins, and no fusionctl wipes the old one
	dd if="$FAST" of="$TMP/before" bs=1M count=1 status=none
	quick
	good fusionctl replace data "$FAST" "$NEW" --yes --no-wait
	within 30 "nothing left" nothing_left
	reloaded
	reloaded 's/ 2 old_fast .*/ 0/; s/ 4 \(.*\) old_fast .*/ 2 \1/'
	same "the old disk" "$(fusion-prepare "$FAST")" left
	good fusionctl list
	shows "has left"
	refuses "was the fast member of data and has been replaced; run fusionctl wipe $FAST" \
		fusionctl check "$FAST"
	# a wipe that was cut short goes on
	good fusionctl replace data "$FAST" "$NEW" --yes
	shows "$FAST is free"
	blank "$FAST"
	# it has the superblocks of a member again, as from an image
	dd if="$TMP/before" of="$FAST" bs=1M conv=notrunc,fsync status=none
	expect 0 "$FAST: $unaware" fusionctl replace data "$FAST" "$NEW" --yes
	shows "nothing to do"
	good fusionctl probe "$FAST"
	shows "fast"
	as_filled
	# the name is that of the set all the same, as after a power cut at the end
	good fusionctl close data
	same "health" "$(fusionctl list --json | jq -r '.sets[].health')" ok
	good fusionctl check data
	good fusionctl open data
	members_are "$NEW" "$SLOW"
	as_filled
	# without the new disk, it is that one which is looked for
	good fusionctl close data
	unplugged new
	refuses "data: its fast member is missing (48M" fusionctl open data
	refuses "data: its fast member is missing (48M" fusionctl open data "$FAST"
	plugged new
	good fusionctl open data
	as_filled
	good fusionctl close data
}

test_refusals() {
	need mkfs.ext4 blkdiscard
	begin 24 48 48
	null small 20
	refuses "names no disks" fusionctl replace data
	refuses "is one disk" fusionctl replace data "$FAST"
	refuses "no member of it is being replaced" fusionctl replace data --wait
	refuses "no member of it is being replaced" fusionctl replace data --abort --yes
	refuses "goes without disks" fusionctl replace data "$FAST" "$NEW" --abort
	refuses "exclude each other" fusionctl replace data "$FAST" "$NEW" --wait --no-wait
	refuses "allows no question" fusionctl replace data "$FAST" "$NEW" --json
	refuses "run fusionctl shrink data --member $FAST --member-size 20M first" \
		fusionctl replace data "$FAST" /dev/small --yes
	refuses "is a member of data" fusionctl replace data "$FAST" "$SLOW" --yes
	refuses "is no member of data" fusionctl replace data /dev/small "$NEW" --yes
	refuses "is on the same disk as the slow member" fusionctl replace data "$FAST" /dev/slow --yes
	linear top "$NEW" 0 2048
	refuses "is held by" fusionctl replace data "$FAST" "$NEW" --yes
	dm_remove top
	mkfs.ext4 -q "$NEW"
	mkdir "$TMP/mnt"
	mount "$NEW" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	refuses "is mounted on $TMP/mnt" fusionctl replace data "$FAST" "$NEW" --yes
	umount "$TMP/mnt"
	blkdiscard -f "$NEW"
	msg data homing on
	refuses "homing is on; run dmsetup message data 0 homing off first" \
		fusionctl replace data "$FAST" "$NEW" --yes
	msg data homing off
	# not on the fast member, where a landing log may be in the way of a fence
	msg data fence slow "$(sb slow_first_slot)" "$(sb slow_first_slot)"
	refuses "it has a fence" fusionctl replace data "$FAST" "$NEW" --yes
	msg data fence off
	dmsetup suspend data
	refuses "it is suspended" fusionctl replace data "$FAST" "$NEW" --yes
	dmsetup resume data
	blank "$NEW"
	good fusionctl close data
	refuses "is closed; fusionctl open data opens it" fusionctl replace data "$FAST" "$NEW" --yes
	good fusionctl check "$FAST" "$SLOW"
}

run_tests
