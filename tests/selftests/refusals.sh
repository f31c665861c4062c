#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What fusionctl refuses as a member or to overwrite, with the text and exit code of each error, and
# which device it takes for the slow member.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

long_bad_devices() {
	two 64 256
	local text file=$TMP/file part
	: >"$file"
	expect 4 "/dev/nosuch: No such file or directory; name a block device" \
		fusionctl format x "$FAST" /dev/nosuch
	expect 4 "/dev/null: not a block device; name a disk or a partition" \
		fusionctl format x /dev/null "$SLOW"
	expect 4 "$TMP: not a block device; name a disk or a partition" \
		fusionctl format x "$TMP" "$SLOW"
	expect 4 "$file: not a block device; name a disk or a partition, or a loop device over this \
file" fusionctl format x "$file" "$SLOW"

	text="is on the same device as"
	expect 4 "$FAST: $text $FAST; name two different ones" \
		fusionctl format x "$FAST" "$FAST" --yes --force
	ln -s "$FAST" "$TMP/link"
	expect 4 "$TMP/link: $text $FAST; name two different ones" \
		fusionctl format x --fast "$FAST" --slow "$TMP/link" --yes --force

	blockdev --setro "$FAST"
	expect 4 "$FAST: is read-only; choose a writable device" \
		fusionctl format x "$FAST" "$SLOW" --yes --force
	blockdev --setrw "$FAST"

	expect 4 "$FAST: fast member is smaller than 64 extents; choose a smaller extent size" \
		fusionctl format x "$FAST" "$SLOW" --extent-size 2M
	loop $((3 << 20))
	expect 4 "$REPLY: fast member is smaller than 64 extents; use a larger device" \
		fusionctl format x --fast "$REPLY" --slow "$SLOW" --extent-size 64K
	expect 4 "$REPLY: slow member is smaller than 64 extents; use a larger device" \
		fusionctl format x --fast "$FAST" --slow "$REPLY" --extent-size 64K

	for text in 32K 32M 3M 0 1; do
		expect 2 "$text: not an extent size; choose a power of two from 64K to 16M" \
			fusionctl format x "$FAST" "$SLOW" --extent-size "$text"
	done
	for text in '' M -1 1Q 1e6 0x100000 1MM 99999999E; do
		expect 2 "$text: not a size; write e.g. --extent-size 1M" \
			fusionctl format x "$FAST" "$SLOW" --extent-size="$text"
	done

	truncate -s 128M "$file"
	printf 'label: gpt\n2048,131072,\n' | sfdisk -q "$file"
	part=$(losetup -f -P --show "$file")
	defer losetup -d "$part"
	within 5 "${part}p1" test -b "${part}p1"
	expect 4 "${part}p1: is on the same device as $part; name two different ones" \
		fusionctl format x --fast "$part" --slow "${part}p1" --yes --force
}

test_in_use() {
	local i
	two 64 256
	mkfs.ext4 -q -L home "$FAST"
	mkdir "$TMP/a b"
	mount "$FAST" "$TMP/a b"
	defer umount_quietly "$TMP/a b"
	for i in "" --force; do
		expect 5 "$FAST: is mounted on $TMP/a b; unmount it first" \
			fusionctl format x "$FAST" "$SLOW" --yes $i
	done
	umount "$TMP/a b"

	linear holder "$SLOW" 0 2048
	expect 5 "$SLOW: is held by /dev/mapper/holder; remove that first" \
		fusionctl format x "$FAST" "$SLOW" --yes --force
	dm_remove holder

	modprobe -q loop || :
	REPLY=$(losetup -f --show "$SLOW")
	defer losetup_quietly "$REPLY"
	expect 5 "$SLOW: is held by $REPLY; remove that first" \
		fusionctl format x "$FAST" "$SLOW" --yes --force
	expect 5 "$SLOW: is held by $REPLY; remove that first" \
		fusionctl format x --fast "$REPLY" --slow "$SLOW" --yes --force
	losetup -d "$REPLY"

	busybox mkswap "$FAST" >/dev/null
	busybox swapon "$FAST" || skip "no swap here"
	defer swapoff_quietly "$FAST"
	expect 5 "$FAST: is used as swap; swapoff it first" \
		fusionctl format x "$FAST" "$SLOW" --yes --force
}

