# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
on_fused
# systemd ran in the initramfs, so it was dracut's
journalctl -b -o cat | grep -m1 'Running in init'
lsinitrd "/boot/initrd.img-$(uname -r)" | grep -E 'dm-fusion|fusionctl|69-fusion|fusion-'
ls -l "/boot/initrd.img-$(uname -r)"
read -r up _ </proc/uptime
echo "up $up s"
