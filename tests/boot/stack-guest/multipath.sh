# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Several paths to one member. Part of stack-guest.sh.
# shellcheck disable=SC2034 # FAST and SLOW are for that

# Each of two paths to a disk looks like the member. Neither is taken for it, or for a clone, and
# one may fail. Without their mapping the set stays closed.
test_multipath_below() {
	local paths i table
	need_module dm-multipath
	need_module dm-round-robin
	loop $((96 << 20))
	paths=("$REPLY" "$(losetup -f --show "$(losetup -nO BACK-FILE "$REPLY")")")
	defer losetup -d "${paths[1]}"
	null slow 288
	table="0 $((96 << 11)) multipath 0 0 1 1 round-robin 0 2 1"
	for i in "${paths[@]}"; do
		table+=" $(lsblk -ndo MAJ:MIN "$i" | tr -d ' ') 1"
	done
	defer dm_remove paths
	good dmsetup create paths --table "$table"
	FAST=/dev/mapper/paths SLOW=/dev/slow
	the_set
	used
	rm -rf /run/fusion
	good fusionctl assemble --scan
	still_there "paths slow"
	# one of them fails while the set is open
	good dmsetup message paths 0 fail_path "$(lsblk -ndo MAJ:MIN "${paths[0]}" | tr -d ' ')"
	still_there "paths slow"
	good fusionctl close stack
	# the mapping has not been made yet
	good dmsetup remove paths
	rm -rf /run/fusion
	refused "both" fusionctl assemble --scan
	same "open sets" "$(sets)" ""
	good dmsetup create paths --table "$table"
	good fusionctl assemble --scan
	still_there "paths slow"
	good fusionctl close stack
}
