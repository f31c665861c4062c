# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sets with a landing log as fusionctl makes them, with known content. For landing.sh and
# landing-views.sh.

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

# scatter BYTE: 20 blocks with it, far from each other
scatter() {
	local i at
	for ((i = 0; i < 20; i++)); do
		at=$((i * 7 % 20 * 200 * 4096))
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
