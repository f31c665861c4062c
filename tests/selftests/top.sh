#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl top: its rates against known I/O, and its screen in a pseudo terminal: keys, another
# size, signals, and a set that goes away.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"
# shellcheck source=lib/areas.sh
. "$here/lib/areas.sh"

# during SECONDS COMMAND...: it runs during top --once --json of pair; the output is in $TMP/out
during() {
	local seconds=$1 pid
	shift
	fusionctl top pair --once "$seconds" --json >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	sleep 0.5
	"$@"
	wait "$pid"
}

# total EXPRESSION: what it was in a second, in all of the time
total() {
	jq "($1) * .seconds | round" "$TMP/out"
}

# near WHAT IS WANTED: so much, and perhaps some metadata
near() {
	at_least "$1" "$2" $(($3 - $3 / 1000))
	at_most "$1" "$2" $(($3 + 262144))
}

write_mib() {
	dd if=/dev/urandom of=/dev/mapper/pair bs=64K count="$(($1 * 16))" seek="$2" oflag=direct \
		status=none
}

test_rates() {
	a_set
	# 3 MiB that lie nowhere: they go to the fast member
	during 4 write_mib 3 64
	json .name pair
	near "bytes written" "$(total .fast.write_bytes_per_second)" $((3 << 20))
	same "writes of the set" "$(jq .hits.writes.all "$TMP/out")" 48
	same "hits" "$(jq .hits.writes.fast "$TMP/out")" 48
	near "slow member" "$(total .slow.write_bytes_per_second)" 0
	during 3 dd if=/dev/mapper/pair of=/dev/null bs=64K count=32 skip=64 iflag=direct status=none
	near "bytes read" "$(total .fast.read_bytes_per_second)" $((2 << 20))
	at_least "reads" "$(total .fast.reads_per_second)" 32
	same "hits" "$(jq .hits.reads.fast "$TMP/out")" 32
	[[ $(jq .fast.read_ms "$TMP/out") != null ]] || fail "no latency"
	json .slow.read_ms null
	[[ $(jq '.hottest | length' "$TMP/out") -gt 0 ]] || fail "nothing is hot"
	json '.moves.waits_for | join(" ")' migration
}

test_moves() {
	a_set
	during 4 dmsetup message pair 0 demote 0-31 >/dev/null
	near "bytes demoted" "$(total .moves.demoted_bytes_per_second)" $((2 << 20))
	near "bytes written" "$(total .slow.write_bytes_per_second)" $((2 << 20))
	good fusionctl top pair --once --json
	same "after it" "$(total .moves.demoted_bytes_per_second)" 0
}

test_once() {
	a_set
	good fusionctl top --once 0.2
	same "rows" "$(wc -l <"$TMP/out")" 23
	[[ $(head -n 1 "$TMP/out") == "pair: "*" in extents of 64K, ok"*"every 0.2 s" ]] ||
		fail "first row: $(head -n 1 "$TMP/out")"
	grep -q "^MOVER   waits: migration is off" "$TMP/out" || fail "no reason"
	grep -q "^fast    ${FAST#/dev/} " "$TMP/out" || fail "no fast member"
	! grep -q $'\e' "$TMP/out" || fail "escape sequences"
	# all that it prints is about this set
	expect 1 "other: no such set is open; fusionctl list shows the open sets" \
		fusionctl top other --once
	good fusionctl close pair
	expect 1 "top: no set is open; see fusionctl list" fusionctl top --once
}

test_usage() {
	a_set
	expect 2 "top: needs a terminal; write fusionctl top --once" fusionctl top pair </dev/null
	expect 2 "--json: needs --once; write fusionctl top --once --json" fusionctl top --json
	for i in 0 0.01 3601 x 1e1; do
		expect 2 "$i: not an interval; give 0.1 to 3600 seconds" fusionctl top --once="$i"
	done
}

