#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A set gets another name: closed, or open while a file system on it is in use. The name holds after
# a close and a power cut.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# begin: an open set, on members behind a power switch
begin() {
	switched 16 32
	defer dm_remove second
	defer dm_remove first
	good fusionctl create first --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
}

# labels: of the four superblocks, each once
labels() {
	local dev i
	for dev in "$FAST" "$SLOW"; do
		for i in 0 8; do
			dd if="$dev" bs=4k skip=$i count=1 iflag=direct status=none |
				tail -c +129 | head -c 64 | tr -d '\0'
			echo
		done
	done | sort -u
}

# is_named NAME: open under that name, and only that one
is_named() {
	same "open sets" "$(fusionctl list --json | jq -r '.sets[] | "\(.open_as) \(.set)"')" "$1 $1"
	[[ -b /dev/mapper/$1 ]] || fail "there is no /dev/mapper/$1"
}

unmounted() {
	! mountpoint -q "$1" || umount "$1"
}

test_open() {
	local dir=$TMP/mnt
	need mkfs.ext4
	begin
	mkfs.ext4 -q /dev/mapper/first
	mkdir "$dir"
	mount /dev/mapper/first "$dir"
	defer unmounted "$dir"
	echo before >"$dir/file"
	good fusionctl rename first second --dry-run
	shows "first: would be renamed second"
	is_named first
	good fusionctl rename first second
	shows "first: is now named second"
	is_named second
	[[ ! -e /dev/mapper/first ]] || fail "/dev/mapper/first is still there"
	same "content" "$(<"$dir/file")" before
	echo after >>"$dir/file"
	good fusionctl rename second second
	shows "second: has this name already"
	umount "$dir"

	good fusionctl close second
	same "labels" "$(labels)" second
	good fusionctl open second
	is_named second
	mount /dev/mapper/second "$dir"
	same "content" "$(<"$dir/file")" $'before\nafter'
	# by a member, and back
	good fusionctl rename "$FAST" first
	is_named first
	same "backup" "$(jq -r .label "/etc/fusion/backup/$(uuid_of "$FAST").json")" first
	umount "$dir"
}

# What the command has promised holds, even if power fails right after it.
test_power_fails() {
	begin
	good fusionctl rename first second
	power_off
	close second
	power_on
	defer dm_remove second
	good fusionctl assemble --scan
	is_named second
	# the device may have a name of its own: it gets that of the set
	good fusionctl close second
	good fusionctl open other "$FAST" "$SLOW"
	defer dm_remove other
	good fusionctl rename second second
	shows "other: is now named second"
	is_named second
}

test_closed() {
	begin
	good fusionctl close first
	good fusionctl rename first second --dry-run
	same "labels" "$(labels)" first
	good fusionctl rename first second
	shows "first: is now named second"
	same "labels" "$(labels)" second
	good fusionctl check second
	gives 4 fusionctl open first
	good fusionctl rename "$(uuid_of "$FAST")" third
	same "labels" "$(labels)" third
	same "backup" "$(jq -r .label "/etc/fusion/backup/$(uuid_of "$FAST").json")" third
	good fusionctl rename third second
	good fusionctl open second
	power_off
	close second
	power_on
	expect 3 "second: was not closed cleanly; run fusionctl open second first" \
		fusionctl rename second first
}

test_refused() {
	local i
	begin
	gives 2 fusionctl rename first
	for i in "" a/b "a b" control; do
		gives 2 fusionctl rename first "$i"
		says "not a name for a set"
	done
	loop 1M
	linear taken "$REPLY" 0 8
	expect 3 "taken: is the name of another mapped device; choose another name" \
		fusionctl rename first taken
	dm_remove taken
	is_named first
	for i in "" "label" "label a/b" "label $(printf 'x%.0s' {1..65})"; do
		# shellcheck disable=SC2086 # words
		refused "Invalid argument" dmsetup message first 0 $i
	done
	dmsetup suspend first
	expect 1 "first: cannot be renamed, it is suspended; run dmsetup resume first first" \
		fusionctl rename first second
	dmsetup resume first
	# the superblock cannot be written: the command reports it, or what the heartbeat noticed
	gone fast
	gives 1 fusionctl rename first second
	within 10 "mode ro" is_ro first
	gives 1 fusionctl rename first second
	says "cannot be renamed, it is in mode ro"
}

test_another_set() {
	local dev=()
	begin
	for _ in 1 2; do
		loop 16M
		dev+=("$REPLY")
	done
	defer dm_remove third
	good fusionctl create third --fast "${dev[0]}" --slow "${dev[1]}" --yes --extent-size 64K
	expect 3 "third: is the name of another mapped device; choose another name" \
		fusionctl rename first third
	good fusionctl close third
	gives 3 fusionctl rename first third
	says "third: is the name of another set, of which ${dev[0]} is a member"
	same "sets" "$(fusionctl list --json | jq -r '.sets[] | .set' | sort | paste -sd ' ')" "first third"
}

# A file that has the old name is named.
test_old_name_in_use() {
	begin
	cp /etc/fstab "$TMP/fstab" 2>/dev/null || : >"$TMP/fstab"
	echo "/dev/mapper/first /srv ext4 defaults 0 2" >>"$TMP/fstab"
	touch /etc/fstab
	mount --bind "$TMP/fstab" /etc/fstab
	defer umount /etc/fstab
	gives 0 fusionctl rename first second
	says "/etc/fstab: names the device /dev/mapper/first, which has another name now"
	good fusionctl rename second third
	good fusionctl rename third second
}

run_tests
