/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dm-fusion: pins: extents that belong on a certain member, whatever their heat.
 */
#ifndef DM_FUSION_PIN_H
#define DM_FUSION_PIN_H

#include <linux/mutex.h>
#include <linux/types.h>

struct fusion;
struct fusion_pins;

/**
 * struct fusion_pinning - the pins of a device
 * @mutex: protects all of it
 * @now: those in force, which the policy reads, so they are replaced and never changed; NULL: there
 *	are none
 * @next: those that come into force as a whole; NULL: none so far
 * @begun: @next is being made
 */
struct fusion_pinning {
	struct mutex mutex;		/* one message changes pins at a time */
	struct fusion_pins *now;
	struct fusion_pins *next;
	bool begun;
};

/* -- dm-fusion-pin.c; process context, sleep ---------------------------------------------- */

/* "begin", "end", or "fast|slow|off <range>..." */
int fusion_message_pin(struct fusion *fs, unsigned int argc, char **argv);

/* Print how many extents are pinned, and how many can be. */
int fusion_message_pins(struct fusion *fs, char *result, unsigned int maxlen);

/*
 * Take over what is in force on @from, an earlier table of the same device. The set may have
 * another size now. Neither gets messages.
 */
void fusion_pins_inherit(struct fusion *fs, struct fusion *from);

/* The policy does not run any more. */
void fusion_pins_exit(struct fusion *fs);

#endif
