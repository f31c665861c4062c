#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One metadata area of a member fails while its data areas work: in a commit, a checkpoint, or an
# update of the replica, under load; at open; at close. The mode becomes as
# Documentation/reference/target.rst says, the log names member and place, and nothing hangs. Once
# the member works again, all flushed data is there.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/meta
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
	done < <(sed -n 's/.* sectors \([0-9]*\) to .*/\1/p' <<<"$lines")
	while read -r first; do
		[[ $first -lt $2 || $first -ge $(($2 + $3)) ]] || return 0
	done < <(sed -n 's/.* block \([0-9]*\) of the .*/\1/p' <<<"$lines")
	fail "no sector of blocks $2+$3 of the $1 member in the log: $lines"
}

in_mode() {
	[[ $(status meta mode) == "$1" ]]
}

replica_is() {
	[[ $(status meta replica) == "$1" ]]
}

# promotes: extents can be promoted
promotes() {
	local moved
	dmsetup message meta 0 "demote 0-31" >/dev/null
	moved=$(dmsetup message meta 0 "promote 0-31")
	[[ ${moved%% *} -gt 0 ]]
}

events() {
	dmsetup info -c --noheadings -o events meta
}

# checkpoint_or COMMAND...: run it, or request one more checkpoint, which may fail
checkpoint_or() {
	"$@" && return
	limited "$LIMIT" dmsetup message meta 0 checkpoint
	return 1
}

