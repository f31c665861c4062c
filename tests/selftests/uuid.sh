#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A copy of both members becomes a set of its own, beside the original. What is refused is left
# alone.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/closed.sh
. "$(dirname "$0")/lib/closed.sh"

FAST2=/dev/fast2 SLOW2=/dev/slow2

# begin: a closed set, and a copy of both members
begin() {
	need mkfs.ext4
	members 16 32
	null fast2 20
	null slow2 32
	defer dm_remove copy
	defer dm_remove data
	good fusionctl create data --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
	LEN=$(blockdev --getsz /dev/mapper/data)
	mkdir "$TMP/one" "$TMP/two"
	mkfs.ext4 -q /dev/mapper/data
	mount /dev/mapper/data "$TMP/one"
	defer umount_quietly "$TMP/one"
	head -c 6M /dev/urandom >"$TMP/one/file"
	umount "$TMP/one"
	good fusionctl set data duty=40
	good fusionctl close data
	copy
}

copy() {
	dd if="$FAST" of=$FAST2 bs=1M status=none oflag=direct
	dd if="$SLOW" of=$SLOW2 bs=1M status=none oflag=direct
}

test_beside() {
	local uuid new original file=/etc/fusion/backup
	begin
	uuid=$(uuid_of "$FAST")
	# as ever: neither is opened
	gives 4 fusionctl open data
	says "both claim to be the same member; detach one, or name the devices to use"
	gives 4 fusionctl assemble --scan
	original=$(sum)
	good fusionctl uuid $FAST2 $SLOW2 --label copy --yes
	shows "$FAST2: fast member of copy (20M), gets the new uuid"
	shows "$FAST: fast member with the old uuid, stays as it is"
	shows "$SLOW: slow member with the old uuid, stays as it is"
	same "original" "$(sum)" "$original"
	new=$(uuid_of $FAST2)
	differ "uuid" "$new" "$uuid"
	same "uuid" "$(uuid_of $SLOW2)" "$new"
	differ "fast member" "$(uuid_of $FAST2 device_uuid)" "$(uuid_of "$FAST" device_uuid)"
	differ "slow member" "$(uuid_of $SLOW2 device_uuid)" "$(uuid_of "$SLOW" device_uuid)"
	same "backup" "$(jq -c '[.label, .settings]' "$file/$new.json")" '["copy",{"duty":40}]'
	same "backup" "$(jq -r .label "$file/$uuid.json")" data
	good fusionctl check copy
	good fusionctl check data

	good fusionctl open data
	good fusionctl open copy
	mount /dev/mapper/data "$TMP/one"
	mount -o ro /dev/mapper/copy "$TMP/two"
	defer umount_quietly "$TMP/two"
	cmp "$TMP/one/file" "$TMP/two/file"
	echo more >"$TMP/one/more"
	umount "$TMP/one"
	[[ ! -e $TMP/two/more ]] || fail "the original shows in the copy"
	umount "$TMP/two"
	e2fsck -fn /dev/mapper/copy >/dev/null 2>&1
	gives 5 fusionctl uuid $FAST2 $SLOW2 --yes
	good fusionctl close copy
	good fusionctl close data
	# the other way: the original is open
	copy
	good fusionctl open data "$FAST" "$SLOW"
	good fusionctl uuid $FAST2 $SLOW2 --label copy --yes --json
	json .old_set_uuid "$uuid"
	json .set_uuid "$(uuid_of $FAST2)"
	good fusionctl close data
	good fusionctl assemble --scan
	good fusionctl close copy
	good fusionctl close data
}

# A fast member whose superblock cannot be written stands for a power cut.
test_interrupted() {
	local uuid table
	begin
	good fusionctl wipe "$FAST" "$SLOW" --yes
	uuid=$(uuid_of $FAST2)
	# the fast member takes no superblock any more
	table="0 8 error
8 $(($(sectors_of $FAST2) - 8)) linear $FAST2 8"
	FAST=/dev/mapper/half SLOW=$SLOW2
	linear half $FAST2 0 "$(sectors_of $FAST2)"
	dmsetup reload half --table "$table"
	dmsetup suspend half
	dmsetup resume half
	gives 1 fusionctl uuid "$FAST" "$SLOW" --yes
	says "to go on, run fusionctl uuid $FAST $SLOW again"
	dmsetup reload half --table "0 $(sectors_of $FAST2) linear $FAST2 0"
	dmsetup suspend half
	dmsetup resume half
	same "uuid" "$(uuid_of "$FAST")" "$uuid"
	for i in "open data" "check data" "open data $FAST $SLOW" "wipe $SLOW --dry-run"; do
		# shellcheck disable=SC2086 # words
		status_of fusionctl $i
		at_least "exit code of $i" "$RC" 1
		says "fusionctl uuid"
	done
	status_of fusionctl assemble --scan
	says "run fusionctl uuid FAST $SLOW"
	good fusionctl list
	shows "fusionctl uuid"
	refused "Protocol not supported" dmsetup create data --table "$(table)"
	gives 0 fusionctl uuid "$FAST" "$SLOW" --yes
	says "this was interrupted before, and goes on from there"
	differ "uuid" "$(uuid_of "$FAST")" "$uuid"
	good fusionctl check data
	good fusionctl open data
	mount /dev/mapper/data "$TMP/one"
	umount "$TMP/one"
	good fusionctl close data
}

test_refused() {
	local before
	begin
	null other 16
	before=$(sum $FAST2 $SLOW2)
	gives 3 fusionctl uuid $FAST2 $SLOW2
	says "and there is no terminal to ask on; add --yes"
	gives 3 fusionctl uuid $FAST2 $SLOW2 --label data --yes
	says "data: is the name of another set, of which"
	gives 2 fusionctl uuid $FAST2 $SLOW2 --label a/b --yes
	gives 2 fusionctl uuid $FAST2 --yes
	gives 4 fusionctl uuid $FAST2 "$FAST" --yes
	gives 4 fusionctl uuid $FAST2 $FAST2 --yes
	gives 4 fusionctl uuid $FAST2 /dev/other --yes
	gives 4 fusionctl uuid /dev/nosuch $SLOW2 --yes
	good fusionctl open data $FAST2 $SLOW2
	gives 5 fusionctl uuid $FAST2 $SLOW2 --yes
	good fusionctl close data
	dd if="$FAST" of=$FAST2 bs=1M status=none oflag=direct
	gives 4 fusionctl uuid $FAST2 $SLOW2 --yes
	says "the fast member is from before the last opening"
	copy
	good fusionctl open data $FAST2 $SLOW2
	dd if=/dev/urandom of=/dev/mapper/data bs=64K count=4 oflag=direct conv=fsync status=none
	save2
	good fusionctl close data
	dd if="$TMP/fast2" of=$FAST2 bs=1M oflag=direct status=none
	dd if="$TMP/slow2" of=$SLOW2 bs=1M oflag=direct status=none
	gives 3 fusionctl uuid $FAST2 $SLOW2 --yes
	says "was not closed cleanly; run fusionctl open data $FAST2 $SLOW2 and close it first"
	copy
	same "devices" "$(sum $FAST2 $SLOW2)" "$before"
	gives 0 fusionctl uuid $FAST2 $SLOW2 --yes
	says "data: is also the name of the set of which"
}

# of the open set
save2() {
	dd if=$FAST2 of="$TMP/fast2" bs=1M iflag=direct status=none
	dd if=$SLOW2 of="$TMP/slow2" bs=1M iflag=direct status=none
}

run_tests
