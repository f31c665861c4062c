/* SPDX-License-Identifier: GPL-2.0-only */
/* The question before anything is overwritten: ask.c. */
#ifndef ASK_H
#define ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "probe.h"

struct args;

/* Return: whether the user can be asked, and so learns what is on the devices. */
bool may_ask(const struct args *a);

/* Refuse a device with recognised content, except with --force, or if the user can be asked. */
int check_may_go(const struct args *a, const char *path, const char *content);
/* Append the contents of the devices to a question: ", with ext4 on /dev/sda and ...". */
void add_contents(char *question, size_t size, const char *const path[2],
		  char content[2][CONTENT_TEXT]);
/*
 * Ask on the terminal, by stderr: "<question>; type yes: ". Fails with FC_REFUSED if the answer is
 * no. Without a terminal, it fails with "<nobody>, and there is no terminal to ask on".
 */
int confirm(const char *thing, const char *nobody, const char *question);
/* The question before two devices are written: "WHAT on A and B would be BECOMES". */
struct question {
	const char *thing;	/* that the verb works on */
	const char *what, *becomes;
	const char *ask, *end;	/* "ASK A and BEND; type yes: " */
};

/* Like confirm(); the question names the contents of the devices. */
int confirm_devices(const struct question *q, const char *const path[2],
		    char content[2][CONTENT_TEXT]);
/* With --json no question is possible: fails unless --yes or --dry-run is given as well. */
int check_no_question(const struct args *a);

#endif
