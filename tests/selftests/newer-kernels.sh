#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Features of the block layer that came after Linux 6.12. Each test is skipped where the kernel
# lacks the feature.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Linux 6.15: disks with logical blocks of more than 4 KiB. Their metadata could not be written.
test_larger_blocks() {
	local small file large
	loop $((64 << 20))
	small=$REPLY
	loop $((64 << 20))
	FAST=$REPLY SLOW=$small
	format --extent-size 64K
	file=$(losetup -nO BACK-FILE "$FAST")
	losetup -d "$FAST"
	if ! losetup -b 8192 "$FAST" "$file" 2>"$TMP/err"; then
		losetup "$FAST" "$file"
		skip "the kernel has no logical blocks of 8 KiB: $(<"$TMP/err")"
	fi
	large=$FAST
	same "logical blocks" "$(blockdev --getss "$large")" 8192
	refused ": has logical blocks of 8192 bytes; use one with at most 4096" \
		dmsetup create larger --table "$(table)"
	gives 4 fusionctl create larger --yes --force "$large" "$small"
	says "$large: has logical blocks of 8192 bytes"
	gives 4 fusionctl create larger --yes --force "$small" "$large"
	says "$large: has logical blocks of 8192 bytes"
}

# Linux 6.16: mapped devices may offer atomic writes. A set offers none, whatever its members do.
test_atomic_writes() {
	scsi_disk atomic_wr=1
	FAST=$REPLY
	null slow 128
	SLOW=$REPLY
	format --extent-size 64K
	SET=/dev/mapper/atomic
	fusion atomic
	[[ -e $(sysfs_of "$FAST")/queue/atomic_write_max_bytes ]] ||
		skip "the kernel has no atomic writes"
	differ "the most that the disk writes at once" \
		"$(<"$(sysfs_of "$FAST")/queue/atomic_write_max_bytes")" 0
	same "the most that the set writes at once" \
		"$(<"$(sysfs_of "$SET")/queue/atomic_write_max_bytes")" 0
}

# Linux 6.18: the device mapper answers a request for the unique identifier of a device by asking
# the members. No link by which a member is found may lead to the set.
test_identifier() {
	local link own=()
	scsi_disk
	FAST=$REPLY
	null slow 128
	SLOW=$REPLY
	# shellcheck disable=SC2119 # it takes options
	udev
	opened identified --extent-size 64K
	events_done
	for link in /dev/disk/by-id/*; do
		[[ $(readlink -f "$link") == "$(readlink -f "$SET")" ]] || continue
		own+=("${link##*/}")
		[[ $link == */dm-name-identified || $link == */dm-uuid-FUSION-* ]] ||
			fail "$link leads to the set"
	done
	same "links to the set (${own[*]})" "${#own[@]}" 2
	udevadm info --query=property "$SET" >"$TMP/properties"
	! grep -E '^ID_(WWN|SERIAL)' "$TMP/properties" || fail "the set has an identifier of a disk"
}

run_tests
