#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fusionctl where tells the truth about files of each kind: what it says is compared with what the
# members have. where-layers.sh has what may lie between a file system and the set.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/where.sh
. "$(dirname "$0")/lib/where.sh"

# sums KEY...: of these fields of all rows, together
sums() {
	local IFS=+
	jq "[.files[] | ${*/#/.}] | add" "$TMP/json"
}

# many_extents FILE NR: NR blocks of 1 KiB, with a hole behind each
many_extents() {
	fio --name=many --filename="$1" --rw=write:1k --bs=1k --io_size="$2k" --filesize=$(($2 * 2))k \
		--fallocate=none --buffer_pattern='"@many-extents-of-one-file-01234@"' \
		--output=/dev/null
}

# agrees_many FILE NR: with the members, for such a file
agrees_many() {
	some_up
	slots pattern_bytes | awk '{ sum[$1] += $2 } END { print sum["fast"], sum["slow"] }' >"$TMP/truth"
	asked "$1"
	same "a file of $2 extents" "$(member_bytes 0)" "$(<"$TMP/truth")"
	same "its holes" "$(sums hole_bytes)" "$(($(stat -c %s "$1") - $2 * 1024))"
	at_least "on the fast member" "$(sums fast_bytes)" 1000000
}

# pattern_bytes MEMBER: "MEMBER BYTES" that the input has of such files
pattern_bytes() {
	{ grep -aoF '@many-extents-of-one-file-01234@' || :; } | wc -l |
		awk -v on="$1" '{ print on, $1 * 32 }'
}

test_ext4() {
	begin 288
	mkfs.ext4 -q -b 4096 -O inline_data "$SET"
	mounted "$SET"
	make_files
	# unwritten: blocks of a file that was zeroed stay where they are, and keep their stamps
	stamped "$MNT/file-10" 10 600
	sync "$MNT/file-10"
	fallocate -z -n -l $((600 * 4096)) "$MNT/file-10"
	has "unwritten" "$(filefrag -v "$MNT/file-10")" unwritten
	printf 'few bytes' >"$MNT/inline"
	fallocate -l 3M "$MNT/later"
	# either name may be told; both end with its number
	ln "$MNT/file-1" "$MNT/again-file-1"
	agrees
	has "an unwritten file is on the members" "$(awk '$1 == 10' "$TMP/truth.files")" "10 fast"
	asked "$MNT/inline" "$MNT/later"
	same "in metadata" "$(jq .files[0].inline_bytes "$TMP/json")" 9
	same "on members" "$(member_bytes 0)" "0 0"
	same "not written yet" \
		"$(jq '.files[1] | .fast_bytes + .slow_bytes + .unmapped_bytes' "$TMP/json")" 3145728
	# both names of an inode, below one directory
	asked "$MNT"
	same "files" "$(jq .files[0].files "$TMP/json")" \
		"$(find "$MNT" -type f -printf '%i\n' | sort -u | wc -l)"
	# a directory that is mounted twice below another
	mkdir "$MNT/twice"
	mount --bind "$MNT/dir" "$MNT/twice"
	defer umount_quietly "$MNT/twice"
	same "files" "$(jq .files[0].files "$TMP/json")" \
		"$(fusionctl where --json "$MNT" | jq .files[0].files)"
}

# explained FILE [OPTION]...: what fusionctl explain says of it is in $TMP/json
explained() {
	fusionctl explain where --json "$@" >"$TMP/json" || fail "explain $*: status $?"
}

