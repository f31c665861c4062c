#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The landing log as fusionctl makes, shows and empties it.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"
# shellcheck source=lib/landing-tool.sh
. "$here/lib/landing-tool.sh"

test_create() {
	need jq
	two 32 128
	expect 2 "much: not a size; write a landing log as 8G or 12%, or 0 for none" \
		fusionctl format land "$FAST" "$SLOW" --extent-size 256K --landing much --yes
	expect 2 "20M: is more than half of the fast member; choose a landing log of at most 15M" \
		fusionctl format land "$FAST" "$SLOW" --extent-size 256K --landing 20M --yes
	expect 2 "1K: is too small for a landing log; choose at least 1M, or 0 for none" \
		fusionctl format land "$FAST" "$SLOW" --extent-size 256K --landing 1K --yes
	good fusionctl format land "$FAST" "$SLOW" --landing 4M --extent-size 256K --dry-run
	shows "4M of the fast member are kept for a landing log; if that member is lost, "
	good fusionctl format land "$FAST" "$SLOW" --landing 4M --extent-size 256K --yes --json
	json .landing_bytes $((4 << 20))
	good fusionctl check land
	good fusionctl wipe land --yes
	good fusionctl format land "$FAST" "$SLOW" --landing 0 --extent-size 256K --yes --json
	json .landing_bytes 0
}

# Small writes land, are shown, and reach the slow member with drain; also after a close.
test_drain() {
	landing_set 12M
	logged '| .blocks, .most' $'0\n48'
	scatter 2
	logged '| .blocks, .state' $'20\nok'
	good fusionctl status land
	shows "landing  80K, for which the log takes "
	scattered
	good fusionctl close land
	good fusionctl check land
	shows "20 blocks in"
	good fusionctl open land
	logged .blocks 20
	scattered
	good fusionctl drain land
	shows "land: 80K of the landing log are on the slow member now"
	logged '| .blocks, .drained' $'0\n20'
	scattered
	scatter 3
	good fusionctl drain land --json
	json '.bytes, .drained_bytes' $'81920\n81920'
	good fusionctl close land
	good fusionctl check land
	good fusionctl open land
	scattered
}

# A closed set loses its log and gets one again; the set keeps its data, and its size.
test_off_and_on() {
	local bytes
	landing_set 12M
	bytes=$(blockdev --getsize64 /dev/mapper/land)
	good fusionctl landing land
	shows "land: has a landing log of 12M, with 0B in it"
	scatter 2
	expect 5 "land: is open, and its landing log can only change while it is closed; unmount \
it, run fusionctl drain land, and close it first" fusionctl landing land 0
	good fusionctl close land
	expect 3 "land: cannot be given another landing log while it has 80K in its landing log; \
open it, run fusionctl drain land, and close it" fusionctl landing land 0
	good fusionctl open land
	good fusionctl drain land
	good fusionctl close land
	good fusionctl landing land 0 --dry-run
	shows "land: its landing log of 12M would be turned off; "
	good fusionctl landing land 0
	shows "land: its landing log of 12M is turned off; "
	good fusionctl check land
	good fusionctl open land
	logged '' null
	scattered
	same "size" "$(blockdev --getsize64 /dev/mapper/land)" "$bytes"
	scatter 3
	scattered
	good fusionctl close land
	expect 3 "land: has a list for a landing log of only 12M on its slow member, as the set \
was created; choose at most that" fusionctl landing land 14M
	good fusionctl landing land 8M --json
	json '.old_bytes, .bytes, .open, .stale_list' $'0\n8388608\nfalse\ntrue'
	good fusionctl check land
	good fusionctl open land
	scattered
	scatter 4
	logged .blocks 20
	scattered
	good fusionctl drain land
	good fusionctl close land
	good fusionctl landing land 12M
	shows "land: has a landing log of 12M; if the fast member is lost, "
	good fusionctl check land
	good fusionctl open land
	scatter 5
	logged .blocks 20
	scattered
	good fusionctl landing land --json
	json '.bytes, .open, .stale_list' $'12582912\ntrue\ntrue'
	good fusionctl close land
	good fusionctl check land
	same "lines about the list" "$(grep -c "has no list" "$TMP/out" || true)" 0
}

