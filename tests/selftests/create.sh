#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# How fusionctl makes and erases sets: its questions, the type of a partition, the file system, and
# what is left of what was there.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

# On a terminal there is one question, which names the content found.
test_question() {
	local uuid=01234567-89ab-4def-8123-456789abcdef what before
	need script
	two 64 256
	mkfs.ext4 -q -L home -U $uuid "$FAST"
	what="ext4 (label home, uuid $uuid) at byte 1080"
	before=$(sum "$FAST" "$SLOW")
	on_terminal no fusionctl format x "$FAST" "$SLOW"
	same status "$REPLY" 3
	shows "All data on $FAST and $SLOW will be lost, with $what on $FAST; type yes: "
	shows "x: nothing was changed; answer yes to continue"
	on_terminal '' fusionctl format x "$FAST" "$SLOW" --yes
	same status "$REPLY" 3
	shows "$FAST: contains $what; to overwrite that, add --force"
	on_terminal '' fusionctl format x "$FAST" "$SLOW" --dry-run
	same status "$REPLY" 0
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	on_terminal yes fusionctl format x "$FAST" "$SLOW"
	same status "$REPLY" 0
	same "questions" "$(grep -c "type yes" "$TMP/out")" 1
	good fusionctl probe "$FAST"
}

# asks TEXT COMMAND...: it asks on a terminal, even if the output is redirected; the answer is no
asks() {
	local text=$1 before
	shift
	before=$(sum "$FAST" "$SLOW")
	on_terminal no "$* >$TMP/stdout"
	same "status of '$*' ($(<"$TMP/out"))" "$REPLY" 3
	shows "$text; type yes: "
	shows "nothing was changed; answer yes to continue"
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	same "questions in the output" "$(grep -c "type yes" "$TMP/stdout" || :)" 0
}

# The other verbs that write ask as well, and the question is not part of their output.
test_questions() {
	local what dump=$TMP/dump uuid=01234567-89ab-4def-8123-456789abcdef
	need script
	two 64 256
	asks "All data on $FAST and $SLOW will be lost" fusionctl format data "$FAST" "$SLOW"
	good fusionctl format data "$FAST" "$SLOW" --yes
	good fusionctl dump data -o "$dump"
	asks "All data on the set of $FAST and $SLOW will be lost" fusionctl wipe data
	asks "Replace the metadata on $FAST and $SLOW by that of $dump" \
		fusionctl restore "$dump" "$FAST" "$SLOW"
	damage "$FAST" 0
	asks "Write the metadata on $FAST and $SLOW" fusionctl repair data
	# the question names the content, also that of another set
	good fusionctl format else "$FAST" "$SLOW" --yes --force
	wipe "$SLOW"
	mkfs.ext4 -q -F -L home -U $uuid "$SLOW"
	what="the fast member of the set else on $FAST and ext4 (label home, uuid $uuid) at byte \
1080 on $SLOW"
	asks "Replace the metadata on $FAST and $SLOW by that of $dump, with $what" \
		fusionctl restore "$dump" "$FAST" "$SLOW"
	expect 3 "$FAST: is the fast member of the set else, not of that in $dump; to overwrite \
that, add --force" fusionctl restore "$dump" "$FAST" "$SLOW" --yes
	on_terminal '' fusionctl restore "$dump" "$FAST" "$SLOW" --dry-run
	same status "$REPLY" 0
	shows "the metadata on $FAST and $SLOW would be replaced by that of $dump, with $what: the set"
	good fusionctl restore "$dump" "$FAST" "$SLOW" --json --force --dry-run
	json .fast.content "the fast member of the set else"
	json .slow.content "ext4 (label home, uuid $uuid) at byte 1080"
	on_terminal yes fusionctl restore "$dump" "$FAST" "$SLOW"
	same status "$REPLY" 0
	good fusionctl check data
}

# type_of DEV: of its first partition
type_of() {
	sfdisk --part-type "$1" 1
}

