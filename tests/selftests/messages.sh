#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Every message and query at any moment, from several threads at once (fusion-storm), while the
# device is suspended and resumed, with and without --noflush, reloaded, closed and opened. Each is
# answered in time, none writes while the set is closed, and the data is unchanged.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/talk
LIMIT=60	# seconds, for what should take a fraction of one

ROUNDS=${ROUNDS:-$([[ $QUICK ]] && echo 4 || echo 40)}

begin() {
	members 8 16 irqmode=2 completion_nsec=100000
	format --extent-size 64K
	fusion talk
	read -r EXTENTS SLOTS < <(status talk extents total_fast)
}

# talk: start all threads; their process is in TALK
talk() {
	background fusion-storm talk --extents "$EXTENTS" --fast-slots "$SLOTS" \
		--bound $((LIMIT * SLOWNESS)) --counts "$TMP/counts" >"$TMP/said" 2>&1
	TALK=$REPLY
}

# each_done: every kind of request has been carried out
each_done() {
	[[ $(awk '$2' "$TMP/counts" | wc -l) -eq 17 ]]
}

# silence: every request was answered, and each kind got some answers other than a refusal
silence() {
	local rc=0
	within "$LIMIT" "an answer of every kind" each_done
	kill -TERM "$TALK"
	wait "$TALK" || rc=$?
	say "request, done, refused, slowest in ms:"
	sed 's/^/# /' "$TMP/said"
	same "status of fusion-storm" $rc 0
	# the moments in question were hit
	at_least "requests refused" "$(awk '{ n += $3 } END { print n }' "$TMP/said")" 1
}

verify() {
	fusion-stamp verify "$SET" --state "$TMP/state"
}

test_suspend_and_resume() {
	local options=('' --noflush '--noflush --nolockfs' --nolockfs) n stamp before
	begin
	background fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --threads 2
	stamp=$REPLY
	talk
	for ((n = 0; n < ROUNDS; n++)); do
		# shellcheck disable=SC2086 # none, one, or two
		limited "$LIMIT" dmsetup suspend ${options[n % 4]} talk
		if [[ $((n % 3)) -eq 0 ]]; then
			before=$(written "$FAST" "$SLOW")
			sleep 0.2
			same "what was written while suspended" "$(written "$FAST" "$SLOW")" "$before"
		fi
		limited "$LIMIT" dmsetup resume talk
	done
	finish "$stamp"
	silence
	same "mode" "$(status talk mode needs_check)" "rw -"
	verify
	limited "$LIMIT" dmsetup remove --retry talk
	fusion talk
	verify
}

# each request by itself: requests that would write are refused, the others are answered, and none
# writes later
test_while_suspended() {
	local i before
	begin
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 200
	limited "$LIMIT" dmsetup suspend talk
	before=$(written "$FAST" "$SLOW")
	for i in checkpoint "promote 0-31" "demote 0-31" "keep duty 50" "label other" \
		"fence fast 0 3" "fence off" "pin fast 0-3" "pin begin"; do
		refused "Resource temporarily unavailable" \
			limited "$LIMIT" dmsetup message talk 0 "$i"
	done
	for i in "heat 10" "map 0 10" "extents 0 10" policy pins histogram stats settings "migration off" "reserve 3" "half_life 10" \
			"duty 50" "idle 10" "commit_interval 10" "replica_interval 1" \
			"discard_passdown off" "standby 1" "write_budget 1" "shadow off" \
			"shadow_age 10" "migration on"; do
		limited "$LIMIT" dmsetup message talk 0 "$i" >/dev/null
	done
	limited "$LIMIT" dmsetup status talk >/dev/null
	limited "$LIMIT" dmsetup table talk >/dev/null
	# longer than either interval
	sleep 2
	same "what was written while suspended" "$(written "$FAST" "$SLOW")" "$before"
	limited "$LIMIT" dmsetup resume talk
	limited "$LIMIT" dmsetup message talk 0 checkpoint
	limited "$LIMIT" dmsetup message talk 0 "promote 0-31" >/dev/null
	verify
}

# a reload replaces the table, and a close removes the device, while messages are sent to it
test_reload_and_close() {
	local n
	begin
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 200
	talk
	for ((n = 0; n < ROUNDS; n++)); do
		limited "$LIMIT" dmsetup load talk --table "$(table duty $((1 + n % 90)))"
		limited "$LIMIT" dmsetup resume talk
		limited "$LIMIT" dmsetup remove --retry talk
		same "clean flag" "$(($(sb flags) & 1))" 1
		limited "$LIMIT" dmsetup create talk --table "$(table)"
		[[ ! ${DM_DISABLE_UDEV:-} ]] || dmsetup mknodes talk >/dev/null
	done
	silence
	same "mode" "$(status talk mode needs_check)" "rw -"
	verify
}

waits_are_told() {
	dmesg | sed "1,/$1/d" | grep -q "suspending waits for I/O of .* or .*; resume it"
}

# A member that queues forever holds up a suspend, with or without --noflush, until it goes on. The
# log says so after ten seconds. Meanwhile the other member serves reads, and nothing is lost.
long_member_that_queues() {
	local mark moving pid seen slow
	linked 16 32
	format --extent-size 64K
	fusion talk migration off
	put "$SET" 7 0 $((100 << 16))
	seen=$(head -c $((100 << 16)) "$SET" | md5sum)
	for slow in demote promote; do
		mark="selftest mark $RANDOM$RANDOM"
		echo "$mark" >/dev/kmsg
		dmsetup suspend --noflush --nolockfs slow-link
		defer dmsetup resume slow-link
		background dmsetup message talk 0 "$slow" 0-15
		moving=$REPLY
		sleep 1
		background dmsetup suspend --noflush talk
		pid=$REPLY
		within 30 "a line in the kernel log" waits_are_told "$mark"
		kill -0 "$pid" || fail "the suspend has ended"
		limited 20 dd if="$SET" of=/dev/null bs=4k skip=$((60 * 16)) count=16 iflag=direct status=none
		dmsetup resume slow-link
		wait "$pid" || fail "suspend: status $?"
		wait "$moving" || say "the move was cut short: status $?"
		dmsetup resume talk
		same "content" "$(head -c $((100 << 16)) "$SET" | md5sum)" "$seen"
		msg talk demote 0-15 >/dev/null
	done
	mark="selftest mark $RANDOM$RANDOM"
	echo "$mark" >/dev/kmsg
	limited 20 dmsetup suspend talk
	dmsetup resume talk
	sleep $((11 * SLOWNESS))
	! waits_are_told "$mark" || fail "a suspend that has ended is told of"
}

run_tests
