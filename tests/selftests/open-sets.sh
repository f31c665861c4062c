#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Open sets: status, settings, profiles, moves, checkpoints, and the names that find a set.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

test_status() {
	good fusionctl status
	shows "no set is open"
	good fusionctl status --json
	json '.version, (.sets | length)' $'1\n0'
	expect 1 "nosuch: no such set is open; fusionctl list shows the open sets" \
		fusionctl status nosuch
	a_set
	good fusionctl status pair
	shows "pair: "
	shows "read-write, migration off"
	shows "mapped   2M of "
	good fusionctl status --json
	json '.sets[0] | .name, .mode, .mapped, .extent_bytes, .options.migration' \
		$'pair\nrw\n32\n65536\nfalse'
	json '.sets[0] | .fast.device, .slow.device' "$FAST"$'\n'"$SLOW"
	json '.sets[0] | [.fast.total_bytes, .slow.total_bytes, .fast.reads, .slow.writes, .commits]
		| map(type) | unique[]' number
	json '.sets[0].fast.total_bytes' $(($(sb nr_fast_slots) << 16))
	json '.sets[0].set_uuid' "$(uuid_of "$FAST")"

	repeated 3 'rates *' fusionctl status pair --watch 0.2
	same "rounds" "$(grep -c '^pair:' "$TMP/out")" 4
	repeated 3 '{*' fusionctl status --watch=0.2 --json
	same "a line for each round" "$(jq -r '.sets[0].name' "$TMP/out")" $'pair\npair\npair'
}

# No round comes early, however late the first one is read, since the clock starts before the tool
# does. No round comes late either, however slow the machine is: of two that run side by side, the
# one with the shorter interval shows more rounds. If it slept as long as the other, it would lead
# by at most one.
test_status_interval() {
	local start slow
	a_set
	start=${EPOCHREALTIME/./}
	repeated 3 'pair:*' fusionctl status pair --watch 1.5
	at_least "microseconds of two intervals" $((${EPOCHREALTIME/./} - start)) 3000000
	background fusionctl status pair --watch 0.1 >"$TMP/short"
	repeated 4 'pair:*' fusionctl status pair --watch 2
	slow=$(grep -c '^pair:' "$TMP/out")
	at_least "rounds with the short interval" "$(grep -c '^pair:' "$TMP/short")" $((slow + 2))
	kill "$REPLY"
}

# A set that is being made or closed hides none of the others.
test_status_of_others() {
	local one
	for one in another-half half; do
		defer dm_remove $one
		dmsetup create $one --notable -u "FUSION-$(</proc/sys/kernel/random/uuid)"
	done
	good fusionctl status
	shows "no set is open"
	a_set
	good fusionctl status
	shows "pair: "
	same "sets" "$(grep -c "migration" "$TMP/out")" 1
	good fusionctl status --json
	json '[.sets[].name] | join(" ")' pair
	repeated 2 'pair:*' fusionctl status --watch 0.2
	expect 1 "half: is a mapped device but not an open fusion set; fusionctl list shows the \
open sets" fusionctl status half
}

comes_and_goes() {
	while [[ -e $TMP/go-on ]]; do
		dmsetup create half --notable -u "FUSION-$1"
		dmsetup load half --table "$(table)"
		dmsetup resume half
		dmsetup remove half
	done >/dev/null 2>&1
}

test_status_beside_a_close() {
	local i
	need_module dm-fusion
	two 8 32
	format --extent-size 64K
	defer dm_remove half
	: >"$TMP/go-on"
	background comes_and_goes "$(uuid_of "$FAST")"
	for ((i = 0; i < 60; i++)); do
		good fusionctl status
	done
	# not SIGKILL, which would leave the dmsetup behind that it had just started
	rm "$TMP/go-on"
	wait "$REPLY"
}

# -- settings ----------------------------------------------------------------------------------

