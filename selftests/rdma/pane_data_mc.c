// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Multicast: who gets what is sent to a group, on both hosts */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_data.h"
#include "pane_fabric.h"

#define GRH		40
#define QKEY		0x4711
#define GROUP_QPN	0xffffff

enum {
	SENDER,		/* on node 0, a member as well */
	MEMBER,
	SECOND_MEMBER,
	OUTSIDER,
	NUM_ENDS,
};

/**
 * struct group - queue pairs that are in a group, and one that is not
 * @p: the nodes
 * @end: the queue pairs; all but the sender's on node 1
 * @mem: memory of each
 * @gid: the group's address
 * @ah: how the sender gets there
 */
struct group {
	struct pair p;
	struct end end[NUM_ENDS];
	struct region mem[NUM_ENDS];
	union ibv_gid gid;
	struct ibv_ah *ah;
};

/* Of the family that the network is to be tested with */
static union ibv_gid group_gid(uint8_t last)
{
	union ibv_gid gid = { .raw = { [15] = last } };

	if (net_is("ip6") || net_is("v1")) {
		gid.raw[0] = 0xff;
		gid.raw[1] = 0x0e;
		gid.raw[13] = 0x77;
	} else {
		memset(gid.raw + 10, 0xff, 2);
		gid.raw[12] = 239;
		gid.raw[13] = 77;
	}
	return gid;
}

static void group_open(struct group *g)
{
	struct qp_opts qo = qp_opts_default();

	random_seed();
	qo.type = IBV_QPT_UD;
	pair_nodes_open(&g->p);
	for (unsigned int i = 0; i < NUM_ENDS; i++) {
		struct node *n = &g->p.node[i != SENDER];

		end_open(&g->end[i], n, &qo);
		end_datagram(&g->end[i], QKEY);
		region_open(&g->mem[i], n->pd, 8192, 0,
			    IBV_ACCESS_LOCAL_WRITE);
	}
	g->gid = group_gid(1);
	g->ah = node_make_ah(&g->p.node[0], &g->gid, 0);
}

static void group_close(struct group *g)
{
	CHECK_OK(ibv_destroy_ah(g->ah));
	for (unsigned int i = 0; i < NUM_ENDS; i++) {
		end_close(&g->end[i]);
		region_close(&g->mem[i]);
	}
	pair_nodes_close(&g->p);
}

static void join(struct group *g, unsigned int who)
{
	CHECK_OK(ibv_attach_mcast(g->end[who].qp, &g->gid, 0));
}

static void leave(struct group *g, unsigned int who)
{
	CHECK_OK(ibv_detach_mcast(g->end[who].qp, &g->gid, 0));
}

static void recv_one(struct group *g, unsigned int who)
{
	struct ibv_sge sge = sge_of(&g->mem[who], 4096, GRH + 1024);

	CHECK_OK(end_post_recv(&g->end[who], &sge, 1, who));
}

static void send_to(struct group *g, uint32_t qpn, uint32_t len)
{
	struct ibv_sge sge = sge_of(&g->mem[SENDER], 0, len);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = {
			.ah = g->ah,
			.remote_qpn = qpn,
			.remote_qkey = QKEY,
		},
	};

	random_fill(g->mem[SENDER].addr, len);
	CHECK_EQ(end_do(&g->end[SENDER], wr), IBV_WC_SUCCESS);
}

static void got(struct group *g, unsigned int who, uint32_t len)
{
	const uint8_t *buf = g->mem[who].addr + 4096;
	struct ibv_wc wc;

	CHECK_WC(g->end[who].rcq, who, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.byte_len, GRH + len);
	CHECK_EQ(wc.src_qp, g->end[SENDER].qp->qp_num);
	CHECK(!memcmp(buf + GRH, g->mem[SENDER].addr, len), "other data");
	CHECK(!memcmp(buf + GRH - 4, g->gid.raw + 12, 4), "other group");
}

static void got_nothing(struct group *g, unsigned int who)
{
	struct ibv_wc wc;

	CHECK_EQ(ibv_poll_cq(g->end[who].rcq, 1, &wc), 0);
}

/* Members get it, each once, the sender too; nobody else does */
static void members(const void *arg)
{
	const uint32_t lens[] = { 0, 1, 77, 1024 };
	struct group g;

	group_open(&g);
	for (unsigned int i = SENDER; i <= SECOND_MEMBER; i++)
		join(&g, i);
	recv_one(&g, OUTSIDER);
	for (unsigned int i = 0; i < ARRAY_SIZE(lens); i++) {
		for (unsigned int who = SENDER; who <= SECOND_MEMBER; who++)
			recv_one(&g, who);
		send_to(&g, GROUP_QPN, lens[i]);
		for (unsigned int who = SENDER; who <= SECOND_MEMBER; who++)
			got(&g, who, lens[i]);
		for (unsigned int who = SENDER; who < NUM_ENDS; who++)
			got_nothing(&g, who);
	}
	for (unsigned int i = SENDER; i <= SECOND_MEMBER; i++)
		leave(&g, i);
	group_close(&g);
}

