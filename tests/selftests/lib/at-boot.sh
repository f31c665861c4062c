# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What fusionctl leaves to the next boot, and the part of the initramfs in that.

# quietly COMMAND...: it succeeds, and prints nothing
quietly() {
	good "$@"
	same "output of '$*'" "$(<"$TMP/out")" ''
}

# at_boot: as if initramfs-tools had the script, which is all that is looked for
at_boot() {
	local script=/usr/share/initramfs-tools/scripts/init-premount/fusion
	next_boot
	[[ ! -e $script ]] || return 0
	mkdir -p "${script%/*}"
	touch "$script"
	defer rm -f "$script"
}

# next_boot: nothing has been tried in this one
next_boot() {
	rm -f /run/fusion.release
}

# lines FILE LINE...: a file of the system has these lines, until the test ends
lines() {
	local file=$TMP/lines.${1##*/}
	printf '%s\n' "${@:2}" >"$file"
	[[ ! $1 -ef $file ]] || return 0
	[[ -e $1 ]] || touch "$1"
	mount --bind "$file" "$1"
	defer umount_quietly "$1"
}
