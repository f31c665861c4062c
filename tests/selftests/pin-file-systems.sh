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

# Each subvolume is mounted for itself, as distributions do.
test_btrfs_subvolumes() {
	need mkfs.btrfs btrfs
	grep -qw btrfs /proc/filesystems || need_module btrfs
	pinning mkfs.btrfs
	btrfs -q subvolume create "$MNT/@"
	btrfs -q subvolume create "$MNT/@home"
	umount "$MNT"
	mount -o subvol=@ "$SET" "$MNT"
	mkdir "$TMP/home"
	mount -o subvol=@home "$SET" "$TMP/home"
	defer umount_quietly "$TMP/home"
	stamped "$MNT/file-7" 7 50
	stamped "$TMP/home/file-8" 8 100
	mkdir "$TMP/home/dir"
	stamped "$TMP/home/dir/file-9" 9 100
	all_down
	good fusionctl pin "$TMP/home/file-8" "$TMP/home/dir" "$MNT/file-7" --fast
	mv "$TMP/home/file-8" "$TMP/home/renamed"
	good fusionctl pin --refresh
	listed .path "$TMP/home/renamed"
	same "pinned to" "$(pinned_to "$TMP/home/renamed")" fast
	# it is found by the other mount, which has no path of it
	mv "$TMP/home/renamed" "$TMP/home/again"
	mv "$TMP/home/dir" "$TMP/home/directory"
	umount "$TMP/home"
	good fusionctl pin --refresh
	good fusionctl pin --list where --json
	json '[.sets[0].pins[] | "\(.state) \(.renamed) \(.files)"] | join(", ")' \
		"not yet true 1, not yet true 1, not yet false 1"
	mount -o subvol=@home "$SET" "$TMP/home"
	good fusionctl pin --refresh
	listed .path "$TMP/home/again"
	same "pinned to" "$(pinned_to "$TMP/home/directory/file-9")" fast
}

run_tests
