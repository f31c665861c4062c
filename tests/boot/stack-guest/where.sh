# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# fusionctl where through partitions, LVM and LUKS: its own test, which has their programs here.

test_where() {
	quiet env -u ONLY "$(dirname "$0")/../selftests/where-layers.sh"
}
