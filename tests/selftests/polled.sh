#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Polled I/O: the caller asks the members' queues for completions, and no interrupt comes.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/polled

# begin: a set on members with queues of their own for polled I/O
begin() {
	need_io_uring
	members 64 128 poll_queues=1
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 256K
	fusion polled migration off
	same "the set can be polled" "$(<"$(sysfs_of "$SET")/queue/io_poll")" 1
}

# polled FIO-OPTION...
polled() {
	limited 120 fio --name=polled --filename="$SET" --ioengine=io_uring --hipri=1 --direct=1 --thread \
		--iodepth=16 --output-format=json --output="$TMP/fio" "$@"
	same "errors of fio" "$(jq '[.jobs[].error] | add' "$TMP/fio")" 0
}

# First writes, writes of parts of an extent, reads with holes.
test_open_extents() {
	begin
	polled --rw=randwrite --bsrange=4k-128k --bs_unaligned=0 --io_size=32m \
		--verify=crc32c --do_verify=1
	polled --rw=randread --bsrange=4k-512k --io_size=64m
}

# The extents move meanwhile.
test_moving() {
	local storm i
	begin
	background storm polled
	storm=$REPLY
	# a slow kernel needs more than one round until extents have moved each way
	for ((i = 0; i < 10; i++)); do
		polled --rw=randwrite --bs=16k --size="$([[ $QUICK ]] && echo 32m || echo 96m)" \
			--verify=crc32c --do_verify=1 --loops=2
		[[ $(status polled promotions) -eq 0 || $(status polled demotions) -eq 0 ]] || break
	done
	finish "$storm"
	at_least "promotions" "$(status polled promotions)" 1
	at_least "demotions" "$(status polled demotions)" 1
}

# reads_at_least COUNT: a condition for within
reads_at_least() {
	local reads _
	read -r reads _ <<<"$(io_of "$SET")"
	[[ $reads -ge $1 ]]
}

# in_flight DEV: reads and writes
in_flight() {
	local reads writes
	read -r reads writes <"$(sysfs_of "$1")/inflight"
	echo $((reads + writes))
}

# An owner that stops asking holds up nobody else.
test_owner_stops() {
	local owner
	begin
	dd if=/dev/urandom of="$SET" bs=1M oflag=direct conv=fsync status=none count=32
	background fio --name=owner --filename="$SET" --thread --ioengine=io_uring --hipri=1 \
		--direct=1 --rw=randrw --bs=4k --size=32m --iodepth=64 --time_based \
		--runtime=6 --output="$TMP/owner"
	owner=$REPLY
	within 60 "fio" reads_at_least 1000
	kill -STOP "$owner"
	sleep 1
	# the members have done all of it, and nobody has asked
	differ "I/O of the set in flight" "$(in_flight "$SET")" 0
	same "I/O of the fast member in flight" "$(in_flight "$FAST")" 0
	same "I/O of the slow member in flight" "$(in_flight "$SLOW")" 0
	limited 10 dmsetup message polled 0 demote 0-127 >/dev/null
	limited 10 dmsetup message polled 0 promote 0-127 >/dev/null
	limited 10 dd if=/dev/urandom of="$SET" bs=64k count=16 seek=1024 oflag=direct conv=fsync \
		status=none
	kill -CONT "$owner"
	wait "$owner" || fail "fio: $(tail -n 20 "$TMP/owner")"
}

run_tests
