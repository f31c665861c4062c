// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb grow: let an open set use the room that its members have gained. The kernel does it when a
 * longer table takes the place of the present one; I/O waits from the suspend to the resume.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "resize.h"
#include "adopt.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "json.h"
#include "output.h"
#include "probe.h"
#include "role.h"
#include "set-json.h"
#include "size.h"
#include "verb.h"

struct growth {
	struct resizing r;
	char content[32];		/* of the set, in the words of libblkid; or "" */
	bool dry_run, json;
};

/* -- may it grow, and how far? ---------------------------------------------------------- */

/* Whole extents, at most as many as @text says. */
static int parse_size(const struct growth *g, const char *text, uint32_t *lexts)
{
	const uint64_t extent = (uint64_t)g->r.sb.extent_sectors << 9;
	uint64_t bytes;

	*lexts = 0;
	if (!text)
		return 0;
	if (!fus_parse_size(text, &bytes))
		return fus_fail(FC_USAGE, text, "is no size; write it as 750G or 1.5T");
	if (bytes / extent <= g->r.sb.nr_lexts)
		return fus_fail(FC_USAGE, text, "is not more than %s has; choose a larger size, or "
				"leave it out to use all there is", g->r.name);
	*lexts = bytes / extent > FUSION_MAX_LEXTS ? FUSION_MAX_LEXTS : bytes / extent;
	return 0;
}

/* As the kernel will do it. */
static int plan(struct growth *g, const char *size)
{
	char most[SIZE_TEXT];
	struct fusion_misfit misfit;
	struct fusion_sb all = g->r.sb;
	const uint64_t fast = g->r.m[FAST]->sectors, slow = g->r.m[SLOW]->sectors;
	uint32_t lexts;
	int rc;

	rc = parse_size(g, size, &lexts);
	if (rc)
		return rc;
	if (!fusion_sb_grow(&g->r.sb, fast, slow, lexts, &misfit))
		return 0;
	if (lexts && !fusion_sb_grow(&all, fast, slow, 0, &misfit))
		return fus_fail(FC_REFUSED, size, "is more than there is room for; the most is "
				"%s", fus_size_text(most, fusion_sb_sectors(&all) << 9));
	return fus_fail(FC_REFUSED, g->r.name, "cannot grow: %s; %s", misfit.what,
			misfit.remedy ? misfit.remedy : "see fusionctl help grow");
}

/* -- growing ---------------------------------------------------------------------------- */

/* Nothing may be recognised at the end of a member, where something else's may be found now. */
static int clear_tail(const struct member *m)
{
	const size_t bytes = (size_t)FUSION_GUARD_SECTORS << 9;
	const off_t at = (off_t)(m->sectors << 9) - bytes;
	int fd = fus_open_node(m->path, m->devno, O_WRONLY);
	char *zeros = calloc(1, bytes);
	bool ok = fd >= 0 && zeros && pwrite(fd, zeros, bytes, at) == (ssize_t)bytes && !fsync(fd);

	free(zeros);
	if (fd >= 0)
		close(fd);
	return ok ? 0 : fus_fail(FC_FAILED, m->path, "its last MiB cannot be written; see dmesg");
}

static int clear_tails(const struct growth *g)
{
	int rc = 0;

	for (int dev = 0; dev < 2 && !rc; dev++)
		if (g->r.m[dev]->sectors > g->r.m[dev]->sb->self_sectors)
			rc = clear_tail(g->r.m[dev]);
	return rc;
}

static int grow_it(struct growth *g)
{
	int rc = clear_tails(g);

	if (!rc)
		rc = resize_exchange(&g->r, "");
	if (!rc)
		resize_finish(&g->r);
	return rc;
}

/* -- output ----------------------------------------------------------------------------- */

static void probe_content(struct growth *g)
{
	char path[160];
	int fd;
	bool fs;

	snprintf(path, sizeof(path), "/dev/mapper/%s", g->r.name);
	fd = fus_open_node(path, g->r.table.devno, O_RDONLY);
	if (fd < 0)
		return;
	if (!fus_probe_type(fd, &fs, g->content, sizeof(g->content)))
		*g->content = 0;
	close(fd);
}

static void print_as_json(const struct growth *g)
{
	const char *const path[2] = { g->r.m[FAST]->path, g->r.m[SLOW]->path };
	struct json_object *o = fus_json_base();

	fus_json_add_bool(o, "dry_run", g->dry_run);
	fus_json_add_set(o, g->r.name, true, &g->r.sb, path);
	fus_json_add_u64(o, "old_bytes", fusion_sb_sectors(g->r.m[FAST]->sb) << 9);
	fus_json_add_u64(o, "old_extents", g->r.m[FAST]->sb->nr_lexts);
	fus_json_add_str(o, "content", *g->content ? g->content : NULL);
	if (g->dry_run)
		json_object_object_add(o, "paused_ms", NULL);
	else
		fus_json_add_u64(o, "paused_ms", g->r.paused_ms);
	print_json(o, false);
}

static void print(const struct growth *g)
{
	char was[SIZE_TEXT], is[SIZE_TEXT], text[200];

	for (int dev = 0; dev < 2; dev++)
		if (g->r.m[dev]->sectors > g->r.m[dev]->sb->self_sectors)
			printf("%s: grew from %s to %s\n", g->r.m[dev]->path,
			       fus_size_text(was, g->r.m[dev]->sb->self_sectors << 9),
			       fus_size_text(is, g->r.m[dev]->sectors << 9));
	fus_size_text(was, fusion_sb_sectors(g->r.m[FAST]->sb) << 9);
	fus_size_text(is, fusion_sb_sectors(&g->r.sb) << 9);
	if (g->dry_run)
		printf("%s: would grow from %s to %s\n", g->r.name, was, is);
	else
		printf("%s: has grown from %s to %s; I/O waited for %u ms\n", g->r.name, was, is,
		       g->r.paused_ms);
	adopt_grow_text(g->content, g->r.name, text, sizeof(text));
	if (*text && !g->dry_run)
		printf("to use all of it: %s\n", text);
}

int cmd_grow(const struct args *a)
{
	struct growth g = {
		.r = { .name = a->word[0], .verb = "grow", .done = "grown" },
		.dry_run = a->opt[OPT_DRY_RUN], .json = a->opt[OPT_JSON],
	};
	int rc;

	rc = resize_get(&g.r);
	if (!rc)
		rc = plan(&g, a->opt[OPT_SET_SIZE]);
	if (!rc && !g.dry_run)
		rc = grow_it(&g);
	if (!rc) {
		probe_content(&g);
		if (g.json)
			print_as_json(&g);
		else
			print(&g);
	}
	resize_put(&g.r);
	return rc;
}
