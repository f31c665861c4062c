#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Open and close: devices in use, sets that are damaged or not whole, a kernel without the module.

# shellcheck source=tool.sh
. "$(dirname "$0")/tool.sh"

test_life() {
	local uuid size
	need_module dm-fusion
	two 64 256
	open_sets pair other
	good fusionctl create pair "$FAST" "$SLOW" --yes --extent-size 64K
	shows "/dev/mapper/pair is ready"
	[[ -b /dev/mapper/pair ]]
	uuid=$(uuid_of "$FAST")
	same uuid "$(dmsetup info -c --noheadings -o uuid pair)" "FUSION-$uuid"
	size=$(($(sb nr_lexts) * 65536))
	same size "$(blockdev --getsize64 /dev/mapper/pair)" $size
	good fusionctl list
	shows pair
	good fusionctl list --json
	json '.open[0].name' pair
	json '[.members[].open_as] | unique[]' pair

	expect 5 "pair: is already open; fusionctl status pair shows it" fusionctl open pair
	expect 5 "$FAST: its set is already open as pair; fusionctl status pair shows it" \
		fusionctl open other "$FAST" "$SLOW"
	expect 5 "pair: is already open; fusionctl status pair shows it" \
		fusionctl create pair "$FAST" "$SLOW" --yes --force
	expect 5 "$FAST: is a member of the open set pair; close that first with fusionctl close" \
		fusionctl format x "$FAST" "$SLOW" --yes --force

	put /dev/mapper/pair 252 123456 5000
	good fusionctl close pair
	[[ ! -e /dev/mapper/pair ]]
	expect 1 "pair: is closed; fusionctl open pair opens it" fusionctl close pair

	again() {
		good fusionctl open "$@"
		same "the data" "$(dd if=/dev/mapper/"${set:-$1}" bs=1 skip=123456 count=5000 \
			status=none | tr -d '\252' | wc -c)" 0
		good fusionctl close "${set:-$1}"
	}
	again pair
	set=pair again "$uuid"
	set=pair again "${uuid^^}"
	again other "$FAST" "$SLOW"
	again other "$SLOW" "$FAST"
	again other "$FAST"
	again other "$SLOW"
}

test_close_busy() {
	need_module dm-fusion
	two 64 256
	open_sets pair
	good fusionctl create pair "$FAST" "$SLOW" --yes
	mkfs.ext4 -q /dev/mapper/pair
	mkdir "$TMP/mnt"
	mount /dev/mapper/pair "$TMP/mnt"
	defer umount_quietly "$TMP/mnt"
	expect 5 "pair: is mounted on $TMP/mnt; unmount it first" fusionctl close pair
	umount "$TMP/mnt"

	linear over /dev/mapper/pair 0 2048
	expect 5 "pair: is held by /dev/mapper/over; remove that first" fusionctl close pair
	dm_remove over

	hold_open 100
	expect 5 "pair: is opened by sleep (process $REPLY); end that first" fusionctl close pair
	kill "$REPLY"
	within 5 "the end of sleep" not_open

	# a process that ends soon is waited for
	hold_open 1
	good fusionctl close pair
}

# hold_open SECONDS: a process, whose id is in REPLY, holds the device open
hold_open() {
	background bash -c "exec sleep $1 </dev/mapper/pair"
	within 5 "a process that has it open" is_open
}

is_open() {
	[[ $(dmsetup info -c --noheadings -o open pair) == 1 ]]
}

not_open() {
	[[ $(dmsetup info -c --noheadings -o open pair) == 0 ]]
}

# sysfs does not show an exclusive opener, and the kernel does not name it.
test_open_busy() {
	local wiping dev hold
	need_module dm-fusion
	need script
	two 64 256
	open_sets pair
	good fusionctl format pair "$FAST" "$SLOW" --yes
	mkfifo "$TMP/answer"
	for dev in "$FAST" "$SLOW"; do
		script -qec "fusionctl wipe $dev" -O /dev/null <"$TMP/answer" >"$TMP/pty" 2>&1 &
		wiping=$!
		JOBS+=("$wiping")
		exec {hold}>"$TMP/answer"
		within 10 "question" grep -q "type yes" "$TMP/pty"
		# nor another opener beside it
		background sleep 100 <"$([[ $dev != "$FAST" ]] && echo "$FAST" || echo "$SLOW")"
		expect 5 "$dev: is opened by fusionctl (process $(pidof fusionctl)); end that first" \
			fusionctl open pair
		kill "$REPLY"
		echo no >&"$hold"
		exec {hold}>&-
		wait "$wiping" || same "wipe" $? 3
	done
	refused "does not exist" dmsetup info pair
	good fusionctl open pair
}

