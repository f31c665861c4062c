# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
on_fused
(cd /root/kept && md5sum -c --quiet /root/kept.sums)
# The last shutdown ended with a checkpoint: only partial extents are replayed.
replayed=$(dmesg | sed -n 's/.*fusion: .*: recovered, \([0-9]*\) journal records replayed/\1/p')
echo "replayed $replayed records"
[[ $replayed && $replayed -le 150 ]] || {
	echo "# ${replayed:-no} journal records were replayed, 1 to 150 are expected"
	exit 1
}
