# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Disks whose power can be cut, and the programs that do it. Sourced behind lib.sh.
# shellcheck disable=SC2034,SC2154 # the variables of lib.sh

PATH=$here/../powercut:$here/../../build/powercut:$PATH

# disks FAST_MIB SLOW_MIB [THIRD_MIB]: members whose power can be cut, and a disk beside them
disks() {
	need_module dm-powercut
	powercut_disk fast "$1"
	FAST=$REPLY
	powercut_disk slow "$2"
	SLOW=$REPLY
	[[ ! ${3:-} ]] || powercut_disk third "$3"
}

# powercut_disk fast|slow|third MIB
powercut_disk() {
	dm "powercut-$1" "0 $(($2 * 2048)) powercut mains $1"
}

# undisks: remove them, so that others of another size can be made
undisks() {
	dmsetup remove --retry powercut-fast
	dmsetup remove --retry powercut-slow
}

# power WORD...: a message to the switch
power() {
	dmsetup message powercut-slow 0 "$@"
}

power_is_on() {
	[[ $(dmsetup status powercut-slow) == *power=on* ]]
}

# fail_power: unless it has failed; nothing of the set, data, stays in the kernel
fail_power() {
	power cut
	[[ ! -e /dev/mapper/data ]] || dmsetup remove --retry data
	power restore
}
