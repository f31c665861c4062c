#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Hot and cold extents change places even if no extent is free on either member.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/full
# extent size in KiB: only their number matters
SIZE=1024
[[ ! $QUICK ]] || SIZE=256
SLOW_EXTENTS=192

# full [OPTION VALUE]...: a set that is written completely
full() {
	"${MEMBERS:-members}" $((72 * SIZE / 1024)) $((SLOW_EXTENTS * SIZE / 1024))
	format --extent-size "${SIZE}K"
	fusion full migration off "$@"
	EXTENTS=$(status full extents)
	# all extents except the last have stamps
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1 --size $(((EXTENTS - 1) * SIZE))k
	dd if=/dev/zero of="$SET" bs="${SIZE}K" seek=$((EXTENTS - 1)) count=1 oflag=direct status=none
	sync "$SET"
	is_full
}

is_full() {
	same "extents mapped" "$(status full mapped)" "$EXTENTS"
	same "free slots" "$(status full total_fast) $(status full total_slow)" \
		"$(($(status full used_fast) + $(sb spare_fast))) $(($(status full used_slow) +
			$(sb spare_slow)))"
}

# by policy: extents that are read are promoted, and as many are demoted
long_policy_swaps() {
	local hot=16 first
	full half_life 60 duty 100 idle 0
	first=$((EXTENTS - hot - 8))
	same "hot extents on fast before" "$(on full fast $first $hot)" 0
	msg full migration on
	gets_up full "$first" $hot 90
	within 30 "nothing moves" settled full
	msg full migration off
	within 30 "nothing moves" settled full
	is_full
	at_least demotions "$(status full demotions)" $((hot * 3 / 4))
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# the slow member has more spares than the fast one: no more extents are demoted than can be
# followed by their partner's promotion
long_pairs_within_the_spares() {
	local SIZE=256 SLOW_EXTENTS=640 hot=16 lone
	[[ -d /sys/kernel/tracing/events ]] || skip "no tracing in this kernel"
	full half_life 60 duty 100 idle 0
	same "spares" "$(sb spare_fast) $(($(sb spare_slow) >= 8))" "2 1"
	tracing_on
	msg full migration on
	gets_up full $((EXTENTS - hot - 8)) "$hot" 90
	msg full migration off
	within 30 "nothing moves" settled full
	# those of a batch are sorted by their place on the slow member
	lone=$(awk '/fusion_move: .*: moved$/ { n += / to slow slot / ? 1 : -1; if (n > most) most = n }
		END { print most + 0 }' /sys/kernel/tracing/trace)
	at_most "moves down without one up" "$lone" "$(sb spare_fast)"
	is_full
}

# on request: promoted extents replace the coldest, demoted ones the hottest
test_forced_swaps() {
	local fast hot=8 first i cold round
	full half_life 86400
	fast=$(on full fast 0 "$EXTENTS")
	first=$((EXTENTS - 1 - 2 * hot))
	same "extents on fast before" "$(on full fast $first $hot)" 0
	# all except the last are used, by accesses of two ticks each
	cold=$((fast - hot))
	for round in 1 2; do
		say "round $round"
		for ((i = 0; i < cold; i++)); do
			dd if="$SET" of=/dev/null bs=4k count=1 skip=$((i * SIZE / 4)) iflag=direct status=none
		done
		sleep 0.3
	done
	same "promotion" "$(msg full promote $first-$((first + hot - 1)))" "$hot 0 0 0"
	same "promoted" "$(on full fast $first $hot)" $hot
	same "those in use" "$(on full fast 0 $cold)" $cold
	same "the others" "$(on full fast $cold $hot)" 0
	within 30 "nothing moves" settled full
	is_full
	# the hottest extents of the slow member are now the next ones
	for round in 1 2; do
		say "round $round"
		for ((i = 0; i < hot; i++)); do
			dd if="$SET" of=/dev/null bs=4k count=1 skip=$(((first + hot + i) * SIZE / 4)) \
				iflag=direct status=none
		done
		sleep 0.3
	done
	same "demotion" "$(msg full demote $first-$((first + hot - 1)))" "$hot 0 0 0"
	same "demoted" "$(on full slow $first $hot)" $hot
	same "the hottest" "$(on full fast $((first + hot)) $hot)" $hot
	within 30 "nothing moves" settled full
	is_full
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# on request, one against one, until all have changed places
test_all_change_places() {
	local fast first i last
	full
	fast=$(on full fast 0 "$EXTENTS")
	first=$((EXTENTS - fast))
	for ((i = first; i < EXTENTS; i = last + 1)); do
		last=$((i + 9 < EXTENTS ? i + 9 : EXTENTS - 1))
		same "promotion from $i on" "$(msg full promote $i-$last $first-$((EXTENTS - 1)))" \
			"$((last - i + 1)) 0 0 0"
	done
	same "the last extents on fast" "$(on full fast "$first" "$fast")" "$fast"
	within 30 "nothing moves" settled full
	is_full
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# a request for more than there is room for fails, says why, and keeps no spare
test_no_room() {
	local all moved already unmapped failed why
	full
	all=$(on full slow 0 "$EXTENTS")
	read -r moved already unmapped failed why < <(msg full promote 0-$((EXTENTS - 1)))
	same "extents answered for" $((moved + already + unmapped + failed)) "$EXTENTS"
	same "failed promotions" "$failed $why" "$all range"
	read -r moved already unmapped failed why < <(msg full demote 0-$((EXTENTS - 1)))
	same "failed demotions" "$failed $why" "$((EXTENTS - all)) range"
	within 30 "nothing moves" settled full
	is_full
	# all of the fast member is to stay, so nothing is promoted
	same "promotion" "$(msg full promote $((EXTENTS - 1)) 0-$((EXTENTS - 1)))" "0 0 0 1 range"
	fusion-stamp run "$SET" --state "$TMP/state" --ops 500 --mix 1:1:1:0:1:0
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# bad_free_slots: writes to the slots of the fast member that are free now fail from now on, as do
# those to the ones that were free before
bad_free_slots() {
	local slot start=0 first table="" n=$((SIZE * 2)) data
	data=$(sb fast_data_start)
	msg full map 0 "$EXTENTS" | awk -v all="$(status full total_fast)" '$3 == "fast" {
			for (i = 0; i < $2; i++) used[$4 + i] = 1 }
		END { for (i = 0; i < all; i++) if (!(i in used)) print i }' >>"$TMP/bad"
	sort -nu -o "$TMP/bad" "$TMP/bad"
	while read -r slot; do
		first=$((data + slot * n))
		[[ $first -eq $start ]] ||
			table+="$start $((first - start)) linear /dev/fast $start"$'\n'
		table+="$first $n error"$'\n'
		start=$((first + n))
	done <"$TMP/bad"
	swap fast "$table$start $(($(sectors_of /dev/fast) - start)) linear /dev/fast $start"
}

# Promotions that fail have used up the slow member's spares: those of the fast one make room there,
# so that extents go on changing places.
test_swaps_after_write_errors() {
	local MEMBERS=linked spares free lext hot=8 first
	full half_life 60 duty 100 idle 0
	spares=$(sb spare_slow)
	lext=$((EXTENTS - 2))
	for ((free = spares; free > 0; lext--)); do
		bad_free_slots
		same "promotion of $lext, which fails" \
			"$(msg full promote $lext | cut -d ' ' -f 1-4)" "0 0 0 1"
		within 30 "nothing moves" settled full
		free=$(($(status full total_slow) - $(status full used_slow)))
		[[ $((EXTENTS - lext)) -le $((3 * spares)) ]] ||
			fail "$free slots of the slow member are free"
	done
	same "retired slots" "$(counter full retired_slots)" "$spares"
	same "extents mapped" "$(status full mapped)" "$EXTENTS"
	first=$((lext - hot - 1))
	same "hot extents on fast before" "$(on full fast $first $hot)" 0
	msg full migration on
	gets_up full "$first" "$hot" 90
	msg full migration off
	within 30 "nothing moves" settled full
	same "extents mapped" "$(status full mapped)" "$EXTENTS"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

run_tests