test_set() {
	local before half key takes word words n=0
	a_set
	good fusionctl set pair migration=default
	# this is the default, says the help
	good fusionctl help set
	while read -r word; do
		same "setting $n by default" "$(fusionctl set pair | awk -v n=$n \
			'NR == n + 2 { print $2, $3 == "default" || $4 == "default" }')" "$word 1"
		n=$((n + 1))
	done < <(sed -n 's/.*(default: \(.*\))$/\1/p' "$TMP/out")
	same "settings of the help" $n 12
	before=$(dmsetup table pair)
	expect 2 "migration: not KEY=VALUE; see fusionctl help set" fusionctl set pair migration
	expect 2 "frob=1: no such setting; choose migration, reserve, half_life, duty, idle, \
commit_interval, replica_interval, discard_passdown, standby, write_budget, shadow or shadow_age" \
		fusionctl set pair frob=1
	expect 2 "hlaf_life=1: no such setting; did you mean half_life?" \
		fusionctl set pair hlaf_life=1
	for key in migration discard_passdown shadow; do
		for word in maybe 2 ''; do
			expect 2 "$key=$word: neither on nor off; $key takes on or off" \
				fusionctl set pair "$key=$word"
		done
	done
	half=$(($(sb nr_fast_slots) / 2))
	while read -r key takes; do
		read -ra words <<<"${takes#*: }"
		for word in "${words[@]}"; do
			expect 2 "$key=$word: out of range; $key takes ${takes%%: *}" \
				fusionctl set pair "$key=$word"
		done
	done <<-EOF
		half_life 0 to 604800 seconds (7d), or automatic: 604801 8d 200h
		duty 1 to 100 percent: 0 101 200% 0%
		idle 0 to 60000 milliseconds (1m): 60001 61s
		commit_interval 10 to 60000 milliseconds (1m): 9 60001 2m 0.001s
		replica_interval 1 to 86400 seconds (1d): 0 86401 2d
		standby 0 to 86400 seconds (1d), or never: 86401 2d
		write_budget 0 to 100000 GB a day, or unlimited: 100001 101T
		shadow_age 0 to 86400 seconds (1d), or never: 86401 2d
	EOF
	for word in $((half + 1)) 1G 60%; do
		expect 2 "reserve=$word: out of range; reserve takes 0 to $half extents \
($(numfmt --to=iec --format=%.1f $((half << 16)) | sed 's/\.0//')), or automatic" \
			fusionctl set pair reserve=$word
	done
	for word in -1 x 99999999999999999999999 ''; do
		expect 2 "idle=$word: not a time; idle takes 0 to 60000 milliseconds (1m)" \
			fusionctl set pair "idle=$word"
	done
	# one bad word, and nothing is changed
	expect 2 "duty=0: out of range; duty takes 1 to 100 percent" \
		fusionctl set pair idle=3s duty=0
	same "table after nothing but bad values" "$(dmsetup table pair)" "$before"
	expect 4 "nosuch: no member of that set is found; connect it, fusionctl list shows the \
members" fusionctl set nosuch idle=1

	good fusionctl set pair idle=3s half_life=1h --dry-run
	shows "pair: would change"
	same idle "$(option idle)" 1000
	good fusionctl set pair idle=default --dry-run
	same output "$(<"$TMP/out")" "pair: nothing to change"
	good fusionctl set pair idle=3s half_life=30m duty=50% commit_interval=200 reserve=256K
	same "all of them" "$(for key in idle half_life duty commit_interval reserve; do
		option $key
	done | xargs)" "3000 1800 50 200 4"
	good fusionctl set pair reserve=257K
	same reserve "$(option reserve)" 5
	good fusionctl set pair reserve=10%
	same reserve "$(option reserve)" $(($(sb nr_fast_slots) / 10))
	good fusionctl set pair reserve=7 discard_passdown=off
	same reserve "$(option reserve)" 7
	same discard_passdown "$(option discard_passdown)" false
	good fusionctl set pair standby=10m write_budget=20G
	same standby "$(option standby)" 600
	same write_budget "$(option write_budget)" 20
	good fusionctl set pair
	shows "20G/day"
}

option() {
	fusionctl status pair --json | jq -r ".sets[0].options.$1"
}

