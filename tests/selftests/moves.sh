#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl promote and demote of a large range report their progress and, if they are interrupted,
# how far they got. With --dry-run they report what they would do.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

EXTENTS=140

# a set with EXTENTS written extents on the fast member, and 40 unwritten ones
begin() {
	linked 16 64
	opened data --extent-size 64K
	good fusionctl set data migration=off
	put /dev/mapper/data 7 0 $((EXTENTS << 16))
	same "on the fast member" "$(on data fast 0 $EXTENTS)" $EXTENTS
}

# slowly MS: from now on each I/O of the slow member takes so long
slowly() {
	need_module dm-delay
	swap slow "0 $(sectors_of /dev/slow) delay /dev/slow 0 $1"
}

test_dry_run() {
	local last=$((EXTENTS + 39))
	begin
	good fusionctl demote data 0-$last --dry-run
	same output "$(<"$TMP/out")" "$EXTENTS would be moved, 0 already there, 40 unmapped"
	same "on the slow member" "$(on data slow 0 $EXTENTS)" 0
	good fusionctl demote data 10-29
	good fusionctl promote data 20-$last --dry-run --json
	json '.version, .dry_run, .name, .member, .first, .last, .next' \
		$'1\ntrue\ndata\nfast\n20\n'"$last"$'\nnull'
	json '.moved, .already, .unmapped, .failed' "10"$'\n'"$((EXTENTS - 30))"$'\n40\n0'
	same "on the slow member" "$(on data slow 0 $EXTENTS)" 20
	expect 2 "0-99999: beyond the end; the extents of data are 0-$(($(status data extents) - 1))" \
		fusionctl demote data 0-99999 --dry-run
}

# Bytes are rounded outwards to whole extents.
test_bytes() {
	local cap
	begin
	cap=$(($(status data extents) << 16))
	good fusionctl demote data --bytes 64K-128K --dry-run
	same output "$(<"$TMP/out")" "1 would be moved, 0 already there, 0 unmapped"
	good fusionctl demote data --bytes 65535-65537 --json
	json '.first, .last, .moved, .obstacle' $'0\n1\n2\nnull'
	good fusionctl promote data --bytes 0-1M
	shows "2 moved, 14 already there, 0 unmapped, 0 failed"
	expect 2 "1M: not a range of bytes; write e.g. 10G-12G" fusionctl demote data --bytes 1M
	expect 2 "1M-1M: not a range of bytes; write e.g. 10G-12G" fusionctl demote data --bytes 1M-1M
	expect 2 "0-1P: beyond the end; data has $cap bytes" fusionctl demote data --bytes 0-1P
	expect 2 "demote: needs either FIRST[-LAST] or --bytes FIRST-LAST; see fusionctl help demote" \
		fusionctl demote data
	expect 2 "demote: needs either FIRST[-LAST] or --bytes FIRST-LAST; see fusionctl help demote" \
		fusionctl demote data 0-9 --bytes 0-1M
}

# A full member swaps, also in parts; if the range itself fills it, one line says so.
test_full() {
	local all fast slow
	begin
	all=$(status data extents)
	put /dev/mapper/data 7 0 $((all << 16))
	good fusionctl promote data $((all - 20))-$((all - 1))
	shows "20 moved, 0 already there, 0 unmapped, 0 failed"
	fast=$(on data fast 0 "$all")
	slow=$(on data slow 0 "$all")
	good fusionctl promote data --bytes $(((all - 120) * 64))K-$((all * 64))K
	shows "100 moved, 20 already there, 0 unmapped, 0 failed"
	same "on the fast member" "$(on data fast 0 "$all")" "$fast"
	same "those" "$(on data fast $((all - 120)) 120)" 120
	expect 1 "data: $((all - fast)) extents could not be moved: the fast member is full of extents \
of the same range; give a smaller range" fusionctl promote data 0-$((all - 1))
	shows "0 moved, $fast already there, 0 unmapped, $((all - fast)) failed"
	expect 1 "data: $((all - slow)) extents could not be moved: the slow member is full of extents \
of the same range; give a smaller range" fusionctl demote data 0-$((all - 1)) --json
	json '.moved, .failed, .obstacle, .next' $'0\n'"$((all - slow))"$'\nrange\nnull'
}

