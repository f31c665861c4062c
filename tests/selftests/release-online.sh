#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A set that is open and in use is released: what is mounted stays mounted, on the disk alone. A
# failure before the disk has all of the content leaves the set as it was, one after it leaves the
# disk; if power fails, there is one of them, or a set in transit.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"
# shellcheck source=lib/resize.sh
. "$here/lib/resize.sh"
# shellcheck source=lib/at-boot.sh
. "$here/lib/at-boot.sh"

dir=''
node=''		# of the device, in sysfs

# MiB of the members, and of a file system that fits the slow one
SSD=16
HDD=40
FS=34

# begin: an open set, data, that moves at once and for nothing else; its label is another one
begin() {
	opened data volume --extent-size 64K
	node=$(dmsetup info -c --noheadings -o blkdevname data)
	good fusionctl set data --now idle=100 duty=100 commit_interval=100 migration=off
}

# home MIB: ext4 of that size on it, mounted on $dir, with files; a part of it lies on the SSD
home() {
	need mkfs.ext4
	mkfs.ext4 -q -L home /dev/mapper/data "$1M"
	dir=$TMP/mnt
	mkdir "$dir"
	mount /dev/mapper/data "$dir"
	defer umount_quietly "$dir"
	fill "$dir/first" 10
	fill "$dir/second" 5
	sync "$dir/first"
	good fusionctl promote data 0-199
	good fusionctl demote data 100-299
}

# released ARGUMENT...: data is released, without warnings; what it prints is in $TMP/out. It tells its
# progress if that takes long.
released() {
	fusionctl release data "$@" --yes >"$TMP/out" 2>"$TMP/err" </dev/null ||
		fail "status $?: $(<"$TMP/err")"
	[[ $'\n'$(<"$TMP/err") != *$'\nfusionctl: '* ]] || fail "$(<"$TMP/err")"
}

target() {
	dmsetup table data | cut -d' ' -f3
}

# plain: no set is left, the device leads to the disk, and only until it is closed
plain() {
	same target "$(target)" linear
	same "size" "$(sectors_of /dev/mapper/data)" "$(sectors_of "$SLOW")"
	same "open sets" "$(fusionctl list --json | jq -c .open)" '[]'
	same "status" "$(fusionctl status)" "no set is open"
	gives 4 fusionctl probe "$FAST"
	gives 4 fusionctl probe "$SLOW"
	expect 1 "data: was released, and is only another name of a plain disk; to remove that, when \
nothing uses it: fusionctl close data" fusionctl status data
}

# closed: the disk alone, with the files, and without the module
closed() {
	umount "$dir"
	good fusionctl close data
	modprobe -r dm-fusion || :
	e2fsck -fn "$SLOW" >&2
	mount "$SLOW" "$dir"
	unchanged
	umount "$dir"
}

# still_a_set: it goes on as it was, and nothing is lost
still_a_set() {
	same target "$(target)" fusion
	dmsetup status data | grep -q ' rw ' || fail "$(dmsetup status data)"
	[[ $(dmsetup status data) != *homing* ]] || fail "homing is on"
	fill "$dir/meanwhile.$RANDOM" 1
	echo 3 >/proc/sys/vm/drop_caches
	unchanged
}

test_mounted() {
	local writer
	members $SSD $HDD
	begin
	home $FS
	touch "$TMP/go"
	while [[ -e $TMP/go ]]; do
		dd if=/dev/urandom of="$dir/busy" bs=64K count=16 conv=fsync status=none
	done &
	writer=$!
	good fusionctl release data --dry-run
	shows "data: its I/O would wait for a moment at the end, "
	shows "$SLOW: would become a plain disk of ${HDD}M with ext4 (label home"
	same target "$(target)" fusion
	released --json
	json '.action, .online, .device, .content_bytes' "release
true
/dev/mapper/data
$((FS << 20))"
	at_most "pause in ms" "$(jq .paused_ms "$TMP/out")" $((10000 * SLOWNESS))
	say "paused for $(jq .paused_ms "$TMP/out") of at most $(jq .expected_ms "$TMP/out") ms"
	rm "$TMP/go"
	wait "$writer"
	plain
	fill "$dir/third" 5
	unchanged
	gives 5 fusionctl close data
	says "is mounted on $dir"
	closed
}

# Every slot is in use, and all of it is under I/O; what is behind the end of the disk is given up.
test_full() {
	local all load
	members 16 32
	begin
	all=$(extents)
	fusion-stamp fill /dev/mapper/data --state "$TMP/state" --size $((28 << 20))
	dd if=/dev/urandom of=/dev/mapper/data bs=64K seek=448 count=$((all - 448)) oflag=direct \
		conv=fsync status=none
	same "mapped" "$(status data mapped)" "$all"
	refused "say with --size how much is in use" fusionctl release data --yes
	refused "there is no terminal to ask on" fusionctl release data --size 28M </dev/null
	background fusion-stamp run /dev/mapper/data --state "$TMP/state" --size $((28 << 20)) \
		--seconds 600 --mix 40:35:10:0:0:5
	load=$REPLY
	released --size 28M
	shows "data: $SLOW is a plain disk with its content"
	shows "/dev/mapper/data leads to $SLOW until the next boot"
	sleep 1
	finish "$load"
	plain
	fusion-stamp verify /dev/mapper/data --state "$TMP/state" --size $((28 << 20))
	good fusionctl close data
	fusion-stamp verify "$SLOW" --state "$TMP/state" --size $((28 << 20))
}

