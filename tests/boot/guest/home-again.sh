# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The second set is open again, and was closed before.
on_fused
same "home" "$(findmnt -no SOURCE /srv/home)" /dev/mapper/private
number=$(dmsetup info -c --noheadings -o major,minor home)
same "times it had to be recovered" "$(dmesg | grep -c "fusion: $number: recovered" || :)" 0
(cd /srv/home && md5sum -c --quiet /root/home.sums)
fusionctl status home
# without LVM, lvm2 does not close the set before systemd-shutdown does
mkdir /etc/systemd/system/blk-availability.service.d
printf '[Service]\nExecStop=\n' >/etc/systemd/system/blk-availability.service.d/none.conf
systemctl daemon-reload
# data that is not synced at shutdown
head -c 32M /dev/urandom >/srv/home/late
# The next boot is without the disks of the set. systemd reads these files only after this one.
sed -i '/^private /d' /etc/crypttab
sed -i '\|^/dev/mapper/private |d' /etc/fstab
rm -r /etc/systemd/system/blk-availability.service.d
