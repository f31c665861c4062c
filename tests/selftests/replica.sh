#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The replica is as current and exact as promised; it is read from the raw member here.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

SET=/dev/mapper/replica
NEVER=86400

# begin [OPTION VALUE]...: a set of 64 KiB extents, two thirds of it written
begin() {
	[[ $FAST ]] || members 16 32
	stale "$SLOW"
	format --extent-size 64K
	FAST_EXTENTS=$(($(sb nr_fast_slots) - $(sb spare_fast)))
	WRITTEN=$((FAST_EXTENTS + 200))
	fusion replica migration off "$@"
	dd if=/dev/urandom of="$SET" bs=64k count=$WRITTEN oflag=direct conv=fsync status=none
	within 10 "the replica is up to date" checkpointed
}

# checkpointed: make a checkpoint, and wait until nothing changes. An extent that was about to be
# filled during the commit becomes STABLE with the next one
checkpointed() {
	msg replica checkpoint
	synced
}

# synced: the replica knows everything
synced() {
	[[ $(status replica replica replica_dirty) == "ok 0" ]]
}

# header DEV KEY: a field of the superblock
header() {
	fusion-replica "$1" | sed -n "1s/.* $2 \([^ ]*\).*/\1/p"
}

# recorded DEV: extent, member and slot of all mapped extents, as on the disk
recorded() {
	fusion-replica "$1" | sed 1d | cut -d ' ' -f 1-3
}

# recorded_on SLOW|FAST FIRST COUNT: how many of these extents the replica has there
recorded_on() {
	recorded "$SLOW" | awk -v on="$1" -v first="$2" -v end=$(($2 + $3)) \
		'$1 >= first && $1 < end && $2 == on { n++ } END { print n + 0 }'
}

# seen REPLICA MAP: the map, but "fast" alone for the extents of which the replica names a shadow: it
# does not have their fast slots
seen() {
	awk 'NR == FNR { if ($2 == "shadow") has[$1]; next }
		$1 in has && $2 != "slow" { print $1, "fast"; next } { print }' "$1" "$2"
}

# agrees: the replica equals the kernel's map
agrees() {
	places replica | grep -v ' -$' >"$TMP/kernel"
	recorded "$SLOW" >"$TMP/recorded"
	diff <(seen "$TMP/recorded" "$TMP/kernel") <(seen "$TMP/recorded" "$TMP/recorded") >"$TMP/said" ||
		fail "kernel and replica differ: $(head -n 5 "$TMP/said" | xargs)"
}

# after a close, both members have the same map, to the valid block
test_clean_close() {
	local i
	begin replica_interval $NEVER
	for i in 1 2 3; do
		# partial extents, fast and slow; moved and unmapped ones
		blkdiscard -o $((i * 20 * 65536)) -l $((10 * 65536)) "$SET"
		put_direct "$SET" 101 $((i * 20 * 65536 + 8192)) 8192
		put_direct "$SET" 101 $(((WRITTEN + i) * 65536 + 4096)) 16384
		msg replica demote 100-110 >/dev/null
		msg replica promote $((WRITTEN - 10 * i))-$((WRITTEN - 1)) >/dev/null
		close replica
		fusion-replica "$FAST" | sed 1d >"$TMP/fast"
		fusion-replica "$SLOW" | sed 1d >"$TMP/slow"
		diff <(seen "$TMP/slow" "$TMP/fast") <(seen "$TMP/slow" "$TMP/slow") >"$TMP/said" ||
			fail "members differ after close $i: $(head -n 4 "$TMP/said" | xargs)"
		at_least "open extents" "$(grep -c open "$TMP/slow")" 2
		same "clean" "$(header "$FAST" clean) $(header "$SLOW" clean)" "1 1"
		same "epoch" "$(header "$SLOW" epoch)" "$(header "$FAST" epoch)"
		# either copy of the slow member's superblock is enough
		put "$SLOW" 125 $((4096 * 8 * (i % 2) + 200)) 1
		fusion-replica "$SLOW" | sed 1d | cmp - "$TMP/slow"
		same "clean, in the other copy" "$(header "$SLOW" clean)" 1
		fusion replica migration off replica_interval $NEVER
		same "replica" "$(status replica replica replica_dirty)" "ok 0"
		agrees
		same "clean, open again" "$(header "$SLOW" clean)" 0
	done
}

