#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Power fails while a member is replaced by a third disk, or taken back, under a load of writes,
# flushes and moves: before the new disk joins, while extents move, and at the end. The power of all
# three disks goes at the same moment, and each loses what was not flushed to it. Whenever that is,
# the set opens, with the disks that it needs then, and has what was flushed. CUTS is the number of
# cuts (20), SEED the start of the random numbers (by the clock). Runs in a VM.

# shellcheck source=../selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"
# shellcheck source=disks.sh
. "$here/../powercut/disks.sh"
# shellcheck source=../selftests/lib/replace.sh
. "$here/lib/replace.sh"

CUTS=${CUTS:-20}
SEED=${SEED:-$((RANDOM << 15 | RANDOM))}
SET=/dev/mapper/data
MIB=8
SIZE=$((7 << 20))
LIE=none

# -- the set and its disks -----------------------------------------------------------

# look: sets FAST, SLOW and OLD as they are now, OLD "-" if the set has none; THIRD, which is OLD or
# the disk that is free; ROLE of OLD; and LAY, the extents that lay on OLD when the set was opened
look() {
	local i mode
	good fusionctl status data --json
	read -r FAST SLOW OLD ROLE LAY mode < <(jq -r '.sets[0] | "\(.fast.device) \(.slow.device) \(
		.old.device // "-") \(.old.role // "-") \(.old.total // 0) \(.mode)"' "$TMP/out")
	same mode "$mode" rw
	for i in fast slow third; do
		i=/dev/mapper/powercut-$i
		[[ $i == "$FAST" || $i == "$SLOW" ]] || THIRD=$i
	done
	STATE="$FAST $SLOW $OLD"
}

# any WORD...: one of them, in REPLY
any() {
	local nr=$((1 + RANDOM % $#))
	REPLY=${!nr}
}

# emptied: a condition for within
emptied() {
	local line
	read -ra line < <(dmsetup status data)
	[[ ${line[-6]} != old || ${line[-3]} == 0 ]]
}

# in_use DISK: something of the set is on it
in_use() {
	[[ $1 == "$FAST" || $1 == "$SLOW" || ($1 == "$OLD" && $LAY -gt 0) ]]
}

# unplug DISK: it is not there; what is on it is kept for plug
unplug() {
	dd if="$1" of="$TMP/unplugged" bs=1M iflag=direct status=none
	dmsetup remove --retry "${1##*/}"
}

# plug DISK [blank]: it is there again; or another one
plug() {
	powercut_disk "${1##*-}" $MIB
	# before it, when the test ends
	defer dm_remove data
	[[ ${2:-} ]] || dd if="$TMP/unplugged" of="$1" bs=1M oflag=direct conv=fsync status=none
	power lie $LIE
}

verify() {
	fusion-stamp verify $SET --state "$TMP/state" --size $SIZE "$@" >/dev/null
}

# -- opening ---------------------------------------------------------------------------

# scanned: the set is open then. A disk that has left, and could not be told so, is an error
# all the same.
scanned() {
	fusionctl assemble --scan || [[ $? -eq 4 && -e $SET ]]
}

# appearing: the disks appear in any order
appearing() {
	local i
	for i in $(shuf -e "$FAST" "$SLOW" "$THIRD"); do
		! fusionctl probe "$i" >/dev/null 2>&1 || fusionctl assemble --incremental "$i" || :
	done
	[[ -e $SET ]] || { echo "it is not open"; return 1; }
}

# as_listed: with both members that the list shows, or with one of them. It may also show one from
# the past.
as_listed() {
	local devices
	mapfile -t devices < <(fusionctl list --json | jq -r \
		'.members[] | select(.state == "ok" and (.being_replaced | not)) | .device')
	[[ ${#devices[@]} -eq 2 ]] || devices=()
	[[ ${#devices[@]} -eq 0 || $((RANDOM % 2)) -eq 0 ]] || devices=("${devices[RANDOM % 2]}")
	fusionctl open data "${devices[@]}"
}

# open_somehow: after a boot
open_somehow() {
	rm -rf /run/fusion
	case $((RANDOM % 4)) in
	0)	fusionctl open data ;;
	1)	scanned ;;
	2)	appearing ;;
	3)	as_listed ;;
	esac
}

# recover: open the set, with some more cuts meanwhile
recover() {
	local again
	while :; do
		again=$((RANDOM % 4))
		[[ $again -ne 0 ]] || arm 6
		status_of open_somehow
		[[ $again -ne 0 ]] || power arm 0
		if power_is_on; then
			same "cut $CUT: exit code of opening it ($OUT)" "$RC" 0
			return
		fi
		NESTED=$((NESTED + 1))
		fail_power
	done
}

# lacking DISK: the set may open without it, and is whole then. WITHOUT is that disk if it does not.
lacking() {
	WITHOUT=''
	unplug "$1"
	rm -rf /run/fusion
	status_of fusionctl open data
	if [[ $RC -eq 0 ]]; then
		verify --power-cut
		plug "$1"
		LACKED=$((LACKED + 1))
		return
	fi
	[[ ! -e $SET ]] || fail "cut $CUT: it is open, exit code $RC: $OUT"
	has "cut $CUT: exit code $RC" "$OUT" "missing"
	WITHOUT=$1
	plug "$1"
}

# -- the load --------------------------------------------------------------------------------

# moves: some extents, now and then, until there is no power
moves() {
	local first
	while [[ ! -e $TMP/over ]]; do
		first=$((RANDOM % (SIZE >> 16)))
		any promote demote
		dmsetup message data 0 "$REPLY" $first-$((first + RANDOM % 20)) >/dev/null 2>&1 || :
		read -rt "0.$((1 + RANDOM % 9))" <>"$TMP/never" || :
	done
}

# load: little enough that extents move meanwhile
load() {
	rm -f "$TMP/over"
	timeout $((240 * SLOWNESS)) fusion-stamp run $SET --state "$TMP/state" --size $SIZE \
		--seconds 600 --until-error --threads $((1 + RANDOM % 2)) \
		--pause $((10 ** (3 + RANDOM % 3))) --max-io $((4096 << RANDOM % 5)) \
		--mix 5:40:10:3:2:$((RANDOM % 20)) >"$TMP/load" 2>&1 &
	LOAD=$!
	JOBS+=("$LOAD")
	moves &
	MOVES=$!
	JOBS+=("$MOVES")
}

is_suspended() {
	local dir
	for dir in /sys/block/dm-*/dm; do
		[[ $(<"$dir/name") != data ]] || break
	done
	[[ $(<"$dir/suspended") -eq 1 ]]
}

# no_power: cut it, unless it has gone; the load ends
no_power() {
	local i sectors rc=0
	power cut
	touch "$TMP/over"
	# in the middle of an exchange: no table can be had any more, and I/O would wait. It fails, flushes
	# too.
	if is_suspended; then
		sectors=$((MIB * 2048))
		for ((i = 0; i < 2; i++)); do
			echo "$((i * sectors)) $sectors linear $SLOW 0"
		done | dmsetup load data
		dmsetup resume data
	fi
	wait "$LOAD" || rc=$?
	same "cut $CUT: status of the load ($(tail -n 3 "$TMP/load"))" $rc 0
	wait "$MOVES" || fail "cut $CUT: the moves"
	JOBS=()
}

# -- a cut -----------------------------------------------------------------------------------------

# arm ORDER [DISK]: the power goes within 2^ORDER commands, of that disk or of any
arm() {
	power arm $((1 + RANDOM % (1 << RANDOM % ($1 + 1)))) ${2:+"${2##*-}"}
}

# replace WORD...: the verb ends well, unless power fails: ON tells
replace() {
	status_of limited 60 fusionctl replace data "$@"
	if [[ $RC -eq 5 && $OUT == *"run fusionctl checkpoint data, and try again" ]]; then
		status_of fusionctl checkpoint data
		status_of limited 60 fusionctl replace data "$@"
	fi
	differ "cut $CUT: exit code of replace $*" "$RC" 124
	ON=1
	[[ $RC -eq 0 ]] || power_is_on || ON=''
}

# well WORD...: the same; and what it is for has been done if there still is power
well() {
	replace "$@"
	[[ ! $ON ]] || same "cut $CUT: exit code of replace $*, with power ($OUT)" "$RC" 0
}

# slowly: little moves by itself
slowly() {
	good fusionctl set data --now idle=60000 duty=1 commit_interval=100 migration=off
}

# begins fast|slow: the third disk is to replace it
begins() {
	local member before after
	member=$(member "$1")
	before=$STATE
	[[ $1 == fast ]] && after="$THIRD $SLOW" || after="$FAST $THIRD"
	MAY=("$before" "$after $member" "$after -")
	HOW="replace $1"
	case $((RANDOM % 3)) in
	0)	HOW+=", of the new disk"
		arm 8 "$THIRD"
		well "$member" "$THIRD" --yes --force ;;
	1)	arm 12
		well "$member" "$THIRD" --yes --force ;;
	2)	well "$member" "$THIRD" --yes --force --no-wait
		look
		goes_on
		return ;;
	esac
	[[ ! $ON ]] || MAY=("$after -")
}

# goes_on: the set has an old member
goes_on() {
	local taken new
	[[ $ROLE == fast ]] && new=$FAST || new=$SLOW
	[[ $ROLE == fast ]] && taken="$OLD $SLOW" || taken="$FAST $OLD"
	MAY=("$STATE" "$FAST $SLOW -")
	case $((RANDOM % 4)) in
	0)	HOW+=" --wait at the end"
		quick
		within 60 "nothing is left" emptied
		any "$FAST" "$SLOW" "$OLD"
		arm 6 "$REPLY"
		well --wait ;;
	1)	HOW+=" --wait, of a disk"
		any "$new" "$OLD"
		arm 8 "$REPLY"
		well --wait ;;
	2)	HOW+=" --wait"
		arm 12
		well --wait ;;
	3)	HOW+=" --abort"
		takes_back "$taken" "$new"
		return ;;
	esac
	[[ ! $ON ]] || MAY=("$FAST $SLOW -")
}

