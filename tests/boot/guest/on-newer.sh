# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
on_fused
same "the kernel" "$(uname -r | cut -d. -f1,2)" 6.12
(cd /root/kept && md5sum -c --quiet /root/kept.sums)
