# SPDX-License-Identifier: GPL-2.0-only
#
# What fusionctl links with, by the names of pkg-config; its tests do, too.
FUSIONCTL_LIBS := devmapper blkid mount libudev smartcols json-c uuid ext2fs libkmod
