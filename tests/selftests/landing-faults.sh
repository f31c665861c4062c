#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Members of a set with a landing log that fail: writes to the log, reads from it, and the drain.
# What was acknowledged is there, users hear of what cannot be read, and the set goes on.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/landing.sh
. "$here/lib/landing.sh"
# shellcheck source=lib/areas.sh
. "$here/lib/areas.sh"
SET=/dev/mapper/landing

# bad_log: I/O to all fast slots fails, and so to the whole log
bad_log() {
	local first
	first=$(sb fast_data_start)
	bad_sectors fast "$first" $(($(sectors_of /dev/fast) - first - 2048))
}

# bad_slots: I/O to all slow slots fails; flushes do not
bad_slots() {
	local first=$(($(sb slow_first_slot) * 128))
	bad_sectors slow $first $(($(sectors_of /dev/slow) - first - 2048))
}

# landed: there are blocks in the log, and they are flushed
landed() {
	small --ops 100 --mix 0:10:0:0:0:1 --max-io 4k >/dev/null
	sync "$SET"
	at_least "blocks in the log" "$(log_has blocks)" 10
}

# takes: blocks get into the log, and perhaps out of it
takes() {
	local before
	# slots that the log had while it was full are free by then
	msg landing demote 0-$(($(status landing extents) - 1)) >/dev/null
	sync "$SET"
	before=$(log_has drained)
	small --ops 300 --mix 0:10:0:0:0:1 --max-io 4k >/dev/null
	at_least "blocks that landed" $(($(log_has drained) + $(log_has blocks) - before)) 10
}

# works: all that was acknowledged is there, the log is emptied, and takes blocks again
works() {
	same "mode" "$(status landing mode needs_check)" "rw -"
	verified
	drained
	same "blocks in the log" "$(log_has blocks)" 0
	verified
	takes
	verified
}

long_drain_cannot_write() {
	local errors
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	landed
	errors=$(status landing errors_slow)
	bad_slots
	mark
	if limited 60 dmsetup message landing 0 drain 2>"$TMP/said"; then
		fail "a drain went well that cannot write"
	fi
	logged "drain: blocks of the landing log cannot be copied to the slow member"
	at_least "errors" "$(status landing errors_slow)" $((errors + 1))
	at_least "seconds until the next attempt" "$(log_has retry)" 1
	at_least "blocks in the log" "$(log_has blocks)" 10
	reads_landed
	heal
	works
}

# reads_landed: some block in the log can be read while slow slots cannot
reads_landed() {
	local i ok=0
	for ((i = 0; i < 3000; i += 7)); do
		! dd if="$SET" of=/dev/null bs=4k skip=$i count=1 iflag=direct status=none \
			2>"$TMP/err" || ok=$((ok + 1))
	done
	at_least "blocks read from the log" $ok 1
}

# one bad place: all others are drained, again and again, and nothing waits for it
test_one_block_cannot_be_drained() {
	local lext first want
	with_log 16 48 1M migration off idle 100
	all_slow
	lext=$(places landing | awk '$2 == "slow" && !n++ { print $1 }')
	fusion-stamp fill "$SET" --state "$TMP/stamped" --offset $(((lext + 1) * 65536)) --size 8m \
		--threads 1 >/dev/null
	first=$(($(places landing | awk -v lext="$lext" '$1 == lext { print $3 }') * 128))
	# no other write to this extent: what lands there cannot be drained
	fails_to_write_at $((first + 64))
	put_direct "$SET" 101 $((lext * 65536 + 32768)) 4096
	want=$(bytes 101 4096 | md5sum)
	at_least "blocks in the log" "$(log_has blocks)" 1
	fusion-stamp run "$SET" --state "$TMP/stamped" --extent 64k --seconds 4 --max-io 16k \
		--mix 10:60:5:0:0:4
	within 30 "all others are drained" log_is blocks -eq 1
	fusion-stamp verify "$SET" --state "$TMP/stamped"
	same "the block" "$(block $((lext * 16 + 8)))" "$want"
	heal
	drained
	same "blocks in the log" "$(log_has blocks)" 0
	same "the block" "$(block $((lext * 16 + 8)))" "$want"
	fusion-stamp verify "$SET" --state "$TMP/stamped"
}

