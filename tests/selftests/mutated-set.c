// SPDX-License-Identifier: GPL-2.0-only
/* fusion-mutated: the set as a mapping. It is opened, asked, read as a whole, and closed. */
#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mutated.h"

/* -- device mapper ------------------------------------------------------------------ */

/* Return: 0 or -errno. */
static int request(int type, u64 sectors, const char *text)
{
	struct dm_task *task = dm_task_create(type);
	int err = 0;

	if (!task || !dm_task_set_name(task, NAME))
		die("libdevmapper");
	if (type == DM_DEVICE_RELOAD &&
	    (!dm_task_add_target(task, 0, sectors, "fusion", text) ||
	     (trial.read_only && !dm_task_set_ro(task))))
		die("libdevmapper");
	if (type == DM_DEVICE_TARGET_MSG &&
	    (!dm_task_set_message(task, text) || !dm_task_set_sector(task, 0)))
		die("libdevmapper");
	if (!dm_task_run(task))
		err = dm_task_get_errno(task) ? -dm_task_get_errno(task) : -EIO;
	dm_task_destroy(task);
	dm_task_update_nodes();
	return err;
}

void say(const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	request(DM_DEVICE_TARGET_MSG, 0, text);
}

bool in_order(void)
{
	struct dm_task *task = dm_task_create(DM_DEVICE_STATUS);
	char *target, *params = NULL;
	uint64_t start, length;
	char mode[8];

	if (!task || !dm_task_set_name(task, NAME) || !dm_task_run(task))
		bad("no status");
	dm_get_next_target(task, NULL, &start, &length, &target, &params);
	if (!params || sscanf(params, "%*u %7s", mode) != 1)
		bad("status: %s", params ? params : "none");
	dm_task_destroy(task);
	return !strcmp(mode, "rw");
}

/* -- the set ------------------------------------------------------------------------ */

void find_super(const struct image *im)
{
	struct fusion_sb sb;
	const char *why;
	bool found = false;

	trial.sb = trial.base->im.sb[FUSION_FAST];
	for (int copy = 0; copy < 2; copy++) {
		const u64 blocknr = FUSION_SUPER_BLOCKNR(copy);

		if (!fusion_sb_unpack(im->mem[FUSION_FAST] + blocknr * BLOCK, blocknr,
				      member_size[FUSION_FAST] / 512, &sb, &why) &&
		    (!found || sb.generation > trial.sb.generation)) {
			trial.sb = sb;
			found = true;
		}
	}
}

size_t extent_bytes(void)
{
	return trial.sb.extent_sectors * 512UL;
}

void close_set(void)
{
	int err;

	if (trial.fd >= 0)
		close(trial.fd);
	trial.fd = -1;
	err = request(DM_DEVICE_REMOVE, 0, NULL);
	if (err)
		bad("it cannot be removed: %s", strerror(-err));
}

static int open_node(void)
{
	u64 bytes = 0;

	trial.fd = open("/dev/mapper/" NAME,
			(trial.read_only ? O_RDONLY : O_RDWR) | O_DIRECT | O_CLOEXEC);
	if (trial.fd < 0 || ioctl(trial.fd, BLKGETSIZE64, &bytes))
		bad("no node: %s", strerror(errno));
	trial.size = bytes;
	return 0;
}

int open_direct(bool late)
{
	char params[256];
	const u64 sectors = (u64)trial.sb.nr_lexts * trial.sb.extent_sectors;
	int err;

	snprintf(params, sizeof(params), "%s %s 2 idle 0", member[FUSION_FAST],
		 member[FUSION_SLOW]);
	err = request(DM_DEVICE_CREATE, 0, NULL);
	if (err)
		bad("no device: %s", strerror(-err));
	err = request(DM_DEVICE_RELOAD, sectors, params);
	if (late && err)
		bad("refused before it was mutated: %s", strerror(-err));
	if (late)
		write_mutated();
	if (!err)
		err = request(DM_DEVICE_RESUME, 0, NULL);
	if (err)
		close_set();
	return err ? err : open_node();
}

int open_by_tool(void)
{
	int out[2], status = 0;
	char said[4096] = "";
	bool spoke = false;
	ssize_t n;
	pid_t pid;

	if (pipe(out))
		die("pipe");
	pid = fork();
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
		close(out[0]);
		execlp("fusionctl", "fusionctl", "open", NAME, member[FUSION_FAST],
		       member[FUSION_SLOW], NULL);
		_exit(127);
	}
	close(out[1]);
	/* to the end: the writer would die of a pipe without a reader */
	while ((n = read(out[0], said, sizeof(said) - 1)) > 0)
		spoke = true;
	close(out[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("fusionctl");
	count.tool++;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return open_node();
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 7)
		bad("fusionctl open: status %x: %s", status, said);
	if (!spoke)
		bad("fusionctl open refuses and does not say why");
	return -1;
}

void read_all(const struct bytes *want, const u8 *loose, struct bytes *keep, const char *when)
{
	for (size_t at = 0; at < trial.size; at += BLOCK) {
		const u8 *got = trial.buf + at % CHUNK;

		if (!(at % CHUNK) && pread(trial.fd, trial.buf, CHUNK, at) != CHUNK) {
			for (size_t b = 0; b < CHUNK; b += BLOCK) {
				if (pread(trial.fd, trial.buf + b, BLOCK, at + b) == BLOCK)
					continue;
				trial.unknown[(at + b) / BLOCK] = 1;
				count.lost++;
			}
		}
		if (trial.unknown[at / BLOCK])
			continue;
		if (want && memcmp(bytes_at(want, at), got, BLOCK) &&
		    !(loose && loose[at / extent_bytes()]))
			bad("%s block %zu of the set (extent %zu) is not what it was", when,
			    at / BLOCK, at / extent_bytes());
		if (keep)
			bytes_put(keep, at, got, BLOCK);
	}
}
