#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The output of fusionctl: output that cannot be written, files that are opened before the work, the
# report of a dry run, warnings before a question, cells of the map.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# a_set: two sets, pair open and shut closed, whose members are in CLOSED
a_set() {
	members 64 256
	good fusionctl create pair --fast "$FAST" --slow "$SLOW" --yes
	defer dm_remove pair
	null fast2 64
	null slow2 256
	CLOSED="/dev/fast2 /dev/slow2"
	good fusionctl format shut --fast /dev/fast2 --slow /dev/slow2 --yes
}

# calls: one call of each verb that prints something, a line each
calls() {
	cat <<-EOF
	help
	help simulate
	create other --fast $TMP/x --slow $TMP/y --help
	format other $CLOSED --dry-run --force
	open shut --json
	close shut --json
	assemble --scan --json
	close shut --json
	probe ${CLOSED% *}
	probe ${CLOSED% *} --json
	probe ${CLOSED% *} --udev
	list
	list --json
	status
	status pair --json
	status pair --check
	status pair --watch 0.1
	status pair --watch 0.1 --json
	set pair
	set pair --json
	set shut duty=30%
	promote pair 0
	demote pair 0 --json
	checkpoint pair --json
	map pair
	map pair --json
	map pair --svg -
	check shut
	check shut --json
	repair shut --dry-run
	repair shut --dry-run --json
	dump shut
	restore $TMP/dump $CLOSED --dry-run
	salvage ${CLOSED#* }
	salvage ${CLOSED#* } --json
	wipe shut --dry-run
	wipe shut --dry-run --json
	simulate --fast 128M --slow 1G --load uniform --duration 10s
	simulate --fast 128M --slow 1G --load uniform --duration 10s --json
	simulate --fast 128M --slow 1G --load uniform --duration 10s --svg -
	monitor --json
	monitor --prometheus -
	doctor
	doctor --json
	complete -- sta
	version
	version --json
	EOF
}

# code OF_VERB: the exit status if the output could not be written
code() {
	case $1 in
	"check "* | repair* | doctor*)	echo 8 ;;
	*--check)			echo 3 ;;
	*)				echo 1 ;;
	esac
}

# All output must arrive; otherwise the exit status says so, and one line gives the reason.
long_lost_output() {
	local call rc err want
	a_set
	[[ -c /dev/full ]] || mknod /dev/full c 1 7
	good fusionctl dump shut -o "$TMP/dump"
	while read -r call; do
		for want in "No space left on device" "Bad file descriptor"; do
			rm -rf /run/fusion/monitor.json
			[[ $call != "close shut"* ]] || fusionctl open shut 2>/dev/null || :
			[[ $call != open* && $call != assemble* ]] || fusionctl close shut 2>/dev/null || :
			# an older dump would be refused
			[[ $call != restore* ]] || { rm "$TMP/dump" && good fusionctl dump shut -o "$TMP/dump"; }
			rc=0
			if [[ $want == No* ]]; then
				# shellcheck disable=SC2086 # words
				err=$(limited 20 fusionctl $call 2>&1 >/dev/full </dev/null) || rc=$?
			else
				# shellcheck disable=SC2086
				err=$(limited 20 fusionctl $call 2>&1 >&- </dev/null) || rc=$?
			fi
			# it may report errors of its own, but never that all is well
			[[ $call == doctor* && ( $rc -eq 1 || $rc -eq 4 ) ]] ||
				same "exit code of '$call' ($err)" "$rc" "$(code "$call")"
			same "'$call'" "$(tail -n 1 <<<"$err")" \
				"fusionctl: standard output: cannot write: $want; redirect it elsewhere"
		done
	done < <(calls)
}

# Otherwise the output would go to the device that is opened next.
test_closed_streams() {
	local before call
	a_set
	before=$(sha256sum /dev/fast2 /dev/slow2)
	for call in "check shut" "repair shut --dry-run" "dump shut" "salvage /dev/slow2" \
		    "wipe shut --dry-run" "list" "probe /dev/fast2" "set shut" "set pair" "map pair"; do
		# shellcheck disable=SC2086 # words
		fusionctl $call <&- >&- 2>&- || :
		# shellcheck disable=SC2086
		fusionctl $call >&- 2>/dev/null || :
	done
	same "members" "$(sha256sum /dev/fast2 /dev/slow2)" "$before"
	# a verb without output needs no standard output
	fusionctl open shut >&-
	fusionctl close shut >&-
	fusionctl wipe shut --yes >/dev/null
}

# An unwritable place is reported before anything else, and existing content stays.
test_outputs_first() {
	local call start
	a_set
	need busybox
	start=$SECONDS
	expect 1 "/nosuch/x: No such file or directory; choose another file" \
		fusionctl simulate --fast 1T --slow 16T --load zipf:1.0 --duration 60d --svg /nosuch/x
	at_most "seconds" $((SECONDS - start)) $((5 * SLOWNESS))
	for call in "map nosuch --svg" "whatif nosuch --svg" "dump nosuch -o"; do
		# shellcheck disable=SC2086 # words
		expect 1 "/nosuch/x: No such file or directory; choose another file" \
			fusionctl $call /nosuch/x
		# a failed attempt leaves nothing behind
		# shellcheck disable=SC2086
		fusionctl $call "$TMP/new" 2>/dev/null && fail "$call: worked"
		[[ ! -e $TMP/new ]] || fail "$call: left a file"
	done
	echo precious >"$TMP/old"
	for call in "map nosuch" "whatif nosuch" "whatif pair"; do
		# shellcheck disable=SC2086
		fusionctl $call --svg "$TMP/old" 2>/dev/null && fail "$call: worked"
		same "$call" "$(<"$TMP/old")" precious
	done
	printf '%0100000d' 0 >"$TMP/old"
	good fusionctl map pair --svg "$TMP/old"
	same "end" "$(tail -n 1 "$TMP/old")" "</svg>"
	good fusionctl dump shut -o "$TMP/dump"
	same "mode" "$(stat -c %a "$TMP/dump")" 600
	jq -e .map "$TMP/dump" >/dev/null
	expect 1 "$TMP/dump: File exists; choose another file" fusionctl dump nosuch -o "$TMP/dump"
	expect 2 "--svg: cannot share standard output with --json; give a file" \
		fusionctl map pair --json --svg -
}