# a promotion is recorded before the command ends, without any other update
test_promotions() {
	local first writes
	begin replica_interval $NEVER
	first=$((FAST_EXTENTS + 20))
	blkdiscard -l $((40 * 65536)) "$SET"
	msg replica checkpoint
	within 20 "slots are free" settled replica
	same "recorded on slow before" "$(recorded_on slow $first 32)" 32
	writes=$(counter replica replica_writes)
	same "promoted" "$(msg replica promote $first-$((first + 31)))" "32 0 0 0"
	same "recorded on fast" "$(recorded_on fast $first 32)" 32
	same "transactions, one for many" "$(counter replica replica_writes)" $((writes + 1))
	same "held slots" "$(counter replica replica_held)" 0
	# the replica learns their slots later
	same "state of the replica" "$(status replica replica replica_dirty)" "ok 32"
	same "away" "$(counter replica replica_away)" 32
	msg replica checkpoint
	same "away" "$(counter replica replica_away)" 0
	same "replica" "$(status replica replica replica_dirty)" "ok 0"
	agrees
}

# on_slow FIRST COUNT EXPECTED
on_slow() {
	[[ $(recorded_on slow "$1" "$2") -eq $3 ]]
}

# extents that were to be promoted but could not be are found again within the interval. All are
# recorded as away with the first batch, which is short (16) beside I/O, and long (64) in idle time
test_promotions_in_vain() {
	local idle
	for idle in 60000 0; do
		begin replica_interval 3 idle $idle
		promote_in_vain
		close replica
	done
}

promote_in_vain() {
	local first promoted failed
	first=$((FAST_EXTENTS + 20))
	blkdiscard -l $((20 * 65536)) "$SET"
	msg replica checkpoint
	within 20 "slots are free" settled replica
	msg replica replica_interval $NEVER
	# nothing may make room for them
	read -r promoted _ _ failed _ <<<"$(msg replica promote $first-$((first + 59)) \
		0-$(($(status replica extents) - 1)))"
	same "of the range" $((promoted + failed)) 60
	at_least "promoted" "$promoted" 10
	at_least "failed" "$failed" 20
	same "not believed to be on slow" "$(recorded_on slow "$first" 60)" 0
	msg replica replica_interval 3
	# another change, so that the new interval takes effect
	blkdiscard -o $((30 * 65536)) -l 64k "$SET"
	within 10 "the replica has them on slow" on_slow "$first" 60 "$failed"
	agrees
	same "away" "$(counter replica replica_away)" 0
}

test_demotions() {
	begin replica_interval $NEVER
	same "demoted" "$(msg replica demote 10-41)" "32 0 0 0"
	within 10 "the replica knows" synced
	same "recorded on slow" "$(recorded_on slow 10 32)" 32
	agrees
	# the data there can be read from the raw member
	dd if="$SET" of="$TMP/fused" bs=64k skip=10 count=32 iflag=direct status=none
	recorded "$SLOW" | awk '$1 >= 10 && $1 < 42 { print $3 }' | while read -r slot; do
		dd if="$SLOW" bs=64k skip="$slot" count=1 iflag=direct status=none
	done | cmp - "$TMP/fused"
}

# first writes and discards are recorded within the interval; then the disk is left alone
test_interval() {
	local before
	begin replica_interval $NEVER idle 60000
	blkdiscard -o $((40 * 65536)) -l $((20 * 65536)) "$SET"
	blkdiscard -o $(((FAST_EXTENTS + 40) * 65536)) -l $((20 * 65536)) "$SET"
	put_direct "$SET" 101 $(((WRITTEN + 5) * 65536)) 65536
	put_direct "$SET" 101 $(((WRITTEN + 7) * 65536 + 8192)) 12288
	at_least "dirty" "$(status replica replica_dirty)" 42
	msg replica replica_interval 3
	# another change, so that the new interval takes effect
	put_direct "$SET" 101 $(((WRITTEN + 9) * 65536)) 65536
	within 10 "the replica knows" synced
	agrees
	same "the half-written one" "$(fusion-replica "$SLOW" | grep "^$((WRITTEN + 7)) " |
		cut -d ' ' -f 4-5)" "open 3"
	within 20 "slots are free" settled replica
	same "held slots" "$(counter replica replica_held)" 0
	# a partial extent would be filled in idle time
	blkdiscard -o $(((WRITTEN + 7) * 65536)) -l 64k "$SET"
	sync "$SET"
	within 10 "the replica knows" synced
	within 20 "slots are free" settled replica
	within 20 "the members are told" told replica
	before=$(io_of "$SLOW")
	sleep 5
	same "I/O of the idle slow member" "$(io_of "$SLOW")" "$before"
}

