// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verbs create and format: check the two devices, and ask the one question. Every refusal comes
 * before the first byte is written; the order is from what is wrong in itself to what a person may
 * decide.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "activate.h"
#include "ask.h"
#include "backup.h"
#include "busy.h"
#include "device.h"
#include "dm.h"
#include "error.h"
#include "fusionctl.h"
#include "gpt.h"
#include "host.h"
#include "json.h"
#include "new-set.h"
#include "output.h"
#include "probe.h"
#include "program.h"
#include "record.h"
#include "role.h"
#include "scan.h"
#include "set-json.h"
#include "size.h"
#include "super.h"
#include "table.h"
#include "verb.h"
#include "write.h"
#include "dm-fusion-codec.h"

/* Label of a set that is formatted without one. */
#define DEFAULT_NAME	"fusion"

struct plan {
	const char *name;
	struct device dev[2];
	int fd[2];		/* exclusive */
	char content[2][CONTENT_TEXT];
	char mkfs[32];		/* a program, or "" */
	bool gpt_type;		/* mark members that are GPT partitions */
	unsigned int doubts;	/* bits of enum role_doubt */
	struct fusion_sb sb;	/* of the fast member */
};

/* Two devices in the order given; *settled if the user said which is which. */
static int get_devices(const struct args *a, const char *verb, struct device dev[2],
		       bool *settled)
{
	const char *path[2] = { a->opt[OPT_FAST], a->opt[OPT_SLOW] };
	int rc;

	*settled = path[FAST] && path[SLOW];
	if (!!path[FAST] != !!path[SLOW])
		return fus_fail(FC_USAGE, verb, "only one of --fast and --slow is given; give "
				"both, or name two devices");
	if (*settled && a->n > 1)
		return fus_fail(FC_USAGE, a->word[1], "is one device too many; a set has two "
				"members");
	if (!*settled && a->n != 3)
		return fus_fail(FC_USAGE, verb, "needs a name and two devices; see fusionctl help "
				"%s", verb);
	for (int i = 0; i < 2; i++) {
		rc = fus_device_get(path[i] ? path[i] : a->word[1 + i], &dev[i]);
		if (rc)
			return rc;
	}
	return new_set_check_devices(dev);
}

static int check_content(const struct args *a, struct plan *p, int i)
{
	bool found;
	int rc;

	rc = fus_probe_signature(&p->dev[i], &found, p->content[i], sizeof(p->content[i]));
	return rc ? rc : check_may_go(a, p->dev[i].path, p->content[i]);
}

static void show_devices(const struct plan *p)
{
	static const char *const headings[] = {
		"ROLE", "DEVICE", ">SIZE", "HARDWARE", "CONTENT", NULL
	};
	struct libscols_table *tb = table_new(headings);
	char size[SIZE_TEXT], ident[160];

	for (int i = 0; i < 2; i++) {
		const char *cells[] = {
			fus_role_name[i], p->dev[i].path,
				fus_size_text(size, p->dev[i].sectors << 9), ident,
				p->content[i][0] ? p->content[i] : "nothing known",
		};

		fus_device_ident(&p->dev[i], ident, sizeof(ident));
		table_row(tb, cells);
	}
	table_print(tb);
}

/* The plan, for both the real run and --dry-run. */
static void show(const struct plan *p, bool and_open, bool dry_run)
{
	uint64_t bytes = fusion_sb_sectors(&p->sb) << 9;
	const char *lead = dry_run ? "would give" : "then";
	char size[SIZE_TEXT], extent[SIZE_TEXT];

	show_devices(p);
	if (dry_run)
		printf("would erase both and make the set ");
	printf("%s%s %s, %u extents of %s\n", p->name, dry_run ? " of them," : ":",
	       fus_size_text(size, bytes), p->sb.nr_lexts,
	       fus_size_text(extent, (uint64_t)p->sb.extent_sectors << 9));
	if (p->sb.landing_slots)
		new_set_show_landing(&p->sb, p->sb.landing_slots);
	for (int i = 0; i < 2 && p->gpt_type; i++)
		if (fus_gpt_partition(&p->dev[i]))
			printf("%s the type of members %s the partition %s\n", lead,
			       dry_run ? "to" : "for", p->dev[i].path);
	if (dry_run && and_open)
		printf("would open it as /dev/mapper/%s\n", p->name);
	if (*p->mkfs)
		printf("%s %s on /dev/mapper/%s\n", dry_run ? "would run" : "then", p->mkfs,
		       p->name);
}

/* @open: it is, with a file system if that was @made. */
static void print_plan(struct plan *p, bool dry_run, bool open, bool made)
{
	const char *const path[2] = { p->dev[FAST].path, p->dev[SLOW].path };
	struct json_object *o = fus_json_base();
	struct fusion_sb sb = p->sb;

	/* each run would draw new ones */
	if (dry_run) {
		uuid_clear(sb.set_uuid);
		uuid_clear(sb.dev_uuid);
		uuid_clear(sb.peer_uuid);
	}
	fus_json_add_bool(o, "dry_run", dry_run);
	fus_json_add_set(o, p->name, open, &sb, path);
	fus_json_add_u64(o, "landing_bytes", (uint64_t)sb.landing_slots * sb.extent_sectors << 9);
	fus_json_add_contents(o, p->content);
	json_object_object_add(o, "warnings", new_set_doubts_json(p->doubts));
	fus_json_add_str(o, "file_system", made ? p->mkfs + strlen("mkfs.") : NULL);
	print_json(o, false);
}