# The extents that explain names for a file are those that have its stamps, and so many.
test_explain() {
	local extent bytes list
	begin 288
	mkfs.ext4 -q -b 4096 "$SET"
	mounted "$SET"
	make_files
	some_up
	truth >"$TMP/truth"
	explained "$MNT/file-8"
	same "bytes on the set" "$(jq .file.set_bytes "$TMP/json")" \
		"$(awk '$1 == 8 { n += $3 } END { print n }' "$TMP/truth")"
	same "of all extents" "$(jq '[.extents[].file_bytes] | add' "$TMP/json")" \
		"$(jq .file.set_bytes "$TMP/json")"
	jq -r '.extents[] | "\(.extent) \(.file_bytes)"' "$TMP/json" >"$TMP/told"
	at_least "extents" "$(wc -l <"$TMP/told")" 4
	while read -r extent bytes; do
		FIRST=$extent COUNT=1 slots stamps | awk '$1 == 8' >"$TMP/stamps"
		same "bytes on extent $extent" "$bytes" $(($(wc -l <"$TMP/stamps") * 4096))
	done <"$TMP/told"
	jq -c '.extents[] | [.extent, .member, .slot, .state]' "$TMP/json" >"$TMP/told"
	fusionctl explain where --json 0-$(($(status where extents) - 1)) |
		jq -c '.extents[] | [.extent, .member, .slot, .state]' >"$TMP/all"
	same "extents that are told otherwise by number" \
		"$(grep -vxFf "$TMP/all" "$TMP/told" || :)" ""
	# counted by verdict
	explained "$MNT/file-1"
	jq -cS '[.extents | group_by([.verdict, .member, .waits_for])[] |
		{ verdict: .[0].verdict, member: .[0].member, waits_for: .[0].waits_for,
		  extents: length, file_bytes: map(.file_bytes) | add,
		  heat: (map(.heat) | add / length) }] | sort' "$TMP/json" >"$TMP/groups"
	jq -cS '.summary | map(.heat += 0) | sort' "$TMP/json" | diff "$TMP/groups" - || fail "the summary is wrong"
	list=$(jq '.extents | length' "$TMP/json")
	at_least "extents" "$list" 9
	fusionctl explain where "$MNT/file-1" >"$TMP/out"
	has "for people" "$(<"$TMP/out")" "file $MNT/file-1: "
	has "for people" "$(<"$TMP/out")" " on the set, in $list extents"
	same "extents, each by itself" "$(grep -c '^extent ' "$TMP/out" || :)" 0
	fusionctl explain where "$MNT/file-1" -v >"$TMP/out"
	same "extents, each by itself" "$(grep -c '^extent ' "$TMP/out")" "$list"
	# one extent; a name that could be a number, and one that is on no member
	stamped "$MNT/12" 12 1
	sync
	(cd "$MNT" && fusionctl explain where ./12) >"$TMP/out"
	has "for people" "$(<"$TMP/out")" "file ./12: 4K on the set, in 1 extent"
	has "for people" "$(<"$TMP/out")" "  the file    has 4K of it"
	(cd "$MNT" && fusionctl explain where 12) >"$TMP/out"
	same "extents" "$(grep '^extent ' "$TMP/out" | cut -d, -f1)" "extent 12"
	truncate -s 1M "$MNT/hole"
	explained "$MNT/hole"
	same "extents" "$(jq -c '[.file.extents, .extents, .summary]' "$TMP/json")" "[0,[],[]]"
	refused "$MNT: not a regular file" fusionctl explain where "$MNT"
	null fast2 32
	FAST=$REPLY
	null slow2 48
	SLOW=$REPLY
	opened other --extent-size 64K
	refused "$MNT/file-1: lies on another set; use fusionctl explain where" \
		fusionctl explain other "$MNT/file-1"
}

test_many_extents() {
	need fio filefrag
	begin 288
	mkfs.ext4 -q -b 1024 "$SET"
	mounted "$SET"
	many_extents "$MNT/many" 40000
	sync
	at_least "extents" "$(filefrag -v "$MNT/many" | grep -cE '^ *[0-9]+:')" 40000
	agrees_many "$MNT/many" 40000
}

# reflinked FILE COPY: two files, of which the second has one block of its own
reflinked() {
	cp --reflink=always "$1" "$2"
	printf new | dd of="$2" bs=4k seek=7 conv=notrunc status=none
	sync
}

# agrees_reflinked FILE COPY: each alone has all its blocks, both together those shared once
agrees_reflinked() {
	local size fast slow
	size=$(stat -c %s "$1")
	asked "$1"
	read -r fast slow <<<"$(member_bytes 0)"
	same "the file" $((fast + slow)) "$size"
	# only one block differs, which is not written to the same place
	asked "$2"
	same "its copy" "$(sums fast_bytes slow_bytes unmapped_bytes)" "$size"
	at_most "the copy is where the file is" "$(($(sums fast_bytes) - fast))" 4096
	at_least "the copy is where the file is" "$(($(sums fast_bytes) - fast))" -4096
	asked "$(dirname "$1")"
	same "shared" "$(sums shared_bytes)" $((size - 4096))
	same "together" "$(sums fast_bytes slow_bytes unmapped_bytes)" $((size + 4096))
}

