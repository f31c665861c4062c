#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl where: what it says of files is compared with what the members have. Each block of a file
# has a stamp; the slots of the map are read from the members, and the stamps there are counted.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

EXTENT=262144
SET=/dev/mapper/where

begin() {
	members 96 "${1:-288}"
	stale "$FAST"
	stale "$SLOW"
	format where --extent-size 256K
	fusion where migration off
	mkdir "$TMP/mnt"
	MNT=$TMP/mnt
	defer umount_quietly "$MNT"
}

# stamped FILE NR BLOCKS [FIRST]: blocks with stamps, from block FIRST of the file on
stamped() {
	awk -v nr="$2" -v n="$3" -v first="${4:-0}" 'BEGIN {
		for (i = first; i < first + n; i++)
			printf "%-4095s\n", "@stamp-" nr "-" i "@" }' |
		dd of="$1" bs=4k seek="${4:-0}" conv=notrunc status=none iflag=fullblock
}

# some_up: every third extent goes to the fast member, and every one of those that are scattered
some_up() {
	local i n
	n=$(status where extents)
	sync
	msg where demote 0-$((n - 1)) >/dev/null
	for ((i = 0; i < n; i += 3)); do
		msg where promote "$i" >/dev/null
	done
	at_least "extents on the fast member" "$(on where fast 0 "$n")" 20
}

# truth: "NR fast|slow BYTES" for each stamped file, from the members themselves
truth() {
	local count member slot dev at start=$(($(sb fast_data_start) * 512))
	sync
	echo 3 >/proc/sys/vm/drop_caches
	msg where map 0 "$(status where extents)" | while read -r _ count member slot _; do
		case $member in
		fast)	dev=$FAST at=$((start + slot * EXTENT)) ;;
		slow)	dev=$SLOW at=$((slot * EXTENT)) ;;
		*)	continue ;;
		esac
		dd if="$dev" iflag=skip_bytes,count_bytes bs=1M skip="$at" count=$((count * EXTENT)) \
			status=none | grep -aoE '@stamp-[0-9]+-[0-9]+@' | sort -u |
			awk -F - -v on="$member" '{ print $2, on }'
	done | sort | uniq -c | awk '{ print $2, $3, $1 * 4096 }' | sort
}

# told PATH...: the same, as fusionctl says; the file NR is named file-NR
told() {
	fusionctl where --json "$@" >"$TMP/json" || fail "where: status $?"
	jq -r '.files[] | (.path | sub(".*file-"; "")) as $nr |
		(select(.fast_bytes > 0) | "\($nr) fast \(.fast_bytes)"),
		(select(.slow_bytes > 0) | "\($nr) slow \(.slow_bytes)")' "$TMP/json" | sort
}

# on_extent EXTENT: the numbers of stamped files that have blocks in it, from the member
on_extent() {
	local member slot dev at
	read -r _ _ member slot _ <<<"$(msg where map "$1" 1)"
	case $member in
	fast)	dev=$FAST at=$(($(sb fast_data_start) * 512 + slot * EXTENT)) ;;
	slow)	dev=$SLOW at=$((slot * EXTENT)) ;;
	*)	return 0 ;;
	esac
	dd if="$dev" iflag=skip_bytes,count_bytes bs=1M skip="$at" count=$EXTENT status=none |
		grep -aoE '@stamp-[0-9]+-' | sort -u | sed 's/[^0-9]//g'
}

# sums KEY: of all rows
sums() {
	jq "[.files[].$1] | add" "$TMP/json"
}

# files on $MNT: whole, sparse, small, fragmented, preallocated; and in a directory
make_files() {
	local i
	mkdir "$MNT/dir" "$MNT/dir/deep"
	for i in 1 2 3; do
		stamped "$MNT/file-$i" $i $((RANDOM % 1500 + 500))
	done
	for i in 4 5; do
		stamped "$MNT/dir/file-$i" $i $((RANDOM % 500 + 100))
	done
	stamped "$MNT/dir/deep/file-6" 6 700
	# holes, one of them at the end
	stamped "$MNT/file-7" 7 50
	stamped "$MNT/file-7" 7 60 400
	truncate -s 4M "$MNT/file-7"
	# two that grow by turns
	for ((i = 0; i < 60; i++)); do
		stamped "$MNT/file-8" 8 4 $((4 * i))
		stamped "$MNT/file-9" 9 4 $((4 * i))
		sync "$MNT/file-8" "$MNT/file-9"
	done
}

