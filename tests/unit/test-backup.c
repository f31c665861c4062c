// SPDX-License-Identifier: GPL-2.0-only
/* Backups of the geometry: the file, the archive, and what is read back. */
#include <dirent.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "backup-dir.h"
#include "geometry.h"
#include "geometry-json.h"
#include "json.h"
#include "json-field.h"
#include "new-file.h"
#include "dm-fusion-settings.h"

#define SECTORS		(64U << 11)

static const struct json_source source = { "file", "use another one" };

/* Any set that format can make, with any text in it. */
static void any_set(u64 *seed, struct fusion_sb *sb)
{
	struct fusion_misfit misfit;
	u64 fast, slow;

	do {
		memset(sb, 0, sizeof(*sb));
		fast = rnd_log(seed, 1 << 16, 1ULL << 32);
		slow = rnd_log(seed, 1 << 16, 1ULL << 36);
	} while (fusion_sb_plan(sb, fast, slow, FUSION_MIN_EXTENT_SECTORS << rnd_below(seed, 9),
				&misfit));
	rnd_fill(seed, sb->set_uuid, 16);
	rnd_fill(seed, sb->dev_uuid, 16);
	rnd_fill(seed, sb->peer_uuid, 16);
	for (u64 i = rnd_below(seed, FUSION_LABEL_SIZE + 1); i-- > 0;)
		sb->label[i] = 1 + rnd_below(seed, 255);
	for (u64 i = rnd_below(seed, sizeof(sb->self.model) + 1); i-- > 0;)
		sb->self.model[i] = 1 + rnd_below(seed, 255);
	for (u64 i = rnd_below(seed, sizeof(sb->peer.serial) + 1); i-- > 0;)
		sb->peer.serial[i] = 1 + rnd_below(seed, 255);
	for (u64 i = rnd_below(seed, FUSION_SETTINGS); i-- > 0;)
		fusion_sb_keep(sb, i, true, fusion_setting_max(i, sb->nr_fast_slots));
	if (rnd_below(seed, 2))	/* of a newer release */
		fusion_sb_keep(sb, FUSION_NR_SETTINGS - 1, true, rnd(seed));
	sb->create_time = rnd_below(seed, 1ULL << 40);
	sb->layout_seq = rnd(seed);
}

static char *json_of(const struct fusion_sb *sb)
{
	struct json_object *o = fus_json_base();
	char *text;

	fus_geometry_json(o, sb);
	text = strdup(json_object_to_json_string(o));
	json_object_put(o);
	return text;
}

static int read_back(const char *text, struct fusion_sb *sb)
{
	struct json_object *o = json_tokener_parse(text);
	int rc;

	REQUIRE(o);
	rc = fus_geometry_parse(&source, o, sb);
	json_object_put(o);
	return rc;
}

/* Both superblocks of a set give the same text, and the text gives the geometry. */
static void test_round_trip(void)
{
	u64 seed = 1;

	for (int i = 0; i < 200; i++) {
		struct fusion_sb sb, slow, got;
		char *text, *other;

		any_set(&seed, &sb);
		fusion_sb_for_slow(&sb, &slow);
		text = json_of(&sb);
		other = json_of(&slow);
		REQUIRE(!strcmp(text, other), "%s\n%s", text, other);
		REQUIRE(!read_back(text, &got));
		free(other);
		REQUIRE(fusion_sb_same_member(&sb, &got));
		REQUIRE(!memcmp(sb.label, got.label, sizeof(sb.label)));
		REQUIRE(!memcmp(&sb.self, &got.self, sizeof(sb.self)));
		REQUIRE(!memcmp(&sb.peer, &got.peer, sizeof(sb.peer)));
		REQUIRE(!memcmp(sb.peer_uuid, got.peer_uuid, 16));
		REQUIRE_EQ(sb.create_time, got.create_time);
		REQUIRE(fusion_sb_same_kept(&sb, &got));
		REQUIRE_EQ(sb.layout_seq, got.layout_seq);
		other = json_of(&got);
		REQUIRE(!strcmp(text, other));
		free(other);
		free(text);
	}
}