test_profiles() {
	local before
	a_set
	expect 2 "laptop: no such profile; choose desktop, database or archive" \
		fusionctl set pair --profile laptop
	expect 2 "dekstop: no such profile; did you mean desktop?" \
		fusionctl set pair --profile dekstop
	before=$(dmsetup table pair)
	good fusionctl set pair --profile desktop --dry-run
	shows "pair: would change"
	shows "automatic"
	same "table" "$(dmsetup table pair)" "$before"
	good fusionctl set pair --profile desktop --dry-run --json
	json '.version, .name, .profile, .dry_run' $'1\npair\ndesktop\ntrue'
	json '.changes[] | select(.key == "half_life") | .from, .to, .unit' $'0\n86400\nseconds'
	same "table" "$(dmsetup table pair)" "$before"

	good fusionctl set pair --profile desktop
	shows "pair: changed"
	same "settings" "$(for key in half_life duty idle reserve commit_interval \
		replica_interval standby; do option $key; done | xargs)" \
		"86400 10 2000 $(($(sb nr_fast_slots) * 5 / 100)) 1000 120 600"
	same "migration is not its affair" "$(option migration)" false
	good fusionctl set pair --profile desktop
	shows "pair: nothing to change"
	good fusionctl set pair --profile database --json
	json '.dry_run' false
	json '.changes[] | select(.key == "standby") | .from, .to' $'600\n0'
	good fusionctl set pair --profile archive duty=30
	same standby "$(option standby)" 900
	same half_life "$(option half_life)" 604800
	same duty "$(option duty)" 30
}

# -- moves and checkpoints ---------------------------------------------------------------------

# As many of the first 100 extents as are not on the fast member when it is full.
failed_to_move() {
	{ fusionctl promote pair 0-99 2>/dev/null || :; } | sed 's/.* \([0-9]*\) failed/\1/'
}

test_moves() {
	local last
	a_set
	last=$(($(sb nr_lexts) - 1))
	good fusionctl demote pair 0-9
	shows "10 moved, 0 already there, 0 unmapped, 0 failed"
	same "on the slow member" "$(on pair slow 0 32)" 10
	good fusionctl promote pair 5
	shows "1 moved, 0 already there, 0 unmapped, 0 failed"
	good fusionctl promote pair 0-$last
	shows "9 moved, 23 already there, $((last - 31)) unmapped, 0 failed"
	same "on the slow member" "$(on pair slow 0 32)" 0
	expect 2 "0-$((last + 1)): beyond the end; the extents of pair are 0-$last" \
		fusionctl demote pair 0-$((last + 1))
	expect 1 "nosuch: no such set is open; fusionctl list shows the open sets" \
		fusionctl demote nosuch 0

	# more than the fast member can hold
	put /dev/mapper/pair 252 0 $((100 << 16))
	expect 1 "pair: $(failed_to_move) extents could not be moved: the fast member is \
full of extents of the same range; give a smaller range" fusionctl promote pair 0-99
}

# write_journal EXTENT: make some commits
write_journal() {
	local i
	for ((i = $1; i < $1 + 5; i++)); do
		put /dev/mapper/pair 2 $((i << 16)) 65536
	done
	at_least "blocks of the journal in use" "$(status pair journal_used)" 3
}

test_checkpoint() {
	local was
	a_set
	write_journal 40
	good fusionctl checkpoint pair
	same output "$(<"$TMP/out")" ""
	at_most "blocks of the journal in use" "$(status pair journal_used)" 1
	write_journal 60
	good fusionctl checkpoint
	at_most "blocks of the journal in use" "$(status pair journal_used)" 1
	expect 1 "nosuch: no such set is open; fusionctl list shows the open sets" \
		fusionctl checkpoint nosuch
	# a disk that rests is left alone
	was=$(status pair checkpoints)
	good fusionctl checkpoint pair --dry-run
	shows "pair: would be written: $(status pair journal_used) blocks of the journal are in use"
	sleep 2
	good fusionctl checkpoint --used-within 0 --dry-run
	shows "pair: would be skipped: its slow member has not been used since"
	good fusionctl checkpoint --used-within 0
	same "checkpoints" "$(status pair checkpoints)" "$was"
	good fusionctl checkpoint pair --used-within 100
	differ "checkpoints" "$(status pair checkpoints)" "$was"
	expect 2 "1h: not a time; give a number of seconds" fusionctl checkpoint --used-within 1h
	dmsetup suspend pair
	expect 1 "pair: cannot be checkpointed, it is suspended; see fusionctl status pair" \
		fusionctl checkpoint pair
	good fusionctl checkpoint
	dmsetup resume pair
}

