#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the verbs that look show of a landing log.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"
# shellcheck source=lib/landing-tool.sh
. "$here/lib/landing-tool.sh"

# The rate into the log, and out of it.
test_top() {
	local pid i
	landing_set 12M
	scatter 2
	fusionctl top land --once 6 --json >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	sleep 1
	for i in 0 300 600; do
		put_direct /dev/mapper/land 3 $((i * 4096)) 4096
	done
	wait "$pid"
	json '.landing_log | .bytes, .logged_bytes, .writes_waiting, .state' \
		$'12582912\n86016\n0\nok'
	json '.seconds * .landing_log.landed_bytes_per_second / 4096 | round' 3
	json '.landing_log.drained_bytes_per_second' 0
	at_least "room in use" "$(jq .landing_log.used_bytes "$TMP/out")" 262144
	good fusionctl top land --once 0.2
	same "rows" "$(wc -l <"$TMP/out")" 23
	grep -qE "^LOG     [#-]{8} [0-9]+% of 12M, [0-9]*K in it; in 0B/s; out 0B/s$" "$TMP/out" ||
		fail "its row: $(grep ^LOG "$TMP/out")"
	good fusionctl drain land
	good fusionctl top land --once 0.2 --json
	json .landing_log.logged_bytes 0
}

# Cells with blocks that are in the log, and the slots of the log.
test_map() {
	local cells
	landing_set 12M
	scatter 2
	good fusionctl map land --json
	json '.landing_log | .bytes, .logged_bytes, .used_bytes > 0' $'12582912\n81920\ntrue'
	json '[.cells[].logged_bytes] | add' 81920
	# block 0, and block 200 of the extents of 64 blocks
	json '.cells | map(select(.first <= 3)) | map(.logged_bytes) | add' 8192
	cells=$(jq '[.cells[] | select(.logged_bytes > 0)] | length' "$TMP/out")
	good fusionctl map land
	same "marks" "$(grep -v : "$TMP/out" | tr -cd '^' | wc -c)" "$cells"
	grep -qE '^ {4}log L+\.+$' "$TMP/out" || fail "no slots of the log"
	shows "80K in "
	shows "^: blocks of it are in the landing log"
	COLORTERM=256 good fusionctl map land --color always
	shows $'\033[38;5;77m'
	good fusionctl map land --svg "$TMP/map.svg"
	well_formed "$TMP/map.svg"
	same "green lines" "$(grep -c 'height="2" fill="#6cc04a"' "$TMP/map.svg")" "$cells"
	grep -q "; 4K in the landing log</title>" "$TMP/map.svg" || fail "no block in a cell"
	grep -q ">landing log: 80K in .* of 12M; " "$TMP/map.svg" || fail "no log"
	good fusionctl drain land
	good fusionctl map land
	same "marks" "$(grep -v : "$TMP/out" | tr -cd '^' | wc -c)" 0
}

# An extent says how many of its blocks are read elsewhere than it lies.
test_explain() {
	landing_set 12M
	put_direct /dev/mapper/land 2 $((5 << 18)) 4096
	put_direct /dev/mapper/land 2 $(((5 << 18) + 65536)) 4096
	good fusionctl explain land 5 --json
	json '.extents[0] | .member, .blocks, .logged_blocks' $'slow\n64\n2'
	good fusionctl explain land 4-5
	same "extents with blocks in the log" "$(grep -c "^  log  " "$TMP/out")" 1
	shows "  log         2 of 64 blocks are newer in the landing log: these are read from the \
fast member until they are drained"
	good fusionctl drain land
	good fusionctl explain land 5 --json
	json '.extents[0].logged_blocks' 0
}

# found TEXT: doctor has this finding about the set
found() {
	fusionctl doctor --json >"$TMP/out" 2>"$TMP/err" || :
	jq -e --arg text "$1" '[.findings[] | select(.subject == "set land" and .text == $text)] |
		length == 1' "$TMP/out" >/dev/null || fail "not found: $1: $(<"$TMP/out")"
}

no_list="its slow member has no list of the blocks that are newer in the log: if the fast member is \
lost, nothing tells which ones are outdated"

# A set that was made without a log has no list; one that was made with it is well.
test_doctor() {
	landing_set 12M
	scatter 2
	found "is open and healthy"
	! grep -q "landing log\|no list" "$TMP/out" || fail "found: $(<"$TMP/out")"
	good fusionctl close land
	found "is closed, both members are present"
	! grep -q "landing log\|no list" "$TMP/out" || fail "found: $(<"$TMP/out")"
	good fusionctl wipe land --yes
	good fusionctl create land --fast "$FAST" --slow "$SLOW" --yes --extent-size 256K
	good fusionctl shrink land --landing 12M --yes
	good fusionctl close land
	good fusionctl landing land 12M
	found "$no_list"
	good fusionctl open land
	found "$no_list"
}

