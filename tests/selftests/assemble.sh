#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Assembly opens one device, once: whichever member appears first, however late, twice,
# concurrently, and again after the initramfs.

# shellcheck source=assembly.sh
. "$(dirname "$0")/assembly.sh"

# -- probe -------------------------------------------------------------------------------------

test_probe() {
	pair
	good fusionctl probe --udev "$FAST"
	same "for udev" "$(<"$TMP/out")" "ID_FS_TYPE=fusion_member
ID_FS_USAGE=raid
ID_FS_VERSION=2
ID_FS_UUID_ENC=$UUID
ID_FS_UUID=$UUID
ID_FS_UUID_SUB_ENC=$(uuid_of "$FAST" device_uuid)
ID_FS_UUID_SUB=$(uuid_of "$FAST" device_uuid)
ID_FS_LABEL_ENC=pair
ID_FS_LABEL=pair
ID_FUSION_ROLE=fast"
	good fusionctl probe --udev "$SLOW"
	has "role" "$(<"$TMP/out")" "ID_FUSION_ROLE=slow"
	good fusionctl probe --json "$SLOW"
	json '.version, .set, .role, .state, .clean' $'1\npair\nslow\nok\ntrue'
	json '.peer | .role, .bytes' $'fast\n'$((64 << 20))
	json '.peer.device_uuid' "$(uuid_of "$FAST" device_uuid)"
	good fusionctl probe "$SLOW"
	has "for people" "$(<"$TMP/out")" "member   slow, 256M, uuid $(uuid_of "$SLOW" device_uuid)"

	null other 64
	expect 4 '' fusionctl probe --udev /dev/other
	expect 4 "/dev/other: not a member of a fusion set; fusionctl list shows the members" \
		fusionctl probe /dev/other
	expect 2 "--udev: cannot be combined with --json; choose one" \
		fusionctl probe --udev --json "$FAST"
	same "written" "$(written /dev/other)" "0 0 0"
}

# A label may contain anything, and appears in line-based databases and in names of links.
test_probe_odd_label() {
	pair
	# a"b$, end of line, (c)
	poke "$FAST" 128:8=0x2963280a24622261
	good fusionctl probe --udev "$FAST"
	same "lines" "$(wc -l <"$TMP/out")" 10
	same "lines that are KEY=VALUE" "$(grep -c '^ID_[A-Z_]*=[^"$]*$' "$TMP/out")" 10
	has "encoded" "$(<"$TMP/out")" 'ID_FS_LABEL_ENC=a\x22b\x24\x0a\x28c\x29'
	defer dm_remove fusion
	poke "$SLOW" 128:8=0x2963280a24622261
	came "$FAST" "$SLOW"
	once fusion
}

# Half a superblock below a file system is a remnant.
test_probe_remnant() {
	pair
	put_direct "$FAST" 0 0 4096
	good fusionctl probe --udev "$FAST"
	has "one copy" "$(<"$TMP/out")" "ID_FS_UUID=$UUID"
	mkfs.ext4 -q -b 4096 -E nodiscard,lazy_itable_init=1 "$FAST"
	dd if="$SLOW" of="$FAST" bs=4096 skip=8 seek=8 count=1 conv=notrunc oflag=direct status=none
	expect 4 '' fusionctl probe --udev "$FAST"
	has "what it is" "$(fusionctl assemble --incremental "$FAST" 2>&1 || :)" "not a member"
	closed
}

test_probe_suspended() {
	pair
	linear over "$FAST" 0 "$(sectors_of "$FAST")"
	dmsetup suspend over
	expect 5 "/dev/mapper/over: is suspended; resume it with dmsetup resume" \
		limited 5 fusionctl probe /dev/mapper/over
	# a search does not wait for it either, or take the device below for the member
	limited 5 fusionctl list >/dev/null
	dmsetup resume over
}

# -- one device, once --------------------------------------------------------------------------

test_order() {
	local first second
	pair
	for first in "$FAST" "$SLOW"; do
		second=$FAST
		[[ $first != "$FAST" ]] || second=$SLOW
		forget
		quietly fusionctl assemble --incremental "$first"
		closed
		good fusionctl assemble --incremental "$second"
		same "output" "$(<"$TMP/out")" "/dev/mapper/pair is ready"
		once pair
		good fusionctl close pair
	done
}

