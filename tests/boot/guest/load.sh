# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
on_fused
rm -rf /root/load
mkdir /root/load
for ((i = 1; ; i++)); do
	head -c $((RANDOM * 32)) /dev/urandom >/root/load/$i
	md5sum /root/load/$i >/root/load/$i.sum
	sync -f /root/load
	echo "synced $i"
done