losetup_quietly() {
	losetup -d "$1" 2>/dev/null || :
}

swapoff_quietly() {
	busybox swapoff "$1"
}

long_signatures() {
	local uuid=01234567-89ab-4def-8123-456789abcdef set what before
	two 64 256
	mkfs.ext4 -q -L home -U $uuid "$FAST"
	what="ext4 (label home, uuid $uuid) at byte 1080"
	before=$(sum "$FAST" "$SLOW")
	expect 3 "$FAST: contains $what; to overwrite that, add --force" \
		fusionctl format x "$FAST" "$SLOW" --yes
	expect 3 "x: all data on $FAST and $SLOW would be lost, and there is no terminal to ask \
on; add --yes" fusionctl format x "$FAST" "$SLOW" --force
	shows "$what"
	good fusionctl format x "$FAST" "$SLOW" --force --yes --dry-run
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	good fusionctl format x "$FAST" "$SLOW" --force --yes
	set=$(uuid_of "$FAST")

	printf 'label: gpt\nlabel-id: %s\n' $uuid | sfdisk -q --no-reread "$SLOW" 2>/dev/null
	expect 3 "$FAST: contains the fast member of the fusion set x (uuid $set); \
to overwrite that, add --force" fusionctl format x "$FAST" "$SLOW" --yes
	wipe "$FAST"
	# half of a superblock, with other content over the other half
	expect 3 "$SLOW: contains the slow member of the fusion set x (uuid $set), gpt partition \
table (uuid $uuid) at byte 512; to overwrite that, add --force" \
		fusionctl format x "$FAST" "$SLOW" --yes
	wipe "$SLOW"
	expect 3 "$SLOW: contains gpt partition table (uuid $uuid) at byte $(((256 << 20) - 512)); \
to overwrite that, add --force" fusionctl format x "$FAST" "$SLOW" --yes
	wipe "$SLOW" tail
	good fusionctl format x "$FAST" "$SLOW" --yes

	damage "$FAST" 0
	damage "$FAST" 1
	expect 3 "$FAST: contains a damaged member of a fusion set; to overwrite that, add \
--force" fusionctl format x "$FAST" "$SLOW" --yes
}

# A bad sector at the place of a superblock neither makes a disk a member nor hides one.
test_bad_sector() {
	local dev table
	two 64 256
	good fusionctl format data "$FAST" "$SLOW" --yes
	null other 64
	for dev in other slow; do
		table="0 8 error"$'\n'"8 $(($(sectors_of /dev/$dev) - 8)) linear /dev/$dev 8"
		dmsetup create bad-$dev <<<"$table"
		defer dm_remove bad-$dev
	done
	good fusionctl list --json
	json '.members[] | select(.device == "/dev/mapper/bad-other")' ""
	json '.members[] | select(.device == "/dev/mapper/bad-slow") | .state, .reason' \
		$'one copy damaged\nit cannot be read'
	expect 4 "nosuch: no member of that set is found; connect it, fusionctl list shows the \
members" fusionctl open nosuch
	expect 4 "/dev/mapper/bad-other: not a member of a fusion set; wipefs removes other \
signatures" fusionctl wipe /dev/mapper/bad-other --yes
	good fusionctl probe --udev /dev/mapper/bad-slow
}

# The limit of a path is that of a link.
test_long_paths() {
	local name dir=$TMP/a-directory-of-which-the-name-is-so-long-that-64-bytes-do-not-hold-it
	name=slow-$(printf 'x%.0s' {1..100})
	two 64 256
	linear "$name" "$SLOW" 0 "$(sectors_of "$SLOW")"
	good fusionctl format data --fast "$FAST" --slow "/dev/mapper/$name" --yes
	good fusionctl check data
	mkdir "$dir"
	ln -s "$FAST" "$dir/fast"
	defer dm_remove data
	good fusionctl open data "$dir/fast" "/dev/mapper/$name" --json
	json '.fast.device, .slow.device' "$dir/fast"$'\n'"/dev/mapper/$name"
	good fusionctl close data
	damage "/dev/mapper/$name" 0
	good fusionctl probe "/dev/mapper/$name"
	shows "one copy damaged"
}

