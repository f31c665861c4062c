// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verb monitor: a program and a mail for its events, as MONITOR_CONF says. That has lines as
 * mdadm.conf:
 *
 *	PROGRAM /usr/local/sbin/fusion-event
 *	MAILADDR root
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "limited.h"
#include "monitor.h"
#include "text.h"

#define MONITOR_CONF	"/etc/fusion/monitor.conf"
#define SECONDS		60
#define TEXT		1024

static struct {
	bool read;
	char program[256], address[256];
} conf;

/* -- what to run ------------------------------------------------------------------- */

/* Return: whether it is a path, or an address that is no option and no second header. */
static bool plausible(const char *key, const char *value)
{
	if (!strcmp(key, "PROGRAM"))
		return *value == '/';
	for (const char *p = value; *p; p++)
		if (!isgraph((unsigned char)*p))
			return false;
	return *value && *value != '-';
}

static void take_line(char *line)
{
	char *key = line + strspn(line, " \t"), *value;
	size_t len;

	if (!*key || *key == '#')
		return;
	value = key + strcspn(key, " \t");
	if (*value)
		*value++ = 0;
	value += strspn(value, " \t");
	for (len = strlen(value); len && isspace((unsigned char)value[len - 1]); len--)
		value[len - 1] = 0;
	if (strcmp(key, "PROGRAM") && strcmp(key, "MAILADDR"))
		fus_warn(MONITOR_CONF, "unknown word %s; use PROGRAM and MAILADDR", key);
	else if (!plausible(key, value))
		fus_warn(MONITOR_CONF, "%s %s: not %s; correct that line", key, value,
			 *key == 'P' ? "an absolute path" : "an address");
	else if (strlen(value) >= sizeof(conf.program))
		fus_warn(MONITOR_CONF, "the value of %s is too long; use at most %zu characters",
			 key, sizeof(conf.program) - 1);
	else if (*key == 'P')
		snprintf(conf.program, sizeof(conf.program), "%s", value);
	else
		snprintf(conf.address, sizeof(conf.address), "%s", value);
}

/* It names what root runs. */
static bool is_roots(FILE *f)
{
	struct stat st;

	return !fstat(fileno(f), &st) && S_ISREG(st.st_mode) && !st.st_uid &&
	       !(st.st_mode & 0022);
}

static void read_conf(void)
{
	char *line = NULL;
	size_t size = 0;
	FILE *f;

	if (conf.read)
		return;
	conf.read = true;
	f = fopen(MONITOR_CONF, "re");
	if (!f && errno != ENOENT)
		fus_warn(MONITOR_CONF, "cannot open: %s, so no program or mail reports events; correct "
			 "its permissions", strerror(errno));
	if (!f)
		return;
	if (!is_roots(f)) {
		fus_warn(MONITOR_CONF, "not a file that only root can write, and so not used; chown "
			 "root and chmod 644 it");
		fclose(f);
		return;
	}
	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		take_line(line);
	}
	free(line);
	fclose(f);
}

/* -- running it -------------------------------------------------------------------- */

static void run(const char *what, const struct limited *l)
{
	int rc = fus_program_limited(l);

	if (rc == PROGRAM_HUNG)
		fus_warn(what, "did not end within %d s, and was killed; see why it hangs",
			 SECONDS);
	else if (rc == 127)
		fus_warn(what, "cannot be run; install it, or correct " MONITOR_CONF);
	else if (rc < 0)
		fus_warn(what, "could not be started, or was ended by a signal; run it by hand");
	else if (rc)
		fus_warn(what, "has failed with status %d; run it by hand", rc);
}

static void run_program(const struct event *e, const char *name, const char *text)
{
	char env[7][TEXT + 32];
	const char *const envp[] = {
		env[0], env[1], env[2], env[3], env[4], env[5], env[6], NULL
	};
	const char *const argv[] = { conf.program, e->kind, name, text, NULL };
	struct limited l = { .argv = argv, .env = envp, .seconds = SECONDS };

	snprintf(env[0], sizeof(env[0]), "FUSION_EVENT=%s", e->kind);
	snprintf(env[1], sizeof(env[1]), "FUSION_LEVEL=%s", fus_health_name[e->health]);
	snprintf(env[2], sizeof(env[2]), "FUSION_HEALTH=%s", e->condition ? e->condition : "");
	snprintf(env[3], sizeof(env[3]), "FUSION_NAME=%s", name);
	snprintf(env[4], sizeof(env[4]), "FUSION_SET_UUID=%s", e->uuid ? e->uuid : "");
	snprintf(env[5], sizeof(env[5]), "FUSION_TEXT=%s", text);
	snprintf(env[6], sizeof(env[6]), "FUSION_REMEDY=%s", e->remedy ? e->remedy : "");
	run(conf.program, &l);
}

static void send_mail(const struct event *e, const char *name, const char *text)
{
	const char *const argv[] = { "sendmail", "-oi", "-t", NULL };
	char mail[3 * TEXT], host[256] = "";
	struct limited l = { .argv = argv, .input = mail, .seconds = SECONDS };

	gethostname(host, sizeof(host) - 1);
	snprintf(mail, sizeof(mail), "To: %s\nSubject: %s of fusion set %s on %s\n\n"
		 "This is fusionctl monitor on %s.\n\n%s: %s\n%s%s%s", conf.address,
		 fus_health_name[e->health], name, host, host, name, text,
		 e->remedy ? "\nWhat to do: " : "", e->remedy ? e->remedy : "",
		 e->remedy ? "\n" : "");
	run("sendmail", &l);
}

void monitor_notify(const struct event *e, const char *text)
{
	char name[256], safe[TEXT];

	read_conf();
	if (!*conf.program && !*conf.address)
		return;
	fus_safe_text(name, sizeof(name), e->name, SIZE_MAX, false);
	fus_safe_text(safe, sizeof(safe), text, SIZE_MAX, false);
	if (*conf.program)
		run_program(e, name, safe);
	if (*conf.address && !strcmp(e->kind, "begun") && e->health >= HEALTH_WARNING)
		send_mail(e, name, safe);
}
