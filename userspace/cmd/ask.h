/* SPDX-License-Identifier: GPL-2.0-only */
/* The question before anything is overwritten: ask.c. */
#ifndef ASK_H
#define ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "probe.h"

struct args;

/* Can somebody be asked, and so told what is on the devices? */
bool may_ask(const struct args *a);

/* Refuse what was recognised there, unless it is "", or with --force, or where one can be asked. */
int check_may_go(const struct args *a, const char *path, const char *content);
/* Append to a question what there is on the devices: ", with ext4 on /dev/sda and ...". */
void add_contents(char *question, size_t size, const char *const path[2],
		  char content[2][CONTENT_TEXT]);
/*
 * Ask on the terminal, by stderr: "<question>; type yes: ". Fails with FC_REFUSED, and without a
 * terminal too: "<nobody> and there is nobody to ask".
 */
int confirm(const char *thing, const char *nobody, const char *question);
/* What is asked before two devices are written: "WHAT on A and B would be BECOMES". */
struct question {
	const char *thing;	/* that the verb works on */
	const char *what, *becomes;
	const char *ask, *end;	/* "ASK A and BEND; type yes: " */
};

/* As confirm(); the question says what the devices carry. */
int confirm_devices(const struct question *q, const char *const path[2],
		    char content[2][CONTENT_TEXT]);
/* With --json there is no place for that: fails unless there is --yes or --dry-run, too. */
int check_no_question(const struct args *a);

#endif
