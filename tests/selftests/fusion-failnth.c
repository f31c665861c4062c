// SPDX-License-Identifier: GPL-2.0-only
/*
 * Let the first, the second, the third ... allocation of a request to the device mapper fail, one
 * for each request, until a request succeeds without a failure (/proc/self/fail-nth, of a kernel
 * with FAULT_INJECTION and FAILSLAB).
 *
 * Exit status: 0 every request failed cleanly or succeeded; 1 not; 2 usage; 4 this kernel cannot do
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm-quiet.h"

/* More allocations than any request makes. */
#define MAX_NTH		5000

static const char fail_nth[] = "/proc/self/fail-nth";

static int fail_nth_fd;

/* Arm or disarm, without a call that allocates. Return: the rest of the previous count. */
static int arm(int nth)
{
	char text[16];
	ssize_t n = pread(fail_nth_fd, text, sizeof(text) - 1, 0);
	int left = -1;

	if (n > 0) {
		text[n] = 0;
		left = atoi(text);
	}
	n = snprintf(text, sizeof(text), "%d", nth);
	if (left < 0 || pwrite(fail_nth_fd, text, n, 0) != n) {
		perror(fail_nth);
		exit(1);
	}
	return left;
}

/* One request; 0 or -errno. With @nth its n-th allocation fails; *reached: there was one. */
static int request(int type, const char *name, const char *text, int nth, bool *reached)
{
	struct dm_task *task = dm_task_create(type);
	unsigned long long sectors = 0;
	char target[16];
	int at = 0, err = 0;

	if (!task || !dm_task_set_name(task, name))
		exit(1);
	if (type == DM_DEVICE_RELOAD) {
		if (sscanf(text, "0 %llu %15s %n", &sectors, target, &at) != 2 || !at ||
		    !dm_task_add_target(task, 0, sectors, target, text + at))
			exit(2);
	}
	if (type == DM_DEVICE_TARGET_MSG &&
	    (!dm_task_set_message(task, text) || !dm_task_set_sector(task, 0)))
		exit(2);
	if (nth)
		arm(nth);
	if (!dm_task_run(task))
		err = dm_task_get_errno(task) ? -dm_task_get_errno(task) : -EIO;
	if (nth)
		*reached = !arm(0);
	dm_task_destroy(task);
	return err;
}

static void must(int type, const char *name, const char *text)
{
	const int err = request(type, name, text, 0, NULL);

	if (!err)
		return;
	printf("# request %d of %s without a failure: %s\n", type, name, strerror(-err));
	exit(1);
}

int main(int argc, char **argv)
{
	int type, nth, err, failed = 0;
	const char *name, *text;
	bool reached = true;

	if (argc != 4)
		goto usage;
	name = argv[2];
	text = argv[3];
	if (!strcmp(argv[1], "load"))
		type = DM_DEVICE_RELOAD;
	else if (!strcmp(argv[1], "resume"))
		type = DM_DEVICE_RESUME;
	else if (!strcmp(argv[1], "message"))
		type = DM_DEVICE_TARGET_MSG;
	else
		goto usage;
	dm_log_with_errno_init(dm_quiet);
	fail_nth_fd = open(fail_nth, O_RDWR | O_CLOEXEC);
	if (fail_nth_fd < 0) {
		printf("# no %s here\n", fail_nth);
		return 4;
	}

	for (nth = 1; reached; nth++) {
		if (nth > MAX_NTH) {
			printf("# still failing at allocation %d\n", nth);
			return 1;
		}
		/* load and resume each begin with a device that has no table */
		if (type != DM_DEVICE_TARGET_MSG)
			must(DM_DEVICE_CREATE, name, NULL);
		if (type == DM_DEVICE_RESUME)
			must(DM_DEVICE_RELOAD, name, text);
		err = request(type, name, text, nth, &reached);
		if (err)
			failed++;
		if (err && !reached) {
			printf("# failed although no allocation did: %s\n", strerror(-err));
			return 1;
		}
		if (type != DM_DEVICE_TARGET_MSG)
			must(DM_DEVICE_REMOVE, name, NULL);
	}
	printf("# %s: %d allocations, %d requests failed\n", argv[1], nth - 2, failed);
	/* without any failure the test proves nothing */
	return type != DM_DEVICE_TARGET_MSG && !failed;
usage:
	fputs("usage: fusion-failnth load|resume NAME TABLE\n"
	      "       fusion-failnth message NAME TEXT\n", stderr);
	return 2;
}
