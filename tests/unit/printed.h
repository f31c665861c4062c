/* SPDX-License-Identifier: GPL-2.0-only */
/* What a verb prints, and fields of its JSON. */
#ifndef PRINTED_H
#define PRINTED_H

#include <json-c/json.h>
#include <unistd.h>

#include "unit.h"
#include "verb.h"

#define PRINTED_BYTES	65536

/* With -v, which must succeed; to be freed. */
static inline char *printed(verb_fn *verb, char **word, int nr, bool json)
{
	struct args a = { .n = nr, .word = word };
	char *text = calloc(1, PRINTED_BYTES);
	FILE *f = tmpfile();
	int out;

	a.opt[OPT_JSON] = json ? "" : NULL;
	a.opt[OPT_VERBOSE] = "";
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	REQUIRE(f && text && dup2(fileno(f), STDOUT_FILENO) >= 0);
	REQUIRE_EQ(verb(&a), 0);
	fflush(stdout);
	REQUIRE(dup2(out, STDOUT_FILENO) >= 0);
	close(out);
	rewind(f);
	REQUIRE(fread(text, 1, PRINTED_BYTES - 1, f));
	fclose(f);
	return text;
}

static inline struct json_object *field(struct json_object *o, const char *key)
{
	struct json_object *v;

	REQUIRE(json_object_object_get_ex(o, key, &v), "%s", key);
	return v;
}

#endif
