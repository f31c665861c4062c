#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The demo on real disks: which disks it accepts, and what it leaves on them when it cannot begin.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# disks: of the sizes that the demo requires
disks() {
	members 512 4096
}

# demo ANSWER: run the demo on a terminal; the output goes to $TMP/out, the exit code to REPLY
demo() {
	REPLY=0
	: >"$TMP/sums"
	script -qec "$here/../../scripts/demo-run disks $SLOW $FAST $TMP/tree $TMP/sums $TMP/module" \
		-O /dev/null <<<"$1" >"$TMP/out" 2>&1 || REPLY=$?
}

# a user at the terminal could be asked, but not by a dry run
test_takes_empty_disks_only() {
	need script
	disks
	mkfs.ext4 -q -L home "$FAST"
	demo no
	shows "$FAST: contains ext4 (label home"
	shows "uses disks that are free and empty only"
	same "exit code" "$REPLY" 3
	same "questions" "$(grep -c "Type yes" "$TMP/out" || :)" 0
	put_direct "$FAST" 0 0 1048576
	demo no
	shows "nothing was changed"
	same "exit code" "$REPLY" 3
}

# The disk may hold data that nothing recognises, and the name may be taken.
test_leaves_alone_what_it_did_not_make() {
	local i before
	need script
	need_module dm-fusion
	disks
	stale "$FAST"
	before=$(head -c 1M "$FAST" | md5sum)
	for i in demo-ssd fusiondemo; do
		dm $i "0 8 zero"
		demo yes
		differ "exit code with $i there ($(<"$TMP/out"))" "$REPLY" 0
		dmsetup info $i >/dev/null || fail "$i is gone"
		dm_remove $i
		[[ $i != demo-ssd ]] ||
			same "what is on $FAST" "$(head -c 1M "$FAST" | md5sum)" "$before"
	done
	for i in "$FAST" "$SLOW"; do
		read_zero "$i" 0 1048576
		same "holders of $i" "$(ls "$(sysfs_of "$i")/holders")" ""
	done
}

run_tests