# takes_back MEMBERS NEW: these are to be the members again
takes_back() {
	if [[ $((RANDOM % 2)) -eq 0 ]]; then
		arm 8 "$OLD"
	else
		arm 12
	fi
	MAY+=("$1 $2" "$1 -")
	replace --abort --yes
	[[ $ON && $OUT != *"has nothing on $OLD any more"* ]] || return 0
	same "cut $CUT: exit code of replace --abort, with power ($OUT)" "$RC" 0
	MAY=("$1 -")
}

# judge: the set is open again; is it one of those that it may be?
judge() {
	local i
	verify --power-cut
	look
	for i in "${MAY[@]}"; do
		[[ $STATE != "$i" ]] || break
	done
	same "cut $CUT ($HOW): fast, slow and old member; may be ${MAY[*]@Q}" "$STATE" "$i"
	[[ ! $WITHOUT ]] || in_use "$WITHOUT" ||
		fail "cut $CUT ($HOW): it has not opened without $WITHOUT, and is now $STATE"
}

# reopened: the set is whole when it is closed; it may have lost its old member by that
reopened() {
	local gone='' state="$FAST $SLOW -"
	good fusionctl close data
	good fusionctl check data
	[[ $OLD != - || $((RANDOM % 2)) -eq 0 ]] || gone=$THIRD
	[[ ! $gone ]] || dmsetup remove --retry "${gone##*/}"
	good fusionctl open data
	verify
	[[ ! $gone ]] || plug "$gone" blank
	[[ $OLD == - ]] || state+=" $STATE"
	look
	has "cut $CUT: fast, slow and old member after that" "$state" "$STATE"
}