test_gpt_type() {
	local ours=AE6187F2-428C-4BFF-AB94-6F478486E0AE file
	local linux=0FC63DAF-8483-4772-8E79-3D69D8477DE4
	need sfdisk
	two 96 256
	expect 2 "--gpt-type: neither $FAST nor $SLOW is a partition of a GPT; leave it out" \
		fusionctl format x "$FAST" "$SLOW" --gpt-type --yes
	partitioned $((96 << 20))
	differ "type" "$(type_of "$REPLY")" $ours
	good fusionctl format x --fast "${REPLY}p1" --slow "$SLOW" --yes
	differ "type" "$(type_of "$REPLY")" $ours
	good fusionctl wipe "${REPLY}p1" "$SLOW" --yes
	good fusionctl format x --fast "${REPLY}p1" --slow "$SLOW" --gpt-type --dry-run
	shows "would give the type of members to the partition ${REPLY}p1"
	differ "type" "$(type_of "$REPLY")" $ours
	good fusionctl format x --fast "${REPLY}p1" --slow "$SLOW" --gpt-type --yes
	same "type" "$(type_of "$REPLY")" $ours
	sfdisk --verify -q "$REPLY"
	good fusionctl probe "${REPLY}p1"
	# wipe leaves the type, and says how to change it
	expect 0 "${REPLY}p1: still has the type of members in its partition table, which means \
nothing now; sfdisk --part-type $REPLY 1 $linux gives it that of a file system" \
		fusionctl wipe x --yes
	sfdisk -q --no-reread --part-type "$REPLY" 1 $linux
	good fusionctl format x --fast "${REPLY}p1" --slow "$SLOW" --yes
	good fusionctl wipe x --yes
	# a type that cannot be set does not prevent the file system
	need mkfs.ext4
	file=$(readlink -f "$(command -v sfdisk)")
	printf '#!/bin/sh\necho cannot; exit 1\n' >"$TMP/sfdisk"
	chmod +x "$TMP/sfdisk"
	mount --bind "$TMP/sfdisk" "$file"
	defer umount "$file"
	defer dm_remove x
	expect 1 "${REPLY}p1: its type in the partition table could not be \
set (cannot); sfdisk --part-type $REPLY 1 $ours does it" \
		fusionctl create x --fast "${REPLY}p1" --slow "$SLOW" --gpt-type --mkfs ext4 --yes
	differ "type" "$(type_of "$REPLY")" $ours
	same "file system" "$(blkid -p -o value -s TYPE /dev/mapper/x)" ext4
	good fusionctl close x
}

test_mkfs() {
	local before i
	need mkfs.ext4
	two 64 256
	before=$(sum "$FAST" "$SLOW")
	for i in nonesuch ../ext4 "$(printf 'x%.0s' {1..40})" ''; do
		expect 2 "--mkfs: there is no mkfs.$i on this system; install it, or leave the option out" \
			fusionctl create x --fast "$FAST" --slow "$SLOW" --yes --mkfs "$i"
	done
	good fusionctl create x --fast "$FAST" --slow "$SLOW" --dry-run --mkfs ext4
	shows "would run mkfs.ext4 on /dev/mapper/x"
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	defer dm_remove x
	good fusionctl create x --fast "$FAST" --slow "$SLOW" --yes --mkfs ext4
	shows "mkfs.ext4 has made a file system on it"
	same "type" "$(blkid -p -o value -s TYPE /dev/mapper/x)" ext4
	e2fsck -fn /dev/mapper/x >/dev/null 2>&1 || fail "e2fsck has complaints"
	good fusionctl close x
	# a terminal shows its output
	if command -v script >/dev/null; then
		on_terminal '' fusionctl create x --fast "$FAST" --slow "$SLOW" --yes --force --mkfs ext4
		same status "$REPLY" 0
		shows "Writing superblocks and filesystem accounting information"
		shows "mkfs.ext4 has made a file system on it"
		good fusionctl close x
	fi
	# a program that fails leaves the set open
	printf '#!/bin/sh\necho too small >&2\nexit 1\n' >"$TMP/mkfs"
	chmod +x "$TMP/mkfs"
	mount --bind "$TMP/mkfs" "$(readlink -f "$(command -v mkfs.ext4)")"
	defer umount "$(readlink -f "$(command -v mkfs.ext4)")"
	expect 1 "/dev/mapper/x: is open, but mkfs.ext4 failed: too small; make a file system on it by \
hand" fusionctl create x --fast "$FAST" --slow "$SLOW" --yes --force --mkfs ext4
	good fusionctl status x
}