# A dry run says what would be done.
test_dry_run() {
	null fast 64
	null slow 256
	good fusionctl format data --fast /dev/fast --slow /dev/slow --dry-run
	shows "would erase both and make the set data of them, 31"
	shows " extents of 1M"
	same "what is printed" "$(grep -c 'would open' "$TMP/out" || :)" 0
	good fusionctl create data --fast /dev/fast --slow /dev/slow --dry-run
	shows "would open it as /dev/mapper/data"
	good fusionctl format data --fast /dev/fast --slow /dev/slow --yes
	same "what is printed" "$(grep -c would "$TMP/out" || :)" 0
	shows "data: 31"
	good fusionctl wipe data --dry-run
	shows "would wipe both; all data on the set would be lost"
	good fusionctl wipe /dev/slow --dry-run
	shows "would wipe it; all data on the set would be lost"
	good fusionctl wipe data --yes
	same "what is printed" "$(grep -c would "$TMP/out" || :)" 0
}

# doubts OF JSON FAST SLOW: the warnings
doubts() {
	expect 0 "data: $1; check which devices are meant" \
		fusionctl create data --fast "$3" --slow "$4" --dry-run
	good fusionctl create data --fast "$3" --slow "$4" --dry-run --json
	same "warnings" "$(jq -c .warnings "$TMP/out")" "$2"
}

# Members that look swapped, or are on one disk, cause a warning, not a refusal.
test_doubts() {
	local disk first
	null big 256
	null small 64
	good fusionctl create data --fast /dev/small --slow /dev/big --dry-run --json
	same "warnings" "$(jq -c .warnings "$TMP/out")" "[]"
	good fusionctl create data --fast /dev/small --slow /dev/big --dry-run
	doubts "the fast member (256M) is larger than the slow one (64M)" '["fast_larger"]' \
		/dev/big /dev/small
	echo 1 >/sys/block/small/queue/rotational
	doubts "the fast member /dev/small is a rotational disk" '["fast_rotational"]' \
		/dev/small /dev/big
	echo 1 >/sys/block/big/queue/rotational
	doubts "the fast member /dev/big is a rotational disk, the fast member (256M) is larger than \
the slow one (64M)" '["fast_rotational","fast_larger"]' /dev/big /dev/small
	# before the question, where it is of use
	if command -v script >/dev/null; then
		script -qec "fusionctl create data --fast /dev/big --slow /dev/small" /dev/null \
			<<<no >"$TMP/out" 2>&1 || :
		first=$(grep -n "check which devices are meant" "$TMP/out" | cut -d : -f 1)
		at_least "line of the question" \
			"$(grep -n "type yes" "$TMP/out" | cut -d : -f 1)" $((first + 1))
	fi
	# both on one disk: as partitions, and below mappings
	need sfdisk
	loop $((400 << 20))
	disk=$REPLY
	first=$(losetup -nO BACK-FILE "$disk")
	printf 'label: gpt\n2048,96M,\n,256M,\n' | sfdisk -q "$first"
	losetup -d "$disk"
	losetup -P "$disk" "$first"
	within 10 "${disk}p2" test -b "${disk}p2"
	doubts "both members are on one disk, $disk" '["one_disk"]' "${disk}p1" "${disk}p2"
	need_module dm-mod
	linear under "${disk}p1" 0 "$(sectors_of "${disk}p1")"
	doubts "both members are on one disk, $disk" '["one_disk"]' /dev/mapper/under "${disk}p2"
}

# Cells are of one size, which the legend gives, except for the last if the sizes do not match.
test_cells() {
	local n width each most
	null fast 64
	null slow 300
	good fusionctl create data --fast /dev/fast --slow /dev/slow --extent-size 256K --yes
	defer dm_remove data
	good fusionctl map data --json
	n=$(jq .extents "$TMP/out")
	for width in 1 7 40 80 96; do
		most=$((16 * width))
		each=$(((n + most - 1) / most))
		good fusionctl map data --width $width --json
		json '[.cells[].count] | add' "$n"
		json '.cells | length' $(((n + each - 1) / each))
		json '[.cells[].count] | max' $each
		jq -r '[.cells[].count] | min' "$TMP/out" >"$TMP/min"
		good fusionctl map data --width $width
		if [[ $(<"$TMP/min") == "$each" ]]; then
			grep -Eq "a cell is [0-9.]+[KM], $each extents? of 256K$" "$TMP/out" ||
				fail "legend: $(tail -n 1 "$TMP/out")"
		else
			shows "$(<"$TMP/min") to $each extents of 256K"
		fi
	done
}

run_tests
