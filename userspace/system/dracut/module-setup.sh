#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Module of dracut: what it takes to open a fused root.
# shellcheck disable=SC2154 # what dracut sets

# is any mapped device of this system a set?
has_set() {
	grep -qs '^FUSION-' /sys/block/dm-*/dm/uuid
}

check() {
	require_binaries FUSIONCTL dmsetup || return 1
	# 255: only if somebody asks for it
	[[ ! $hostonly && ! $mount_needs ]] || has_set || return 255
}

depends() {
	echo dm rootfs-block
}

installkernel() {
	# it need not be loaded now to be needed at boot
	hostonly='' instmods dm-mod dm-fusion
}

install() {
	inst_multiple FUSIONCTL
	# which machine this is: see host.c
	[[ ! $hostonly || ! -s /etc/machine-id ]] ||
		inst_simple /etc/machine-id /etc/dm-fusion/machine-id
	inst_rules 69-fusion.rules
	if dracut_module_included systemd; then
		inst_multiple -o "$systemdsystemunitdir"/fusion-waiting.{timer,service}
	fi
	inst_hook emergency 50 "$moddir/fusion-emergency.sh"
	dracut_need_initqueue
}
