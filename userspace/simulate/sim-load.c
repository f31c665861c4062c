// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generated loads. A load is a distribution over ranks, 0 being the most used, and a place for each
 * rank: side by side from @at on, or strewn over the span by a permutation. Within an extent each 4
 * KiB is as likely as any other.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fusionctl.h"
#include "sim.h"
#include "size.h"

#define BLOCK	4096U
#define TINY	0.000000001	/* tolerance of a sum of shares */

/* -- as it is asked for -------------------------------------------------------------- */

static bool parse_decimal(const char *s, double max, double *v)
{
	char *end;

	if (!isdigit((unsigned char)*s) || strspn(s, "0123456789.") != strlen(s))
		return false;
	*v = strtod(s, &end);
	return !*end && *v <= max;
}

/* "12.5%" or "12.5": a part of the whole */
static bool parse_share(const char *s, double *v)
{
	char number[16];
	size_t n = strlen(s);

	if (!n || n >= sizeof(number))
		return false;
	memcpy(number, s, n + 1);
	if (number[n - 1] == '%')
		number[n - 1] = 0;
	if (!parse_decimal(number, 100, v))
		return false;
	*v /= 100;
	return true;
}

bool sim_parse_time(const char *s, u64 *ns)
{
	static const struct {
		const char *suffix;
		u64 ns;
	} units[] = {
		{ "", SIM_S }, { "s", SIM_S }, { "ms", SIM_MS }, { "m", 60 * SIM_S },
		{ "h", 3600 * SIM_S }, { "d", 86400 * SIM_S },
	};
	size_t n = strspn(s, "0123456789.");
	char number[16];
	double v;

	if (n >= sizeof(number))
		return false;
	memcpy(number, s, n);
	number[n] = 0;
	if (!parse_decimal(number, 1e9, &v))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(s + n, units[i].suffix))
			continue;
		*ns = v * units[i].ns;
		/* a year: values derived from it still fit */
		return v * units[i].ns <= 366.0 * 86400 * SIM_S;
	}
	return false;
}

/* "80/4:10/20": four of five accesses to the first 4 %, a tenth to the next fifth */
static bool parse_zones(char *s, struct sim_spec *spec)
{
	double accesses = 0, span = 0;
	char *zone, *slash;

	while ((zone = strsep(&s, ":"))) {
		slash = strchr(zone, '/');
		if (!slash || spec->nr_zones == SIM_MAX_ZONES - 1)
			return false;
		*slash = 0;
		if (!parse_share(zone, &spec->zone[spec->nr_zones].accesses) ||
		    !parse_share(slash + 1, &spec->zone[spec->nr_zones].span) ||
		    spec->zone[spec->nr_zones].span <= 0)
			return false;
		accesses += spec->zone[spec->nr_zones].accesses;
		span += spec->zone[spec->nr_zones++].span;
	}
	if (accesses > 1 + TINY || span > 1 + TINY)
		return false;
	/* the rest to the rest */
	if (accesses < 1 - TINY) {
		if (span > 1 - TINY)
			return false;
		spec->zone[spec->nr_zones].accesses = 1 - accesses;
		spec->zone[spec->nr_zones++].span = 1 - span;
	}
	return true;
}

static bool parse_shape(char *s, struct sim_spec *spec)
{
	char *colon = strchr(s, ':');

	if (colon)
		*colon++ = 0;
	if (!strcmp(s, "uniform")) {
		spec->shape = SIM_UNIFORM;
		return !colon;
	}
	if (!strcmp(s, "scan")) {
		spec->shape = SIM_SCAN;
		spec->bytes = 0;
		spec->reads = 100;
		spec->depth = 2;
		return !colon;
	}
	if (!strcmp(s, "zipf")) {
		spec->shape = SIM_ZIPF;
		spec->hashed = true;
		spec->value = 1;
		return !colon || (parse_decimal(colon, 5, &spec->value) && spec->value > 0);
	}
	if (!strcmp(s, "zoned")) {
		spec->shape = SIM_ZONED;
		spec->at = 0.5;
		return colon && parse_zones(colon, spec);
	}
	if (!strcmp(s, "loop")) {
		spec->shape = SIM_LOOP;
		spec->at = 0.5;
		spec->value = 1.2;
		return !colon || (parse_decimal(colon, 1000, &spec->value) && spec->value > 0);
	}
	return false;
}

