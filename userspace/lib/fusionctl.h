/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fusionctl: create, open, inspect and tune dm-fusion sets.
 *
 * main.c		verbs, options, help
 * message.c		errors, and what is printed for people
 * progress.c		how far something is that takes long
 * text.c		text from disks, made safe to print
 * output.c		standard output, and files to draw to
 * size.c		sizes, numbers and names as people write them
 * sysfs.c		block devices: what sysfs tells
 * device.c		block devices: what they are
 * busy.c		block devices: who uses them
 * probe.c		block devices: what is on them
 * gpt.c			types of partitions
 * role.c		which of two devices is the slow one
 * super.c		superblocks on a member
 * scan.c		members among all block devices
 * identify.c		verb probe: the member on a device
 * assemble.c		verb assemble: sets opened as their members come
 * record.c		what assembly remembers of members, and its lock
 * format.c		verbs create and format: what is allowed, and the question
 * write.c		the same: what is written
 * activate.c		verbs open and close
 * host.c		which machine this is
 * set-json.c		a set that was made or opened, as JSON
 * dm.c			device mapper
 * named.c		open sets, by any of their names
 * program.c		programs of the system
 * kmsg.c		the kernel's reason for a refusal
 * status-parse.c	the status line
 * status.c, list.c	verbs status and list
 * sets.c		the sets that there are, for list
 * rescued.c		what salvage has opened
 * unprivileged.c	verbs list and status without root
 * status-check.c	verb status for Nagios and its like
 * health.c		what is wrong with an open set, and a word for it
 * set.c			verb set; its parts are in setting.h
 * tell.c		messages to the kernel's target
 * nearest.c		the word that was meant
 * move.c		verbs promote and demote
 * checkpoint.c	verb checkpoint
 * check.c		verb check
 * dump.c		verb dump
 * restore.c		verb restore; its parts are in restore.h
 * repair.c		verb repair
 * salvage.c		verb salvage; its parts are in salvage.h, those of check to repair in meta.h
 * map.c		verb map: numbers and JSON
 * map-term.c		the map drawn in a terminal
 * map-svg.c		the map drawn to a file
 * whatif.c		verb whatif; its parts are in whatif.h
 * simulate.c		verb simulate; its parts are in sim.h
 * monitor.c		verb monitor; its parts are in monitor.h
 * doctor.c		verb doctor; its parts are in doctor.h
 *
 * A function that returns an int and is not said to do otherwise returns 0 or an
 * exit code (enum exit_code) after it has reported the error with fail().
 */
#ifndef FUSIONCTL_H
#define FUSIONCTL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define FUSIONCTL_VERSION	"0.1.0"
#define JSON_VERSION		1

enum exit_code {
	FC_OK		= 0,
	FC_FAILED	= 1,
	FC_USAGE	= 2,
	FC_REFUSED	= 3,	/* for safety; an option or an answer may allow it */
	FC_MEMBER	= 4,	/* wrong or missing member */
	FC_BUSY		= 5,
	FC_NO_MODULE	= 6,
	FC_DAMAGED	= 7,
};

/* Index of the members, in the format and in the kernel's interfaces. */
#define FAST	0
#define SLOW	1

extern const char *const role_name[2];

/* -- verbs.c ---------------------------------------------------------------- */

enum option_id {
	OPT_FAST,
	OPT_SLOW,
	OPT_FAST_SIZE,
	OPT_SLOW_SIZE,
	OPT_EXTENT_SIZE,
	OPT_YES,
	OPT_FORCE,
	OPT_DRY_RUN,
	OPT_JSON,
	OPT_WATCH,
	OPT_SVG,
	OPT_WIDTH,
	OPT_COLOR,
	OPT_VERBOSE,
	OPT_OUTPUT,
	OPT_STALE,
	OPT_ZERO,
	OPT_FILES,
	OPT_LOAD,
	OPT_TRACE,
	OPT_QD,
	OPT_DURATION,
	OPT_FILL,
	OPT_SEED,
	OPT_SET,
	OPT_DISK,
	OPT_PROFILE,
	OPT_NOW,
	OPT_UDEV,
	OPT_INCREMENTAL,
	OPT_SCAN,
	OPT_WAITING,
	OPT_ROOT,
	OPT_CHECK,
	OPT_FOLLOW,
	OPT_PROMETHEUS,
	OPT_USED_WITHIN,
	OPT_GPT_TYPE,
	OPT_MKFS,
	OPT_TAKE_OVER,
	OPT_BYTES,
	OPT_HELP,
	OPT_NR
};

#define OPT_BIT(x)	(1ull << OPT_##x)