test_xfs() {
	need mkfs.xfs
	grep -qw xfs /proc/filesystems || need_module xfs
	begin 384
	mkfs.xfs -q -m reflink=1 "$SET"
	# no blocks behind the end of a file
	mount -o allocsize=4096 "$SET" "$MNT"
	defer umount_quietly "$MNT"
	make_files
	agrees
	mkdir "$MNT/shared"
	mv "$MNT/file-2" "$MNT/shared"
	reflinked "$MNT/shared/file-2" "$MNT/shared/copy"
	agrees_reflinked "$MNT/shared/file-2" "$MNT/shared/copy"
}

# marked_file FILE: extents of which half is random, so that compression halves them. Bytes that do
# not repeat are left as they are: the strings at the beginning of each block that the file takes on
# the disk are in $TMP/strings.
marked_file() {
	: >"$TMP/strings"
	awk -v seed=$RANDOM -v list="$TMP/strings" 'BEGIN {
		srand(seed)
		for (e = 0; e < 16; e++) {
			for (b = 0; b < 16; b++) {
				mark = ""
				for (i = 0; i < 32; i++)
					mark = mark sprintf("%c", 97 + int(26 * rand()))
				print mark >list
				printf "%s", mark
				n = b < 15 ? 4064 : 2016
				for (i = 0; i < n; i++)
					printf "%c", 1 + int(255 * rand())
			}
			for (i = 0; i < 131072 - 63488; i++)
				printf "z"
		}
	}' >"$1"
}

test_btrfs() {
	need mkfs.btrfs btrfs
	grep -qw btrfs /proc/filesystems || need_module btrfs
	begin 288
	mkfs.btrfs -q "$SET" >/dev/null 2>&1
	mounted "$SET"
	make_files
	agrees
	mkdir "$MNT/packed" "$MNT/shared"
	btrfs property set "$MNT/packed" compression zstd
	marked_file "$MNT/packed/marked"
	some_up
	printf 'few bytes' >"$MNT/inline"
	sync
	asked "$MNT/inline"
	same "in metadata" "$(sums inline_bytes)" 9
	same "on members" "$(member_bytes 0)" "0 0"
	asked "$MNT/packed/marked"
	same "its size" "$(sums bytes)" $((16 * 131072))
	same "no holes" "$(sums hole_bytes)" 0
	slots found | awk '{ n[$1]++ } END { print n["fast"] * 4096, n["slow"] * 4096 }' >"$TMP/truth"
	same "a compressed file" "$(member_bytes 0)" "$(<"$TMP/truth")"
	same "compressed to" "$(sums fast_bytes slow_bytes)" $((256 * 4096))
	mv "$MNT/file-2" "$MNT/shared"
	reflinked "$MNT/shared/file-2" "$MNT/shared/copy"
	agrees_reflinked "$MNT/shared/file-2" "$MNT/shared/copy"
	btrfs -q subvolume create "$MNT/sub"
	stamped "$MNT/sub/file-21" 21 100
	sync
	asked "$MNT/sub" "$MNT"
	same "a subvolume" "$(jq '.files[0] | .fast_bytes + .slow_bytes + .unmapped_bytes' "$TMP/json")" \
		409600
	same "with its subvolumes" "$(jq .files[1].files "$TMP/json")" "$(find "$MNT" -type f | wc -l)"
	# only a part is mounted: what is there is found
	umount "$MNT"
	mount -o subvol=sub "$SET" "$MNT"
	fusionctl where where --extents "0-$(($(status where extents) - 1))" --json >"$TMP/json" \
		2>"$TMP/err"
	has "a warning" "$(<"$TMP/err")" "not all of its file system is mounted"
	same "files" "$(jq -r '.files[].path' "$TMP/json")" "$MNT/file-21"
}

run_tests