/* Is the receiver's host a member, as `ip maddr` sees it? */
static bool host_is_member(const struct group *g, const char *netns)
{
	char text[INET6_ADDRSTRLEN], script[128];
	bool ip4 = g->gid.raw[0] != 0xff;

	inet_ntop(ip4 ? AF_INET : AF_INET6, g->gid.raw + (ip4 ? 12 : 0), text,
		  sizeof(text));
	snprintf(script, sizeof(script),
		 "ip -n $1 maddr show | grep -qwF %s", text);
	return !pane_shell(script, netns);
}

/* By IGMP or MLD: from the first member to the last */
static void host_joins(const void *arg)
{
	const char *netns = getenv("PANE_NETNS");
	struct group g;

	if (!netns)
		pane_skip("the receiver's namespace is not known");
	if (access("/proc/net/igmp", F_OK))
		pane_skip("no IP multicast in this kernel");
	group_open(&g);
	CHECK(!host_is_member(&g, netns), "a member before");
	join(&g, MEMBER);
	CHECK(host_is_member(&g, netns), "no member");
	join(&g, SECOND_MEMBER);
	leave(&g, MEMBER);
	CHECK(host_is_member(&g, netns), "left too early");
	leave(&g, SECOND_MEMBER);
	CHECK(!host_is_member(&g, netns), "still a member");
	group_close(&g);
}

/* Who has left gets nothing more, the others still do */
static void leaving(const void *arg)
{
	struct group g;

	group_open(&g);
	join(&g, MEMBER);
	join(&g, SECOND_MEMBER);
	recv_one(&g, MEMBER);
	recv_one(&g, SECOND_MEMBER);
	leave(&g, MEMBER);
	send_to(&g, GROUP_QPN, 100);
	got(&g, SECOND_MEMBER, 100);
	got_nothing(&g, MEMBER);
	/* and again */
	join(&g, MEMBER);
	recv_one(&g, SECOND_MEMBER);
	send_to(&g, GROUP_QPN, 101);
	got(&g, MEMBER, 101);
	got(&g, SECOND_MEMBER, 101);
	leave(&g, MEMBER);
	leave(&g, SECOND_MEMBER);
	group_close(&g);
}

/* Another group, and a group's address with the number of one QP */
static void others_groups(const void *arg)
{
	union ibv_gid other = group_gid(2);
	struct group g;
	uint64_t before;

	group_open(&g);
	join(&g, MEMBER);
	CHECK_OK(ibv_attach_mcast(g.end[SECOND_MEMBER].qp, &other, 0));
	recv_one(&g, MEMBER);
	recv_one(&g, SECOND_MEMBER);
	before = counter_read(&g.p.node[1], "rx_source");
	send_to(&g, g.end[MEMBER].qp->qp_num, 100);
	send_to(&g, GROUP_QPN, 100);
	got(&g, MEMBER, 100);
	got_nothing(&g, MEMBER);
	got_nothing(&g, SECOND_MEMBER);
	CHECK_EQ(counter_read(&g.p.node[1], "rx_source"), before + 1);
	CHECK_OK(ibv_detach_mcast(g.end[SECOND_MEMBER].qp, &other, 0));
	leave(&g, MEMBER);
	group_close(&g);
}

/* What is refused, and what a second time does */
static void refused(const void *arg)
{
	struct qp_opts qo = qp_opts_default();
	union ibv_gid nobody = group_gid(3);
	struct group g;
	struct end rc;

	group_open(&g);
	end_open(&rc, &g.p.node[1], &qo);
	CHECK_EQ(ibv_attach_mcast(rc.qp, &g.gid, 0), EINVAL);
	CHECK_EQ(ibv_attach_mcast(g.end[MEMBER].qp, &g.p.node[1].gid, 0),
		 EINVAL);
	CHECK_EQ(ibv_detach_mcast(g.end[MEMBER].qp, &nobody, 0), EINVAL);
	join(&g, MEMBER);
	join(&g, MEMBER);
	recv_one(&g, MEMBER);
	send_to(&g, GROUP_QPN, 10);
	got(&g, MEMBER, 10);
	leave(&g, MEMBER);
	CHECK_EQ(ibv_detach_mcast(g.end[MEMBER].qp, &g.gid, 0), EINVAL);
	end_close(&rc);
	group_close(&g);
}

/* A QP that is destroyed, and one whose process forgets it, leave the group */
static void destroyed(const void *arg)
{
	struct group g;

	group_open(&g);
	join(&g, MEMBER);
	join(&g, SECOND_MEMBER);
	recv_one(&g, SECOND_MEMBER);
	CHECK_EQ(ibv_destroy_qp(g.end[MEMBER].qp), EBUSY);
	leave(&g, MEMBER);
	send_to(&g, GROUP_QPN, 10);
	got(&g, SECOND_MEMBER, 10);
	leave(&g, SECOND_MEMBER);
	group_close(&g);
}

void list_multicast(void)
{
	pane_test(0, members, NULL, "a group's members get what is sent to it");
	pane_test(0, host_joins, NULL, "the host joins a group");
	pane_test(0, leaving, NULL, "who has left a group");
	pane_test(0, others_groups, NULL, "other groups");
	pane_test(0, refused, NULL, "attaching that is refused");
	pane_test(0, destroyed, NULL, "a member cannot be destroyed");
}