/* A file in which any character is another one: refused, or a geometry that is possible. */
static void test_hostile(void)
{
	unsigned int refused = 0, taken = 0;
	struct fusion_sb sb, got;
	u64 seed = 2;

	any_set(&seed, &sb);
	for (int i = 0; i < 20000; i++) {
		char *text = json_of(&sb), *end = text + strlen(text);
		struct json_object *o;

		for (u64 n = 1 + rnd_below(&seed, 3); n; n--)
			text[rnd_below(&seed, end - text)] =
				"0123456789abcdef\"{}[],:-."[rnd_below(&seed, 25)];
		o = json_tokener_parse(text);
		if (!o || fus_geometry_parse(&source, o, &got)) {
			refused++;
		} else {
			taken++;
			REQUIRE(!geometry_wrong(&got), "%s", geometry_wrong(&got));
		}
		json_object_put(o);
		free(text);
	}
	REQUIRE(refused > 1000 && taken > 1000, "%u refused, %u taken", refused, taken);
}

/* -- the files ---------------------------------------------------------------------------- */

static unsigned int files_in(const char *sub, const char *end)
{
	char path[128];
	unsigned int n = 0;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s%s", fus_backup_dir, sub);
	d = opendir(path);
	while (d && (e = readdir(d)))
		n += strlen(e->d_name) > strlen(end) &&
		     !strcmp(e->d_name + strlen(e->d_name) - strlen(end), end);
	if (d)
		closedir(d);
	return n;
}

static void path_of(const struct fusion_sb *sb, char path[128])
{
	char uuid[UUID_STR_LEN];

	uuid_unparse_lower(sb->set_uuid, uuid);
	snprintf(path, 128, "%s/%s.json", fus_backup_dir, uuid);
}

/* Its inode, and so whether it was written again. */
static ino_t inode_of(const char *path)
{
	struct stat st;

	REQUIRE(!stat(path, &st), "%s", path);
	REQUIRE_EQ(st.st_mode & 07777, 0600);
	return st.st_ino;
}

static void relabel(struct fusion_sb *sb, unsigned int i)
{
	memset(sb->label, 0, sizeof(sb->label));
	snprintf(sb->label, sizeof(sb->label), "set%u", i);
}

static void test_written(void)
{
	struct fusion_sb sb, got;
	char path[128], old[160];
	u64 seed = 3;
	ino_t ino;

	backups_begin();
	any_set(&seed, &sb);
	sb.layout_seq = 0;
	relabel(&sb, 0);
	path_of(&sb, path);
	fus_backup_first(&sb, false);
	ino = inode_of(path);
	REQUIRE(!fus_backup_read(path, &got));
	REQUIRE(fusion_sb_same_member(&sb, &got));
	/* what ages does not count */
	sb.generation += 10;
	sb.epoch++;
	fus_backup_write(&sb);
	REQUIRE_EQ(inode_of(path), ino);
	/* settings change often, and would soon fill the archive */
	for (u32 duty = 1; duty < 20; duty++) {
		fusion_sb_keep(&sb, FUSION_SET_DUTY, true, duty);
		fus_backup_write(&sb);
		REQUIRE(!fus_backup_read(path, &got));
		REQUIRE(fusion_sb_same_kept(&sb, &got));
	}
	REQUIRE_EQ(files_in("/archive", ".json"), 0);
	/* one out of range has no effect, and is not in it */
	sb.setting[FUSION_SET_DUTY] = 101;
	fus_backup_write(&sb);
	REQUIRE(!fus_backup_read(path, &got) && !(got.settings_mask & BIT(FUSION_SET_DUTY)));
	ino = inode_of(path);
	for (unsigned int i = 1; i <= 15; i++) {
		relabel(&sb, i);
		fus_backup_first(&sb, false);
		REQUIRE_EQ(inode_of(path), ino);
		/* an interrupted process has left it */
		snprintf(old, sizeof(old), "%s/.%s.new", fus_backup_dir, strrchr(path, '/') + 1);
		close(open(old, O_CREAT | O_WRONLY, 0600));
		fus_backup_write(&sb);
		REQUIRE(inode_of(path) != ino);
		ino = inode_of(path);
		REQUIRE(!fus_backup_read(path, &got));
		REQUIRE(!strcmp(got.label, sb.label));
		REQUIRE_EQ(files_in("/archive", ".json"), min(i, 10U));
		REQUIRE_EQ(files_in("", ".new"), 0);
	}
	/* the last one before it has the highest number */
	snprintf(old, sizeof(old), "%s/archive/%.36s.15.json", fus_backup_dir,
		 strrchr(path, '/') + 1);
	REQUIRE(!fus_backup_read(old, &got));
	REQUIRE(!strcmp(got.label, "set14"), "%s", got.label);
	snprintf(old, sizeof(old), "%s/archive/%.36s.5.json", fus_backup_dir,
		 strrchr(path, '/') + 1);
	REQUIRE(access(old, F_OK));
	/* a set that has grown may have done so without its backup */
	sb.layout_seq = 1;
	fus_backup_first(&sb, false);
	REQUIRE(inode_of(path) != ino);
	ino = inode_of(path);
	fus_backup_first(&sb, false);
	REQUIRE_EQ(inode_of(path), ino);
	REQUIRE(!*said, "%s", said);
	backups_end();
}

