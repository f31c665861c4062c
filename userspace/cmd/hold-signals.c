// SPDX-License-Identifier: GPL-2.0-only
/* Signals that would end the program at a bad time. */
#include "hold-signals.h"

void hold_ending_signals(bool quit, sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGHUP);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	if (quit)
		sigaddset(&held, SIGQUIT);
	sigprocmask(SIG_BLOCK, &held, before);
}
