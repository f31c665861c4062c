#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A member that does not come: what the initramfs and the console say, and nofusion on the kernel
# command line.

# shellcheck source=assembly.sh
. "$(dirname "$0")/assembly.sh"

# -- a member that does not come ---------------------------------------------------------------

test_waiting() {
	local gone
	pair
	quietly fusionctl assemble --waiting
	gone=$(uuid_of "$SLOW" device_uuid)
	null_remove slow
	came "$FAST"
	good fusionctl assemble --waiting
	same "line" "$(<"$TMP/out")" "pair: the fast member $FAST is here, the slow one is missing \
(256M, uuid $gone; set $UUID)"
	good fusionctl assemble --waiting -v
	has "with -v" "$(<"$TMP/out")" "connect the missing disk, then:  $(realpath "$(command -v fusionctl)") \
assemble --scan"
	good fusionctl assemble --waiting --json
	json '.version' 1
	json '.waiting[] | .set, .set_uuid, .role, .device' $'pair\n'"$UUID"$'\nfast\n'"$FAST"
	json '.waiting[].missing | .role, .bytes, .device_uuid' $'slow\n'$((256 << 20))$'\n'"$gone"
	expect 4 "pair: the fast member $FAST is here, the slow one is missing (256M, uuid $gone; \
set $UUID); connect it, or see fusionctl help salvage" fusionctl assemble --scan
	closed
}

# boot_script DIR/FILE: as make install puts it into an initramfs, in REPLY
boot_script() {
	REPLY=$TMP/${1##*/}
	sed "/^#/!s|\\<FUSIONCTL\\>|$(command -v fusionctl)|" "$here/../../userspace/system/$1" >"$REPLY"
}

# power FAST SLOW: whether each null device is present
power() {
	echo "$1" >/sys/kernel/config/nullb/fast/power
	echo "$2" >/sys/kernel/config/nullb/slow/power
}

# The present member may appear however late.
test_initramfs_says_it_once() {
	local i block said
	pair
	rm -f /run/fusion.calls /run/fusion.said
	defer rm -f /run/fusion.calls /run/fusion.said
	boot_script initramfs-tools/local-block
	block=$REPLY
	power 0 0
	for i in 1 2 3 4 5; do
		quietly sh "$block"
	done
	power 1 0
	said="dm-fusion: $(fusionctl assemble --waiting)"
	has "line" "$said" "the slow one is missing"
	good sh "$block"
	same "line" "$(<"$TMP/out")" "$said"
	for i in 1 2 3; do
		quietly sh "$block"
	done
	# not before the third call
	rm -f /run/fusion.calls /run/fusion.said
	quietly sh "$block"
	quietly sh "$block"
	good sh "$block"
	same "line" "$(<"$TMP/out")" "$said"
}

test_mkinitcpio_says_it_once() {
	local pid
	pair
	boot_script mkinitcpio/hook
	power 0 0
	sh -c '. "$1"; run_hook; wait' sh "$REPLY" >"$TMP/said" &
	pid=$!
	JOBS+=("$pid")
	sleep 6
	same "said" "$(<"$TMP/said")" ""
	power 1 0
	within 5 "the line" grep -q "^dm-fusion: pair: .*the slow one is missing" "$TMP/said"
	wait "$pid"
	same "lines" "$(wc -l <"$TMP/said")" 1
}

# The shell of an initramfs, often dash, must not interpret a label.
test_initramfs_says_what_is_there() {
	local i said
	need dash
	pair
	rm -f /run/fusion.calls /run/fusion.said
	defer rm -f /run/fusion.calls /run/fusion.said
	# blank, a\033\c
	poke "$FAST" 128:8=0x635c3333305c6120
	power 1 0
	said="dm-fusion: $(fusionctl assemble --waiting)"
	has "line" "$said" 'dm-fusion:  a\033\c: the fast member'
	boot_script initramfs-tools/panic
	good dash "$REPLY"
	same "line before the shell" "$(head -n 1 "$TMP/out")" "$said"
	boot_script mkinitcpio/hook
	# shellcheck disable=SC2016 # dash expands it
	good dash -c '. "$1"; run_hook; wait; run_emergencyhook' dash "$REPLY"
	same "lines of mkinitcpio" "$(grep -cFx "$said" "$TMP/out")" 2
	boot_script initramfs-tools/local-block
	quietly dash "$REPLY"
	quietly dash "$REPLY"
	good dash "$REPLY"
	same "line" "$(<"$TMP/out")" "$said"
	for i in 1 2 3; do
		quietly dash "$REPLY"
	done
}

test_nofusion_is_told_of_before_the_shell() {
	pair
	boot_script initramfs-tools/panic
	quietly sh "$REPLY"
	command_line nofusion
	good sh "$REPLY"
	has "line" "$(<"$TMP/out")" "dm-fusion: nofusion is on the kernel's command line, so sets stay \
closed; open them: $(realpath "$(command -v fusionctl)") assemble --scan"
	same "lines" "$(wc -l <"$TMP/out")" 2
	good fusionctl assemble --scan
	once pair
	quietly sh "$REPLY"
	good fusionctl close pair
	power 1 0
	good sh "$REPLY"
	has "line" "$(<"$TMP/out")" "the slow one is missing"
	same "lines about nofusion" "$(grep -c nofusion "$TMP/out" || :)" 0
	umount /proc/cmdline
}

# -- nofusion ----------------------------------------------------------------------------------

test_nofusion() {
	pair
	command_line "xnofusion nofusionx quiet"
	came "$FAST"
	umount /proc/cmdline
	command_line nofusion
	quietly fusionctl assemble --incremental "$SLOW"
	closed
	# an explicit request works
	good fusionctl assemble --scan
	once pair
}

run_tests
