/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INVARIANTS_H
#define INVARIANTS_H

#include "sim.h"

/* Fails the run if the tables contradict each other. Whenever no lock is held. */
void check_invariants(const void *private);

/* Is the set in mode rw? */
bool set_writable(const void *private);

#endif
