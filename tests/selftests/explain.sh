#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl explain: what it says of some thousand extents with random heat, against what the mover
# then does; what keeps extents where they are; and the messages extents and policy.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

SET=/dev/mapper/why
SIZE=65536	# of an extent

# make FAST_MIB SLOW_MIB: an open set of small extents
make() {
	two "$1" "$2"
	defer dm_remove why
	good fusionctl create why "$FAST" "$SLOW" --yes --extent-size 64K
}

# begin full|FREE SETTING VALUE...: all extents of a set are written, except so many, and cold
begin() {
	make 32 48
	msg why shadow off half_life 86400
	FAST_SLOTS=$(status why total_fast)
	EXTENTS=$(status why extents)
	[[ $1 == full ]] || EXTENTS=$((EXTENTS - $1))
	# the policy is asked meanwhile, and knows the reserve
	msg why "${@:2}"
	fusion-warm "$SET" $SIZE "$EXTENTS"
	msg why migration off
	cold || fail "there is heat"
	within 30 "nothing moves" settled why
	same "extents that are stable" "$(msg why map 0 "$EXTENTS" |
		awk '$5 == "stable" { n += $2 } END { print n }')" "$EXTENTS"
}

cold() {
	[[ $(msg why histogram | awk '{ n += $4 + $5 } END { print n + 0 }') -eq 0 ]]
}

