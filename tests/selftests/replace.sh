#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A member of an open set is replaced by another disk, by tables with old_fast and old_slow, while
# there is I/O: extents leave the old disk, then the set does without it; or it is taken back. No data
# is lost, if power fails as well. An old disk that cannot be read, or vanishes, costs what lies on it.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/data

# begin: an open set with stamped data on both members, and room; and a disk that is as large as either
begin() {
	switched 24 72
	null new 72 cache_size=4096
	linear new-link /dev/new 0 "$(sectors_of /dev/new)"
	NEW=/dev/mapper/new-link
	format --extent-size 64K
	fusion data idle 100 commit_interval 100 replica_interval 2 duty 100
	SIZE=$(($(status data extents) * 40960))
	SIZE=$((SIZE - SIZE % 65536))
	fusion-stamp fill $SET --state "$TMP/state" --size "$SIZE"
}

verify() {
	fusion-stamp verify $SET --state "$TMP/state" --size "$SIZE"
	same mode "$(status data mode needs_check)" "rw -"
}

# load: reads and writes of what is there
load() {
	background fusion-stamp run $SET --state "$TMP/state" --size "$SIZE" --seconds 600 \
		--mix 40:35:10:0:0:5
	LOAD=$REPLY
}

# exchange [OPTION VALUE]...: another table of FAST and SLOW takes over
exchange() {
	# shellcheck disable=SC2086 # words
	dmsetup load data --table "$(table "$@" $PACE)"
	dmsetup suspend data
	dmsetup resume data
}

# How moves go on from a table on: at once, or hardly.
AT_ONCE="idle 100 commit_interval 100 replica_interval 2 duty 100"
SLOWLY="idle 60000 commit_interval 100 replica_interval 2 duty 1"
PACE=$AT_ONCE

# join fast|slow: NEW takes the place of the member, which is in OLD then
join() {
	local member
	[[ $1 == fast ]] && member=$FAST || member=$SLOW
	fusion-prepare "$member" "$NEW"
	settle
	OLD=$member
	[[ $1 == fast ]] && FAST=$NEW || SLOW=$NEW
	exchange "old_$1" "$OLD"
}

settle() {
	msg data settle
}

# old FIELD: what the status says of the old member: member, device, left, total, unreadable
old() {
	local line
	read -ra line < <(dmsetup status data)
	[[ ${line[-6]} == old ]] || return 1
	case $1 in
	member)		echo "${line[-5]}" ;;
	left)		echo "${line[-3]}" ;;
	total)		echo "${line[-2]}" ;;
	unreadable)	echo "${line[-1]}" ;;
	esac
}

empty() {
	[[ $(old left) == 0 ]]
}

# goes MEMBER: it is replaced under I/O, an event tells when nothing is left on the old disk, and the
# set does without it
goes() {
	local total
	begin
	load
	join "$1"
	same "old member" "$(old member)" "$1"
	total=$(old total)
	at_least "extents on the old member" "$total" 10
	has "table" "$(dmsetup table data)" "old_$1"
	within 120 "nothing is left" empty
	at_least "moved" "$(counter data evacuated)" 1
	exchange "old_$1" "$OLD"
	! old left || fail "there is an old member still"
	same "the old disk" "$(fusion-prepare "$OLD")" left
	finish "$LOAD"
	verify
	close data
	same "fast member" "$(fusion-prepare "$FAST")" none
	same "slow member" "$(fusion-prepare "$SLOW")" none
	fusion data
	verify
}

test_fast() {
	goes fast
}

test_slow() {
	goes slow
}

# back MEMBER: half-way the disks change places again
back() {
	begin
	load
	join "$1"
	settle
	[[ $1 == fast ]] && FAST=$OLD || SLOW=$OLD
	exchange "old_$1" "$NEW"
	within 120 "nothing is left" empty
	# without the disk, which is not told then
	exchange
	! old left || fail "there is an old member still"
	finish "$LOAD"
	verify
	close data
	fusion data
	verify
}

test_fast_back() {
	back fast
}

test_slow_back() {
	back slow
}

# Power fails while extents leave. Only the three disks together make the set.
power_fails() {
	begin
	lags "$1"
	join "$1"
	fusion-stamp run $SET --state "$TMP/state" --size "$SIZE" --seconds 2 --mix 40:35:10:0:0:5
	sync $SET
	at_least "extents on the old member" "$(old left)" 1
	power_off
	power_off new
	close data
	power_on fast slow new
	refused "old_$1" dmsetup create data --table "$(table)"
	dm_remove data
	fusion data "old_$1" "$OLD" duty 100 idle 100
	verify
	within 120 "nothing is left" empty
	close data
	fusion data
	verify
}