test_twice() {
	local i
	pair
	for i in 1 2 3; do
		quietly fusionctl assemble --incremental "$FAST"
	done
	closed
	came "$SLOW"
	# in the initramfs, and again when the real system reports all devices
	for i in "$SLOW" "$FAST" "$FAST" "$SLOW"; do
		quietly fusionctl assemble --incremental "$i"
	done
	quietly fusionctl assemble --scan
	once pair
}

# The second member comes minutes after the first, as USB disks do. Nothing waits in the meantime.
test_late() {
	pair
	came "$FAST"
	sleep 3
	same "processes" "$(pidof fusionctl || :)" ''
	came "$SLOW"
	once pair
}

test_concurrently() {
	local round i jobs
	pair
	for round in 1 2 3; do
		forget
		jobs=()
		for i in 1 2 3 4 5 6 7 8; do
			fusionctl assemble --incremental "$FAST" >>"$TMP/all" 2>&1 &
			jobs+=($!)
			fusionctl assemble --incremental "$SLOW" >>"$TMP/all" 2>&1 &
			jobs+=($!)
			fusionctl assemble --scan >>"$TMP/all" 2>&1 &
			jobs+=($!)
		done
		for i in "${jobs[@]}"; do
			wait "$i" || fail "round $round: one failed: $(<"$TMP/all")"
		done
		once pair
		same "who opened it" "$(sort -u "$TMP/all") $(wc -l <"$TMP/all")" \
			"/dev/mapper/pair is ready $round"
		good fusionctl close pair
	done
}

# Nothing interferes with create and open that the user runs at the same time.
test_beside_the_user() {
	local i busy
	pair
	came "$FAST"
	(until [[ -e $TMP/enough ]]; do
		fusionctl assemble --incremental "$FAST" || :
		fusionctl assemble --incremental "$SLOW" || :
	done >/dev/null 2>&1) &
	busy=$!
	JOBS+=("$busy")
	for i in 1 2 3 4 5; do
		is_open pair || fusionctl open pair 2>/dev/null || :
		within 10 "open" is_open pair
		good fusionctl close pair
		good fusionctl create pair --fast "$FAST" --slow "$SLOW" --yes --force --extent-size 64K
		UUID=$(uuid_of "$FAST")
		once pair
		good fusionctl close pair
	done
	# killed, it would leave a fusionctl that opens the disks of the next test
	touch "$TMP/enough"
	wait "$busy"
	closed
}

# asked PTY: create has printed its question
asked() {
	grep -q "type yes" "$1"
}

# An SSD that discards may keep create busy for minutes before it writes the first superblock.
# Opening another set does not wait for it.
test_beside_a_long_create() {
	local making answers
	need script
	pair
	null fast2 64
	null slow2 256
	linear held /dev/slow2 0 "$(sectors_of /dev/slow2)"
	mkfifo "$TMP/answers"
	script -qec "fusionctl create new --fast /dev/fast2 --slow /dev/mapper/held" -O /dev/null \
		<"$TMP/answers" >"$TMP/pty" 2>&1 &
	making=$!
	JOBS+=("$making")
	defer dm_remove new
	exec {answers}>"$TMP/answers"
	within 10 "question" asked "$TMP/pty"
	dmsetup suspend --noflush held
	echo yes >&"$answers"
	# it has begun
	within 10 "write" holds_back
	sleep 1
	limited 10 fusionctl assemble --incremental "$FAST"
	limited 10 fusionctl assemble --incremental "$SLOW"
	once pair
	dmsetup resume held
	exec {answers}>&-
	wait "$making" || fail "create: status $?: $(<"$TMP/pty")"
	is_open new
	good fusionctl close new
	good fusionctl close pair
}

# holds_back: it waits for the write to the suspended device
holds_back() {
	grep -q D "/proc/$(pidof fusionctl)/stat"
}

