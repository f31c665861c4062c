#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fsync of data on the fast member causes no I/O at all on the slow one.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/sync

# write caches, so that flushes reach the members and are counted
begin() {
	members 64 128 cache_size=64
	format --extent-size 256K
	fusion sync migration off
	FAST_EXTENTS=$(($(status sync total_fast) - $(sb spare_fast)))
}

quiet() {
	sync "$SET"
	msg sync checkpoint
	within 20 "nothing waits" settled sync
	sleep 1
}

# fsyncs FIRST COUNT OPS: random writes of 4 KiB there, a flush after each, and one more write,
# since fio does not flush the last
fsyncs() {
	fio --name=fsync --filename="$SET" --rw=randwrite --bs=4k --direct=1 --ioengine=psync \
		--offset=$(($1 * 256))k --size=$(($2 * 256))k --fdatasync=1 --number_ios=$(($3 + 1)) \
		--norandommap --output="$TMP/fio"
}

test_fsync_of_fast_data() {
	local before fast slow_flushes
	begin
	dd if=/dev/zero of="$SET" bs=256k count=$((FAST_EXTENTS + 64)) oflag=direct status=none
	quiet
	before=$(io_of "$SLOW")
	fast=$(io_of "$FAST" | cut -d ' ' -f 4)
	slow_flushes=$(status sync slow_flushes)
	fsyncs 0 $((FAST_EXTENTS - 1)) 300
	same "I/O of the slow member" "$(io_of "$SLOW")" "$before"
	same "slow flushes" "$(status sync slow_flushes)" "$slow_flushes"
	at_least "flushes of the fast member" "$(io_of "$FAST" | cut -d ' ' -f 4)" $((fast + 300))

	# the counters notice if the data lies there
	fsyncs $((FAST_EXTENTS + 8)) 32 50
	at_least "writes to the slow member" "$(io_of "$SLOW" | cut -d ' ' -f 2)" \
		$(($(cut -d ' ' -f 2 <<<"$before") + 50))
	at_least "flushes of the slow member" "$(io_of "$SLOW" | cut -d ' ' -f 4)" \
		$(($(cut -d ' ' -f 4 <<<"$before") + 50))
	same "slow flushes" "$(status sync slow_flushes)" $((slow_flushes + 50))
}

# first writes: the flush also commits the map, which is on the fast member
test_fsync_of_new_extents() {
	local before
	begin
	quiet
	before=$(io_of "$SLOW")
	fsyncs 0 $((FAST_EXTENTS - 1)) 300
	same "I/O of the slow member" "$(io_of "$SLOW")" "$before"
	at_least commits "$(status sync commits)" 10
}

# a write to the slow member is flushed by the first fsync after it, and only once
test_slow_flushed_once() {
	local flushes
	begin
	dd if=/dev/zero of="$SET" bs=256k count=$((FAST_EXTENTS + 64)) oflag=direct status=none
	quiet
	flushes=$(io_of "$SLOW" | cut -d ' ' -f 4)
	put_direct "$SET" 101 $(((FAST_EXTENTS + 9) * 262144)) 4096
	fsyncs 0 8 20
	same "flushes of the slow member" "$(io_of "$SLOW" | cut -d ' ' -f 4)" $((flushes + 1))
}

# FUA and O_DSYNC writes
test_dsync_of_fast_data() {
	local before
	begin
	dd if=/dev/zero of="$SET" bs=256k count=$((FAST_EXTENTS + 64)) oflag=direct status=none
	quiet
	before=$(io_of "$SLOW")
	dd if=/dev/zero of="$SET" bs=4k count=200 oflag=direct,dsync status=none
	same "I/O of the slow member" "$(io_of "$SLOW")" "$before"
}

run_tests
