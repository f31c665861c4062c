/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cut-run: cuts of a set with a landing log. Most are to fall in a state of the log that is drawn
 * beforehand: the load and messages bring it about, and then the power goes some commands later.
 * What the log was like at each cut is counted, so that a run says what it has tried.
 */
#ifndef CUT_LANDING_H
#define CUT_LANDING_H

#include <stdbool.h>
#include <stdint.h>

/* Draw the state that the next cut is to fall in, and change the load that was drawn for it. */
void landing_draw(uint64_t *state);

/* Is the power yet to be armed, by landing_step()? */
bool landing_waits(void);

/* Try to get into the state, and arm the power. Return: 0 or -errno, as when the power has gone. */
int landing_step(uint64_t *state);

/* Have the log drained. Return: 0 or -errno. */
int landing_drain(void);

/* The power has gone, by the command that it was armed for or not; the set is still open. */
void landing_judge(bool by_command);

/* Has a cut fallen in each of the states? */
bool landing_met(void);

void landing_print(void);

#endif
