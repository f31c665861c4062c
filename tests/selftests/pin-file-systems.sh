#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl pin on XFS and btrfs: files are found again by the handles that these give them.
# pin-files.sh has the rest, on ext4.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/where.sh
. "$(dirname "$0")/lib/where.sh"
# shellcheck source=lib/pin.sh
. "$(dirname "$0")/lib/pin.sh"

# followed: a file on another file system, renamed, and looked for without a path, is pinned, and
# another one that gets its name is not
followed() {
	good fusionctl pin "$MNT/file-1" --fast
	same "pinned to" "$(pinned_to "$MNT/file-1")" fast
	mv "$MNT/file-1" "$MNT/dir/other"
	stamped "$MNT/file-1" 4 50
	umount "$MNT"
	mount "$SET" "$MNT"
	good fusionctl pin --refresh
	same "pinned extents" "$(msg where pins | awk '{ print $4 }')" \
		"$(extents_of "$MNT/dir/other" | wc -l)"
	same "pinned to" "$(pinned_to "$MNT/dir/other")" fast
	listed .state "not yet"
	in_file '.pins[0].inode' "$(stat -c %i "$MNT/dir/other")"
	rm "$MNT/dir/other"
	sync
	good fusionctl pin --refresh
	listed .state missing
}

test_xfs() {
	need mkfs.xfs
	grep -qw xfs /proc/filesystems || need_module xfs
	pinning mkfs.xfs
	followed
}

test_btrfs() {
	need mkfs.btrfs btrfs
	grep -qw btrfs /proc/filesystems || need_module btrfs
	pinning mkfs.btrfs
	followed
	good fusionctl unpin "$(jq -r '.pins[0].path' "$PINS_FILE")"
	# inodes of subvolumes have the same numbers
	btrfs -q subvolume create "$MNT/one"
	btrfs -q subvolume create "$MNT/two"
	stamped "$MNT/one/file-8" 8 100
	stamped "$MNT/two/file-9" 9 100
	sync
	same "inodes" "$(stat -c %i "$MNT/one/file-8")" "$(stat -c %i "$MNT/two/file-9")"
	good fusionctl pin "$MNT/two/file-9" --fast
	same "pinned to" "$(pinned_to "$MNT/two/file-9")" fast
	mv "$MNT/two/file-9" "$MNT/two/renamed"
	good fusionctl pin --refresh
	listed .path "$MNT/two/renamed"
	listed .files 1
}

run_tests
