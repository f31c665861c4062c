#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# When the landing log is drained, and when it is not: on request, when the slow member is idle,
# above a quarter of its size, and for a disk that sleeps above five eighths. What the status says
# of it.

# shellcheck disable=SC2119 # what lib/landing.sh has takes options of its own
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/landing.sh
. "$here/lib/landing.sh"

# in_status NAME: "BLOCKS SEGMENTS SIZE" from the status line
in_status() {
	dmsetup status "$1" | sed -nE 's/.* log ([0-9]+) ([0-9]+)\/([0-9]+).*/\1 \2 \3/p'
}

test_status() {
	local drained
	with_log 16 48 6M migration off idle 60000
	all_slow
	same "size of the log" "$(in_status landing | cut -d ' ' -f 3)" 96
	same "blocks in the log" "$(in_status landing | cut -d ' ' -f 1)" 0
	drained=$(log_has drained)
	put_direct "$SET" 101 65536 4096
	put_direct "$SET" 102 262144 8192
	# again: it takes the place of the first one
	put_direct "$SET" 103 65536 4096
	same "blocks in the log" "$(in_status landing | cut -d ' ' -f 1)" 3
	same "blocks, in the counters" "$(log_has blocks)" 3
	at_least "segments" "$(in_status landing | cut -d ' ' -f 2)" 1
	# without those that lie ready for the next writes
	at_most "segments" "$(in_status landing | cut -d ' ' -f 2)" 2
	same "segments, in the counters" "$(log_has segments)" \
		"$(in_status landing | cut -d ' ' -f 2)"
	# one of them had landed before
	same "blocks that have landed" "$(log_has landed)" 4
	same "writes that wait, and have waited" "$(log_has waiting) $(log_has waited)" "0 0"
	same "runs of blocks" "$(msg landing logged 0 1000 | xargs)" "1 0 1 4 0 2"
	same "runs of blocks from extent 2 on" "$(msg landing logged 2 3)" "4 0 2"
	same "runs of blocks of extent 3" "$(msg landing logged 3 1)" ""
	same "blocks of extents" "$(msg landing extents 0 5 | cut -d ' ' -f 13 | xargs)" "0 1 0 0 2"
	same "blocks of all extents" "$(msg landing heat 2 | cut -d ' ' -f 8 | xargs)" "3 0"
	drained
	same "blocks in the log" "$(log_has blocks)" 0
	same "runs of blocks" "$(msg landing logged 0 1000)" ""
	same "blocks of extents" "$(msg landing extents 0 5 | cut -d ' ' -f 13 | sort -u)" 0
	same "blocks that have landed" "$(log_has landed)" 4
	same "time until the next attempt" "$(log_has retry)" 0
	same "blocks drained" $(($(log_has drained) - drained)) 3
	close landing
	checked_closed
	has "fusionctl check" "$(<"$TMP/said")" "landing log"
}

# A write of a block lands, one that is large or part of a stream does not; nor one to the fast
# member.
test_what_lands() {
	local i
	EXTENT=256K with_log 32 96 8M migration off idle 60000
	all_slow
	put_direct "$SET" 101 $((100 * 65536)) 131072
	# but for what of it is another bio
	at_most "blocks of a large write" "$(log_has blocks)" 4
	drained
	put_direct "$SET" 101 $((120 * 65536)) 512
	same "blocks of a part of a block" "$(log_has blocks)" 0
	msg landing promote 5 >/dev/null
	put_direct "$SET" 101 $((20 * 65536)) 4096
	same "blocks of a write to the fast member" "$(log_has blocks)" 0
	put_direct "$SET" 101 $((40 * 65536)) 4096
	same "blocks of a small write" "$(log_has blocks)" 1
	put_direct "$SET" 101 $((60 * 65536)) 65536
	same "blocks of one of 64 KiB" "$(log_has blocks)" 17
	# a part of a block that has landed, and a large write over it
	put_direct "$SET" 102 $((40 * 65536 + 512)) 512
	for i in 0 1 7; do
		same "sector $i" "$(dd if="$SET" bs=512 skip=$((40 * 128 + i)) count=1 \
			iflag=direct status=none | od -An -c -N1 | xargs)" \
			"$([[ $i -eq 1 ]] && echo B || echo A)"
	done
	put_direct "$SET" 103 $((60 * 65536)) 131072
	at_most "blocks that are newer than on the slow member" "$(log_has blocks)" 4
	drained
	read_same
}