# some_files: a large one and small ones of different sizes in an ext4 on pair, all read
some_files() {
	local i
	mkfs.ext4 -q -b 4096 /dev/mapper/pair
	mkdir "$TMP/mnt"
	mount /dev/mapper/pair "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	dd if=/dev/urandom of="$TMP/mnt/large" bs=64K count=40 status=none
	for i in {1..9}; do
		dd if=/dev/urandom of="$TMP/mnt/small-$i" bs=4K count="$i" status=none
	done
	sync
	for i in {0..39}; do
		dd if="$TMP/mnt/large" of=/dev/null bs=4K count=1 skip=$((i * 16)) iflag=direct \
			status=none
	done
	for i in {1..9}; do
		dd if="$TMP/mnt/small-$i" of=/dev/null bs=4K iflag=direct status=none
	done
}

# The file that is named has most of the range, and so many files have any of it, as where says.
test_by_file() {
	local first last files path named=0
	a_set
	expect 2 "--by-file: needs --once; in a terminal, press f" fusionctl top pair --by-file
	expect 1 "pair: no file system on it is mounted; mount it and ask again" \
		fusionctl top pair --once 0.1 --by-file
	some_files
	good fusionctl top pair --once 0.2 --by-file --json
	jq -r '.hottest[] | select(.file) | "\(.first) \(.first + .count - 1) \(.files) \(.file)"' \
		"$TMP/out" >"$TMP/named"
	while read -r first last files path; do
		good fusionctl where pair --extents "$first-$last" --json
		json '.files | length' "$files"
		json '([.files[] | .fast_bytes + .slow_bytes] | max) == (.files[] |
			select(.path == "'"$path"'") | .fast_bytes + .slow_bytes)' true
		named=$((named + 1))
	done <"$TMP/named"
	at_least "hot ranges with files" "$named" 8
	grep -q " $TMP/mnt/large\$" "$TMP/named" || fail "the large file is not named"
	good fusionctl top pair --once 0.2 --by-file
	grep -q "FILES MOSTLY" "$TMP/out" || fail "no names for people"
	good fusionctl top pair --once 0.2 --json
	json '[.hottest[] | .file, .files] | unique | length' 1
}

# -- in a terminal -------------------------------------------------------------------------

# begin [NAME=VALUE]...: top in a pseudo terminal of 80x24; what it shows goes to $TMP/screen, its
# keys come from a pipe, and its exit status and the settings of the terminal go to files
begin() {
	[[ -e /lib/terminfo/x/xterm-256color || -e /usr/share/terminfo/x/xterm-256color ]] ||
		skip "needs terminfo"
	rm -f "$TMP/keys" "$TMP/status" "$TMP/pid" "$TMP/screen"
	mkfifo "$TMP/keys"
	cat >"$TMP/shell" <<-END
		stty rows 24 cols 80
		stty -g >$TMP/before
		env TERM=xterm-256color $* sh -c 'echo \$\$ >$TMP/pid; exec fusionctl top pair'
		echo \$? >$TMP/result
		stty -g >$TMP/after
		mv $TMP/result $TMP/status
	END
	script -qfc "sh $TMP/shell" -O "$TMP/screen" <"$TMP/keys" >/dev/null 2>&1 &
	JOBS+=($!)
	exec {KEYS}>"$TMP/keys"
	within 20 "it draws" grep -aq "every 1 s" "$TMP/screen"
}

# drawn TEXT: in a whole screen. ncurses draws only what has changed, and everything in a terminal
# of another size.
COLS=80
drawn() {
	local tty
	tty=$(readlink "/proc/$(<"$TMP/pid")/fd/0")
	COLS=$((COLS == 80 ? 90 : 80))
	: >"$TMP/screen"
	stty rows 24 cols "$COLS" <"$tty"
	sleep 0.3
	grep -aq -- "$1" "$TMP/screen"
}

# key KEY TEXT: after which the screen has TEXT
key() {
	printf %s "$1" >&"$KEYS"
	within 10 "$2 after key $1" drawn "$2"
}

quit() {
	printf q >&"$KEYS"
	ended 0
}

# ended STATUS: it ends, and leaves the terminal as it was
ended() {
	within 10 "it ends" test -e "$TMP/status"
	exec {KEYS}>&-
	same "exit status ($(grep -a "fusionctl: " "$TMP/screen" || :))" "$(<"$TMP/status")" "$1"
	same "terminal" "$(<"$TMP/after")" "$(<"$TMP/before")"
	# the last thing is the end of the other screen
	grep -aqF $'\e[?1049l' "$TMP/screen" || fail "the other screen stays"
}

