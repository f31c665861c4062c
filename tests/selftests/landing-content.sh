#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A set with a landing log returns what was written: while the log fills and is drained, while
# extents move, and when the set is closed, suspended or opened read-only with a log that has
# blocks.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/landing.sh
. "$here/lib/landing.sh"

# seconds FULL
seconds() {
	[[ $QUICK ]] && echo 4 || echo "$1"
}

# mixed SECONDS [OPTION]...: small and large writes, parts of blocks, discards, zeroes, flushes; a
# twentieth of the writes with O_DSYNC
mixed() {
	fusion-stamp run "$SET" --state "$TMP/state" --extent $(($(sb extent_sectors) * 512)) \
		--seconds "$1" --mix 20:45:15:4:4:6 "${@:2}"
}

# used: something was drained, so something has landed
used() {
	at_least "blocks drained" "$(log_has drained)" "$1"
	same mode "$(status landing mode needs_check)" "rw -"
}

test_storm() {
	local storm
	with_log 16 48 512K
	all_slow
	background storm landing
	storm=$REPLY
	mixed "$(seconds 10)" --max-io 16k --threads 8
	mixed "$(seconds 10)"
	mixed "$(seconds 10)" --max-io 64k --nowait
	finish "$storm"
	verified
	used 100
	reopened
	verified
	drained
	verified
	close landing
	checked_closed
}

# without moves and first writes, which both need fast slots
long_log_turns_over() {
	with_log 16 48 256K migration off
	all_slow
	mixed "$(seconds 8)" --max-io 4k --threads 8 --mix 20:45:15:0:4:6
	verified
	mixed "$(seconds 8)" --max-io 256k --threads 8 --mix 20:45:15:0:4:6
	verified
	used 500
	drained
	verified
	same "blocks in the log" "$(log_has blocks)" 0
	close landing
	checked_closed
}

# one extent: each write meets blocks that are on their way, drained, or copied for a part
test_few_blocks() {
	with_log 16 48 512K migration off
	fusion-stamp fill "$SET" --state "$TMP/state" --size 128k >/dev/null
	sync "$SET"
	msg landing demote 0-1 >/dev/null
	mixed "$(seconds 6)" --max-io 8k --threads 12
	verified
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --seconds "$(seconds 6)" \
		--mix 10:40:40:2:4:10 --threads 12 --max-io 16k
	verified
	same mode "$(status landing mode needs_check)" "rw -"
	reopened
	verified
}

# larger sectors, and more of them in an extent
long_sectors_4096() {
	local storm
	members 32 96 blocksize=4096 irqmode=2 completion_nsec=200000
	stale "$FAST"
	stale "$SLOW"
	LANDING=2M format --extent-size 256K
	fusion landing
	all_slow
	background storm landing
	storm=$REPLY
	mixed "$(seconds 10)" --threads 8 --max-io 64k
	finish "$storm"
	verified
	used 1
	reopened
	verified
}

# a log with blocks, closed and opened again and again
long_close_open() {
	local i blocks
	with_log 16 48 1M migration off
	all_slow
	for ((i = 0; i < $([[ $QUICK ]] && echo 3 || echo 12); i++)); do
		small --ops 200 >/dev/null
		blocks=$(log_has blocks)
		reopened migration off
		at_most "blocks in the log" "$(log_has blocks)" "$blocks"
		verified
		mixed 1 >/dev/null
	done
	close landing
	checked_closed
	fusion landing
	verified
}

# a load for the whole test, while the set is suspended, or gets another table
long_suspend_reload() {
	local i stamp options=('' --noflush --nolockfs)
	with_log 16 48 512K
	all_slow
	background storm landing
	background fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --threads 6 \
		--max-io 32k --mix 20:45:15:2:2:8
	stamp=$REPLY
	for ((i = 0; i < $([[ $QUICK ]] && echo 6 || echo 24); i++)); do
		[[ $((i % 2)) -eq 0 ]] ||
			dmsetup load landing --table "$(table reserve $((1 + i % 9)))"
		# shellcheck disable=SC2086 # none or one
		dmsetup suspend ${options[i % 3]} landing
		sleep 0.05
		dmsetup resume landing
		sleep 0.3
	done
	finish "$stamp"
	verified
	used 1
}

# What is in the log is read from there, and nothing is written.
test_read_only() {
	local fast slow
	# with that, a quarter of it is kept
	with_log 16 48 6M migration off idle 60000
	all_slow
	small --ops 150 >/dev/null
	at_least "blocks in the log" "$(log_has blocks)" 20
	close landing
	fast=$(md5sum <"$FAST")
	slow=$(md5sum <"$SLOW")
	dm landing "$(table)" --readonly
	at_least "blocks in the log" "$(log_has blocks)" 20
	verified
	verified --max-io 4k --threads 8
	refused "Read-only file system" msg landing drain
	if put_direct "$SET" 101 0 4096 2>/dev/null; then
		fail "a read-only device was written"
	fi
	close landing
	blockdev --flushbufs "$FAST" "$SLOW"
	same "fast member" "$(md5sum <"$FAST")" "$fast"
	same "slow member" "$(md5sum <"$SLOW")" "$slow"
	fusion landing
	verified
	drained
	verified
}

run_tests