static bool parse_shift(char *s, struct sim_spec *spec)
{
	char *at = strchr(s, '@');

	if (!at)
		return false;
	*at++ = 0;
	return parse_share(s, &spec->shift) && sim_parse_time(at, &spec->shift_at);
}

static bool parse_option(const char *key, char *v, struct sim_spec *spec)
{
	uint64_t n;

	if (!strcmp(key, "read")) {
		if (!fus_parse_number(v, 100, &n))
			return false;
		spec->reads = n;
		return true;
	}
	if (!strcmp(key, "size")) {
		if (!fus_parse_size(v, &n) || !n || n > 16 << 20 || n % 512)
			return false;
		spec->bytes = n;
		return true;
	}
	if (!strcmp(key, "qd")) {
		if (!fus_parse_number(v, SIM_MAX_DEPTH / SIM_MAX_LOADS, &n) || !n)
			return false;
		spec->depth = n;
		return true;
	}
	if (!strcmp(key, "visits")) {
		if (!fus_parse_number(v, 1000000, &n) || !n)
			return false;
		spec->visits = n;
		return true;
	}
	if (!strcmp(key, "rate"))
		return parse_decimal(v, 1e6, &spec->rate) && spec->rate >= 0.001;
	if (!strcmp(key, "from"))
		return sim_parse_time(v, &spec->from);
	if (!strcmp(key, "to"))
		return sim_parse_time(v, &spec->to);
	if (!strcmp(key, "at"))
		return parse_share(v, &spec->at) && spec->at < 1;
	if (!strcmp(key, "shift"))
		return parse_shift(v, spec);
	if (!strcmp(key, "place") &&
	    (!strcmp(v, "hashed") || !strcmp(v, "linear") || !strcmp(v, "blocks"))) {
		spec->hashed = *v != 'l';
		spec->blocks = *v == 'b';
		return true;
	}
	return false;
}

int sim_parse_load(const char *text, struct sim_spec *spec)
{
	char buf[256], *rest = buf, *word, *is, whole[64];

	memset(spec, 0, sizeof(*spec));
	spec->reads = 70;
	spec->bytes = 4096;
	spec->depth = 16;
	spec->visits = 16;
	spec->to = SIM_NEVER;
	if (strlen(text) >= sizeof(buf))
		return fus_fail(FC_USAGE, "--load", "longer than %zu characters; shorten it",
				sizeof(buf) - 1);
	memcpy(buf, text, strlen(text) + 1);
	word = strsep(&rest, ",");
	snprintf(spec->name, sizeof(spec->name), "%s", word);
	if (!parse_shape(word, spec))
		return fus_fail(FC_USAGE, spec->name, "not a load; choose zipf:1.0, zoned:80/4, "
				"uniform, loop:1.2 or scan, see fusionctl(8)");
	while ((word = strsep(&rest, ","))) {
		snprintf(whole, sizeof(whole), "%s", word);
		is = strchr(word, '=');
		if (is)
			*is++ = 0;
		if (!is || !parse_option(word, is, spec))
			return fus_fail(FC_USAGE, whole, "not an option of a load, or out of "
					"range; choose read=70, size=4K, qd=16 (at most %u), "
					"rate=1000, at=50%%, place=hashed, linear or blocks (zipf "
					"of 4K), from=1h, to=2h, shift=50%%@3h or visits=16",
					SIM_MAX_DEPTH / SIM_MAX_LOADS);
	}
	if (spec->blocks && (spec->shape != SIM_ZIPF || spec->bytes != BLOCK))
		return fus_fail(FC_USAGE, spec->name, "place=blocks is for zipf with size=4K; give "
				"place=hashed");
	if (spec->from >= spec->to)
		return fus_fail(FC_USAGE, spec->name, "ends before it begins; give from= less than "
				"to=");
	return 0;
}

