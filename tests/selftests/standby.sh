#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# With the setting standby, housekeeping leaves an unused slow member alone until its next use.
# Necessary operations do not wait.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/standby
NEVER=86400
FREE=20		# free fast slots in the beginning, fewer than the reserve
HALF=4		# half-written extents on the slow member

# io: how much I/O of any kind the slow member has had
io() {
	io_of "$SLOW" | xargs
}

# begin SECONDS: a set with all kinds of work to do on the slow member: the reserve is short, and
# extents there are partial. Then it rests for longer than SECONDS.
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

# rested SECONDS: nothing has used the slow member for so long
rested() {
	[[ $(counter standby slow_idle) -ge $1 ]]
}

# work: causes for housekeeping that touch the fast member only
work() {
	# the replica does not know these changes
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

# caught_up: all work is done
caught_up() {
	fetch
	# the policy demotes only without foreground I/O
	sleep 1
	synced && [[ $(status standby demotions) -ge 10 ]]
}

# without the setting all of it is done; otherwise the other tests would prove nothing
long_without() {
	local before
	begin 0
	before=$(io)
	work
	# partial extents wait for ten seconds without I/O
	within 30 "open extents are completed" all_complete
	within 10 "the rest is done" caught_up
	differ "I/O of the slow member" "$(io)" "$before"
	at_least demotions "$(status standby demotions)" 10
}

# all_complete: no extent is partial
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

	# the member is used
	within 20 "housekeeping goes on" caught_up
	at_most "seconds of rest" "$(counter standby slow_idle)" 2
	differ "I/O of the slow member" "$(io)" "$before"
	# and no longer
	within 20 "the slow member rests" rested 4
	before=$(io)
	dd if=/dev/urandom of="$SET" bs=64k seek=$((FREE / 4)) count=2 oflag=direct conv=fsync \
		status=none
	sleep 4
	same "I/O of the slow member" "$(io)" "$before"
	# and waiting does not change that
	msg standby standby 0
	within 10 "housekeeping goes on" synced
}

# synced: the replica knows everything
synced() {
	[[ $(status standby replica replica_dirty) == "ok 0" ]]
}

# requested and awaited operations happen at once
test_needed() {
	local all i first before
	begin 1
	same demoted "$(limited 20 dmsetup message standby 0 demote $((FREE + 10))-$((FREE + 19)))" \
		"10 0 0 0"
	within 10 "the replica knows" synced
	same promoted "$(limited 20 dmsetup message standby 0 promote $((FREE + 10))-$((FREE + 19)))" \
		"10 0 0 0"
	# others were recorded as away along with them
	within 10 "the replica knows who stayed" none_away
	within 20 "the slow member rests" rested 2
	work
	at_least "what the replica does not know" "$(status standby replica_dirty)" 1
	limited 20 dmsetup message standby 0 checkpoint
	assert_synced

	# the only free slots are those that the replica names
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

	# the replica of a closed set is up to date
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

# a flush of data on the slow member reaches it
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