test_other_mappings() {
	need_module dm-fusion
	two 64 256
	null plain 64
	open_sets pair
	good fusionctl format pair "$FAST" "$SLOW" --yes
	linear pair /dev/plain 0 2048
	expect 5 "pair: another mapped device has that name; choose another name" \
		fusionctl open pair
	expect 1 "pair: is a mapped device but not an open fusion set; fusionctl list shows the \
open sets" fusionctl close pair
	expect 1 "pair: is a mapped device but not an open fusion set; fusionctl list shows the \
open sets" fusionctl status pair
	dm_remove pair

	# the remains of a killed create are no obstacle, under this name or another
	dmsetup create pair --notable -u "FUSION-$(uuid_of "$FAST")"
	good fusionctl open pair
	good fusionctl close pair
	dmsetup create remnant --notable -u "FUSION-$(uuid_of "$FAST")"
	good fusionctl open pair
	good fusionctl close pair
	refused "does not exist" dmsetup info remnant
	# a verb that only asks leaves them alone
	dmsetup create pair --notable -u "FUSION-$(uuid_of "$FAST")"
	good fusionctl create pair "$FAST" "$SLOW" --dry-run --force
	same "the remnant" "$(dmsetup info -c --noheadings -o name pair 2>/dev/null)" pair
	good fusionctl create pair "$FAST" "$SLOW" --force --yes
	good fusionctl close pair

	linear over "$FAST" 0 "$(sectors_of "$FAST")"
	expect 5 "$FAST: is held by /dev/mapper/over; remove that first" \
		fusionctl open pair "$FAST" "$SLOW"
	good fusionctl open pair
	same "fast member" "$(dmsetup deps -o devname pair | grep -o over)" over
	good fusionctl close pair
}

# -- sets that are not whole -------------------------------------------------------------------

long_half() {
	local gone left
	null fast 64
	null slow 256
	null spare 64
	FAST=/dev/fast SLOW=/dev/slow
	good fusionctl format pair --fast $FAST --slow $SLOW --yes
	for gone in slow fast; do
		dd if=/dev/$gone of="$TMP/head" bs=64K count=1 status=none iflag=direct
		wipe /dev/$gone
		left=/dev/$([[ $gone == slow ]] && echo fast || echo slow)
		text="pair: its $gone member is missing ($([[ $gone == slow ]] && echo 256M || echo 64M))"
		text+="; connect it and open the set again, or see what the other one has: \
fusionctl salvage $left"
		expect 4 "$text" fusionctl open pair
		expect 4 "$text" fusionctl open pair "$left"
		expect 4 "/dev/$gone: not a member of a fusion set; fusionctl list shows the \
members" fusionctl open pair $FAST $SLOW
		dd if="$TMP/head" of=/dev/$gone bs=64K status=none oflag=direct
	done
	expect 4 "nosuch: no member of that set is found; connect it, fusionctl list shows the \
members" fusionctl open nosuch
	expect 4 "$FAST: is a fast member, like $FAST; name one fast and one slow member" \
		fusionctl open pair $FAST $FAST

	good fusionctl format else --fast /dev/spare --slow $SLOW --yes --force
	expect 4 "$SLOW: belongs to the set else, $FAST to the set pair; name two members of one set" \
		fusionctl open pair $FAST $SLOW
	expect 4 "/dev/spare: is a fast member, like $FAST; name one fast and one slow member" \
		fusionctl open pair $FAST /dev/spare
	expect 4 "pair: its slow member is missing (256M); connect it and open the set again, or \
see what the other one has: fusionctl salvage $FAST" fusionctl open pair
}

long_copies() {
	local a b
	two 64 256
	null clone 64
	null third 64
	good fusionctl format pair "$FAST" "$SLOW" --yes
	dd if="$FAST" of=/dev/clone bs=1M count=1 status=none oflag=direct
	expect 4 "$FAST: is a copy of /dev/clone, both claim to be the same member; detach one, or \
name the devices to use" fusionctl open pair
	wipe /dev/clone
	null fourth 256
	good fusionctl format pair --fast /dev/third --slow /dev/fourth --yes
	a=$(uuid_of "$FAST")
	b=$(uuid_of /dev/fourth)
	expect 4 "pair: there are two sets of that name; give the uuid, $a or $b" \
		fusionctl open pair
}

long_shrunk() {
	null fast 64
	null slow 256
	linear small /dev/fast 0 $((64 * 2048))
	FAST=/dev/mapper/small SLOW=/dev/slow
	good fusionctl format pair --fast "$FAST" --slow "$SLOW" --yes --extent-size 64K
	dm_remove small
	linear small /dev/fast 0 $((60 * 2048))
	# the whole device would match, but the mapping on top hides it
	for i in "" "$FAST $SLOW" "$FAST" "$SLOW"; do
		# shellcheck disable=SC2086 # none, one or two devices
		expect 4 "$FAST: shrank from 64M to 60M; restore its old size" \
			fusionctl open pair $i
	done
	good fusionctl list
	shows shrank
}

