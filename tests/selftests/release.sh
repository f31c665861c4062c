#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# release makes the slow member a plain disk with the content of the set, wherever its extents are,
# and whether it was adopted or created. One that was interrupted is finished or undone, and no other
# verb writes to such a set. What does not fit is refused.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"
# shellcheck source=lib/contents.sh
. "$here/lib/contents.sh"
# shellcheck source=lib/at-boot.sh
. "$here/lib/at-boot.sh"

# shellcheck disable=SC2034 # for files_on
RANDOM_MIB=16

# used: the set data is open, with the files of $TMP/sums; some extents move up, then it is closed
used() {
	local extents
	extents=$(status data extents)
	good fusionctl set data migration=off
	good fusionctl promote data "0-$((extents / 4))"
	good fusionctl demote data "0-$((extents / 8))"
	sums_of /dev/mapper/data
	good fusionctl close data
}

# sums_of DEV: more is written, and the checksums are of all of it
sums_of() {
	mount "$1" "$TMP/mnt"
	head -c 6M /dev/urandom >"$TMP/mnt/files/more"
	rm -f "$TMP/mnt/files/lines.aa"
	sums
	umount "$TMP/mnt"
	dd if="$1" bs=1M count=64 iflag=direct status=none | md5sum >"$TMP/before"
}

# created MIB: a set with ext4 of that size, in use
created() {
	need mkfs.ext4
	need_module dm-fusion
	open_sets data
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
	mkfs.ext4 -q -L home -U $UUID /dev/mapper/data "$1M"
	files_on /dev/mapper/data
	used
}

# plain: what has to hold afterwards
plain() {
	same "the disk" "$(whole "$SLOW")" "$(<"$TMP/before")"
	has "what is on the disk" "$(probed "$SLOW")" "$UUID"
	same "what is on the SSD" "$(probed "$FAST")" ""
	gives 4 fusionctl probe "$FAST"
	gives 4 fusionctl probe "$SLOW"
	e2fsck -fn "$SLOW" >"$TMP/out" 2>&1 || fail "$(tail -n 5 "$TMP/out")"
	same_content "$SLOW"
}

test_release() {
	two 32 64
	created 60
	good fusionctl release data --dry-run
	shows "$SLOW: would become a plain disk of 64M with ext4 (label home, uuid $UUID)"
	good fusionctl check data
	good fusionctl release data --yes
	shows "$SLOW is a plain disk, and $FAST is no longer a member"
	plain
}

# The way back of adopt, after the set was used.
test_adopted() {
	need mkfs.ext4
	need_module dm-fusion
	two 32 64
	open_sets data
	content ext4 "$SLOW"
	good fusionctl adopt data "$SLOW" "$FAST" --yes --extent-size 64K
	used
	good fusionctl release data --yes --json
	json '.action, .device, .content_bytes' $'release\nnull\n67108864'
	plain
	# and again
	good fusionctl adopt data "$SLOW" "$FAST" --yes --extent-size 64K
	same_content /dev/mapper/data
	good fusionctl close data
}

# A set that is in use.
test_at_boot() {
	two 32 64
	at_boot
	defer rm -f /etc/fusion/release
	created 60
	good fusionctl open data
	mount /dev/mapper/data "$TMP/mnt"
	lines /etc/fstab "/dev/mapper/data /home ext4 defaults 0 2"
	expect 3 "/etc/fstab: has /dev/mapper/data, which would not lead to the content any more; \
name it by UUID= there" fusionctl release data --at-boot --yes
	lines /etc/fstab "UUID=$UUID /home ext4 defaults 0 2"
	good fusionctl release data --at-boot --dry-run
	quietly fusionctl assemble --planned
	good fusionctl release data --at-boot --yes
	shows "data is released at the next boot, before it is mounted"
	good fusionctl release data --abort
	shows "data is not released at the next boot"
	quietly fusionctl assemble --planned
	good fusionctl release data --at-boot --yes
	# not as long as it is in use, and not again in this boot
	gives 5 fusionctl assemble --planned
	says "is mounted on $TMP/mnt"
	umount "$TMP/mnt"
	dd if=/dev/mapper/data bs=1M count=64 iflag=direct status=none | md5sum >"$TMP/before"
	quietly fusionctl assemble --planned
	next_boot
	good fusionctl assemble --planned
	shows "$SLOW is a plain disk, and $FAST is no longer a member"
	plain
	next_boot
	quietly fusionctl assemble --planned
}

# What does not fit is not released, and the boot goes on with the set.
test_at_boot_does_not_fit() {
	two 32 64
	at_boot
	defer rm -f /etc/fusion/release
	created 80
	good fusionctl open data
	good fusionctl release data --at-boot --yes
	gives 3 fusionctl assemble --planned
	same_content /dev/mapper/data
	good fusionctl close data
	expect 2 "--at-boot: takes the name of a set that is open, and of the options --yes and \
--dry-run; see fusionctl help release" fusionctl release data --at-boot --resume
	expect 1 "data: no such set is open; release one that is closed without --at-boot" \
		fusionctl release data --at-boot --yes
}

