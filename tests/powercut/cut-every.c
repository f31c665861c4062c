// SPDX-License-Identifier: GPL-2.0-only
/*
 * cut-every: cut the power at every single command of a short scenario, and at every
 * command of the recovery from that.
 *
 *	scenario		commands cut: those of
 *	open			opening a set that was closed cleanly
 *	allocate		first writes, with and without FUA, a flush
 *	stable			writes that complete partial extents, a flush
 *	overwrite		writes to stable extents on both members, a flush
 *	promote, demote		a migration of two extents
 *	discard			discards of whole extents, a flush, writes to freed slots
 *	checkpoint		a checkpoint with something to write
 *	close			closing with unflushed data
 *	land, part, drain, merge, copies
 *				with a landing log: small writes, parts of blocks, a drain, a
 *				promotion of extents with blocks in the log, copies of reads
 *	create			formatting two blank disks, or
 *	recreate		two members of another set, and the first open
 *
 * Each scenario begins with the same content of both disks. Each cut is made three times: all
 * unflushed data is lost, all of it is kept, or it is torn at random. With -q each cut is made
 * once, with these fates in turn. LANDING is the size of a landing log; without it there is none.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cut-every.h"
#include "../selftests/stamp.h"

#define NR_FATES	3

static const char *const fates[NR_FATES] = { "drop", "keep", "torn" };
static const char *const quiet[] = {
	"migration", "off", "commit_interval", "60000", "idle", "60000", NULL
};

/* Saved states, of the disks by the switch and of the model. */
enum { BASE, AFTER_CUT, EMPTY };

static unsigned int cuts, nested;
static bool quick;		/* each cut with one fate instead of all */

/* -- what is the same for all ---------------------------------------------------- */

/* In round @f of all fates, or in the only one. */
static const char *fate_of(unsigned int f, unsigned int n)
{
	return fates[quick ? n % NR_FATES : f];
}

/* Has the replica been written, which is the last of an opening, in the background? */
static bool replica_is_written(void)
{
	static const char key[] = "replica_sets ";
	char *stats, *line;
	bool written;

	if (set_message(&stats, "stats"))
		return false;
	line = strstr(stats, key);
	written = line && atoll(line + strlen(key)) > 0;
	free(stats);
	return written;
}

static bool open_set(void)
{
	int err = set_open(quiet);

	for (int i = 0; !err && i < 1000 && power_is_on() && !replica_is_written(); i++)
		usleep(10000);
	stamp.fd = rig.fd;
	if (err && power_is_on())
		fprintf(stderr, "cut-every: the set does not open: %s\n", strerror(-err));
	return !err;
}

static bool verify(void)
{
	stamp.nr_threads = 1;
	stamp.max_io = 128;
	return stamp_do(STAMP_VERIFY) == STAMP_OK;
}

static void power_off(void)
{
	power("arm 0");
	power("fate keep");
	power("cut");
}

static void start_from(unsigned int nr)
{
	power("load %u", nr);
	power("restore");
}

/*
 * Recover, with a cut at command @m. Return: 0: wrong; 1: recovered correctly; 2: the same, and
 * there was no command @m any more.
 */
static int recover(unsigned int m, const char *fate)
{
	bool well, cut;

	start_from(AFTER_CUT);
	stamp_go_back(AFTER_CUT);
	power("fate %s", fate);
	power("arm %u", m);
	well = open_set();
	cut = !power_is_on();
	if (cut) {
		if (well)
			set_close();
		nested++;
		power("restore");
		well = open_set();
	}
	power("arm 0");
	if (well) {
		well = verify();
		set_close();
	}
	power_off();
	return !well ? 0 : cut ? 1 : 2;
}

static bool recover_cut_everywhere(const char *fate)
{
	int r = 1;

	for (unsigned int m = 1; r == 1; m++) {
		r = recover(m, fate);
		if (!r)
			fprintf(stderr, "cut-every: in the recovery, cut at its command %u\n", m);
	}
	return r;
}

