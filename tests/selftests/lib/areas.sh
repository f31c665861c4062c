# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The metadata areas of a set, how to make I/O to one of them fail, and what the kernel's log has on
# it. For faults-metadata.sh and faults-open-close.sh.

# shellcheck disable=SC2034 # for these
SET=/dev/mapper/meta
# shellcheck disable=SC2034
LIMIT=60	# seconds, for what should take a fraction of one
NEVER=86400

# begin [OPTION VALUE]...
begin() {
	linked 8 24 irqmode=2 completion_nsec=100000
	format --extent-size 64K
	fusion meta "$@"
}

# begin_big [OPTION VALUE]...: with so many extents that a map copy is shorter than the log, for an
# update of the replica that changes most of them
begin_big() {
	linked 16 48 irqmode=2 completion_nsec=100000
	format --extent-size 64K
	fusion meta "$@"
}

# area MEMBER NAME: first block and number of blocks
area() {
	local end
	case $1-$2 in
	*-supers)	echo 0 9 ;;
	*-super0)	echo 0 1 ;;
	*-super1)	echo 8 1 ;;
	fast-journal)	echo "$(sb journal_start)" "$(sb journal_blocks)" ;;
	fast-maps)	end=$(($(sb map_start1) + $(sb map_blocks)))
			echo "$(sb map_start0)" $((end - $(sb map_start0))) ;;
	fast-map)	echo "$(sb "map_start$(sb active_set)")" "$(sb map_blocks)" ;;
	fast-heat)	echo "$(sb heat_start)" "$(sb heat_blocks)" ;;
	slow-log)	echo "$(sb log_start)" "$(sb log_blocks)" ;;
	slow-replica)	end=$(($(sb log_map_start1) + $(sb map_blocks)))
			echo "$(sb log_start)" $((end - $(sb log_start))) ;;
	slow-maps)	end=$(($(sb log_map_start1) + $(sb map_blocks)))
			echo "$(sb log_map_start0)" $((end - $(sb log_map_start0))) ;;
	*)		fail "no area $1 $2" ;;
	esac
}

# bad MEMBER BLOCK COUNT [flakey]: I/O there fails, always or every other second; the rest of the
# member works
bad() {
	local first=$(($2 * 8)) count=$(($3 * 8))
	case ${4:-} in
	flakey)	patched "$1" $first $count flakey "/dev/$1" $first 1 1 ;;
	*)	bad_sectors "$1" $first $count ;;
	esac
}

# unreadable MEMBER BLOCK...: reads of these fail, until they are written if the kernel has a target
# for that
unreadable() {
	local i
	if ! modprobe -q dm-dust; then
		bad "$1" "$2" $((${*: -1} - $2 + 1))
		return
	fi
	swap "$1" "0 $(sectors_of "/dev/$1") dust /dev/$1 0 4096"
	for i in "${@:2}"; do
		dmsetup message "$1-link" 0 addbadblock "$i" >/dev/null
	done
	dmsetup message "$1-link" 0 enable
}

# mark: `log` prints the module's log lines from now on
mark() {
	MARK="selftest mark $RANDOM$RANDOM"
	echo "$MARK" >/dev/kmsg
}

log() {
	dmesg | sed "1,/$MARK/d" | grep -F 'fusion:' || :
}

logged() {
	has "the kernel's log" "$(log)" "$1"
}

# named MEMBER BLOCK COUNT: the log names the member, and a sector or a block of that area. Lines
# with sectors are limited to ten in five seconds, which earlier failures may have used up.
named() {
	local first lines
	lines=$(log | grep -F "$1 member" || :)
	while read -r first; do
		[[ $first -lt $(($2 * 8)) || $first -ge $((($2 + $3) * 8)) ]] || return 0
	done < <(sed -nE 's/.* sectors? ([0-9]+)( to .*|:.*)/\1/p' <<<"$lines")
	while read -r first; do
		[[ $first -lt $2 || $first -ge $(($2 + $3)) ]] || return 0
	done < <(sed -n 's/.* block \([0-9]*\) of the .*/\1/p' <<<"$lines")
	fail "no sector of blocks $2+$3 of the $1 member in the log: $lines"
}

# fill: write two thirds of the set, so that there is room to move
fill() {
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1 --size $((LEN * 1024 / 3))
}

# checked: close the set; check reports at most findings that need no manual repair
checked() {
	local rc=0
	fusionctl check "$FAST" "$SLOW" >"$TMP/said" || rc=$?
	at_most "status of fusionctl check ($(xargs <"$TMP/said"))" $rc 1
}
