#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A set with a file system under load loses its fast member at a random moment, RUNS (1) times. Then
# what the slow member has is rescued, checked by the file system's own means and mounted, and each
# file is compared with what it was. Runs in a VM; `make loss` starts it. A line "LOSS {...}" for each
# run has the figures.
#
#	FS, FULL	ext4, xfs or btrfs; percent of the file system that are in use
#	LOSE		fast; or controls, after which every file must be there:
#			nothing: the set is closed and opened again
#			power: both members vanish at once, and are there again
#			empty: the fast member vanishes when all extents are on the slow one
#			or some: the same when UP (16) extents, random ones, are on it
#	SEED		of the first run; each further run has the next one
#	SET		settings of the set: "key=value ..."
#	REST		seconds without load between the fill and the load (0)
#	IDLE		seconds without load before the loss (0: under load)
#	FAST_MIB, SLOW_MIB, RATE, EARLIEST, LATEST	see below

# shellcheck source=../selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"
PATH=$here/../../build/loss:$PATH
loss=$(cd "$(dirname "$0")" && pwd)

FS=${FS:-ext4} FULL=${FULL:-30} RUNS=${RUNS:-1} LOSE=${LOSE:-fast} SETTINGS=${SET:-} REST=${REST:-0} IDLE=${IDLE:-0}
SEED=${SEED:-$((RANDOM << 15 | RANDOM))}
FAST_MIB=${FAST_MIB:-256} SLOW_MIB=${SLOW_MIB:-1024}
RATE=${RATE:-150}			# operations in a second
EARLIEST=${EARLIEST:-10}		# seconds of load before the loss
LATEST=${LATEST:-40}
UP=${UP:-16}
# Minutes stand for hours: heat, and the replica's age, are as in a set that is used for longer.
BASE="half_life=10 idle=100 replica_interval=10"

DEV=/dev/mapper/loss
RESCUED=/dev/mapper/rescued
COPY=/dev/mapper/copy
# shellcheck source=fsck.sh
. "$loss/fsck.sh"

# -- before --------------------------------------------------------------------------

make_tree() {
	linked "$FAST_MIB" "$SLOW_MIB"
	opened loss --extent-size 1M
	# shellcheck disable=SC2086 # words
	good fusionctl set loss $BASE $SETTINGS
	MNT=$TMP/mnt
	mkdir "$MNT"
	fs_make "$DEV"
	defer umount_quietly "$MNT"
	mount -t "$FS" "$DEV" "$MNT"
	fusion-tree fill "$TMP/journal" "$MNT" --seed "$1" --full "$FULL" >"$TMP/filled" ||
		fail "fill: status $?"
	fstrim "$MNT" || :
}

# load SEED: in the background, until its device fails
load() {
	background nice -n 5 fusion-tree run "$TMP/journal" "$MNT" --seed "$1" --full "$FULL" \
		--rate "$RATE" --sync 8 --until-error >"$TMP/load" 2>"$TMP/load.err"
	LOAD=$REPLY
}

# load_stop: in order, with all that it wrote synced; unless it has been stopped already
load_stop() {
	[[ $LOAD ]] || return 0
	kill -TERM "$LOAD"
	wait "$LOAD" || fail "the load: status $?: $(<"$TMP/load.err")"
	LOAD=
	JOBS=()
}

# load_end: its device has failed, unless it has been stopped before
load_end() {
	local i
	[[ $LOAD ]] || return 0
	# it meets the error; if it only reads what is in memory, it does not
	for ((i = 0; i < 30; i++)); do
		kill -0 "$LOAD" 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL "$LOAD" 2>/dev/null || :
	wait "$LOAD" 2>/dev/null || :
	JOBS=()
	[[ ! -s $TMP/load.err ]] || fail "the load: $(<"$TMP/load.err")"
}