/* Return: 0: wrong; 1: correct; 2: the same, and there was no command @n any more. */
static int cut_at(const struct scenario *s, unsigned int n, const char *fate)
{
	bool opened = true, ok, cut;

	start_from(BASE);
	stamp_go_back(BASE);
	power("seed %u", n);
	power("fate %s", fate);
	if (s->act)
		opened = open_set();
	if (!opened)
		return 0;
	power("arm %u", n);
	ok = s->act ? s->act() : open_set();
	cut = !power_is_on();
	if (!ok && !cut) {
		fprintf(stderr, "cut-every: it fails, but the power is on\n");
		return 0;
	}
	if (!cut)
		power("cut");
	cuts++;
	if (rig.fd >= 0)
		set_close();
	power("save %u", AFTER_CUT);
	stamp_keep(AFTER_CUT);
	return !recover_cut_everywhere(fate) ? 0 : cut ? 1 : 2;
}

static bool cut_everywhere(const struct scenario *s)
{
	unsigned int before = cuts, nested_before = nested, n;

	for (unsigned int f = 0; f < (quick ? 1 : NR_FATES); f++) {
		int r = 1;

		for (n = 1; r == 1; n++)
			r = cut_at(s, n, fate_of(f, n));
		if (!r) {
			fprintf(stderr, "cut-every: %s: wrong after a cut at command %u, fate %s\n",
				s->name, n - 1, fate_of(f, n - 1));
			return false;
		}
	}
	printf("%s: %u cuts, %u in recoveries\n", s->name, cuts - before, nested - nested_before);
	fflush(stdout);
	return true;
}

/* -- creation --------------------------------------------------------------- */