#define MAX_MANY	32

/* What was given to a verb: NULL for an option that was not, "" for a flag that was. */
struct args {
	const char *opt[OPT_NR];
	/* those that may be given more than once, in their order; their opt[] has the last */
	struct {
		enum option_id id;
		const char *value;
	} many[MAX_MANY];
	unsigned int nr_many;
	int n;
	char **word;
};

struct option_info {
	const char *name;
	const char *arg;	/* NULL if it takes none, "[X]" if it may take one */
	const char *help;
};

extern const struct option_info options[OPT_NR];

/* What a verb works on; an open one is its first word, by any name or device, if it has any. */
enum set_kind { NO_SET, OPEN_SET, CLOSED_SET, ANY_SET };

struct verb {
	const char *name;
	const char *words;	/* synopsis */
	const char *summary;
	const char *example;
	int (*run)(const struct args *a);
	uint64_t opts;		/* OPT_BIT() of each */
	int min, max;		/* words */
	bool root;
	enum set_kind set;
};

extern const struct verb verbs[];
extern const size_t nr_verbs;
/* --help is one that every verb takes. */
bool takes_option(const struct verb *v, int option);

int cmd_create(const struct args *a);
int cmd_format(const struct args *a);
/* The argument of --extent-size, or NULL for the default, in sectors. Exit code. */
int parse_extent_size(const char *text, uint32_t *sectors);
int cmd_probe(const struct args *a);
int cmd_assemble(const struct args *a);
int cmd_open(const struct args *a);
int cmd_close(const struct args *a);
int cmd_list(const struct args *a);
int cmd_status(const struct args *a);
int cmd_set(const struct args *a);
int cmd_promote(const struct args *a);
int cmd_demote(const struct args *a);
int cmd_checkpoint(const struct args *a);
int cmd_map(const struct args *a);
int cmd_whatif(const struct args *a);
int cmd_check(const struct args *a);
int cmd_dump(const struct args *a);
int cmd_restore(const struct args *a);
int cmd_repair(const struct args *a);
int cmd_salvage(const struct args *a);
int cmd_wipe(const struct args *a);
int cmd_simulate(const struct args *a);
int cmd_monitor(const struct args *a);
int cmd_doctor(const struct args *a);
int cmd_complete(const struct args *a);
int cmd_version(const struct args *a);

/* -- message.c --------------------------------------------------------------- */

/*
 * Print "fusionctl: <thing>: <fmt ...>" as one line to stderr, whatever the arguments
 * contain, and return @rc. The text ends with "; " and the remedy.
 */
