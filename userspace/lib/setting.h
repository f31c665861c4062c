/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Settings of a set: dm-fusion-settings.h has the list of them.
 *
 * setting.c		as text for people
 * settings-open.c	settings of an open set
 */
#ifndef SETTING_H
#define SETTING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/kernel.h>

#include "super.h"
#include "dm-fusion-settings.h"

/* -- setting.c ------------------------------------------------------------------ */

/* The sizes of a set, to convert sizes and shares. */
struct scale {
	uint32_t nr_fast_slots;
	uint32_t extent_sectors;
};

/* A setting, and a value that it is to have. */
struct setting {
	int which;		/* enum fusion_setting */
	bool is_default;	/* the word "default" was given; then value is that */
	uint32_t value;
};

#define SETTING_TEXT	32

/* Read "key=value". Exit code. */
int fus_parse_setting(const char *word, const struct scale *scale, struct setting *to);
/* "2.5%" of @all; false if the text is no share. */
bool fus_parse_share(const char *text, uint64_t all, uint64_t *n);
/* The unit of its values, such as "seconds"; "" for a switch. */
const char *fus_setting_unit(int s);
/* The keys, one after the other; NULL after the last. */
const char *fus_setting_key(unsigned int i);
/* "30m", "512M", "automatic"; returns @buf. */
char *fus_setting_text(char buf[SETTING_TEXT], int s, uint32_t value, const struct scale *scale);
/* The value in effect in a set: 0 may stand for another value. */
uint32_t fus_setting_effect(int s, uint32_t value, const struct scale *scale);
#define SETTING_SHOWN	(2 * SETTING_TEXT + 4)

/* "automatic (1h)" if another value is in effect; returns @buf. */
char *fus_setting_shown(char buf[SETTING_SHOWN], int s, uint32_t value, const struct scale *scale);
/* "0 to 604800 seconds (7d), or automatic" */
void fus_setting_range(char *buf, size_t size, int s, const struct scale *scale);

/* -- settings-open.c ------------------------------------------------------------ */

enum source { SOURCE_DEFAULT, SOURCE_SET, SOURCE_TABLE, SOURCE_NOW, NR_SOURCES };

/* The words that *set* prints, and that the kernel's answer to "settings" contains. */
extern const char *const fus_source_name[NR_SOURCES];

/* All settings of a set. */
struct settings {
	char name[128];
	char uuid[UUID_TEXT];
	bool open;
	dev_t fast;				/* the member, if it is open */
	struct scale scale;
	uint32_t value[FUSION_SETTINGS];
	enum source source[FUSION_SETTINGS];
	bool kept[FUSION_SETTINGS];		/* in the superblocks, */
	uint32_t kept_value[FUSION_SETTINGS];	/* and with which value */
};

/* The settings of an open set; *found is false if none has that name. */
int fus_settings_open(const char *name, struct settings *s, bool *found);
/* Have the kernel set them, all or none; @keep: also in the superblocks. */
int fus_settings_tell(const struct settings *s, const struct setting *to, unsigned int nr,
		      bool keep);

#endif
