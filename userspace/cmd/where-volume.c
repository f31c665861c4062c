// SPDX-License-Identifier: GPL-2.0-only
/* The file systems of verb where: each with the layers beneath it, and the placement of its set. */
#include <stdlib.h>

#include "where.h"
#include "error.h"

static void volume_free(struct volume *v)
{
	fus_placement_put(&v->placement);
	fus_below_close(v->below);
	fus_file_system_close(&v->fs);
	free(v);
}

static int volume_open(const char *path, struct volume **out)
{
	struct volume *v = calloc(1, sizeof(*v));
	int rc;

	if (!v)
		return where_no_memory();
	rc = fus_file_system_open(path, &v->fs);
	if (!rc)
		rc = fus_below_open(v->fs.devno, &v->below);
	if (!rc)
		rc = fus_placement_get(fus_below_set(v->below), &v->placement);
	if (rc)
		volume_free(v);
	else
		*out = v;
	return rc;
}

int where_volume(struct where *w, const char *path, dev_t st_dev, struct volume **out)
{
	struct volume *v = w->volumes;
	int rc;

	while (v && !fus_file_system_has(&v->fs, path, st_dev))
		v = v->next;
	if (!v) {
		rc = volume_open(path, &v);
		if (rc)
			return rc;
		v->next = w->volumes;
		w->volumes = v;
	}
	*out = v;
	return 0;
}

void where_free(struct where *w)
{
	struct volume *v;

	for (size_t i = 0; i < w->nr; i++)
		free(w->row[i].path);
	free(w->row);
	where_counted_free(&w->counted);
	while ((v = w->volumes)) {
		w->volumes = v->next;
		volume_free(v);
	}
}
