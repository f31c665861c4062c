// SPDX-License-Identifier: GPL-2.0-only
/*
 * A verb of fusionctl on the disks of this world. All of fusionctl is linked unchanged, except
 * main.c and offline.c, which this file replaces: the members are called fast and slow.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fusionctl.h"
#include "message.h"
#include "meta.h"
#include "role.h"
#include "verb.h"
#include "tool.h"

const char *const tool_path[SIM_MAX_DISKS] = { "fast", "slow", "new" };
u8 tool_place[SIM_MAX_DISKS] = { 0, 1, 2 };

static u32 writes, writes_allowed;
static bool torn;

static int index_of(const char *path)
{
	int i;

	for (i = 0; i < SIM_MAX_DISKS; i++)
		if (!strcmp(path, tool_path[i]) && world->disk[tool_place[i]])
			return i;
	return -1;
}

/* -- in place of offline.c --------------------------------------------------------- */

bool fus_path_kind(const char *path, bool *file)
{
	*file = true;
	return index_of(path) >= 0;
}

int fus_offline_open(const char *path, enum offline_use use, struct offline *o)
{
	(void)use;
	memset(o, 0, sizeof(*o));
	o->path = strdup(path);
	o->fd = TOOL_FIRST_FD + index_of(path);
	o->sectors = bdev_nr_sectors(sim_disk_bdev(world->disk[tool_place[index_of(path)]]));
	o->file = true;
	o->ino = 1 + index_of(path);
	return 0;
}

void fus_offline_close(struct offline *o)
{
	o->fd = -1;
	free((char *)o->path);
	o->path = NULL;
}

static struct sim_disk *disk_of(const struct offline *o)
{
	return world->disk[tool_place[o->fd - TOOL_FIRST_FD]];
}

/* Beyond the metadata there are zeros, which is as well for the last MiB. */
int fus_offline_read(const struct offline *o, u64 offset, size_t bytes, void *buf)
{
	struct sim_disk *disk = disk_of(o);
	u64 nr = offset / FUSION_BLOCK_SIZE;
	char *p = buf;

	for (; bytes; nr++) {
		size_t n = min_t(size_t, bytes, FUSION_BLOCK_SIZE);

		if (nr == sim_disk_bad(disk))
			return -EIO;
		if (nr < sim_disk_blocks(disk))
			memcpy(p, sim_disk_block(disk, nr), n);
		else
			memset(p, 0, n);
		p += n;
		bytes -= n;
	}
	return 0;
}

/*
 * Power fails in this write: some of the first sectors of the block are written, or none, and the
 * one that was being written may hold anything.
 */
static void tear(struct sim_disk *disk, u64 nr, const char *p)
{
	const u32 whole = rnd_below(&world->rng, FUSION_BLOCK_SECTORS) * 512;
	const bool noise = rnd_below(&world->rng, 2);
	u8 b[FUSION_BLOCK_SIZE];
	u32 i;

	memcpy(b, sim_disk_block(disk, nr), sizeof(b));
	memcpy(b, p, whole);
	for (i = 0; noise && i < 512; i++)
		b[whole + i] = rnd(&world->rng);
	sim_disk_set_block(disk, nr, b);
}

int fus_offline_write(const struct offline *o, u64 offset, size_t bytes, const void *buf)
{
	struct sim_disk *disk = disk_of(o);
	u64 nr = offset / FUSION_BLOCK_SIZE;
	const char *p = buf;

	/* zeros that wipe the end of a disk which is replaced */
	if (world->current && nr >= sim_disk_blocks(disk))
		return 0;
	if (offset % FUSION_BLOCK_SIZE || bytes % FUSION_BLOCK_SIZE)
		sim_fail("fusionctl writes less than a block, at byte %llu",
			 (unsigned long long)offset);
	for (; bytes; nr++, bytes -= FUSION_BLOCK_SIZE, p += FUSION_BLOCK_SIZE) {
		if (world->current && nr >= sim_disk_blocks(disk))
			continue;
		if (nr >= sim_disk_blocks(disk))
			sim_fail("fusionctl writes to block %llu, where no metadata is",
				 (unsigned long long)nr);
		if (writes >= writes_allowed) {
			if (!torn)
				tear(disk, nr, p);
			torn = true;
			return -EIO;
		}
		writes++;
		sim_disk_set_block(disk, nr, p);
		if (nr == sim_disk_bad(disk))
			sim_disk_set_bad(disk, U32_MAX);
		tool_written();
	}
	return 0;
}

void tool_written(void)
{
	if (!world->current)
		return;
	world->cut_due = true;
	sim_yield();
}

int fus_offline_sync(const struct offline *o)
{
	(void)o;
	return torn ? -EIO : 0;
}

bool fus_same_storage(const struct offline *o, const char *path)
{
	return o->fd >= 0 && o->fd - TOOL_FIRST_FD == index_of(path);
}

void *fus_offline_buffer(size_t bytes)
{
	bytes = max_t(size_t, round_up(bytes, (size_t)FUSION_BLOCK_SIZE), FUSION_BLOCK_SIZE);
	return calloc(1, bytes);
}

/* No other signature: so fusionctl has to recognise it on its own. */
int __wrap_fus_probe_foreign(const char *path, int fd, bool *found, char *buf, size_t size);
int __wrap_fus_probe_foreign(const char *path, int fd, bool *found, char *buf, size_t size)
{
	(void)path;
	(void)size;
	if (fd >= 0)
		close(fd);
	*found = false;
	*buf = 0;
	return 0;
}

