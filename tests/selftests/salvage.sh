#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One member is gone: all data that the other one has is readable, the rest gives errors, and the
# list of both is exact, by sectors; salvage-files.sh has that by files.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck source=lib/salvage.sh
. "$(dirname "$0")/lib/salvage.sh"

# intact_is FILE: intact sectors can be read, and equal those of FILE
intact_is() {
	local first nr
	while read -r first nr; do
		cmp -n $((nr * 512)) -i $((first * 512)) "$LEFT" "$1" ||
			fail "sectors $first + $nr differ"
	done < <(part intact)
}

# errors KIND: sectors of this kind cannot be read, from the first to the last
errors() {
	local first nr i
	while read -r first nr; do
		for i in "$first" $((first + nr - 1)); do
			if dd if="$LEFT" of=/dev/null skip="$i" count=1 iflag=direct status=none \
				2>/dev/null; then
				fail "sector $i is $1 and can be read"
			fi
		done
	done < <(part "$1")
}

# read_only: the device cannot be written
read_only() {
	same "read-only" "$(blockdev --getro "$LEFT")" 1
	if dd if=/dev/zero of="$LEFT" bs=4096 count=1 oflag=direct status=none 2>/dev/null; then
		fail "it could be written"
	fi
}

# by sectors, from either member, of a closed set
test_sectors() {
	local dev other
	a_set 16 32
	dd if=/dev/urandom of="$SET" bs=64k count=300 oflag=direct conv=fsync status=none
	put_direct "$SET" 101 $((310 * 65536 + 8192)) 8192	# and an open one
	blkdiscard -o $((40 * 65536)) -l $((10 * 65536)) "$SET"
	msg set demote 20-99 >/dev/null
	cp --sparse=never "$SET" "$TMP/golden"
	places set >"$TMP/places"
	close set
	for dev in fast slow; do
		other=$([[ $dev == fast ]] && echo slow || echo fast)
		salvage "/dev/$dev"
		same "member" "$(jq -r .member "$TMP/json")" $dev
		same "current" "$(jq .current "$TMP/json")" true
		same "device" "$(jq -r .device "$TMP/json")" $LEFT
		same "lost" "$(part lost)" "$(extents_on "$other")"
		same "unknown" "$(part unknown)" ""
		intact_is "$TMP/golden"
		errors lost
		# unwritten sectors are zeros
		while read -r first nr; do
			read_zero "$LEFT" $((first * 512)) $((nr * 512))
		done < <(part empty)
		same "all of it" "$(jq '.bytes | add' "$TMP/json")" $((EXTENTS * 65536))
		read_only
		fusionctl close left
	done
	fusionctl salvage "$SLOW" >"$TMP/out"
	has "for people" "$(<"$TMP/out")" "set, from its slow member alone: "
	[[ ! -e $LEFT ]]
	# the set is undamaged
	fusion set
	cmp "$SET" "$TMP/golden"
}

# crash: the slow member as it is while the set is open, in a loop device
crash() {
	dd if="$SLOW" of="$TMP/slow" bs=1M iflag=direct status=none
	modprobe -q loop || :
	REPLY=$(losetup -f -r --show "$TMP/slow")
	defer losetup -d "$REPLY"
}

# sectors that the replica does not know are neither zeros nor foreign data
test_unknown() {
	a_set 16 32 replica_interval 86400
	dd if=/dev/urandom of="$SET" bs=64k count=300 oflag=direct conv=fsync status=none
	msg set demote 0-99 >/dev/null
	msg set checkpoint
	dd if=/dev/urandom of="$SET" bs=64k count=30 seek=300 oflag=direct conv=fsync status=none
	blkdiscard -o 0 -l $((10 * 65536)) "$SET"
	msg set promote 10-19 >/dev/null
	dd if=/dev/urandom of="$SET" bs=64k count=10 seek=10 oflag=direct conv=fsync status=none
	cp --sparse=never "$SET" "$TMP/golden"
	places set >"$TMP/places"
	crash
	# discarded data may still be there, and differs from the zeros of the golden copy
	salvage "$REPLY"
	same "current" "$(jq .current "$TMP/json")" false
	at_least "unknown" "$(jq .bytes.unknown "$TMP/json")" $((30 * 65536))
	jq '.intact |= map(select(.first_sector >= 10 * 128))' "$TMP/json" >"$TMP/less"
	mv "$TMP/less" "$TMP/json"
	at_least "intact" "$(part intact | wc -l)" 1
	intact_is "$TMP/golden"
	errors lost
	errors unknown
	# promoted extents are lost, although their former slots hold data
	for i in 10 19; do
		if dd if="$LEFT" of=/dev/null bs=64k skip=$i count=1 status=none 2>/dev/null; then
			fail "extent $i was promoted and can be read"
		fi
	done
	fusionctl close left
	salvage "$REPLY" --zero
	read -r first nr < <(part unknown)
	read_zero $LEFT $((first * 512)) $((nr * 512))
}