read_same() {
	same "the extents" "$(dd if="$SET" bs=64k skip=60 count=2 iflag=direct status=none | md5sum)" \
		"$(bytes 103 131072 | md5sum)"
}

# the slow member has nothing to do: the log is drained
test_idle() {
	with_log 16 48 2M migration off idle 200
	all_slow
	small --seconds 1 >/dev/null
	within 20 "the log is empty" log_is blocks -eq 0
	verified
	# and half of it is open ahead, besides the one that is being filled
	within 20 "segments are free" log_is segments -le 18
}

# io: how much I/O of any kind the slow member has had
io() {
	io_of "$SLOW" | xargs
}

rested() {
	[[ $(counter landing slow_idle) -ge $1 ]]
}

# A sleeping disk is left alone while small writes land, are read again, and flushed.
long_standby() {
	local before i
	with_log 16 48 4M idle 100 commit_interval 100 replica_interval 1 standby 1
	all_slow
	msg landing checkpoint
	within 20 "the slow member rests" rested 2
	before=$(io)
	# less than five eighths: each is a batch of two blocks, and a segment has room for seven
	for ((i = 0; i < 150; i++)); do
		put_direct "$SET" 101 $((i * 65536)) 4096
		dd if="$SET" of=/dev/null bs=4k skip=$((i * 16)) count=1 iflag=direct status=none
	done
	sync "$SET"
	sleep 5
	same "I/O of the slow member" "$(io)" "$before"
	at_least "blocks in the log" "$(log_has blocks)" 150
	# with entries, and half as many as the log may have, open ahead
	at_most "segments" "$(log_has segments)" 56
	at_least "seconds of rest" "$(counter landing slow_idle)" 5

	# more than that wakes it, and then all that there is by then is drained
	for ((i = 0; i < 250; i++)); do
		put_direct "$SET" 101 $((i * 65536 + 4096)) 4096
	done
	within 30 "the log is drained" log_is drained -ge 200
	differ "I/O of the slow member" "$(io)" "$before"
}

# A user of the slow member wakes it: what has landed is drained as well.
long_woken() {
	with_log 16 48 4M idle 100 commit_interval 100 replica_interval 1 standby 1
	all_slow
	msg landing checkpoint
	within 20 "the slow member rests" rested 2
	put_direct "$SET" 101 655360 4096
	sleep 3
	same "blocks in the log" "$(log_has blocks)" 1
	dd if="$SET" of=/dev/null bs=64k skip=40 count=1 iflag=direct status=none
	within 20 "the log is empty" log_is blocks -eq 0
}

# drains, asked for by several at once, under a load that never stops: each ends
long_asked_under_load() {
	local stamp i drains=()
	with_log 16 48 1M
	all_slow
	background fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --seconds 120 \
		--max-io 16k --mix 10:60:10:2:2:8
	stamp=$REPLY
	for ((i = 0; i < $([[ $QUICK ]] && echo 3 || echo 10); i++)); do
		background limited 60 dmsetup message landing 0 drain
		drains=("$REPLY")
		background limited 60 dmsetup message landing 0 drain
		drains+=("$REPLY")
		wait "${drains[0]}" || fail "drain: status $?"
		wait "${drains[1]}" || fail "drain: status $?"
	done
	finish "$stamp"
	verified
	drained
	same "blocks in the log" "$(log_has blocks)" 0
}

# a drain that waits for a stuck member can be interrupted, and the device suspended
test_interrupted() {
	local drain
	with_log 16 48 6M migration off idle 60000
	all_slow
	small --ops 150 >/dev/null
	at_least "blocks in the log" "$(log_has blocks)" 20
	dmsetup suspend --nolockfs slow-link
	background dmsetup message landing 0 drain
	drain=$REPLY
	sleep 1
	kill -INT "$drain"
	dmsetup resume slow-link
	wait "$drain" || :
	limited 20 dmsetup suspend landing
	limited 20 dmsetup resume landing
	verified
	drained
	same "blocks in the log" "$(log_has blocks)" 0
}

# an older module, or one for sets without a log, is told by the superblock
test_without_log() {
	members 16 32
	LANDING='' format --extent-size 64K
	fusion landing
	same "log in the status" "$(in_status landing)" ""
	limited 20 dmsetup message landing 0 drain
}

run_tests