/* There is no other machine in this world, and no time to watch for one. */
int __wrap_fus_host_watch(const char *path, int fd, const struct fusion_sb *sb);
int __wrap_fus_host_watch(const char *path, int fd, const struct fusion_sb *sb)
{
	(void)path;
	(void)fd;
	(void)sb;
	return 0;
}

/* -- a verb ------------------------------------------------------------------------ */

static char *write_file(const char *text, int *fd)
{
	static char path[64];

	*fd = memfd_create("dump", 0);
	if (*fd < 0 || write(*fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	return path;
}

/* @fn is a verb. */
static void run_verb(struct tool_result *r, int (*fn)(const struct args *a), const struct args *a,
		     u32 max_writes)
{
	FILE *out = stdout, *err = stderr;
	size_t size[2];

	writes = 0;
	writes_allowed = max_writes;
	torn = false;
	stdout = open_memstream(&r->out, &size[0]);
	stderr = open_memstream(&r->err, &size[1]);
	if (!stdout || !stderr)
		abort();
	messages_begin();
	r->rc = fn(a);
	fclose(stdout);
	fclose(stderr);
	stdout = out;
	stderr = err;
	r->writes = writes;
}

void tool_replace(struct tool_result *r, int role, unsigned int flags)
{
	char *word[3] = { "set", (char *)tool_path[role], (char *)tool_path[SIM_THIRD] };
	struct args a = { .word = word, .n = flags & (TOOL_ABORT | TOOL_WAIT) ? 1 : 3 };

	a.opt[OPT_YES] = "";
	a.opt[OPT_JSON] = "";
	a.opt[OPT_ABORT] = flags & TOOL_ABORT ? "" : NULL;
	a.opt[OPT_WAIT] = flags & TOOL_WAIT ? "" : NULL;
	a.opt[OPT_NO_WAIT] = flags & TOOL_NO_WAIT ? "" : NULL;
	run_verb(r, cmd_replace, &a, U32_MAX);
}

void tool_run(struct tool_result *r, enum tool_verb verb, unsigned int flags, const char *file,
	      u32 max_writes)
{
	static int (*const run[])(const struct args *a) = {
		[TOOL_CHECK] = cmd_check, [TOOL_DUMP] = cmd_dump, [TOOL_REPAIR] = cmd_repair,
		[TOOL_RESTORE] = cmd_restore, [TOOL_SALVAGE] = cmd_salvage,
	};
	const bool swapped = flags & TOOL_SWAPPED;
	char *word[3];
	struct args a = { .word = word };
	int fd = -1;

	if (verb == TOOL_RESTORE)
		word[a.n++] = write_file(file, &fd);
	word[a.n++] = (char *)fus_role_name[verb == TOOL_SALVAGE ? !!(flags & TOOL_SLOW) : swapped];
	if (verb != TOOL_SALVAGE)
		word[a.n++] = (char *)fus_role_name[!swapped];
	if (verb == TOOL_REPAIR || verb == TOOL_RESTORE)
		a.opt[OPT_YES] = "";
	if (flags & TOOL_FORCE)
		a.opt[OPT_FORCE] = "";
	if (verb != TOOL_DUMP)
		a.opt[OPT_JSON] = "";
	run_verb(r, run[verb], &a, max_writes);
	if (fd >= 0)
		close(fd);
}

void tool_end(struct tool_result *r)
{
	free(r->out);
	free(r->err);
	r->out = NULL;
	r->err = NULL;
}

/* -- answers ----------------------------------------------------------------------- */

static u64 number(struct json_object *o, const char *a, const char *b)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, a, &v) && (!b || !json_object_object_get_ex(o, b, &v)))
		return 0;
	return json_object_get_uint64(v);
}

u64 tool_number(const struct tool_result *r, const char *key)
{
	struct json_object *o = json_tokener_parse(r->out);
	u64 n = number(o, key, NULL);

	json_object_put(o);
	return n;
}

u32 tool_ranges(const struct tool_result *r, const char *key, tool_range_fn fn, void *ctx)
{
	struct json_object *o = json_tokener_parse(r->out), *list, *one;
	size_t nr = 0, i;

	if (json_object_object_get_ex(o, key, &list))
		nr = json_object_array_length(list);
	for (i = 0; i < nr; i++) {
		one = json_object_array_get_idx(list, i);
		fn(ctx, number(one, "first_extent", "first_sector"),
		   number(one, "extents", "sectors"), number(one, "member_sector", NULL));
	}
	json_object_put(o);
	return nr;
}

static int touch(void *ctx, const struct meta_txn *t, const struct fusion_record *rec)
{
	bool *touched = ctx;

	(void)t;
	touched[rec->lext] = true;
	return 0;
}

void tool_touched(u64 blocknr, bool *touched, bool later)
{
	char *word[2] = { (char *)fus_role_name[FAST], (char *)fus_role_name[SLOW] };
	struct meta_journal j;
	struct meta meta;
	bool found = false;
	u32 i, k;

	if (fus_meta_open(2, word, false, &meta) || fus_journal_list(&meta, FAST, &j))
		sim_fail("the journal of a set that is well cannot be read");
	for (i = 0; i < j.nr; i++) {
		found &= later;
		for (k = 0; k < j.t[i].count; k++)
			found |= fusion_journal_blocknr(&meta.geo[FAST], j.t[i].seq + k) == blocknr;
		if (found)
			fus_journal_apply(&meta, FAST, &j.t[i], touch, touched);
	}
	fus_journal_free(&j);
	fus_meta_free(&meta);
}
