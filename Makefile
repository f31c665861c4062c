# SPDX-License-Identifier: GPL-2.0-only
#
# Build, test, install. `make help` lists what there is.

KERNELS  := 6.1 6.12
DEBUG_KERNELS := uml uml-san uml-fs debug kcsan
FLAVOURS := $(KERNELS) newest $(DEBUG_KERNELS)

# The kernel to build modules for: any of $(FLAVOURS), or a tree of headers.
KVER ?= $(KERNELS)
KDIR ?=

PREFIX  ?= /usr/local
DESTDIR ?=
export PREFIX DESTDIR

CACHE := $(or $(DM_FUSION_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/dm-fusion)
BUILD := $(CURDIR)/build
include userspace/sources.mk
Q     := $(if $(V),,@)

ifneq ($(filter-out $(FLAVOURS),$(KVER)),)
$(error KVER=$(KVER): there are $(FLAVOURS))
endif
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

.PHONY: all modules userspace tests powercut check check-debug check-boot quick coverage \
	torture torture-sim torture-tools torture-powercut \
	torture-mutants soak loss fuzz demo bench bench-verbs deb lint \
	sparse checkpatch shellcheck runlists layers lengths versions readme documents docs clang analyzer cppcheck \
	setup install uninstall clean help

all: modules userspace tests

help:
	@echo 'make                       modules for kernels $(KERNELS), fusionctl, test programs'
	@echo 'make modules [KVER=6.1]    modules; for other headers: KDIR=/lib/modules/.../build'
	@echo 'make check [T=name] [KVER=6.1]'
	@echo '                           everything that can fail; or one selftest'
	@echo 'make check-debug [T=name]  selftests on kernels with KASAN, lockdep, kmemleak; with KCSAN'
	@echo 'make check-boot [T=name]    Debian with its root on a set: boot, power cut, missing members,'
	@echo '                           newer kernel; LUKS, LVM, partitions, swap on a set; the tutorial'
	@echo 'make quick                 most unit tests and some selftests, in under 3 minutes where nothing'
	@echo '                           else runs; the first time it builds two kernels, 5 to 15 more'
	@echo 'make coverage [T="journal ..."]'
	@echo '                           lines of the metadata code that tests run, 95 % at least'
	@echo 'make torture                torture-sim, torture-tools, torture-powercut, three hours'
	@echo 'make torture-sim            ten million simulated power cuts, half an hour'
	@echo 'make torture-tools          check, repair, restore, salvage in every state after damage'
	@echo 'make torture-powercut [CUTS=50000] [KILLS=200]'
	@echo '                           real kernels lose their power'
	@echo 'make torture-mutants        break the module in one place at a time: the simulator must notice'
	@echo 'make soak [MINUTES=60] [SEED=n] [KVER=debug] [LANDING=SIZE]'
	@echo '                           everything at once for that long, with members that fail'
	@echo 'make loss [FS="ext4 xfs btrfs"] [FULL="30 70 95"] [RUNS=20] [SEED=n] [KVER=6.12]'
	@echo '                           the SSD vanishes under load: what is left of each file, as a table;'
	@echo '                           SET="key=value" settings of the set, REST=seconds without load before it,'
	@echo '                           IDLE=seconds without load before the loss, RATE=operations a second'
	@echo 'make fuzz [SECONDS=3600] [T=name]'
	@echo '                           each fuzzer that long'
	@echo 'make demo [HDD=/dev/sdX SSD=/dev/sdY]'
	@echo '                           see it work, in a VM or on your disks'
	@echo 'make bench [QUICK=1] [RESUME=1] [T="name ..."] [PROFILE=hdd|consumer] [REPETITIONS=3] [REALTIME=1]'
	@echo '                           measure it against dm-cache, dm-writecache and bcache; hours, or minutes;'
	@echo '                           RESUME=1: only the missing measurements'
	@echo 'make bench-verbs            how fast adopt, replace, release are, and how long I/O waits'
	@echo 'make lint                  shellcheck, checkpatch, sparse, clang, gcc -fanalyzer, cppcheck;'
	@echo '                           documents, lists of tests, layers of the tool, lengths, version numbers'
	@echo 'make docs                  tables of Documentation/reference/json.rst, from the schemas'
	@echo 'make install [DESTDIR=] [PREFIX=/usr/local]'
	@echo '                           module for the running kernel, fusionctl, udev rule, hooks for'
	@echo '                           initramfs-tools, dracut, mkinitcpio, systemd; or uninstall'
	@echo 'make deb                   Debian packages, in build/deb'
	@echo 'make clean'
	@echo 'V=1 shows commands, and output of tests that pass'

# -- modules -------------------------------------------------------------------

# Module and where its source is. Kbuild writes beside the source, so each
# kernel gets a directory of links.
MODULES         := dm-fusion dm-spindle dm-powercut
SRC_dm-fusion   := dm-fusion
SRC_dm-spindle  := tests/spindle
SRC_dm-powercut := tests/powercut

kdir = $(if $(filter $(DEBUG_KERNELS),$1),$$$$(scripts/debug-kernel $1)/build,$(CACHE)/kernel/$1/build)

# W=1 and -Werror are for developers: with another compiler and other headers they would stop an
# install. BTF of a module would need pahole and the kernel's own BTF, and nothing here reads it.
KBUILD_FLAGS  = $(KBUILD_STRICT) CONFIG_DEBUG_INFO_BTF_MODULES=
KBUILD_STRICT = W=1 KCFLAGS=-Werror

# $(call kbuild,directory,headers,source,more arguments,make in these headers)
define kbuild
	+$(Q)mkdir -p $(BUILD)/$1 && exec 9>$(BUILD)/$1/.lock && flock 9 && \
	find $(BUILD)/$1 -maxdepth 2 -xtype l -delete && \
	ln -sft $(BUILD)/$1 $(wildcard $(CURDIR)/$3/*.[ch]) $(CURDIR)/$3/Kbuild && \
	$(if $(wildcard $3/shared),mkdir -p $(BUILD)/$1/shared && \
		ln -sft $(BUILD)/$1/shared $(wildcard $(CURDIR)/$3/shared/*) &&) \
	kdir=$2 && \
	$(or $5,$(MAKE) -C $$kdir) \
		$(if $(V),,-s --no-print-directory) M=$(BUILD)/$1 $(KBUILD_FLAGS) $4 9>&-
endef

define module_rules
.PHONY: $1/$2
$1/$2: setup-$1
	$$(call kbuild,$1/$2,$(call kdir,$1),$$(SRC_$2),$(if $(filter uml%,$1),ARCH=um) modules,$\
		$(if $(filter newest,$1),scripts/newest make))

# C=2: of each source, whether it is to be compiled or not
.PHONY: sparse-$1/$2
sparse-$1/$2: setup-$1
	$$(call kbuild,$1/$2,$(call kdir,$1),$$(SRC_$2),C=2 CF=-Wsparse-error modules)
endef

$(foreach k,$(FLAVOURS),$(foreach m,$(MODULES),$(eval $(call module_rules,$k,$m))))

ifeq ($(KDIR),)
modules: $(foreach k,$(KVER),$(addprefix $k/,$(MODULES)))
else
modules: $(addprefix local/,$(MODULES))
endif

.PHONY: $(addprefix local/,$(MODULES)) $(addprefix setup-,$(FLAVOURS))
$(addprefix local/,$(MODULES)): local/%:
	$(call kbuild,local/$*,$(KDIR),$(SRC_$*),modules)

$(addprefix setup-,$(KERNELS)): setup
$(addprefix setup-,$(DEBUG_KERNELS)): setup-%:
	$(Q)scripts/setup $(if $(filter uml%,$*),quick,debug)
	$(Q)scripts/debug-kernel $* >/dev/null
setup-newest: setup
	$(Q)scripts/newest >/dev/null
setup:
	$(Q)scripts/setup build

# -- programs ------------------------------------------------------------------

userspace: setup
	$(Q)$(MAKE) -s -C userspace

tests: setup
	$(Q)$(MAKE) -s -C tests/selftests

powercut: userspace
	$(Q)$(MAKE) -s -C tests/powercut

# -- tests ---------------------------------------------------------------------

# KVER has a default here; the scripts need to know whether the user set it.
asked = $(if $(filter command line environment,$(origin KVER)),KVER='$(KVER)')

check:
	$(Q)$(asked) T='$(T)' V='$(V)' scripts/check

check-boot:
	$(Q)scripts/setup vm deb stack
	$(Q)$(MAKE) --no-print-directory modules KVER=6.1 userspace tests deb
	$(Q)T='$(T)' tests/boot/check-boot

check-debug:
	$(Q)T='$(T)' V='$(V)' scripts/check --debug

quick:
	$(Q)T='$(T)' V='$(V)' scripts/check --quick

coverage:
	$(Q)scripts/coverage $(T)

fuzz:
	$(Q)scripts/setup fuzz
	$(Q)$(MAKE) --no-print-directory -C tests/fuzz fuzz

torture: torture-sim torture-tools torture-powercut

torture-sim:
	$(Q)$(MAKE) -s -C tests/sim torture

torture-tools:
	$(Q)$(MAKE) -s -C tests/sim torture-tools

torture-powercut: powercut $(addsuffix /dm-fusion,uml $(KERNELS)) $(addsuffix /dm-powercut,uml $(KERNELS))
	$(Q)CUTS='$(CUTS)' KILLS='$(KILLS)' tests/powercut/torture

torture-mutants:
	$(Q)$(MAKE) -s -C tests/sim mutants T='$(T)'
	$(Q)$(if $(T),,$(MAKE) -s -C tests/sim mutants-tools)

SOAK_KVER := $(if $(asked),$(KVER),6.1)

soak: tests userspace $(addsuffix /dm-fusion,$(SOAK_KVER))
	$(Q)MINUTES='$(MINUTES)' SEED='$(SEED)' BOUND='$(BOUND)' LANDING='$(LANDING)' tests/soak/soak $(SOAK_KVER)

LOSS_KVER := $(if $(asked),$(KVER),uml-fs)

loss: tests userspace $(addsuffix /dm-fusion,$(LOSS_KVER))
	$(Q)$(MAKE) -s -C tests/loss
	$(Q)FS='$(FS)' FULL='$(FULL)' RUNS='$(RUNS)' SEED='$(SEED)' SET='$(SET)' REST='$(REST)' \
		IDLE='$(IDLE)' tests/loss/loss $(LOSS_KVER)

demo:
	$(Q)$(asked) HDD='$(HDD)' SSD='$(SSD)' scripts/demo

bench:
	$(Q)QUICK='$(QUICK)' T='$(T)' PROFILE='$(PROFILE)' REALTIME='$(REALTIME)' JOBS='$(JOBS)' \
		S='$(S)' SSD_MIB='$(SSD_MIB)' HDD_MIB='$(HDD_MIB)' RESUME='$(RESUME)' \
		REPETITIONS='$(REPETITIONS)' scripts/bench

bench-verbs: userspace 6.1/dm-fusion 6.1/dm-spindle
	$(Q)scripts/vm run --virtual-clock --boot-args mitigations=off --kver 6.1 --mem 9216 \
		--limit 1800 --prog fio tests/bench/verbs.sh

# -- lint ----------------------------------------------------------------------

SCRIPTS  = .ci/run $(shell grep -lsE '^\#!.*sh$$' $(wildcard scripts/* dm-fusion/* userspace/system/*/* tests/*/* tests/*/*/*)) \
	   $(wildcard scripts/*.sh tests/*/*.sh tests/*/*/*.sh tests/sim/mutants/*.list) \
	   userspace/system/mkinitcpio/hook
# Checks of checkpatch that apply to the kernel only. It excuses include/uapi itself, and the
# kernel's own trace events ignore its layout.
C_KERNEL = $(filter-out $(C_UAPI) $(C_TRACE),$(wildcard dm-fusion/*.[ch] dm-fusion/shared/*.[ch] \
						tests/spindle/dm-*.[ch] \
						tests/powercut/dm-*.[ch]))
C_UAPI   = $(addprefix dm-fusion/shared/dm-fusion-,format.h landing-format.h stale-format.h)
C_TRACE  = $(wildcard dm-fusion/*-trace.h)
C_USER   = $(filter-out $(C_KERNEL),$(wildcard userspace/*/*.[ch] tests/*/*.[ch] \
						tests/sim/tools/*.[ch]))

IGNORE_UAPI  = PREFER_DEFINED_ATTRIBUTE_MACRO
IGNORE_TRACE = OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,SPACING
IGNORE_USER  = PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,ARRAY_SIZE,CAMELCASE,$\
	       EMBEDDED_FUNCTION_NAME,NEW_TYPEDEFS,STATIC_CONST_CHAR_ARRAY,VOLATILE,$\
	       MACRO_ARG_REUSE,SPLIT_STRING

CHECKPATCH = $(CACHE)/source/scripts/checkpatch.pl --no-tree --strict --terse --no-summary \
	     --quiet --max-line-length=100 --file

lint: shellcheck runlists layers lengths versions readme documents checkpatch sparse clang analyzer cppcheck

shellcheck:
	$(Q)scripts/setup lint
	$(Q)shellcheck $(sort $(SCRIPTS))

runlists:
	$(Q)tests/lint/run-lists

layers:
	$(Q)tests/lint/layers
	$(Q)tests/lint/layers-module

lengths:
	$(Q)tests/lint/lengths

versions:
	$(Q)tests/lint/versions

docs:
	$(Q)scripts/docs

readme:
	$(Q)tests/lint/readme

documents: userspace
	$(Q)scripts/setup lint
	$(Q)tests/lint/documents

checkpatch:
	$(Q)scripts/setup lint
	$(Q)rc=0; \
	$(CHECKPATCH) $(C_KERNEL) || rc=1; \
	$(CHECKPATCH) --ignore $(IGNORE_UAPI) $(C_UAPI) || rc=1; \
	$(CHECKPATCH) --ignore $(IGNORE_TRACE) $(C_TRACE) || rc=1; \
	$(CHECKPATCH) --ignore $(IGNORE_USER) $(C_USER) || rc=1; \
	exit $$rc

sparse: $(foreach k,$(filter $(KERNELS),$(KVER)),$(addprefix sparse-$k/,$(MODULES)))

# Static checks of userspace, and of the sources that the module shares with it.
C_SHARED   = $(addprefix dm-fusion/shared/,$(REPLAY) $(LANDING_LOG) $(POLICY))
C_ANALYZED = $(wildcard userspace/*/*.c tests/selftests/*.c) $(C_SHARED)
CC_LINT    = -std=gnu11 $(FUSIONCTL_CPPFLAGS) -c -o /dev/null

clang:
	$(Q)scripts/setup lint
	$(Q)set -e; for f in $(C_ANALYZED); do clang -Wall -Wextra -Werror $(CC_LINT) $$f; done

# GCC 12 reports leaks of memory that a structure of the caller keeps, and of a FILE that may be
# stdout.
ANALYZER_LOSES = $(addprefix userspace/,cmd/map-svg.c cmd/page-private.c cmd/pin-change.c cmd/pin-find.c $\
		 cmd/top-names.c cmd/where-count.c lib/pins.c lib/seen.c $\
		 meta/meta-landing.c meta/meta-read.c meta/salvage-ext.c simulate/sim-phase.c simulate/sim-trace.c)

analyzer:
	$(Q)scripts/setup lint
	$(Q)set -e; for f in $(C_ANALYZED); do \
		case ' $(ANALYZER_LOSES) ' in \
		*" $$f "*) no='-Wno-analyzer-malloc-leak -Wno-analyzer-file-leak' ;; \
		*) no= ;; \
		esac; \
		$(CC) -fanalyzer -Werror $$no $(CC_LINT) $$f; \
	done

cppcheck:
	$(Q)scripts/setup lint
	$(Q)cppcheck -q --std=c11 --enable=warning,performance --error-exitcode=1 \
		--suppressions-list=tests/lint/cppcheck.suppressions $(filter -D% -I%,$(CC_LINT)) \
		$(C_ANALYZED)

# -- install and packages -------------------------------------------------------------------

INSTALL_KDIR = $(or $(KDIR),/lib/modules/$(shell uname -r)/build)
# the kernel's own release: include/config/kernel.release has 6.1.192 for Debian's 6.1.0-56-amd64
INSTALL_REL  = $(or $(shell sed -n 's/^\#define UTS_RELEASE "\(.*\)"/\1/p' \
	       $(INSTALL_KDIR)/include/generated/utsrelease.h 2>/dev/null),$(shell uname -r))
INSTALL_LIB  = $(DESTDIR)/lib/modules

install:
	$(Q)[ -e $(INSTALL_KDIR)/Makefile ] || { \
		echo "no kernel headers in $(INSTALL_KDIR): install those of the running kernel," \
		     "or say KDIR=" >&2; exit 1; }
	$(Q)$(MAKE) --no-print-directory local/dm-fusion KDIR=$(INSTALL_KDIR) KBUILD_STRICT=
	install -D -m 644 build/local/dm-fusion/dm-fusion.ko $(INSTALL_LIB)/$(INSTALL_REL)/extra/dm-fusion.ko
	$(if $(DESTDIR),,depmod $(INSTALL_REL))
	$(Q)$(MAKE) --no-print-directory -C userspace install WERROR=

# of all kernels it was ever installed for
uninstall:
	$(Q)set -e; for f in $(INSTALL_LIB)/*/extra/dm-fusion.ko; do \
		[ -e "$$f" ] || continue; \
		echo "rm -f $$f"; \
		rm -f "$$f"; \
		rmdir --ignore-fail-on-non-empty "$${f%/*}" 2>/dev/null || :; \
		kernel=$${f%/extra/*}; \
		[ ! -e "$$kernel/modules.order" ] || $(if $(DESTDIR),:,depmod) "$${kernel##*/}"; \
	done
	$(Q)$(MAKE) --no-print-directory -C userspace uninstall

deb:
	$(Q)scripts/deb

clean:
	$(Q)rm -rf build
	$(Q)for d in userspace tests/selftests; do \
		[ ! -e $$d/Makefile ] || $(MAKE) -s -C $$d clean; done
