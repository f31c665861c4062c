// SPDX-License-Identifier: GPL-2.0-only
/* Signals that would end the program at a bad time. */
#include <stddef.h>
#include <time.h>

#include "hold-signals.h"

static const int ends[] = { SIGHUP, SIGINT, SIGTERM, SIGQUIT };

void hold_ending_signals(sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&held, ends[i]);
	sigprocmask(SIG_BLOCK, &held, before);
}

void hold_all_signals(sigset_t *before)
{
	sigset_t held;

	sigfillset(&held);
	/* of the program's own faults */
	sigdelset(&held, SIGSEGV);
	sigdelset(&held, SIGBUS);
	sigdelset(&held, SIGILL);
	sigdelset(&held, SIGFPE);
	sigprocmask(SIG_BLOCK, &held, before);
}

bool ending_signal_came(void)
{
	const struct timespec now = { 0 };
	struct sigaction old;
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaddset(&held, ends[i]);
	return sigtimedwait(&held, NULL, &now) > 0;
}
