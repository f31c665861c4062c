#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The demo on real disks: which ones it takes, and what it leaves of them when it cannot begin.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# disks: of the sizes that the demo wants
disks() {
	members 512 4096
}

# demo ANSWER: on a terminal; what is on it goes to $TMP/out, the exit code to REPLY
demo() {
	REPLY=0
	: >"$TMP/sums"
	script -qec "$here/../../scripts/demo-run disks $SLOW $FAST $TMP/tree $TMP/sums $TMP/module" \
		-O /dev/null <<<"$1" >"$TMP/out" 2>&1 || REPLY=$?
}

# somebody at the terminal could be asked, but not by the question of a dry run
test_takes_empty_disks_only() {
	need script
	disks
	mkfs.ext4 -q -L home "$FAST"
	demo no
	shows "$FAST: carries ext4 (label home"
	shows "uses disks that are free and empty only"
	same "exit code" "$REPLY" 3
	same "questions" "$(grep -c "Type yes" "$TMP/out" || :)" 0
	put_direct "$FAST" 0 0 1048576
	demo no
	shows "nothing was changed"
	same "exit code" "$REPLY" 3
}

run_tests test_takes_empty_disks_only
