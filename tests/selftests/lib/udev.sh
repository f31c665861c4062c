# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# udev with the rules of this system and of this tree. Part of lib.sh.
# shellcheck disable=SC2154 # lib.sh sets here

# udev [OPTION]...: start its daemon with the rules of this system and the one of this tree. Call it
# first in a test, so that it ends last.
udev() {
	local rules=/run/udev/rules.d
	need udevadm
	# /lib is /usr/lib, except in a VM that has its modules there
	[[ -e /usr/lib/udev/rules.d/55-dm.rules || -e /lib/udev/rules.d/55-dm.rules ]] ||
		skip "no rules of the device mapper here"
	mkdir -p $rules
	sed "s|\"FUSIONCTL |\"$(command -v fusionctl) |" "$here/../../userspace/system/udev/69-fusion.rules" \
		>$rules/69-fusion.rules
	unset DM_DISABLE_UDEV
	(exec -a systemd-udevd udevadm "$@") >"$TMP/udevd" 2>&1 &
	UDEVD=$!
	defer stop_udev
	within 20 "udev" test -S /run/udev/control
	udevadm trigger --action=add --subsystem-match=block
	events_done
}

stop_udev() {
	kill "$UDEVD"
	wait "$UDEVD" 2>/dev/null
	rm -rf /run/udev
	export DM_DISABLE_UDEV=1
}

events_done() {
	# asks the daemon first, and sometimes gets no answer: "Broken pipe"
	within 60 "udev has handled its events" limited 60 udevadm settle --timeout=300
}
