#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# usage, in a VM: run.sh TEST/REPETITION/SYSTEM...
#
# Measure on two RAM disks behind tests/spindle; each measurement starts from nothing. scripts/bench
# reads the output:
#
#   @ JSON               a measurement
#   % TEST REP SYSTEM    these are done
#   # TEXT               something to tell people
#
# PROFILE is the HDD's. A system that fails loses that test only.

set -euo pipefail
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export DM_DISABLE_UDEV=1 LC_ALL=C
here=$(dirname "$0")
# shellcheck source=plan.sh
. "$here/plan.sh"
# shellcheck source=devices.sh
. "$here/devices.sh"
# shellcheck source=systems.sh
. "$here/systems.sh"
# shellcheck source=measure.sh
. "$here/measure.sh"
for i in table steady changes latency shadow landing; do
	# shellcheck source=/dev/null
	. "$here/tests-$i.sh"
done

PROFILE=${PROFILE:-hdd}
# shellcheck disable=SC2034 # the tests use them
TEST='' SYSTEM='' DEV='' SPAN=0 COLD=0 HOT=0 BLOCK=0 SLOTS=0 LOADS=0 REPETITION=1

# Processes that a failed test has left behind.
end_children() {
	local pids
	mapfile -t pids < <(jobs -p)
	[[ ${#pids[@]} -eq 0 ]] || kill "${pids[@]}" 2>/dev/null || :
}

# one: run the test TEST with SYSTEM, in a subshell
one() {
	set -e
	trap "end_children" EXIT
	fresh
	! is_alone || limits "$ALONE_IOS" "$ALONE_IOS"
	jq -ncM --arg test "$TEST" --arg system "$SYSTEM" --argjson repetition "$REPETITION" \
		--argjson block "$BLOCK" --argjson slots "$SLOTS" --argjson span "$SPAN" \
		'$ARGS.named + { part: "about" }' | sed 's/^/@ /'
	[[ $PREPARE != filled ]] || fill_first "$SPAN"
	"$(function_of test "$TEST")"
	drop
}

failed() {
	say "$TEST, repetition $REPETITION, $SYSTEM: failed"
	jq -ncM --arg test "$TEST" --arg system "$SYSTEM" --argjson repetition "$REPETITION" \
		'$ARGS.named + { part: "failed" }' | sed 's/^/@ /'
	(drop) || {
		say "cannot take $SYSTEM down"
		exit 1
	}
}

modprobe brd rd_nr=2 rd_size=$((HDD_MIB * 1024))
modprobe -a dm-spindle dm-fusion dm-cache dm-cache-smq dm-writecache bcache

for step; do
	IFS=/ read -r TEST REPETITION SYSTEM <<<"$step"
	PREPARE=$(plan "$TEST" prepare)
	# not with ||, which would disable the exit at the first failure
	set +e
	(one)
	rc=$?
	set -e
	[[ $rc -eq 0 ]] || failed
	echo "% $TEST $REPETITION $SYSTEM"
done
