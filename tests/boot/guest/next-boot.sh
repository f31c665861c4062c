# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
on_fused
(cd /root/kept && md5sum -c --quiet /root/kept.sums)
# The last shutdown has closed the set.
! dmesg | grep "fusion: .*: recovered, " || {
	echo "# the set was not closed"
	exit 1
}
