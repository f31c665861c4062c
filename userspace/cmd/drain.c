// SPDX-License-Identifier: GPL-2.0-only
/* Verb drain: copy what the landing log of an open set has to the slow member. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "drain-log.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "landing-size.h"
#include "open-set.h"
#include "output.h"
#include "record.h"
#include "set-json.h"
#include "size.h"
#include "verb.h"

static void print(const struct draining *d, const struct set *set, bool json)
{
	const uint64_t done = (d->blocks - d->left) * FUS_LANDING_BLOCK;
	struct json_object *o;
	char size[SIZE_TEXT];

	if (!json) {
		if (set->st.logs)
			printf("%s: %s of the landing log are on the slow member now\n", d->name,
			       fus_size_text(size, done));
		else
			printf("%s: has no landing log\n", d->name);
		return;
	}
	o = fus_json_base();
	fus_json_add_open(o, &set->m);
	fus_json_add_u64(o, "bytes", d->blocks * FUS_LANDING_BLOCK);
	fus_json_add_u64(o, "drained_bytes", done);
	print_json(o, false);
}

int cmd_drain(const struct args *a)
{
	struct draining d = { .name = a->word[0], .verb = "drain", .message = "drain" };
	struct set set;
	const struct fusion_status *st = &set.st;
	int rc;

	rc = fus_set_get(d.name, &set);
	if (rc)
		return rc;
	d.blocks = st->log_blocks;
	d.left = d.blocks;
	if (st->logs && strcmp(st->mode, "rw"))
		rc = fus_fail(FC_FAILED, d.name, "cannot be drained, it is in mode %s; see "
			      "fusionctl status %s", st->mode, d.name);
	else if (st->logs && set.m.suspended)
		rc = fus_fail_suspended(d.name, "cannot be drained");
	else if (st->logs)
		rc = drain_log(&d);
	if (!rc || d.left < d.blocks)
		print(&d, &set, a->opt[OPT_JSON]);
	fus_set_put(&set);
	return rc;
}