# load MIX: reads, stamped writes, flushes, and moves
load() {
	background storm meta
	STORM=$REPLY
	background fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --threads 2 \
		--seconds 300 --until-error --mix "$1"
	LOAD=$REPLY
	sleep 1
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

# fast_writes_fail AREA [flakey]: the set goes read-only and says why. Once the member works again
# and the set is reopened, all flushed data is there
fast_writes_fail() {
	local first count before
	begin commit_interval 100
	read -r first count < <(area fast "$1")
	say "fast, $1: blocks $first+$count"
	load 30:40:10:5:3:12
	before=$(events)
	mark
	bad fast "$first" "$count" "${2:-}"
	if [[ $1 != journal && ! ${2:-} ]]; then
		refused "message ioctl on meta" limited "$LIMIT" dmsetup message meta 0 checkpoint
	fi
	# a failure every other second may miss all writes for a while
	within "$LIMIT" "mode ro" checkpoint_or in_mode ro
	within "$LIMIT" "the load ends" no_process "$LOAD"
	wait "$LOAD" || fail "the load: status $?"
	finish "$STORM"
	same "mode" "$(status meta mode needs_check)" "ro needs_check"
	at_least "events" "$(events)" $((before + 1))
	logged "switched to mode ro"
	named fast "$first" "$count"
	# the data that it had is still there
	limited "$LIMIT" dd if="$SET" of=/dev/null bs=1M iflag=direct status=none
	refused "Input/output error" limited "$LIMIT" sync "$SET"
	refused "Input/output error" limited "$LIMIT" dd if=/dev/zero of="$SET" bs=4k count=1 \
		oflag=direct status=none
	refused "Read-only file system" limited "$LIMIT" dmsetup message meta 0 "promote 0-7"

	limited "$LIMIT" dmsetup remove --retry meta
	swap fast
	same "clean flag" "$(($(sb flags) & 1))" 0
	checked
	fusion meta
	same "mode" "$(status meta mode replica)" "rw ok"
	fusion-stamp verify "$SET" --state "$TMP/state" --power-cut
	fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --ops 300
	fusion-stamp verify "$SET" --state "$TMP/state"
}

test_journal_writes_fail() {
	fast_writes_fail journal
}

long_map_writes_fail() {
	fast_writes_fail maps
}

long_super_writes_fail() {
	fast_writes_fail supers
}

long_journal_flakey() {
	fast_writes_fail journal flakey
}

long_super_flakey() {
	fast_writes_fail supers flakey
}

# slow_writes_fail AREA [flakey]: the set works on, only promotions wait. Nothing is unmapped in the
# meantime, since a first write may find only held slots.
slow_writes_fail() {
	local first count before moved
	if [[ $1 == log ]]; then
		begin replica_interval 1 commit_interval 100
		fill
		load 30:45:10:0:0:15
	else
		begin_big replica_interval $NEVER commit_interval 100
	fi
	read -r first count < <(area slow "$1")
	say "slow, $1: blocks $first+$count"
	before=$(events)
	mark
	bad slow "$first" "$count" "${2:-}"
	if [[ $1 != log ]]; then
		fill
		msg meta checkpoint
		load 30:45:10:0:0:15
	fi
	within "$LIMIT" "the replica fails" replica_is failed
	at_least "events" "$(events)" $((before + 1))
	named slow "$first" "$count"
	logged "no promotions"
	if [[ ! ${2:-} ]]; then
		moved=$(limited "$LIMIT" dmsetup message meta 0 "promote 0-99")
		same "promoted ($moved)" "${moved%% *}" 0
	fi
	sleep 1
	same "mode" "$(status meta mode needs_check)" "rw -"
	! no_process "$LOAD" || fail "the load ended"
	swap slow
	# promotions wait for a record in the log
	within "$LIMIT" "promotions" promotes
	within "$LIMIT" "the replica is written again" replica_is ok
	logged "replica of the map: written again"
	at_least "events" "$(events)" $((before + 2))
	finish "$STORM"
	finish "$LOAD"
	fusion-stamp verify "$SET" --state "$TMP/state"
	limited "$LIMIT" dmsetup remove --retry meta
	same "clean flags" "$(($(sb flags) & 1)) $(($(sb flags "$SLOW") & 1))" "1 1"
	fusion-replica "$FAST" | sed 1d >"$TMP/fast"
	fusion-replica "$SLOW" | sed 1d >"$TMP/slow"
	diff "$TMP/fast" "$TMP/slow" >"$TMP/said" ||
		fail "members differ after close: $(head -n 4 "$TMP/said" | xargs)"
	fusion meta
	fusion-stamp verify "$SET" --state "$TMP/state"
}

long_log_writes_fail() {
	slow_writes_fail log
}

long_replica_maps_fail() {
	slow_writes_fail maps
}

long_replica_supers_fail() {
	slow_writes_fail supers
}

long_log_flakey() {
	slow_writes_fail log flakey
}

# a promotion takes no effect without its record, and the log names its sector
test_promotion_fails() {
	local first count
	begin migration off replica_interval $NEVER
	fill
	same "demoted" "$(msg meta demote 0-63)" "64 0 0 0"
	msg meta checkpoint
	read -r first count < <(area slow log)
	mark
	bad slow "$first" "$count"
	same "promoted" "$(limited "$LIMIT" dmsetup message meta 0 "promote 0-63")" "0 0 0 64"
	same "on the slow member" "$(on meta slow 0 64)" 64
	named slow "$first" "$count"
	logged "no promotions"
	swap slow
	within "$LIMIT" "promotions" promotes
	same "replica" "$(status meta mode replica)" "rw ok"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# Map copies can be written, the log cannot. A retry after each success of the one fails with the
# other. This must not repeat every second.
test_log_alone_fails() {
	local first count until errors
	begin migration off replica_interval 1
	fill
	same "demoted" "$(msg meta demote 0-63)" "64 0 0 0"
	msg meta checkpoint
	read -r first count < <(area slow log)
	bad slow "$first" "$count"
	until=$((SECONDS + 15))
	while [[ $SECONDS -lt $until ]]; do
		limited "$LIMIT" dmsetup message meta 0 "promote 0-63" >/dev/null
		sleep 0.2
	done
	errors=$(counter meta replica_errors)
	# pauses of 1, 2, 4, 8 seconds
	[[ $errors -ge 3 && $errors -le 6 ]] || fail "$errors attempts in 15 s"
	swap slow
	within "$LIMIT" "promotions" promotes
	same "replica" "$(status meta mode replica)" "rw ok"
	fusion-stamp verify "$SET" --state "$TMP/state"
}

# attempts COUNT: so many updates of the replica have failed
attempts() {
	[[ $(counter meta replica_errors) -ge $1 ]]
}

# Released slots stay held while the replica cannot be written. A first write that needs one waits
# for one more attempt, and not longer. It works as soon as the member does, however long the pause
# after the last attempt would have been.
test_held_slots() {
	local first count
	begin replica_interval 1 commit_interval 100 migration off
	fusion-stamp fill "$SET" --state "$TMP/state" --threads 1
	msg meta checkpoint
	read -r first count < <(area slow replica)
	bad slow "$first" "$count"
	blkdiscard -o $((16 << 20)) -l $((8 << 20)) "$SET"
	within "$LIMIT" "attempts" attempts 1
	refused "No space left on device" limited "$LIMIT" dd if=/dev/zero of="$SET" bs=64k \
		seek=256 count=128 oflag=direct status=none
	within "$LIMIT" "attempts" attempts 4
	swap slow
	limited "$LIMIT" dd if=/dev/zero of="$SET" bs=64k seek=256 count=128 oflag=direct,sync \
		status=none
	same "mode" "$(status meta mode replica)" "rw ok"
}

# A failed update is tried again even if nothing else changes.
test_failed_update_is_tried_again() {
	local first count
	begin replica_interval 1 commit_interval 100 migration off
	fill
	msg meta checkpoint
	read -r first count < <(area slow replica)
	bad slow "$first" "$count"
	same "demoted" "$(msg meta demote 0-7)" "8 0 0 0"
	within "$LIMIT" "the replica fails" replica_is failed
	swap slow
	within "$LIMIT" "the replica is written again" replica_is ok
	fusion-replica "$SLOW" | awk '$1 < 8 && $2 == "slow"' >"$TMP/said"
	same "extents it knows to be down" "$(wc -l <"$TMP/said")" 8
}

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
	open_names $((($(sb replay_seq) + 1) % count)) 1 1 "I/O of $FAST or $SLOW fails (dmesg says where); copy \
the failing disk to a good one, with ddrescue"
	open_names 0 "$count" 4 "behind what the slow member has seen, $count journal blocks can't be read"
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
		shows "block $first: $([[ $i == fast* ]] && echo journal || echo replica): can't be read"
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
