#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What fusionctl draws and predicts: map, whatif, simulate, with and without colours.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

test_map() {
	local extents cells letters each i
	a_set
	extents=$(sb nr_lexts)
	good fusionctl demote pair 0-15

	good fusionctl map pair --json
	json '.version, .name, .extents, .extent_bytes' $'1\npair\n'"$extents"$'\n65536'
	json '[.cells[].count] | add' "$extents"
	json '[.cells[].fast] | add' 16
	json '[.cells[].slow] | add' 16
	json '.cells[0] | .first, .slow' $'0\n1'
	cells=$(jq '.cells | length' "$TMP/out")

	# letters without a terminal, one for each cell
	good fusionctl map pair --width 16
	letters=$(sed -n 's/^ *[0-9.]*[BKMG] \([FfmsS.]*\)$/\1/p' "$TMP/out" | tr -d '\n')
	each=$(((extents + 255) / 256))
	same "cells" ${#letters} $(((extents + each - 1) / each))
	shows "F fast  m both  S slow  . unused"
	good fusionctl map pair --width $(((extents + 15) / 16))
	letters=$(sed -n 's/^ *[0-9.]*[BKMG] \([FfmsS.]*\)$/\1/p' "$TMP/out" | tr -d '\n')
	same "cells" ${#letters} "$extents"
	same "tiers" "${letters:0:33}" SSSSSSSSSSSSSSSSFFFFFFFFFFFFFFFF.
	same "escapes" "$(grep -c $'\033' "$TMP/out" || :)" 0

	# colours on request; heat as digits or blocks
	heat pair 0 4 2
	for i in 256:48\;5 truecolor:48\;2; do
		COLORTERM=${i%:*} good fusionctl map pair --color always
		shows $'\033['
		shows ";${i#*:};"
	done
	NO_COLOR=1 good fusionctl map pair --color always
	shows $'\033['
	good fusionctl map pair --width $(((extents + 15) / 16))
	shows 9
	if [[ -d /usr/lib/locale/C.utf8 ]]; then
		LC_ALL=C.UTF-8 good fusionctl map pair
		shows █
		LC_ALL=C.UTF-8 good fusionctl status pair
		shows █
	else
		say "no locale with UTF-8 here: eighth blocks not tested"
	fi

	good fusionctl map pair --svg "$TMP/map.svg"
	same "output" "$(<"$TMP/out")" ""
	well_formed "$TMP/map.svg"
	same "cells in the drawing" "$(grep -c '^<g><title>' "$TMP/map.svg")" "$cells"
	same "fast in the drawing" "$(grep -c 'at [0-9.]*[BKM]: 1 extents fast' "$TMP/map.svg")" 16
	good fusionctl map pair --svg -
	cmp "$TMP/out" "$TMP/map.svg"
	expect 1 "/nosuch/x: No such file or directory; choose another file" \
		fusionctl map pair --svg /nosuch/x
	[[ -c /dev/full ]] || mknod /dev/full c 1 7
	expect 1 "/dev/full: cannot write: No space left on device; choose another file" \
		fusionctl map pair --svg /dev/full
	expect 1 "nosuch: no such set is open; fusionctl list shows the open sets" \
		fusionctl map nosuch
}

# On a terminal there is colour, unless NO_COLOR is set to a non-empty value.
test_no_color() {
	local verb no
	need script
	a_set
	heat pair 0 4 2
	for verb in map whatif; do
		for no in "" NO_COLOR=; do
			on_terminal '' "env TERM=xterm $no fusionctl $verb pair"
			same status "$REPLY" 0
			shows $'\033['
		done
		for no in "NO_COLOR=1 TERM=xterm" TERM=dumb; do
			on_terminal '' "env $no fusionctl $verb pair"
			same status "$REPLY" 0
			same "escapes with $no" "$(grep -c $'\033' "$TMP/out" || :)" 0
		done
	done
	on_terminal '' env NO_COLOR=1 TERM=xterm fusionctl map pair --color always
	shows $'\033['
}

# -- predictions -------------------------------------------------------------------------------

# sum_of COLUMN: sum of a column of the kernel's histogram
sum_of() {
	msg pair histogram | awk -v column="$1" '{ n += $column } END { print n + 0 }'
}

# cold: none of the 32 extents has any heat
cold() {
	[[ $(msg pair histogram) == "0 32 0 0 0" ]]
}

test_whatif() {
	local slots
	a_set
	# written extents are warm
	good fusionctl set pair half_life=1
	within 20 "the heat is gone" cold
	good fusionctl set pair half_life=1h
	slots=$(sb nr_fast_slots)
	expect 1 "pair: nothing is known of its use, or all of it is long ago; use it for some time \
and ask again" fusionctl whatif pair
	expect 1 "pair: nothing is known of its use, or all of it is long ago; use it for some time \
and ask again" fusionctl whatif pair --json
	same "output" "$(<"$TMP/out")" ""

	# the hot extents lie on the slow member
	good fusionctl demote pair 0-3
	heat pair 0 4 3
	same "extents in the histogram" "$(sum_of 2) $(sum_of 3)" "28 4"
	same "heat on the fast member" "$(sum_of 4)" 0
	at_least "heat on the slow member" "$(sum_of 5)" 16
	same "heat is that of the other message" \
		"$(msg pair heat "$(sb nr_lexts)" | awk '{ n += $5 } END { print n }')" "$(sum_of 5)"
	good fusionctl whatif pair --json
	json '.version, .name, .extent_bytes, .fast_slots, .mapped, .warm' \
		$'1\npair\n65536\n'"$slots"$'\n32\n4'
	json '.now.hit_ratio, .best.hit_ratio, .quadruple.hit_ratio' $'0\n1\n1'
	json '.now.fast_bytes / 65536, .half.fast_bytes / 65536, .double.fast_bytes / 65536' \
		"$slots"$'\n'$((slots / 2))$'\n'$((slots * 2))
	json '.curve | first | .extents, .hit_ratio' $'0\n0'
	json '.curve | last | .extents, .hit_ratio' $'32\n1'
	json '[.curve[] | select(.extents == 4)] | length' 1
	good fusionctl promote pair 0-3
	good fusionctl whatif pair --json
	json '.now.hit_ratio, .now.extents' $'1\n32'

	good fusionctl whatif pair
	shows "FAST MEMBER"
	shows "as it is"
	shows "4 times"
	shows "256K of 2M in use have had any"
	same "escapes" "$(grep -c $'\033' "$TMP/out" || :)" 0
	# four extents of 32 have all the hits: an eighth of the drawing is a slope
	at_least "columns of 100 %" "$(sed -n 's/^ 100% *//p' "$TMP/out" | tr -d '\n' | wc -c)" 60
	COLORTERM=256 good fusionctl whatif pair --color always
	shows $'\033[38;5;214m'
	if [[ -d /usr/lib/locale/C.utf8 ]]; then
		LC_ALL=C.UTF-8 good fusionctl whatif pair
		shows █
	fi
	good fusionctl whatif pair --svg "$TMP/whatif.svg"
	same "output" "$(<"$TMP/out")" ""
	well_formed "$TMP/whatif.svg"
	good fusionctl whatif pair --svg -
	cmp "$TMP/out" "$TMP/whatif.svg"
	expect 2 "--svg: cannot share standard output with --json; give a file" \
		fusionctl whatif pair --json --svg -
	expect 1 "/nosuch/x: No such file or directory; choose another file" \
		fusionctl whatif pair --svg /nosuch/x
	expect 1 "nosuch: no such set is open; fusionctl list shows the open sets" \
		fusionctl whatif nosuch
}

# simulate ARGUMENT...: ten minutes of a small set
simulate() {
	good fusionctl simulate --fast 128M --slow 1G --load zoned:80/4,rate=60 \
		--load scan,from=5m --duration 10m "$@"
}

# For a named set, its own sizes, extents and settings are simulated, unless options replace them.
test_simulate_a_set() {
	local how=(--load zipf:1.0 --duration 10s --json)
	members 128 1024
	defer dm_remove data
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --extent-size 256K --yes
	good fusionctl set data half_life=2h
	good fusionctl simulate data "${how[@]}"
	json '.fast_bytes, .slow_bytes, .extent_bytes, .resting_seconds' \
		"$((128 << 20))"$'\n'"$((1024 << 20))"$'\n262144\n7200'
	good fusionctl close data
	good fusionctl simulate data --fast 256M half_life=5m "${how[@]}"
	json '.fast_bytes, .slow_bytes, .resting_seconds' $'268435456\n1073741824\n300'
	good fusionctl simulate "$SLOW" "${how[@]}"
	json .extent_bytes 262144
	expect 2 "other: is one set too many; simulate data alone" \
		fusionctl simulate data other "${how[@]}"
	expect 4 "dta: no member of that set is found; did you mean data?" \
		fusionctl simulate dta "${how[@]}"
	expect 2 "simulate: --slow is missing; give the size of that member, as in --slow 1T, or name a set" \
		fusionctl simulate --fast 1G "${how[@]}"
}

test_simulate() {
	local word words phases
	simulate --json
	cp "$TMP/out" "$TMP/json"
	phases=$(jq '.phases | length' "$TMP/json")
	same "phases" "$phases" 3
	at_least "promotions" "$(jq .promotions "$TMP/json")" 10
	json '.migration_bytes_to_fast >= .promotions * .extent_bytes' true
	json '.models | .hdd_rpm, .ssd_channels, length' $'7200\n8\n15'
	json .resting_seconds 3600

	simulate
	shows "ORACLE"
	shows "$(jq .promotions "$TMP/json") promoted, $(jq .demotions "$TMP/json") demoted"
	shows "wasted   "
	shows "resting  "
	shows "again    "
	shows "wear     "
	shows "models   hdd_seek_track_us=1000 "
	# a phase that did not reach 90 % gives the time in which it did not
	good fusionctl simulate --fast 128M --slow 4G --load zoned:90/2 --duration 10s
	shows " not in 10s "
	# the printed values are accepted as input
	read -ra words < <(sed -n 's/^models  //p' "$TMP/out")
	simulate --disk "${words[0]}" --disk ssd_channels=4 half_life=5m --json
	json '.models.ssd_channels, .resting_seconds' $'4\n300'

	simulate --svg "$TMP/simulate.svg"
	shows "promoted"
	well_formed "$TMP/simulate.svg"
	same "title" "$(grep -c '^<title>fusionctl simulate</title>' "$TMP/simulate.svg")" 1
	# an oracle for each phase, and its key
	same "lines of the oracle" "$(grep -c '^<path class="o"' "$TMP/simulate.svg")" $((phases + 1))
	for word in u:2 h:3 s:2; do
		same "lines of class ${word%:*}" \
			"$(grep -c "^<path class=\"${word%:*}\" d=\"M[0-9]" "$TMP/simulate.svg")" \
			"${word#*:}"
	done
	for word in "hit ratio" "I/Os a second" "best fixed placement" "slow member alone"; do
		same "texts '$word'" "$(grep -c ">$word</text>" "$TMP/simulate.svg")" 1
	done
	# points of the hit ratio in the drawing
	at_least "points" "$(sed -n '/^<path class="h"/ { s/.* d="M\(.*\)".*/\1/p; q }' \
		"$TMP/simulate.svg" | tr L '\n' |
		awk '$1 >= 70 && $1 <= 850 && $2 >= 50 && $2 <= 250 { n++ }
			END { print n + 0 }')" 200
	simulate --svg -
	cmp "$TMP/out" "$TMP/simulate.svg"
	expect 2 "--svg: cannot share standard output with --json; give a file" \
		fusionctl simulate --fast 128M \
		--slow 1G --load uniform --json --svg -
	expect 1 "/nosuch/x: No such file or directory; choose another file" fusionctl simulate \
		--fast 128M --slow 1G --load uniform --duration 1m --svg /nosuch/x
	expect 2 "standby=1: has no effect here; choose migration, reserve, half_life, duty, idle \
or shadow" \
		fusionctl simulate --fast 128M --slow 1G --load uniform --set standby=1
}

run_tests