homing() {
	[[ $(dmsetup status data) == *homing* ]]
}

all_home() {
	[[ $(dmsetup status data) == *' homing 0 0' ]]
}

# without a process, as that may take as long as the pause
suspended() {
	local is
	read -r is <"/sys/block/$node/dm/suspended"
	[[ $is -eq 1 ]]
}

led_to_disk() {
	[[ $(target) == linear ]]
}

# Signals end it while extents move. While I/O waits for it, they neither end nor stop it.
test_interrupted() {
	local pid signal
	need_module dm-delay
	linked $SSD $HDD
	begin
	home $FS
	# now each move takes its time
	swap slow "0 $((HDD * 2048)) delay /dev/slow 0 50"
	fusionctl release data --yes >"$TMP/out" 2>&1 &
	pid=$!
	within 20 "it has begun" homing
	kill -INT "$pid" || :
	kill -TERM "$pid" || :
	! wait "$pid" || fail "it has not noticed the signal: $(<"$TMP/out")"
	shows "was stopped; to go on, run fusionctl release again"
	shows "data: is still a set, with all its content"
	swap slow
	still_a_set
	dmsetup message data 0 homing on zero
	within 20 "all is at home" all_home
	# and now each write of the last step
	swap slow "0 $((HDD * 2048)) delay /dev/slow 0 10"
	set -m
	fusionctl release data --yes >"$TMP/out" 2>&1 &
	set +m
	pid=$!
	within 20 "it is suspended" suspended
	for signal in TSTP QUIT HUP INT TERM; do
		kill -"$signal" "$pid"
	done
	within 20 "the device leads to the disk" led_to_disk
	kill -CONT "$pid"
	wait "$pid" || fail "status $?: $(<"$TMP/out")"
	shows "data: $SLOW is a plain disk with its content"
	swap slow
	plain
	closed
}

# failed SECTOR: the disk cannot be written there, and so is not released
failed() {
	bad_sectors slow "$1" 8
	gives 1 fusionctl release data --yes --leave-unmapped
	says "write failed"
	says "data: is still a set, with all its content"
	swap slow
	still_a_set
	same "state" "$(fusionctl list --json | jq -r '.members[].state' | sort -u)" ok
}

# Where the set has nothing, and, when it is in transit already, in a slot that is a spare until then.
# The last block of the SSD is written only when it is wiped, and the disk is in use already.
test_member_fails() {
	linked $SSD $HDD
	begin
	home $FS
	failed $((HDD * 2048 - 16))
	failed $((($(sb slow_first_slot) + $(sb nr_slow_slots)) * 128 - 16))
	bad_sectors fast $((SSD * 2048 - 16)) 8
	gives 1 fusionctl release data --yes --leave-unmapped
	says "data: is released, and only $FAST is not wiped; run fusionctl release volume --resume"
	same target "$(target)" linear
	swap fast
	fill "$dir/later" 1
	good fusionctl release volume --resume
	plain
	closed
}

# In its first blocks neither the content nor the metadata can be written: it is in transit.
test_no_way_back() {
	linked $SSD $HDD
	begin
	home $FS
	umount "$dir"
	bad_sectors slow 24 8
	gives 1 fusionctl release data --yes --leave-unmapped
	says "data: stays suspended, as it is in transit; restart the machine, and run fusionctl release \
volume --resume, or --abort"
	swap slow
	dmsetup remove --force data
	good fusionctl release volume --resume
	e2fsck -fn "$SLOW" >&2
	mount "$SLOW" "$dir"
	unchanged
	umount "$dir"
}

# power_cut COMMAND...: power fails when that has succeeded
power_cut() {
	local pid
	switched $SSD $HDD
	begin
	home $FS
	sync "$dir/second" "$dir"
	fusionctl release data --yes >"$TMP/out" 2>&1 &
	pid=$!
	until "$@" || no_process "$pid"; do :; done
	# so that it has not ended before
	kill -STOP "$pid" || :
	power_off
	kill -CONT "$pid" || :
	wait "$pid" || :
	say "power fails when it is $*: $(tail -n 1 "$TMP/out")"
	# whatever it is, and suspended or not
	dmsetup wipe_table --noflush --nolockfs data
	umount -l "$dir"
	within 20 "data is gone" dmsetup remove --force --retry data
	power_on
	case $(fusionctl list --json | jq -r '[.members[].state] | unique | join(" ")') in
	"")	;;
	ok)	good fusionctl open volume
		good fusionctl release volume --yes
		good fusionctl close volume ;;
	*)	good fusionctl release volume --resume ;;
	esac
	e2fsck -fp "$SLOW" >&2 || [[ $? -eq 1 ]]
	mount "$SLOW" "$dir"
	unchanged
	umount "$dir"
}

