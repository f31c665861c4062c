#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A set that is opened without the disk that it had replaced, as nothing was left there: fusionctl
# ends that, names the disk, and erases nothing else.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib/replace.sh
. "$here/lib/replace.sh"

# emptied fast|slow: the set is closed just when nothing is left on the old disk
emptied() {
	local size=24
	[[ $1 == fast ]] || size=48
	begin 24 48 $size
	filled 6
	good fusionctl replace data "$(member "$1")" "$NEW" --yes --no-wait
	within 30 "nothing left" nothing_left
	good fusionctl close data
}

# The next opening drops the old disk, and tells it. The command ends that, or --wait, whenever given.
test_dropped() {
	emptied fast
	good fusionctl open data
	good fusionctl replace data --wait
	shows "data: $NEW is its fast member; $FAST is free"
	blank "$FAST"
	good fusionctl replace data "$NEW" "$FAST" --yes --no-wait
	within 30 "nothing left" nothing_left
	good fusionctl close data
	good fusionctl open data
	good fusionctl close data
	good fusionctl open data
	members_are "$FAST" "$SLOW"
	same "the old disk" "$(fusion-prepare "$NEW")" left
	good fusionctl replace data --wait --dry-run
	same "the old disk" "$(fusion-prepare "$NEW")" left
	good fusionctl replace data --wait --json
	json '.state, .member, .old_device, .new_device, .wiped' \
		"ended"$'\n'fast$'\n'"$NEW"$'\n'"$FAST"$'\n'true
	blank "$NEW"
	refuses "no member of it is being replaced" fusionctl replace data --wait
	as_filled
}

# Two that have left are one too many to guess. What was written over one since is not erased.
test_dropped_twice() {
	need mkswap blkid
	emptied slow
	good fusionctl open data
	good fusionctl close data
	good fusionctl open data
	null spare 48
	linear image /dev/spare 0 "$(sectors_of /dev/spare)"
	dd if="$SLOW" of=/dev/mapper/image bs=1M count=1 oflag=direct status=none
	refuses "run fusionctl wipe for each of them" fusionctl replace data --wait
	same "the old disk" "$(fusion-prepare "$SLOW")" left
	dd if=/dev/zero of=/dev/mapper/image bs=1M count=1 oflag=direct status=none
	# that leaves one superblock as it is
	mkswap "$SLOW" >&2
	good fusionctl replace data "$SLOW" "$NEW" --yes
	shows "nothing to do"
	[[ $(blkid -p -o value -s TYPE "$SLOW") == swap ]] || fail "it has erased $SLOW"
	refuses "no member of it is being replaced" fusionctl replace data --wait
	[[ $(blkid -p -o value -s TYPE "$SLOW") == swap ]] || fail "it has erased $SLOW"
	as_filled
}

# Content that no program recognises, as that of plain dm-crypt, leaves one superblock as it is.
test_dropped_overwritten() {
	local is was
	emptied slow
	good fusionctl open data
	good fusionctl close data
	good fusionctl open data
	dd if=/dev/urandom of="$SLOW" bs=4096 count=1 oflag=direct status=none
	was=$(dd if="$SLOW" bs=1M count=1 iflag=direct status=none | md5sum)
	is="has left data, but may have other content by now, and is not wiped; to erase that, run \
fusionctl wipe $SLOW"
	expect 0 "$SLOW: $is" fusionctl replace data --wait
	expect 0 "$SLOW: $is" fusionctl replace data "$SLOW" "$NEW" --yes
	same "the old disk" "$(dd if="$SLOW" bs=1M count=1 iflag=direct status=none | md5sum)" "$was"
	good fusionctl wipe "$SLOW" --yes
	as_filled
}

# The old disk is away when the set is opened. That goes on without it, beside it, and says what
# frees it.
test_dropped_unaware() {
	local is was lacks
	emptied fast
	rm -rf /run/fusion
	unplugged fast
	gives 0 fusionctl open data
	says "connect it, unless nothing lies there any more"
	lacks="$NEW is its fast member, and $FAST is not there; connect it, and run fusionctl wipe $FAST"
	refuses "no member of it is being replaced" fusionctl replace data --wait
	expect 4 "data: $lacks" fusionctl replace data "$FAST" "$NEW" --yes
	plugged fast
	is="could not be told that it has left data, and is not wiped; to use it for something else, \
run fusionctl wipe $FAST"
	expect 0 "$FAST: $is" fusionctl replace data --wait
	shows "data: $NEW is its fast member; $FAST is none, nothing to do"
	expect 0 "$FAST: $is" fusionctl replace data "$FAST" "$NEW" --yes
	is="was the fast member of data and has been replaced, as $NEW shows; run fusionctl wipe $FAST \
to use it for something else"
	expect 4 "$FAST: $is" fusionctl assemble --incremental "$FAST"
	good fusionctl close data
	rm -rf /run/fusion
	gives 0 fusionctl assemble --scan
	says "fusionctl: $FAST: was the fast member of data and has been replaced, as "
	says " shows; run fusionctl wipe $FAST to use it for something else"
	members_are "$NEW" "$SLOW"
	good fusionctl assemble --scan
	good fusionctl close data
	# one by one, as in a boot
	rm -rf /run/fusion
	good fusionctl assemble --incremental "$FAST"
	was="was the fast member of data and has been replaced, as $SLOW shows; keep it until data is \
complete"
	expect 4 "$FAST: $was" fusionctl assemble --incremental "$SLOW"
	good fusionctl assemble --incremental "$NEW"
	members_are "$NEW" "$SLOW"
	as_filled
	# the one that replaced it may be dead
	good fusionctl close data
	unplugged new
	rm -rf /run/fusion
	gives 4 fusionctl assemble --scan
	says "fusionctl: $FAST: $was"
	gives 4 fusionctl doctor
	says "keep it until its set is complete"
	plugged new
	good fusionctl open data
	good fusionctl wipe "$FAST" --yes
	good fusionctl replace data "$NEW" "$FAST" --yes
	as_filled
	good fusionctl close data
	good fusionctl check "$FAST" "$SLOW"
}

run_tests
