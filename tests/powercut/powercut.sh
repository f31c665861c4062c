#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The power is cut, again and again, and nothing that was flushed is lost. CUTS says
# how often (1000), SEED where the random numbers start (by the clock). Runs in a VM.

# shellcheck source=../selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"
PATH=$here/../powercut:$here/../../build/powercut:$PATH

CUTS=${CUTS:-1000}
SEED=${SEED:-$((RANDOM << 15 | RANDOM))}
LIFE=100	# cuts after which a new set is made

# disks FAST_MIB SLOW_MIB: members whose power can be cut
disks() {
	need_module dm-powercut
	dm powercut-fast "0 $(($1 * 2048)) powercut mains fast"
	dm powercut-slow "0 $(($2 * 2048)) powercut mains slow"
	FAST=/dev/mapper/powercut-fast
	SLOW=/dev/mapper/powercut-slow
}

# undisks: so that others of another size can be made
undisks() {
	dmsetup remove --retry powercut-fast
	dmsetup remove --retry powercut-slow
}

# life SEED CUTS [OPTION]...: a set of a geometry that depends on the seed, and its cuts
life() {
	local seed=$1 cuts=$2 rc=0
	local sizes=(64K 64K 64K 128K 256K) fast=(6 8 8 16 20) slow=(6 6 10 12 24)
	local i=$((seed % ${#sizes[@]}))
	disks "${fast[i]}" "${slow[i]}"
	format --extent-size "${sizes[i]}"
	cut-run -s "$seed" -c "$cuts" "${@:3}" || rc=$?
	undisks
	return "$rc"
}

test_nothing_flushed_is_lost() {
	local done=0 n seed=$SEED
	while [[ $done -lt $CUTS ]]; do
		n=$((CUTS - done < LIFE ? CUTS - done : LIFE))
		life "$seed" "$n" || fail "loss: again with SEED=$seed CUTS=$n"
		done=$((done + n)) seed=$((seed + 1))
	done
	say "$done cuts, seeds $SEED to $((seed - 1)), nothing lost"
}

# short scenarios, a cut at each of their commands, and at each of every recovery
test_every_command() {
	disks 6 7
	cut-every
}

# lie MEMBER: a member that acknowledges flushes and does nothing must be found out, in
# at least 10 of 20 lives of a few cuts
lie() {
	local found=0 i rc
	for ((i = 0; i < 20; i++)); do
		rc=0
		life $((SEED + i)) 5 -l "$1" >"$TMP/said" 2>&1 || rc=$?
		case $rc in
		0)	;;
		1)	found=$((found + 1)) ;;
		*)	cat "$TMP/said"
			fail "no test took place: status $rc" ;;
		esac
	done
	say "found loss in $found of 20 lives of 5 cuts with a $1 member that lies"
	at_least "losses found" "$found" 10
}

test_lying_fast_is_found_out() {
	lie fast
}

test_lying_slow_is_found_out() {
	lie slow
}

run_tests test_every_command test_nothing_flushed_is_lost test_lying_fast_is_found_out test_lying_slow_is_found_out
