/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that would end the program at a bad time: hold-signals.c. */
#ifndef HOLD_SIGNALS_H
#define HOLD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/*
 * A terminal that goes, or Ctrl-C, is no reason to stop half-way in what takes seconds: hold these
 * signals, and with @quit SIGQUIT, until sigprocmask() puts *@before back.
 */
void hold_ending_signals(bool quit, sigset_t *before);
/* Has one of SIGHUP, SIGINT and SIGTERM come while they are held? One that is ignored does not. */
bool ending_signal_came(void);

#endif
