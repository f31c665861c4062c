#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Before the emergency shell: print which sets lack a member, or stay closed because of nofusion.

FUSIONCTL assemble --waiting -v 2>&1 | sed 's/^/dm-fusion: /' >/dev/console
