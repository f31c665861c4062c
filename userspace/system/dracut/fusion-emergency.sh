#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Before the emergency shell: is the root on a set that lacks a member, or that nofusion keeps closed?

FUSIONCTL assemble --waiting -v 2>&1 | sed 's/^/dm-fusion: /' >/dev/console
