#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl monitor reports each change of a set once; Prometheus can read its metrics.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/smart.sh
. "$here/lib/smart.sh"

STATE=/run/fusion/monitor.json

# begin: a set whose members can fail, and that monitor has not seen yet
begin() {
	rm -f $STATE
	linked 64 128
	opened data --extent-size 1M
}

# tells TEXT...: monitor prints a line for each of these, and no other
tells() {
	good fusionctl monitor
	same "what it says" "$(<"$TMP/out")" "$(printf '%s\n' "$@" | sed '/^$/d')"
}

test_changes() {
	local failed="data: has switched to read-only after an error"
	begin
	tells "ok       data: is open"
	tells ""
	dmsetup suspend data
	tells "warning  data: degraded: is suspended, all I/O waits; dmsetup resume it"
	tells ""
	dmsetup resume data
	tells "ok       data: resolved: is suspended, all I/O waits"
	fast_fails data
	good fusionctl monitor
	has "error" "$(<"$TMP/out")" "error    ${failed/data:/data: failed:}; see dmesg"
	tells ""
	close_fails data
	tells "ok       data: is closed"
	tells ""
}

reading_fails() {
	if dd if="$SET" of=/dev/null bs=4k count=1 iflag=direct status=none 2>/dev/null; then
		fail "a bad sector can be read"
	fi
}

# A member fails I/O of users, but not of the metadata.
test_errors() {
	local slot line i=0 text="the fast member has failed I/O since the set was opened; see dmesg and smartctl"
	begin
	good fusionctl set data migration=off
	dd if=/dev/zero of="$SET" bs=1M count=1 oflag=direct conv=fsync status=none
	tells "ok       data: is open"
	read -r _ _ _ slot _ < <(msg data map 0 1)
	bad_sectors fast $(($(sb fast_data_start) + slot * 2048)) 8
	reading_fails
	good fusionctl monitor
	has "warning" "$(<"$TMP/out")" "warning  data: degraded: $text"
	same "lines" "$(wc -l <"$TMP/out")" 1
	tells ""
	reading_fails
	reading_fails
	tells "warning  data: the fast member has failed 2 more I/Os"
	good fusionctl monitor --prometheus "$TMP/prom"
	has "metrics" "$(<"$TMP/prom")" 'fusion_errors_total{set="data",member="fast"} 3'
	has "metrics" "$(<"$TMP/prom")" 'fusion_errors_total{set="data",member="slow"} 0'
	line=$(fusionctl status --check) || i=$?
	same "exit status" "$i" 1
	has "line" "$line" "FUSION WARNING - data: $text"
	has "data" "$line" "'data_errors_fast'=3c"
	has "metrics" "$(<"$TMP/prom")" 'fusion_health_state{set="data",state="degraded"} 1'
	has "metrics" "$(<"$TMP/prom")" 'fusion_health_state{set="data",state="ok"} 0'
}

# Lines begin with the level that the systemd journal expects.
test_journal() {
	begin
	: >"$TMP/out"
	JOURNAL_STREAM=$(stat -c %d:%i "$TMP/out") good fusionctl monitor
	same "line" "$(<"$TMP/out")" "<6>data: is open"
	dmsetup suspend data
	JOURNAL_STREAM=$(stat -c %d:%i "$TMP/out") good fusionctl monitor
	same "line" "$(<"$TMP/out")" "<4>data: degraded: is suspended, all I/O waits; dmsetup resume it"
	# lines that a service passes on to another stream have none
	dmsetup resume data
	JOURNAL_STREAM=1:2 good fusionctl monitor
	same "line" "$(<"$TMP/out")" "ok       data: resolved: is suspended, all I/O waits"
}

# The content of the state file is not trusted.
test_state_is_not_believed() {
	local text
	begin
	good fusionctl monitor
	for text in '' '[]' '7' '{"x":1}' '{"x":{"findings":[null],"name":"y"}}' '{"x":{"findings":{}}}' \
		'{"x":{"findings":[],"name":null}}' '{"x":{"findings":[],"name":"y","look":9999999999}}'
	do
		echo "$text" >$STATE
		tells "ok       data: is open"
	done
}

# Creating and opening a set may take its time; of two runs of monitor the second waits for the
# first.
test_locks() {
	begin
	exec {lock}>/run/fusion/lock
	flock "$lock"
	limited 10 fusionctl monitor >"$TMP/out" || fail "it waits for assembly"
	same "what it says" "$(<"$TMP/out")" "ok       data: is open"
	exec {lock}>/run/fusion/monitor.lock
	flock "$lock"
	! timeout 2 fusionctl monitor || fail "it does not wait for another look"
}

# An event is reported at once, whenever the next look is due.
test_follow() {
	local pid
	begin
	fusionctl monitor --follow 3000 >"$TMP/follow" &
	pid=$!
	JOBS+=("$pid")
	within 10 "first look" grep -q "ok       data: is open" "$TMP/follow"
	fast_fails data
	within 5 "mode ro is told of" \
		grep -q "error    data: failed: has switched to read-only" "$TMP/follow"
	close_fails data
	within 5 "closing is told of" grep -q "ok       data: is closed" "$TMP/follow"
	kill "$pid"
	expect 2 "0: not an interval; give 1 to 86400 seconds" fusionctl monitor --follow 0
}

# age KEY SECONDS: make this state older by so much
age() {
	jq -c "map_values(.look -= $2 | .time -= $2 | $1)" $STATE >$STATE.old
	mv $STATE.old $STATE
}