# agrees: with the members, for files, a directory and a tree
agrees() {
	local files i extent
	some_up
	truth >"$TMP/truth"
	at_least "files that are on both" "$(awk '{ print $1 }' "$TMP/truth" | uniq -d | wc -l)" 4
	mapfile -t files < <(find "$MNT" -name 'file-*' | sort)
	told "${files[@]}" >"$TMP/told"
	diff "$TMP/truth" "$TMP/told" || fail "where says other than the members have"
	same "holes of a sparse file" \
		"$(jq '.files[] | select(.path | endswith("file-7")) | .hole_bytes' "$TMP/json")" \
		$((4194304 - 110 * 4096))
	jq -cS '[.files[] | select(.path | contains("/dir/"))] |
		{ files: length, fast: map(.fast_bytes) | add, slow: map(.slow_bytes) | add }' \
		"$TMP/json" >"$TMP/each"
	fusionctl where --json "$MNT/dir" >"$TMP/json"
	jq -cS '.files[0] | { files, fast: .fast_bytes, slow: .slow_bytes }' "$TMP/json" |
		diff "$TMP/each" - || fail "a directory is not the sum of its files"
	fusionctl where --json --tree --sort name "$MNT" >"$TMP/json"
	same "directories" "$(jq -r '.files[].path' "$TMP/json" | grep -v lost+found | xargs)" \
		"$MNT $MNT/dir $MNT/dir/deep"
	# backwards: which files lie on an extent
	for ((i = 0; i < 15; i++)); do
		extent=$((RANDOM % $(status where extents)))
		on_extent $extent | sort >"$TMP/truth"
		fusionctl where where --extents $extent --json >"$TMP/json" || fail "--extents: status $?"
		jq -r '.files[].path' "$TMP/json" | sed -n 's/.*file-//p' | sort >"$TMP/told"
		diff "$TMP/truth" "$TMP/told" || fail "other files lie on extent $extent"
	done
	fusionctl where "$MNT/file-1" "$MNT/dir" >"$TMP/out"
	has "for people" "$(<"$TMP/out")" "ON FAST"
	has "a directory" "$(<"$TMP/out")" "$MNT/dir/ "
}

test_ext4() {
	begin
	mkfs.ext4 -q -O inline_data "$SET"
	mount "$SET" "$MNT"
	make_files
	printf 'few bytes' >"$MNT/inline"
	fallocate -l 3M "$MNT/later"
	ln "$MNT/file-1" "$MNT/again"
	agrees
	fusionctl where --json "$MNT/inline" "$MNT/later" >"$TMP/json"
	same "in metadata" "$(jq .files[0].inline_bytes "$TMP/json")" 60
	same "on members" "$(jq '.files[0] | .fast_bytes + .slow_bytes' "$TMP/json")" 0
	same "not written yet" "$(jq '.files[1] | .fast_bytes + .slow_bytes + .unmapped_bytes' "$TMP/json")" \
		3145728
	# both names of an inode, below one directory
	fusionctl where --json "$MNT" >"$TMP/json"
	same "files" "$(jq .files[0].files "$TMP/json")" \
		"$(find "$MNT" -type f -printf '%i\n' | sort -u | wc -l)"
}

test_xfs() {
	need mkfs.xfs
	need_module xfs
	begin 384
	mkfs.xfs -q -m reflink=1 "$SET"
	mount "$SET" "$MNT"
	make_files
	agrees
	# shared blocks count once, whichever file is asked for first
	cp --reflink=always "$MNT/file-2" "$MNT/copy"
	printf new | dd of="$MNT/copy" bs=4k seek=7 conv=notrunc status=none
	sync
	fusionctl where --json "$MNT/copy" "$MNT/file-2" >"$TMP/json"
	same "shared" "$(jq .files[1].shared_bytes "$TMP/json")" \
		$(($(stat -c %s "$MNT/file-2") - 4096))
	same "together" "$(($(sums fast_bytes) + $(sums slow_bytes) + $(sums unmapped_bytes)))" \
		$(($(stat -c %s "$MNT/file-2") + 4096))
}

