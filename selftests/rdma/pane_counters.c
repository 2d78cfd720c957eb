// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_counters.h"

struct request {
	struct nlmsghdr nlh;
	struct {
		struct nlattr attr;
		uint32_t value;
	} dev, port;
};

static void ask(int fd, uint32_t dev_index)
{
	struct request rq = {
		.nlh = {
			.nlmsg_len = sizeof(rq),
			.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
						       RDMA_NLDEV_CMD_STAT_GET),
			.nlmsg_flags = NLM_F_REQUEST,
		},
		.dev = {
			.attr = { sizeof(rq.dev), RDMA_NLDEV_ATTR_DEV_INDEX },
			.value = dev_index,
		},
		.port = {
			.attr = { sizeof(rq.port), RDMA_NLDEV_ATTR_PORT_INDEX },
			.value = 1,
		},
	};

	CHECK(send(fd, &rq, sizeof(rq), 0) == sizeof(rq), "%s",
	      strerror(errno));
}

static const char *attr_data(const struct nlattr *a)
{
	return (const char *)a + NLA_HDRLEN;
}

static const struct nlattr *attr_next(const struct nlattr *a)
{
	return (const void *)((const char *)a + NLA_ALIGN(a->nla_len));
}

/* The first attribute of @type among those from @data to @end, or NULL */
static const struct nlattr *attr_find(const void *data, const void *end,
				      int type)
{
	const struct nlattr *a;

	for (a = data; (const void *)a < end; a = attr_next(a))
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

static void take_entry(struct counters *c, const struct nlattr *entry)
{
	const void *end = attr_next(entry);
	const struct nlattr *name, *value;

	name = attr_find(attr_data(entry), end,
			 RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
	value = attr_find(attr_data(entry), end,
			  RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
	CHECK(name && value && c->num < COUNTERS_MAX, "no counter");
	snprintf(c->name[c->num], COUNTER_NAME, "%s", attr_data(name));
	memcpy(&c->value[c->num], attr_data(value), sizeof(uint64_t));
	c->num++;
}

static void take_all(struct counters *c, const struct nlmsghdr *nlh)
{
	const struct nlattr *table, *entry;

	table = attr_find(NLMSG_DATA(nlh), (const char *)nlh + nlh->nlmsg_len,
			  RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	CHECK(table, "no counters");
	c->num = 0;
	for (entry = (const void *)attr_data(table); entry < attr_next(table);
	     entry = attr_next(entry))
		take_entry(c, entry);
}

/* As they are now: the files in sysfs show what was some time ago */
void counters_read(const struct node *n, struct counters *c)
{
	static union {
		struct nlmsghdr nlh;
		char bytes[32768];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	ssize_t len;

	CHECK(fd >= 0, "%s", strerror(errno));
	ask(fd, ibv_get_device_index(n->ctx->device));
	len = recv(fd, &answer, sizeof(answer), 0);
	close(fd);
	CHECK(len > (ssize_t)sizeof(answer.nlh) &&
	      answer.nlh.nlmsg_type != NLMSG_ERROR, "%zd bytes", len);
	take_all(c, &answer.nlh);
}

static unsigned int counters_find(const struct counters *c, const char *name)
{
	for (unsigned int i = 0; i < c->num; i++)
		if (!strcmp(c->name[i], name))
			return i;
	pane_fail(__FILE__, __LINE__, "no counter %s", name);
}

/* By how much a counter moved; it is there */
uint64_t counters_moved(const struct counters *before,
			const struct counters *now, const char *name)
{
	unsigned int i = counters_find(now, name);

	return now->value[i] - before->value[i];
}

/* One of them */
uint64_t counter_read(const struct node *n, const char *name)
{
	static struct counters now;

	counters_read(n, &now);
	return now.value[counters_find(&now, name)];
}
