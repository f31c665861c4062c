#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# adopt makes a disk with content a member: the set has the content, whether the disk becomes the
# slow or the fast member. An adoption that was interrupted is finished or undone, and no other verb
# writes to such a set. What cannot be adopted is left as it is.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

# shellcheck source=lib/contents.sh
. "$here/lib/contents.sh"
# shellcheck source=lib/at-boot.sh
. "$here/lib/at-boot.sh"

# adopted TYPE DISK OTHER: what has to hold afterwards
adopted() {
	same "what is on $2" "$(probed "$2")" ""
	same "what is on $3" "$(probed "$3")" ""
	has "what is on the set" "$(probed /dev/mapper/data)" "$UUID"
	at_least "size of the set" "$(sectors_of /dev/mapper/data)" "$(($(sectors_of "$2") + 1))"
	same_content /dev/mapper/data
	if [[ $1 == ext4 ]]; then
		e2fsck -fp /dev/mapper/data >"$TMP/out" 2>&1 || fail "$(tail -n 5 "$TMP/out")"
		resize2fs /dev/mapper/data >"$TMP/out" 2>&1 || fail "$(tail -n 5 "$TMP/out")"
		e2fsck -fn /dev/mapper/data >"$TMP/out" 2>&1 || fail "$(tail -n 5 "$TMP/out")"
	fi
	good fusionctl close data
	good fusionctl check data
	good fusionctl open data
	same_content /dev/mapper/data
	good fusionctl close data
}

test_adopt() {
	local type mib=128 done=0
	need mkfs.ext4
	need_module dm-fusion
	# no smaller one can be made
	! has_fs xfs || mib=320
	two 64 $mib
	open_sets data
	for type in ext4 xfs btrfs; do
		has_fs $type || continue
		content $type "$SLOW"
		good fusionctl adopt data "$SLOW" "$FAST" --dry-run --force
		shows "$SLOW: $type (label home, uuid $UUID), ${mib}M, would stay where it is"
		good fusionctl adopt data "$SLOW" "$FAST" --yes
		shows "$SLOW: $type (label home, uuid $UUID), ${mib}M, stays where it is"
		shows "/dev/mapper/data is ready"
		shows "use it by UUID or as /dev/mapper/data, and no longer as $SLOW"
		adopted $type "$SLOW" "$FAST"
		good fusionctl wipe data --yes
		done=$((done + 1))
	done
	say "$done kinds of file systems"
}

# The other way round: the SSD has the content, the HDD is empty.
test_adopt_as_fast() {
	need mkfs.ext4
	need_module dm-fusion
	two 64 128
	open_sets data
	content ext4 "$FAST"
	good fusionctl adopt data "$FAST" "$SLOW" --yes --extent-size 256K --json
	json '.adopted, .action, .device' $'fast\nadopt\n/dev/mapper/data'
	json .slow.content null
	adopted ext4 "$FAST" "$SLOW"
}

# landed: the set, which is closed, has a log of 8M with a list of what is in it, and small writes get
# into it
landed() {
	local i at
	good fusionctl open data
	good fusionctl landing data --json
	json '.bytes, .stale_list' $'8388608\ntrue'
	good fusionctl set data idle=1m
	# as they are, far from each other, in no order; behind what was copied to the SSD
	for ((i = 0; i < 40; i++)); do
		at=$((i * 37 % 40 * 600 + 4096))
		dd if=/dev/mapper/data of=/dev/mapper/data bs=4K count=1 skip=$at seek=$at \
			iflag=direct oflag=direct conv=notrunc status=none
	done
	at_least "blocks in the log" \
		"$(fusionctl status data --json | jq '.sets[0].landing_log.blocks')" 10
	same_content /dev/mapper/data
	good fusionctl close data
	good fusionctl check data
}

