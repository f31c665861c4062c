# SPDX-License-Identifier: GPL-2.0-only
#
# What fusionctl is made of. Its tests are built from the same lists, so they are here only.
#
#	cmd/		the verbs: one file each, or one file for each part of a verb
#	meta/		the metadata of closed sets: read, checked, rebuilt, written; what one member has left
#	simulate/	sets in simulated time
#	ui/		what people and programs read
#	lib/		devices, sets that are open
#	shim/		what the module's pure sources need of the kernel
#
# Names of files are unique among all of these: objects lie in one folder.

userspace := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
module := $(userspace)/../dm-fusion

# The module's pure sources.
CODEC   := dm-fusion-codec.c
REPLAY  := $(CODEC) dm-fusion-replay.c
POLICY  := dm-fusion-policy.c dm-fusion-heat.c dm-fusion-stream.c dm-fusion-payback.c

FUSIONCTL_PATHS   := $(addprefix $(userspace)/,cmd meta simulate ui lib)
FUSIONCTL_SOURCES := $(notdir $(wildcard $(FUSIONCTL_PATHS:%=%/*.c))) $(REPLAY) $(POLICY)
FUSIONCTL_CPPFLAGS := -D_GNU_SOURCE -I$(userspace)/shim -I$(module) $(FUSIONCTL_PATHS:%=-I%)
# By the names of pkg-config.
FUSIONCTL_LIBS := devmapper blkid mount libudev smartcols json-c uuid ext2fs libkmod

vpath %.c $(FUSIONCTL_PATHS) $(userspace)/shim $(module)

# A source that has moved is still in the dependencies of what was built from it before: that is to be
# built again, and no reason to stop.
$(userspace)/%.c: ;
$(module)/%.c: ;