# Half of a superblock below other content is a remnant, not a member.
test_covered() {
	local uuid=01234567-89ab-4def-8123-456789abcdef what before
	need sfdisk
	two 64 256
	good fusionctl format data "$FAST" "$SLOW" --yes
	printf 'label: gpt\nlabel-id: %s\n' $uuid | sfdisk -q --no-reread "$SLOW" 2>/dev/null
	what="gpt partition table (uuid $uuid) at byte 512"
	before=$(sum "$FAST" "$SLOW")
	good fusionctl list --json
	json ".members[] | select(.device == \"$SLOW\").state" "written over"
	expect 4 "$SLOW: was the slow member of data and contains $what now; if that can be \
overwritten, run fusionctl repair $SLOW $FAST --force" fusionctl open data
	expect 4 "$SLOW: was the slow member of data and contains $what now; if that can be \
overwritten, run fusionctl repair with both members and --force" fusionctl open data "$FAST" "$SLOW"
	if fusionctl assemble --scan 2>/dev/null || [[ -b /dev/mapper/data ]]; then
		fail "it was opened"
	fi
	expect 8 "$FAST: the other member of its set is missing; name both, or see what \
this one has: fusionctl salvage $FAST" fusionctl repair data --yes
	expect 3 "$SLOW: contains $what; to overwrite that, add --force" \
		fusionctl repair "$FAST" "$SLOW" --yes
	expect 3 "$SLOW: contains $what, and beneath it half of the superblock of a member, which \
does no harm; to remove both, run wipefs -a $SLOW first" fusionctl wipe "$SLOW" --yes
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	expect 0 "data: the slow member is missing or damaged; wipe it by its device" \
		fusionctl wipe data --yes --dry-run
	expect 1 '' fusionctl repair "$FAST" "$SLOW" --yes --force
	good fusionctl check data
	[[ ! $(blkid -p -o value -s PTTYPE "$SLOW") ]] || fail "the partition table is still there"
}

# -- which one is the slow one -----------------------------------------------------------------

long_roles() {
	local grounds
	null one 64
	null two 66
	null big 256
	as_given() {
		good fusionctl format x "$1" "$2" --dry-run
		shows "fast is $3, slow is $4: $5"
	}
	torn() {
		expect 3 "$1: cannot tell whether this device ($2) or $3 ($4) is the slow one: \
$5; name them with --fast and --slow" fusionctl format x "$1" "$3" --dry-run
	}

	rotational /dev/two 1
	as_given /dev/one /dev/two /dev/one /dev/two "the slow one is rotational"
	as_given /dev/two /dev/one /dev/one /dev/two "the slow one is rotational"
	rotational /dev/two 0

	grounds="neither is rotational, the slow one is much larger"
	as_given /dev/one /dev/big /dev/one /dev/big "$grounds"
	as_given /dev/big /dev/one /dev/one /dev/big "$grounds"
	torn /dev/one 64M /dev/two 66M "neither is rotational, and their sizes are similar"

	rotational /dev/one 1
	torn /dev/one 64M /dev/big 256M "the rotational one is smaller"
	torn /dev/big 256M /dev/one 64M "the rotational one is smaller"
	rotational /dev/two 1
	torn /dev/one 64M /dev/two 66M "both are rotational, and their sizes are similar"

	expect 0 "x: the fast member (256M) is larger than the slow one (64M); check which devices \
are meant" fusionctl format x --fast /dev/big --slow /dev/one --dry-run
	expect 0 "x: the fast member /dev/one is a rotational disk; check which devices are meant" \
		fusionctl format x --slow /dev/two --fast /dev/one --yes
	json_role /dev/one fast
	json_role /dev/two slow
}

json_role() {
	good fusionctl list --json
	json ".members[] | select(.device == \"$1\") | .role" "$2"
}

run_tests
