#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sets with mutated metadata are opened by the kernel: refused with a reason, or served. IMAGES is
# the number of sets, SEED the first seed. A failure prints its seed; SEED=that IMAGES=1 repeats it.
# See fusion-mutated.c.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Most of them on debug kernels: elsewhere much harm would go unnoticed.
if [[ $SLOWNESS -gt 1 ]]; then
	: "${IMAGES:=${QUICK:+300}}" "${IMAGES:=2000}"
else
	: "${IMAGES:=${QUICK:+50}}" "${IMAGES:=300}"
fi
SEED=${SEED:-$((RANDOM << 15 | RANDOM))}

# stamped NAME OPS [OPTION]...: a part of a load that knows the required content
stamped() {
	fusion-stamp run /dev/mapper/base --state "$TMP/state-$1" --extent "$size" --ops "$2" \
		--threads 1 --max-io 64k --seed 1 "${@:3}" >"$TMP/said" || fail "$(<"$TMP/said")"
}

# kept NAME open|closed: save the set as it is, as a base for fusion-mutated
kept() {
	local dir=$TMP/$1
	mkdir "$dir"
	dd if=/dev/mapper/base of="$dir/want" bs=64K iflag=direct conv=sparse status=none
	[[ $2 == open ]] || close base
	dd if="$FAST" of="$dir/fast" bs=64K iflag=direct conv=sparse status=none
	dd if="$SLOW" of="$dir/slow" bs=64K iflag=direct conv=sparse status=none
	[[ $2 != open ]] || close base
}

# life FAST_MIB SLOW_MIB EXTENT NAME: sets of that size, at some moments of a life
life() {
	local size=$3 last
	members "$1" "$2"
	format --extent-size "$3"
	fusion base migration off commit_interval 10
	last=$(($(status base extents) - 1))
	kept "new-$4" closed
	fusion base migration off commit_interval 10
	stamped "$4" 150
	msg base promote 0-$((last / 3)) >/dev/null
	msg base demote $((last / 4))-$((last / 2)) >/dev/null
	kept "closed-$4" closed
	fusion base migration off commit_interval 10
	# content for the journal: moves, discards, partial extents, many small transactions
	msg base demote 0-$((last / 8)) >/dev/null
	msg base promote $((last / 2))-$last >/dev/null
	stamped "$4" 40 --sync --mix 0:30:5:10:2:5
	sync /dev/mapper/base
	kept "busy-$4" open
	null_remove fast
	null_remove slow
}

test_mutated_sets() {
	life 6 6 64K small
	life 8 64 64K large
	life 20 24 256K other
	null fast 32
	null slow 128
	say "SEED=$SEED IMAGES=$IMAGES"
	fusion-mutated -s "$SEED" -n "$IMAGES" /dev/fast /dev/slow "$TMP"/{new,closed,busy}-* ||
		fail "status $?"
}

run_tests