int fail(int rc, const char *thing, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for what is worth knowing and no reason to stop. */
void warn(const char *thing, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The last line of either, but for "fusionctl: ". */
const char *last_said(void);

/* Does what these say go to the kernel's log too, and so to the console? Not at first. */
void messages_to_kernel(bool on);

/* Can somebody be asked, and so told what is on the devices? */
bool may_ask(const struct args *a);

#define CONTENT_TEXT	512

/* Refuse what was recognised there, unless it is "", or with --force, or where one can be asked. */
int check_may_go(const struct args *a, const char *path, const char *content);
/* Append to a question what there is on the devices: ", with ext4 on /dev/sda and ...". */
void add_contents(char *question, size_t size, const char *const path[2],
		  char content[2][CONTENT_TEXT]);
/*
 * Ask on the terminal, by stderr: "<question>; type yes: ". Fails with FC_REFUSED, and without a
 * terminal too: "<nobody> and there is nobody to ask".
 */
int confirm(const char *thing, const char *nobody, const char *question);
/* With --json there is no place for that: fails unless there is --yes or --dry-run, too. */
int check_no_question(const struct args *a);

/* Does stdout understand escape sequences and UTF-8? */
enum color { COLOR_NONE, COLOR_256, COLOR_TRUE };
int color_mode(const char *when, enum color *mode);
bool utf8_output(void);
unsigned int terminal_width(void);

/* Write pretty-printed JSON and a newline; drops the object. */
struct json_object;
void print_json(struct json_object *o, bool one_line);
struct json_object *json_base(void);
void json_add_u64(struct json_object *o, const char *key, uint64_t v);
void json_add_str(struct json_object *o, const char *key, const char *v);
void json_add_bool(struct json_object *o, const char *key, bool v);

/* A table of libsmartcols that goes to stdout: "NAME" flush left, ">SIZE" flush right. */
struct libscols_table;
struct libscols_table *table_new(const char *const headings[]);
void table_row(struct libscols_table *tb, const char *const cells[]);
void table_print(struct libscols_table *tb);

/* -- text.c ------------------------------------------------------------------- */

/*
 * Copy text that may be anything, at most @len bytes and up to a NUL, so that it can be
 * printed: valid UTF-8 without controls; what is not becomes \xNN. Without @utf8 it is
 * plain ASCII. Cut where @buf ends. Returns @buf.
 */
char *safe_text(char *buf, size_t size, const char *from, size_t len, bool utf8);

/* -- size.c ------------------------------------------------------------------- */

#define SIZE_TEXT	24

/* "1.5G" for bytes; returns @buf. */
char *size_text(char buf[SIZE_TEXT], uint64_t bytes);
/* "64K", "1.5G", "4096": false if it is none or beyond 2^63. */
bool parse_size(const char *s, uint64_t *bytes);
/* Decimal digits and nothing else, up to @max. */
bool parse_number(const char *s, uint64_t max, uint64_t *v);
/* "7" or "7-9", extents below 2^28. */
bool parse_range(const char *s, uint64_t *first, uint64_t *last);

/* May a set be called this? Exit code FC_USAGE otherwise. */
int check_name(const char *name);
bool valid_name(const char *name);

/* -- sysfs.c ------------------------------------------------------------------- */

/* "8:1" */
bool parse_devno(const char *s, dev_t *devno);
/* Path of an attribute of a block device, or of a directory. */
void sysfs_path(dev_t devno, const char *attr, char *buf, size_t size);
/* Its value, without the newline. */
bool sysfs_read(dev_t devno, const char *attr, char *buf, size_t size);
bool sysfs_has(dev_t devno, const char *attr);
/* Is it a mapped device whose uuid begins so? */
bool sysfs_is_mapping(dev_t devno, const char *uuid_prefix);
/*
 * Of the block devices in the directory, "slaves" or "holders": is there one that @is?
 * Or any at all, if that is NULL.
 */
bool sysfs_any(dev_t devno, const char *dir_name, bool (*is)(dev_t devno, void *ctx), void *ctx);
/* The disk a partition is on; otherwise the device itself. */
dev_t sysfs_disk(dev_t devno);
/* "sda1", "dm-0", or "8:1" if it is gone. */
void sysfs_name(dev_t devno, char *buf, size_t size);

#define BLOCK_CLASS	"/sys/class/block"

/* Block devices to look for; what is NULL or 0 does not matter. */
struct block_match {
	const char *name;	/* pattern, as of a shell: "loop*" */
	const char *attr;	/* an attribute, or */
	const char *property;	/* what udev's database has, where that is */
	const char *value;	/* matches this pattern */
	dev_t disk;		/* only this one and its partitions */
};

struct udev_device;
/*
 * Is there one among those that @is? They are shown to it in the order of their names, until it
 * says so. 1, 0, or -errno.
 */
int block_any(const struct block_match *m, bool (*is)(struct udev_device *dev, void *ctx),
	      void *ctx);

/* -- device.c ------------------------------------------------------------------ */

#define IDENT_TEXT	64

struct device {
	const char *path;	/* as the user gave it, owned */
	dev_t devno;
	dev_t disk;		/* whole disk it is a partition of, or itself */
	dev_t base;		/* the one disk beneath partitions, loops and mappings */
	uint64_t sectors;
	unsigned int block_bytes;	/* of a logical block */
	bool read_only;
	int rotational;		/* 1, 0, or -1 if the kernel does not say */
	char model[IDENT_TEXT];	/* of what lies beneath partitions, loops and mappings */
	char serial[IDENT_TEXT];
	char backing[256];	/* file under a loop device, or "" */
};

int device_get(const char *path, struct device *dev);
void device_put(struct device *dev);
/* As open(), if the path (still) leads to that block device; ESTALE otherwise. */
int open_node(const char *path, dev_t devno, int flags);
int device_open(const struct device *dev, int flags);
/* Is it the same storage? */
bool device_same(const struct device *a, const struct device *b);
/* "Samsung SSD 860, serial S4EV" or "" */
void device_ident(const struct device *dev, char *buf, size_t size);

/* Path of its node, /dev/mapper/NAME for mappings. */
void device_node(dev_t devno, char *buf, size_t size);

/* -- busy.c -------------------------------------------------------------------- */

/* Say who uses a device, e.g. "is mounted on /home"; false if nobody is found. */
bool device_user(dev_t devno, char *buf, size_t size);
/* Has it only what salvage made of it, which reads? */
bool device_salvaged(dev_t devno);
/* As device_user(), of processes that have the device open. */
bool device_opener(dev_t devno, char *buf, size_t size);
/* The same for a file that a loop device stands on. */
bool file_user(dev_t dev, ino_t ino, char *buf, size_t size);
/* Fail with what these found, and its remedy. */
int fail_busy(const char *thing, const char *user);
/* It cannot be opened exclusively: fail, and say who has it if that is known. */
int device_refused(const char *path, dev_t devno);
/*
 * Open it for writing and keep everyone else out until *fd is closed; what is in use is refused
 * without appeal.
 */
int device_claim(const struct device *dev, int *fd);

/* -- probe.c -------------------------------------------------------------------- */

/*
 * Describe what is on the device in @buf: "ext4 (label home, uuid ...) at byte 1080".
 * *found is false if there is nothing that libblkid or we know.
 */
int probe_signature(const struct device *dev, bool *found, char *buf, size_t size);
/* The same of what others left there, in an image as well; closes @fd. */
int probe_foreign(const char *path, int fd, bool *found, char *buf, size_t size);
/* The same without a message: what can't be read is nobody's data. */
bool probe_cover(const char *path, dev_t devno, char *buf, size_t size);
/* What libblkid calls what is there; false if it knows nothing. *fs: that is a file system. */
bool probe_type(int fd, bool *fs, char *buf, size_t size);
/* Does it belong to a RAID (md, DRBD, firmware), by the signature of that? */
bool probe_raid(const char *path, dev_t devno);
/* Erase every signature that libblkid knows. */
int wipe_signatures(const struct device *dev, int fd);

/* -- role.c --------------------------------------------------------------------- */

/* What decides; apart from struct device so that it can be tested without disks. */
struct role_fact {
	uint64_t sectors;
	int rotational;
};

/*
 * Which of two is the slow one: 0 or 1, or -1 if the facts do not settle it.
 * @why says on what grounds.
 */
int choose_slow(const struct role_fact f[2], char *why, size_t size);

/* What may be a mistake about two members, of which f[FAST] is the fast one: bits. */
enum role_doubt {
	ROLE_FAST_ROTATES,	/* the fast member is a rotational disk */
	ROLE_FAST_LARGER,	/* and larger than the slow one */
	ROLE_ONE_DISK,		/* both are on one disk */
	NR_ROLE_DOUBTS
};

unsigned int role_doubts(const struct role_fact f[2], bool one_disk);

/* -- super.c -------------------------------------------------------------------- */

struct fusion_sb;
struct fusion_disk_ident;

enum member_state {
	MEMBER_NONE,		/* no superblock of ours */
	MEMBER_OK,
	MEMBER_DAMAGED,		/* ours, no copy is valid */
	MEMBER_UNKNOWN,		/* of a newer release, by at least one copy */
	MEMBER_SHRUNK,		/* valid, but the device is smaller now */
	MEMBER_COVERED,		/* what is left of ours lies beneath something else: scan.c */
};

/* A random number for an activation that the kernel does not begin. */
uint64_t super_new_activation(void);

/*
 * Read the newest valid superblock. With MEMBER_OK *sb is filled in and *why is NULL, or
 * says what is wrong with the other copy; with MEMBER_DAMAGED, MEMBER_UNKNOWN and
 * MEMBER_SHRUNK *why says why, perhaps in @text. Return: 0 or -errno of the read.
 */
#define SUPER_TEXT	160
int super_read(int fd, uint64_t sectors, enum member_state *state, struct fusion_sb *sb,
	       const char **why, char text[SUPER_TEXT]);

#define UUID_TEXT	37
char *uuid_text(char buf[UUID_TEXT], const unsigned char uuid[16]);
void ident_text(const struct fusion_disk_ident *id, uint64_t sectors, char *buf, size_t size);
/* "(Samsung SSD 860, serial S4EV)", or "-" */
void hardware_text(const struct fusion_disk_ident *id, char *buf, size_t size);
void ident_set(struct fusion_disk_ident *id, const struct device *dev);

/* -- scan.c ---------------------------------------------------------------------- */

struct member {
	struct member *next;
	char path[PATH_MAX];
	dev_t devno;
	uint64_t sectors;
	enum member_state state;
	const char *why;
	char why_text[SUPER_TEXT];	/* for @why */
	struct fusion_sb *sb;	/* of a covered one zeros, if no copy is valid */
	char *cover;		/* what lies over a covered one: "ext4 at byte 1080" */
};

/* Every block device with a superblock of ours; those it can't read are left out. */
int scan_members(struct member **list);
/* What is on one device; *m is NULL if that is no member. Return: 0 or -errno */
int member_at(dev_t devno, struct member **m);
/* Is it known which member it is? */
bool has_identity(const struct member *m);
/* Is it member @uuid of its set? */
bool member_is(const struct member *m, const unsigned char uuid[16]);
/* Is that the name or the uuid of its set? */
bool member_called(const struct member *m, const char *name);
/* Is one a mapping or the like over the other? */
bool member_stands_on(const struct member *upper, const struct member *lower);
/* Does another device of the list with the same identity stand on this one, e.g. on a path? */
bool under_another(const struct member *list, const struct member *m);
/* What to say of a covered one: "was the fast member of data and carries ext4 at byte 1080 now" */
void covered_text(const struct member *m, char *buf, size_t size);
/* Can it be used? */
int check_member(const struct member *m);
/* One given device; fails if it is no member that can be used. */
int load_member(const char *path, struct member **m);
void free_members(struct member *list);

/*
 * The one device that is member @uuid of a set, or NULL. Of devices stacked on each other,
 * e.g. the paths of a multipath device, it is the topmost; two that are not are an error.
 */
int find_member(struct member *list, const unsigned char uuid[16], struct member **m);

/* The topmost device of any member of the set of this name or uuid; fails if there is none. */
int find_named(struct member *list, const char *name, struct member **m);

/* -- write.c ------------------------------------------------------------------------ */

/*
 * Make a set of two devices that are opened at @fd, exclusively and for writing. Nothing
 * of them is a member before the last block is written, and then @lock is held, for assembly.
 * Reads everything back.
 */
int write_set(const struct device dev[2], const int fd[2], const struct fusion_sb *fast, int *lock);
/* Make a device that is opened at @fd, as above, no member of anything. */
int wipe_member(const struct device *dev, int fd);

/* -- list.c ----------------------------------------------------------------------------- */

/* "ok", "shrank" ... */
const char *member_state_text(const struct member *m);
/* What is known of it. */
struct json_object *found_json(const struct member *m);

/* -- identify.c ------------------------------------------------------------------------ */

/*
 * The member on a device, in whatever state; NULL if it is none, @content is then what else
 * is known of it, or "".
 */
int probe_member(const char *path, struct member **m, char *content, size_t size);
/* What a superblock knows of the other member. */
struct json_object *peer_json(const struct fusion_sb *sb);

/* -- record.c -------------------------------------------------------------------------- */

#define RUN_DIR		"/run/fusion"

/* Who has it keeps everyone else from opening sets, and from making members of devices. */
#define ASSEMBLY_LOCK	RUN_DIR "/lock"

/* Lock a file there; waits a minute. From then on there is the directory. Exit code. */
int run_lock(const char *path, int *lock);
void run_unlock(int *lock);
/* Remember which device is this member. */
int record_write(const struct member *m);
/*
 * The device remembered as a member of the set of @sb, or as any of that role if @dev_uuid is
 * NULL; *m is NULL if there is none that still is.
 */
void record_find(const struct fusion_sb *sb, int role, const unsigned char dev_uuid[16],
		 struct member **m);
/* Remember that the set was opened of these two; was it, with nothing plugged in since? */
void opened_write(const struct member *a, const struct member *b);
bool opened_before(const struct member *a, const struct member *b);

/* -- assemble.c ------------------------------------------------------------------------ */

/* Is "nofusion" on the kernel's command line? */
bool assembly_turned_off(void);
#define STAYS_TEXT	(SUPER_TEXT + 32)
/* Is it a member whose set is opened only if somebody asks for that? @why and *remedy say more. */
bool stays_closed(const struct member *m, char why[STAYS_TEXT], const char **remedy);
/* What to say of a member that names @used and is not named by it. */
void foreign_text(const struct member *m, const struct member *used, char *buf, size_t size);

/* -- activate.c --------------------------------------------------------------------- */

/*
 * Activate the set of these two members, in either order, as @name; with @take_over even if another
 * machine has it open. Unless @json is NULL it is told
 * of the set, by json_add_set().
 */
int open_set(const char *name, struct member *a, struct member *b, bool take_over,
	     struct json_object *json);
/* What to say of a set that lacks the other member: model, serial number, size of that. */
void missing_text(const struct member *m, char *buf, size_t size);
/* Fail if there is a mapped device of that name. What a killed fusionctl left does not count. */
int check_name_free(const char *name);
/*
 * The same, and remove that. Only with the assembly lock held: what somebody else is just about to
 * make looks alike.
 */
int free_name(const char *name);

/* -- host.c ------------------------------------------------------------------------- */

#define HOST_HEX	33

/* This machine's number; false and zeros if it has none. */
bool host_id(unsigned char id[16]);
/* As 32 hex digits; returns @buf. */
char *host_hex(char buf[HOST_HEX], const unsigned char id[16]);

#define HOST_TEXT	400

/*
 * May another machine have the set open? Then opening it takes @watch_ms and some seconds. In any
 * case @buf says which machine was the last to have it: "desk (4f..), which opened it at ...".
 */
bool host_holds(const struct member *fast, char *buf, size_t size, unsigned int *watch_ms);
/*
 * Before something is written to members: fails if another machine uses the set, as the heartbeat
 * of the fast member tells. @fd: of that, past the page cache. Waits only if that machine has not
 * closed it.
 */
int host_watch(const char *path, int fd, const struct fusion_sb *sb);
/* The same of the sets whose members these devices are, two at most, as far as it can be told. */
int host_watch_devices(const struct device *dev, int nr);
/* As host_holds() says it, by a superblock alone; false if that names none. */
bool host_text(const struct fusion_sb *sb, char *buf, size_t size);

#define HOST_SHORT	65

/* The machine that has the set: its name, or the begin of its number; "-" if it was closed. */
char *host_short(const struct fusion_sb *sb, char buf[HOST_SHORT]);
/* "host": the machine that has opened the set last; @sb may be NULL. */
void host_json(struct json_object *o, const struct fusion_sb *sb);

/* -- dm.c ----------------------------------------------------------------------------- */

#define DM_PREFIX	"FUSION-"
#define DM_SALVAGE_PREFIX "SALVAGE-"	/* of what salvage makes, */
#define STALE_SUFFIX	"-stale"	/* and behind that of older versions; of their names, too */

/* A line of a table; each begins where the one before ends. */
struct dm_line {
	uint64_t sectors;
	const char *target;
	const char *params;
};

struct mapping {
	struct mapping *next;
	char name[128];
	char uuid[130];
	dev_t devno;
	int open_count;
	bool exists;
	bool live;		/* has a table */
	bool suspended;
	uint64_t sectors;
	char target[32];	/* of its first table line */
	char *params;		/* rest of that line, or of the status */
};

enum mapping_info { MAPPING_INFO, MAPPING_TABLE, MAPPING_STATUS };

void dm_setup(void);
/* How long to wait for udev to make the links of a device; 30 s if nobody says so. */
void dm_udev_limit(unsigned int ms);
/* By name, or by uuid if name is NULL. */
int dm_get(const char *name, const char *uuid, enum mapping_info what, struct mapping *m);
void dm_put(struct mapping *m);
/* All that are sets of ours. */
int dm_list(enum mapping_info what, struct mapping **list);
/* All that salvage has made. */
int dm_list_rescued(struct mapping **list);
bool dm_is_rescued(const struct mapping *m);
/* Of such a one, the uuid of the set; is it the one of stale extents only? */
const char *dm_rescued_uuid(const struct mapping *m, char buf[UUID_TEXT], bool *stale);
void dm_free_list(struct mapping *list);
/* As dm_get(), but fails unless it is an open set of ours. */
int dm_get_set(const char *name, enum mapping_info what, struct mapping *m);
/* The same for one of a list, which may have been closed since: *found is false then. */
int dm_get_if_open(const char *name, enum mapping_info what, struct mapping *m, bool *found);

/* Is it a set, even one without a table? */
bool dm_is_set(const struct mapping *m);
/* The uuid of such a one, as text, within @m. */
const char *dm_set_uuid(const struct mapping *m);

/* Return 0 or -errno, without a message. */
int dm_create(const char *name, const char *uuid, const struct dm_line *line, size_t nr,
	      bool read_only);
int dm_remove(const char *name);

/* Send a message; the answer, if any, is to be freed. */
int dm_message(const char *name, const char *message, char **answer);
/* Version of the target in the kernel; loads the module if it has to. */
int dm_target_version(bool load, unsigned int version[3], bool *found);

/* -- named.c --------------------------------------------------------------------------- */

/*
 * What the open set is called that is meant by @word, which is a name that it keeps, its uuid, or
 * a device, its own or a member's; with @salvaged it may be one that salvage made. *found is false
 * if there is none, or if @word is the name of a mapped device itself.
 */
int open_name(const char *word, bool salvaged, char *name, size_t size, bool *found);
/* Of a closed set: "is closed; fusionctl open data opens it", or why that can't be; else false. */
bool closed_text(const char *name, char *buf, size_t size);
/* Fail: no such set is open. Says whether it is closed, or which one may have been meant. */
int fail_not_open(const char *name);

/* -- set-json.c ------------------------------------------------------------------------ */

/*
 * What a set is, of which @fast is the fast member's superblock, on which devices, and what its
 * own one is, if it is open. A uuid of zeros is null.
 */
void json_add_set(struct json_object *o, const char *name, bool open, const struct fusion_sb *fast,
		  const char *const path[2]);
/* After that: what was recognised on the devices; "" becomes null. */
void json_add_contents(struct json_object *o, char content[2][CONTENT_TEXT]);
/* Which one it is, of those that are open. */
void json_add_open(struct json_object *o, const struct mapping *m);

/* -- kmsg.c ------------------------------------------------------------------------------ */

/* Start listening; -1 if that is not possible, which kmsg_reason() copes with. */
int kmsg_open(void);
/* What the kernel said about fusion since; closes it. "" if nothing. */
void kmsg_reason(int fd, char *buf, size_t size);

/* -- gpt.c ---------------------------------------------------------------------------------- */

/* Is it a partition of a GPT? */
bool gpt_partition(const struct device *dev);
/* Give such a one the type of members. */
int gpt_mark_member(const struct device *dev);
/* Say so if what is a member no more still has that type; what it had before nobody knows. */
void gpt_tell_mark(const struct device *dev);

/* -- program.c --------------------------------------------------------------------------- */

/* Is there such a program of the system? */
bool program_exists(const char *name);
/*
 * Run it, by its name and arguments up to a NULL, and have each line that it prints; if @each is
 * NULL they go where ours do. Return: its exit status, 127 with a line about it if it is not there,
 * -1 if it was not run or was killed.
 */
int program_run(const char *const argv[], void (*each)(const char *line, void *ctx),
		void *ctx);

/* The same; only the last line that it prints, if any, is of interest. */
int program_say(const char *const argv[], char *buf, size_t size);

/* -- status-parse.c ----------------------------------------------------------------------- */

#define STATUS_VERSION		3
#define STATUS_MAX_OPTIONS	32

struct fusion_status {
	char mode[8];		/* rw, ro, fail */
	uint64_t extent_sectors;
	uint64_t used[2], total[2];
	uint64_t mapped, extents;
	uint64_t journal_used, journal_size;
	uint64_t reads[2], writes[2];
	uint64_t promotions, demotions, cancelled, in_flight;
	uint64_t open, quarantined;
	uint64_t commits, checkpoints, slow_flushes;
	uint64_t reserve_free, reserve;
	char replica[8];	/* ok, failed, - */
	uint64_t replica_dirty, replica_age;
	uint64_t errors[2];
	unsigned int nr_options;
	struct {
		char key[24];
		char value[24];
	} option[STATUS_MAX_OPTIONS];
	bool needs_check;
};

/*
 * Parse what follows "fusion " in the status line, strictly: Documentation/reference/target.rst.
 * Return: NULL, or what is wrong with it. Needs nothing else of fusionctl.
 */
const char *parse_status(const char *line, struct fusion_status *st);
/* The value of one of its options; NULL if the kernel's module has no such option. */
const char *status_option(const struct fusion_status *st, const char *key);

/* -- status.c ------------------------------------------------------------------------------- */

/* An open set as the verbs show it. */
struct set {
	struct mapping m;
	dev_t member[2];
	char host[HOST_HEX];	/* of the table: this machine's number, or "" */
	struct fusion_status st;
};

int set_get(const char *name, struct set *set);
/* The same for one of a list, which may have been closed since: *found is false then. */
int set_get_if_open(const char *name, struct set *set, bool *found);
void set_put(struct set *set);

/* -- rescued.c ------------------------------------------------------------------------------ */

/* What salvage has made of one member of a set. */
struct rescued {
	const struct mapping *m;
	char set_uuid[UUID_TEXT];
	bool stale;		/* of stale extents only */
	char label[128];	/* of the set, or "?" */
	char node[160];		/* of the member, or "" */
	int role;		/* of the member, or -1 */
	uint64_t bytes;
};

void rescued_get(const struct mapping *m, struct rescued *r);
struct json_object *rescued_json(const struct rescued *r);
/* A line for each of the list, of all or of that name. Return: how many. */
unsigned int rescued_print(const struct mapping *list, const char *name);
/* An array of the same. */
struct json_object *rescued_array(const struct mapping *list, const char *name);
/* Close the one of stale extents that goes with this one. Exit code. */
int rescued_close_stale(const struct mapping *m);

/* -- unprivileged.c ------------------------------------------------------------------------- */

/* What list and status can show without root. */
int list_unprivileged(bool json);
int status_unprivileged(const char *name, bool json, bool one_line);

/* -- status-check.c ------------------------------------------------------------------------- */

/* Print the line of a plugin, of all open sets if @name is NULL. Its exit status, 0 to 3. */
int status_check(const char *name);

/* -- health.c ------------------------------------------------------------------------------- */

enum health {
	HEALTH_OK,
	HEALTH_NOTE,		/* worth knowing; nothing to be done */
	HEALTH_WARNING,		/* to be put right before it matters */
	HEALTH_ERROR,		/* something does not work */
	NR_HEALTHS,
};

extern const char *const health_name[NR_HEALTHS];

typedef void (*health_fn)(void *ctx, enum health health, const char *text, const char *remedy);

/* Call @each, if any, for all that there is to say; @remedy may be NULL. Return: the worst. */
enum health set_health(const struct set *set, health_fn each, void *ctx);
/* Has the kernel lost this device, though somebody still uses it? */
bool device_gone(dev_t devno);

/* The health of a set in one word. */
enum condition {
	CONDITION_OK,		/* nothing to do */
	CONDITION_DEGRADED,	/* works, but something needs attention */
	CONDITION_FAILED,	/* does not work, or not for writing */
	CONDITION_MISSING,	/* a member is not there */
	NR_CONDITIONS,
};

extern const char *const condition_name[NR_CONDITIONS];

enum condition set_condition(const struct set *set);
/* The same; @buf gets the worst that there is to say, and the remedy, or "". */
enum condition set_condition_text(const struct set *set, char *buf, size_t size);
struct json_object *reason_json(enum health level, const char *text, const char *remedy);
/* "health", the word, and "reasons": all that there is to say. */
void condition_json(struct json_object *o, const struct set *set);

/* -- tell.c --------------------------------------------------------------------------------- */

/*
 * Send a message; the answer, if any, is to be freed. Says nothing: @reason is what the kernel
 * says if it does not like it.
 */
int send_message(const char *name, const char *msg, char **answer, char *reason, size_t size);
/* The same, and fails. */
int tell_set(const char *name, const char *msg, char **answer);

/* -- nearest.c ------------------------------------------------------------------------------ */

/* The one of these words that was likely meant by @word, or NULL. @nth(i) is NULL at the end. */
const char *nearest_word(const char *word, const char *(*nth)(unsigned int i));

/* -- setting.c; more in setting.h ------------------------------------------------------------ */

/* Help on each setting, or on those that are taken. */
void print_settings(bool (*takes)(const char *key));

/* -- simulate.c ----------------------------------------------------------------------------- */

/* Is this a key of a setting that changes something in a simulation? */
bool simulates_setting(const char *key);

/* -- profile.c ------------------------------------------------------------------------------ */

/* The profiles of set, one after the other; NULL after the last. */
const char *profile_name(unsigned int i);

/* -- output.c ------------------------------------------------------------------------------- */

/* Before anything is printed or opened. */
void output_begin(void);
/* At the end: was all of standard output written? Exit code. */
int output_end(void);

/* Where a stream writes to, and what came of it. */
struct sink {
	int fd;
	int err;		/* errno of the first write that failed */
	bool whole;		/* a file that still has its old content */
};

/* A file that is drawn to, or standard output. */
struct output {
	FILE *f;
	const char *path;
	struct sink sink;
	bool is_new;		/* the file was not there before */
};

/*
 * Open @path, or take standard output for "-". A verb does this before it works for long; a file
 * keeps its content until something is written. Exit code.
 */
int output_open(const char *path, struct output *o);
/* The same for a file that is open at @fd, which is closed at the end or if that fails. */
int output_take(int fd, const char *path, struct output *o);
/* Exit code, if not all of it could be written; standard output is seen to by output_end(). */
int output_close(struct output *o);
/* Nothing was written after all: a file that was made for it goes again. */
void output_cancel(struct output *o);

/* -- map.c ----------------------------------------------------------------------------------- */

#define MAP_MAX_CELLS	4096

struct cell {
	uint64_t first, count, fast, slow, mean, max;
};

struct heat_map {
	const char *name;
	uint64_t extents;
	uint64_t extent_bytes;
	unsigned int nr;
	uint64_t hottest;	/* largest mean of all cells */
	struct cell *cell;
};

/* Height of a cell's heat in 0..@steps: logarithmic, and not 0 if there is any. */
unsigned int heat_height(const struct heat_map *map, const struct cell *c, unsigned int steps);

#define CELL_TEXT	128

/* How much a cell is: "2M, 2 extents of 1M", or a range if they differ. Returns @buf. */
char *cell_text(const struct heat_map *map, char buf[CELL_TEXT]);

void map_draw(const struct heat_map *map, unsigned int width, enum color color);
void map_svg(const struct heat_map *map, unsigned int width, FILE *f);

#endif
