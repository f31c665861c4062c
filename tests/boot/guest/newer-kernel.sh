# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
on_fused

# in_initramfs: how many of the three files that open a set are there
in_initramfs() {
	lsinitramfs "/boot/initrd.img-$kernel" | grep -cE 'dm-fusion.ko|sbin/fusionctl|69-fusion.rules' || :
}

installed() {
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# The kernel comes without its headers, as with linux-image-6.12-amd64 alone. Its initramfs has no
# module, and doctor says so. When the headers come in a later run of apt, only the module's
# POST_INSTALL rebuilds the initramfs.
installed /root/newer/linux-image-*.deb
kernel=$(cd /lib/modules && echo 6.12*)
same "module and tools in its initramfs" "$(in_initramfs)" 2
rc=0
fusionctl doctor || rc=$?
[[ $rc -ne 0 ]] || {
	echo "# doctor finds nothing wrong with that"
	exit 1
}
installed /root/newer/*.deb
dkms status
lsinitramfs "/boot/initrd.img-$kernel" | grep -E 'dm-fusion|fusionctl|69-fusion'
same "module and tools in its initramfs" "$(in_initramfs)" 3
fusionctl doctor