# A set without room for one shrinks before.
test_make_room() {
	need jq
	need_module dm-fusion
	two 32 128
	open_sets land
	good fusionctl create land --fast "$FAST" --slow "$SLOW" --yes --extent-size 256K
	good fusionctl set land migration=off idle=1m
	put /dev/mapper/land 1 0 $((16 << 20))
	put "$TMP/want" 1 0 $((16 << 20))
	good fusionctl shrink land --landing 12M --yes
	expect 3 "land: has room for that landing log already; close it, and run fusionctl \
landing land 12M" fusionctl shrink land --landing 12M --yes
	good fusionctl close land
	expect 3 "land: has room for a landing log of only 12M beside its extents; open it, and \
run fusionctl shrink land --landing 14M first" fusionctl landing land 14M
	good fusionctl landing land 12M --dry-run
	shows "land: its slow member has no list of the blocks that are newer in the log: "
	good fusionctl landing land 12M
	shows "land: has a landing log of 12M; if the fast member is lost, "
	shows "land: its slow member has no list of the blocks that are newer in the log: "
	good fusionctl check land
	shows "land has no list of these blocks on the slow member: "
	good fusionctl open land
	good fusionctl demote land 0-63
	scatter 2
	logged .blocks 20
	scattered
	good fusionctl landing land --json
	json .stale_list false
}

# Verbs that do not care, or only if the log is empty, or that empty it.
test_other_verbs() {
	landing_set 12M
	scatter 2
	good fusionctl rename land sea
	good fusionctl rename sea land
	good fusionctl close land
	good fusionctl rename land sea
	good fusionctl set sea duty=40%
	expect 3 "sea: has a landing log, and such a set has no shadow_age; run fusionctl landing \
sea 0 first" fusionctl set sea shadow_age=3m
	good fusionctl rename sea land
	expect 3 "land: cannot be given another uuid while it has 80K in its landing log; open \
it, run fusionctl drain land, and close it" fusionctl uuid "$FAST" "$SLOW" --yes
	good fusionctl repair land --yes
	shows "nothing to repair"
	# a superblock copy; the log keeps what it has
	damage "$FAST" 1
	status_of fusionctl repair land --yes
	same "exit code of repair" "$RC" 1
	# until the next opening, nothing tells that the stale list is of this log
	status_of fusionctl check land
	same "exit code of check" "$RC" 1
	says "20 blocks in"
	good fusionctl repair land --yes
	shows "nothing to repair"
	# a dump brings the map back, and the log
	good fusionctl dump land -o "$TMP/dump"
	put_direct "$FAST" 0 $(($(sb map_start0) * 4096)) 4096
	put_direct "$FAST" 0 $(($(sb map_start1) * 4096)) 4096
	good fusionctl restore "$TMP/dump" "$FAST" "$SLOW" --yes
	status_of fusionctl check land
	says "20 blocks in"
	good fusionctl assemble --scan
	scattered
	good fusionctl drain land
	good fusionctl close land
	good fusionctl uuid "$FAST" "$SLOW" --yes
	good fusionctl check land
	good fusionctl open land
	scattered
	scatter 3
	logged .blocks 20
	# all of it is on the disk in the end
	good fusionctl release land --dry-run
	shows "80K in its landing log would be written to $SLOW first"
	good fusionctl close land
	good fusionctl release land --leave-unmapped --yes
	shows "80K in its landing log are written to $SLOW first"
	cmp "$TMP/want" -n $((16 << 20)) "$SLOW" || fail "the disk has other data"
	gives 4 fusionctl probe "$FAST"
}

test_without() {
	need jq
	a_set
	good fusionctl drain pair
	shows "pair: has no landing log"
	good fusionctl drain pair --json
	json .bytes 0
	good fusionctl status pair --json
	json '.sets[0].landing_log' null
}

run_tests
