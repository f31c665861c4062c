// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's messages pin and pins: Documentation/reference/target.rst. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pin.h"
#include "error.h"
#include "fusionctl.h"
#include "tell.h"

bool pin_parse_answer(const char *answer, struct pins_in_force *f)
{
	return sscanf(answer, "limit %" SCNu64 " fast %" SCNu64 " slow %" SCNu64, &f->limit,
		      &f->nr[FAST], &f->nr[SLOW]) == 3;
}

int pin_ask(const char *name, struct pins_in_force *f)
{
	char *answer = NULL;
	int rc = fus_tell_set(name, "pins", &answer);

	if (!rc && (!answer || !pin_parse_answer(answer, f)))
		rc = fus_fail(FC_FAILED, name, "cannot read the kernel's answer to \"pins\"; use "
			      "matching versions of fusionctl and dm-fusion");
	free(answer);
	return rc;
}

/* Messages are too long to be shown. */
static int send(void *ctx, const char *msg)
{
	char *answer = NULL, reason[256];
	const char *name = ctx;
	int rc = fus_send_message(name, msg, &answer, reason, sizeof(reason));

	free(answer);
	return rc ? fus_fail(rc, name, "the kernel refuses pins: %s; see dmesg", reason) : 0;
}

int pin_begin(const char *name, const struct pin_plan *p)
{
	int rc = send((void *)name, "pin begin");

	for (int member = 0; !rc && member < 2; member++)
		rc = pin_messages(p, member, send, (void *)name);
	return rc == -ENOMEM ? fus_fail(FC_FAILED, name, "not enough memory for a message; close "
					"programs and try again") : rc;
}

int pin_end(const char *name)
{
	return send((void *)name, "pin end");
}
