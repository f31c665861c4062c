#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Everything at once, for MINUTES (1): stamped I/O on one set, a file system on another, and moves
# and messages of all kinds on both, all the time. One after the other, as SEED decides: suspend,
# reload, close and open, and members that fail. Ends with a table. Runs in a VM; `make soak` starts
# it.

# shellcheck source=../selftests/lib.sh
. "$(dirname "$0")/../selftests/lib.sh"
soak=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=figures.sh
. "$soak/figures.sh"
# shellcheck source=faults.sh
. "$soak/faults.sh"

MINUTES=${MINUTES:-1}
SEED=${SEED:-$((RANDOM << 15 | RANDOM))}
BOUND=${BOUND:-120}	# seconds that anything may take
LANDING=${LANDING:-}	# size of the landing log of both sets

SET=/dev/mapper/soak
SETS=(soak soakfs)
declare -A BASE=()	# table lines without options
MINUTE=0
LOAD='' STORMS=() STORM_SIZE=() BATCH='' BATCHES=0 ORDER=()

# -- sets ----------------------------------------------------------------------------

make_sets() {
	null fsfast 96 irqmode=2 completion_nsec=20000
	FAST=$REPLY
	null fsslow 288 irqmode=2 completion_nsec=20000
	SLOW=$REPLY
	format --extent-size 256K
	BASE[soakfs]=$(table)
	dm soakfs "${BASE[soakfs]}"
	STORM_SIZE=("$(sb nr_lexts) $(sb nr_fast_slots)")
	switched 12 36
	stale "$FAST"
	stale "$SLOW"
	format --extent-size 64K
	BASE[soak]=$(table)
	dm soak "${BASE[soak]}"
	STORM_SIZE+=("$(sb nr_lexts) $(sb nr_fast_slots)")
	geometry
	which_kinds
}

