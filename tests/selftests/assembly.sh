# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Shared by the tests of assembly. Sourced instead of lib.sh.

# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# quietly COMMAND...: it succeeds, and prints nothing
quietly() {
	good "$@"
	same "output of '$*'" "$(<"$TMP/out")" ''
}

# came DEV...: the call of the udev rule
came() {
	local dev
	for dev; do
		good fusionctl assemble --incremental "$dev"
	done
}

# refuses CODE TEXT DEV: came fails with this line, also on the console
refuses() {
	local mark="selftest mark $RANDOM$RANDOM"
	echo "$mark" >/dev/kmsg
	expect "$1" "$2" fusionctl assemble --incremental "$3"
	has "the kernel's log" "$(dmesg | sed "1,/$mark/d")" "fusionctl: $2"
}

is_open() {
	[[ -b /dev/mapper/$1 ]]
}

# closed: there is no set, neither open nor half made
closed() {
	same "open sets" "$(dmsetup info -c --noheadings -o name,uuid 2>/dev/null |
		grep FUSION- || :)" ''
}

# once NAME: only this set is open
once() {
	is_open "$1" || fail "$1 is not open"
	same "open sets" "$(dmsetup info -c --noheadings -o name,uuid | grep -c FUSION-)" 1
	same "uuid" "$(dmsetup info -c --noheadings -o uuid "$1")" "FUSION-$UUID"
}

# forget: the state after a boot. A worker of udev may just be at it for a device that goes.
forget() {
	local i
	for ((i = 0; i < 50; i++)); do
		! rm -rf /run/fusion 2>/dev/null || return 0
		sleep 0.1
	done
	rm -rf /run/fusion
}

# a_set: a set called pair, on FAST and SLOW, which assemble has not seen yet
a_set() {
	format pair --extent-size 64K
	UUID=$(uuid_of "$FAST")
	defer dm_remove pair
	forget
}

# pair: the same on null devices
pair() {
	need_module dm-fusion
	members 64 256
	a_set
}

# command_line MORE: a kernel command line with these words, for all programs
command_line() {
	echo "$(</proc/cmdline) $1" >"$TMP/cmdline"
	mount --bind "$TMP/cmdline" /proc/cmdline
	defer umount_quietly /proc/cmdline
}
