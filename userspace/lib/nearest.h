/* SPDX-License-Identifier: GPL-2.0-only */
/* The word that was meant: nearest.c. */
#ifndef NEAREST_H
#define NEAREST_H

/* The one of these words that was likely meant by @word, or NULL. @nth(i) is NULL at the end. */
const char *fus_nearest_word(const char *word, const char *(*nth)(unsigned int i));

#endif
