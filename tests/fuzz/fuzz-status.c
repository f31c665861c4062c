// SPDX-License-Identifier: GPL-2.0-only
/* The status line: accepted strings end, and counts fit their arrays. */
#include "fuzz.h"
#include "status-parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fusion_status st;
	char *line = malloc(size + 1);
	unsigned int i;

	PROMISED(line);
	memcpy(line, data, size);
	line[size] = 0;
	memset(&st, 0xff, sizeof(st));
	if (!fus_parse_status(line, &st)) {
		PROMISED(memchr(st.mode, 0, sizeof(st.mode)));
		PROMISED(st.nr_options <= STATUS_MAX_OPTIONS);
		for (i = 0; i < st.nr_options; i++)
			PROMISED(memchr(st.option[i].key, 0, sizeof(st.option[i].key)) &&
				 memchr(st.option[i].value, 0, sizeof(st.option[i].value)));
	}
	free(line);
	return 0;
}
