#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A slow member that nobody uses is left alone: with the option standby, housekeeping waits
# until somebody comes; what is needed does not.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/standby
NEVER=86400
FREE=20		# free fast slots in the beginning, fewer than the reserve
HALF=4		# half-written extents on the slow member

# io: how much the slow member has been used, by anybody
io() {
	io_of "$SLOW" | xargs
}

# begin SECONDS: a set with all there is to do on the slow member: the reserve is short, and
# extents there are half-written. Then it rests for longer than that.
begin() {
	members 16 32
	format --extent-size 64K
	FAST_EXTENTS=$(($(sb nr_fast_slots) - $(sb spare_fast)))
	fusion standby migration off idle 100 commit_interval 100 replica_interval 1 \
		reserve $((FREE + 10)) standby "$1"
	dd if=/dev/urandom of="$SET" bs=64k count=$((FAST_EXTENTS + HALF)) oflag=direct \
		conv=fsync status=none
	same "extents on fast" "$(on standby fast 0 "$FAST_EXTENTS")" "$FAST_EXTENTS"
	blkdiscard -o $((FAST_EXTENTS * 65536)) -l $((HALF * 65536)) "$SET"
	for ((i = 0; i < HALF; i++)); do
		put_direct "$SET" 101 $(((FAST_EXTENTS + i) * 65536)) 4096
	done
	same "open extents on slow" "$(on standby slow "$FAST_EXTENTS" $HALF)" $HALF
	blkdiscard -l $((FREE * 65536)) "$SET"
	sync "$SET"
	within 20 "slots are free" settled standby
	msg standby checkpoint
	within 20 "the slow member rests" rested 3
}

# rested SECONDS: nobody has used the slow member for so long
rested() {
	[[ $(counter standby slow_idle) -ge $1 ]]
}

# work: what makes for housekeeping, and is on the fast member only
work() {
	# the replica does not know of these
	dd if=/dev/urandom of="$SET" bs=64k count=$((FREE / 4)) oflag=direct conv=fsync status=none
	same "first writes on fast" "$(on standby fast 0 $((FREE / 4)))" $((FREE / 4))
	heat standby 0 $((FREE / 4)) 2
	msg standby migration on
}

# fetch: a user reads from the slow member
fetch() {
	dd if="$SET" of=/dev/null bs=4k skip=$((FAST_EXTENTS * 16)) count=1 iflag=direct \
		status=none
}

none_away() {
	[[ $(counter standby replica_away) -eq 0 ]]
}

# caught_up: everything has been done
caught_up() {
	fetch
	# the policy wants to be alone for its demotions
	sleep 1
	synced && [[ $(status standby demotions) -ge 10 ]]
}

# without the option all of it is done: else the other tests show nothing
long_without() {
	local before
	begin 0
	before=$(io)
	work
	# half-written extents take ten seconds without I/O
	within 30 "open extents are completed" all_complete
	within 10 "the rest is done" caught_up
	differ "I/O of the slow member" "$(io)" "$before"
	at_least demotions "$(status standby demotions)" 10
}

# all_complete: no extent is half-written
all_complete() {
	[[ $(counter standby open_extents) -eq 0 ]]
}

long_rest() {
	local before
	begin 2
	before=$(io)
	work
	sleep 14
	same "I/O of the slow member" "$(io)" "$before"
	same demotions "$(status standby demotions)" 0
	same "open extents" "$(counter standby open_extents)" $HALF
	at_least "what the replica does not know" "$(status standby replica_dirty)" 1
	at_least "seconds of rest" "$(counter standby slow_idle)" 16

	# somebody comes
	within 20 "housekeeping goes on" caught_up
	at_most "seconds of rest" "$(counter standby slow_idle)" 2
	differ "I/O of the slow member" "$(io)" "$before"
	# and leaves
	within 20 "the slow member rests" rested 4
	before=$(io)
	dd if=/dev/urandom of="$SET" bs=64k seek=$((FREE / 4)) count=2 oflag=direct conv=fsync \
		status=none
	sleep 4
	same "I/O of the slow member" "$(io)" "$before"
	# nor is it a matter of time any more
	msg standby standby 0
	within 10 "housekeeping goes on" synced
}

# synced: nothing is left for the replica to learn
synced() {
	[[ $(status standby replica replica_dirty) == "ok 0" ]]
}

# what somebody asked for, or waits for, is done at once
test_needed() {
	local all i first before
	begin 1
	same demoted "$(limited 20 dmsetup message standby 0 demote $((FREE + 10))-$((FREE + 19)))" \
		"10 0 0 0"
	within 10 "the replica knows" synced
	same promoted "$(limited 20 dmsetup message standby 0 promote $((FREE + 10))-$((FREE + 19)))" \
		"10 0 0 0"
	# others were said to be leaving along with them
	within 10 "the replica knows who stayed" none_away
	within 20 "the slow member rests" rested 2
	work
	at_least "what the replica does not know" "$(status standby replica_dirty)" 1
	limited 20 dmsetup message standby 0 checkpoint
	assert_synced

	# no slot is free but those that the replica names
	msg standby migration off
	msg standby replica_interval $NEVER
	all=$(status standby extents)
	dd if=/dev/urandom of="$SET" bs=64k oflag=direct status=none || :
	sync "$SET"
	same "mapped" "$(status standby mapped)" "$all"
	limited 20 dmsetup message standby 0 checkpoint
	first=$((FAST_EXTENTS + 50))
	blkdiscard -o $((first * 65536)) -l $((10 * 65536)) "$SET"
	sync "$SET"
	within 20 "slots are out of quarantine" settled standby
	same "held slots" "$(counter standby replica_held)" 10
	within 20 "the slow member rests" rested 2
	for ((i = 0; i < 10; i++)); do
		limited 20 dd if=/dev/urandom of="$SET" bs=64k seek=$((first + i)) count=1 \
			oflag=direct status=none
	done
	same "mapped" "$(status standby mapped)" "$all"

	# a closed set has a replica that is up to date
	within 20 "the slow member rests" rested 2
	before=$(counter standby replica_writes)
	limited 20 dmsetup suspend standby
	limited 20 dmsetup resume standby
	at_least "transactions of the replica" "$(counter standby replica_writes)" $((before + 1))
	assert_synced
	limited 20 dmsetup remove --retry standby
	same "clean flags" "$(($(sb flags) & 1)) $(($(sb flags "$SLOW") & 1))" "1 1"
}

assert_synced() {
	same "state of the replica" "$(status standby replica replica_dirty)" "ok 0"
}

# a flush of what is on the slow member reaches it
test_flush() {
	local flushes
	begin 1
	msg standby commit_interval 60000
	put_direct "$SET" 102 $((FAST_EXTENTS * 65536)) 4096
	within 20 "the slow member rests" rested 2
	flushes=$(status standby slow_flushes)
	sync "$SET"
	same "flushes" "$(status standby slow_flushes)" $((flushes + 1))
}

test_values() {
	local i
	members 16 32
	format --extent-size 64K
	fusion standby standby 600
	for i in 0 1 86400; do
		msg standby standby $i
		has status "$(dmsetup status standby)" " standby $i "
	done
	has table "$(dmsetup table standby)" " 2 standby 86400"
}

run_tests
