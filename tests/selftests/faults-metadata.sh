#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One metadata area of a member fails while its data areas work: in a commit, a checkpoint, or an
# update of the replica, under load. The mode becomes as Documentation/reference/target.rst says, the
# log names member and place, and nothing hangs. Once the member works again, all flushed data is
# there. At open and at close: faults-open-close.sh.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/areas.sh
. "$(dirname "$0")/lib/areas.sh"

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

run_tests