# no_slot_reused PLACES: no slow slot that the replica on the disk names has another owner
no_slot_reused() {
	recorded "$SLOW" >"$TMP/recorded"
	awk 'NR == FNR { if ($2 == "slow") owner[$3] = $1; next }
		$2 == "slow" && ($3 in owner) && owner[$3] != $1 {
			print "slot " $3 " of " owner[$3] " is recorded for " $1
		}' "$1" "$TMP/recorded" >"$TMP/said"
	[[ ! -s $TMP/said ]] || fail "$(head -n 5 "$TMP/said")"
	same "slow slots recorded twice" \
		"$(awk '$2 == "slow" { print $3 }' "$TMP/recorded" | sort | uniq -d)" ""
}

# discarded slow extents stay recorded, and their slots unused, until one is needed
test_held_slots() {
	local all i first
	begin replica_interval $NEVER
	all=$(status replica extents)
	dd if=/dev/urandom of="$SET" bs=64k seek=$WRITTEN oflag=direct status=none || :
	sync "$SET"
	msg replica checkpoint
	same "replica" "$(status replica replica replica_dirty)" "ok 0"
	same "mapped" "$(status replica mapped)" "$all"
	first=$((FAST_EXTENTS + 50))
	blkdiscard -o $((first * 65536)) -l $((20 * 65536)) "$SET"
	sync "$SET"
	within 20 "slots are out of quarantine" settled replica
	same "held slots" "$(counter replica replica_held)" 20
	same "mapped" "$(status replica mapped)" $((all - 20))
	same "recorded still" "$(recorded_on slow $first 20)" 20
	# only spares are free: each of these writes has to wait for the replica, and succeeds
	for ((i = 0; i < 20; i++)); do
		limited 20 dd if=/dev/urandom of="$SET" bs=64k seek=$((first + 19 - i)) count=1 \
			oflag=direct status=none
		places replica >"$TMP/places"
		no_slot_reused "$TMP/places"
	done
	same "mapped" "$(status replica mapped)" "$all"
	msg replica checkpoint
	same "replica" "$(status replica replica replica_dirty)" "ok 0"
	agrees
}

# more than the log can hold, several times
long_log_wraps() {
	local i sets
	begin replica_interval $NEVER
	sets=$(counter replica replica_sets)
	head -c 4096 /dev/urandom >"$TMP/block"
	# each takes at least a block
	for ((i = $(sb log_blocks); i > 0; i--)); do
		dd if="$TMP/block" of="$SET" bs=4k seek=$((WRITTEN * 16 + i)) oflag=direct status=none
		dmsetup message replica 0 checkpoint
	done
	at_least "map copies written" "$(counter replica replica_sets)" $((sets + 1))
	msg replica checkpoint
	same "replica" "$(status replica replica replica_dirty)" "ok 0"
	agrees
	blkdiscard "$SET"
	msg replica checkpoint
	same "recorded after all was discarded" "$(recorded "$SLOW" | wc -l)" 0
}

# a suspended set is clean, a resumed one is not
test_suspend() {
	begin replica_interval $NEVER
	blkdiscard -l 1M "$SET"
	dmsetup suspend replica
	same "clean" "$(header "$SLOW" clean)" 1
	agrees
	dmsetup resume replica
	same "clean" "$(header "$SLOW" clean)" 0
	blkdiscard -o 1M -l 1M "$SET"
	msg replica checkpoint
	agrees
}

