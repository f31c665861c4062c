// SPDX-License-Identifier: GPL-2.0-only
/* The file with the pins of a set: each pin that is accepted is whole, and can be found. */
#include "fuzz.h"
#include "fusionctl.h"
#include "pins.h"

static bool is_text(const char *text, size_t size)
{
	return *text && memchr(text, 0, size);
}

static void check(const struct pins *p, const struct pin *pin)
{
	const struct pin *found;

	PROMISED(pin->member == FAST || pin->member == SLOW);
	if (!pin->path) {
		PROMISED(pin->first <= pin->last && pin->last < FUSION_MAX_LEXTS);
		return;
	}
	PROMISED(*pin->path == '/' && strlen(pin->path) < MAX_PIN_PATH);
	PROMISED(is_text(pin->file_system, sizeof(pin->file_system)));
	PROMISED(is_text(pin->handle, sizeof(pin->handle)));
	PROMISED(pin->missed <= INT64_MAX);
	found = fus_pins_find(p, pin->file_system, pin->handle);
	PROMISED(found && found <= pin);
}

/* What is left of the ranges is outside these extents. */
static void cut(struct pins *p, uint64_t first, uint64_t last)
{
	bool any;

	if (fus_pins_cut(p, first, last, &any))
		return;
	for (size_t i = 0; i < p->nr; i++) {
		check(p, &p->pin[i]);
		PROMISED(p->pin[i].path || p->pin[i].last < first || p->pin[i].first > last);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pins p = { .uuid = FUZZ_PINS_UUID };
	char *text = malloc(size + 1);

	PROMISED(text);
	memcpy(text, data, size);
	text[size] = 0;
	if (!fus_pins_parse("pins", text, &p)) {
		PROMISED(p.nr <= MAX_PINS && !strcmp(p.uuid, FUZZ_PINS_UUID));
		for (size_t i = 0; i < p.nr; i++)
			check(&p, &p.pin[i]);
		cut(&p, 100, 199);
	}
	fus_pins_free(&p);
	PROMISED(!p.pin && !p.nr);
	free(text);
	return 0;
}