has_reserve() {
	[[ $(status data reserve_free) -gt 0 ]]
}

test_reserve_is_exhausted() {
	begin
	good fusionctl set data migration=off
	good fusionctl monitor
	# first writes go to the fast member while that has room, and then into the reserve
	dd if=/dev/zero of="$SET" bs=1M count=80 oflag=direct conv=fsync status=none
	same "reserve" "$(status data reserve_free)" 0
	tells ""
	age '.exhausted -= 500' 500
	tells ""
	age '.exhausted -= 200' 200
	good fusionctl monitor
	has "warning" "$(<"$TMP/out")" "warning  data: there has been no reserve for 11 min"
	tells ""
	blkdiscard -o 0 -l 16M "$SET"
	within 10 "reserve" has_reserve
	tells "ok       data: the reserve has room again"
}

# Extents are promoted and demoted, and the hits do not improve.
test_exchanges_in_vain() {
	local i
	begin
	good fusionctl set data migration=off
	dd if=/dev/zero of="$SET" bs=1M count=70 oflag=direct conv=fsync status=none
	good fusionctl monitor
	for ((i = 0; i < 5; i++)); do
		good fusionctl demote data 0-9
		good fusionctl promote data 0-9
		dd if="$SET" of=/dev/null bs=1M count=70 iflag=direct status=none
		age . 400
		good fusionctl monitor
		cat "$TMP/out" >>"$TMP/all"
	done
	same "warnings" "$(grep -c "warning  data: 10 extents were exchanged in 6 min" "$TMP/all")" 1
	# and none if the moves help
	opened_again
	: >"$TMP/all"
	for ((i = 0; i < 5; i++)); do
		good fusionctl demote data 0-9
		good fusionctl promote data 0-9
		dd if="$SET" of=/dev/null bs=64k count=$((100 + i * 50)) iflag=direct status=none
		age '.share = 0' 400
		good fusionctl monitor
		cat "$TMP/out" >>"$TMP/all"
	done
	same "warnings" "$(cat "$TMP/all")" ""
}

opened_again() {
	good fusionctl close data
	rm $STATE
	good fusionctl open data "$FAST" "$SLOW"
	good fusionctl set data migration=off
	good fusionctl monitor
}

# The text format: comments, then lines of a name, labels and a number, each name in one group.
valid_metrics() {
	local label='[a-z]+="([^"\\]|\\.)*"' number='[0-9]+(\.[0-9]+)?'
	line="^[a-z_]+[{]$label(,$label)*[}] $number\$" awk '
		/^# TYPE / { type[$3] = $4; if (seen[$3]++) bad("twice") }
		/^# (HELP|TYPE) / { group = $3; next }
		$0 !~ ENVIRON["line"] { bad("form") }
		{ name = $1; sub(/\{.*/, "", name); if (!(name in type)) bad("no type") }
		(name ~ /_total$/) != (type[name] == "counter") { bad("type") }
		name != group { bad("not with its group") }
		values[$1]++ { bad("same labels") }
		END { exit failed || !NR }
		function bad(what) { print what ": " $0; failed = 1 }' "$1" || fail "metrics"
	! command -v promtool >/dev/null || promtool check metrics <"$1" || fail "promtool"
}

test_metrics() {
	local file=$TMP/fusion.prom
	begin
	good fusionctl monitor --prometheus "$file"
	valid_metrics "$file"
	same "mode" "$(stat -c %a "$file")" 644
	has "metrics" "$(<"$file")" 'fusion_mode{set="data",mode="rw"} 1'
	dd if=/dev/zero of="$SET" bs=1M count=3 oflag=direct conv=fsync status=none
	good fusionctl monitor --prometheus "$file"
	has "metrics" "$(<"$file")" 'fusion_used_bytes{set="data",member="fast"} 3145728'
	same "what else is there" "$(echo "$TMP"/fusion.prom*)" "$file"
	good fusionctl monitor --prometheus -
	valid_metrics "$TMP/out"
	expect 1 "/dev/null: not a regular file, and would be replaced by one; choose another \
file, or - for standard output" fusionctl monitor --prometheus /dev/null
	[[ -c /dev/null ]]
	# the change was reported, although the metrics could not be written
	good fusionctl close data
	rm -f $STATE
	good fusionctl open data "$FAST" "$SLOW"
	fusionctl monitor --prometheus /nowhere/x >/dev/null 2>&1 || :
	tells ""
	expect 1 "/nowhere/x: No such file or directory; choose another file" \
		fusionctl monitor --prometheus /nowhere/x
}

# The drives' own numbers; they are not asked for them again.
test_drive_metrics() {
	local file=$TMP/fusion.prom
	begin
	answers /dev/fast=nvme /dev/slow=asleep
	good fusionctl monitor
	good fusionctl monitor --prometheus "$file"
	valid_metrics "$file"
	sed -n '/^fusion_drive/s/^/# /p' "$file"
	has "metrics" "$(<"$file")" 'fusion_drive_temperature_celsius{set="data",member="fast",'
	has "metrics" "$(grep ^fusion_drive_wear_used_ratio "$file")" '} 0.03'
	has "metrics" "$(grep '^fusion_drive_state.*member="slow"' "$file")" 'state="asleep"} 1'
	same "numbers of the slow one" "$(grep -c '^fusion_drive_t.*member="slow"' "$file" || :)" 0
	same "asked" "$(wc -l <"$TMP/asked")" 2
	same "asked without -n standby" "$(grep -vc -e '-n standby' "$TMP/asked" || :)" 0
}

run_tests
