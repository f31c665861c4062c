# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Shared by the tests of fusionctl. Sourced instead of lib.sh.

# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# rotational DEV 0|1
rotational() {
	echo "$2" >"/sys/block/${1#/dev/}/queue/rotational"
}

# two FAST_MIB SLOW_MIB: members as on a real machine, the slow one rotational
two() {
	members "$1" "$2"
	rotational "$SLOW" 1
}

# sum DEV...: checksum of the places where members and other formats have signatures
sum() {
	local dev
	for dev; do
		head -c 1M "$dev"
		tail -c 1M "$dev"
	done | md5sum
}

# wipe DEV [tail]: the places of a superblock; with tail also the end, where other formats have
# signatures
wipe() {
	put_direct "$1" 0 0 1048576
	[[ ! ${2:-} ]] || put_direct "$1" 0 $(($(blockdev --getsize64 "$1") - 1048576)) 1048576
}

# open_sets NAME...: take them down when the test ends
open_sets() {
	local i
	for i; do
		defer dm_remove "$i"
	done
}

# on_terminal ANSWER COMMAND...: with that answer typed; the output of the terminal goes to $TMP/out
on_terminal() {
	local answer=$1 rc=0
	shift
	script -qec "$*" -O /dev/null <<<"$answer" >"$TMP/out" 2>&1 || rc=$?
	REPLY=$rc
}

# a_set: 8 + 32 MiB in extents of 64K, of which the first 32 are written
a_set() {
	need_module dm-fusion
	two 8 32
	open_sets pair
	good fusionctl create pair "$FAST" "$SLOW" --yes --extent-size 64K
	put /dev/mapper/pair 252 0 $((2 << 20))
	good fusionctl set pair migration=off
}

# well_formed FILE: every tag is closed, in order
well_formed() {
	awk -v RS='<' '
		NR == 1 { next }
		/^\?/ { next }
		!/>/ { print "no end: " $0; exit bad = 1 }
		{ tag = $1; sub(/[\/>].*/, "", tag); body = $0; sub(/>.*/, "", body) }
		/^\// { tag = substr($1, 2); sub(/>.*/, "", tag)
			if (stack[n--] != tag) { print "closes wrong: " $0; exit bad = 1 }
			next }
		gsub(/"/, "\"", body) % 2 { print "quotes: " $0; exit bad = 1 }
		/&/ { print "bare &: " $0; exit bad = 1 }
		body !~ /\/$/ { stack[++n] = tag }
		END { if (!bad && (n || NR < 3)) { print "open at the end: " stack[n]; bad = 1 }
			exit bad }' "$1"
}
