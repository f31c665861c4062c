#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The messages pin and pins: pinned extents lie on their member, whatever their heat, as far as
# there is room; a new set of pins comes into force at once; they last until the device is closed.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/resize.sh
. "$here/lib/resize.sh"

SET=/dev/mapper/data
SIZE=65536	# of an extent

# begin FREE SETTING VALUE...: all extents of a set are written, except so many, and cold. Nothing
# moves until `go`.
begin() {
	empty "${@:2}"
	EXTENTS=$(($(status data extents) - $1))
	fusion-warm "$SET" $SIZE "$EXTENTS"
	within 30 "nothing moves" settled data
}

# empty SETTING VALUE...: a set of small extents that was never written
empty() {
	members 32 48
	format --extent-size 64K
	fusion data migration off shadow off half_life 86400 duty 100 "$@"
}

go() {
	msg data idle 100
	msg data migration on
}

# pins KEY: a number from the message pins
pins() {
	msg data pins | awk -v key="$1" '{ for (i = 1; i < NF; i += 2) if ($i == key) print $(i + 1) }'
}

# pin_of EXTENT: the last word of its line
pin_of() {
	msg data extents "$1" 1 | awk '{ print $NF }'
}

# all_on MEMBER FIRST COUNT: a condition for within
all_on() {
	[[ $(on data "$@") -eq $3 ]]
}

# most_on MEMBER FIRST COUNT: the same for a half of them
most_on() {
	[[ $(on data "$@") -ge $(($3 / 2)) ]]
}

