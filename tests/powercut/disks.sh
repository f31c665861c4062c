# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Disks whose power can be cut, and the programs that do it. Sourced behind lib.sh.
# shellcheck disable=SC2034,SC2154 # the variables of lib.sh

PATH=$here/../powercut:$here/../../build/powercut:$PATH

# disks FAST_MIB SLOW_MIB: members whose power can be cut
disks() {
	need_module dm-powercut
	dm powercut-fast "0 $(($1 * 2048)) powercut mains fast"
	dm powercut-slow "0 $(($2 * 2048)) powercut mains slow"
	FAST=/dev/mapper/powercut-fast
	SLOW=/dev/mapper/powercut-slow
}

# undisks: remove them, so that others of another size can be made
undisks() {
	dmsetup remove --retry powercut-fast
	dmsetup remove --retry powercut-slow
}