# With a landing log from the start, on either member; and back.
test_adopt_with_log() {
	need mkfs.ext4
	need_module dm-fusion
	two 64 128
	open_sets data
	content ext4 "$SLOW"
	good fusionctl adopt data "$SLOW" "$FAST" --landing 8M --dry-run --force
	shows "8M of the fast member are kept for a landing log"
	good fusionctl adopt data "$SLOW" "$FAST" --landing 8M --yes --json
	json '.landing_bytes, .action' $'8388608\nadopt'
	# the log takes writes to extents of the slow member
	good fusionctl set data migration=off
	adopted ext4 "$SLOW" "$FAST"
	landed
	# it has grown
	good fusionctl open data
	e2fsck -fp /dev/mapper/data >"$TMP/out" 2>&1 || fail "$(tail -n 5 "$TMP/out")"
	resize2fs /dev/mapper/data 120M >"$TMP/out" 2>&1 || fail "$(tail -n 5 "$TMP/out")"
	good fusionctl close data
	good fusionctl release data --yes --size 120M
	same_content "$SLOW"
	good fusionctl adopt data "$SLOW" --fast "$FAST" --yes --landing 8M --force
	good fusionctl close data
	good fusionctl wipe data --yes
	content ext4 "$FAST"
	good fusionctl adopt data "$FAST" --slow "$SLOW" --landing 8M --yes
	adopted ext4 "$FAST" "$SLOW"
	good fusionctl open data
	good fusionctl set data migration=off
	good fusionctl demote data 0-63
	good fusionctl close data
	landed
}

# One that was interrupted remembers its log.
test_resume_with_log() {
	need mkfs.ext4
	need_module dm-fusion
	linked 64 128
	open_sets data
	content ext4 "$SLOW"
	fails_to_write slow 128
	gives 1 fusionctl adopt data "$SLOW" --fast "$FAST" --landing 8M --yes
	swap slow
	gives 2 fusionctl adopt data --resume --landing 8M --yes
	good fusionctl adopt data --resume --yes
	good fusionctl set data migration=off
	adopted ext4 "$SLOW" "$FAST"
	landed
}

# An image of a PV, and of LUKS, as far as libblkid looks at them.
test_adopt_other_contents() {
	need_module dm-fusion
	two 64 128
	open_sets data
	head -c 128M /dev/urandom | dd of="$SLOW" bs=1M iflag=fullblock oflag=direct status=none
	printf 'LUKS\272\276\0\1' | dd of="$SLOW" conv=notrunc,fdatasync status=none
	whole "$SLOW" >"$TMP/before"
	good fusionctl adopt data "$SLOW" "$FAST" --yes
	shows "cryptsetup resize"
	same "what is on the disk" "$(probed "$SLOW")" ""
	same "content" "$(dd if=/dev/mapper/data bs=1M count=128 iflag=direct status=none | md5sum)" \
		"$(<"$TMP/before")"
	good fusionctl close data
}

