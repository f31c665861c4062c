# SPDX-License-Identifier: GPL-2.0-only
#
# The module's pure sources: they call nothing of the kernel but what userspace/shim/ has as well.
# The module, fusionctl, the unit tests, the fuzzers and the crash simulator are all built from
# these lists, which go from the bottom to the top.

CODEC   := dm-fusion-landing-record.c dm-fusion-codec.c dm-fusion-layout.c dm-fusion-relayout.c \
	   dm-fusion-old.c dm-fusion-match.c dm-fusion-sb.c
REPLAY  := $(CODEC) dm-fusion-replay.c
# behind REPLAY
LANDING_LOG := dm-fusion-landing.c dm-fusion-landing-replay.c dm-fusion-stale.c
POLICY  := dm-fusion-heat.c dm-fusion-payback.c \
	   dm-fusion-victims.c dm-fusion-pinned.c dm-fusion-policy.c dm-fusion-view.c
