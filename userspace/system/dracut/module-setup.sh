#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Module of dracut: everything that opening a root on a set needs.
# shellcheck disable=SC2154 # dracut sets the variables

# has_set: a mapped device of this system is a set
has_set() {
	grep -qs '^FUSION-' /sys/block/dm-*/dm/uuid
}

check() {
	require_binaries FUSIONCTL dmsetup || return 1
	# 255: include the module only on request
	[[ ! $hostonly && ! $mount_needs ]] || has_set || return 255
}

depends() {
	echo dm rootfs-block
}

installkernel() {
	# include the modules even if they are not loaded now
	hostonly='' instmods dm-mod dm-fusion
}

install() {
	inst_multiple FUSIONCTL
	# the id of this machine: a set that this machine did not close then opens at once
	[[ ! $hostonly || ! -s /etc/machine-id ]] ||
		inst_simple /etc/machine-id /etc/dm-fusion/machine-id
	# /boot is outside any set, so these backups of the geometry survive what happens to one
	[[ ! $hostonly ]] || inst_multiple -o /etc/fusion/backup/*.json
	inst_rules 69-fusion.rules
	if dracut_module_included systemd; then
		inst_multiple -o "$systemdsystemunitdir"/fusion-waiting.{timer,service}
	fi
	inst_hook emergency 50 "$moddir/fusion-emergency.sh"
	dracut_need_initqueue
}
