// SPDX-License-Identifier: GPL-2.0-only
/* Help on settings, by their table. */
#include <stdio.h>

#include "show-settings.h"
#include "setting.h"

/* Without a set: limits that depend on its size are in words. */
static void print_key(int s)
{
	const struct fusion_setting_info *info = &fusion_settings[s];
	char range[128] = "a size, a share up to 50%, or automatic", def[SETTING_TEXT];
	const struct scale none = { 0 };

	if (info->unit != FUSION_UNIT_EXTENTS)
		fus_setting_range(range, sizeof(range), s, &none);
	printf("  %-20s %s\n%23s%s (default: %s)\n", info->key, info->help, "", range,
	       fus_setting_text(def, s, info->def, &none));
}

void print_settings(bool (*takes)(const char *key))
{
	puts("\nsettings; sizes as 4G, times as 500ms, 10s, 30m, 2h or 7d:");
	for (int s = 0; s < FUSION_SETTINGS; s++)
		if (!takes || takes(fusion_settings[s].key))
			print_key(s);
}
