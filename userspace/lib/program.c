// SPDX-License-Identifier: GPL-2.0-only
/* Programs of the system, run without a shell. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

static const char *const directories[] = { "/usr/sbin", "/usr/bin", "/sbin", "/bin" };

#define NR_DIRECTORIES	(sizeof(directories) / sizeof(directories[0]))

bool fus_program_path(const char *name, char *buf, size_t size)
{
	for (size_t i = 0; i < NR_DIRECTORIES; i++) {
		snprintf(buf, size, "%s/%s", directories[i], name);
		if (!access(buf, X_OK))
			return true;
	}
	return false;
}

bool fus_program_exists(const char *name)
{
	char path[128];

	return fus_program_path(name, path, sizeof(path));
}

/* In the child: use neither the path nor the options of the caller. */
static __attribute__((noreturn)) void become(const char *const argv[], int out)
{
	char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL };
	char path[128];

	if (out >= 0) {
		dup2(out, STDOUT_FILENO);
		dup2(out, STDERR_FILENO);
	}
	for (size_t i = 0; i < NR_DIRECTORIES; i++) {
		snprintf(path, sizeof(path), "%s/%s", directories[i], argv[0]);
		execve(path, (char *const *)argv, environment);
	}
	if (out >= 0)
		dprintf(out, "there is no %s\n", argv[0]);
	_exit(127);
}

/* Return: false if a signal has come, or @each wants no more. */
static bool read_lines(int fd, bool (*each)(const char *line, void *ctx), void *ctx)
{
	FILE *f = fdopen(fd, "r");
	char *line = NULL;
	bool goes_on = true;
	size_t room = 0;

	while (f && goes_on && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		goes_on = each(line, ctx);
	}
	if (f && ferror(f) && errno == EINTR)
		goes_on = false;
	free(line);
	if (f)
		fclose(f);
	else
		close(fd);
	return goes_on;
}

static int run(const char *const argv[], bool (*each)(const char *line, void *ctx), void *ctx,
	       bool tied)
{
	int out[2] = { -1, -1 }, status = -1;
	pid_t pid, got;

	if (each && pipe2(out, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid && tied)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!pid)
		become(argv, out[1]);
	if (each) {
		close(out[1]);
		if (!read_lines(out[0], each, ctx) && tied && pid > 0)
			kill(pid, SIGKILL);
	}
	if (pid <= 0)
		return -1;
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	return got == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct listener {
	void (*each)(const char *line, void *ctx);
	void *ctx;
};

static bool pass_on(const char *line, void *ctx)
{
	const struct listener *l = ctx;

	l->each(line, l->ctx);
	return true;
}

int fus_program_run(const char *const argv[], void (*each)(const char *line, void *ctx), void *ctx)
{
	struct listener l = { each, ctx };

	return run(argv, each ? pass_on : NULL, &l, false);
}

int fus_program_tied(const char *const argv[], bool (*each)(const char *line, void *ctx), void *ctx)
{
	return run(argv, each, ctx, true);
}

struct said {
	char *buf;
	size_t size;
};

static void keep_line(const char *line, void *ctx)
{
	struct said *said = ctx;

	if (*line)
		snprintf(said->buf, said->size, "%s", line);
}

int fus_program_say(const char *const argv[], char *buf, size_t size)
{
	struct said said = { buf, size };

	*buf = 0;
	return fus_program_run(argv, keep_line, &said);
}
