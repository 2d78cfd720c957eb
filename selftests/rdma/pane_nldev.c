// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "../kselftest.h"
#include "pane_nldev.h"
#include "pane_run.h"

void nldev_begin(struct nldev_request *rq, unsigned int command)
{
	*rq = (struct nldev_request) {
		.nlh = {
			.nlmsg_len = NLMSG_HDRLEN,
			.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
			.nlmsg_flags = NLM_F_REQUEST,
		},
	};
}

void nldev_put(struct nldev_request *rq, int type, const void *data, size_t len)
{
	struct nlattr *a = (void *)((char *)rq + rq->nlh.nlmsg_len);

	CHECK(rq->nlh.nlmsg_len + NLA_HDRLEN + len <= sizeof(*rq),
	      "too many attributes");
	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy(a + 1, data, len);
	rq->nlh.nlmsg_len += NLA_ALIGN(a->nla_len);
}

void nldev_put_text(struct nldev_request *rq, int type, const char *text)
{
	nldev_put(rq, type, text, strlen(text) + 1);
}

int nldev_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	CHECK(fd >= 0, "%s", strerror(errno));
	return fd;
}

void nldev_talk(int fd, struct nldev_request *rq, void *answer, size_t room)
{
	const struct nlmsghdr *nlh = answer;
	ssize_t len = rq->nlh.nlmsg_len;

	CHECK(send(fd, rq, len, 0) == len, "%s", strerror(errno));
	len = recv(fd, answer, room, 0);
	CHECK(len > (ssize_t)sizeof(*nlh) && nlh->nlmsg_type != NLMSG_ERROR,
	      "%zd bytes", len);
}

int nldev_do(int fd, struct nldev_request *rq)
{
	ssize_t len = rq->nlh.nlmsg_len;
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr err;
		char rest[512];
	} answer;

	rq->nlh.nlmsg_flags |= NLM_F_ACK;
	if (send(fd, rq, len, 0) != len)
		return errno;
	/* it is there when the call returns, if there was memory for it */
	len = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	if (len < 0)
		return -1;
	CHECK(answer.nlh.nlmsg_type == NLMSG_ERROR, "another answer");
	return -answer.err.error;
}

/* ---- attributes ------------------------------------------------------ */

const struct nlattr *attr_find(const void *data, const void *end, int type)
{
	const struct nlattr *a;

	for (a = data; (const void *)a < end; a = attr_next(a))
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

const struct nlattr *attr_find_in(const struct nlmsghdr *nlh, int type)
{
	return attr_find(NLMSG_DATA(nlh), (const char *)nlh + nlh->nlmsg_len,
			 type);
}

uint64_t attr_entry(const struct nlattr *entry, int name_type, int value_type,
		    char *name, size_t room)
{
	const void *end = attr_next(entry);
	const struct nlattr *text, *number;
	uint64_t value;

	text = attr_find(attr_data(entry), end, name_type);
	number = attr_find(attr_data(entry), end, value_type);
	CHECK(text && number, "an entry without name or number");
	snprintf(name, room, "%s", (const char *)attr_data(text));
	memcpy(&value, attr_data(number), sizeof(value));
	return value;
}

/* ---- devices --------------------------------------------------------- */

static void take_entry(struct resources *r, const struct nlattr *entry)
{
	CHECK(r->num < RESOURCES_MAX, "too many counts");
	r->count[r->num] = attr_entry(entry,
				      RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME,
				      RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR,
				      r->name[r->num], sizeof(r->name[0]));
	r->num++;
}

void resources_read(int fd, uint32_t dev_index, struct resources *r)
{
	static union {
		struct nlmsghdr nlh;
		char bytes[8192];
	} answer;
	const struct nlattr *table, *entry;
	struct nldev_request rq;

	nldev_begin(&rq, RDMA_NLDEV_CMD_RES_GET);
	nldev_put(&rq, RDMA_NLDEV_ATTR_DEV_INDEX, &dev_index,
		  sizeof(dev_index));
	nldev_talk(fd, &rq, &answer, sizeof(answer));
	table = attr_find_in(&answer.nlh, RDMA_NLDEV_ATTR_RES_SUMMARY);
	CHECK(table, "no counts");
	*r = (struct resources) {};
	for (entry = attr_data(table); entry < attr_next(table);
	     entry = attr_next(entry))
		take_entry(r, entry);
}

/* ---- links ----------------------------------------------------------- */

/* Which of the devices that a message tells of has this name? */
static int find_in(const struct nlmsghdr *nlh, const char *name)
{
	const struct nlattr *a = attr_find_in(nlh, RDMA_NLDEV_ATTR_DEV_NAME);
	uint32_t index;

	if (!a || strcmp(attr_data(a), name))
		return -1;
	a = attr_find_in(nlh, RDMA_NLDEV_ATTR_DEV_INDEX);
	CHECK(a, "a device without an index");
	memcpy(&index, attr_data(a), sizeof(index));
	return index;
}

int nldev_find(int fd, const char *name)
{
	static union {
		struct nlmsghdr nlh;
		char bytes[16384];
	} answer;
	struct nldev_request rq;
	int index = -1;

	nldev_begin(&rq, RDMA_NLDEV_CMD_GET);
	rq.nlh.nlmsg_flags |= NLM_F_DUMP;
	CHECK(send(fd, &rq, rq.nlh.nlmsg_len, 0) == rq.nlh.nlmsg_len, "%s",
	      strerror(errno));
	for (;;) {
		int len = recv(fd, &answer, sizeof(answer), 0);
		const struct nlmsghdr *nlh = &answer.nlh;

		CHECK(len > 0, "%s", strerror(errno));
		for (; NLMSG_OK(nlh, len); nlh = NLMSG_NEXT(nlh, len)) {
			if (nlh->nlmsg_type == NLMSG_DONE)
				return index;
			CHECK(nlh->nlmsg_type != NLMSG_ERROR, "no list");
			if (index < 0)
				index = find_in(nlh, name);
		}
	}
}

int nldev_link_add(int fd, const char *name, const char *netdev)
{
	struct nldev_request rq;

	nldev_begin(&rq, RDMA_NLDEV_CMD_NEWLINK);
	nldev_put_text(&rq, RDMA_NLDEV_ATTR_DEV_NAME, name);
	nldev_put_text(&rq, RDMA_NLDEV_ATTR_LINK_TYPE, "pane");
	nldev_put_text(&rq, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	return nldev_do(fd, &rq);
}

int nldev_link_del(int fd, uint32_t dev_index)
{
	struct nldev_request rq;

	nldev_begin(&rq, RDMA_NLDEV_CMD_DELLINK);
	nldev_put(&rq, RDMA_NLDEV_ATTR_DEV_INDEX, &dev_index,
		  sizeof(dev_index));
	return nldev_do(fd, &rq);
}
