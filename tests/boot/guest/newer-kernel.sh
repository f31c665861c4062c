# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
on_fused
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
	/root/newer/*.deb
dkms status
kernel=$(cd /lib/modules && echo 6.12*)
lsinitramfs "/boot/initrd.img-$kernel" | grep -E 'dm-fusion|fusionctl|69-fusion'
[[ $(lsinitramfs "/boot/initrd.img-$kernel" | grep -cE 'dm-fusion.ko|sbin/fusionctl|69-fusion.rules') -ge 3 ]]
