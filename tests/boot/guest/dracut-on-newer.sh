# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
on_fused
same "the kernel" "$(uname -r | cut -d. -f1,2)" 6.12
journalctl -b -o cat | grep -m1 'Running in init'
fusionctl doctor