# lose_power COMMAND...: power fails during it, and during moves
lose_power() {
	local pids
	background storm replica
	pids=("$REPLY")
	if [[ $# -gt 0 ]]; then
		background "$@"
		pids+=("$REPLY")
	fi
	sleep $((1 + RANDOM % 2)).$((RANDOM % 10))
	power_off
	places replica >"$TMP/last"
	kill "${pids[@]}" 2>/dev/null || :
	wait "${pids[@]}" 2>/dev/null || :
	close replica
	power_on
}

how_often() {
	[[ $QUICK ]] && echo 3 || echo 10
}

none_held() {
	[[ $(counter replica replica_held) == 0 ]]
}

# power fails during moves and discards: the content of the disks is consistent, and the next
# activation writes the replica anew
test_power_cut() {
	local i n
	switched 16 32
	begin replica_interval 1
	n=$(how_often)
	blkdiscard "$SET"
	fusion-stamp fill "$SET" --state "$TMP/state" --size $((WRITTEN * 64))k
	for ((i = 0; i < n; i++)); do
		lose_power fusion-stamp run "$SET" --state "$TMP/state" --extent 64k --threads 2 \
			--mix 20:30:5:40:3:2 2>"$TMP/said"
		no_slot_reused "$TMP/last"
		fusion replica migration off replica_interval 1
		places replica >"$TMP/opened"
		no_slot_reused "$TMP/opened"
		msg replica checkpoint
		agrees
		# slots of shadows that were copied anew wait for the next update
		within 20 "no slot is held" none_held
		fusion-stamp verify "$SET" --state "$TMP/state" --power-cut
	done
}

# moves only: the replica never places a fast extent on the slow member
long_promotions_cut() {
	local i n
	switched 16 32
	begin replica_interval $NEVER
	n=$(how_often)
	blkdiscard -l $((64 * 65536)) "$SET"
	msg replica checkpoint
	for ((i = 0; i < n; i++)); do
		lose_power
		recorded "$FAST" >"$TMP/fast"
		recorded "$SLOW" >"$TMP/slow"
		awk 'NR == FNR { if ($2 == "fast") fast[$1]; next }
			$2 == "slow" && $1 in fast { print "extent " $1 }' \
			"$TMP/fast" "$TMP/slow" >"$TMP/said"
		[[ ! -s $TMP/said ]] ||
			fail "round $i: on fast, recorded on slow: $(head -n 5 "$TMP/said" | xargs)"
		fusion replica migration off replica_interval $NEVER
		msg replica checkpoint
		agrees
	done
}

# broken_log BROKEN: the slow member with a replica that cannot be read or written, or with a
# working one
broken_log() {
	local start=$(($(sb log_start) * 8)) end size
	size=$(sectors_of "$RAW")
	end=$((($(sb log_map_start1) + $(sb map_blocks)) * 8))
	dmsetup suspend --noflush link
	if [[ $1 ]]; then
		dmsetup load link <<-EOF
			0 $start linear $RAW 0
			$start $((end - start)) error
			$end $((size - end)) linear $RAW $end
		EOF
	else
		dmsetup load link --table "0 $size linear $RAW 0"
	fi
	dmsetup resume link
}

noticed() {
	[[ $(status replica replica) == failed ]]
}

# a set whose replica cannot be written works on, and says so
test_failure() {
	local first
	members 16 32
	RAW=$SLOW
	linear link "$RAW" 0 "$(sectors_of "$RAW")"
	SLOW=/dev/mapper/link
	# slots of shadows would be held as well
	begin replica_interval 1 shadow off
	first=$((FAST_EXTENTS + 50))
	broken_log 1
	blkdiscard -o $((first * 65536)) -l $((10 * 65536)) "$SET"
	sync "$SET"
	within 20 "it is noticed" noticed
	same "mode" "$(status replica mode needs_check)" "rw -"
	same "held slots" "$(counter replica replica_held)" 10
	at_least "errors" "$(counter replica replica_errors)" 1
	# writes, flushes, discards and demotions work; promotions do not
	dd if=/dev/urandom of="$SET" bs=64k count=20 oflag=direct conv=fsync status=none
	blkdiscard -l $((40 * 65536)) "$SET"
	sync "$SET"
	same "demoted" "$(msg replica demote 100)" "1 0 0 0"
	same "promoted" "$(msg replica promote $((first + 30)))" "0 0 0 1"
	same "held slots" "$(counter replica replica_held)" 10
	# so the set opens
	close replica
	fusion replica migration off replica_interval 1
	within 20 "it is noticed" noticed
	same "mode" "$(status replica mode)" rw
	put_direct "$SET" 101 0 65536
	# and the replica works again
	broken_log ''
	within 90 "it is written again" synced
	agrees
	same "held slots" "$(counter replica replica_held)" 0
	same "promoted" "$(msg replica promote $((first + 30)))" "1 0 0 0"
}

# a read-only set writes nothing
test_read_only() {
	local before
	begin
	close replica
	before=$(io_of "$SLOW" | cut -d ' ' -f 2)
	dm replica "$(table)" --readonly
	same "replica" "$(status replica replica)" "-"
	close replica
	same "writes to the slow member" "$(io_of "$SLOW" | cut -d ' ' -f 2)" "$before"
}

run_tests
