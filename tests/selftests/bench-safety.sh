#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl bench harms nothing: what it refuses, what it overwrites, and what it leaves behind.
# What it measures is in bench.sh.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

# mounted [KEY VALUE]...: an ext4 of its own in $TMP/mnt, on the model of a disk if some are given
mounted() {
	need mkfs.ext4
	null target 256
	if [[ $# -gt 0 ]]; then
		spindle target "$REPLY" "$@"
		REPLY=/dev/mapper/target
	fi
	mkfs.ext4 -q "$REPLY"
	mkdir "$TMP/mnt"
	mount "$REPLY" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
}

no_fio() {
	! pgrep -x fio >/dev/null
}

# begun SIZE: its pid is in PID, and it writes a file
begun() {
	fusionctl bench honest "$TMP/mnt" --quick --max-size "$1" >"$TMP/out" 2>&1 &
	PID=$!
	within 20 "files" compgen -G "$TMP/mnt/.fusion-bench-*/[0-9]*"
	within 20 "fio" pgrep -x fio
}

# ends_at_once [SIGNAL]: it ends it and fio at once, and nothing is left
ends_at_once() {
	local rc=0
	kill -"${1:-TERM}" "$PID"
	wait "$PID" || rc=$?
	same "exit status" $rc $((128 + $(kill -l "${1:-TERM}")))
	same "files left" "$(ls -A "$TMP/mnt")" "lost+found"
	no_fio || fail "fio still runs"
}

test_interrupted() {
	need fio pgrep
	mounted
	begun 4M
	ends_at_once
}

# while loads are carried out, of some seconds each
test_load_interrupted() {
	need fio pgrep
	mounted
	fusionctl bench sweep "$TMP/mnt" --quick --max-size 64M >"$TMP/out" 2>&1 &
	PID=$!
	within 20 "the file" compgen -G "$TMP/mnt/.fusion-bench-*/0"
	sleep 4
	within 20 "fio" pgrep -x fio
	ends_at_once
}

# while one run of fio writes for long
test_sustained_interrupted() {
	need fio pgrep
	mounted
	fusionctl bench sustained "$TMP/mnt" --duration 1m >"$TMP/out" 2>&1 &
	PID=$!
	within 20 "the file" compgen -G "$TMP/mnt/.fusion-bench-*/0"
	within 20 "fio" pgrep -x fio
	ends_at_once
}

# filled: does the file in $TMP/mnt take room?
filled() {
	[[ $(stat -c %b "$TMP/mnt"/.fusion-bench-*/0) -gt 0 ]]
}

# Ctrl-C, while it is filled, which takes some seconds, or while that is overwritten
test_fullness_interrupted() {
	local writes
	need fio pgrep
	mounted rate 8
	for writes in write randwrite; do
		# a job in the background would ignore it
		env --default-signal=INT \
			fusionctl bench fullness "$TMP/mnt" --duration 1m >"$TMP/out" 2>&1 &
		PID=$!
		within 20 "the fill" filled
		within 20 "fio" pgrep -f -- "--rw=$writes "
		ends_at_once INT
	done
}

# what root keeps is never used, and steps below what is there already are left out
test_fullness_steps() {
	local kept
	need fio
	mounted
	fallocate -l 120M "$TMP/mnt/file"
	good fusionctl bench fullness "$TMP/mnt" --dry-run
	has "steps" "$(<"$TMP/out")" "leaves out the steps up to 50 %: it is 5"
	has "steps" "$(<"$TMP/out")" "4 steps of 60 s"
	kept=$(stat -f -c '%f %a' "$TMP/mnt")
	fusionctl bench fullness "$TMP/mnt" --quick --duration 3s >"$TMP/out" 2>&1 &
	PID=$!
	while kill -0 $PID 2>/dev/null; do
		[[ $(stat -f -c %a "$TMP/mnt") -gt 0 ]] || fail "it takes what is kept for root"
		sleep 0.2
	done
	wait $PID || [[ $? == 8 ]] || fail "$(<"$TMP/out")"
	same "free" "$(stat -f -c '%f %a' "$TMP/mnt")" "$kept"
	same "files left" "$(ls -A "$TMP/mnt")" "file
lost+found"
	fallocate -l 220M "$TMP/mnt/file"
	refused "and has no room for the last step at 95 %; remove files, or name another " \
		fusionctl bench fullness "$TMP/mnt"
}

# a device that is only read is not opened for writing
test_read_only() {
	local rc=0
	need fio blockdev
	null target 64
	blockdev --setro "$REPLY"
	fusionctl bench mix "$REPLY" --quick --max-size 16M --json >"$TMP/out" || rc=$?
	same "exit status" $rc 8
	json '[.runs[].load] | join(", ")' "web server, launch"
}

# fio does not outlive it
test_killed() {
	need fio pgrep
	mounted
	begun 4M
	kill -KILL "$PID"
	wait "$PID" || :
	within 5 "the end of fio" no_fio
}

# overwritten: has something been written to the beginning of $DISK?
overwritten() {
	[[ $(od -An -t u8 -N 8 "$DISK") -ne 0 ]]
}

# whatever its name stands for later, the device that was named is measured, and no file made
test_link_moves() {
	local before
	need fio
	null target 256
	DISK=$REPLY
	null other 256
	dd if=/dev/urandom of="$REPLY" bs=1M count=16 oflag=direct status=none
	before=$(md5sum <"$REPLY")
	ln -s "$DISK" "$TMP/link"
	fusionctl bench honest "$TMP/link" --quick --max-size 4M --write --yes >"$TMP/out" 2>&1 &
	PID=$!
	within 20 "the first write" overwritten
	ln -sfn "$REPLY" "$TMP/link"
	# some more transfers
	sleep 5
	kill "$PID"
	wait "$PID" || [[ $? == 143 ]] || fail "$(<"$TMP/out")"
	same "the other device" "$(md5sum <"$REPLY")" "$before"
}

# what was on it is recognised no more
test_overwritten() {
	need fio mkfs.ext4
	null target 256
	DISK=$REPLY
	mkfs.ext4 -q "$DISK"
	fusionctl bench honest "$DISK" --quick --max-size 4M --write --yes --force >"$TMP/out" 2>&1 &
	PID=$!
	within 20 "the first write" overwritten
	kill "$PID"
	wait "$PID" || [[ $? == 143 ]] || fail "$(<"$TMP/out")"
	same "recognised" "$(blkid -p -o value -s TYPE "$DISK" || :)" ""
}

test_refusals() {
	need fio
	null target 64
	DISK=$REPLY
	expect 2 "fast: no such profile; write fusionctl bench honest $DISK, or sweep, mix, \
sustained or fullness" \
		fusionctl bench fast "$DISK"
	expect 2 "15M: not a size for a file; give 16M to 128G" \
		fusionctl bench mix "$DISK" --max-size 15M
	expect 2 "1M: not a size for transfers; give 4M to 128G" \
		fusionctl bench honest "$DISK" --max-size 1M
	expect 2 "1s: not a time for --duration; give 20s to 1d" \
		fusionctl bench sustained "$TMP" --duration 1s
	expect 2 "2s: not a time for --duration; give 3s to 1d" \
		fusionctl bench fullness "$TMP" --duration 2s
	expect 2 "--max-size: does not go with fullness, which fills all of it; leave it out" \
		fusionctl bench fullness "$TMP" --max-size 1G
	expect 2 "--duration: only goes with sustained and fullness; leave it out" \
		fusionctl bench mix "$TMP" --duration 1m
	expect 2 "$DISK: sustained only writes; add --write, which overwrites the device" \
		fusionctl bench sustained "$DISK"
	expect 2 "--write: only a device needs it; in a directory files are written anyway" \
		fusionctl bench honest "$TMP" --write
	mkdir "$TMP/tmpfs"
	mount -t tmpfs none "$TMP/tmpfs"
	defer umount_quietly "$TMP/tmpfs"
	expect 3 "$TMP/tmpfs: tmpfs is in memory, and that would be filled; name a directory on a \
disk" \
		fusionctl bench fullness "$TMP/tmpfs"
	refused "too small for transfers of " fusionctl bench honest "$DISK" --quick
	null data 256
	DISK=$REPLY
	mkfs.ext4 -q "$DISK"
	expect 3 "$DISK: contains ext4$(blkid -o value -s UUID "$DISK" | sed 's/.*/ (uuid &)/') at \
byte 1080; to overwrite that, add --force" \
		fusionctl bench honest "$DISK" --quick --max-size 4M --write --yes
	refused "all of it may be overwritten, and there is no terminal" \
		fusionctl bench honest "$DISK" --quick --max-size 4M --write --force
	good blkid "$DISK"
	good fusionctl bench honest "$DISK" --quick --max-size 4M --dry-run
	has "how much" "$(<"$TMP/out")" "$DISK: reads 9"
	has "how much" "$(<"$TMP/out")" "32 transfers of 2M to 4M, about 1 min at 150 MB/s"
	echo '{}' >"$TMP/wrong"
	expect 1 "$TMP/wrong: is no result of bench; name a file that fusionctl bench --json wrote" \
		fusionctl bench --compare "$TMP/wrong" "$TMP/wrong"
}

run_tests