/* -- ranks and places ---------------------------------------------------------------- */

/* A permutation of 0..nr-1: four rounds of Feistel, again until the result is in range. */
static u32 strew(const struct sim_load *load, u32 rank)
{
	const u32 bits = load->feistel_bits, mask = (1U << bits) - 1;
	u64 v = rank;

	do {
		u32 l = v >> bits, r = v & mask;

		for (u32 round = 0; round < 4; round++) {
			u64 key = load->seed + round * 0x100000000ULL + r;
			u32 next = l ^ ((u32)random64(key) & mask);

			l = r;
			r = next;
		}
		v = (u64)l << bits | r;
	} while (v >= load->nr);
	return v;
}

/* Some ranks change places with those half the span away. */
static u32 shifted(const struct sim_load *load, u32 rank)
{
	u32 half = load->nr / 2, pair = rank < half ? rank : rank - half;
	u64 seed;

	if (!load->shifted || pair >= half)
		return rank;
	seed = load->seed + ((u64)pair << 32);
	if (sim_unit(&seed) >= load->spec->shift)
		return rank;
	return rank < half ? rank + half : pair;
}

static u32 place(const struct sim_load *load, u32 rank)
{
	u64 lext;

	rank = shifted(load, rank);
	if (load->spec->hashed)
		return strew(load, rank);
	lext = (u64)load->first + rank;
	return lext < load->nr ? lext : lext - load->nr;
}

/* -- zipf: rejection-inversion (Hoermann and Derflinger 1996), O(1) for any size -- */

static double zipf_h(double s, double x)
{
	return s == 1 ? 1 / x : pow(x, -s);
}

static double zipf_integral(double s, double x)
{
	return s == 1 ? log(x) : (pow(x, 1 - s) - 1) / (1 - s);
}

static double zipf_inverse(double s, double y)
{
	double base;

	if (s == 1)
		return exp(y);
	base = 1 + y * (1 - s);
	return base <= 0 ? 1 : pow(base, 1 / (1 - s));
}

static u32 draw_zipf(struct sim_load *load)
{
	const double s = load->spec->value;

	for (;;) {
		double part = sim_unit(&load->rng);
		double u = load->zipf_hn + part * (load->zipf_h1 - load->zipf_hn);
		double x = zipf_inverse(s, u);
		double k = floor(x + 0.5);

		if (k < 1)
			k = 1;
		if (k > load->nr)
			k = load->nr;
		if (k - x <= load->zipf_s || u >= zipf_integral(s, k + 0.5) - zipf_h(s, k))
			return (u32)k - 1;
	}
}

/* -- running ---------------------------------------------------------------------------- */

void sim_load_init(struct sim_load *load, const struct sim_spec *spec, u32 nr, u32 nr_fast,
		   u32 extent_bytes, u64 seed)
{
	double s = spec->value, end = 0;

	memset(load, 0, sizeof(*load));
	load->spec = spec;
	load->seed = random64(seed);
	load->rng = load->seed;
	if (spec->blocks)
		nr *= extent_bytes / BLOCK;
	load->nr = nr;
	load->nr_ranks = nr;
	load->extent_bytes = extent_bytes;
	load->first = spec->at * nr;
	while (1ULL << 2 * load->feistel_bits < nr || !load->feistel_bits)
		load->feistel_bits++;
	if (spec->shape == SIM_ZIPF) {
		load->zipf_h1 = zipf_integral(s, 1.5) - 1;
		load->zipf_hn = zipf_integral(s, nr + 0.5);
		load->zipf_s = 2 - zipf_inverse(s, zipf_integral(s, 2.5) - zipf_h(s, 2));
	} else if (spec->shape == SIM_LOOP) {
		s *= nr_fast;
		load->nr_ranks = s < 1 ? 1 : s < nr ? s : nr;
	} else if (spec->shape == SIM_ZONED) {
		for (unsigned int i = 0; i < spec->nr_zones; i++) {
			end += spec->zone[i].span;
			load->zone_first[i + 1] = end < 1 - TINY ? end * nr : nr;
			/* a zone has at least one extent */
			if (load->zone_first[i + 1] <= load->zone_first[i])
				load->zone_first[i + 1] = load->zone_first[i] + 1;
		}
		if (load->zone_first[spec->nr_zones] > nr)
			load->zone_first[spec->nr_zones] = nr;
	}
}

