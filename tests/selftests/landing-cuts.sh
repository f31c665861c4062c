#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What was flushed is there after a power cut when a set has a landing log: while that is full or
# being drained, while extents with blocks in it move, and without a flush of the slow member.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/landing.sh
. "$here/lib/landing.sh"

cuts() {
	[[ $QUICK ]] && echo 2 || echo "$1"
}

# begin LOG_SIZE [OPTION VALUE]...: members with caches that lose what is not flushed
begin() {
	switched 16 32
	stale "$FAST"
	stale "$SLOW"
	LANDING=$1 format --extent-size 64K
	fusion landing "${@:2}"
	all_slow
}

again() {
	close landing
	power_on
	fusion landing "$@"
	same "mode" "$(status landing mode needs_check)" "rw -"
}

# after_cut [OPTION VALUE]...: open it again, and see that nothing flushed is lost
after_cut() {
	again "$@"
	say "$(log_has blocks) blocks in the log"
	verified --power-cut
}

# small writes, and a flush now and then
test_small_writes() {
	local i
	begin 6M migration off idle 60000
	for ((i = 0; i < $(cuts 6); i++)); do
		cut_during 0.$((1 + RANDOM % 9)) --max-io 8k --mix 5:60:5:1:1:15 --threads 8 \
			2>"$TMP/said"
		after_cut migration off idle 60000
	done
	drained
	verified
}

# with all that moves
long_storm() {
	local i storm
	begin 512K
	for ((i = 0; i < $(cuts 6); i++)); do
		background storm landing
		storm=$REPLY
		cut_during 1.$((RANDOM % 10)) --max-io 64k --mix 10:50:15:4:3:10 2>"$TMP/said"
		finish "$storm"
		after_cut
	done
}

# every write is acknowledged only when it is durable
long_synchronous() {
	local i
	begin 512K
	for ((i = 0; i < $(cuts 4); i++)); do
		cut_during 1.$((RANDOM % 10)) --sync --max-io 32k --mix 0:20:10:3:2:0 --threads 8 \
			2>"$TMP/said"
		after_cut
	done
}

# No commit comes by itself: flushes alone have to keep what landed, and what was written over it.
long_rare_commits() {
	local i
	begin 6M migration off commit_interval 60000 idle 60000
	for ((i = 0; i < $(cuts 4); i++)); do
		cut_during 1.$((RANDOM % 10)) --max-io 128k --mix 5:60:10:3:3:20 2>"$TMP/said"
		after_cut migration off commit_interval 60000 idle 60000
	done
}

# the power goes in the middle of a drain
test_drain() {
	local i drain
	begin 6M migration off idle 60000
	for ((i = 0; i < $(cuts 6); i++)); do
		small --ops 150 >/dev/null
		sync "$SET"
		cp "$TMP/state" "$TMP/flushed"
		background limited 60 dmsetup message landing 0 drain 2>"$TMP/said"
		drain=$REPLY
		sleep 0.0$((RANDOM % 10))
		power_off
		wait "$drain" || :
		again migration off idle 60000
		# all of it: nothing was written since the flush
		verified
		say "$(log_has blocks) blocks in the log"
	done
}

# after a flush nothing can be lost, and the flush of small writes does not go to the slow member
test_flushed_then_cut() {
	local flushes
	begin 6M migration off idle 60000 commit_interval 60000
	sync "$SET"
	flushes=$(status landing slow_flushes)
	small --ops 100 --mix 0:10:0:0:0:3 --max-io 4k
	sync "$SET"
	say "$(($(status landing slow_flushes) - flushes)) flushes of the slow member"
	at_least "blocks in the log" "$(log_has blocks)" 1
	power_off
	again migration off idle 60000
	verified
	at_least "blocks in the log" "$(log_has blocks)" 1
}

# the rig must be able to fail: a fast member that ignores flushes loses what has landed
long_lying_member_is_seen() {
	local i
	begin 6M migration off idle 60000
	for ((i = 0; i < 5; i++)); do
		close landing
		# what is above asks when it is made
		dmsetup remove --retry fast-link
		echo "write through" >/sys/block/fast/queue/write_cache
		linear fast-link /dev/fast 0 "$(sectors_of /dev/fast)"
		fusion landing migration off idle 60000 || return 0
		cut_during 1.5 --max-io 8k --mix 0:60:0:0:0:10 2>"$TMP/said"
		close landing
		power_on
		fusion landing migration off idle 60000 || return 0
		verified --power-cut 2>"$TMP/said" || return 0
	done
	fail "5 power cuts with a fast member that ignores flushes, and nothing was lost"
}

run_tests