# -- names -------------------------------------------------------------------------------------

# Verbs that accept the name of an open set accept its uuid as well, and print the name.
test_by_uuid() {
	local uuid none=01234567-89ab-4def-8123-456789abcdef
	a_set
	uuid=$(uuid_of "$FAST")
	good fusionctl status "$uuid"
	shows "pair: "
	good fusionctl status "${uuid^^}" --json
	json '.sets[0].name' pair
	good fusionctl status "$uuid" --check
	shows "FUSION OK"
	good fusionctl set "$uuid" idle=3s
	same idle "$(option idle)" 3000
	good fusionctl set "$uuid" --profile desktop --json
	json .name pair
	good fusionctl demote "$uuid" 0-9
	shows "10 moved"
	good fusionctl promote "$uuid" 5
	expect 2 "0-99999: beyond the end; the extents of pair are 0-$(($(sb nr_lexts) - 1))" \
		fusionctl promote "$uuid" 0-99999
	good fusionctl checkpoint "$uuid"
	good fusionctl map "$uuid" --json
	json .name pair
	heat pair 0 4 2
	good fusionctl whatif "$uuid" --json
	json .name pair
	good fusionctl explain "$uuid" 5 --json
	json .name pair
	good fusionctl top "$uuid" --once --json
	json .name pair
	expect 1 "$none: no such set is open; fusionctl list shows the open sets" \
		fusionctl status $none
	good fusionctl close "$uuid"
	expect 1 "$uuid: is closed; fusionctl open $uuid opens it" fusionctl close "$uuid"
}

# They also accept the label and the devices of the set.
test_by_any_name() {
	local i
	a_set
	for i in "$FAST" "$SLOW" /dev/mapper/pair; do
		good fusionctl status "$i"
		shows "pair: "
		good fusionctl set "$i" --json
		json .name pair
	done
	good fusionctl close "$SLOW"
	expect 1 "$FAST: not a member of an open set; fusionctl list shows the open sets" \
		fusionctl status "$FAST"
	expect 1 "/dev/nosuch: not a member of an open set; fusionctl list shows the open sets" \
		fusionctl close /dev/nosuch
	good fusionctl set "$SLOW" duty=7%
	expect 2 "dutty=5: no such setting; did you mean duty?" fusionctl set pair dutty=5
	expect 4 "pari: no member of that set is found; did you mean pair?" fusionctl set pari
	for i in check:8 repair:8 dump:4 salvage:4 wipe:4 open:4; do
		expect "${i#*:}" "pari: no member of that set is found; did you mean pair?" \
			fusionctl "${i%:*}" pari
	done
	good fusionctl open "$SLOW"
	good fusionctl close pair
	# open under a name other than its label
	open_sets other
	good fusionctl open other "$FAST"
	for i in pair "$(uuid_of "$FAST")" other; do
		good fusionctl status "$i" --json
		json '.sets[0].name' other
	done
	good fusionctl demote pair 0-3
	good fusionctl map pair --json
	json .name other
	expect 1 "othre: no such set is open; did you mean other?" fusionctl status othre
	expect 5 "other: is an open set; close that first with fusionctl close other" \
		fusionctl wipe other --yes
	expect 5 "other: is already open; fusionctl status other shows it" fusionctl open other
	# two sets with one name
	null small 8
	null large 32
	good fusionctl format pair --fast /dev/small --slow /dev/large --yes --extent-size 64K
	open_sets twin
	good fusionctl open twin /dev/small
	expect 1 "pair: both other and twin are open sets of that name; give the one that is meant" \
		fusionctl status pair
	good fusionctl close twin
	good fusionctl close pair
}

run_tests
