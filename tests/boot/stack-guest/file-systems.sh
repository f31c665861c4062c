# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# ext4, XFS and btrfs on a set, and fstrim. Part of stack-guest.sh.

# file_system MKFS FSCK [FUNCTION]: make it, use it, check it; FUNCTION examines it mounted
file_system() {
	the_set
	originals
	# shellcheck disable=SC2086 # words of a command
	quiet $1 "$SET"
	mounted "$SET"
	moving copies
	${3:-:}
	expect 5 "stack: is mounted on $TMP/mnt; unmount it first" fusionctl close stack
	umount "$TMP/mnt"
	# shellcheck disable=SC2086
	whole "$SET" $2
	reopened
	# shellcheck disable=SC2086
	whole "$SET" $2
	mounted "$SET"
	compare two
	${3:-:}
	umount "$TMP/mnt"
}

# The file system's own check finds nothing; for btrfs also its scrub.
test_ext4() {
	file_system "mkfs.ext4 -q" "e2fsck -fn"
}

test_xfs() {
	need_module xfs
	file_system "mkfs.xfs -q" "xfs_repair -n"
}

# scrubbed: btrfs has read all its data, and its checksums match
scrubbed() {
	btrfs scrub start -B -R "$TMP/mnt" >"$TMP/scrub"
	same "errors" "$(grep -E '_errors: *[0-9]' "$TMP/scrub" | grep -v ': *0$' || :)" ""
	at_least "bytes scrubbed" "$(sed -n 's/.*data_bytes_scrubbed: *//p' "$TMP/scrub")" \
		"$(du -sb "$TMP/src" | cut -f 1)"
}

test_btrfs() {
	need btrfs mkfs.btrfs
	need_module btrfs
	file_system "mkfs.btrfs -q" "btrfs check --readonly" scrubbed
}

# Nine of ten extents of deleted files become free, and the other files are intact.
test_fstrim() {
	local mapped
	the_set
	originals
	mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$SET"
	mounted "$SET"
	copy before
	copy one
	copy after
	sync
	# so that the data is on both members
	msg stack demote 0-$(($(status stack extents) / 3)) >"$TMP/out"
	frees one
	compare before
	compare after
	umount "$TMP/mnt"
	mapped=$(status stack mapped)
	reopened
	same "mapped after it was opened again" "$(status stack mapped)" "$mapped"
	whole "$SET" e2fsck -fn
	mounted "$SET"
	compare before
	compare after
	umount "$TMP/mnt"
}
