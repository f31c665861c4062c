# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The beginning of every script of the boot test.

same() {
	[[ $2 == "$3" ]] || {
		echo "# $1: expected '$3', got '$2'"
		return 1
	}
}

# the root is on the set, and the set is healthy
on_fused() {
	same "root" "$(findmnt -no SOURCE /)" /dev/mapper/root
	[[ $(dmsetup info -c --noheadings -o uuid root) == FUSION-* ]]
	same "its mode" "$(fusionctl status root --json | grep -o '"mode": *"[a-z]*"' | grep -o '[a-z]*"$')" 'rw"'
	same "failed units" "$(systemctl --failed --plain --no-legend)" ''
	fusionctl status root
}

