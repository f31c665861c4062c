# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
on_fused
same "the kernel" "$(uname -r | cut -d. -f1,2)" 6.1
# random content, which must be there at the next boot
mkdir /root/kept
dd if=/dev/urandom of=/root/kept/file bs=1M count=64 status=none
cp -a /usr/lib/x86_64-linux-gnu /root/kept
(cd /root/kept && find . -type f -print0 | xargs -0 md5sum) >/root/kept.sums
sync
# times from the disks to the device, and from the kernel's start to here
dmesg | grep -E 'fusion|vda|sda|dm-0' || :
read -r up _ </proc/uptime
echo "up $up s"
