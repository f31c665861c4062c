#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Extents still move during and after sequential writes of many times the fast member's size.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/big

long_moves_after() {
	local hot=16 first
	members 64 512
	format --extent-size 512K
	fusion big half_life 60 idle 200 duty 100
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1
	first=$(($(status big extents) - 200))
	same "hot extents on fast before" "$(on big fast $first $hot)" 0
	gets_up big "$first" $hot 90
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# moves on request end while a sequential writer never does
test_moves_during() {
	local first=440 stamp
	members 64 256
	format --extent-size 512K
	fusion big
	dd if=/dev/zero of="$SET" bs=1M oflag=direct status=none count=240
	background fio --name=write --filename="$SET" --rw=write --bs=1m --direct=1 \
		--ioengine=psync --size=200m --time_based --runtime=600 --output="$TMP/fio"
	stamp=$REPLY
	sleep 2
	msg big demote 0-7 >/dev/null
	limited 60 dmsetup message big 0 promote "$first-$((first + 7))" >"$TMP/said" ||
		fail "promote under a sequential write: status $?"
	same "extents on fast" "$(on big fast $first 8)" 8
	kill -0 "$stamp" || fail "the writer has ended"
}

run_tests
