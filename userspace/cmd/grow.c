// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb grow: let an open set use the room that its members have gained. The kernel does it when a
 * longer table takes the place of the present one; I/O waits from the suspend to the resume.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "adopt.h"
#include "backup.h"
#include "device.h"
#include "error.h"
#include "fusionctl.h"
#include "hold-signals.h"
#include "json.h"
#include "kmsg.h"
#include "open-set.h"
#include "output.h"
#include "probe.h"
#include "role.h"
#include "scan.h"
#include "set-json.h"
#include "size.h"
#include "super.h"
#include "verb.h"
#include "dm-fusion-codec.h"

struct growth {
	const char *name;
	struct mapping table;		/* the present one */
	struct member *m[2];
	struct fusion_sb sb;		/* of the fast member, as it will be */
	char content[32];		/* of the set, in the words of libblkid; or "" */
	unsigned int paused_ms;
	bool dry_run, json;
};

/* -- may it grow, and how far? ---------------------------------------------------------- */

/* The set must be open, and nothing may be wrong with it. */
static int find_open(struct growth *g)
{
	struct set set;
	int rc;

	rc = fus_set_get(g->name, &set);
	if (rc)
		return rc;
	if (strcmp(set.st.mode, "rw"))
		rc = fus_fail(FC_FAILED, g->name, "cannot grow, it is in mode %s; see fusionctl "
			      "status %s", set.st.mode, g->name);
	else if (set.m.suspended)
		rc = fus_fail(FC_FAILED, g->name, "cannot grow, it is suspended; run dmsetup "
			      "resume %s first", g->name);
	for (int dev = 0; dev < 2 && !rc; dev++) {
		if (fus_member_at(set.member[dev], &g->m[dev]) || !g->m[dev])
			rc = fus_fail(FC_FAILED, g->name, "the superblock of its %s member "
				      "cannot be read; see dmesg", fus_role_name[dev]);
		else
			rc = fus_check_member(g->m[dev]);
	}
	fus_set_put(&set);
	return rc ? rc : fus_dm_get_set(g->name, MAPPING_TABLE, &g->table);
}

/* Whole extents, at most as many as @text says. */
static int parse_size(const struct growth *g, const char *text, uint32_t *lexts)
{
	const uint64_t extent = (uint64_t)g->sb.extent_sectors << 9;
	uint64_t bytes;

	*lexts = 0;
	if (!text)
		return 0;
	if (!fus_parse_size(text, &bytes))
		return fus_fail(FC_USAGE, text, "is no size; write it as 750G or 1.5T");
	if (bytes / extent <= g->sb.nr_lexts)
		return fus_fail(FC_USAGE, text, "is not more than %s has; choose a larger size, or "
				"leave it out to use all there is", g->name);
	*lexts = bytes / extent > FUSION_MAX_LEXTS ? FUSION_MAX_LEXTS : bytes / extent;
	return 0;
}

