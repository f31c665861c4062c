#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A sequential fill takes the fast member until only the spares are left, then the slow one in
# order. After idle time the reserve is free again.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/fill

test_sequential_fill() {
	local fast extents first end home
	members 96 256
	format --extent-size 1M
	fusion fill migration off reserve 8
	extents=$(status fill extents)
	fast=$(($(sb nr_fast_slots) - $(sb spare_fast)))

	# one extent less than the fast member takes, then that one, then one more
	dd if=/dev/zero of="$SET" bs=1M count=$((fast - 1)) oflag=direct conv=fsync status=none
	same "slow slots used" "$(status fill used_slow)" 0
	dd if=/dev/zero of="$SET" bs=1M seek=$((fast - 1)) count=1 oflag=direct status=none
	same "slow and fast slots used" "$(status fill used_slow used_fast)" "0 $fast"
	dd if=/dev/zero of="$SET" bs=1M seek=$fast count=1 oflag=direct status=none
	same "slow and fast slots used" "$(status fill used_slow used_fast)" "1 $fast"
	dd if=/dev/zero of="$SET" bs=1M seek=$((fast + 1)) count=$((extents - fast - 1)) \
		oflag=direct conv=fsync status=none
	same "mapped" "$(status fill mapped)" "$extents"
	same "fast slots free" "$(($(status fill total_fast) - $(status fill used_fast)))" \
		"$(sb spare_fast)"
	same "slow slots free" "$(($(status fill total_slow) - $(status fill used_slow)))" \
		"$(sb spare_slow)"

	same "map of the fast part" "$(msg fill map 0 "$fast")" "0 $fast fast 0 stable"
	# in home slots, from the first extent on the slow member that has one to the last
	first=$(sb slow_first_slot)
	end=$((first + $(sb nr_slow_slots)))
	[[ $first -ge $fast ]] || first=$fast
	[[ $end -le $extents ]] || end=$extents
	home=$(msg fill map "$first" $((end - first)))
	same "map of the slow part" "$home" "$first $((end - first)) slow $first stable"
}

test_reserve_comes_back() {
	local fast
	members 96 256
	format --extent-size 1M
	fusion fill reserve 8 idle 200 duty 100
	fast=$(($(sb nr_fast_slots) - $(sb spare_fast)))
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1 --size $((fast + 20))m
	sync "$SET"
	within 60 "the reserve is free again" reserve_is_free
	within 20 "nothing moves" settled fill
	at_most "free fast slots" "$(status fill reserve_free)" 16
	# a burst of its size goes to the fast member again
	dd if=/dev/urandom of="$SET" bs=1M seek=$((fast + 20)) count=8 oflag=direct conv=fsync \
		status=none
	same "extents of the burst on fast" "$(on fill fast $((fast + 20)) 8)" 8
	fusion-stamp verify "$SET" --state "$TMP/state"
}

reserve_is_free() {
	local free want
	read -r free want < <(status fill reserve_free reserve)
	[[ $free -ge $want && $want -eq 8 ]]
}

# extents that are demoted to refill the reserve go to their home slots
test_demoted_go_home() {
	local fast first i
	members 96 256
	format --extent-size 1M
	fusion fill migration off
	fast=$(($(sb nr_fast_slots) - $(sb spare_fast)))
	first=$(sb slow_first_slot)
	dd if=/dev/zero of="$SET" bs=1M count="$fast" oflag=direct conv=fsync status=none
	msg fill demote "$first-$((fast - 1))" >"$TMP/said"
	same "moved" "$(<"$TMP/said")" "$((fast - first)) 0 0 0"
	for ((i = first; i < fast; i += 7)); do
		same "place of extent $i" "$(msg fill map $i 1)" "$i 1 slow $i stable"
	done
}

run_tests
