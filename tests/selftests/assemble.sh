#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Assembly opens one device, once: whichever member appears first, however late, twice,
# concurrently, and again after the initramfs. In case of doubt the set stays closed, with a line
# that also goes to the console. The udev rule does all of this when disks are plugged in.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# -- what the tests share ------------------------------------------------------

# quietly COMMAND...: it succeeds, and prints nothing
quietly() {
	good "$@"
	same "output of '$*'" "$(<"$TMP/out")" ''
}

# came DEV...: the call of the udev rule
came() {
	local dev
	for dev; do
		good fusionctl assemble --incremental "$dev"
	done
}

# refuses CODE TEXT DEV: came fails with this line, also on the console
refuses() {
	local mark="selftest mark $RANDOM$RANDOM"
	echo "$mark" >/dev/kmsg
	expect "$1" "$2" fusionctl assemble --incremental "$3"
	has "the kernel's log" "$(dmesg | sed "1,/$mark/d")" "fusionctl: $2"
}

is_open() {
	[[ -b /dev/mapper/$1 ]]
}

# closed: there is no set, neither open nor half made
closed() {
	same "open sets" "$(dmsetup info -c --noheadings -o name,uuid 2>/dev/null |
		grep FUSION- || :)" ''
}

# once NAME: only this set is open
once() {
	is_open "$1" || fail "$1 is not open"
	same "open sets" "$(dmsetup info -c --noheadings -o name,uuid | grep -c FUSION-)" 1
	same "uuid" "$(dmsetup info -c --noheadings -o uuid "$1")" "FUSION-$UUID"
}

# forget: the state after a boot
forget() {
	rm -rf /run/fusion
}

# a_set: a set called pair, on FAST and SLOW, which assemble has not seen yet
a_set() {
	format pair --extent-size 64K
	UUID=$(uuid_of "$FAST")
	defer dm_remove pair
	forget
}

# pair: the same on null devices
pair() {
	need_module dm-fusion
	members 64 256
	a_set
}

# -- probe ---------------------------------------------------------------------------

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
	expect 4 "/dev/other: not a member of a fusion set; fusionctl list shows those there are" \
		fusionctl probe /dev/other
	expect 2 "--udev: can't go with --json; choose one" fusionctl probe --udev --json "$FAST"
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

