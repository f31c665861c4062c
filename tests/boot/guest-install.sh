#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs in a VM with the module: make a set of the second partition of the first disk and of the
# second disk, put a root file system on it, and make the first disk bootable.
#
#	usage: guest-install.sh TAR BOOT-DISK [SLOW-DISK]
#
# Without a slow disk the root is a plain partition. ROOT_TYPE is what is on it: ext4, xfs or luks.

set -euo pipefail
tar=$1 disk=$2 slow=${3:-}

# the last partition has the type of members: Documentation/reference/boot.rst
sfdisk -q "$disk" <<-EOF
	label: gpt
	size=1MiB, type=21686148-6449-6E6F-744E-656564454649, name=grub
	size=256MiB, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4, name=boot
	type=$([[ $slow ]] && echo AE6187F2-428C-4BFF-AB94-6F478486E0AE ||
		echo 0FC63DAF-8483-4772-8E79-3D69D8477DE4), name=root
EOF
partition=$disk
[[ $disk != *[0-9] ]] || partition+=p
root=${partition}3
for ((i = 0; i < 100; i++)); do
	[[ ! -b $root ]] || break
	sleep 0.1
done
if [[ $slow ]]; then
	fusionctl create root --fast "$root" --slow "$slow" --yes
	root=/dev/mapper/root
fi
key=etc/keys/root.key
if [[ $ROOT_TYPE == luks ]]; then
	head -c 64 /dev/urandom >/tmp/key
	cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
		"$root" /tmp/key
	cryptsetup open --key-file /tmp/key "$root" crypt
	luks=$(cryptsetup luksUUID "$root")
	root=/dev/mapper/crypt
fi
type=ext4 options=(errors=remount-ro 0 1)
[[ $ROOT_TYPE != xfs ]] || type=xfs options=(defaults 0 0)
"mkfs.$type" -q -L root "$root"
mkfs.ext4 -q -L boot "${partition}2"
mkdir -p /target
mount "$root" /target
mkdir /target/boot
mount "${partition}2" /target/boot
tar -x -f "$tar" -C /target
# create the link that udev would, so that the boot loader names the root by its uuid
mkdir -p /dev/disk/by-uuid
for i in "$root" "${partition}2"; do
	ln -sfn "$i" "/dev/disk/by-uuid/$(blkid -p -o value -s UUID "$i")"
done
for i in dev proc sys; do
	mount --rbind "/$i" "/target/$i"
done
cat >/target/etc/fstab <<-EOF
	LABEL=root / $type ${options[*]}
	LABEL=boot /boot ext4 defaults 0 2
EOF
if [[ $ROOT_TYPE == luks ]]; then
	mkdir "/target/${key%/*}"
	cp /tmp/key "/target/$key"
	chmod 600 "/target/$key"
	echo "crypt UUID=$luks /$key luks,discard,initramfs" >/target/etc/crypttab
	echo "KEYFILE_PATTERN=/$key" >>/target/etc/cryptsetup-initramfs/conf-hook
	echo "UMASK=0077" >>/target/etc/initramfs-tools/initramfs.conf
	chroot /target update-initramfs -u -k all
fi
clock=$(grep -o 'tsc_early_khz=[0-9]*' /proc/cmdline || :) # it is the host's, see scripts/vm
cat >/target/etc/default/grub <<-EOF
	GRUB_DEFAULT=0
	GRUB_TIMEOUT=0
	GRUB_DISTRIBUTOR=Debian
	GRUB_CMDLINE_LINUX_DEFAULT=""
	GRUB_CMDLINE_LINUX="console=ttyS0 no_timer_check tsc=reliable $clock norandmaps systemd.show_status=no rd.systemd.log_target=kmsg"
	GRUB_TERMINAL=serial
EOF
# this runs the scripts of the tests
cp guest/boot-test /target/usr/local/sbin
cp guest/boot-test.service /target/etc/systemd/system
ln -s ../boot-test.service /target/etc/systemd/system/multi-user.target.wants/boot-test.service
# The console is a root shell. A script from a disk has the console to itself, since a login there
# would hang it up.
mkdir -p /target/etc/systemd/system/serial-getty@ttyS0.service.d
cat >/target/etc/systemd/system/serial-getty@ttyS0.service.d/local.conf <<-'EOF'
	[Service]
	ExecCondition=/bin/sh -c 'udevadm settle; ! test -b /dev/disk/by-id/virtio-steps'
	ExecStart=
	ExecStart=-/sbin/agetty --autologin root --keep-baud 115200 - $TERM
EOF
chroot /target grub-install --target=i386-pc "$disk"
chroot /target update-grub
umount -R /target/dev /target/proc /target/sys
umount -R /target
[[ $ROOT_TYPE != luks ]] || cryptsetup close crypt
[[ ! $slow ]] || fusionctl close root
sync
echo "installed"