test_power_fast() {
	power_fails fast
}

test_power_slow() {
	power_fails slow
}

# lags fast|slow: I/O to it takes its time, so extents leave it hardly
lags() {
	need_module dm-delay
	PACE=$SLOWLY
	swap "$1" "0 $(sectors_of "/dev/$1") delay /dev/$1 0 100"
}

# unreadable_slow: no data of the slow disk can be read or written
unreadable_slow() {
	local first
	first=$(sb slow_first_slot)
	bad_sectors slow $((first * 128)) $(($(sectors_of /dev/slow) - first * 128 - 2048))
}

some_unreadable() {
	[[ $(old unreadable) -gt 0 ]]
}

# What cannot be read stays, is told, and leaves when it can be read again.
test_unreadable() {
	begin
	sync $SET
	unreadable_slow
	join slow
	within 60 "unreadable extents" some_unreadable
	at_least "ranges" "$(msg data unreadable | wc -w)" 1
	same mode "$(status data mode)" rw
	swap slow
	at_least "errors of the old member" "$(msg data stats | sed -n 's/^errors_old //p')" 1
	msg data unreadable retry
	within 120 "nothing is left" empty
	same "unreadable" "$(old unreadable)" 0
	verify
}

# The old disk vanishes: the set goes on with what is elsewhere, and cannot be opened without it.
test_vanished() {
	begin
	lags slow
	join slow
	sync $SET
	at_least "extents on the old member" "$(old left)" 1
	gone slow
	dd if=/dev/zero of=$SET bs=64K count=1 seek=$((SIZE / 65536 + 2)) oflag=direct conv=fsync \
		status=none
	same mode "$(status data mode)" rw
	close data
	refused "being replaced: give it as old_slow" \
		dmsetup create data --table "$(table)"
	dm_remove data
	swap slow
	fusion data old_slow "$OLD" duty 100 idle 100
	verify
}

# beat DEVICE: the block of the heartbeat on it
beat() {
	dd if="$1" bs=4096 skip=4 count=1 iflag=direct status=none | md5sum
}

beats() {
	[[ $(beat "$1") != "$2" ]]
}

# The heartbeat moves to the new fast member, and to no new slow one.
test_heartbeat() {
	local before on_old
	begin
	load
	join fast
	before=$(beat "$NEW")
	on_old=$(beat "$OLD")
	within 30 "a heartbeat on the new disk" beats "$NEW" "$before"
	same "the block of the old disk" "$(beat "$OLD")" "$on_old"
	# 4: who has it from there gives up
	same "state of the old disk's heartbeat" "$(number "$OLD" 4 68 4)" 4
	# and back
	settle
	FAST=$OLD
	exchange old_fast "$NEW"
	within 30 "a heartbeat on the disk taken back" beats "$FAST" "$on_old"
	before=$(beat "$NEW")
	on_old=$(beat "$FAST")
	within 30 "a heartbeat on the disk taken back" beats "$FAST" "$on_old"
	same "the block of the disk that was new" "$(beat "$NEW")" "$before"
	finish "$LOAD"
	verify
}

test_refusals() {
	begin
	fusion-prepare "$FAST" "$NEW"
	# not its role, not prepared for this, the same twice, a disk that is no member
	refused "is the fast member of its set" \
		dmsetup load data --table "0 $LEN fusion $NEW $FAST 2 old_slow $SLOW"
	refused "is the fast member of its set" \
		dmsetup load data --table "0 $LEN fusion $FAST $NEW 2 old_slow $SLOW"
	refused "the same as another one" dmsetup load data --table "$(table old_fast "$FAST")"
	refused "More than one old device" dmsetup load data \
		--table "0 $LEN fusion $NEW $SLOW 4 old_fast $FAST old_slow $FAST"
	refused "only prepared" dmsetup load data --table "0 $LEN fusion $NEW $SLOW"
	refused "is not the old member" dmsetup load data --table "$(table old_fast "$NEW")"
	OLD=$FAST FAST=$NEW PACE=$SLOWLY
	exchange old_fast "$OLD"
	refused "is being replaced; wait" msg data fence fast 0 3
	refused "is being replaced; wait" msg data homing on
	msg data homing off
	refused "cannot be resized" dmsetup load data \
		--table "0 $((LEN - 1280)) fusion $FAST $SLOW 4 resize on old_fast $OLD"
	refused "do not name each other" dmsetup load data --table "0 $LEN fusion $OLD $SLOW"
	verify
}

run_tests