# interrupted SECTOR [COPY]: an adoption ends where it writes to that sector of the disk; a copy
# of the disk from before is made on another device
interrupted() {
	need mkfs.ext4
	need_module dm-fusion
	linked 64 128
	open_sets data
	content ext4 "$SLOW"
	whole "$SLOW" >"$TMP/before"
	[[ $# -eq 1 ]] || dd if="$SLOW" of="$2" bs=1M oflag=direct status=none
	fails_to_write slow "$1"
	gives 1 fusionctl adopt data "$SLOW" --fast "$FAST" --yes
	says "write failed"
	says "data: is in transit; run fusionctl adopt data --resume, or --abort"
	swap slow
}

# No other verb does anything with it, and each says what does.
left_alone() {
	local before remedy="fusionctl adopt data --resume, or --abort"
	before=$(whole "$FAST" && whole "$SLOW")
	gives 0 fusionctl list
	says "in transit"
	says "adopt it with --resume"
	gives 3 fusionctl open data
	says "which is still being adopted; $remedy"
	gives 3 fusionctl assemble --scan
	says "$remedy"
	gives 3 fusionctl wipe "$FAST" --yes
	says "$remedy"
	gives 4 fusionctl doctor
	says "which is still being adopted"
	for i in check repair "repair --force --yes"; do
		# shellcheck disable=SC2086 # a verb and its options
		status_of fusionctl $i data
		differ "exit code of $i" "$RC" 0
		says "is in transit: fusionctl adopt --resume"
	done
	gives 3 fusionctl create else --fast "$FAST" --slow "$SLOW" --yes
	says "of the fusion set data, which is still being adopted"
	gives 3 fusionctl adopt other "$SLOW" --fast "$FAST" --yes
	refused "is in transit: fusionctl adopt --resume" \
		dmsetup create data --table "0 8192 fusion $FAST $SLOW"
	same "both members" "$(whole "$FAST" && whole "$SLOW")" "$before"
}

# The log of the replica cannot be written, when the signature is gone already.
test_resume() {
	interrupted 128
	same "what is on the disk" "$(probed "$SLOW")" ""
	left_alone
	good fusionctl adopt data --resume --dry-run
	shows "would finish the set data"
	good fusionctl adopt data --resume
	shows "/dev/mapper/data is ready"
	adopted ext4 "$SLOW" "$FAST"
	expect 4 "data: no device of it is in transit; fusionctl list shows the members" \
		fusionctl adopt data --abort
}

test_abort() {
	interrupted 128
	good fusionctl adopt data "$SLOW" "$FAST" --abort
	shows "$SLOW has its content again; $FAST is no longer a member"
	same "the disk" "$(whole "$SLOW")" "$(<"$TMP/before")"
	same_content "$SLOW"
	gives 4 fusionctl probe "$FAST"
}

# A copy of the disk has its content and its uuid, but nothing is to be done with it.
test_copy_of_the_disk() {
	local copy i
	loop 128M
	copy=$REPLY
	interrupted 128 "$copy"
	for i in --resume --abort; do
		expect 4 "$copy: is a copy of $SLOW, which is the disk that is being adopted; name that one" \
			fusionctl adopt data "$copy" "$FAST" $i --yes
	done
	unloop "$copy"
	good fusionctl adopt data --resume
	adopted ext4 "$SLOW" "$FAST"
}

# The signature itself cannot be erased: the disk may be used, and then the copies are worth nothing.
test_used_meanwhile() {
	interrupted 0
	has "what is on the disk" "$(probed "$SLOW")" "$UUID"
	mount "$SLOW" "$TMP/mnt"
	head -c 1M /dev/urandom >"$TMP/mnt/files/more"
	sums
	umount "$TMP/mnt"
	good fusionctl adopt data --resume --yes
	adopted ext4 "$SLOW" "$FAST"
}

test_abort_early() {
	interrupted 0
	good fusionctl adopt data --abort --json --yes
	json '.action, .device, .set_uuid != null' $'abort\nnull\ntrue'
	same "the disk" "$(whole "$SLOW")" "$(<"$TMP/before")"
	gives 4 fusionctl probe "$FAST"
}

# Nothing has been written to the disk if the other device fails.
test_other_fails() {
	need mkfs.ext4
	need_module dm-fusion
	linked 64 128
	content ext4 "$SLOW"
	whole "$SLOW" >"$TMP/before"
	fails_to_write fast 8192
	gives 1 fusionctl adopt data "$SLOW" --fast "$FAST" --yes --extent-size 64K
	swap fast
	same "the disk" "$(whole "$SLOW")" "$(<"$TMP/before")"
	gives 4 fusionctl probe "$FAST"
}

# hibernated: the swap has an image of a system, which has the disks in use
hibernated() {
	local before
	before=$(whole "$FAST" && whole "$SLOW")
	loop 1M
	printf 'S1SUSPEND' | dd of="$REPLY" bs=1 seek=4086 conv=notrunc,fsync status=none
	expect 3 "$REPLY: has the image of a hibernated system, so no disk is adopted or released; \
resume it and reboot" fusionctl assemble --planned
	unloop "$REPLY"
	lines /proc/cmdline "root=UUID=$UUID resume_offset=4096"
	gives 3 fusionctl assemble --planned
	says "resume_offset=4096: on the kernel's command line: a hibernated system may be there"
	lines /proc/cmdline "root=UUID=$UUID"
	same "both devices" "$(whole "$FAST" && whole "$SLOW")" "$before"
}

# A disk that is mounted: only the other device is written before the boot.
test_at_boot() {
	need mkfs.ext4
	need_module dm-fusion
	two 64 128
	open_sets data
	at_boot
	content ext4 "$SLOW"
	mount "$SLOW" "$TMP/mnt"
	good fusionctl adopt data "$SLOW" "$FAST" --at-boot --dry-run
	shows "of that would be copied to it at the next boot"
	gives 4 fusionctl probe "$FAST"
	good fusionctl adopt data "$SLOW" "$FAST" --at-boot --yes
	shows "$SLOW is adopted at the next boot, before it is mounted: run update-initramfs -u -k all"
	gives 0 fusionctl list
	says "planned"
	quietly fusionctl assemble --incremental "$FAST"
	for i in "open data" "assemble --scan" "wipe $FAST --yes" "repair data"; do
		# shellcheck disable=SC2086 # a verb and its words
		status_of fusionctl $i
		differ "exit code of $i" "$RC" 0
		says "is to be adopted at the next boot"
	done
	# not as long as it is in use
	gives 5 fusionctl assemble --planned
	says "$SLOW: is mounted on $TMP/mnt"
	head -c 1M /dev/urandom >"$TMP/mnt/files/more"
	sums
	umount "$TMP/mnt"
	refused "is to be adopted at the next boot" \
		dmsetup create data --table "0 8192 fusion $FAST $SLOW"
	hibernated
	good fusionctl assemble --planned
	shows "/dev/mapper/data is ready"
	adopted ext4 "$SLOW" "$FAST"
	quietly fusionctl assemble --planned
	[[ ! -e /dev/mapper/data ]] || fail "a set that was closed is open"
}

# Interrupted during the boot: it goes on at the next one only if there is no other way.
test_at_boot_interrupted() {
	at_boot
	interrupted 128
	good fusionctl assemble --planned
	shows "/dev/mapper/data is ready"
	adopted ext4 "$SLOW" "$FAST"
}

test_at_boot_interrupted_early() {
	at_boot
	interrupted 0
	gives 3 fusionctl assemble --planned
	says "has its content, and may have been in use since it was to be adopted"
	same "the disk" "$(whole "$SLOW")" "$(<"$TMP/before")"
}

test_at_boot_cancelled() {
	need mkfs.ext4
	two 64 128
	at_boot
	content ext4 "$SLOW"
	mount "$SLOW" "$TMP/mnt"
	good fusionctl adopt data "$SLOW" "$FAST" --at-boot --json --yes
	json '.action, .device' $'plan\nnull'
	good fusionctl adopt data --abort --dry-run
	shows "$FAST would be no longer a member"
	good fusionctl adopt data --abort
	shows "$FAST is no longer a member; nothing else was written"
	gives 4 fusionctl probe "$FAST"
	quietly fusionctl assemble --planned
	umount "$TMP/mnt"
	same_content "$SLOW"
}

# A system that would not find its disk any more.
test_at_boot_refusals() {
	local script=/usr/share/initramfs-tools/scripts/init-premount/fusion
	need mkfs.ext4
	two 64 128
	content ext4 "$SLOW"
	if [[ ! -e $script ]]; then
		expect 3 "--at-boot: $script is missing, and only initramfs-tools is supported; adopt \
$SLOW from another system, such as a live one" \
			fusionctl adopt data "$SLOW" "$FAST" --at-boot --yes
	fi
	at_boot
	lines /etc/fstab "UUID=$UUID /home ext4 defaults 0 2" "$SLOW /home ext4 defaults 0 2"
	expect 3 "/etc/fstab: has $SLOW, which would not lead to the content any more; name it by UUID= \
there" fusionctl adopt data "$SLOW" "$FAST" --at-boot --yes
	lines /etc/fstab "UUID=$UUID /home ext4 defaults 0 2"
	lines /etc/crypttab "home $SLOW none luks"
	gives 3 fusionctl adopt data "$SLOW" "$FAST" --at-boot --yes
	says "/etc/crypttab: has $SLOW, which"
	lines /etc/crypttab "home UUID=$UUID none luks"
	lines /proc/cmdline "root=$SLOW"
	gives 3 fusionctl adopt data "$SLOW" "$FAST" --at-boot --yes
	says "the kernel's command line: has root=$SLOW, which"
	lines /proc/cmdline "root=UUID=$UUID"
	mkdir -p /boot
	mount "$SLOW" /boot
	defer umount_quietly /boot
	gives 3 fusionctl adopt data "$SLOW" "$FAST" --at-boot --yes
	says "$SLOW: has /boot, which no boot loader can read on a set"
	umount /boot
	good fusionctl adopt data "$SLOW" "$FAST" --at-boot --yes
	expect 2 "--resume: takes the name of the set, or also the disk with the content and the \
other device; see fusionctl help adopt" fusionctl adopt data --resume --at-boot
}

test_refusals() {
	local small before
	need mkfs.ext4 mkswap sfdisk
	two 64 128
	expect 2 "adopt: needs a name, the disk with the content, and another device; see fusionctl \
help adopt" fusionctl adopt data "$SLOW"
	expect 2 "--abort: cannot be combined with --resume; choose one" \
		fusionctl adopt data --resume --abort
	expect 2 "--json: allows no question; add --yes or --dry-run" \
		fusionctl adopt data "$SLOW" "$FAST" --json
	expect 4 "data: no member of that set is found; connect it, fusionctl list shows the members" \
		fusionctl adopt data --resume
	expect 3 "$SLOW: has no content that is recognised; use fusionctl create, which erases it" \
		fusionctl adopt data "$SLOW" "$FAST" --yes

	content ext4 "$SLOW"
	before=$(whole "$SLOW")
	mkfs.ext4 -q -L other "$FAST"
	gives 3 fusionctl adopt data "$SLOW" "$FAST" --yes
	says "$FAST: contains ext4 (label other"
	wipe "$FAST"
	expect 3 "data: $FAST would be erased, and $SLOW become a member, and there is no terminal to \
ask on; add --yes" fusionctl adopt data "$SLOW" "$FAST"
	expect 4 "$SLOW: is on the same device as $SLOW; name two different ones" \
		fusionctl adopt data "$SLOW" "$SLOW" --yes
	mount "$SLOW" "$TMP/mnt"
	expect 5 "$SLOW: is mounted on $TMP/mnt; unmount it first" \
		fusionctl adopt data "$SLOW" "$FAST" --yes
	umount "$TMP/mnt"
	before=$(whole "$SLOW")

	# too small: the extents below the slots, the spares and the end take more than it has
	loop $((5 << 20))
	small=$REPLY
	gives 4 fusionctl adopt data "$SLOW" --fast "$small" --yes --extent-size 64K
	says "to be copied to it; use a larger device"
	loop $((64 << 20)) 4096
	expect 4 "$REPLY: has logical blocks of 4096 bytes, $SLOW has some of 512; choose another \
device, or reformat it with smaller blocks, as nvme format does" \
		fusionctl adopt data "$SLOW" --fast "$REPLY" --yes
	same "the disk" "$(whole "$SLOW")" "$before"

	printf 'LUKS\272\276\0\1' | dd of="$SLOW" conv=notrunc,fdatasync status=none
	gives 3 fusionctl adopt data "$SLOW" "$FAST" --yes
	says "$SLOW: has signatures of "
	wipe "$SLOW"
	mkswap "$SLOW" >/dev/null
	gives 3 fusionctl adopt data "$SLOW" "$FAST" --yes
	says "$SLOW: contains swap"
	wipe "$SLOW"
	echo 'label: gpt' | sfdisk -q "$SLOW"
	gives 3 fusionctl adopt data "$SLOW" "$FAST" --yes
	says "$SLOW: has partitions; name one of them"
	wipe "$SLOW" tail
	good fusionctl format data "$FAST" "$SLOW" --yes
	gives 3 fusionctl adopt else "$SLOW" "$FAST" --yes
	says "$SLOW: is a member of a fusion set already; fusionctl list shows it"
}

run_tests
