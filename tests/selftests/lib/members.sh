# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Members of a set: plain ones, those that fail, and those that lose their power. Part of lib.sh.
# shellcheck disable=SC2034 # FAST and SLOW are for set.sh and the tests

# members FAST_MIB SLOW_MIB [KEY=VALUE]...: both members, for format and fusion
members() {
	null fast "$1" "${@:3}"
	FAST=$REPLY
	null slow "$2" "${@:3}"
	SLOW=$REPLY
}

# linked FAST_MIB SLOW_MIB [KEY=VALUE]...: members that can be swapped for others
linked() {
	local i
	need_module dm-flakey
	members "$@"
	for i in fast slow; do
		linear "$i-link" "/dev/$i" 0 "$(sectors_of "/dev/$i")"
	done
	FAST=/dev/mapper/fast-link
	SLOW=/dev/mapper/slow-link
}

# swap fast|slow [TABLE]: give the member this table, or its first one
swap() {
	dmsetup load "$1-link" --table "${2:-0 $(sectors_of "/dev/$1") linear /dev/$1 0}"
	dmsetup suspend --noflush --nolockfs "$1-link"
	dmsetup resume "$1-link"
}

# dead fast|slow: table of a member that no I/O reaches any more. All of it fails, flushes too: the
# device mapper sends the error target no flushes, so they would succeed, and their promise would be
# lost.
dead() {
	echo "0 $(sectors_of "/dev/$1") flakey /dev/$1 0 0 86400"
}

# gone fast|slow: dead from now on
gone() {
	swap "$1" "$(dead "$1")"
}

# patched fast|slow FIRST COUNT TARGET [ARGUMENT]...: this target there, the member around it
patched() {
	local end=$(($2 + $3))
	swap "$1" "$([[ $2 -eq 0 ]] || echo "0 $2 linear /dev/$1 0")
$2 $3 ${*:4}
$end $(($(sectors_of "/dev/$1") - end)) linear /dev/$1 $end"
}

# bad_sectors fast|slow FIRST COUNT: I/O there fails. Not by dm-flakey, which fails flushes of the
# whole member along with writes to a part.
bad_sectors() {
	patched "$1" "$2" "$3" error
}

# switched FAST_MIB SLOW_MIB: members with volatile caches behind a power switch
switched() {
	linked "$1" "$2" cache_size=4096
}

# power_off [LINK]...: from now on no I/O reaches these, fast and slow by default; unflushed data
# is lost
power_off() {
	local i
	[[ $# -gt 0 ]] || set -- fast slow
	for i; do
		dmsetup load "$i-link" --table "$(dead "$i")"
	done
	for i; do
		dmsetup suspend --noflush --nolockfs "$i-link"
		dmsetup resume "$i-link"
	done
}

# cut_during SECONDS [OPTION]...: cut the power while the tester writes
cut_during() {
	local stamp
	background fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --until-error \
		--seconds 60 "${@:2}"
	stamp=$REPLY
	sleep "$1"
	kill -0 "$stamp" || fail "the tester has ended"
	power_off
	wait "$stamp" || fail "tester: status $?"
}

# power_on [LINK]...: only while what is on these, fast and slow by default, is closed
power_on() {
	local i
	[[ $# -gt 0 ]] || set -- fast slow
	for i; do
		dmsetup remove --retry "$i-link"
		null_power_cycle "$i"
		linear "$i-link" "/dev/$i" 0 "$(sectors_of "/dev/$i")"
	done
}
