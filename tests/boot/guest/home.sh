# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A second set, with an encrypted file system, that opens automatically from now on. It is in use
# until the machine powers off.
on_fused
fusionctl create home --fast /dev/vdb --slow /dev/vdc --yes
head -c 64 /dev/urandom >/root/home.key
chmod 400 /root/home.key
# such a key cannot be guessed
cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /root/home.key \
	/dev/mapper/home
cryptsetup open --key-file /root/home.key /dev/mapper/home private
mkfs.ext4 -q /dev/mapper/private
cryptsetup close private
echo "private UUID=$(cryptsetup luksUUID /dev/mapper/home) /root/home.key luks" >>/etc/crypttab
echo "/dev/mapper/private /srv/home ext4 defaults 0 2" >>/etc/fstab
systemctl daemon-reload
systemctl start srv-home.mount
same "home" "$(findmnt -no SOURCE /srv/home)" /dev/mapper/private
# more than fits on its SSD
cp -a /usr/lib/x86_64-linux-gnu /srv/home/libraries
head -c 128M /dev/urandom >/srv/home/large
(cd /srv/home && find . -type f -print0 | xargs -0 md5sum) >/root/home.sums
fusionctl status home
