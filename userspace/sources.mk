# SPDX-License-Identifier: GPL-2.0-only
#
# What fusionctl is made of. Its tests are built from the same lists, so they are here only.
#
#	cmd/		the verbs: one file each, or one file for each part of a verb
#	simulate/	sets in simulated time
#	ui/		what the verbs print: messages, tables, progress, drawings
#	meta/		the metadata of closed sets: read, checked, rebuilt, written; what one member has left
#	lib/		devices, sets that are open
#	shim/		what the module's pure sources need of the kernel; these are in
#			dm-fusion/shared, with a list of their own
#
# Names of files are unique among all of these: objects lie in one folder.

userspace := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
module := $(userspace)/../dm-fusion

include $(module)/shared/shared.mk

# libfusion.a: prints nothing, asks nobody, and needs nothing of the tool.
LIBFUSION_PATHS   := $(addprefix $(userspace)/,lib meta)
LIBFUSION_SOURCES := $(notdir $(wildcard $(LIBFUSION_PATHS:%=%/*.c))) $(REPLAY) $(LANDING_LOG) crc32c.c

# The tool, which is linked with that.
FUSIONCTL_PATHS   := $(addprefix $(userspace)/,cmd simulate ui)
FUSIONCTL_SOURCES := $(notdir $(wildcard $(FUSIONCTL_PATHS:%=%/*.c))) $(POLICY)
FUSIONCTL_CPPFLAGS := -D_GNU_SOURCE -I$(userspace)/shim -I$(module)/shared \
		      $(patsubst %,-I%,$(FUSIONCTL_PATHS) $(LIBFUSION_PATHS))
# By the names of pkg-config.
FUSIONCTL_LIBS := devmapper blkid mount libudev smartcols json-c uuid ext2fs ncursesw

vpath %.c $(FUSIONCTL_PATHS) $(LIBFUSION_PATHS) $(userspace)/shim $(module) $(module)/shared

# The dependency files of a build folder, without those whose source has moved since: make would
# look for it in its old place.
dependencies = $(shell for d in $(wildcard $1/*.d); do \
	read _ source _ <"$$d" && [ -e "$$source" ] && echo "$$d"; done)
