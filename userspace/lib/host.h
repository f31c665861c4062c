/* SPDX-License-Identifier: GPL-2.0-only */
/* The identity of this machine, and of the one that has a set open: host.c. */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>

struct device;
struct fusion_sb;
struct json_object;
struct member;

#define HOST_HEX	33

/* This machine's number; false and zeros if it has none. */
bool fus_host_id(unsigned char id[16]);
/* As 32 hex digits; returns @buf. */
char *fus_host_hex(char buf[HOST_HEX], const unsigned char id[16]);

#define HOST_TEXT	400

/*
 * Return: whether another machine may have the set open. Then opening it takes @watch_ms and some
 * seconds. In any case @buf names the last machine that had it open: "desk (4f..), which opened it
 * at ...".
 */
bool fus_host_holds(const struct member *fast, char *buf, size_t size, unsigned int *watch_ms);
/*
 * Before something is written to members: fails if another machine uses the set, as the heartbeat
 * of the fast member tells. @fd: of that, past the page cache. Waits only if that machine has not
 * closed it.
 */
int fus_host_watch(const char *path, int fd, const struct fusion_sb *sb);
/* The same for the sets of these devices, three at most, as far as it is known. */
int fus_host_watch_devices(const struct device *dev, int nr);
/* As fus_host_holds() says it, by a superblock alone; false if that names none. */
bool fus_host_text(const struct fusion_sb *sb, char *buf, size_t size);

#define HOST_SHORT	65

/* The machine that has the set: its name, or the begin of its number; "-" if it was closed. */
char *fus_host_short(const struct fusion_sb *sb, char buf[HOST_SHORT]);
/* "host": the machine that has opened the set last; @sb may be NULL. */
void fus_host_json(struct json_object *o, const struct fusion_sb *sb);

#endif
