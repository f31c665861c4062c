// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that may hang, as one that asks a failing disk does, or that the administrator has
 * named. Each is killed with its children when its time is over. One that even then does not end,
 * as it waits for a disk in the kernel, is left alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "limited.h"
#include "program.h"

#define MAX_ENV		16
#define STEP_MS		10
#define LEFT_ALONE_MS	1000	/* after it was killed */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* In the child: nothing but the three streams, and no setting of the caller. */
static __attribute__((noreturn)) void become(const struct limited *l, const char *path, int in,
					     int out)
{
	const char *env[MAX_ENV + 3] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C" };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), nr = 2;

	for (int i = 0; l->env && l->env[i] && i < MAX_ENV; i++)
		env[nr++] = l->env[i];
	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	dup2(in >= 0 ? in : null, STDIN_FILENO);
	dup2(out >= 0 ? out : null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execve(path, (char *const *)l->argv, (char *const *)env);
	_exit(127);
}

/* Read until the other end is closed. Return: false if the time was over before. */
static bool read_until(int fd, const struct limited *l, int64_t end)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	char rest[512] = "";
	ssize_t n;

	for (;;) {
		bool full = len + 1 >= l->size;
		int64_t left = end - now_ms();
		int ready = left > 0 ? poll(&p, 1, left) : 0;

		if (!ready)
			return false;
		if (ready < 0 && errno == EINTR)
			continue;
		n = ready < 0 ? -1 : read(fd, full ? rest : l->out + len,
					  full ? sizeof(rest) : l->size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		if (full)
			continue;
		len += n;
		l->out[len] = 0;
	}
}

/* Return: whether it has ended by then. */
static bool ended(pid_t pid, int *status, int64_t end)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	pid_t got;

	for (;;) {
		got = waitpid(pid, status, WNOHANG);
		if (got == pid)
			return true;
		if ((got < 0 && errno != EINTR) || now_ms() >= end)
			return false;
		nanosleep(&step, NULL);
	}
}

static int input_of(const struct limited *l)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	size_t len = strlen(l->input);

	if (fd < 0)
		return -1;
	if (write(fd, l->input, len) == (ssize_t)len && !lseek(fd, 0, SEEK_SET))
		return fd;
	close(fd);
	return -1;
}

static int run(const struct limited *l, const char *path, int in)
{
	int64_t end = now_ms() + l->seconds * 1000LL;
	int out[2] = { -1, -1 }, status = 0;
	bool in_time = true;
	pid_t pid;

	if (l->out && pipe2(out, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid)
		become(l, path, in, out[1]);
	if (l->out)
		close(out[1]);
	if (pid > 0 && l->out)
		in_time = read_until(out[0], l, end);
	if (l->out)
		close(out[0]);
	if (pid < 0)
		return -1;
	if (!in_time || !ended(pid, &status, end)) {
		/* the group, which the child may not have made yet */
		if (kill(-pid, SIGKILL))
			kill(pid, SIGKILL);
		ended(pid, &status, now_ms() + LEFT_ALONE_MS);
		return PROGRAM_HUNG;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int fus_program_limited(const struct limited *l)
{
	char path[128];
	int in, rc;

	if (l->out)
		*l->out = 0;
	if (*l->argv[0] != '/' && !fus_program_path(l->argv[0], path, sizeof(path)))
		return 127;
	in = l->input ? input_of(l) : -1;
	if (l->input && in < 0)
		return -1;
	rc = run(l, *l->argv[0] == '/' ? l->argv[0] : path, in);
	if (in >= 0)
		close(in);
	return rc;
}