test_btrfs() {
	need mkfs.btrfs
	grep -qw btrfs /proc/filesystems || need_module btrfs
	begin
	mkfs.btrfs -q "$SET"
	mount "$SET" "$MNT"
	make_files
	agrees
	printf 'few bytes' >"$MNT/inline"
	cp --reflink=always "$MNT/file-2" "$MNT/copy"
	mkdir "$MNT/packed"
	btrfs property set "$MNT/packed" compression zstd
	stamped "$MNT/packed/file-20" 20 2000
	btrfs -q subvolume create "$MNT/sub"
	stamped "$MNT/sub/file-21" 21 100
	sync
	fusionctl where --json "$MNT/inline" "$MNT/file-2" "$MNT/copy" "$MNT/packed" "$MNT/sub" \
		"$MNT" >"$TMP/json"
	same "in metadata" "$(jq .files[0].inline_bytes "$TMP/json")" 9
	same "shared" "$(jq .files[2].shared_bytes "$TMP/json")" "$(stat -c %s "$MNT/file-2")"
	same "compressed" "$(jq .files[3].bytes "$TMP/json")" $((2000 * 4096))
	at_most "compressed, on the disk" \
		"$(jq '.files[3] | .fast_bytes + .slow_bytes' "$TMP/json")" 1000000
	at_least "compressed, on the disk" \
		"$(jq '.files[3] | .fast_bytes + .slow_bytes' "$TMP/json")" 100000
	same "no holes" "$(jq .files[3].hole_bytes "$TMP/json")" 0
	same "a subvolume" "$(jq '.files[4] | .fast_bytes + .slow_bytes' "$TMP/json")" 409600
	same "with its subvolumes" "$(jq .files[5].files "$TMP/json")" "$(find "$MNT" -type f | wc -l)"
}

# partitions, volumes, stripes and encryption in between
test_layers() {
	local half key=00112233445566778899aabbccddeeff
	begin
	half=$((LEN / 2 / 2048 * 2048))
	# a partition that begins at an odd place, and the rest as two parts in another order
	linear low "$SET" 40 $((half - 40))
	linear high "$SET" $half $((half - 2048))
	dm volume "0 65536 linear /dev/mapper/high 4096
65536 131072 striped 2 128 /dev/mapper/low 2048 /dev/mapper/high 100000
196608 8192 zero"
	mkfs.ext4 -q -b 4096 -E nodiscard /dev/mapper/volume 96M
	mount /dev/mapper/volume "$MNT"
	make_files
	agrees
	umount "$MNT"
	grep -q crypt <(dmsetup targets) || modprobe -q dm-crypt || skip "no dm-crypt"
	dm secret "0 131072 crypt aes-cbc-essiv:sha256 $key 0 /dev/mapper/low 4096"
	mkfs.ext4 -q /dev/mapper/secret
	mount /dev/mapper/secret "$MNT"
	stamped "$MNT/file-1" 1 1000
	sync
	fusionctl where --json "$MNT/file-1" >"$TMP/json"
	same "on members" "$(jq '.files[0] | .fast_bytes + .slow_bytes' "$TMP/json")" 4096000
	# what is on the members is what lies there: extents of the set, by hand
	msg where demote "0-$(($(status where extents) - 1))" >/dev/null
	filefrag -b512 -e "$MNT/file-1" | awk -F '[ .:]+' -v shift=$((4096 + 40)) '
		$2 ~ /^[0-9]+$/ && NF > 6 { print int(($5 + shift) / 512) }' | head -n 1 >"$TMP/extent"
	msg where promote "$(<"$TMP/extent")" >/dev/null
	fusionctl where --json "$MNT/file-1" >"$TMP/json"
	within_extent=$(jq '.files[0].fast_bytes' "$TMP/json")
	at_least "in one extent" "$within_extent" 4096
	at_most "in one extent" "$within_extent" $EXTENT
}

test_refusals() {
	begin
	refused "/proc/self/status: its file system does not tell where files lie" \
		fusionctl where /proc/self/status
	refused "/nosuch: No such file or directory" fusionctl where /nosuch
	refused "/dev/null: neither a file nor a directory" fusionctl where /dev/null
	refused "weight: nothing to sort by; give name, size, fast, slow or heat" \
		fusionctl where / --sort weight
	refused "where: has no extent 100000; the last one is $(($(status where extents) - 1))" \
		fusionctl where where --extents 100000
	refused "where: no file system on it is mounted as a whole" \
		fusionctl where where --extents 1
	refused "x: not a range of extents" fusionctl where where --extents x
	null other 64
	mkfs.ext4 -q /dev/other
	mount /dev/other "$MNT"
	refused "/dev/other: does not lie on an open fusion set" fusionctl where "$MNT"
	umount "$MNT"
	need_module dm-snapshot
	mkfs.ext4 -q "$SET"
	null cow 32
	dm snap "0 $LEN snapshot $SET /dev/cow N 8"
	mount /dev/mapper/snap "$MNT"
	refused "/dev/mapper/snap: blocks cannot be followed through a device of type snapshot" \
		fusionctl where "$MNT"
}

run_tests