/* As the kernel will do it. */
static int plan(struct growth *g, const char *size)
{
	char most[SIZE_TEXT];
	struct fusion_misfit misfit;
	struct fusion_sb all;
	uint32_t lexts;
	int rc;

	g->sb = *g->m[FAST]->sb;
	all = g->sb;
	if (g->m[SLOW]->sb->layout_seq != g->sb.layout_seq)
		return fus_fail(FC_BUSY, g->name, "the slow member does not know yet how large the "
				"set has become; run fusionctl checkpoint %s, and try again",
				g->name);
	rc = parse_size(g, size, &lexts);
	if (rc)
		return rc;
	if (!fusion_sb_grow(&g->sb, g->m[FAST]->sectors, g->m[SLOW]->sectors, lexts, &misfit))
		return 0;
	if (lexts && !fusion_sb_grow(&all, g->m[FAST]->sectors, g->m[SLOW]->sectors, 0, &misfit))
		return fus_fail(FC_REFUSED, size, "is more than there is room for; the most is "
				"%s", fus_size_text(most, fusion_sb_sectors(&all) << 9));
	return fus_fail(FC_REFUSED, g->name, "cannot grow: %s; %s", misfit.what,
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
		if (g->m[dev]->sectors > g->m[dev]->sb->self_sectors)
			rc = clear_tail(g->m[dev]);
	return rc;
}

/* The present line, with one more option; to be freed. */
static char *longer_params(const char *params)
{
	char fast[32], slow[32], *longer = NULL;
	unsigned int nr = 0;
	int end = 0;

	if (sscanf(params, "%31s %31s%n %u%n", fast, slow, &end, &nr, &end) < 2)
		return NULL;
	return asprintf(&longer, "%s %s %u%s resize on", fast, slow, nr + 2, params + end) < 0 ?
	       NULL : longer;
}

static int exchange(struct growth *g, const char *params)
{
	const struct dm_line now = { g->table.sectors, g->table.target, g->table.params };
	const struct dm_line next = { fusion_sb_sectors(&g->sb), g->table.target, params };
	char reason[256];
	sigset_t before;
	bool stuck;
	int err, kmsg = fus_kmsg_open();

	/* It must not end with the set suspended. */
	hold_ending_signals(true, &before);
	/* Nothing can be paged in while the set is suspended, if it is the root's. */
	mlockall(MCL_CURRENT | MCL_FUTURE);
	err = fus_dm_exchange(g->name, &now, &next, &g->paused_ms, &stuck);
	munlockall();
	sigprocmask(SIG_SETMASK, &before, NULL);
	fus_kmsg_reason(kmsg, reason, sizeof(reason));
	if (stuck)
		return fus_fail(FC_FAILED, g->name, "stays suspended: the kernel takes neither the "
				"new table nor the old one: %s; see dmesg, and restart the machine",
				*reason ? reason : strerror(-err));
	return err ? fus_fail(FC_FAILED, g->name, "has not grown: %s; it is as large as it "
			       "was, see dmesg", *reason ? reason : strerror(-err)) : 0;
}

/* The backup of the geometry has the new size, and so should the slow member. */
static void finish(const struct growth *g)
{
	struct member *slow = NULL;

	fus_backup_changed(g->m[FAST]->devno);
	if (fus_member_at(g->m[SLOW]->devno, &slow) || !slow || !fus_has_identity(slow) ||
	    slow->sb->layout_seq != g->sb.layout_seq)
		fus_warn(g->name, "has grown, but its slow member %s could not be told; see "
			 "fusionctl status %s", g->m[SLOW]->path, g->name);
	fus_free_members(slow);
}

static int grow_it(struct growth *g)
{
	char *params = longer_params(g->table.params);
	int rc;

	if (!params)
		return fus_fail(FC_FAILED, g->name, "its table cannot be read; use matching "
				"versions of fusionctl and dm-fusion");
	rc = clear_tails(g);
	if (!rc)
		rc = exchange(g, params);
	free(params);
	if (!rc)
		finish(g);
	return rc;
}

/* -- output ----------------------------------------------------------------------------- */

static void probe_content(struct growth *g)
{
	char path[160];
	int fd;
	bool fs;

	snprintf(path, sizeof(path), "/dev/mapper/%s", g->name);
	fd = fus_open_node(path, g->table.devno, O_RDONLY);
	if (fd < 0)
		return;
	if (!fus_probe_type(fd, &fs, g->content, sizeof(g->content)))
		*g->content = 0;
	close(fd);
}

static void print_as_json(const struct growth *g)
{
	const char *const path[2] = { g->m[FAST]->path, g->m[SLOW]->path };
	struct json_object *o = fus_json_base();

	fus_json_add_bool(o, "dry_run", g->dry_run);
	fus_json_add_set(o, g->name, true, &g->sb, path);
	fus_json_add_u64(o, "old_bytes", fusion_sb_sectors(g->m[FAST]->sb) << 9);
	fus_json_add_u64(o, "old_extents", g->m[FAST]->sb->nr_lexts);
	fus_json_add_str(o, "content", *g->content ? g->content : NULL);
	if (g->dry_run)
		json_object_object_add(o, "paused_ms", NULL);
	else
		fus_json_add_u64(o, "paused_ms", g->paused_ms);
	print_json(o, false);
}

static void print(const struct growth *g)
{
	char was[SIZE_TEXT], is[SIZE_TEXT], text[200];

	for (int dev = 0; dev < 2; dev++)
		if (g->m[dev]->sectors > g->m[dev]->sb->self_sectors)
			printf("%s: grew from %s to %s\n", g->m[dev]->path,
			       fus_size_text(was, g->m[dev]->sb->self_sectors << 9),
			       fus_size_text(is, g->m[dev]->sectors << 9));
	fus_size_text(was, fusion_sb_sectors(g->m[FAST]->sb) << 9);
	fus_size_text(is, fusion_sb_sectors(&g->sb) << 9);
	if (g->dry_run)
		printf("%s: would grow from %s to %s\n", g->name, was, is);
	else
		printf("%s: has grown from %s to %s; I/O waited for %u ms\n", g->name, was, is,
		       g->paused_ms);
	adopt_grow_text(g->content, g->name, text, sizeof(text));
	if (*text && !g->dry_run)
		printf("to use all of it: %s\n", text);
}

int cmd_grow(const struct args *a)
{
	struct growth g = {
		.name = a->word[0], .dry_run = a->opt[OPT_DRY_RUN], .json = a->opt[OPT_JSON],
	};
	int rc;

	rc = find_open(&g);
	if (!rc)
		rc = plan(&g, a->opt[OPT_NEW_SIZE]);
	if (!rc && !g.dry_run)
		rc = grow_it(&g);
	if (!rc) {
		probe_content(&g);
		if (g.json)
			print_as_json(&g);
		else
			print(&g);
	}
	fus_dm_put(&g.table);
	fus_free_members(g.m[FAST]);
	fus_free_members(g.m[SLOW]);
	return rc;
}
