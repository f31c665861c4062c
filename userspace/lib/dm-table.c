// SPDX-License-Identifier: GPL-2.0-only
/* Device mapper: tables. A device is created with one, or gets another one while suspended. */
#include <errno.h>
#include <libdevmapper.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dm.h"
#include "dm-task.h"
#include "fusionctl.h"
#include "status-parse.h"

static int load(const char *name, const struct dm_line *line, size_t nr, bool read_only)
{
	struct dm_task *t = fus_dm_task(DM_DEVICE_RELOAD, name);
	bool ok = t && (!read_only || dm_task_set_ro(t));
	uint64_t start = 0;
	int err;

	for (; ok && nr; nr--, line++) {
		ok = dm_task_add_target(t, start, line->sectors, line->target, line->params);
		start += line->sectors;
	}
	err = ok ? fus_dm_run(t) : -ENOMEM;
	if (t)
		dm_task_destroy(t);
	return err;
}

/*
 * In three steps, as only then each one's errno is known: libdevmapper's create with a table
 * removes the device again if that fails, and returns the result of the removal.
 */
int fus_dm_create(const char *name, const char *uuid, const struct dm_line *line, size_t nr,
		  bool read_only)
{
	struct dm_task *create = fus_dm_task(DM_DEVICE_CREATE, name);
	struct dm_task *resume = fus_dm_task(DM_DEVICE_RESUME, name);
	int err = -ENOMEM;

	if (!create || !resume || !dm_task_set_uuid(create, uuid))
		goto out;
	err = fus_dm_run(create);
	if (err)
		goto out;
	err = load(name, line, nr, read_only);
	if (!err)
		err = fus_dm_run_with_udev(resume, name);
	if (err)
		fus_dm_remove(name);
out:
	if (create)
		dm_task_destroy(create);
	if (resume)
		dm_task_destroy(resume);
	return err;
}

/* -- another table ---------------------------------------------------------------------- */

/* Run a task that has no arguments. */
static int run_plain(int type, const char *name)
{
	struct dm_task *t = fus_dm_task(type, name);
	int err = t ? fus_dm_run(t) : -ENOMEM;

	if (t)
		dm_task_destroy(t);
	return err;
}

static unsigned int now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

static void put(struct dm_pause *p)
{
	if (p->resume)
		dm_task_destroy(p->resume);
	p->resume = NULL;
}

static bool has_errors(const char *name)
{
	struct fusion_status st;
	struct mapping m;
	bool has;

	has = fus_dm_get(name, NULL, MAPPING_STATUS, &m) || !m.exists ||
	      fus_parse_status(m.params, &st) || st.errors[FAST] || st.errors[SLOW];
	fus_dm_put(&m);
	return has;
}

/*
 * So the set writes most of what a suspend would, while its I/O goes on, and for no longer. But if
 * it cannot, it refuses writes from then on, whereas nothing is written between a suspend that
 * fails at that and the next table. So a set whose members have errors is asked for none.
 */
static void write_checkpoint(const char *name)
{
	char *answer = NULL;

	if (!has_errors(name))
		fus_dm_message(name, "checkpoint", &answer);
	free(answer);
}

/*
 * The kernel allocates memory when a table is loaded, so that is before the suspend. The checkpoint
 * comes just before it, as the suspend has to write again what changes after it.
 */
int fus_dm_pause(struct dm_pause *p, const char *name, const struct dm_line *next)
{
	int err;

	memset(p, 0, sizeof(*p));
	p->name = name;
	p->resume = fus_dm_task(DM_DEVICE_RESUME, name);
	err = p->resume ? load(name, next, 1, false) : -ENOMEM;
	if (!err && !dm_task_set_cookie(p->resume, &p->cookie, DM_UDEV_DISABLE_LIBRARY_FALLBACK))
		err = -EIO;
	if (!err)
		write_checkpoint(name);
	p->begun = now_ms();
	if (!err)
		err = run_plain(DM_DEVICE_SUSPEND, name);
	if (!err)
		return 0;
	/* A suspend that failed has been undone by the kernel. */
	run_plain(DM_DEVICE_CLEAR, name);
	if (p->cookie)
		dm_udev_complete(p->cookie);
	put(p);
	return err;
}

/* udev takes part in the first resume only, which is the last one if it succeeds. */
int fus_dm_go_on(struct dm_pause *p, const struct dm_line *line)
{
	int err = line ? load(p->name, line, 1, false) : 0;

	if (err)
		return err;
	err = p->tried ? run_plain(DM_DEVICE_RESUME, p->name) : fus_dm_run(p->resume);
	p->tried = true;
	p->ms = now_ms() - p->begun;
	return err;
}

unsigned int fus_dm_pause_end(struct dm_pause *p)
{
	unsigned int ms = p->tried ? p->ms : now_ms() - p->begun;

	if (!p->tried)
		dm_udev_complete(p->cookie);
	fus_dm_wait_for_udev(p->name, p->cookie);
	put(p);
	return ms;
}

static bool go_on(struct dm_pause *p, const struct dm_line *line)
{
	return line && !fus_dm_go_on(p, line);
}

/*
 * The next table could not be resumed, but is in the other one's place already. In the end the set
 * may be as that one wants it.
 */
static int undo(struct dm_pause *p, struct dm_exchange *x, int err)
{
	if (go_on(p, x->now))
		return err;
	if (go_on(p, x->next))
		return 0;
	x->is_back = go_on(p, x->back);
	x->stuck = !x->is_back;
	return err;
}

int fus_dm_exchange(const char *name, struct dm_exchange *x)
{
	struct dm_pause p;
	int err = fus_dm_pause(&p, name, x->next);

	if (err)
		return err;
	err = fus_dm_go_on(&p, NULL);
	if (err)
		err = undo(&p, x, err);
	x->paused_ms = fus_dm_pause_end(&p);
	return err;
}
