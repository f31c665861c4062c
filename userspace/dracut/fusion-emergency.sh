#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Before the emergency shell: is the root on a set that lacks a member?

waiting=$(FUSIONCTL assemble --waiting 2>&1)
if [ -n "$waiting" ]; then
	echo "$waiting" | sed 's/^/dm-fusion: /'
	echo "dm-fusion: connect the missing disk, then:  FUSIONCTL assemble --scan; exit"
	echo "dm-fusion: if it is lost, see what is left: FUSIONCTL salvage DEVICE"
fi >/dev/console 2>&1
