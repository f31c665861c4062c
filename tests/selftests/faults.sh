#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Members that vanish and come back, checkpoints and allocations that fail: nothing hangs, flushed
# data is there, and no reboot is needed.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/faults
DEBUG=/sys/kernel/debug

begin() {
	linked 16 48 "$@"
	format --extent-size 64K
	fusion faults
}

# again MEMBER: bring it back, and open the set again
again() {
	limited 60 dmsetup remove --retry faults || fail "close: status $?"
	swap "$1"
	fusion faults
}

# comes_back MEMBER: bring it back; all data is there, and the set works
comes_back() {
	again "$1"
	same "mode" "$(status faults mode)" rw
	fusion-stamp verify "$SET" --state "$TMP/state" --power-cut
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 500
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# vanish MEMBER: under load, while everything moves
vanish() {
	local storm stamp round
	begin irqmode=2 completion_nsec=100000
	for round in $([[ $QUICK ]] && echo 1 || echo 1 2 3); do
		say "$1, round $round"
		background storm faults
		storm=$REPLY
		background fusion-stamp run "$SET" --state "$TMP/state" --extent 64k \
			--seconds 120 --until-error --mix 30:40:10:5:3:12
		stamp=$REPLY
		sleep $((round * 2 - 1)).$((RANDOM % 10))
		gone "$1"
		wait "$stamp" || fail "the load: status $?"
		finish "$storm"
		comes_back "$1"
	done
}

test_slow_vanishes() {
	vanish slow
}

test_fast_vanishes() {
	vanish fast
}

# A write to the slow member needs a record on the fast one. If the heartbeat notices first that the
# fast member is gone, the write is refused, and this test does not cover that.
test_no_flush_without_record() {
	local extents try
	begin
	msg faults migration off
	extents=$(status faults extents)
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1 --size $((extents * 64 - 256))k
	sync "$SET"
	for ((try = 1; ; try++)); do
		gone fast
		! put_direct "$SET" 101 $(((extents - 2) * 65536)) 4096 || break
		same "mode, by the heartbeat" "$(status faults mode)" ro
		[[ $try -lt 5 ]] || fail "the heartbeat finds it out first, each time"
		again fast
		msg faults migration off
	done
	if sync "$SET"; then
		fail "a first write was flushed without the fast member"
	fi
	same "mode" "$(status faults mode)" ro
	comes_back fast
}

# neither map copy can be written
test_checkpoint_fails() {
	local first count
	begin
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 1000
	sync "$SET"
	first=$(($(sb map_start0) * 8))
	count=$((($(sb map_start1) + $(sb map_blocks)) * 8 - first))
	bad_sectors fast "$first" "$count"
	if msg faults checkpoint; then
		fail "a checkpoint went well that could not be written"
	fi
	same "mode" "$(status faults mode)" ro
	fusion-stamp verify "$SET" --state "$TMP/state"
	comes_back fast
}

# each allocation of a request fails in turn
test_allocations_fail() {
	local table rc knob
	begin
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 1000
	table=$(table)
	close faults
	# those that could wait as well, and small ones
	for knob in failslab fail_page_alloc; do
		[[ ! -d $DEBUG/$knob ]] || echo N >"$DEBUG/$knob/ignore-gfp-wait"
	done
	[[ ! -d $DEBUG/fail_page_alloc ]] || echo 0 >"$DEBUG/fail_page_alloc/min-order"
	rc=0
	fusion-failnth load faults "$table" || rc=$?
	[[ $rc -ne 4 ]] || skip "a kernel without fault injection"
	same "loads" $rc 0
	fusion-failnth resume faults "$table" || fail "activations: status $?"
	fusion faults
	same "mode" "$(status faults mode)" rw
	fusion-failnth message faults "promote 0-3" || fail "promotions: status $?"
	fusion-failnth message faults "map 0 100" || fail "messages: status $?"
	same "mode" "$(status faults mode)" rw
	fusion-stamp verify "$SET" --state "$TMP/state"
}

run_tests