# -- one device, once ------------------------------------------------------------------

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
	(while :; do
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
	kill "$busy"
	wait "$busy" || :
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
	text="/run/fusion/lock: another fusionctl has held it for a minute; wait for it, or end it, \
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
	expect 2 "assemble: give one of --incremental, --scan and --waiting; see fusionctl help \
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

# -- what is not opened ----------------------------------------------------------------

test_copy() {
	local copy=/dev/clone text
	pair
	null clone 64
	replaced "$FAST" $copy
	text="both claim to be the same member of the set pair; detach one, or open the set by \
naming both of its devices"
	# the copy appears after the member
	came "$FAST"
	refuses 4 "$copy: is a copy of $FAST, $text" $copy
	# now neither is trusted
	refuses 4 "$FAST: is a copy of $copy, both claim to be the same member; detach one, or name \
the devices to use" "$SLOW"
	closed
	# the copy appears first, and udev has not reported the member yet
	forget
	came $copy
	refuses 4 "$FAST: is a copy of $copy, both claim to be the same member; detach one, or name \
the devices to use" "$SLOW"
	expect 4 "$FAST: is a copy of $copy, both claim to be the same member; detach one, or name \
the devices to use" fusionctl assemble --scan
	closed
	# the user names the right one
	good fusionctl open pair "$FAST" "$SLOW"
	refuses 4 "$copy: is a copy of $FAST, $text" $copy
	quietly fusionctl assemble --incremental "$FAST"
	once pair
}

# steps: the clock is set again and again, as in a boot without a battery-backed clock
steps() {
	while sleep 0.1; do
		date -s "+1 hour" >/dev/null
	done
}

# set_back TIME UPTIME: restore the clock
set_back() {
	local now
	read -r now _ </proc/uptime
	date -s "@$(($1 + ${now%.*} - $2))" >/dev/null
}

# A device that answers slowly, but not too slowly, is waited for.
test_copy_beside_a_clock_that_steps() {
	local up
	need_module dm-delay
	pair
	null clone 64
	replaced "$FAST" /dev/clone
	dm late "0 $(sectors_of /dev/clone) delay /dev/clone 0 20"
	came "$FAST"
	read -r up _ </proc/uptime
	defer set_back "$(date +%s)" "${up%.*}"
	background steps
	expect 4 "$FAST: is a copy of /dev/mapper/late, both claim to be the same member; detach one, \
or name the devices to use" fusionctl assemble --incremental "$SLOW"
	kill "$REPLY"
	closed
}

# the_past: the message about a stale SSD; the time in it is that of its superblock
the_past() {
	local out rc=0
	out=$(fusionctl open pair "$FAST" "$SLOW" 2>&1) || rc=$?
	[[ $rc -eq 4 ]] || fail "exit code of open: $rc" >&2
	[[ $out =~ ^'fusionctl: pair: the fast member '"$FAST"' is from the past, or lost writes: last written '[-0-9]{10}' '[0-9:]{8}(', '[1-9][0-9]*' '[a-z]+(' '[a-z]+)?)+' behind what the slow member has seen; connect the present one, or see fusionctl help repair'$ ]] ||
		fail "what open says: $out" >&2
	echo "${out#fusionctl: }"
}

# An SSD that was replaced by a copy of itself, or put back after it was away.
test_stale() {
	local text
	pair
	replaced "$FAST" "$TMP/old"
	good fusionctl open pair
	good fusionctl close pair
	# the members as they are now, both closed cleanly
	replaced "$FAST" "$TMP/since"
	put_old
	came "$FAST"
	text=$(the_past)
	refuses 4 "$text" "$SLOW"
	closed
	replaced "$TMP/since" "$FAST"
	good fusionctl open pair
	good fusionctl close pair
	put_old
	came "$FAST"
	text=$(the_past)
	has "how far back it is" "$text" ", 2 activations, "
	refuses 4 "$text" "$SLOW"
	expect 4 "$text" fusionctl assemble --scan
	closed
}

# put_old: put the old copy back, and forget it
put_old() {
	replaced "$TMP/old" "$FAST"
	forget
}

# A member of the same set, but not the one that the other member names.
test_foreign() {
	local text
	pair
	null other 64
	replaced "$FAST" /dev/other
	poke /dev/other 96:8=4711
	text="is not the fast member that belongs to the set pair but one of another generation of \
it, as"
	came /dev/other
	refuses 4 "/dev/other: $text $SLOW shows; detach it" "$SLOW"
	closed
	came "$FAST"
	once pair
	refuses 4 "/dev/other: $text $FAST shows; detach it" /dev/other
}

test_shrunk() {
	need_module dm-fusion
	null base 64
	null slow 256
	SLOW=/dev/slow
	linear small /dev/base 0 $((64 * 2048))
	FAST=/dev/mapper/small
	a_set
	dm_remove small
	linear small /dev/base 0 $((60 * 2048))
	refuses 4 "$FAST: shrank from 64M to 60M; give it its old size back" "$FAST"
	came "$SLOW"
	closed
	# the whole device would match, but the mapping on top hides it
	expect 4 "$FAST: shrank from 64M to 60M; give it its old size back" fusionctl assemble --scan
	closed
}

test_read_only() {
	local text
	pair
	came "$FAST"
	blockdev --setro "$SLOW"
	text="$SLOW: is read-only, so the set pair is not opened by itself; blockdev --setrw it and \
run fusionctl assemble --scan"
	refuses 3 "$text" "$SLOW"
	expect 3 "$text" fusionctl assemble --scan
	closed
	blockdev --setrw "$SLOW"
	good fusionctl assemble --scan
	once pair
}

test_damaged() {
	pair
	put_direct "$FAST" 377 512 512
	put_direct "$FAST" 377 $((8 * 4096 + 512)) 512
	expect 7 '' fusionctl probe --udev "$FAST"
	refuses 7 "$FAST: both copies of its superblock are damaged (checksum mismatch); run \
fusionctl repair with both members" "$FAST"
	closed
}

# -- a member that does not come -----------------------------------------------------------

test_waiting() {
	local gone
	pair
	quietly fusionctl assemble --waiting
	gone=$(uuid_of "$SLOW" device_uuid)
	null_remove slow
	came "$FAST"
	good fusionctl assemble --waiting
	same "line" "$(<"$TMP/out")" "pair: the fast member $FAST is here, the slow one is missing \
(256M, uuid $gone; set $UUID)"
	good fusionctl assemble --waiting -v
	has "with -v" "$(<"$TMP/out")" "connect the missing disk, then:  $(realpath "$(command -v fusionctl)") \
assemble --scan"
	good fusionctl assemble --waiting --json
	json '.version' 1
	json '.waiting[] | .set, .set_uuid, .role, .device' $'pair\n'"$UUID"$'\nfast\n'"$FAST"
	json '.waiting[].missing | .role, .bytes, .device_uuid' $'slow\n'$((256 << 20))$'\n'"$gone"
	expect 4 "pair: the fast member $FAST is here, the slow one is missing (256M, uuid $gone; \
set $UUID); connect it, or see fusionctl help salvage" fusionctl assemble --scan
	closed
}

# boot_script DIR/FILE: as make install puts it into an initramfs, in REPLY
boot_script() {
	REPLY=$TMP/${1##*/}
	sed "/^#/!s|\\<FUSIONCTL\\>|$(command -v fusionctl)|" "$here/../../userspace/system/$1" >"$REPLY"
}

# power FAST SLOW: whether each null device is present
power() {
	echo "$1" >/sys/kernel/config/nullb/fast/power
	echo "$2" >/sys/kernel/config/nullb/slow/power
}

# The present member may appear however late.
test_initramfs_says_it_once() {
	local i block said
	pair
	rm -f /run/fusion.calls /run/fusion.said
	defer rm -f /run/fusion.calls /run/fusion.said
	boot_script initramfs-tools/local-block
	block=$REPLY
	power 0 0
	for i in 1 2 3 4 5; do
		quietly sh "$block"
	done
	power 1 0
	said="dm-fusion: $(fusionctl assemble --waiting)"
	has "line" "$said" "the slow one is missing"
	good sh "$block"
	same "line" "$(<"$TMP/out")" "$said"
	for i in 1 2 3; do
		quietly sh "$block"
	done
	# not before the third call
	rm -f /run/fusion.calls /run/fusion.said
	quietly sh "$block"
	quietly sh "$block"
	good sh "$block"
	same "line" "$(<"$TMP/out")" "$said"
}

test_mkinitcpio_says_it_once() {
	local pid
	pair
	boot_script mkinitcpio/hook
	power 0 0
	sh -c '. "$1"; run_hook; wait' sh "$REPLY" >"$TMP/said" &
	pid=$!
	JOBS+=("$pid")
	sleep 6
	same "said" "$(<"$TMP/said")" ""
	power 1 0
	within 5 "the line" grep -q "^dm-fusion: pair: .*the slow one is missing" "$TMP/said"
	wait "$pid"
	same "lines" "$(wc -l <"$TMP/said")" 1
}

# The shell of an initramfs, often dash, must not interpret a label.
test_initramfs_says_what_is_there() {
	local i said
	need dash
	pair
	rm -f /run/fusion.calls /run/fusion.said
	defer rm -f /run/fusion.calls /run/fusion.said
	# blank, a\033\c
	poke "$FAST" 128:8=0x635c3333305c6120
	power 1 0
	said="dm-fusion: $(fusionctl assemble --waiting)"
	has "line" "$said" 'dm-fusion:  a\033\c: the fast member'
	boot_script initramfs-tools/panic
	good dash "$REPLY"
	same "line before the shell" "$(head -n 1 "$TMP/out")" "$said"
	boot_script mkinitcpio/hook
	# shellcheck disable=SC2016 # dash expands it
	good dash -c '. "$1"; run_hook; wait; run_emergencyhook' dash "$REPLY"
	same "lines of mkinitcpio" "$(grep -cFx "$said" "$TMP/out")" 2
	boot_script initramfs-tools/local-block
	quietly dash "$REPLY"
	quietly dash "$REPLY"
	good dash "$REPLY"
	same "line" "$(<"$TMP/out")" "$said"
	for i in 1 2 3; do
		quietly dash "$REPLY"
	done
}

test_nofusion_is_told_of_before_the_shell() {
	pair
	boot_script initramfs-tools/panic
	quietly sh "$REPLY"
	command_line nofusion
	good sh "$REPLY"
	has "line" "$(<"$TMP/out")" "dm-fusion: nofusion is on the kernel's command line, so sets stay \
closed; open them: $(realpath "$(command -v fusionctl)") assemble --scan"
	same "lines" "$(wc -l <"$TMP/out")" 2
	good fusionctl assemble --scan
	once pair
	quietly sh "$REPLY"
	good fusionctl close pair
	power 1 0
	good sh "$REPLY"
	has "line" "$(<"$TMP/out")" "the slow one is missing"
	same "lines about nofusion" "$(grep -c nofusion "$TMP/out" || :)" 0
	umount /proc/cmdline
}

# -- what is remembered ----------------------------------------------------------------------

test_stale_records() {
	local record
	pair
	came "$FAST"
	record=$(echo /run/fusion/"$UUID"/fast-*)
	has "record" "$(<"$record")" "$(<"/sys/block/${FAST#/dev/}/dev") $FAST"

	# the device is gone, and came back with another number
	null spare 64
	replaced "$FAST" /dev/spare
	null_remove fast
	quietly fusionctl assemble --incremental "$SLOW"
	[[ ! -e $record ]]
	closed
	came /dev/spare
	once pair
	good fusionctl close pair

	# its number belongs to another device, or to none, or it is not a record at all
	for text in "$(<"/sys/block/slow/dev") $SLOW" "250:77 /dev/nosuch" "x" "" \
		"$(head -c 5000 /dev/zero | tr '\0' 9)"; do
		forget
		came /dev/spare
		echo "$text" >"$record"
		quietly fusionctl assemble --incremental "$SLOW"
		closed
		came /dev/spare
		once pair
		good fusionctl close pair
	done

	# overwritten since
	forget
	came /dev/spare
	put_direct /dev/spare 0 0 65536
	quietly fusionctl assemble --incremental "$SLOW"
	closed
}

# -- nofusion ----------------------------------------------------------------------------------

# command_line MORE: a kernel command line with these words, for all programs
command_line() {
	echo "$(</proc/cmdline) $1" >"$TMP/cmdline"
	mount --bind "$TMP/cmdline" /proc/cmdline
	defer umount_quietly /proc/cmdline
}

test_nofusion() {
	pair
	command_line "xnofusion nofusionx quiet"
	came "$FAST"
	umount /proc/cmdline
	command_line nofusion
	quietly fusionctl assemble --incremental "$SLOW"
	closed
	# an explicit request works
	good fusionctl assemble --scan
	once pair
}

# -- with udev ---------------------------------------------------------------------------------

# unplug, plug NAME...: null devices
unplug() {
	local i
	for i; do
		echo 0 >"/sys/kernel/config/nullb/$i/power"
	done
	events_done
}

plug() {
	local i
	for i; do
		echo 1 >"/sys/kernel/config/nullb/$i/power"
	done
	events_done
}

# unplugged_pair: a set that assemble has not seen yet
unplugged_pair() {
	pair
	events_done
	unplug fast slow
	forget
}

# leads LINK DEV
leads() {
	[[ -L $1 ]] || fail "no $1"
	same "$1" "$(readlink -f "$1")" "$(readlink -f "$2")"
}

# property DEV KEY
property() {
	udevadm info --query=property "$1" | sed -n "s/^$2=//p"
}

test_udev_plugging() {
	local first second links
	udev
	unplugged_pair
	for first in fast slow; do
		second=fast
		[[ $first == slow ]] || second=slow
		plug $first
		closed
		leads "/dev/disk/by-fusion/$UUID-$first" /dev/$first
		same "type" "$(property /dev/$first ID_FS_TYPE)" fusion_member
		same "role" "$(property /dev/$first ID_FUSION_ROLE)" $first
		echo 1 >/sys/kernel/config/nullb/$second/power
		links=$(date +%s%N)
		within 30 "the set is open" is_open pair
		say "$((($(date +%s%N) - links) / 1000000)) ms from the second member to /dev/mapper/pair"
		events_done
		once pair
		leads "/dev/disk/by-fusion/$UUID-$second" /dev/$second
		leads "/dev/disk/by-id/dm-uuid-FUSION-$UUID" /dev/mapper/pair
		leads /dev/disk/by-id/dm-name-pair /dev/mapper/pair
		# the real system repeats the initramfs's work
		udevadm trigger --action=add --subsystem-match=block
		events_done
		once pair
		good fusionctl close pair
		unplug fast slow
		[[ ! -L /dev/disk/by-fusion/$UUID-fast ]]
	done
	# both at once, several times
	for first in 1 2 3; do
		plug fast slow
		once pair
		good fusionctl close pair
		unplug slow fast
	done
}

# A file system on the set has its links, and its members have no such links.
test_udev_file_system() {
	udev
	unplugged_pair
	plug slow fast
	mkfs.ext4 -q -L top -U 01234567-89ab-4def-8123-456789abcdef /dev/mapper/pair
	good fusionctl close pair
	unplug slow fast
	plug fast slow
	once pair
	leads /dev/disk/by-uuid/01234567-89ab-4def-8123-456789abcdef /dev/mapper/pair
	leads /dev/disk/by-label/top /dev/mapper/pair
	same "links by uuid of the set" "$(find /dev/disk/by-uuid -name "$UUID")" ""
	good fusionctl close pair
}

test_udev_nofusion() {
	udev
	unplugged_pair
	command_line nofusion
	plug fast slow
	leads "/dev/disk/by-fusion/$UUID-fast" /dev/fast
	closed
	umount /proc/cmdline
	udevadm trigger --action=change --subsystem-match=block
	events_done
	once pair
	good fusionctl close pair
}

# A partition of a disk with a partition table, and a mapping.
test_udev_parts() {
	local part file
	udev
	need_module dm-fusion
	partitioned $((80 << 20)) 131072
	part=$REPLY
	file=$(losetup -nO BACK-FILE "$part")
	null base 256
	linear lv /dev/base 2048 $((250 * 2048))
	FAST=${part}p1 SLOW=/dev/mapper/lv
	events_done
	a_set
	dmsetup remove lv
	losetup -d "$part"
	events_done
	forget
	losetup -P "$part" "$file"
	within 10 "$FAST" test -b "$FAST"
	events_done
	leads "/dev/disk/by-fusion/$UUID-fast" "$FAST"
	closed
	dmsetup create lv --table "0 $((250 * 2048)) linear /dev/base 2048"
	events_done
	leads "/dev/disk/by-fusion/$UUID-slow" /dev/mapper/lv
	once pair
	good fusionctl close pair
}

# A suspended device, and one with another signature.
test_udev_keeps_off() {
	udev
	unplugged_pair
	plug fast slow
	once pair
	# a read now would wait until it is resumed
	dmsetup suspend pair
	udevadm trigger --action=change --subsystem-match=block
	events_done
	dmsetup resume pair
	events_done
	good fusionctl close pair
	unplug fast
	forget

	plug fast
	# exactly the first 64 KiB of a member: copies of its superblock under an ext4
	loop $((64 << 20))
	mkfs.ext4 -q -b 4096 "$REPLY"
	dd if=/dev/fast of="$REPLY" bs=4096 skip=8 seek=8 count=1 conv=notrunc,fsync status=none
	events_done
	udevadm trigger --action=change "$REPLY"
	events_done
	same "type" "$(property "$REPLY" ID_FS_TYPE)" ext4
	same "role" "$(property "$REPLY" ID_FUSION_ROLE)" ""
	unplug fast slow
}

# watched: two devices whose writers udev notices when they close them
watched() {
	udev
	need_module dm-fusion
	loop $((64 << 20))
	FAST=$REPLY
	loop $((256 << 20))
	SLOW=$REPLY
	events_done
}

# The tool makes sets, and udev's events do not interfere.
test_udev_create() {
	watched
	defer dm_remove pair
	good fusionctl format pair --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
	udevadm trigger --action=change --subsystem-match=block
	events_done
	closed
	good fusionctl create pair --fast "$FAST" --slow "$SLOW" --yes --force --extent-size 64K
	events_done
	UUID=$(uuid_of "$FAST")
	once pair
	within 10 "link" test -L "/dev/disk/by-fusion/$UUID-slow"
	leads "/dev/disk/by-fusion/$UUID-fast" "$FAST"
	good fusionctl close pair
	udevadm trigger --action=change --subsystem-match=block
	events_done
	closed
}

# The same for repair: udev opens nothing behind its back, or before the result is tested.
test_udev_mended() {
	local i
	watched
	a_set
	events_done
	good fusionctl assemble --scan
	good fusionctl close pair
	good fusionctl dump pair -o "$TMP/dump"
	for i in 1 2 3; do
		put_direct "$SLOW" 0 0 65536
		forget
		expect 1 '' fusionctl repair "$FAST" "$SLOW" --yes
		shows repaired
		events_done
		closed
		forget
		good fusionctl restore "$TMP/dump" "$FAST" "$SLOW" --yes --force
		events_done
		closed
		good fusionctl check "$FAST" "$SLOW"
	done
	good fusionctl open pair
	once pair
	good fusionctl close pair
}

# With one worker the links of the set wait for assemble, and assemble waits for them, but not
# forever.
test_udev_one_worker() {
	local start
	udev --children-max=1
	unplugged_pair
	plug fast
	start=$SECONDS
	plug slow
	once pair
	say "$((SECONDS - start)) s"
	at_most "seconds" $((SECONDS - start)) $((20 * SLOWNESS))
	good fusionctl close pair
}

run_tests