# Ranges that begin and end anywhere in a patchwork move as with one message.
test_parts() {
	local first last was seen
	begin
	seen=$(sum_of /dev/mapper/data)
	for last in 3 9 50 64 71; do
		good fusionctl demote data $((last * 2 / 3))-$last
	done
	for first in 0 2 17 60; do
		last=$((first + 75))
		was=$(on data slow $first 76)
		good fusionctl demote data $first-$last
		shows "$((76 - was)) moved, $was already there, 0 unmapped, 0 failed"
		good fusionctl promote data $first-$last --json
		json '.dry_run, .moved, .already, .unmapped, .failed, .next' $'false\n76\n0\n0\n0\nnull'
	done
	good fusionctl demote data 0-$((EXTENTS + 39))
	same "on the slow member" "$(on data slow 0 $EXTENTS)" $EXTENTS
	shows ", 40 unmapped, 0 failed"
	same "content" "$(sum_of /dev/mapper/data)" "$seen"
}

sum_of() {
	head -c $((EXTENTS << 16)) "$1" | md5sum
}

# some_moved LEAST: at least so many extents have moved
some_moved() {
	[[ $(on data slow 0 $EXTENTS) -ge $1 ]]
}

# An interrupted verb says how far it got, and how to continue.
test_stopped() {
	local signal pid rc moved next
	begin
	# what was promoted would go back at once
	good fusionctl set data shadow=off
	slowly 40
	for signal in INT TERM HUP; do
		# a background process ignores INT otherwise
		env --default-signal=$signal fusionctl demote data 0-$((EXTENTS - 1)) --json \
			>"$TMP/out" 2>"$TMP/err" &
		pid=$!
		JOBS+=("$pid")
		within 60 "some are moved" some_moved 16
		kill -$signal "$pid"
		rc=0
		wait "$pid" || rc=$?
		same "exit code" $rc 1
		moved=$(on data slow 0 $EXTENTS)
		next=$(jq .next "$TMP/out")
		json '.moved + .already' "$next"
		same "on the slow member" "$moved" "$next"
		[[ $next -gt 0 && $next -lt $EXTENTS ]] || fail "all was moved: $next"
		same "what it says" "$(<"$TMP/err")" "fusionctl: data: was stopped before extent \
$next; to continue, run fusionctl demote data $next-$((EXTENTS - 1))"
		swap slow
		good fusionctl demote data "$next-$((EXTENTS - 1))"
		shows "$((EXTENTS - next)) moved, 0 already there"
		good fusionctl promote data 0-$((EXTENTS - 1))
		slowly 40
	done
	swap slow
}

# moved_whole SIGNAL...: all extents move in spite of these signals
moved_whole() {
	local pid signal
	begin
	slowly 20
	env --ignore-signal=HUP fusionctl demote data 0-$((EXTENTS - 1)) --json >"$TMP/out" &
	pid=$!
	JOBS+=("$pid")
	within 60 "some are moved" some_moved 16
	for signal; do
		kill "-$signal" "$pid"
		sleep 1
	done
	swap slow
	wait "$pid" || fail "it ended with status $?"
	json .next null
	same "on the slow member" "$(on data slow 0 $EXTENTS)" "$EXTENTS"
}

# A signal that it was started to ignore does not end it.
test_nohup() {
	moved_whole HUP
}

# Neither does Ctrl-Z, or suspending the machine.
test_paused() {
	moved_whole STOP CONT
}

# On a terminal, progress is a line that is redrawn, and disappears.
test_terminal() {
	local text
	need script
	begin
	slowly 40
	script -qec "fusionctl demote data 0-$((EXTENTS - 1))" -O /dev/null </dev/null >"$TMP/out"
	text=$(tr '\r' '\n' <"$TMP/out" | grep '^data: demote: ')
	say "$(head -n 1 <<<"$text")"
	grep -qE '^data: demote: [0-9]+ %, [0-9]+\.[0-9] MiB/s, [0-9]+:[0-9]{2} left' <<<"$text" ||
		fail "progress: $text"
	[[ $(<"$TMP/out") == *$'\r\e[K'"$EXTENTS moved, 0 already there"* ]] || fail "$(cat -v "$TMP/out")"
	swap slow
}

# Elsewhere, progress is a line now and then.
long_lines() {
	begin
	slowly 250
	fusionctl demote data 0-$((EXTENTS - 1)) >"$TMP/out" 2>"$TMP/err"
	same "output" "$(<"$TMP/out")" "$EXTENTS moved, 0 already there, 0 unmapped, 0 failed"
	at_least "lines" "$(wc -l <"$TMP/err")" 1
	! grep -vE '^data: demote: [0-9]+ %, [0-9]+\.[0-9] MiB/s(, [0-9:]+ left)?$' "$TMP/err" ||
		fail "progress: $(<"$TMP/err")"
	swap slow
}

test_read_only() {
	linked 16 64
	opened data --extent-size 64K
	fast_fails data
	expect 1 "data: is in mode ro, nothing can be moved; see dmesg" fusionctl demote data 0-9
	expect 1 "data: is in mode ro, nothing can be moved; see dmesg" \
		fusionctl demote data 0-9 --dry-run
}

run_tests
