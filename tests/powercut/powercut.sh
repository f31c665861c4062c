#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The power is cut again and again, and no flushed data is lost. CUTS is the number of cuts (1000),
# SEED the start of the random numbers (by the clock). Runs in a VM.

# shellcheck source=../selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"
# shellcheck source=disks.sh
. "$here/../powercut/disks.sh"

CUTS=${CUTS:-1000}
SEED=${SEED:-$((RANDOM << 15 | RANDOM))}

# cuts FAST_MIB SLOW_MIB EXTENT N: N cuts, with sets of this geometry
cuts() {
	disks "$1" "$2"
	format --extent-size "$3"
	cut-run -s "$SEED" -c "$4" || fail "loss: SEED, cuts and extents of $3 as above"
	undisks
}

# most on small sets, since more of them fit into a second; with QUICK all
test_nothing_flushed_is_lost() {
	if [[ $QUICK ]]; then
		cuts 6 6 64K "$CUTS"
		return
	fi
	cuts 6 6 64K $((CUTS - CUTS * 6 / 20))
	cuts 8 12 64K $((CUTS * 3 / 20))
	cuts 16 12 128K $((CUTS * 2 / 20))
	cuts 20 24 256K $((CUTS / 20))
}

# small writes land in a log of the fast member, which is drained meanwhile
test_nothing_flushed_is_lost_with_a_landing_log() {
	LANDING=1M cuts 6 6 64K $((CUTS / 8))
}

# lie MEMBER: the test must notice a member that acknowledges flushes without doing them, in at
# least 10 of 20 lives of a few cuts
lie() {
	local lost rc=0
	disks 6 6
	format --extent-size 64K
	cut-run -s "$SEED" -c 100 -n 5 -l "$1" >"$TMP/said" 2>&1 || rc=$?
	lost=$(sed -n 's/^lost \([0-9]*\) of 20 lives$/\1/p' "$TMP/said")
	[[ $rc -eq 1 && $lost ]] || fail "status $rc: $(tail -n 5 "$TMP/said")"
	say "loss in $lost of 20 lives of 5 cuts with a $1 member that lies"
	at_least "losses found" "$lost" 10
}

test_lying_fast_is_found_out() {
	lie fast
}

test_lying_slow_is_found_out() {
	lie slow
}

long_lying_fast_is_found_out_with_a_landing_log() {
	LANDING=1M lie fast
}

long_lying_slow_is_found_out_with_a_landing_log() {
	LANDING=1M lie slow
}

run_tests
