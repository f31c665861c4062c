#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl report: its numbers are those of the other verbs, its page is one that a parser of XML
# takes, and a file that exists stays as it is.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

# page FILE: it is well-formed, and loads nothing
page() {
	need python3
	python3 "$here/../unit/check-page.py" <"$1" >"$TMP/wrong" 2>&1 ||
		fail "page: $(<"$TMP/wrong")"
}

# page_has TEXT
page_has() {
	grep -qF -- "$1" "$TMP/page.html" || fail "the page lacks: $1"
}

test_numbers() {
	local verb
	local -A of=([status]='.sets[0]' [report]=.status)
	a_set
	dd if=/dev/mapper/pair of=/dev/null bs=64K count=16 iflag=direct status=none
	good fusionctl report pair --over 1 --json
	mv "$TMP/out" "$TMP/report"
	good fusionctl status pair --json
	mv "$TMP/out" "$TMP/status"
	# what changes by itself
	for verb in status report; do
		jq -S "${of[$verb]} | del(.commits, .checkpoints, .journal_used, .protected.as_of,
			.replica_age, .replica_dirty, .slow_flushes)" "$TMP/$verb" \
			>"$TMP/$verb.sorted"
	done
	cmp -s "$TMP/status.sorted" "$TMP/report.sorted" ||
		fail "status: $(diff "$TMP/status.sorted" "$TMP/report.sorted")"
	good fusionctl set pair --json
	same "settings" "$(jq -c .settings "$TMP/report")" "$(jq -c .settings "$TMP/out")"
	# which warns if there is no smartctl here
	fusionctl members pair --json >"$TMP/out" 2>/dev/null || fail "members: status $?"
	same "members" "$(jq -c '[.members.members[] | .role, .device, .bytes]' "$TMP/report")" \
		"$(jq -c '[.members[] | .role, .device, .bytes]' "$TMP/out")"
	same "extents" "$(jq '[.map.cells[].count] | add' "$TMP/report")" \
		"$(jq .status.extents "$TMP/report")"
	at_most "cells" "$(jq '.map.cells | length' "$TMP/report")" 480
	same "host" "$(jq -r .host "$TMP/report")" "$(uname -n)"
}

# What happens while it watches is in the history, look by look.
test_history() {
	local pid reads nr=0
	a_set
	fusionctl report pair --over 4 --json >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		dd if=/dev/mapper/pair of=/dev/null bs=64K count=1 iflag=direct status=none
		nr=$((nr + 1))
		sleep 0.1
	done
	wait "$pid" || fail "report: status $?: $(<"$TMP/err")"
	json '.history | length' 4
	reads=$(jq '[.history[].reads.all] | add' "$TMP/out")
	at_least "reads" "$reads" 1
	at_most "reads" "$reads" "$nr"
	same "hits" "$(jq '[.history[].reads.fast] | add' "$TMP/out")" "$reads"
	json '.top.hits.reads.all' "$reads"
	at_least "seconds" "$(jq '.top.seconds | round' "$TMP/out")" 4
}

test_page() {
	a_set
	good fusionctl report pair --over 1 --html "$TMP/page.html"
	same "output" "$(<"$TMP/out")" ""
	page "$TMP/page.html"
	page_has "<h1>pair</h1>"
	page_has "on $(uname -n): read-write, in extents of 64K"
	page_has "migration is off"
	page_has "Fast member: $FAST"
	sum=$(md5sum <"$TMP/page.html")
	expect 1 "$TMP/page.html: File exists; choose another file" \
		fusionctl report pair --over 1 --html "$TMP/page.html"
	same "page that was there" "$(md5sum <"$TMP/page.html")" "$sum"
	good fusionctl report pair --over 1 --html -
	page "$TMP/out"
	good fusionctl report pair --over 1 --html "$TMP/second.html" --json
	json .name pair
	page "$TMP/second.html"
}

test_anonymous() {
	local uuid
	a_set
	uuid=$(dmsetup info -c --noheadings -o uuid pair)
	good fusionctl report pair --over 1 --anonymous --json
	json .anonymous true
	json .host null
	json .status.host_id null
	! grep -q "${uuid#FUSION-}" "$TMP/out" || fail "the uuid is there"
	good fusionctl report pair --over 1 --anonymous --html "$TMP/page.html"
	page "$TMP/page.html"
	page_has "Serial numbers, uuids and the host are left out."
}

test_trouble() {
	linked 16 32
	opened data --extent-size 64K
	dd if=/dev/zero of="$SET" bs=1M count=8 oflag=direct conv=fsync status=none
	dmsetup suspend data
	good fusionctl report data --over 1 --html "$TMP/page.html"
	page "$TMP/page.html"
	page_has "is suspended, all I/O waits"
	dmsetup resume data
	rm "$TMP/page.html"
	gone fast
	dd if=/dev/zero of="$SET" bs=64k count=1 oflag=direct conv=fsync status=none 2>/dev/null || :
	good fusionctl report data --over 1 --html "$TMP/page.html"
	page "$TMP/page.html"
	page_has "<strong>Fault</strong>"
}

test_refusals() {
	a_set
	expect 2 "report: has nowhere to write; add --html FILE or --json" fusionctl report pair
	for i in 0 3601 x 1.5; do
		expect 2 "$i: not a time to watch; give 1 to 3600 seconds" \
			fusionctl report pair --json --over "$i"
	done
	expect 2 "--html: cannot share standard output with --json; give a file" \
		fusionctl report pair --json --html -
	expect 1 "/nosuch/page.html: No such file or directory; choose another file" \
		fusionctl report pair --html /nosuch/page.html
	expect 1 "other: no such set is open; fusionctl list shows the open sets" \
		fusionctl report other --html "$TMP/page.html"
	good fusionctl close pair
	rc=0
	fusionctl report pair --html "$TMP/page.html" >"$TMP/out" 2>"$TMP/err" || rc=$?
	same "exit code for a closed set" $rc 1
	same "lines" "$(wc -l <"$TMP/err")" 1
	has "remedy" "$(<"$TMP/err")" "fusionctl open"
	[[ ! -e $TMP/page.html ]] || fail "a file is left"
}

run_tests
