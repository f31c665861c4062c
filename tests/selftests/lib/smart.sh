# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Drives that tell what a test wants, by a script in place of smartctl.
# shellcheck disable=SC2154 # here is of lib.sh

SMARTCTL=/usr/sbin/smartctl

# stand_in FILE: until the test ends, that is a script, whose text is the input
stand_in() {
	local file
	file=$(mktemp "$TMP/program.XXXXXX")
	cat >"$file"
	chmod 755 "$file"
	if [[ -e $1 ]]; then
		mount --bind "$file" "$1"
		defer umount "$1"
	else
		cp "$file" "$1"
		defer rm -f "$1"
	fi
}

# no_smartctl: there is none
no_smartctl() {
	[[ -e $SMARTCTL ]] || return 0
	: >"$TMP/no-program"
	mount --bind "$TMP/no-program" $SMARTCTL
	defer umount $SMARTCTL
}

# answers DEV=SAMPLE...: from now on smartctl answers like that, and like a virtual disk for others
answers() {
	local i
	rm -f "$TMP"/answer.*
	for i; do
		cp "$here/smart/${i#*=}.json" "$TMP/answer.$(basename "${i%%=*}")"
	done
	[[ -e $TMP/asked ]] || stand_in $SMARTCTL <<-EOF
		#!/bin/bash
		echo "\$*" >>"$TMP/asked"
		answer=$TMP/answer.\$(basename "\${*: -1}")
		[[ ! -x \$answer ]] || exec "\$answer"
		[[ -e \$answer ]] || answer=$here/smart/virtio.json
		cat "\$answer"
		exit "\$(sed -n 's/.*"exit_status": \([0-9]*\).*/\1/p' "\$answer")"
	EOF
	: >>"$TMP/asked"
}

# hangs DEV: smartctl does not answer for it
hangs() {
	printf '#!/bin/sh\nsleep 1000\n' >"$TMP/answer.$(basename "$1")"
	chmod 755 "$TMP/answer.$(basename "$1")"
}

# prints DEV TEXT: smartctl prints that
prints() {
	echo "$2" >"$TMP/answer.$(basename "$1")"
}
