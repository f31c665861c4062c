/* SPDX-License-Identifier: GPL-2.0-only */
/* Help on settings: show-settings.c. */
#ifndef SHOW_SETTINGS_H
#define SHOW_SETTINGS_H

#include <stdbool.h>

/* Help on each setting, or on those that apply. */
void print_settings(bool (*takes)(const char *key));

#endif