# state: where the data lies, and the last point
state() {
	local age metadata on_fast points
	read -r age metadata on_fast <<<"$(status loss point_age metadata_protected metadata_fast)"
	points=$(counter loss shadow_points)
	jq -cn --argjson filled "$(<"$TMP/filled")" --argjson extents "$(status loss extents)" \
		--argjson fast "$(on loss fast 0 "$(status loss extents)")" \
		--argjson slow "$(on loss slow 0 "$(status loss extents)")" \
		--argjson up "$(status loss promotions)" --argjson down "$(status loss demotions)" \
		--arg age "$age" --argjson points "$points" --arg metadata "$metadata" --arg on_fast "$on_fast" \
		'{ files: $filled.files, filled: $filled.full, extents: $extents, fast: $fast,
		   slow: $slow, promotions: $up, demotions: $down,
		   points: $points, point_age: ($age | tonumber? // null),
		   metadata: ($metadata | tonumber? // null), metadata_fast: ($on_fast | tonumber? // null) }'
}

# -- the loss ------------------------------------------------------------------------

# unmounted DIR: also if the device below it has failed
unmounted() {
	timeout 120 umount "$1" || fail "cannot unmount"
}

# empty_fast: end the load, and have every extent on the slow member; with LOSE=some not these
empty_fast() {
	local i
	load_stop
	good fusionctl set loss migration=off
	for ((i = 0; i < 20; i++)); do
		msg loss demote "0-$(($(status loss extents) - 1))" >/dev/null || :
		[[ $(on loss fast 0 "$(status loss extents)") -gt 0 ]] || break
	done
	same "extents on the fast member" "$(on loss fast 0 "$(status loss extents)")" 0
	if [[ $LOSE == some ]]; then
		for i in $(msg loss map 0 "$(status loss extents)" | awk '$3 == "slow" {
			for (i = 0; i < $2; i++) print $1 + i }' | shuf -n "$UP" --random-source=<(yes "$RANDOM")); do
			msg loss promote "$i" >/dev/null
		done
	fi
	good fusionctl checkpoint loss
}

# The set as a machine without the fast member finds it.
lose_fast() {
	fusion-tree loss "$TMP/journal"
	gone fast
	load_end
	unmounted "$MNT"
	close loss
	dmsetup remove --retry fast-link
	fs_forget
}

# Nothing is lost, or what a power cut takes.
lose_nothing() {
	if [[ $LOSE == power ]]; then
		fusion-tree loss "$TMP/journal"
		power_off
		load_end
		unmounted "$MNT"
		close loss
		swap fast
		swap slow
	else
		load_stop
		unmounted "$MNT"
		close loss
	fi
	fs_forget
	good fusionctl open loss "$FAST" "$SLOW"
	COPY=$DEV
}

# The rescued device, and a writable copy of it on which all that it lacks is zeros: what ddrescue
# makes. Nothing is copied: a snapshot has what is written. It is not on the slow member itself,
# which salvage wants to itself, but on the disk below that.
rescue() {
	defer dm_remove rescued
	fusionctl salvage "$SLOW" rescued --json >"$TMP/salvage" || fail "salvage: status $?"
	need_module dm-snapshot
	null cow $((SLOW_MIB + 64))
	null zeros $((LEN / 2048 + 1))
	dm below "0 $(sectors_of "$SLOW") snapshot /dev/slow /dev/cow N 8"
	dm copy "$(jq -r '[ ((.intact + .shadow)[] | [.first_sector, .sectors, "/dev/mapper/below", .member_sector]),
		((.lost + .unknown + .empty)[] | [.first_sector, .sectors, "/dev/zeros", .first_sector]) ] |
		sort[] | "\(.[0]) \(.[1]) linear \(.[2]) \(.[3])"' "$TMP/salvage")"
}

# -- after ---------------------------------------------------------------------------

# compared DIR [OPTION]...: what the check finds there; in REPLY
compared() {
	local rc=0
	REPLY=$(timeout 300 fusion-tree check "$TMP/journal" "$@") || rc=$?
	[[ $rc -le 1 ]] || fail "the check: status $rc"
	CONTENT=$rc
}

# The rescued device as it is, without fsck; the second time with zeros for all that may never have
# been written: XFS reads the last sector before it mounts.
as_it_is() {
	local i
	AS_IT_IS=null ZERO=false
	for i in false true; do
		if [[ $i == true ]]; then
			good fusionctl close rescued
			good fusionctl salvage "$SLOW" rescued --zero
		fi
		if mount -t "$FS" -o "$(fs_as_it_is)" "$RESCUED" "$MNT" 2>/dev/null; then
			compared "$MNT"
			AS_IT_IS=$REPLY ZERO=$i
			umount "$MNT"
			break
		fi
		fs_forget
	done
	fs_forget
}

# hits PATH: the files there that salvage names are added to $TMP/hits; their number in HITS, or null
hits() {
	local rc=0
	timeout 120 fusionctl salvage "$SLOW" --files "$1" --json >"$TMP/files" 2>"$TMP/files.err" || rc=$?
	[[ $rc -eq 0 ]] || { say "--files: $(<"$TMP/files.err")"; return; }
	# without a directory that it is mounted on
	jq -r --arg mnt "$MNT" '.files[].path | ltrimstr($mnt)' "$TMP/files" >>"$TMP/hits"
	sort -u -o "$TMP/hits" "$TMP/hits"
	HITS=$(wc -l <"$TMP/hits")
}

# One run: everything, once.
one_run() {
	local seed=$((SEED + $1 - 1)) wait after start=$SECONDS salvage=null
	RANDOM=$((seed % 32768))
	wait=$((EARLIEST + RANDOM % (LATEST - EARLIEST + 1)))
	AS_IT_IS=null ZERO=false HITS=null
	: >"$TMP/hits"
	make_tree "$seed"
	say "filled after $((SECONDS - start)) s"
	sleep "$REST"
	say "before the load: $(fusionctl status loss | grep protected || :)"
	load "$((seed + 1000000))"
	sleep "$wait.$((RANDOM % 10))"
	kill -0 "$LOAD" 2>/dev/null || fail "the load has ended: $(cat "$TMP/load" "$TMP/load.err")"
	if [[ $IDLE -gt 0 ]]; then
		load_stop
		sleep "$IDLE"
	fi
	[[ $LOSE != @(empty|some) ]] || empty_fast
	STATE=$(state)
	if [[ $LOSE == @(fast|empty|some) ]]; then
		lose_fast
		rescue
		as_it_is
		[[ $FS != ext4 ]] || hits "$RESCUED"
		salvage=$(jq -c '{ mountable, mountable_why, current, bytes }' "$TMP/salvage")
	else
		lose_nothing
	fi
	say "lost after $((SECONDS - start)) s"
	fs_check "$COPY"
	[[ $FSCK != failed ]] || say "fsck: $(tail -n 4 "$TMP/fsck" | cut -c 1-200)"
	if fs_mount "$COPY" "$MNT"; then
		[[ $salvage == null ]] || hits "$MNT"
		compared "$MNT" --hits "$TMP/hits" --list "$TMP/list"
		umount "$MNT"
	else
		compared "" --hits "$TMP/hits"
	fi
	after=$REPLY
	fs_forget
	echo "LOSS $(jq -cn --arg fs "$FS" --argjson full "$FULL" --argjson run "$1" \
		--argjson seed "$seed" --arg lose "$LOSE" --arg set "$SETTINGS" --argjson rest "$REST" --argjson rate "$RATE" --argjson idle "$IDLE" \
		--argjson seconds "$wait" --argjson state "$STATE" --argjson salvage "$salvage" \
		--argjson as_it_is "$AS_IT_IS" --arg fsck "$FSCK" --arg status "$FSCK_STATUS" \
		--arg mount "$MOUNT" --argjson hits "$HITS" --argjson after "$after" --arg kernel "$VM_KVER" \
		--argjson zero "$ZERO" \
		'{ fs: $fs, full: $full, run: $run, seed: $seed, kernel: $kernel, lose: $lose, set: $set,
		   rest: $rest, rate: $rate, idle: $idle, seconds: $seconds, state: $state, salvage: $salvage, zero: $zero, as_it_is: $as_it_is,
		   fsck: $fsck, fsck_status: $status, mount: $mount, hits: $hits, after: $after }')"
	say "done after $((SECONDS - start)) s"
	if [[ $LOSE != @(fast|some) ]]; then
		[[ $CONTENT -eq 0 ]] || head "$TMP/list"
		same "the check, with nothing lost" "$CONTENT" 0
		[[ $LOSE == power ]] || same "files that are whole" "$(jq .whole <<<"$after")" "$(jq .files <<<"$after")"
	fi
}

grep -qw "$FS" /proc/filesystems || modprobe -q "$FS" ||
	skip "this kernel has no $FS; try KVER=uml-fs"
need jq "mkfs.$FS"
ONLY=
for ((i = 1; i <= RUNS; i++)); do
	eval "test_run_$i() { one_run $i; }"
	ONLY+="test_run_$i "
done
run_tests
