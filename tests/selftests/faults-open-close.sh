#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One metadata area of a member fails at close, or cannot be read at open. Changes that cannot be
# recorded are recovered, the error and the log name member and place, and nothing hangs. Once the
# member works again, all flushed data is there. Under load: faults-metadata.sh.
# shellcheck disable=SC2119 # the options of begin are its own

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/areas.sh
. "$(dirname "$0")/lib/areas.sh"

# close_fails MEMBER AREA: changes that cannot be recorded at close are recovered at open, and no
# member claims more than it knows
close_fails() {
	local first count clean=0
	say "$1 $2"
	[[ ! -e $SET ]] || close meta
	fusion meta replica_interval $NEVER migration off
	# many changes lead to a map copy of the replica, few to some records in its log
	fill
	if [[ $1-$2 == slow-log ]]; then
		msg meta checkpoint
		fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 10 --mix 0:0:0:1:0:0
	fi
	sync "$SET"
	read -r first count < <(area "$1" "$2")
	mark
	bad "$1" "$first" "$count"
	limited "$LIMIT" dmsetup remove --retry meta
	named "$1" "$first" "$count"
	swap "$1"
	# the set learns this again, or needs it only without the fast member
	[[ $1-$2 != fast-heat && $1 != slow ]] || clean=1
	same "clean flag" "$(($(sb flags) & 1))" $clean
	[[ $1-$2 == fast-heat ]] || same "up to date" "$(($(sb flags "$SLOW") & 1))" 0
	checked
	fusion meta
	same "mode" "$(status meta mode replica)" "rw ok"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

test_close_fails() {
	begin
	close_fails fast supers
	close_fails slow log
}

long_close_fails_elsewhere() {
	begin_big
	# at the beginning, when most is unknown
	close_fails slow maps
	close_fails slow supers
	close_fails fast maps
	close_fails fast heat
}

# cut_off: the members fail while only the journal has some changes
cut_off() {
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 200
	sync "$SET"
	gone fast
	gone slow
	limited "$LIMIT" dmsetup remove --retry meta
	swap fast
	swap slow
}

# open_fails MEMBER AREA...: unreadable metadata keeps the set closed, the error names it, and it is
# left alone
open_fails() {
	local i first count blocks=() before
	say "$*"
	cut_off
	for i in "${@:2}"; do
		read -r first count < <(area "$1" "$i")
		# where recovery begins
		[[ $i != journal ]] || first=$((first + $(sb replay_seq) % count))
		blocks+=("$first")
	done
	unreadable "$1" "${blocks[@]}"
	mark
	before=$(written /dev/fast /dev/slow)
	refused "Input/output error" limited "$LIMIT" dmsetup create meta --table "$(table)"
	dmsetup info meta >/dev/null 2>&1 && dmsetup remove meta
	same "what was written" "$(written /dev/fast /dev/slow)" "$before"
	case $2 in
	super*)	logged "superblock cannot be read"
		logged "$1 device" ;;
	*)	named "$1" "${blocks[0]}" 1
		logged "$1 member" ;;
	esac
	swap "$1"
	fusion meta
	same "mode" "$(status meta mode replica)" "rw ok"
	fusion-stamp verify "$SET" --state "$TMP/state" --power-cut
}

test_open_fails() {
	begin
	open_fails fast journal
	open_fails fast map
}

# open_names NUMBER COUNT CODE TEXT: COUNT blocks of the journal of a closed set, from NUMBER on,
# can be neither read nor written; the error of open names a remedy
open_names() {
	local first count rc=0
	read -r first count < <(area fast journal)
	bad fast $((first + $1)) "$2"
	fusionctl open meta "$FAST" "$SLOW" >"$TMP/out" 2>&1 || rc=$?
	same "exit code of open" "$rc" "$3"
	shows "$4"
	swap fast
	good fusionctl open meta "$FAST" "$SLOW"
	fusion-stamp verify "$SET" --state "$TMP/state"
	close meta
}

# check only reports these as unreadable.
test_open_names_the_remedy() {
	local count
	begin
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 100
	close meta
	read -r _ count < <(area fast journal)
	# behind the last block, which is from after the last checkpoint
	open_names $((($(sb replay_seq) + 1) % count)) 1 1 "I/O on $FAST or $SLOW fails (dmesg \
shows where); copy the failing disk to a good one, with ddrescue"
	open_names 0 "$count" 4 "behind what the slow member has seen, $count journal blocks \
cannot be read"
}

long_open_fails_by_superblocks() {
	begin
	open_fails fast super0 super1
	open_fails slow super0 super1
}

# open_copes MEMBER AREA: open does not need it
open_copes() {
	local first
	say "$1 $2"
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 100
	close meta
	read -r first _ < <(area "$1" "$2")
	unreadable "$1" "$first"
	fusion meta
	same "mode" "$(status meta mode needs_check)" "rw -"
	fusion-stamp verify "$SET" --state "$TMP/state"
	swap "$1"
}

long_open_copes() {
	begin
	open_copes fast heat
	open_copes fast journal
	open_copes slow log
	open_copes slow maps
}

# Unreadable blocks that nothing needs: check reports them, and repair writes them.
test_repair_unreadable() {
	local first count i rc
	begin
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 100
	close meta
	modprobe -q dm-dust || skip "no dm-dust"
	for i in "fast journal" "slow log"; do
		# shellcheck disable=SC2086 # words
		read -r first count < <(area $i)
		unreadable "${i% *}" "$first" $((first + count / 2)) $((first + count - 1))
		rc=0
		fusionctl check "$FAST" "$SLOW" >"$TMP/out" || rc=$?
		same "exit code of check, $i" "$rc" 1
		shows "block $first: $([[ $i == fast* ]] && echo journal || echo replica): \
cannot be read"
		rc=0
		fusionctl repair "$FAST" "$SLOW" --yes >"$TMP/out" || rc=$?
		same "exit code of repair, $i" "$rc" 1
		shows repaired
		good fusionctl check "$FAST" "$SLOW"
		fusion meta
		fusion-stamp verify "$SET" --state "$TMP/state"
		close meta
		swap "${i% *}"
	done
}

# Either copy of a superblock is enough, or only the newer one's changes are lost. There is nothing
# in between.
long_one_super_unreadable() {
	local member copy
	begin
	for member in fast slow; do
		for copy in 0 8; do
			cut_off
			unreadable $member $copy
			if limited "$LIMIT" dmsetup create meta --table "$(table)"; then
				say "$member, block $copy: opened"
				[[ ! ${DM_DISABLE_UDEV:-} ]] || dmsetup mknodes meta >/dev/null
			else
				say "$member, block $copy: refused"
				dmsetup info meta >/dev/null 2>&1 && dmsetup remove meta
				swap $member
				fusion meta
			fi
			same "mode" "$(status meta mode)" rw
			fusion-stamp verify "$SET" --state "$TMP/state" --power-cut
		done
	done
}

run_tests