static int ask(struct plan *p)
{
	const char *const path[2] = { p->dev[FAST].path, p->dev[SLOW].path };
	const struct question q = { p->name, "all data", "lost", "All data on", " will be lost" };

	return confirm_devices(&q, path, p->content);
}

/* Check that mkfs.TYPE is installed, if --mkfs is given. */
static int check_mkfs(struct plan *p, const char *type)
{
	if (!type)
		return 0;
	snprintf(p->mkfs, sizeof(p->mkfs), "mkfs.%s", type);
	if (strchr(type, '/') || strlen(type) >= sizeof(p->mkfs) - 5 ||
	    !fus_program_exists(p->mkfs))
		return fus_fail(FC_USAGE, "--mkfs", "there is no mkfs.%s on this system; install "
				"it, or leave the option out", type);
	return 0;
}

static int prepare(const struct args *a, struct plan *p, bool and_open)
{
	unsigned int version[3];
	bool found, settled;
	u32 extent_sectors = 0;
	int rc;

	rc = fus_check_name(p->name);
	if (!rc)
		rc = parse_extent_size(a->opt[OPT_EXTENT_SIZE], &extent_sectors);
	if (!rc)
		rc = check_mkfs(p, a->opt[OPT_MKFS]);
	if (!rc)
		rc = get_devices(a, and_open ? "create" : "format", p->dev, &settled);
	if (!rc && !settled)
		rc = new_set_roles(p->dev, a->opt[OPT_JSON],
				   "name them with --fast and --slow");
	if (!rc)
		rc = new_set_plan(p->name, p->dev, extent_sectors, a->opt[OPT_LANDING],
				  &p->sb);
	if (!rc)
		p->doubts = new_set_doubts(p->dev);
	if (!rc && and_open)
		rc = check_name_free(p->name);
	for (int i = 0; i < 2 && !rc; i++)
		rc = fus_device_claim(&p->dev[i], &p->fd[i]);
	for (int i = 0; i < 2 && !rc; i++)
		rc = check_content(a, p, i);
	p->gpt_type = a->opt[OPT_GPT_TYPE];
	if (!rc && p->gpt_type && !fus_gpt_partition(&p->dev[0]) && !fus_gpt_partition(&p->dev[1]))
		rc = fus_fail(FC_USAGE, "--gpt-type", "neither %s nor %s is a partition of a GPT; "
			      "leave it out", p->dev[0].path, p->dev[1].path);
	if (!rc && and_open)
		rc = fus_dm_target_version(true, version, &found);
	return rc;
}

/* If this fails, the set itself is still good. */
static int mark_types(const struct plan *p)
{
	int rc = 0, one;

	for (int i = 0; i < 2; i++) {
		one = fus_gpt_partition(&p->dev[i]) ? fus_gpt_mark_member(&p->dev[i]) : 0;
		rc = rc ? rc : one;
	}
	return rc;
}

/* The exclusive opens have to end before the kernel can have the devices. */
static void release(struct plan *p)
{
	for (int i = 0; i < 2; i++) {
		if (p->fd[i] >= 0)
			close(p->fd[i]);
		p->fd[i] = -1;
	}
}

/* The set is open, and stays so if that fails. */
static int make_file_system(const struct plan *p, bool json)
{
	const bool seen = isatty(STDOUT_FILENO) && !json;
	char path[160], said[256] = "see above";
	const char *const command[] = { p->mkfs, path, NULL };

	snprintf(path, sizeof(path), "/dev/mapper/%s", p->name);
	/* its output comes after ours */
	fflush(stdout);
	/* a waiting user sees the progress */
	if (seen ? fus_program_run(command, NULL, NULL) :
	    fus_program_say(command, said, sizeof(said)))
		return fus_fail(FC_FAILED, path, "is open, but %s failed: %s; make a file system "
				"on it by hand", p->mkfs, said);
	if (!json)
		printf("%s has made a file system on it\n", p->mkfs);
	return 0;
}

static int make_set(const struct args *a, bool and_open)
{
	struct plan p = { .name = a->n ? a->word[0] : DEFAULT_NAME, .fd = { -1, -1 } };
	bool json = a->opt[OPT_JSON], dry_run = a->opt[OPT_DRY_RUN], made;
	int rc, typed = 0, lock = -1;

	rc = check_no_question(a);
	if (rc)
		return rc;
	rc = prepare(a, &p, and_open);
	if (!rc && json && dry_run)
		print_plan(&p, true, false, *p.mkfs);
	else if (!rc && !json)
		show(&p, and_open, dry_run);
	if (!rc && !json)
		new_set_tell_doubts(p.name, p.dev, p.doubts);
	if (rc || dry_run)
		goto out;
	rc = a->opt[OPT_YES] ? 0 : ask(&p);
	if (!rc)
		rc = fus_host_watch_devices(p.dev, 2);
	if (!rc)
		rc = fus_write_set(p.dev, p.fd, &p.sb, &lock);
	release(&p);
	if (!rc)
		fus_backup_write(&p.sb);
	if (!rc)
		rc = new_set_finish(p.name, p.dev, and_open, json);
	made = !rc;
	if (made && p.gpt_type)
		typed = mark_types(&p);
	fus_run_unlock(&lock);
	if (!rc && *p.mkfs)
		rc = make_file_system(&p, json);
	if (made && json)
		print_plan(&p, false, and_open, *p.mkfs && !rc);
	rc = rc ? rc : typed;
out:
	release(&p);
	fus_device_put(&p.dev[0]);
	fus_device_put(&p.dev[1]);
	return rc;
}

int cmd_create(const struct args *a)
{
	return make_set(a, true);
}

int cmd_format(const struct args *a)
{
	return make_set(a, false);
}