long_damaged() {
	local why="checksum mismatch" missing repair="run fusionctl repair with both members"
	two 64 256
	good fusionctl format pair "$FAST" "$SLOW" --yes
	damage "$FAST" 0
	good fusionctl list
	shows "one copy damaged"
	damage "$FAST" 1
	good fusionctl list --json
	json ".members[] | select(.device == \"$FAST\") | .state, .reason" $'damaged\n'"$why"
	expect 7 "$FAST: both copies of its superblock are damaged ($why); $repair" \
		fusionctl open pair "$FAST" "$SLOW"
	missing="both copies of its superblock are damaged ($why) and the fast member of pair is \
missing (64M); if that is the member, run fusionctl repair $FAST $SLOW"
	expect 7 "$FAST: $missing" fusionctl open pair
	expect 7 "$FAST: $missing" fusionctl open pair "$SLOW"
	damage "$SLOW" 0
	damage "$SLOW" 1
	expect 7 "pair: no member of that set is found, but $FAST has a damaged superblock ($why); \
$repair" fusionctl open pair
}

test_damaged_copy_opens() {
	local copy
	need_module dm-fusion
	two 64 256
	open_sets pair
	for copy in 0 1; do
		good fusionctl format pair "$FAST" "$SLOW" --yes --force
		damage "$FAST" $copy
		damage "$SLOW" $copy
		expect 0 "$FAST: one of the two copies of its superblock is damaged (checksum \
mismatch); the other is used, nothing to do
fusionctl: $SLOW: one of the two copies of its superblock is damaged (checksum mismatch); the \
other is used, nothing to do" fusionctl open pair
		good fusionctl close pair
	done
}

# An error that only the kernel can find comes with its reason, and leaves nothing behind.
test_kernel_refuses() {
	local rc=0 text
	need_module dm-fusion
	two 64 256
	good fusionctl format pair "$FAST" "$SLOW" --yes
	put_direct "$FAST" $BREAK $(($(sb map_start0) * 4096 + 512)) 512
	text=$(fusionctl open pair 2>&1) || rc=$?
	same "exit code ($text)" $rc 7
	same "the reason" "$text" "fusionctl: pair: refused by the kernel: map, block \
$(sb map_start0) of the fast member: checksum mismatch \
(fast member, block $(sb map_start0): map: checksum mismatch \
(extents 0 to $(($(sb nr_lexts) - 1 < 1011 ? $(sb nr_lexts) - 1 : 1011)))); run fusionctl check \
$FAST $SLOW, and fusionctl repair"
	refused "does not exist" dmsetup info pair
}

# -- no module ---------------------------------------------------------------------------------

test_no_module() {
	local before i
	need_module dm-fusion
	two 64 256
	good fusionctl format pair "$FAST" "$SLOW" --yes
	rmmod dm_fusion
	mount -t tmpfs none /lib/modules
	defer umount_quietly /lib/modules
	expect 6 "dm-fusion: the kernel has no such module (modprobe: FATAL: Module dm-fusion not \
found in directory /lib/modules/$(uname -r)); build and install it with make install" \
		fusionctl open pair
	before=$(sum "$FAST" "$SLOW")
	expect 6 "dm-fusion: the kernel has no such module (modprobe: FATAL: Module dm-fusion not \
found in directory /lib/modules/$(uname -r)); build and install it with make install" \
		fusionctl create pair "$FAST" "$SLOW" --yes --force
	same "what is on the devices" "$(sum "$FAST" "$SLOW")" "$before"
	good fusionctl version
	shows "kernel target not loaded"
	# targets that earlier tests have used
	for i in /sys/module/dm_mod/holders/*; do
		[[ ! -e $i ]] || rmmod "${i##*/}"
	done
	rmmod dm_mod || skip "something else uses the device mapper"
	expect 6 "device mapper: the kernel has none (modprobe: FATAL: Module dm-mod not found in \
directory /lib/modules/$(uname -r)); use a kernel with CONFIG_BLK_DEV_DM" fusionctl open pair
	# without sets there is nothing to show
	good fusionctl status
	good fusionctl list
	umount /lib/modules
	open_sets pair
	# loads the module itself
	good fusionctl open pair
	good fusionctl close pair
}

# -- the lock ----------------------------------------------------------------------------------

# A process that cannot get the lock has lost nothing.
test_lock_comes_first() {
	local i before
	members 64 128
	for i in fast slow; do
		put "/dev/$i" 7 0 $((4 << 20))
	done
	before=$(sha256sum /dev/fast /dev/slow)
	rm -rf /run/fusion
	: >/run/fusion
	defer rm -f /run/fusion
	expect 1 "/run/fusion/lock: cannot create: Not a directory; mount a tmpfs on /run" \
		fusionctl create data --fast "$FAST" --slow "$SLOW" --yes
	same "what is on them" "$(sha256sum /dev/fast /dev/slow)" "$before"
}

run_tests