# random_options: for a table line
random_options() {
	local all=("migration on" "migration off" "reserve $((1 + RANDOM % 20))"
		"half_life $((1 + RANDOM % 60))" "duty $((10 + RANDOM % 91))" "idle $((RANDOM % 300))"
		"commit_interval $((10 + RANDOM % 1000))" "replica_interval $((1 + RANDOM % 9))"
		"discard_passdown off" "standby $((1 + RANDOM % 9))"
		"write_budget $((1 + RANDOM % 9))" "shadow off") i text=''
	[[ $LANDING ]] || all+=("shadow_age $((RANDOM % 30))")
	for ((i = RANDOM % 4; i > 0; i--)); do
		text+=" ${all[RANDOM % ${#all[@]}]}"
	done
	# shellcheck disable=SC2086 # words
	set -- $text
	REPLY=${1:+$# $*}
}

open_set() {
	random_options
	timed open dmsetup create "$1" --table "${BASE[$1]} $REPLY" || fail "$1 does not open"
	[[ ! ${DM_DISABLE_UDEV:-} ]] || dmsetup mknodes "$1" >/dev/null
	count openings
}

close_set() {
	count_moves "$1"
	timed close dmsetup remove --retry "$1" || fail "$1 cannot be closed"
}

# -- loads ---------------------------------------------------------------------------

# pause SECONDS: without starting a program
pause() {
	read -rt "$1" -u "$NOTHING" || :
}

running() {
	kill -0 "$1" 2>/dev/null
}

# stuck: print all processes except for idle workers of the kernel: state, parent, processor time in
# user and kernel mode, and wait channel; and the status of the sets, if they answer
stuck() {
	local i stat
	for i in /proc/[0-9]*/task/[0-9]*; do
		stat=$(sed 's/.*) //' "$i/stat" 2>/dev/null) || continue
		[[ $stat != I* ]] || continue
		echo "${i##*/} $(<"$i/comm") $(cut -d ' ' -f 1,2,12,13 <<<"$stat"):"
		cat "$i/stack" 2>/dev/null || :
	done
	for i in "${SETS[@]}"; do
		limited 10 dmsetup table "$i" || continue
		limited 10 dmsetup status --noflush "$i" || :
		limited 10 dmsetup message "$i" 0 stats || :
		cat "$(sysfs_of "/dev/mapper/$i")/inflight" || :
	done
}

# ended PID WHAT OUTPUT [SECONDS]: wait for a background job, which must succeed
ended() {
	local rc=0 i limit=${4:-$((BOUND + 30))} kept=()
	for ((i = 0; i < limit * 10; i++)); do
		running "$1" || break
		pause 0.1
	done
	! running "$1" || { stuck; fail "$2 does not end"; }
	wait "$1" || rc=$?
	for i in "${JOBS[@]}"; do
		[[ $i == "$1" ]] || kept+=("$i")
	done
	JOBS=("${kept[@]}")
	[[ $rc -eq 0 ]] || { tail -n 30 "$3"; fail "$2: status $rc"; }
}

# begun PID WHAT OUTPUT COMMAND...: wait until the command succeeds, which means that the job has
# begun
begun() {
	local i
	for ((i = 0; i < BOUND * 10; i++)); do
		! "${@:4}" 2>/dev/null || return 0
		if ! running "$1"; then
			# it may have begun, and already ended because of a fault
			! "${@:4}" 2>/dev/null || return 0
			tail -n 30 "$3"
			fail "$2 does not begin"
		fi
		pause 0.1
	done
	fail "$2 has not begun after $BOUND s"
}

# load_start [OPTION]...: stamped I/O on the whole set, with another mix each time
load_start() {
	local mixes=(40:35:10:5:3:2 10:60:10:5:3:12 70:15:5:3:2:5 25:30:15:18:8:4 5:40:40:3:2:10)
	local options=("" --nowait --sync "--max-io 64k" "--max-io 4m" "--threads 12") extra
	extra=${options[RANDOM % ${#options[@]}]}
	# shellcheck disable=SC2086 # words
	# with a lower priority than the other work, which would hardly get any processor time
	background nice -n 10 fusion-stamp run "$SET" --state "$TMP/state" --seed "$SEED" --extent 64k \
		--bound "$BOUND" --threads 6 --mix "${mixes[RANDOM % ${#mixes[@]}]}" $extra "$@" \
		>"$TMP/load" 2>&1
	LOAD=$REPLY
	# before that it would not end cleanly
	begun "$LOAD" "the load" "$TMP/load" grep -q ^seed "$TMP/load"
}

load_end() {
	[[ $LOAD ]] || return 0
	kill -TERM "$LOAD" 2>/dev/null || :
	ended "$LOAD" "the load" "$TMP/load"
	LOAD=
	count_load "$TMP/load"
}

verify() {
	timeout -k 5 600 fusion-stamp verify "$SET" --state "$TMP/state" "$@" >"$TMP/verify" 2>&1 ||
		{ tail -n 30 "$TMP/verify"; fail "verify $*: status $?"; }
	count verified
}

storms_start() {
	local i extents slots
	for i in "${!SETS[@]}"; do
		read -r extents slots <<<"${STORM_SIZE[-1 - i]}"
		background nice -n 5 fusion-storm "${SETS[i]}" --extents "$extents" --fast-slots "$slots" \
			--bound "$BOUND" --seed $((SEED + i)) ${LANDING:+--log} --counts "$TMP/storm-$i.counts" \
			>"$TMP/storm-$i.out" 2>&1
		STORMS+=("$REPLY")
		begun "$REPLY" "storm $i" "$TMP/storm-$i.out" test -s "$TMP/storm-$i.counts"
	done
}

storms_are_well() {
	local i
	for i in "${!STORMS[@]}"; do
		running "${STORMS[i]}" || { cat "$TMP/storm-$i.out"; fail "storm $i has ended"; }
	done
}

storms_end() {
	local i
	for i in "${!STORMS[@]}"; do
		kill -TERM "${STORMS[i]}"
		ended "${STORMS[i]}" "storm $i" "$TMP/storm-$i.out"
	done
	STORMS=()
}

# -- file system ---------------------------------------------------------------------

fio_job() {
	fio --name=soak --directory="$1" --randseed="$2" --rw=randwrite --bs=4k --size=1m \
		--nrfiles=4 --numjobs=2 --thread --ioengine=psync --fsync=40 --fallocate=none \
		--verify=crc32c --verify_fatal=1 --verify_backlog=64 --output="$TMP/fio"
}

# batch N: write random files, read and compare them, and copy them; remove the earlier ones
batch() {
	local dir=$TMP/mnt/$1 before=$TMP/mnt/$(($1 - 1))
	mkdir "$dir"
	fio_job "$dir" $((SEED + $1)) || { cat "$TMP/fio"; return 1; }
	cp -r "$dir" "$dir.copy"
	sync -f "$dir"
	echo 1 >/proc/sys/vm/drop_caches
	diff -r "$dir" "$dir.copy"
	rm -rf "$before" "$before.copy"
	fstrim "$TMP/mnt" || :
}

# batches: start another one if the last has ended, which must have succeeded
batches() {
	[[ ! $BATCH ]] || ! running "$BATCH" || return 0
	batch_end
	BATCHES=$((BATCHES + 1))
	background batch $BATCHES >"$TMP/batch" 2>&1
	BATCH=$REPLY
}

batch_end() {
	[[ $BATCH ]] || return 0
	ended "$BATCH" "the load of the file system" "$TMP/batch" 900
	BATCH=
	count batches
}

fs_close() {
	batch_end
	umount "$TMP/mnt"
	e2fsck -fn "${SET}fs" >"$TMP/fsck" 2>&1 || { tail "$TMP/fsck"; fail "e2fsck: status $?"; }
	count fsck
	close_set soakfs
}

fs_open() {
	open_set soakfs
	mount "${SET}fs" "$TMP/mnt"
	[[ $BATCHES -gt 0 ]] || return 0
	diff -r "$TMP/mnt/$BATCHES" "$TMP/mnt/$BATCHES.copy" || fail "files differ"
}

# -- what happens --------------------------------------------------------------------

suspend() {
	local flags=("" --noflush --nolockfs)
	# shellcheck disable=SC2086 # none or one
	timed suspend dmsetup suspend ${flags[RANDOM % 3]} "$1" || fail "$1 cannot be suspended"
	pause "0.$((RANDOM % 10))1"
	timed resume dmsetup resume "$1" || fail "$1 cannot be resumed"
	count suspended
}

reload() {
	random_options
	dmsetup load "$1" --table "${BASE[$1]} $REPLY"
	if [[ $((RANDOM % 4)) -eq 0 ]]; then
		dmsetup clear "$1"
		count cleared
		return
	fi
	timed suspend dmsetup suspend "$1" || fail "$1 cannot be suspended"
	count_moves "$1"
	timed resume dmsetup resume "$1" || fail "$1 cannot be resumed with another table"
	count reloaded
}

# close and open cleanly: all written data is there
reopen() {
	load_end
	close_set soak
	check_closed "closed in order"
	open_set soak
	same "mode when opened" "$(status soak mode)" rw
	[[ $MARKED ]] || same "when opened" "$(status soak needs_check)" -
	verify
	load_start
	count reopened
}

reopen_fs() {
	fs_close
	fs_open
	count reopened
}

# sample: memory, with all sets closed
sample() {
	load_end
	fs_close
	close_set soak
	whole_members
	memory
	SAMPLES+=("$((SECONDS / 60)) $REPLY")
	open_set soak
	verify
	fs_open
	load_start
}

# shuffle: the kinds of faults in random order, each once
shuffle() {
	local i j
	ORDER=("${POSSIBLE[@]}")
	for ((i = ${#ORDER[@]} - 1; i > 0; i--)); do
		j=$((RANDOM % (i + 1)))
		set -- "${ORDER[i]}" "${ORDER[j]}"
		ORDER[i]=$2 ORDER[j]=$1
	done
}

# something: roughly in this order, so that a short run does most of it
something() {
	local i
	for ((i = RANDOM % 4; i >= 0; i--)); do
		case $((RANDOM % 6)) in
		0)	suspend soak ;;
		1)	suspend soakfs ;;
		2)	reload soak ;;
		3)	reload soakfs ;;
		*)	pause "$((RANDOM % 3)).5" ;;
		esac
		batches
	done
	case $((RANDOM % 6)) in
	0)	reopen ;;
	1)	reopen_fs ;;
	*)	[[ ${#ORDER[@]} -gt 0 ]] || shuffle
		fault "${ORDER[0]}"
		ORDER=("${ORDER[@]:1}") ;;
	esac
}

watch_kernel() {
	dmesg -w | grep -E --line-buffered >"$TMP/splats" \
		'BUG:|WARNING:|KASAN|UBSAN|possible .* lock|RCU usage|blocked for more than'
}

# kernel_is_well: the kernel has not complained until now
kernel_is_well() {
	[[ ! -s $TMP/splats ]] || { cat "$TMP/splats"; fail "the kernel complains"; }
}

# leaks: with all sets closed, memory that no pointer leads to
leaks() {
	local file=/sys/kernel/debug/kmemleak
	[[ $KMEMLEAK ]] || return 0
	for _ in 1 2 3; do
		echo scan >$file || fail "kmemleak has given up"
		sleep 6
	done
	cat $file >"$TMP/leaks"
	N[leaks]=$(awk -v RS='unreferenced object' '/dm_fusion/ { n++ } END { print n + 0 }' \
		"$TMP/leaks")
	N[other leaks]=$(($(grep -c 'unreferenced object' "$TMP/leaks" || :) - N[leaks]))
	[[ ${N[leaks]} -eq 0 ]] || { head -n 60 "$TMP/leaks"; fail "leaks"; }
}

test_soak() {
	local end next samples=5
	need fio mkfs.ext4 e2fsck
	need_module dm-flakey
	RANDOM=$SEED
	SECONDS=0
	say "$MINUTES minutes, SEED=$SEED"
	exec {NOTHING}<> <(:)
	: >"$TMP/splats"
	background watch_kernel
	KMEMLEAK=
	if [[ -e /sys/kernel/debug/kmemleak ]] &&
		echo scan=off >/sys/kernel/debug/kmemleak 2>/dev/null; then
		KMEMLEAK=1
	fi
	[[ ! -e /proc/sys/kernel/hung_task_timeout_secs || $BOUND -le 120 ]] ||
		echo $((BOUND + 60)) >/proc/sys/kernel/hung_task_timeout_secs
	make_sets
	mkfs.ext4 -q "${SET}fs"
	mkdir "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	mount "${SET}fs" "$TMP/mnt"
	batches
	batch_end
	load_start
	storms_start
	pause 5

	[[ $MINUTES -ge 4 ]] || samples=2
	sample
	SECONDS=0
	end=$((MINUTES * 60))
	for ((next = 1; SECONDS < end; )); do
		something
		storms_are_well
		kernel_is_well
		progress
		if [[ $SECONDS -ge $((end * next / (samples - 1))) && $next -lt $((samples - 1)) ]]; then
			sample
			next=$((next + 1))
		fi
	done
	sample
	load_end
	fs_close
	storms_end
	close_set soak
	leaks
	kernel_is_well
	table_of_all
	memory_is_kept
	modprobe -r dm_fusion || fail "the module is still in use"
}

run_tests
