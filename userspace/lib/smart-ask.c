// SPDX-License-Identifier: GPL-2.0-only
/* Ask a drive by smartctl. */
#include <stdio.h>
#include <stdlib.h>

#include "limited.h"
#include "program.h"
#include "smart.h"

#define ANSWER_BYTES	1048576
#define SECONDS		30

bool fus_smart_exists(void)
{
	return fus_program_exists("smartctl");
}

void fus_smart_ask(const char *node, struct smart *s)
{
	/* what a drive of another kind does not have is left out */
	const char *const argv[] = {
		"smartctl", "--json=c", "-n", "standby", "-i", "-H", "-A", "-c", "-l", "devstat",
		"-l", "scttempsts", node, NULL
	};
	struct limited l = { .argv = argv, .seconds = SECONDS, .size = ANSWER_BYTES };
	int rc;

	fus_smart_clear(s);
	l.out = malloc(l.size);
	rc = l.out ? fus_program_limited(&l) : -1;
	if (rc >= 0 && rc != 127)
		fus_smart_parse(l.out, s);
	else if (rc == 127)
		snprintf(s->trouble, sizeof(s->trouble), "smartctl is not installed");
	else if (rc == PROGRAM_HUNG)
		snprintf(s->trouble, sizeof(s->trouble), "smartctl has not answered for %d s",
			 SECONDS);
	else
		snprintf(s->trouble, sizeof(s->trouble), "smartctl could not be run");
	free(l.out);
}