# a separate device offers older versions
test_stale() {
	local i
	# the slot of a discarded extent holds nothing
	a_set 16 32 replica_interval 86400 discard_passdown off
	dd if=/dev/urandom of="$SET" bs=64k count=300 oflag=direct conv=fsync status=none
	msg set demote 0-99 >/dev/null
	msg set checkpoint
	cp --sparse=never "$SET" "$TMP/golden"
	msg set promote 10-19 >/dev/null
	dd if=/dev/urandom of="$SET" bs=64k count=10 seek=10 oflag=direct conv=fsync status=none
	crash
	salvage "$REPLY" --stale
	same "stale" "$(part stale | awk '{ n += $2 } END { print n }')" $((10 * 128))
	for ((i = 10; i < 20; i++)); do
		cmp -n 65536 -i $((i * 65536)) /dev/mapper/left-stale "$TMP/golden"
		if dd if="$LEFT" of=/dev/null bs=64k skip=$i count=1 status=none 2>/dev/null; then
			fail "extent $i is stale and on the device of what is intact"
		fi
	done
	if dd if=/dev/mapper/left-stale of=/dev/null bs=64k skip=9 count=1 status=none 2>/dev/null
	then
		fail "what is not stale can be read there"
	fi
}

# both devices or none
test_stale_is_refused() {
	a_set 16 32
	close set
	dmsetup create other --notable -u "SALVAGE-$(uuid_of "$SLOW")-stale"
	defer dm_remove other
	refused "left-stale: refused by the kernel: Device or resource busy" \
		fusionctl salvage "$SLOW" left --stale
	refused "does not exist" dmsetup info left
	dm_remove other
	salvage "$SLOW" --stale
}

# The devices that salvage opened are recognised, and closing one closes both.
test_known() {
	local uuid i
	a_set 16 32
	dd if=/dev/urandom of="$SET" bs=64k count=300 oflag=direct conv=fsync status=none
	close set
	uuid=$(uuid_of "$SLOW")
	salvage "$SLOW" --stale
	good fusionctl list
	for i in left left-stale; do
		has "row of $i" "$(grep "/dev/mapper/$i " "$TMP/out")" "rescued"
		has "row of $i" "$(grep "/dev/mapper/$i " "$TMP/out")" "read-only"
	done
	has "stale" "$(grep "/dev/mapper/left-stale " "$TMP/out")" "read-only, stale"
	good fusionctl list --json
	json '.rescued[] | select(.stale | not) | .name, .set, .set_uuid, .member, .member_device' \
		"left"$'\n'"set"$'\n'"$uuid"$'\n'"slow"$'\n'"$SLOW"
	good fusionctl status
	has "status" "$(<"$TMP/out")" "left: rescued by salvage, read-only: what is left of the set set, "
	# nothing is stale: the device stands on no member
	has "status" "$(<"$TMP/out")" "left-stale: rescued by salvage, read-only: stale extents of the set set, "
	has "status" "$(<"$TMP/out")" ", of which there is nothing; fusionctl close left-stale \
closes it"
	good fusionctl status left
	has "status" "$(<"$TMP/out")" ", from its slow member $SLOW; fusionctl close left closes it"
	same "lines" "$(wc -l <"$TMP/out")" 1
	good fusionctl status left --json
	json '.rescued[].name' left
	good fusionctl complete -- close le
	shows "left"
	good fusionctl close left
	[[ ! -e $LEFT && ! -e /dev/mapper/left-stale ]] || fail "it is still there"
	good fusionctl list --json
	json '.rescued | length' 0
}

# lose DEV: both copies of the superblock
lose() {
	put_direct "$1" 0 0 65536
}

# by the name of the set, or of the member that is left; any name closes everything
test_by_name() {
	local i uuid
	a_set 16 32
	dd if=/dev/urandom of="$SET" bs=64k count=50 oflag=direct conv=fsync status=none
	msg set demote 0-19 >/dev/null
	close set
	uuid=$(uuid_of "$SLOW")
	refused "set: both of its members are present; open it, or name the one to examine" \
		fusionctl salvage set
	lose "$FAST"
	fusionctl check set >"$TMP/out" || :
	has "check" "$(<"$TMP/out")" "; connect the fast member, or see what the other one has: \
fusionctl salvage $SLOW"
	fusionctl repair set --yes 2>"$TMP/err" || :
	same "repair" "$(<"$TMP/err")" "fusionctl: $SLOW: the other member of its set is missing; \
name both, or see what this one has: fusionctl salvage $SLOW"
	fusionctl set set duty=50 2>"$TMP/err" || :
	same "set" "$(<"$TMP/err")" "fusionctl: set: its fast member is missing, and settings and name are kept \
on both; connect it, or see what the other one has: fusionctl salvage $SLOW"
	refused "set: its fast member is missing" fusionctl open set
	for i in set "$uuid" "$SLOW"; do
		salvage "$i" --stale
		same "member" "$(jq -r .member "$TMP/json")" slow
		# beside the existing device
		fusionctl salvage "$i" >"$TMP/out"
		has "for people" "$(<"$TMP/out")" "set, from its slow member alone: "
		[[ -e $LEFT && -e $LEFT-stale ]]
		truncate -s 1M "$TMP/fs"
		mkfs.ext4 -q -F -t ext2 "$TMP/fs"
		fusionctl salvage "$i" --files "$TMP/fs" >"$TMP/out"
		# both close together
		exec 7<"$LEFT-stale"
		refused "left-stale: cannot close: Device or resource busy" fusionctl close "${i/set/left}"
		[[ -e $LEFT && -e $LEFT-stale ]]
		exec 7<&-
		fusionctl close "${i/set/left}"
		[[ ! -e $LEFT && ! -e $LEFT-stale ]]
	done
	salvage "$SLOW" --stale
	fusionctl close left-stale
	fusionctl close left
}

