#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The landing log as fusionctl makes, shows and empties it.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

# landing_set SIZE: 32 + 128 MiB in extents of 256K with a log of that size. The first 16 MiB, all 1,
# lie on the slow member, and nothing moves.
landing_set() {
	need jq
	need_module dm-fusion
	two 32 128
	open_sets land
	good fusionctl create land --fast "$FAST" --slow "$SLOW" --yes --extent-size 256K \
		--landing "$1"
	# a drain that nobody asks for begins when the slow member was idle for so long
	good fusionctl set land migration=off idle=1m
	put /dev/mapper/land 1 0 $((16 << 20))
	put "$TMP/want" 1 0 $((16 << 20))
	good fusionctl demote land 0-63
}

# scatter BYTE: 40 blocks with it, far from each other
scatter() {
	local i at
	for ((i = 0; i < 40; i++)); do
		at=$((i * 17 % 40 * 100 * 4096))
		put_direct /dev/mapper/land "$1" $at 4096
		put "$TMP/want" "$1" $at 4096
	done
}

# scattered: the set has what landing_set and scatter wrote
scattered() {
	cmp "$TMP/want" -n $((16 << 20)) /dev/mapper/land || fail "the set has other data"
}

# logged FILTER WANT: in what status --json says of the log
logged() {
	good fusionctl status land --json
	json ".sets[0].landing_log$1" "$2"
}

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
	logged '| .blocks, .state' $'40\nok'
	good fusionctl status land
	shows "landing  160K, for which the log takes "
	scattered
	good fusionctl close land
	good fusionctl check land
	shows "40 blocks in"
	good fusionctl open land
	logged .blocks 40
	scattered
	good fusionctl drain land
	shows "land: 160K of the landing log are on the slow member now"
	logged '| .blocks, .drained' $'0\n40'
	scattered
	scatter 3
	good fusionctl drain land --json
	json '.bytes, .drained_bytes' $'163840\n163840'
	good fusionctl close land
	good fusionctl check land
	good fusionctl open land
	scattered
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

# What the kernel cannot do with a log is refused before.
test_refused() {
	landing_set 12M
	expect 3 "land: cannot grow while it has a landing log; copy its data to a set without one" \
		fusionctl grow land
	expect 3 "land: cannot shrink while it has a landing log; copy its data to a set without \
one" fusionctl shrink land --yes
	expect 3 "land: cannot be released while it has a landing log; copy its data to a set \
without one" fusionctl release land --yes
}

run_tests