test_cut_while_in_use() {
	power_cut homing
}

test_cut_while_suspended() {
	power_cut suspended
}

test_refusals() {
	members $SSD $HDD
	begin
	mkfs.ext4 -q -L home /dev/mapper/data
	refused "and $SLOW only ${HDD}M; shrink it, in the open set, with resize2fs" \
		fusionctl release data --yes
	mkfs.ext4 -q -F -L home /dev/mapper/data ${FS}M
	refused "is a member of the open set data" fusionctl release "$FAST" "$SLOW" --yes
	put /dev/mapper/data 77 $((44 << 20)) 65536
	refused "to give that up, add --size with the size of what is in use" \
		fusionctl release data --yes
	linear top /dev/mapper/data 0 $((46 * 2048))
	refused "/dev/mapper/top on it reaches to 46M, and $SLOW has only ${HDD}M; shrink that first" \
		fusionctl release data --size ${FS}M --yes
	dm_remove top
	lines /etc/fstab "/dev/mapper/data /home ext4 defaults 0 2"
	gives 0 fusionctl release data --size ${FS}M --dry-run
	says "/etc/fstab: has /dev/mapper/data, which leads to the content until the next boot, and \
not after it; name it by UUID= there"
	lines /etc/fstab "/dev/mapper/data /usr ext4 defaults 0 2"
	refused "/etc/fstab: has /dev/mapper/data, which would not lead to the content any more" \
		fusionctl release data --size ${FS}M --dry-run
	same target "$(target)" fusion
	expect 2 "--resume: takes the name of the set, or both members, the fast one first; see \
fusionctl help release" fusionctl release data --resume --size ${FS}M
	dmsetup suspend data
	refused "it is suspended; run dmsetup resume data first" fusionctl release data --yes
	dmsetup resume data
	good fusionctl close data
}

# as_usr ARGUMENT...: fusionctl, while the set has /usr, and so needs its libraries elsewhere
as_usr() {
	local lib program
	program=$(type -P fusionctl)
	if [[ ! -e $TMP/lib ]]; then
		mkdir "$TMP/lib"
		LD_TRACE_LOADED_OBJECTS=1 "$program" | grep -o '/[^ ]*' >"$TMP/libraries"
		while read -r lib; do
			cp -L "$lib" "$TMP/lib"
		done <"$TMP/libraries"
		cp -L "$program" "$TMP/lib/fusionctl"
	fi
	# shellcheck disable=SC2016 # for the other shell
	busybox unshare -m bash -c 'mount --bind "$1" /usr && exec "$2"/ld-linux-* --library-path \
		"$2" "$2/fusionctl" "${@:3}"' - "$dir" "$TMP/lib" "$@"
}

# The boot may have to finish the release, and has to find the content on the disk.
test_system() {
	local script=share/initramfs-tools/scripts/init-premount/fusion
	need busybox
	members $SSD $HDD
	begin
	home $FS
	refused "data: has a part of this system, and after a power failure in the last step the \
initramfs could not finish that, as /usr/$script is missing; release it from another system" \
		as_usr release data --dry-run
	mkdir -p "$dir/${script%/*}"
	touch "$dir/$script"
	gives 0 as_usr release data --dry-run
	lines /proc/cmdline "root=UUID=1 resume_offset=4096"
	refused "resume_offset=4096: on the kernel's command line: a hibernated system may be there" \
		as_usr release data --dry-run
	# which matters to the system only
	good fusionctl release data --dry-run
	lines /proc/cmdline "root=/dev/mapper/data ro"
	refused "the kernel's command line: has root=/dev/mapper/data, which would not lead to the \
content any more; name it by UUID= there" fusionctl release data --yes
	lines /proc/cmdline "root=UUID=1"
	lines /etc/fstab "/dev/mapper/data / ext4 defaults 0 1"
	refused "/etc/fstab: has /dev/mapper/data, which would not lead to the content any more" \
		fusionctl release data --yes
	lines /etc/fstab "UUID=1 / ext4 defaults 0 1"
	still_a_set
}

# While its device leads to the disk, the set is not open, even if a copy of a member comes.
test_copy_comes() {
	members $SSD $HDD
	null copy $SSD
	begin
	home $FS
	good fusionctl checkpoint data
	dd if="$FAST" of=/dev/copy bs=1M conv=fsync status=none
	released
	good fusionctl assemble --incremental /dev/copy
	same "output" "$(<"$TMP/out")" ''
	good fusionctl assemble --waiting
	shows "/dev/copy"
	plain
	closed
}

run_tests