# mountable CAN WHY: the answer for the slow member alone, and the result of a mount
mountable() {
	local can=false
	salvage "$SLOW"
	same "mountable ($(jq -r .mountable_why "$TMP/json"))" "$(jq .mountable "$TMP/json")" "$1"
	has "why" "$(jq -r .mountable_why "$TMP/json")" "$2"
	fusionctl salvage "$SLOW" >"$TMP/out"
	has "for people" "$(<"$TMP/out")" "mountable: $([[ $1 == true ]] && echo yes || echo no): "
	if mount -t ext4 -o ro,noload "$LEFT" "$TMP/mnt" 2>/dev/null; then
		can=true
		umount "$TMP/mnt"
	fi
	same "whether it mounts" $can "$1"
	fusionctl close left
}

# back EXTENT: the only one on the fast member
back() {
	fusion set migration off
	msg set demote 0-$((EXTENTS - 1)) >/dev/null
	msg set promote "$1" >/dev/null
	close set
}

# mountable says whether a file system can be mounted, and the kernel agrees
test_mountable() {
	local inode dir
	need debugfs e2fsck
	a_set 40 64
	mkdir "$TMP/mnt"
	msg set demote 0-$((EXTENTS - 1)) >/dev/null
	close set
	fusionctl salvage "$SLOW" >"$TMP/out"
	has "without one" "$(<"$TMP/out")" "mountable: no: no file system is recognised on it"
	fusion set migration off
	mkfs.ext4 -q -b 1024 "$SET"
	mount "$SET" "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	head -c 3M /dev/urandom >"$TMP/mnt/file"
	umount "$TMP/mnt"
	inode=$(debugfs -R 'imap <2>' "$SET" 2>/dev/null | sed -n 's/.*located at block \([0-9]*\),.*/\1/p')
	dir=$(debugfs -R 'blocks <2>' "$SET" 2>/dev/null | awk '{ print $1 }')
	close set
	back $((EXTENTS - 1))
	mountable true "ext4, with mount -o ro,noload"
	same "content" "$(jq -r .content "$TMP/json")" ext4
	back 0
	mountable false "its beginning, where the superblock of a file system is, was on the fast \
member; a copy of an ext superblock is left: copy the device, then run e2fsck -b 8193 -B 1024"
	salvage "$SLOW"
	dd if="$LEFT" of="$TMP/copy" bs=64k conv=noerror,sync status=none 2>/dev/null || :
	fusionctl close left
	e2fsck -fy -b 8193 -B 1024 "$TMP/copy" >/dev/null || [[ $? -le 2 ]]
	e2fsck -fn "$TMP/copy" >/dev/null
	back $((inode / 64))
	mountable false "the root inode of its ext4 was on the fast member"
	back $((dir / 64))
	mountable true "but the root directory was on the fast member"
	# file systems other than ext are examined less closely
	fusion set migration off
	wipefs -qa "$SET"
	mkswap "$SET" >/dev/null
	msg set demote 0-$((EXTENTS - 1)) >/dev/null
	close set
	fusionctl salvage "$SLOW" >"$TMP/out"
	has "swap" "$(<"$TMP/out")" "mountable: perhaps: it contains swap, "
}

# the reason if it cannot be mounted
test_refusals() {
	local rc=0 out
	a_set 8 16
	close set
	expect() {
		local want=$1 text=$2
		shift 2
		rc=0
		out=$("$@" 2>&1) || rc=$?
		same "exit code of $* ($out)" $rc "$want"
		has "$*" "$out" "$text"
	}
	null other 8
	expect 4 "not a member of a fusion set" fusionctl salvage /dev/other
	cp "$SLOW" "$TMP/slow"
	expect 0 "from its slow member alone" fusionctl salvage "$TMP/slow"
	expect 2 "is an image, which can only be listed" fusionctl salvage "$TMP/slow" left
	expect 2 "not a name for a set" fusionctl salvage "$SLOW" a/b
	fusion set
	expect 5 "is held by /dev/mapper/set" fusionctl salvage "$SLOW" left
	close set
	dm left "0 8 error"
	expect 5 "another mapped device has that name" fusionctl salvage "$SLOW" left
	dm_remove left
	put_direct "$SLOW" 125 512 512
	put_direct "$SLOW" 125 $((8 * 4096 + 512)) 512
	expect 7 "both copies of its superblock are damaged (checksum mismatch)" \
		fusionctl salvage "$SLOW"
}

run_tests