/* Nothing fails, one line says so, and the old file is there still. */
static void test_not_written(void)
{
	const struct rlimit none = { 0, RLIM_INFINITY }, any = { RLIM_INFINITY, RLIM_INFINITY };
	struct fusion_sb sb, got;
	char path[128], file[160];
	const char *dir;
	u64 seed = 4;

	backups_begin();
	any_set(&seed, &sb);
	relabel(&sb, 1);
	path_of(&sb, path);
	fus_backup_write(&sb);
	REQUIRE(!*said, "%s", said);

	/* a full disk */
	relabel(&sb, 2);
	signal(SIGXFSZ, SIG_IGN);
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &none));
	fus_backup_write(&sb);
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &any));
	REQUIRE(strstr(said, "cannot write the backup of the geometry: File too large"), "%s",
		said);
	REQUIRE(!strchr(said, '\n'), "%s", said);
	REQUIRE(!fus_backup_read(path, &got) && !strcmp(got.label, "set1"), "%s", got.label);
	REQUIRE_EQ(files_in("", ".new"), 0);

	/* no directory */
	*said = 0;
	snprintf(file, sizeof(file), "%s/file/backup", fus_backup_dir);
	dir = fus_backup_dir;
	snprintf(path, sizeof(path), "%s/file", fus_backup_dir);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	fus_backup_dir = file;
	fus_backup_first(&sb, true);
	REQUIRE(!*said, "%s", said);
	fus_backup_first(&sb, false);
	REQUIRE(strstr(said, "Not a directory"), "%s", said);
	fus_backup_dir = dir;

	/* something else in its place stays */
	*said = 0;
	path_of(&sb, path);
	REQUIRE(!truncate(path, 1 << 20));
	fus_backup_write(&sb);
	REQUIRE(strstr(said, "File too large"), "%s", said);
	backups_end();
}

static bool count(void *ctx, const char *path, const struct fusion_sb *sb)
{
	(void)path;
	REQUIRE(!geometry_wrong(sb));
	++*(unsigned int *)ctx;
	return false;
}

/* What is no backup is left out, and hinders nothing. */
static void test_found(void)
{
	unsigned int n = 0;
	struct fusion_sb sb;
	char path[128];
	u64 seed = 5;
	int fd;

	backups_begin();
	for (int i = 0; i < 3; i++) {
		any_set(&seed, &sb);
		fus_backup_write(&sb);
		relabel(&sb, i);
		fus_backup_write(&sb);
	}
	REQUIRE(!fus_backup_find(count, &n));
	REQUIRE_EQ(n, 3);
	REQUIRE(!*said, "%s", said);
	snprintf(path, sizeof(path), "%s/fifo.json", fus_backup_dir);
	REQUIRE(!mkfifo(path, 0600));
	snprintf(path, sizeof(path), "%s/text.json", fus_backup_dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	REQUIRE(write(fd, "{}", 2) == 2);
	close(fd);
	snprintf(path, sizeof(path), "%s/other.txt", fus_backup_dir);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	n = 0;
	REQUIRE(!fus_backup_find(count, &n));
	REQUIRE_EQ(n, 3);
	REQUIRE(strstr(said, "fifo.json: is not a file"), "%s", said);
	REQUIRE(strstr(said, "text.json: content: is neither a backup nor a dump"), "%s", said);
	backups_end();
}

static const struct unit_test tests[] = {
	{ "identity and geometry come back", test_round_trip },
	{ "hostile files", test_hostile },
	{ "written only if changed, ten older ones", test_written },
	{ "a backup that cannot be written", test_not_written },
	{ "backups that are found", test_found },
};

UNIT_TESTS(tests);
