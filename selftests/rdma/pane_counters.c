// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_counters.h"
#include "pane_nldev.h"

static void take_entry(struct counters *c, const struct nlattr *entry)
{
	CHECK(c->num < COUNTERS_MAX, "too many counters");
	c->value[c->num] = attr_entry(entry,
				      RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME,
				      RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE,
				      c->name[c->num], COUNTER_NAME);
	c->num++;
}

static void take_all(struct counters *c, const struct nlmsghdr *nlh)
{
	const struct nlattr *table, *entry;

	table = attr_find_in(nlh, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	CHECK(table, "no counters");
	c->num = 0;
	for (entry = attr_data(table); entry < attr_next(table);
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
	uint32_t dev_index = ibv_get_device_index(n->ctx->device), port = 1;
	struct nldev_request rq;
	int fd = nldev_open();

	nldev_begin(&rq, RDMA_NLDEV_CMD_STAT_GET);
	nldev_put(&rq, RDMA_NLDEV_ATTR_DEV_INDEX, &dev_index,
		  sizeof(dev_index));
	nldev_put(&rq, RDMA_NLDEV_ATTR_PORT_INDEX, &port, sizeof(port));
	nldev_talk(fd, &rq, &answer, sizeof(answer));
	close(fd);
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
