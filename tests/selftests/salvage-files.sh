#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One member is gone: the list of files that are hit is exact, for file systems that are read
# directly, and for those that have to be mounted.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/salvage.sh
. "$(dirname "$0")/lib/salvage.sh"

# extents_of FILE: extents of the set, one on each line
extents_of() {
	filefrag -b512 -e "$1" | awk -F '[ .:]+' '$2 ~ /^[0-9]+$/ && NF > 6 {
		for (i = int($5 / 128); i <= int($6 / 128); i++) print i }' | sort -nu
}

# a file system: files verified by checksum, lost ones listed exactly
test_files() {
	local i
	need filefrag sha256sum
	a_set 40 64
	mkfs.ext4 -q "$SET"
	mkdir "$TMP/mnt"
	mount "$SET" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	mkdir -p "$TMP/mnt/a/b c" "$TMP/mnt/d"
	for i in {1..30}; do
		head -c $((RANDOM * 8 + 200000)) /dev/urandom >"$TMP/mnt/a/b c/$i"
		head -c 3000 /dev/urandom >"$TMP/mnt/d/$i"
	done
	ln "$TMP/mnt/a/b c/7" "$TMP/mnt/d/link"
	(cd "$TMP/mnt" && find . -type f -print0 | xargs -0 sha256sum) >"$TMP/sums"
	sync
	# the extents of some files, which contain nothing else
	for i in 3 7 8 21; do
		extents_of "$TMP/mnt/a/b c/$i" | sed 1d | sed '$d' | head -n 2
	done | sort -nu >"$TMP/victims"
	at_least "victims" "$(wc -l <"$TMP/victims")" 4
	# the files that are on the fast member
	(cd "$TMP/mnt" && find . -type f -print) | while read -r i; do
		if extents_of "$TMP/mnt/$i" | grep -qxFf "$TMP/victims"; then
			echo "${i#.}"
		fi
	done | sort >"$TMP/expected"
	# its journal is not replayed
	cp --sparse=never "$SET" "$TMP/image"
	umount "$TMP/mnt"
	msg set demote 0-$((EXTENTS - 1)) >/dev/null
	while read -r i; do
		msg set promote "$i" >/dev/null
	done <"$TMP/victims"
	places set >"$TMP/places"
	same "on the fast member" "$(awk '$2 == "fast"' "$TMP/places" | wc -l)" \
		"$(wc -l <"$TMP/victims")"
	close set

	salvage "$SLOW" --files $LEFT
	same "lost" "$(part lost)" "$(extents_on fast)"
	jq -r '.files[].path' "$TMP/json" | sort >"$TMP/hit"
	diff "$TMP/expected" "$TMP/hit" || fail "other files than expected"
	same "of the rest all is known" "$(jq -c .files_unknown "$TMP/json")" \
		'{"inodes":0,"files":0,"directories":0}'
	fusionctl salvage "$SLOW" --files "$LEFT" 2>"$TMP/err" >"$TMP/out"
	same "messages" "$(<"$TMP/err")" ""
	fusionctl salvage "$SLOW" --files "$TMP/image" 2>"$TMP/err" >"$TMP/out"
	has "a journal" "$(<"$TMP/err")" "$TMP/image: its journal is not replayed, so files of the last \
seconds may be missing from the list; run fsck on a copy, mount that, and give the mount point"
	mount -o ro,noload "$LEFT" "$TMP/mnt"
	(cd "$TMP/mnt" && grep -vF -e "$(sed 's/^/./' "$TMP/expected")" "$TMP/sums" |
		sha256sum -c --quiet) || fail "a file that is not hit has changed"
	while read -r i; do
		if cat "$TMP/mnt$i" >/dev/null 2>&1; then
			fail "$i is hit and can be read"
		fi
	done <"$TMP/expected"
	# the same with the mounted file system, beside its device, or in an image
	cp --sparse=never "$SLOW" "$TMP/slow"
	for i in "$SLOW" "$TMP/slow"; do
		fusionctl salvage "$i" --files "$TMP/mnt" |
			sed -n "s|^hit: inode [0-9]*: $TMP/mnt||p" | sort >"$TMP/hit"
		diff "$TMP/expected" "$TMP/hit" || fail "FIEMAP names other files on $i"
	done
	refused "$SLOW: is read by the salvaged set left; close that first with fusionctl close" \
		fusionctl salvage "$SLOW" more
	refused "$SLOW: is read by the salvaged set left; close that first with fusionctl close" \
		fusionctl check "$SLOW"
	umount "$TMP/mnt"
	fusionctl close left
}

