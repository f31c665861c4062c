# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Disks with content: what is on them, and whether it is still the same. For tests of verbs that keep
# it where it is.

UUID=01234567-89ab-4def-8123-456789abcdef

# has_fs TYPE: it can be made and mounted here
has_fs() {
	command -v "mkfs.$1" >/dev/null || return 1
	modprobe -q "$1" || :
	grep -qw "$1" /proc/filesystems
}

sums() {
	(cd "$TMP/mnt/files" && md5sum -- *) >"$TMP/sums"
}

# content TYPE DEV: a file system with files; their checksums are in $TMP/sums
content() {
	case $1 in
	ext4)	mkfs.ext4 -q -L home -U $UUID "$2" ;;
	xfs)	mkfs.xfs -q -L home -m uuid=$UUID "$2" ;;
	btrfs)	mkfs.btrfs -q -L home -U $UUID "$2" ;;
	esac
	files_on "$2"
}

# files_on DEV: files on its file system, RANDOM_MIB (40) of them random; their checksums are in
# $TMP/sums
files_on() {
	mkdir -p "$TMP/mnt"
	mount "$1" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	mkdir "$TMP/mnt/files"
	seq 20000 | split -l 100 - "$TMP/mnt/files/lines."
	head -c "${RANDOM_MIB:-40}M" /dev/urandom >"$TMP/mnt/files/random"
	sums
	umount "$TMP/mnt"
}

# same_content DEV: it has these files
same_content() {
	mount "$1" "$TMP/mnt"
	(cd "$TMP/mnt/files" && md5sum --quiet -c "$TMP/sums" >&2) || fail "files on $1 have changed"
	umount "$TMP/mnt"
}

# probed DEV: type and uuid of what is recognised on it
probed() {
	(blkid -p -o export "$1" || :) | sed -n 's/^\(TYPE\|UUID\)=//p' | xargs
}

whole() {
	dd if="$1" bs=1M iflag=direct status=none | md5sum
}

# fails_to_write fast|slow SECTOR: writes to this block fail, reads do not
fails_to_write() {
	patched "$1" "$2" 8 flakey "/dev/$1" "$2" 0 86400 1 error_writes
}
