# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
on_fused
(cd /root/kept && md5sum -c --quiet /root/kept.sums)
dmesg | grep -E 'fusion: .*recovered'
n=0
while [[ -s /root/load/$((n + 1)).sum ]] && md5sum -c --quiet /root/load/$((n + 1)).sum; do
	n=$((n + 1))
done
echo "files $n"