# btrfs has addresses of its own, subvolumes, and compressed files: the files that are named are those
# that cannot be read
test_files_btrfs() {
	local i to fsid
	need mkfs.btrfs btrfs
	grep -qw btrfs /proc/filesystems || need_module btrfs
	a_set 64 192
	# grep finds no uuid that has a newline in it
	mkfs.btrfs -q -U 6f1c7a52-93b8-4d2e-8e57-c4a1d06b3f98 "$SET" >/dev/null 2>&1
	mkdir "$TMP/mnt"
	mount "$SET" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	btrfs -q subvolume create "$TMP/mnt/sub"
	mkdir "$TMP/mnt/packed"
	btrfs property set "$TMP/mnt/packed" compression zstd
	for i in {1..20}; do
		for to in "$TMP/mnt" "$TMP/mnt/sub" "$TMP/mnt/packed"; do
			head -c $((RANDOM * 8 + 20000)) /dev/urandom | base64 >"$to/$i"
		done
		sync -f "$TMP/mnt"
	done
	umount "$TMP/mnt"
	msg set demote 0-$((EXTENTS - 1)) >/dev/null
	# each block of its metadata has the uuid
	fsid=$(blkid -p -o value -s UUID "$SET" | sed 's/-//g; s/../\\x&/g')
	LC_ALL=C grep -aboP "$fsid" "$SET" | awk -F : '{ print int($1 / 65536) }' | sort -u >"$TMP/meta"
	places set | awk '$2 == "slow" { print $1 }' | sort >"$TMP/all"
	grep -vxFf "$TMP/meta" "$TMP/all" | sort -n | awk 'NR % 5 == 0' | while read -r i; do
		msg set promote "$i" >/dev/null
	done
	at_least "extents on the fast member" "$(on set fast 0 "$EXTENTS")" 20
	close set

	salvage "$SLOW"
	mount -o ro "$LEFT" "$TMP/mnt"
	find "$TMP/mnt" -type f | sort | while read -r i; do
		cat "$i" >/dev/null 2>&1 || echo "$i"
	done >"$TMP/expected"
	at_least "files that are hit" "$(wc -l <"$TMP/expected")" 10
	at_most "files that are hit" "$(wc -l <"$TMP/expected")" 55
	fusionctl salvage "$SLOW" --files "$TMP/mnt" --json >"$TMP/json"
	jq -r '.files[].path' "$TMP/json" | sort >"$TMP/hit"
	diff "$TMP/expected" "$TMP/hit" || fail "other files than expected"
	umount "$TMP/mnt"
	fusionctl close left
}

# the metadata of the file system is lost as well: the output says which files cannot be judged
test_files_hit_hard() {
	a_set 40 64
	mkfs.ext4 -q -b 1024 "$SET"
	mkdir "$TMP/mnt"
	mount "$SET" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	mkdir "$TMP/mnt/d"
	for i in {1..200}; do
		echo "$i" >"$TMP/mnt/d/$i"
	done
	umount "$TMP/mnt"
	msg set demote 0-$((EXTENTS - 1)) >/dev/null
	# superblock, group descriptors, inodes of the first group
	msg set promote 0-20 >/dev/null
	close set
	salvage "$SLOW" --files $LEFT
	at_least "inodes that are unknown" "$(jq .files_unknown.inodes "$TMP/json")" 100
	fusionctl close left
}

run_tests