# No old signature is left where other programs would look.
long_erases() {
	local dev size
	two 8 16
	stale "$FAST"
	stale "$SLOW"
	mkfs.ext4 -q "$SLOW"
	printf 'label: gpt\n' | sfdisk -q --no-reread "$FAST" 2>/dev/null
	good fusionctl format x --fast "$FAST" --slow "$SLOW" --yes --force --extent-size 64K
	for dev in "$FAST" "$SLOW"; do
		size=$(blockdev --getsize64 "$dev")
		read_zero "$dev" $((size - 1048576)) 1048576
		same "signatures on $dev" "$(wipefs "$dev")" ""
	done
	read_zero "$SLOW" 36864 $(($(sb log_start) * 4096 - 36864))
	read_zero "$SLOW" $(($(sb log_start) * 4096)) $(($(sb log_blocks) * 4096))
	read_zero "$FAST" $(($(sb journal_start) * 4096)) $(($(sb journal_blocks) * 4096))
	good fusionctl list --json
	json '[.members[] | select(.state == "ok" and .reason == null)] | length' 2
}

# Otherwise the old content could be mounted, and written to.
test_partitions_are_gone() {
	local part
	need sfdisk
	two 96 256
	partitioned $((96 << 20))
	part=${REPLY}p1
	mkfs.ext4 -q "$part"
	expect 3 "$REPLY: contains gpt partition table \
(uuid $(blkid -p -o value -s PTUUID "$REPLY")) at byte 512; to overwrite that, add --force" \
		fusionctl format x --fast "$REPLY" --slow "$SLOW" --yes
	[[ -b $part ]] || fail "$part is gone, and nothing was done"
	good fusionctl format x --fast "$REPLY" --slow "$SLOW" --yes --force
	[[ ! -e /sys/class/block/${part#/dev/} ]] || fail "$part is still there"
	# a set that another process has open is no obstacle
	wipe "$REPLY" tail
	printf 'label: gpt\n2048,,\n' | sfdisk -q "$REPLY"
	within 10 "$part" test -b "$part"
	exec 9<"$part"
	good fusionctl format x --fast "$REPLY" --slow "$SLOW" --yes --force
	[[ -b $part ]] || fail "$part is gone, and somebody had it open"
	exec 9<&-
	good fusionctl probe "$REPLY"
}

# -- wipe --------------------------------------------------------------------------------------

test_wipe() {
	local before dev
	two 64 256
	good fusionctl format data "$FAST" "$SLOW" --yes
	before=$(sum "$FAST" "$SLOW")
	good fusionctl wipe data --dry-run
	shows "fast member of data"
	shows "slow member of data"
	expect 3 "$FAST: all data on the set of $FAST and $SLOW would be lost, and there is no \
terminal to ask on; add --yes" fusionctl wipe data
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	good fusionctl open data
	open_sets data
	expect 5 "$FAST: is a member of the open set data; close that first with fusionctl close" \
		fusionctl wipe "$FAST" --yes
	good fusionctl close data
	before=$(sum "$FAST" "$SLOW")
	expect 4 "$SLOW: is the same device as $SLOW; name each member once" \
		fusionctl wipe "$SLOW" "$SLOW" --yes
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	before=$(sum "$SLOW")
	mkfs.ext4 -q -F "$FAST"
	expect 4 "$FAST: not a member of a fusion set; wipefs removes other signatures" \
		fusionctl wipe "$SLOW" "$FAST" --yes
	same "what is on the slow device" "$(sum "$SLOW")" "$before"
	good fusionctl format data "$FAST" "$SLOW" --yes --force

	good fusionctl wipe data --yes
	for dev in "$FAST" "$SLOW"; do
		read_zero "$dev" 0 1048576
		read_zero "$dev" $(($(blockdev --getsize64 "$dev") - 1048576)) 1048576
		expect 4 "$dev: not a member of a fusion set; wipefs removes other signatures" \
			fusionctl wipe "$dev" --yes
	done
	good fusionctl list --json
	json '.members | length' 0

	# one member without the other, and one of an unknown set
	good fusionctl format data "$FAST" "$SLOW" --yes
	damage "$FAST" 0
	damage "$FAST" 1
	good fusionctl wipe "$FAST" --yes
	shows "a member (damaged)"
	expect 0 "data: the fast member is missing or damaged; wipe it by its device" \
		fusionctl wipe data --yes
	good fusionctl list --json
	json '.members | length' 0
}

run_tests