test_keys() {
	a_set
	begin
	key "?" "latency of a read"
	key "?" "HOTTEST EXTENTS"
	key s "by maximum"
	key s "by place"
	key + "every 2 s"
	key - "every 1 s"
	key p PAUSED
	key p "every 1 s"
	! grep -aq PAUSED "$TMP/screen" || fail "still paused"
	# the only one
	key n "in extents of"
	quit
}

colored() {
	grep -aqE $'\e\\[([0-9]+;)*(3[0-7]|38;5;[0-9]+)m' "$TMP/screen"
}

# Colours only where they are wanted.
test_colors() {
	a_set
	begin
	colored || fail "no colours"
	quit
	begin NO_COLOR=1
	quit
	! colored || fail "colours in spite of NO_COLOR"
}

test_files_key() {
	local i j
	a_set
	begin
	key f "no file system on it is mounted; mount it and ask again"
	key f SECTORS
	some_files
	# hotter than all metadata, of which a small screen may be full
	for i in {1..8}; do
		for j in 0 8 16 24 32; do
			dd if="$TMP/mnt/large" of=/dev/null bs=64K count=1 skip=$j iflag=direct \
				status=none
		done
		sleep 0.4
	done
	key f "/mnt/large"
	key n "in extents of"
	quit
}

test_signals() {
	local signal
	a_set
	for signal in INT:130 TERM:143; do
		begin
		kill -"${signal%:*}" "$(<"$TMP/pid")"
		ended "${signal#*:}"
	done
}

test_resize() {
	local tty
	a_set
	begin
	tty=$(readlink "/proc/$(<"$TMP/pid")/fd/0")
	: >"$TMP/screen"
	stty rows 43 cols 132 <"$tty"
	# the keys are in the last row
	within 10 "it draws 43 rows" grep -aqE $'\e\\[43(;1)?[Hd]' "$TMP/screen"
	stty rows 2 cols 10 <"$tty"
	sleep 1.5
	drawn "HOTTEST EXTENTS" || fail "it does not draw again"
	quit
}

test_set_goes() {
	a_set
	begin
	good fusionctl close pair
	ended 1
	grep -aq "fusionctl: pair: not open any more, closed or renamed; see fusionctl list" \
		"$TMP/screen" || fail "no reason"
	same "lines about it" "$(grep -ac "fusionctl: " "$TMP/screen")" 1
}

# Another set has its name.
test_set_replaced() {
	a_set
	begin
	# nothing can be seen between these
	kill -STOP "$(<"$TMP/pid")"
	good fusionctl close pair
	good fusionctl create pair "$FAST" "$SLOW" --yes --force --extent-size 64K
	kill -CONT "$(<"$TMP/pid")"
	ended 1
	grep -aq "fusionctl: pair: another set has this name now; start top again" "$TMP/screen" ||
		fail "no reason"
}

# failed: is the set in mode fail?
failed() {
	[[ $(status pair mode) == fail ]]
}

# Another machine has taken the set, so the kernel refuses messages, and logs each.
test_failed() {
	a_set
	linear fast-there "$FAST" 0 "$(sectors_of "$FAST")"
	linear slow-there "$SLOW" 0 "$(sectors_of "$SLOW")"
	dm there "0 $(sectors_of /dev/mapper/pair) fusion /dev/mapper/fast-there \
/dev/mapper/slow-there 4 host 22222222222222222222222222222222 takeover on"
	within 30 "the set fails" failed
	mark
	good fusionctl top pair --once 0.2
	grep -q "mode fail" "$TMP/out" || fail "first row: $(head -n 1 "$TMP/out")"
	same "lines in the kernel log" "$(log | grep -c "message:" || :)" 0
}

# The slow member is not read or written by a look.
test_asleep() {
	local before
	a_set
	good fusionctl checkpoint pair
	sleep 3
	before=$(cat "/sys/block/${SLOW#/dev/}/stat")
	good fusionctl top pair --once 3
	same "I/O of the slow member" "$(cat "/sys/block/${SLOW#/dev/}/stat")" "$before"
}

run_tests
