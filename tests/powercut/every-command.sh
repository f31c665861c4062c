#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Short scenarios, with a cut at each of their commands, and at each command of every recovery. EVERY
# is the arguments of cut-every (-q). Most of the time passes with waiting: each opening after a cut
# gives a machine that may have the set open the time to say so. Runs in a VM.

# shellcheck source=../selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"
# shellcheck source=disks.sh
. "$here/../powercut/disks.sh"

test_every_command() {
	disks 6 7
	# shellcheck disable=SC2086 # words
	cut-every ${EVERY--q} "$@"
}

# with a landing log, what is done with that
test_landing_log() {
	LANDING=512K test_every_command land part drain merge copies
}

# and all else
long_with_a_landing_log() {
	LANDING=512K test_every_command create open allocate stable overwrite promote demote \
		discard checkpoint close recreate
}

run_tests