# warm MEMBER PERCENT MOST...: so many of the extents there get up to so many accesses each. The seed
# is printed, for another run.
SEED=${SEED:-$RANDOM}
warm() {
	say "seed $SEED"
	places why >"$TMP/places"
	: >"$TMP/list"
	while [[ $# -gt 0 ]]; do
		awk -v member="$1" -v percent="$2" -v most="$3" -v seed="$SEED" '
			BEGIN { srand(seed) }
			$2 == member && rand() * 100 < percent {
				print $1, 1 + int(rand() * most) }' "$TMP/places" >>"$TMP/list"
		SEED=$((SEED + 1))
		shift 3
	done
	fusion-warm "$SET" $SIZE <"$TMP/list"
}

# ask: what it says of all extents goes to $TMP/said: extent, member, heat, verdict, what it waits
# for, of one moment
ask() {
	# a pass of the sweep, and the time without I/O
	sleep 3
	good fusionctl explain why 0-$((EXTENTS - 1)) --json
	jq -r '.extents[] | [.extent, .member, .heat, .verdict, (.waits_for | join(","))] |
		@tsv' "$TMP/out" >"$TMP/said"
	# it would make what the policy asks for change while extents move
	json .policy.access_slow_ns null
	same "extents explained" "$(wc -l <"$TMP/said")" "$EXTENTS"
}

# said MEMBER VERDICT [WAITS]: how many
said() {
	awk -F'\t' -v m="$1" -v v="$2" -v w="${3:-}" \
		'$2 == m && $4 == v && $5 == w { n++ } END { print n + 0 }' "$TMP/said"
}

moves() {
	status why promotions demotions
}

# compare MEMBER all|some WAIT: extents of the member that wait for WAIT alone, all or some of them,
# have moved by now, and no other ones. Prints how many.
compare() {
	places why >"$TMP/places"
	awk -v member="$1" -v how="$2" -v wait="$3" '
		NR == FNR { on[$1] = $2; next }
		$2 != member { next }
		{ wants = $4 == "waits" && $5 == wait
		  moved = on[$1] != $2
		  wrong = moved && !wants || !moved && wants && how == "all"
		  cases++; n += moved; bad += wrong
		  if (wrong && bad <= 10) print "# extent " $0 ": now " on[$1] }
		END { print "# of " cases " extents on " member ", " n " have moved, " \
			bad + 0 " against the verdict"
		      exit bad || !n }' "$TMP/places" "$TMP/said"
}

# moved {MEMBER all|some WAIT}...: the moves are made, and no other ones for longer than a pass of
# the sweep
moved() {
	local before
	# those of the first member make room for the others, or need it
	within 60 "the moves are made" compare "$1" "$2" "$3"
	before=$(moves)
	sleep 3
	same "moves after that" "$(moves)" "$before"
	while [[ $# -gt 0 ]]; do
		compare "$1" "$2" "$3" || fail "verdict and moves differ"
		shift 3
	done
}

# There is room for all that is hot.
test_free_slots() {
	begin $((32 * 16)) migration on reserve 4
	msg why demote 0-$((EXTENTS - 1)) >/dev/null
	warm slow 60 8
	# hot enough are about half of these
	ask
	at_least "hot ones" "$(said slow waits migration)" 50
	at_least "cold ones" "$(said slow stays)" 50
	msg why idle 100
	msg why migration on
	moved slow all migration
	# none of those is demoted for a minute
	good fusionctl explain why 0-$((EXTENTS - 1)) --json
	json '[.extents[] | select(.hold == "moved")] |
		length > 0 and all(.member == "fast" and .hold_seconds <= 60)' true
}

# swaps IDLE MOST: the fast member is full; extents change places
swaps() {
	begin full migration on reserve 4 duty 100
	warm fast 40 6 slow 30 "$2"
	msg why idle "$1"
	ask
	at_least "hot ones" "$(said slow waits migration)" 20
	at_least "cold ones" "$(said slow stays)" 20
	at_least "victims" "$(said fast waits migration)" 50
	at_least "those on fast that stay" "$(said fast stays)" 50
	msg why migration on
	moved slow all migration fast some migration
}

test_swaps() {
	swaps 100 9
}

# a swap has to gain twice as much
test_swaps_under_load() {
	swaps 60000 14
}

reserve_is() {
	[[ $(status why reserve_free) -ge $1 ]]
}

# The reserve is to grow, and the coldest make room once there is no foreground I/O.
test_reserve() {
	local before
	begin 400 migration on reserve 4
	warm fast 70 7
	msg why idle 60000
	msg why reserve 100
	msg why migration on
	ask
	at_least "cold ones" "$(said fast waits idle)" 100
	at_least "those that stay" "$(said fast stays)" 50
	before=$(status why reserve_free)
	msg why idle 0
	within 60 "the reserve is free" reserve_is 100
	moved fast some idle
	at_least "free slots" "$(status why reserve_free)" 100
	at_most "free slots before" "$before" 50
}

# warm_each COUNT EXTENT...: so many accesses to each, each long after the one before
warm_each() {
	printf "%s $1\n" "${@:2}" | fusion-warm "$SET" $SIZE
}

# warm_to COUNT EXTENT...: to each, until so many have counted: two do not within one look of the mover,
# which may be late
warm_to() {
	local i heat
	for i in "${@:2}"; do
		while heat=$(msg why extents "$i" 1 | awk '{ print $5 }') &&
			[[ $heat -lt $((4 * $1)) ]]; do
			warm_each $(($1 - heat / 4)) "$i"
		done
	done
}

# So many accesses as it says make an extent move, and not one less.
test_missing_accesses() {
	local i need list
	begin full migration on reserve 4 duty 100
	list=($((FAST_SLOTS + 20)) $((FAST_SLOTS + 40)))
	ask
	need=$(jq '[.extents[] | select(.member == "slow").missing_accesses] | unique | join(" ")' \
		-r "$TMP/out")
	at_least "accesses missing" "$need" 2
	say "$need accesses"
	json .policy.access_heat 4
	warm_to $((need - 1)) "${list[@]}"
	# it depends on whether there is foreground I/O
	sleep 2
	for i in "${list[@]}"; do
		good fusionctl explain why "$i"
		shows "stays on the slow member; 1 more access would promote it"
		good fusionctl explain why --sector $((i * SIZE / 512 + 77)) --json
		json '.extents[0] | .extent, .missing_accesses' "$i"$'\n1'
	done
	warm_to "$need" "${list[@]}"
	sleep 2
	for i in "${list[@]}"; do
		good fusionctl explain why "$i" --json
		json '.extents[0] | .verdict, .missing_accesses, (.waits_for | join(" "))' \
			$'waits\n0\nmigration'
		good fusionctl explain why "$i"
		shows "verdict     it would be promoted, but waits: migration is off"
	done
}

# is_waiting EXTENT REASON...: only for these
is_waiting() {
	fusionctl explain why "$1" --json >"$TMP/out"
	[[ $(jq -r '.extents[0] | .verdict, (.waits_for | join(" "))' "$TMP/out") == \
		$'waits\n'"${*:2}" ]]
}

# waits_for EXTENT REASON...: by the time that the mover has looked again
waits_for() {
	within 10 "extent $1 waits for ${*:2}" is_waiting "$@"
}

# What is in the way is named, and nothing moves.
test_what_is_in_the_way() {
	local before i
	begin $((32 * 16)) migration on reserve 4 idle 1000
	msg why demote 0-$((EXTENTS - 1)) >/dev/null
	warm_each 9 7
	waits_for 7 migration
	msg why standby 1
	waits_for 7 migration standby
	msg why migration on
	before=$(moves)
	sleep 2
	waits_for 7 standby
	same "moves" "$(moves)" "$before"
	msg why migration off standby 0
	# the writes of an hour are used up, and more
	msg why write_budget 1
	for i in 1 2; do
		msg why promote 100-$((100 + 450)) >/dev/null
		msg why demote 0-$((EXTENTS - 1)) >/dev/null
	done
	waits_for 7 migration budget
	msg why migration on
	before=$(moves)
	sleep 2
	waits_for 7 budget
	same "moves" "$(moves)" "$before"
	dmsetup suspend why
	waits_for 7 suspended budget
	dmsetup resume why
	msg why write_budget 0
	within 20 "it is promoted" up 7
	good fusionctl explain why 7
	shows "left alone  for another "
	shows "verdict     it stays on the fast member"
}

up() {
	[[ $(on why fast "$1" 1) -eq 1 ]]
}

# Extents that have no place, or not all of it.
test_other_states() {
	make 32 48
	put_direct "$SET" 3 $((3 * SIZE)) 8192
	good fusionctl explain why 0-3 --json
	json '.extents | map(.verdict) | join(" ")' "unmapped unmapped unmapped partial"
	json '.extents[3] | .valid_blocks, .blocks, .member' $'2\n16\nfast'
	good fusionctl explain why 3
	shows "2 of 16 blocks valid"
	shows "stays where it is until all its blocks are valid"
	good fusionctl explain why 0
	shows "extent 0, sectors 0-127: unmapped"
	dm_remove why
	# what a read-only set says of the replica means nothing
	LEN=$(($(sb nr_lexts) * $(sb extent_sectors)))
	dmsetup create why --readonly --uuid "FUSION-$(uuid_of "$FAST")" --table "$(table)"
	good fusionctl explain why 0-3 --json
	json '.extents | map(.replica) | unique | .[0]' null
	json '.extents[0].verdict' unmapped
}

# all_refused: each message that comes before " | " in a line is, with one line in the log: what follows
all_refused() {
	local mark message text
	mark="selftest mark $RANDOM$RANDOM"
	echo "$mark" >/dev/kmsg
	while IFS='|' read -r message text; do
		# shellcheck disable=SC2086 # its words
		! msg why $message >"$TMP/out" 2>&1 || fail "$message: expected a refusal"
		echo "message:$text" >>"$TMP/expected"
	done
	dmesg | sed "1,/$mark/d" | grep -o 'message: .*' >"$TMP/lines"
	diff "$TMP/expected" "$TMP/lines" || fail "not the lines that were expected"
}

test_messages() {
	local n
	many_extents
	n=$(status why extents)
	all_refused <<-END
		extents x 1 | x: not an extent of this device
		extents -1 1 | -1: not an extent of this device
		extents $n 1 | $n: not an extent of this device
		extents 0 0 | 0: not a number of extents
		extents 0 x | x: not a number of extents
		extents 0 4294967296 | 4294967296: not a number of extents
		extents 0 | extents: unknown message, or wrong number of arguments
		extents | extents: unknown message, or wrong number of arguments
		extents 0 1 2 | extents: unknown message, or wrong number of arguments
		policy 1 2 | policy: unknown message, or wrong number of arguments
		extents 0 4097 | 4097: not a number of extents, 1 to 4096
	END

	# all words of all lines
	msg why extents 0 4096 >"$TMP/extents"
	same "lines" "$(wc -l <"$TMP/extents")" 4096
	same "words" "$(awk '{ print NF }' "$TMP/extents" | sort -u)" 12
	same "the last one" "$(msg why extents $((n - 1)) 4096 | awk '{ print $1 }')" $((n - 1))
	msg why map 0 4096 | awk '{ for (i = 0; i < $2; i++)
		print $1 + i, $3, $4 == "-" ? "-" : $4 + i, $5 }' >"$TMP/map"
	awk '{ print $1, $2, $3, $4 }' "$TMP/extents" >"$TMP/places"
	cmp "$TMP/places" "$TMP/map"
	same "heat of the first ones" "$(msg why extents 0 50 | awk '{ n += $5 } END { print n }')" \
		"$(msg why histogram | awk '{ n += $4 + $5 } END { print n }')"
	same "keys with a value" "$(msg why policy | awk 'NF == 2' | wc -l)" \
		"$(msg why policy | wc -l)"
	same "keys that come twice" "$(msg why policy | cut -d' ' -f1 | sort | uniq -d)" ""
}

# more extents than lines in an answer
many_extents() {
	make 64 256
	msg why migration off
	dd if=/dev/zero of="$SET" bs=64k count=50 oflag=direct conv=fsync status=none
	msg why demote 10-19 >/dev/null
}

test_errors() {
	local n
	many_extents
	n=$(status why extents)
	expect 2 "explain: needs either FIRST[-LAST], FILE or --sector N; see fusionctl help explain" \
		fusionctl explain why
	expect 2 "explain: needs either FIRST[-LAST], FILE or --sector N; see fusionctl help explain" \
		fusionctl explain why 3 --sector 7
	expect 2 "x: neither extents nor a file; write e.g. 18211, 0-1023 or /srv/mail.db" \
		fusionctl explain why x
	expect 2 "/dev/null: not a regular file; fusionctl where shows on which member a directory lies" \
		fusionctl explain why /dev/null
	expect 3 "/proc/version: files cannot be followed on a file system of type proc; only those on \
ext2 to ext4, XFS and btrfs can" fusionctl explain why /proc/version
	expect 2 "$n: beyond the end; the extents of why are 0-$((n - 1))" fusionctl explain why "$n"
	expect 2 "x: not a sector; give a number" fusionctl explain why --sector x
	expect 2 "$((n * 128)): beyond the end; the sectors of why are 0-$((n * 128 - 1))" \
		fusionctl explain why --sector $((n * 128))
	expect 1 "nosuch: no such set is open; fusionctl list shows the open sets" \
		fusionctl explain nosuch 0
	good fusionctl explain why 0-$((n - 1)) --json
	json '.extents | length' "$n"
	json '[.extents[].extent] == [range(0; '"$n"')]' true
	json '[.file, .extents[0].file_bytes, .summary[0].file_bytes] | map(. == null) | all' true
	json '[.summary[].extents] | add' "$n"
}

run_tests