# Without content that is recognised, and with half of it never written.
test_no_content() {
	need_module dm-fusion
	two 8 32
	open_sets data
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
	put /dev/mapper/data 252 100000 3000000
	dd if=/dev/mapper/data bs=1M count=32 iflag=direct status=none | md5sum >"$TMP/before"
	good fusionctl close data
	good fusionctl release "$FAST" "$SLOW" --yes
	same "the disk" "$(whole "$SLOW")" "$(<"$TMP/before")"
	gives 4 fusionctl probe "$SLOW"
	gives 4 fusionctl probe "$FAST"
}

# The end of the disk, or of the SSD, cannot be written: only the last step writes there.
interrupted() {
	linked 32 64
	created 60
	bad_sectors "$1" $(($(sectors_of "/dev/$1") - 16)) 8
	gives 1 fusionctl release data --yes
	says "write failed"
	says "data: may be in transit; run fusionctl release data --resume, or --abort"
	swap "$1"
}

# No other verb does anything with it, and each says what does.
left_alone() {
	local before i remedy="fusionctl release data --resume, or --abort"
	before=$(whole "$FAST" && whole "$SLOW")
	same "what is on the disk" "$(probed "$SLOW")" ""
	gives 0 fusionctl list
	says "in transit"
	says "release it with --resume"
	gives 3 fusionctl open data
	says "which is still being released; $remedy"
	gives 3 fusionctl wipe "$FAST" --yes
	says "$remedy"
	gives 3 fusionctl wipe "$SLOW" --yes
	gives 4 fusionctl doctor
	says "which is still being released"
	for i in check repair "repair --force --yes" "release --yes"; do
		# shellcheck disable=SC2086 # a verb and its options
		status_of fusionctl $i data
		differ "exit code of $i" "$RC" 0
		says "is in transit: fusionctl release --resume"
	done
	gives 3 fusionctl adopt data --abort
	says "$remedy"
	refused "is in transit: fusionctl release --resume" \
		dmsetup create data --table "0 8192 fusion $FAST $SLOW"
	same "both members" "$(whole "$FAST" && whole "$SLOW")" "$before"
}

test_resume() {
	interrupted slow
	left_alone
	good fusionctl release data --resume --dry-run
	shows "would write the rest of the content to $SLOW"
	good fusionctl release data --resume
	shows "$SLOW is a plain disk, and $FAST is no longer a member"
	plain
}

test_abort() {
	interrupted slow
	good fusionctl release "$FAST" "$SLOW" --abort
	shows "data is a closed set again; open it with fusionctl open data"
	good fusionctl check data
	good fusionctl open data
	same_content /dev/mapper/data
	good fusionctl close data
	good fusionctl release data --yes
	shows "is a plain disk"
}

# The disk is a plain one, and may be in use, only the SSD is not yet wiped.
test_released() {
	interrupted fast
	mount "$SLOW" "$TMP/mnt"
	head -c 1M /dev/urandom >"$TMP/mnt/files/later"
	sums
	gives 0 fusionctl list
	says "is released"
	gives 3 fusionctl release data --abort
	says "is released already, and its disk may be in use"
	gives 3 fusionctl open data
	says "fusionctl release data --resume"
	good fusionctl release data --resume
	umount "$TMP/mnt"
	same_content "$SLOW"
	gives 4 fusionctl probe "$FAST"
}

test_refusals() {
	local before
	need mkfs.ext4
	need_module dm-fusion
	two 32 64
	expect 2 "--abort: cannot be combined with --resume; choose one" \
		fusionctl release data --resume --abort
	expect 2 "--json: allows no question; add --yes or --dry-run" fusionctl release data --json
	expect 2 "1x: not a size; write e.g. --size 500G" fusionctl release data --size 1x
	expect 4 "data: no member of that set is found; connect it, fusionctl list shows the members" \
		fusionctl release data --yes
	open_sets data
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
	mkfs.ext4 -q /dev/mapper/data
	gives 5 fusionctl release "$FAST" "$SLOW" --yes
	says "is a member of the open set data"
	good fusionctl close data
	before=$(whole "$FAST" && whole "$SLOW")
	gives 3 fusionctl release data --yes
	says "and $SLOW only 64M; shrink it, in the open set, with resize2fs"
	gives 3 fusionctl release data --yes --size 30M
	same "both members" "$(whole "$FAST" && whole "$SLOW")" "$before"
	expect 4 "data: no device of it is in transit; leave out that option, to begin or to go on" \
		fusionctl release data --resume
	good fusionctl open data
	e2fsck -fy /dev/mapper/data >"$TMP/out" 2>&1 || :
	resize2fs /dev/mapper/data 50M >"$TMP/out" 2>&1 || fail "$(tail -n 5 "$TMP/out")"
	put /dev/mapper/data 252 $((70 << 20)) 1000000
	good fusionctl close data
	gives 3 fusionctl release data --yes
	says "of data behind its ext4 and behind the end of $SLOW"
	expect 3 "data: $SLOW would become a plain disk, and $FAST be wiped, and there is no terminal to \
ask on; add --yes" fusionctl release data --size 50M
	gives 0 fusionctl release data --size 50M --yes --leave-unmapped
	e2fsck -fn "$SLOW" >"$TMP/out" 2>&1 || fail "$(tail -n 5 "$TMP/out")"
}

run_tests
