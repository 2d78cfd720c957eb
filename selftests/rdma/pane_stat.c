// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The counters of a device, by netlink: the files in sysfs show what they were
 * some milliseconds ago.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_util.h"

/* The request: which port of which device */
struct stat_request {
	struct nlmsghdr nlh;
	struct {
		struct nlattr attr;
		uint32_t value;
	} dev, port;
};

static void stat_send(int fd, uint32_t dev_index)
{
	struct stat_request rq = {
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

static int attr_type(const struct nlattr *a)
{
	return a->nla_type & NLA_TYPE_MASK;
}

static const void *attr_data(const struct nlattr *a)
{
	return (const char *)a + NLA_HDRLEN;
}

static const struct nlattr *attr_next(const struct nlattr *a)
{
	return (const void *)((const char *)a + NLA_ALIGN(a->nla_len));
}

/* First attribute of a type in [@from, @end) */
static const struct nlattr *attr_find(const struct nlattr *from,
				      const void *end, int type)
{
	while ((const void *)from < end && attr_type(from) != type)
		from = attr_next(from);
	return (const void *)from < end ? from : NULL;
}

static const struct nlattr *attr_inner(const struct nlattr *a, int type)
{
	return attr_find(attr_data(a), attr_next(a), type);
}

static uint64_t entry_value(const struct nlattr *entry)
{
	const struct nlattr *value =
		attr_inner(entry, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
	uint64_t v;

	memcpy(&v, attr_data(value), sizeof(v));
	return v;
}

static uint64_t stat_find(const struct nlmsghdr *nlh, const char *name)
{
	const void *end = (const char *)nlh + nlh->nlmsg_len;
	const struct nlattr *table, *entry, *text;

	table = attr_find(NLMSG_DATA(nlh), end,
			  RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	CHECK(table, "no counters");
	for (entry = attr_data(table); entry < attr_next(table);
	     entry = attr_next(entry)) {
		text = attr_inner(entry,
				  RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
		if (text && !strcmp(attr_data(text), name))
			return entry_value(entry);
	}
	pane_fail(__FILE__, __LINE__, "no counter %s", name);
}

/* A counter of the node's device, as it is now */
uint64_t counter_read(const struct node *n, const char *name)
{
	static union {
		struct nlmsghdr nlh;
		char bytes[32768];
	} answer;
	ssize_t len;
	int fd;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	CHECK(fd >= 0, "%s", strerror(errno));
	stat_send(fd, ibv_get_device_index(n->ctx->device));
	len = recv(fd, &answer, sizeof(answer), 0);
	close(fd);
	CHECK(len > (ssize_t)sizeof(answer.nlh) &&
	      answer.nlh.nlmsg_type != NLMSG_ERROR, "%zd bytes", len);
	return stat_find(&answer.nlh, name);
}