# A lock that is held for too long keeps a set closed, with a message.
long_lock_is_held() {
	local lock text
	pair
	came "$FAST"
	exec {lock}>/run/fusion/lock
	flock "$lock"
	text="/run/fusion/lock: another fusionctl has held it for 100 s; wait for it, or end it, \
and try again"
	refuses 5 "$text" "$SLOW"
	exec {lock}>&-
	closed
	came "$SLOW"
	once pair
}

# A set closed by hand stays closed until a member is plugged in again or the user opens it.
test_stays_closed() {
	pair
	came "$FAST" "$SLOW"
	good fusionctl close pair
	quietly fusionctl assemble --incremental "$FAST"
	quietly fusionctl assemble --incremental "$SLOW"
	closed
	good fusionctl assemble --scan
	once pair
	good fusionctl close pair
	forget
	good fusionctl format again --fast "$FAST" --slow "$SLOW" --yes --force
	came "$FAST" "$SLOW"
	closed
}

test_plugged_in_again() {
	local size file
	need_module dm-fusion
	size=$((64 << 20))
	null slow 256
	SLOW=/dev/slow
	loop $size
	FAST=$REPLY
	a_set
	came "$FAST" "$SLOW"
	good fusionctl close pair
	quietly fusionctl assemble --incremental "$FAST"
	closed
	file=$(losetup -nO BACK-FILE "$FAST")
	losetup -d "$FAST"
	within 5 "it is gone" gone_loop "$FAST"
	losetup "$FAST" "$file"
	[[ -e /sys/block/${FAST##*/}/diskseq ]] || skip "the kernel does not number disks"
	came "$FAST"
	once pair
	good fusionctl close pair
}

gone_loop() {
	[[ ! -e /sys/block/${1##*/}/loop ]]
}

test_in_use_by_others() {
	pair
	came "$FAST"
	linear holder "$SLOW" 4096 2048
	refuses 5 "$SLOW: is held by /dev/mapper/holder; remove that first" "$SLOW"
	closed
	dm_remove holder
	came "$SLOW"
	once pair
}

# A device on top of a member is the member, and the one below appears first.
test_stacked() {
	local i
	pair
	came "$FAST"
	linear over "$FAST" 0 "$(sectors_of "$FAST")"
	came /dev/mapper/over "$SLOW"
	once pair
	for i in "$FAST" /dev/mapper/over "$SLOW"; do
		quietly fusionctl assemble --incremental "$i"
	done
	same "fast member" "$(dmsetup deps -o devname pair | grep -o over)" over
	good fusionctl close pair
}

test_remnant_of_a_killed_one() {
	pair
	came "$FAST"
	dmsetup create pair --notable -u "FUSION-$UUID"
	came "$SLOW"
	once pair
}

test_scan() {
	pair
	null fast2 64
	null slow2 256
	good fusionctl format second --fast /dev/fast2 --slow /dev/slow2 --yes
	defer dm_remove second
	forget
	good fusionctl assemble --scan
	is_open pair
	is_open second
	good fusionctl close pair
	good fusionctl close second
	# no set, no error
	put_direct "$FAST" 0 0 65536
	put_direct "$SLOW" 0 0 65536
	put_direct /dev/fast2 0 0 65536
	put_direct /dev/slow2 0 0 65536
	quietly fusionctl assemble --scan
	expect 2 "assemble: give one of --incremental, --scan, --waiting and --planned; see fusionctl help \
assemble" fusionctl assemble
	expect 2 "assemble: --incremental needs a device; see fusionctl help assemble" \
		fusionctl assemble --incremental
	expect 2 "assemble: only --incremental takes a device; see fusionctl help assemble" \
		fusionctl assemble --scan "$FAST"
}

# A set of another machine whose name is taken still opens.
test_same_name() {
	local uuid
	pair
	null fast2 64
	null slow2 256
	good fusionctl format pair --fast /dev/fast2 --slow /dev/slow2 --yes
	uuid=$(uuid_of /dev/fast2)
	defer dm_remove "pair-${uuid:0:8}"
	forget
	came "$FAST" "$SLOW" /dev/fast2
	once pair
	expect 0 "pair: another mapped device has this name, so the set $uuid is opened as \
pair-${uuid:0:8}; mount it by uuid" fusionctl assemble --incremental /dev/slow2
	is_open "pair-${uuid:0:8}"
}

run_tests