# block N: checksum of a block of the set
block() {
	dd if="$SET" bs=4k skip="$1" count=1 iflag=direct status=none | md5sum
}

# fails_to_write_at SECTOR: writes to this block of the slow member fail, reads do not
fails_to_write_at() {
	patched slow "$1" 8 flakey /dev/slow "$1" 0 86400 1 error_writes
}

test_log_cannot_be_read() {
	local errors
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	landed
	errors=$(status landing errors_fast)
	bad_log
	if limited 60 dmsetup message landing 0 drain 2>"$TMP/said"; then
		fail "a drain went well that cannot read"
	fi
	at_least "errors" "$(status landing errors_fast)" $((errors + 1))
	at_least "blocks in the log" "$(log_has blocks)" 10
	if fusion-stamp verify "$SET" --state "$TMP/state" >"$TMP/said" 2>&1; then
		fail "all can be read without the log"
	fi
	has "verify" "$(<"$TMP/said")" "Input/output error"
	heal
	works
}

# Writes that cannot land go to the slow member, and from then on all do.
test_log_cannot_be_written() {
	with_log 16 48 6M "${QUIET[@]}"
	all_slow
	landed
	bad_log
	mark
	small --ops 500 --mix 0:10:0:0:0:1 --max-io 4k
	sync "$SET"
	logged "landing log: a write failed"
	heal
	same "mode" "$(status landing mode needs_check)" "rw -"
	verified
	msg landing checkpoint
	# none lands any more
	drained
	small --ops 300 --mix 0:10:2:0:0:1 --max-io 4k >/dev/null
	same "blocks in the log" "$(log_has blocks)" 0
	verified
	reopened "${QUIET[@]}"
	works
	close landing
	checked_closed
}

# the same under load, and the power fails
long_log_cannot_be_written_and_cut() {
	local i stamp
	for i in 1 2 3; do
		switched 16 32
		LANDING=1M format --extent-size 64K
		fusion landing
		all_slow
		background fusion-stamp run "$SET" --state "$TMP/state" --extent 64k \
			--seconds 60 --until-error --max-io 16k --mix 10:60:10:2:2:10 --threads 8
		stamp=$REPLY
		sleep 1
		bad_log
		sleep 0.$((RANDOM % 10))
		power_off
		wait "$stamp" || fail "the load: status $?"
		close landing
		power_on
		fusion landing
		same "mode" "$(status landing mode needs_check)" "rw -"
		verified --power-cut
		works
		[[ ! $QUICK ]] || return 0
		taken_down
	done
}

# taken_down: the set and its members, for others
taken_down() {
	close landing
	dmsetup remove --retry fast-link
	dmsetup remove --retry slow-link
	null_remove fast
	null_remove slow
	rm "$TMP/state"
}

# vanish MEMBER: under load, while everything moves
vanish() {
	local storm stamp
	with_log 16 48 1M
	all_slow
	background storm landing
	storm=$REPLY
	background fusion-stamp run "$SET" --state "$TMP/state" --extent 64k \
		--seconds 60 --until-error --max-io 64k --mix 20:50:10:5:3:12
	stamp=$REPLY
	sleep 2.$((RANDOM % 10))
	gone "$1"
	# small writes may land without the slow one for a while
	within 60 "the load ends" no_process "$stamp"
	wait "$stamp" || fail "the load: status $?"
	finish "$storm"
	limited 60 dmsetup remove --retry landing || fail "close: status $?"
	swap "$1"
	fusion landing
	same "mode" "$(status landing mode)" rw
	verified --power-cut
	works
}

long_slow_vanishes() {
	vanish slow
}

long_fast_vanishes() {
	vanish fast
}

run_tests
