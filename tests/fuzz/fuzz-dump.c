// SPDX-License-Identifier: GPL-2.0-only
/*
 * A saved dump: the data that restore accepts passes the checks for a superblock and a map from a
 * disk.
 */
#include <json-c/json.h>

#include "fuzz.h"
#include "../unit/geometry.h"
#include "restore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *o = json_tokener_parse_ex(tok, (const char *)data, size);
	struct dump d;
	u32 i;

	json_tokener_free(tok);
	if (!o)
		return 0;
	if (!dump_parse("dump", o, &d)) {
		PROMISED(!geometry_wrong(&d.sb));
		for (i = 0; i < d.sb.nr_lexts; i++)
			PROMISED(fusion_word_valid(&d.sb, d.st.word[i]));
	}
	dump_free(&d);
	return 0;
}
