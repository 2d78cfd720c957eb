/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Netlink of RDMA devices, spoken by this very task and not by a tool */
#ifndef PANE_NLDEV_H
#define PANE_NLDEV_H

#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct nldev_request - a message to be sent
 * @nlh: its head
 * @attrs: attributes
 */
struct nldev_request {
	struct nlmsghdr nlh;
	char attrs[256];
};

void nldev_begin(struct nldev_request *rq, unsigned int command);
void nldev_put(struct nldev_request *rq, int type, const void *data,
	       size_t len);
void nldev_put_text(struct nldev_request *rq, int type, const char *text);

int nldev_open(void);
/* Ask, and take the answer; both fail the test */
void nldev_talk(int fd, struct nldev_request *rq, void *answer, size_t room);

/* Do something: 0, an errno value, or -1 if the kernel's answer was lost */
int nldev_do(int fd, struct nldev_request *rq);

/* ---- attributes ------------------------------------------------------ */

static inline const void *attr_data(const struct nlattr *a)
{
	return (const char *)a + NLA_HDRLEN;
}

static inline const struct nlattr *attr_next(const struct nlattr *a)
{
	return (const void *)((const char *)a + NLA_ALIGN(a->nla_len));
}

/* The first attribute of @type among those from @data to @end, or NULL */
const struct nlattr *attr_find(const void *data, const void *end, int type);
/* Of a message */
const struct nlattr *attr_find_in(const struct nlmsghdr *nlh, int type);
/* The number in an entry of a table, and its name; both are there */
uint64_t attr_entry(const struct nlattr *entry, int name_type, int value_type,
		    char *name, size_t room);

/* ---- devices --------------------------------------------------------- */

/* Kinds of objects that are counted */
#define RESOURCES_MAX	16

/**
 * struct resources - how many objects a device has
 * @num: kinds
 * @name: of each
 * @count: of each
 */
struct resources {
	unsigned int num;
	char name[RESOURCES_MAX][16];
	uint64_t count[RESOURCES_MAX];
};

void resources_read(int fd, uint32_t dev_index, struct resources *r);

/* The index of a device, or -1 */
int nldev_find(int fd, const char *name);
int nldev_link_add(int fd, const char *name, const char *netdev);
int nldev_link_del(int fd, uint32_t dev_index);

#endif