static u32 draw_zoned(struct sim_load *load)
{
	double x = sim_unit(&load->rng);
	unsigned int i = 0;

	while (i + 1 < load->spec->nr_zones && x >= load->spec->zone[i].accesses)
		x -= load->spec->zone[i++].accesses;
	return load->zone_first[i] +
	       sim_below(&load->rng, load->zone_first[i + 1] - load->zone_first[i]);
}

static void next_of_scan(struct sim_load *load, struct sim_access *a)
{
	a->lext = place(load, load->pos_extent);
	a->offset = load->pos_offset;
	if (a->bytes > load->extent_bytes - a->offset)
		a->bytes = load->extent_bytes - a->offset;
	load->pos_offset += a->bytes;
	if (load->pos_offset < load->extent_bytes)
		return;
	load->pos_offset = 0;
	a->last = ++load->pos_extent == load->nr;
	if (a->last)
		load->pos_extent = 0;
}

static u32 next_of_loop(struct sim_load *load)
{
	u32 rank = load->pos_extent;

	if (++load->pos_offset >= load->spec->visits) {
		load->pos_offset = 0;
		if (++load->pos_extent == load->nr_ranks)
			load->pos_extent = 0;
	}
	return rank;
}

void sim_load_next(struct sim_load *load, struct sim_access *a)
{
	const struct sim_spec *spec = load->spec;
	u32 rank, unit;

	a->last = false;
	a->bytes = spec->bytes && spec->bytes < load->extent_bytes ? spec->bytes :
		   load->extent_bytes;
	a->write = spec->reads < 100 && sim_below(&load->rng, 100) >= spec->reads;
	switch (spec->shape) {
	case SIM_SCAN:
		next_of_scan(load, a);
		return;
	case SIM_LOOP:
		rank = next_of_loop(load);
		break;
	case SIM_ZIPF:
		rank = draw_zipf(load);
		break;
	case SIM_ZONED:
		rank = draw_zoned(load);
		break;
	default:
		rank = sim_below(&load->rng, load->nr);
		break;
	}
	a->lext = place(load, rank);
	if (spec->blocks) {
		a->offset = a->lext % (load->extent_bytes / BLOCK) * BLOCK;
		a->lext /= load->extent_bytes / BLOCK;
		return;
	}
	unit = a->bytes < 4096 ? a->bytes : 4096;
	a->offset = sim_below(&load->rng, (load->extent_bytes - a->bytes) / unit + 1) * unit;
}

/* -- probabilities -------------------------------------------------------------------- */

static void add_even(const struct sim_load *load, u32 first, u32 end, double weight,
		     float *density)
{
	for (u32 rank = first; rank < end; rank++)
		density[place(load, rank)] += weight / (end - first);
}

void sim_load_density(const struct sim_load *load, double weight, float *density)
{
	const struct sim_spec *spec = load->spec;
	const u32 unit = spec->blocks ? load->extent_bytes / BLOCK : 1;
	double sum = 0;

	switch (spec->shape) {
	case SIM_ZIPF:
		for (u32 rank = 0; rank < load->nr; rank++)
			sum += zipf_h(spec->value, rank + 1);
		for (u32 rank = 0; rank < load->nr; rank++)
			density[place(load, rank) / unit] += weight *
				zipf_h(spec->value, rank + 1) / sum;
		break;
	case SIM_ZONED:
		for (unsigned int i = 0; i < spec->nr_zones; i++)
			add_even(load, load->zone_first[i], load->zone_first[i + 1],
				 weight * spec->zone[i].accesses, density);
		break;
	default:
		add_even(load, 0, load->nr_ranks, weight, density);
		break;
	}
}
