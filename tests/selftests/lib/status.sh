# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What an open set says about itself: status line, counters, trace events. Part of lib.sh.

msg() {
	dmsetup message "$1" 0 "${*:2}"
}

# counter NAME KEY: a value from the message stats
counter() {
	msg "$1" stats | sed -n "s/^$2 //p"
}

FIELDS=(version mode extent used_fast/total_fast used_slow/total_slow mapped/extents
	journal_used/journal_size reads_fast reads_slow writes_fast writes_slow promotions
	demotions cancelled in_flight open quarantined commits checkpoints slow_flushes
	reserve_free/reserve replica replica_dirty replica_age errors_fast errors_slow
	fence_used/fence_slots shadows_current/shadows demotions_free
	protected/on_fast point_age metadata_protected/metadata_fast)

# status NAME FIELD...: numbers from the status line, which may be halves of a pair
status() {
	local line field i n=${#FIELDS[@]} out=()
	read -ra line < <(dmsetup status "$1")
	[[ ${line[2]:-} == fusion ]] || fail "$1: not a fusion device: ${line[*]}"
	line=("${line[@]:3}")
	# while a member is being replaced: "old fast|slow DEVICE LEFT TOTAL UNREADABLE" at the end
	[[ ${#line[@]} -lt 7 || ${line[-6]} != old ]] || line=("${line[@]:0:${#line[@]}-6}")
	# before that, if extents are lost: "lost EXTENTS PARTLY"
	[[ ${#line[@]} -lt 4 || ${line[-3]} != lost ]] || line=("${line[@]:0:${#line[@]}-3}")
	for field in "${@:2}"; do
		for i in "${!FIELDS[@]}"; do
			case ${FIELDS[i]} in
			"$field")	out+=("${line[i]}") ;;
			"$field"/*)	out+=("${line[i]%/*}") ;;
			*/"$field")	out+=("${line[i]#*/}") ;;
			esac
		done
		# behind the settings
		[[ $field != needs_check ]] || out+=("${line[n + 1 + line[n]]}")
	done
	[[ ${#out[@]} -eq $#-1 ]] || fail "no such field: ${*:2}"
	echo "${out[*]}"
}

# is_ro NAME: a condition for within
is_ro() {
	[[ $(status "$1" mode) == ro ]]
}

# settled NAME: nothing is being moved, and nothing waits to be freed
settled() {
	[[ $(status "$1" in_flight quarantined) == "0 0" ]]
}

# told NAME: the members have their discards for all free slots
told() {
	[[ $(counter "$1" undiscarded_fast) == 0 && $(counter "$1" undiscarded_slow) == 0 ]]
}

# tracing_on: until the test ends, events of the module are in /sys/kernel/tracing/trace
tracing_on() {
	defer tracing_off
	echo >/sys/kernel/tracing/trace
	echo 1 >/sys/kernel/tracing/events/fusion/enable
}

tracing_off() {
	[[ ! -d /sys/kernel/tracing/events/fusion ]] ||
		echo 0 >/sys/kernel/tracing/events/fusion/enable
}
