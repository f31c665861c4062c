// SPDX-License-Identifier: GPL-2.0-only
/* What smartctl prints: numbers are bounded, texts end, and there is a reason for each silence. */
#include "fuzz.h"
#include "smart.h"

static bool bounded(int64_t v, int64_t max)
{
	return v == SMART_UNKNOWN || (v >= 0 && v <= max);
}

static bool printable(const char *text, size_t size)
{
	const char *end = memchr(text, 0, size);

	for (; end && text < end; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return false;
	return end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct smart s;

	PROMISED(text);
	memcpy(text, data, size);
	text[size] = 0;
	memset(&s, 0xff, sizeof(s));
	fus_smart_parse(text, &s);
	PROMISED(printable(s.model, sizeof(s.model)) && printable(s.serial, sizeof(s.serial)));
	PROMISED(printable(s.firmware, sizeof(s.firmware)) && printable(s.link, sizeof(s.link)));
	PROMISED(printable(s.trouble, sizeof(s.trouble)));
	PROMISED(s.known + s.asleep + !!*s.trouble == 1);
	PROMISED(s.passed >= -1 && s.passed <= 1);
	PROMISED(s.temperature == SMART_UNKNOWN || (s.temperature >= -100 && s.temperature <= 200));
	PROMISED(bounded(s.limit, 200) && bounded(s.wear, 255) && bounded(s.spare, 100));
	PROMISED(bounded(s.hours, 1000000) && bounded(s.written, 1LL << 60));
	PROMISED(bounded(s.pending, INT64_MAX) && bounded(s.reallocated, INT64_MAX));
	PROMISED(bounded(s.media_errors, INT64_MAX));
	free(text);
	return 0;
}
