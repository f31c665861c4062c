/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that would end the program at a bad time: hold-signals.c. */
#ifndef HOLD_SIGNALS_H
#define HOLD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/*
 * A terminal that goes, or Ctrl-C, is no reason to stop half-way: hold the signals by which people
 * end a program, until sigprocmask() puts *@before back. @before: or NULL.
 */
void hold_ending_signals(sigset_t *before);
/*
 * The same for all signals, also those that stop the program, as Ctrl-Z does: for moments in which
 * others wait for it, since a device is suspended or a file system frozen.
 */
void hold_all_signals(sigset_t *before);
/* Has one of hold_ending_signals() come while they are held? One that is ignored does not count. */
bool ending_signal_came(void);

#endif