# warm ACCESSES {FIRST LAST}...: so many accesses to each of these extents
warm() {
	local n=$1
	shift
	while [[ $# -gt 0 ]]; do
		seq -f "%.0f $n" "$1" "$2"
		shift 2
	done | fusion-warm "$SET" $SIZE
}

# Cold extents come up in place of hot ones, and others that get hotter do not displace them.
test_fast() {
	local first
	begin 0 reserve 4
	first=$((EXTENTS - 100))
	warm 6 0 $((first - 201))
	all_on slow $((first - 200)) 300 || fail "the last extents do not lie on slow"
	msg data pin fast $first-$((EXTENTS - 1))
	same "pinned to fast" "$(pins fast)" 100
	same "pin" "$(pin_of $first) $(pin_of $((first - 1)))" "fast -"
	sleep 3
	all_on slow $first 100 || fail "they have moved, while migration is off"
	same "those that wait" "$(msg data policy | sed -n 's/^pinned_fast //p')" 100
	go
	within 60 "pinned extents are on fast" all_on fast $first 100
	warm 30 $((first - 200)) $((first - 1))
	within 60 "hot ones are on fast" most_on fast $((first - 200)) 200
	all_on fast $first 100 || fail "pinned extents were displaced"
	msg data pin off $first-$((EXTENTS - 1))
	same "pinned to fast" "$(pins fast)" 0
}

# Hot extents stay on slow, and those on fast come down; others move by their heat.
test_slow() {
	begin 100 reserve 4
	warm 12 0 19 $((EXTENTS - 40)) $((EXTENTS - 1))
	msg data pin slow 0-39 $((EXTENTS - 20))-$((EXTENTS - 1))
	same "pinned to slow" "$(pins slow)" 60
	go
	within 60 "pinned extents are on slow" all_on slow 0 40
	within 60 "hot ones are on fast" all_on fast $((EXTENTS - 40)) 20
	all_on slow $((EXTENTS - 20)) 20 || fail "an extent pinned to slow was promoted"
	# without the pin
	msg data pin off $((EXTENTS - 20))-$((EXTENTS - 1))
	within 60 "they are on fast" all_on fast $((EXTENTS - 20)) 20
	# on request they move all the same, and back
	msg data migration off
	same "moved on request" "$(msg data promote 0-9)" "10 0 0 0"
	msg data migration on
	within 60 "they are on slow again" all_on slow 0 10
}

# Promotions of pinned extents need a write budget, demotions do not.
test_budget() {
	local i
	begin 300 reserve 4 write_budget 1
	# the budget of an hour is used up, and more; then both members have free slots
	for i in 1 2 3 4 5; do
		msg data promote $((EXTENTS - 200))-$((EXTENTS - 1)) >/dev/null
		msg data demote $((EXTENTS - 200))-$((EXTENTS - 1)) >/dev/null
	done
	[[ $(msg data policy | sed -n 's/^budget //p') -le 0 ]] || fail "there is a budget left"
	msg data pin fast $((EXTENTS - 100))-$((EXTENTS - 1))
	msg data promote 0-9 >/dev/null
	msg data pin slow 0-9
	go
	within 60 "extents pinned to slow are there" all_on slow 0 10
	all_on slow $((EXTENTS - 100)) 100 || fail "extents were promoted without a budget"
	msg data write_budget 0
	within 60 "extents pinned to fast are there" all_on fast $((EXTENTS - 100)) 100
}

test_first_writes() {
	empty
	msg data pin slow 10-19
	msg data pin fast 20-29
	fusion-warm "$SET" $SIZE 40
	all_on slow 10 10 || fail "first writes do not go to the slow member"
	all_on fast 0 10 || fail "first writes do not go to the fast member"
	all_on fast 20 20 || fail "first writes do not go to the fast member"
}

# refuse_pin COUNT LEFT RANGE...: more cannot be pinned, and none of them is
refuse_pin() {
	local before
	before=$(msg data pins)
	refused "can hold $(pins limit) pinned extents, not $1: $2 are left" \
		msg data pin fast "${@:3}"
	same "pins" "$(msg data pins)" "$before"
}

test_limit() {
	local limit
	empty reserve 20
	limit=$(($(sb nr_fast_slots) - $(sb spare_fast) - 20))
	same "limit" "$(pins limit)" $limit
	msg data pin fast 0-$((limit - 1))
	refuse_pin $((limit + 1)) 0 $limit
	# what is pinned already does not count twice
	msg data pin fast 0 0-9 3-$((limit - 1))
	msg data pin off 0-9
	refuse_pin $((limit + 1)) 10 0-4 $limit-$((limit + 5))
	same "pin" "$(pin_of 0)" -
	msg data pin slow $((limit - 5))-$((limit - 1))
	same "pinned to fast" "$(pins fast)" $((limit - 15))
	same "pinned to slow" "$(pins slow)" 5
	msg data pin fast $((limit - 5))-$((limit - 1))
	same "pinned to slow" "$(pins slow)" 0
	# the reserve grows: the pins stay
	msg data reserve 40
	same "limit" "$(pins limit)" $((limit - 20))
	same "pinned to fast" "$(pins fast)" $((limit - 10))
	msg data pin fast 20-29
	refuse_pin $((limit - 9)) 0 0
	msg data reserve 20
	msg data fence fast 100 129
	same "limit" "$(pins limit)" $((limit - 30))
	msg data fence off
	# the same for those that are being made
	msg data pin begin
	msg data pin fast 0-$((limit - 1))
	refuse_pin $((limit + 1)) 0 $limit
	msg data pin end
	same "pinned to fast" "$(pins fast)" $limit
}

test_begin_and_end() {
	empty
	same "pins" "$(msg data pins | cut -d' ' -f3-)" "fast 0 slow 0 begun 0"
	msg data pin fast 0-9
	msg data pin begin
	msg data pin slow 5-14
	msg data pin off 14
	same "pins" "$(msg data pins | cut -d' ' -f3-)" "fast 10 slow 0 begun 1"
	same "pin" "$(pin_of 5)" fast
	msg data pin end
	same "pins" "$(msg data pins | cut -d' ' -f3-)" "fast 0 slow 9 begun 0"
	same "pin" "$(pin_of 0) $(pin_of 5)" "- slow"
	# what was begun before is dropped
	msg data pin begin
	msg data pin fast 100
	msg data pin begin
	msg data pin fast 200
	msg data pin end
	same "pin" "$(pin_of 5) $(pin_of 100) $(pin_of 200)" "- - fast"
	msg data pin begin
	msg data pin end
	same "pins" "$(msg data pins | cut -d' ' -f3-)" "fast 0 slow 0 begun 0"
	refused "pin end: there was no pin begin" msg data pin end
}

# They stay while the device is suspended, gets another table, or another size.
test_lasting() {
	local was
	members 64 96
	resizable 24 40
	opened data --extent-size 64K
	was=$(extents)
	msg data pin fast 3-7
	msg data pin slow $((was - 1))
	dmsetup suspend data
	refused "temporarily unavailable" msg data pin fast 9
	same "pinned to fast" "$(pins fast)" 5
	dmsetup resume data
	same "pinned to fast" "$(pins fast)" 5
	dmsetup table data | dmsetup load data
	dmsetup suspend data
	dmsetup resume data
	same "pins" "$(msg data pins | cut -d' ' -f3-)" "fast 5 slow 1 begun 0"
	refused "extent $was is beyond the last one" msg data pin fast "$was"
	swap slow "0 $((80 * 2048)) linear /dev/slow 0"
	good fusionctl grow data
	at_least "extents" "$(extents)" $((was + 500))
	same "pin" "$(pin_of 3) $(pin_of $((was - 1))) $(pin_of "$was")" "fast slow -"
	same "pins" "$(msg data pins | cut -d' ' -f3-)" "fast 5 slow 1 begun 0"
	msg data pin slow "$was"-$(($(extents) - 1))
	same "pinned to slow" "$(pins slow)" $(($(extents) - was + 1))
	good fusionctl close data
	good fusionctl open data "$FAST" "$SLOW"
	same "pins" "$(msg data pins | cut -d' ' -f3-)" "fast 0 slow 0 begun 0"
}

test_errors() {
	local n
	empty
	n=$(status data extents)
	refused "pin: not begin, end, or fast|slow|off <range>..." msg data pin
	refused "fast: not begin, end, or fast|slow|off <range>..." msg data pin fast
	refused "x: not begin, end, or fast|slow|off <range>..." msg data pin x 1
	refused "begin: not begin, end, or fast|slow|off <range>..." msg data pin begin 1
	refused "x: not a range <first>[-<last>] of extents" msg data pin fast 1 x
	refused "5: not a range <first>[-<last>] of extents" msg data pin slow 1 5-3
	refused "extent $n is beyond the last one, $((n - 1))" msg data pin off 0-"$n"
	refused "fast: more than 512 ranges" msg data pin fast "$(seq -s' ' 0 512)"
	refused "pins: unknown message" msg data pins 1
	same "pins" "$(msg data pins | cut -d' ' -f3-)" "fast 0 slow 0 begun 0"
	msg data pin slow "$(seq -s' ' 0 511)"
	same "pinned to slow" "$(pins slow)" 512
	close data
	dmsetup create data --readonly --table "$(table)"
	refused "Read-only file system" msg data pin fast 1
	same "pins" "$(msg data pins | cut -d' ' -f3-)" "fast 0 slow 0 begun 0"
}

run_tests