static bool format(void)
{
	const char *landing = getenv("LANDING");
	char fast[80], slow[80];
	int status;
	pid_t pid;

	snprintf(fast, sizeof(fast), "/dev/mapper/%s", rig.fast);
	snprintf(slow, sizeof(slow), "/dev/mapper/%s", rig.slow);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execlp("fusionctl", "fusionctl", "format", "--yes", "--force", "--fast", fast,
		       "--slow", slow, "--extent-size", "64K",
		       landing ? "--landing" : NULL, landing, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		die("cannot start fusionctl: %s", strerror(errno));
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool create(void)
{
	return format() && set_find() && open_set();
}

/* That there is none is no news. */
static bool find_quietly(void)
{
	int err = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
	bool found;

	dup2(null, STDERR_FILENO);
	found = set_find();
	dup2(err, STDERR_FILENO);
	close(null);
	close(err);
	return found;
}

/*
 * In any state: a set opens and is the new one, which is empty, or the old one; or it is refused,
 * unless the format is complete.
 */
static bool judge_created(bool complete, const char *old_uuid)
{
	bool opened = find_quietly() && open_set();
	bool well;

	if (!opened)
		return !complete;
	stamp_go_back(!strcmp(rig.uuid, old_uuid) ? BASE : EMPTY);
	well = verify();
	set_close();
	return well;
}

static int create_cut_at(unsigned int n, const char *fate, const char *old_uuid)
{
	bool cut, complete, well;

	start_from(BASE);
	power("seed %u", n);
	power("fate %s", fate);
	power("arm %u", n);
	complete = format();
	if (complete)
		complete = set_find();
	if (complete && !open_set())
		complete = !power_is_on();
	cut = !power_is_on();
	if (rig.fd >= 0)
		set_close();
	if (!complete && !cut) {
		fprintf(stderr, "cut-every: it fails, but the power is on\n");
		return 0;
	}
	cuts += cut;
	power("arm 0");
	power("restore");
	well = judge_created(complete, old_uuid);
	/* in any state it can be formatted */
	if (well && create()) {
		stamp_go_back(EMPTY);
		well = verify();
		set_close();
	} else {
		well = false;
	}
	power_off();
	return !well ? 0 : cut ? 1 : 2;
}

static bool create_cut_everywhere(const char *name, const char *old_uuid)
{
	unsigned int before = cuts, n;

	for (unsigned int f = 0; f < (quick ? 1 : NR_FATES); f++) {
		int r = 1;

		for (n = 1; r == 1; n++)
			r = create_cut_at(n, fate_of(f, n), old_uuid);
		if (!r) {
			fprintf(stderr, "cut-every: %s: wrong after a cut at command %u, fate %s\n",
				name, n - 1, fate_of(f, n - 1));
			return false;
		}
	}
	printf("%s: %u cuts\n", name, cuts - before);
	fflush(stdout);
	return true;
}

/* -- main --------------------------------------------------------------------- */

/* Without entropy, drawing a UUID takes 3 s in a VM. This needs none. */
static void pretend_entropy(void)
{
	/* struct rand_pool_info: bits of entropy, bytes, and the bytes */
	__u32 pool[2 + 16] = { 512, 64 };
	int fd = open("/dev/random", O_WRONLY);

	if (fd < 0 || ioctl(fd, RNDADDENTROPY, pool))
		die("/dev/random: %s", strerror(errno));
	close(fd);
}

static bool begin(void)
{
	pretend_entropy();
	power("lie none");
	power("cut");
	power("save %u", BASE);
	power("restore");
	if (!create())
		return false;
	stamp.dev = rig.name;
	stamp.extent_sectors = rig.extent_sectors;
	stamp.power_cut = true;
	if (!stamp_state(NULL, true, 1, 0, at(VERIFIED)))
		return false;
	stamp_keep(EMPTY);
	set_close();
	power_off();
	return true;
}

static bool begin_content(void)
{
	start_from(BASE);
	stamp_go_back(EMPTY);
	if (!create() || !populate())
		return false;
	set_close();
	power_off();
	power("save %u", BASE);
	stamp_keep(BASE);
	return true;
}

static bool known(const char *name)
{
	const struct scenario *s;

	for (s = scenarios; s->name; s++)
		if (!strcmp(name, s->name))
			return true;
	for (s = log_scenarios; rig.log_slots && s->name; s++)
		if (!strcmp(name, s->name))
			return true;
	return !strcmp(name, "create") || !strcmp(name, "recreate");
}

static bool wanted(int argc, char **argv, const char *name)
{
	bool found = optind >= argc;

	for (int i = optind; i < argc; i++)
		found |= !strcmp(argv[i], name);
	return found;
}

int main(int argc, char **argv)
{
	char old_uuid[sizeof(rig.uuid)];
	bool well = true;
	int c;

	rig.program = "cut-every";
	stamp.program = "cut-every";
	while ((c = getopt(argc, argv, "q")) != -1) {
		if (c != 'q') {
			fprintf(stderr, "usage: cut-every [-q] [SCENARIO]...\n");
			return POWER_BROKEN;
		}
		quick = true;
	}
	if (!begin())
		die("cannot begin");
	for (int i = optind; i < argc; i++)
		if (!known(argv[i]))
			die("%s: no such scenario with this set", argv[i]);
	if (wanted(argc, argv, "create"))
		well = create_cut_everywhere("create", "");
	if (!begin_content())
		die("cannot write the content to begin with");
	strcpy(old_uuid, rig.uuid);
	for (const struct scenario *s = scenarios; well && s->name; s++)
		if (wanted(argc, argv, s->name))
			well = cut_everywhere(s);
	for (const struct scenario *s = log_scenarios; well && rig.log_slots && s->name; s++)
		if (wanted(argc, argv, s->name))
			well = cut_everywhere(s);
	if (well && wanted(argc, argv, "recreate"))
		well = create_cut_everywhere("recreate", old_uuid);
	printf("%u cuts, %u of recoveries\n", cuts, nested);
	return well ? POWER_OK : POWER_LOSS;
}