# The list on the slow member, as the last closing left it.
test_dump() {
	landing_set 12M
	scatter 2
	# next to block 200, and in another extent than its neighbour
	put_direct /dev/mapper/land 2 $((201 * 4096)) 4096
	put_direct /dev/mapper/land 2 $((127 * 4096)) 8192
	good fusionctl close land
	good fusionctl dump land
	json '.landing.stale_list | .slots, .found, .whole, .complete, .blocks' \
		$'48\ntrue\ntrue\ntrue\n23'
	json '[.landing.stale_list.runs[].blocks] | add' 23
	json '[.landing.stale_list.runs[] | select(.extent < 4) | [.extent, .block, .blocks]] |
		@json' '[[0,0,1],[1,63,1],[2,0,1],[3,8,2]]'
	good fusionctl open land
	good fusionctl drain land
	good fusionctl close land
	good fusionctl dump land
	json '.landing.stale_list | .complete, .blocks, (.runs | length)' $'true\n0\n0'
}

# Of a file, the blocks that are in the log; of the rest of their extent, nothing.
test_where() {
	local file=$TMP/mnt/file
	need mkfs.ext4
	landing_set 12M
	mkfs.ext4 -qF -b 4096 /dev/mapper/land
	mkdir "$TMP/mnt"
	mount /dev/mapper/land "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	head -c 4M /dev/urandom >"$file"
	head -c 4M /dev/urandom >"$TMP/mnt/other"
	sync
	good fusionctl demote land 0-$(($(status land extents) - 1))
	good fusionctl drain land
	good fusionctl where "$TMP/mnt/other" "$file" --json
	json '[.files[].slow_bytes] | add' $((8 << 20))
	json '[.files[].logged_bytes] | add' 0
	for i in 3 4 600; do
		dd if=/dev/urandom of="$file" bs=4K seek="$i" count=1 conv=notrunc oflag=direct \
			status=none
	done
	good fusionctl where "$TMP/mnt/other" "$file" --json
	json '.files[] | .logged_bytes, .slow_bytes' $'0\n4194304\n12288\n4194304'
	good fusionctl where "$file"
	grep -qE "^FILE .* HEAT  *IN LOG$" "$TMP/out" || fail "heading: $(head -n 1 "$TMP/out")"
	grep -qE " 12K$" "$TMP/out" || fail "row: $(tail -n 1 "$TMP/out")"
	good fusionctl where "$TMP/mnt/other"
	! grep -q "IN LOG" "$TMP/out" || fail "a column without anything in it"
}

test_list() {
	landing_set 12M
	good fusionctl list --json
	json '.sets[0].landing_bytes' $((12 << 20))
	good fusionctl close land
	good fusionctl list --json
	json '.sets[0].landing_bytes' $((12 << 20))
}

# The log of a set that is named, another one, and none; and what is left for extents.
test_predictions() {
	landing_set 12M
	good fusionctl simulate land --load uniform,read=0 --duration 5s --json
	json '.landing_log | .bytes, .writes > 0, .drained_bytes > 0' $'12582912\ntrue\ntrue'
	json '.usable_slots < .fast_slots - 48' true
	good fusionctl simulate land --load uniform,read=0 --duration 5s
	grep -qE "^log  +12M: [0-9.]+% of all I/Os were writes that got into it" "$TMP/out" ||
		fail "no line: $(<"$TMP/out")"
	good fusionctl simulate land --landing 4M --load uniform --duration 5s --json
	json '.landing_log.bytes' $((4 << 20))
	good fusionctl simulate land --landing 0 --load uniform --duration 5s --json
	json '.landing_log' null
	expect 2 "1K: is too small for a landing log; choose at least 1M, or 0 for none" \
		fusionctl simulate land --landing 1K --load uniform
	heat land 0 4 2
	good fusionctl whatif land --json
	json '.usable_slots <= .fast_slots - 48' true
}

test_without() {
	a_set
	good fusionctl list --json
	json '.sets[0].landing_bytes' 0
	good fusionctl explain pair 0 --json
	json '.extents[0].logged_blocks' null
	good fusionctl map pair
	! grep -q 'landing log' "$TMP/out" || fail "something about a log"
	good fusionctl map pair --json
	json '[.landing_log, ([.cells[].logged_bytes] | add)] | @csv' ,0
	good fusionctl top pair --once 0.2
	! grep -q ^LOG "$TMP/out" || fail "a row about a log"
	good fusionctl top pair --once 0.2 --json
	json .landing_log null
}

run_tests