# cycle: one cut, and what follows
cycle() {
	HOW='go on:' WITHOUT=''
	if [[ $((RANDOM % 3)) -eq 0 ]]; then
		slowly
	else
		quick
	fi
	load
	if [[ $OLD == - ]]; then
		any fast slow
		begins "$REPLY"
	else
		goes_on
	fi
	[[ ! $ON ]] || ENDED=$((ENDED + 1))
	no_power
	fail_power
	if [[ $LIE == none && $((RANDOM % 3)) -eq 0 ]]; then
		any "$FAST" "$SLOW" "$THIRD"
		lacking "$REPLY"
	fi
	[[ -e $SET ]] || recover
	judge
	say "cut $CUT: $HOW${ON:+, ended}: ${STATE//'/dev/mapper/powercut-'/}" \
		"${WITHOUT:+, needs ${WITHOUT##*-}}"
	if [[ $OLD == - || $((RANDOM % 4)) -eq 0 ]]; then
		reopened
	fi
}

# -- a life ----------------------------------------------------------------------------

set_up() {
	need_module dm-fusion
	disks $MIB $MIB $MIB
	defer dm_remove data
	say "SEED=$SEED"
	RANDOM=$SEED
	power seed "$SEED"
	mkfifo "$TMP/never"
	format data --extent-size 64K
	good fusionctl open data "$FAST" "$SLOW"
	fusion-stamp fill $SET --state "$TMP/state" --size $SIZE >/dev/null
	look
}

# life N: N cuts
life() {
	NESTED=0 LACKED=0 ENDED=0
	for ((CUT = 1; CUT <= $1; CUT++)); do
		cycle
	done
	say "$1 cuts, $NESTED more while it was opened; $ENDED behind the end of the verb; opened" \
		"without a disk $LACKED times"
}

test_replace() {
	set_up
	life "$CUTS"
}

# The test notices a disk that acknowledges flushes without doing them.
long_lying_disk_is_found_out() {
	set_up
	LIE=third
	power lie $LIE
	! (life 100) >"$TMP/said" 2>&1 || fail "100 cuts, and nothing was lost"
	say "found: $(tail -n 1 "$TMP/said")"
}

run_tests
