#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dm-log-writes runs under each member, and both logs get a mark after each operation, while no I/O
# is under way: the marks are the common order of the two logs. Replayed up to a mark, a member
# holds the data that had been flushed to it by then, and nothing else. For every mark the set must
# open, and read as allowed. STEPS is the number of marks (40). The same with a landing log, which
# gets blocks and is drained.

# shellcheck source=../selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"
PATH=$here/../../build/powercut:$PATH

STEPS=${STEPS:-40}
SEED=${SEED:-$((RANDOM << 15 | RANDOM))}
LANDING=${LANDING:-}
SET=/dev/mapper/logged
EXTENT=$((64 << 10))

# logged MEMBER: put a log under it; its device becomes REPLY
logged() {
	local dev=/dev/$1
	null "log-$1" 256
	dm "writes-$1" "0 $(sectors_of "$dev") log-writes $dev $REPLY"
}

# step N: one operation, or a few that belong together
step() {
	local first=$((RANDOM % 64)) kinds=$((${#LANDING} ? 7 : 6))
	case $((RANDOM % kinds)) in
	0)	msg logged promote $first-$((first + RANDOM % 8)) >/dev/null ;;
	1)	msg logged demote $first-$((first + RANDOM % 8)) >/dev/null ;;
	2)	msg logged checkpoint ;;
	6)	msg logged drain ;;
	*)	fusion-stamp run "$SET" --state "$TMP/state" --seed "$SEED" --threads 1 \
			--ops $((1 + RANDOM % 6)) --max-io 64k --extent $EXTENT \
			--mix 0:6:2:1:1:3 >/dev/null ;;
	esac
}

# mark NAME: in both logs at the same moment. Nothing may reach the fast member between the two
# marks, since the slow one may have seen it. AS maps a name to the mark that was made.
declare -A AS=([-]=-)
mark() {
	local before i
	for ((i = 0; i < 50; i++)); do
		before=$(written /dev/mapper/writes-fast)
		dmsetup message writes-fast 0 mark "$1.$i"
		dmsetup message writes-slow 0 mark "$1.$i"
		AS[$1]=$1.$i
		[[ $(written /dev/mapper/writes-fast) != "$before" ]] || break
	done
	[[ $i -lt 50 ]] || fail "mark $1: the set is never at rest"
	cp "$TMP/state" "$TMP/state.$1"
}

# at FROM TO: restore the members as of that mark; open, verify
at() {
	local i
	for i in fast slow; do
		log-replay "/dev/log-$i" "$TMP/$i" "${AS[$1]}" "${AS[$2]}"
		dd if="$TMP/$i" of="/dev/$i" bs=1M oflag=direct status=none
	done
	fusion logged
	fusion-stamp verify "$SET" --state "$TMP/state.$2" --power-cut >"$TMP/said" 2>&1 ||
		fail "at mark $2, SEED=$SEED: $(cat "$TMP/said")"
	close logged
}

test_every_mark() {
	local i from fast slow
	landed=0
	need_module dm-log-writes
	RANDOM=$SEED
	members 8 12
	fast=$FAST slow=$SLOW
	stale "$FAST"
	stale "$SLOW"
	format --extent-size $EXTENT
	for i in fast slow; do
		dd if="/dev/$i" of="$TMP/$i" bs=1M iflag=direct status=none
		logged "$i"
	done
	FAST=/dev/mapper/writes-fast
	SLOW=/dev/mapper/writes-slow
	fusion logged migration off commit_interval 60000 idle 60000
	fusion-stamp fill "$SET" --state "$TMP/state" --seed "$SEED" --size 6m --max-io 64k >/dev/null
	msg logged demote 40-63 >/dev/null
	mark begin
	for ((i = 1; i <= STEPS; i++)); do
		step "$i"
		mark "step-$i"
		[[ ! $LANDING || $(counter logged log_blocks) -eq 0 ]] || landed=$((landed + 1))
	done
	close logged
	close writes-fast
	close writes-slow
	FAST=$fast SLOW=$slow
	at - begin
	from=begin
	cp "$TMP/slow" "$TMP/slow.begin"
	for ((i = 1; i <= STEPS; i++)); do
		at "$from" "step-$i"
		from=step-$i
	done
	say "$STEPS marks, $landed of them with blocks in a landing log, seed $SEED"

	# a slow member without any flush since the start is refused
	dd if="$TMP/fast" of=/dev/fast bs=1M oflag=direct status=none
	dd if="$TMP/slow.begin" of=/dev/slow bs=1M oflag=direct status=none
	refused "Stale file handle" dmsetup create logged --table "$(table)"
}

test_every_mark_with_a_landing_log() {
	LANDING=1M
	test_every_mark
	[[ $STEPS -lt 20 ]] || at_least "marks with blocks in the log" "$landed" 5
}

run_tests
