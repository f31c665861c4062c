#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A member of an open set is replaced by another disk, by tables with old_fast and old_slow, while
# there is I/O: extents leave the old disk, then the set does without it; or it is taken back. No data
# is lost, if power fails as well. An old disk that cannot be read, or vanishes, costs what lies on it.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/data

# begin FAST_MIB SLOW_MIB: an open set with stamped data on both members, and room
begin() {
	switched "$1" "$2"
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

# spare fast|slow MIB: a disk that is prepared to replace that member; its path is in REPLY
spare() {
	null "new" "$2" cache_size=4096
	linear new-link /dev/new 0 "$(sectors_of /dev/new)"
	fusion-prepare "$([[ $1 == fast ]] && echo "$FAST" || echo "$SLOW")" /dev/mapper/new-link
	REPLY=/dev/mapper/new-link
}

# exchange [OPTION VALUE]...: another table of FAST and SLOW takes over
exchange() {
	dmsetup load data --table "$(table "$@" idle 100 commit_interval 100 replica_interval 2 \
		duty 100)"
	dmsetup suspend data
	dmsetup resume data
}

# join fast|slow: the spare disk takes the place of the member, which is in OLD then
join() {
	spare "$1" "${2:-$([[ $1 == fast ]] && echo 24 || echo 72)}"
	settle
	if [[ $1 == fast ]]; then
		OLD=$FAST FAST=$REPLY
	else
		OLD=$SLOW SLOW=$REPLY
	fi
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
	begin 24 72
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
	local new
	begin 24 72
	load
	join "$1"
	new=$([[ $1 == fast ]] && echo "$FAST" || echo "$SLOW")
	settle
	[[ $1 == fast ]] && FAST=$OLD || SLOW=$OLD
	exchange "old_$1" "$new"
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
	begin 24 72
	join "$1"
	fusion-stamp run $SET --state "$TMP/state" --size "$SIZE" --seconds 2 --mix 40:35:10:0:0:5
	sync $SET
	power_off
	swap_to_dead
	close data
	power_on
	new_power_on
	refused "old_$1" fusion data
	dmsetup remove data 2>/dev/null || :
	fusion data "old_$1" "$OLD" duty 100 idle 100
	verify
	within 120 "nothing is left" empty
	close data
	fusion data
	verify
}

swap_to_dead() {
	dmsetup load new-link --table "$(dead new)"
	dmsetup suspend --noflush --nolockfs new-link
	dmsetup resume new-link
}

new_power_on() {
	dmsetup remove --retry new-link
	null_power_cycle new
	linear new-link /dev/new 0 "$(sectors_of /dev/new)"
}

test_power_fast() {
	power_fails fast
}

test_power_slow() {
	power_fails slow
}

# What cannot be read stays, is told, and leaves when it can be read again.
test_unreadable() {
	local first
	begin 24 72
	msg data migration off
	join slow
	first=$(sb slow_first_slot)
	# all data of the old disk
	bad_sectors slow $((first * 128)) $(($(sectors_of /dev/slow) - first * 128 - 2048))
	within 60 "unreadable extents" unreadable
	at_least "ranges" "$(msg data unreadable | wc -w)" 1
	same mode "$(status data mode)" rw
	swap slow
	msg data unreadable retry
	within 120 "nothing is left" empty
	same "unreadable" "$(old unreadable)" 0
	verify
}

unreadable() {
	[[ $(old unreadable) -gt 0 ]]
}

# The old disk vanishes: the set goes on with what is elsewhere, and cannot be opened without it.
test_vanished() {
	begin 24 72
	join slow
	sync $SET
	gone slow
	dd if=/dev/zero of=$SET bs=64K count=1 seek=$((SIZE / 65536 + 2)) oflag=direct conv=fsync \
		status=none
	same mode "$(status data mode)" rw
	close data
	refused "is being replaced: give it as old_slow" fusion data
	dmsetup remove data 2>/dev/null || :
	swap slow
	fusion data old_slow "$OLD" duty 100 idle 100
	verify
}

test_refusals() {
	local other
	begin 24 72
	spare fast 24
	other=$REPLY
	# not its role, not prepared for this, the same twice
	refused "slow member" dmsetup load data --table "0 $LEN fusion $other $FAST 2 old_slow $SLOW"
	refused "same" dmsetup load data --table "$(table old_fast "$FAST")"
	refused "is not the old member" dmsetup load data --table "$(table old_fast "$other")"
	OLD=$FAST FAST=$other
	exchange old_fast "$OLD"
	refused "is being replaced; wait" msg data fence fast 0 3
	refused "cannot be resized" dmsetup load data \
		--table "0 $((LEN - 1280)) fusion $FAST $SLOW 4 resize on old_fast $OLD"
	verify
}

run_tests
