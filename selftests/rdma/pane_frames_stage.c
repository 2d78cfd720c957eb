// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_frames.h"

/* ---- the stranger ---------------------------------------------------- */

static void parse_mac(const char *text, uint8_t mac[6])
{
	CHECK(sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1],
		     &mac[2], &mac[3], &mac[4], &mac[5]) == 6, "%s", text);
}

static void parse_ip4(const char *text, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	memset(gid->raw + 10, 0xff, 2);
	CHECK(inet_pton(AF_INET, text, gid->raw + 12) == 1, "%s", text);
}

/* Go to a namespace; returns the one that this process was in */
int netns_enter(const char *netns)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int there = open(netns, O_RDONLY | O_CLOEXEC);

	CHECK(own >= 0 && there >= 0, "%s: %s", netns, strerror(errno));
	CHECK(!setns(there, CLONE_NEWNET), "%s", strerror(errno));
	close(there);
	return own;
}

void netns_leave(int own)
{
	CHECK(!setns(own, CLONE_NEWNET), "%s", strerror(errno));
	close(own);
}

/* A packet socket on @ifname in the namespace @netns */
static int socket_in(const char *netns, const char *ifname, int vnet_hdr)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	int own = netns_enter(netns), fd;

	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	CHECK(fd >= 0, "%s", strerror(errno));
	to.sll_ifindex = if_nametoindex(ifname);
	netns_leave(own);
	to.sll_protocol = htons(ETH_P_ALL);
	CHECK(!bind(fd, (struct sockaddr *)&to, sizeof(to)), "%s",
	      strerror(errno));
	CHECK(!setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &vnet_hdr,
			  sizeof(vnet_hdr)), "%s", strerror(errno));
	return fd;
}

void stranger_open(struct stranger *s, int vnet_hdr)
{
	char netns[64], ifname[32], ip4[32], ip6[64], mac[32], their_mac[32];
	const char *text = getenv("PANE_FRAMES");

	CHECK(text && sscanf(text, "%63s %31s %31s %63s %31s %31s", netns,
			     ifname, ip4, ip6, mac, their_mac) == 6,
	      "PANE_FRAMES is not set");
	if (net_is("ip6"))
		CHECK(inet_pton(AF_INET6, ip6, &s->gid) == 1, "%s", ip6);
	else
		parse_ip4(ip4, &s->gid);
	parse_mac(mac, s->mac);
	parse_mac(their_mac, s->their_mac);
	s->fd = socket_in(netns, ifname, vnet_hdr);
}

void stranger_send(struct stranger *s, const struct spec *spec)
{
	struct built b;

	frame_build(&b, spec);
	CHECK(send(s->fd, b.frame, b.len, 0) == (ssize_t)b.len, "%s",
	      strerror(errno));
}

/* A frame from the device to the stranger, if there is one */
bool stranger_look(struct stranger *s, struct seen *seen)
{
	uint8_t frame[FRAME_MAX];
	const char *wrong;
	ssize_t len;

	for (;;) {
		len = recv(s->fd, frame, sizeof(frame), MSG_DONTWAIT);
		if (len < 0)
			return false;
		if (memcmp(frame, s->mac, 6))
			continue;
		wrong = frame_read(frame, len, seen);
		CHECK(!wrong || !*wrong, "a frame of the device: %s", wrong);
		if (!wrong && !memcmp(&seen->dst, &s->gid, sizeof(s->gid)))
			return true;
	}
}

void stranger_wait(struct stranger *s, struct seen *seen)
{
	struct spin spin = {};

	while (!stranger_look(s, seen))
		spin_turn(&spin);
}

void stranger_hears_nothing(struct stranger *s)
{
	struct seen seen;

	CHECK(!stranger_look(s, &seen), "answered with opcode %#x, PSN %u",
	      seen.opcode, seen.psn);
}

/* ---- the stage ------------------------------------------------------- */

void stage_recv(struct stage *t, uint32_t len)
{
	struct ibv_sge sge = sge_of(&t->mem, 32768, len);

	CHECK_OK(end_post_recv(&t->end, &sge, 1, 0x4ec));
}

/* The QP, from RESET on, to the stranger; what it is to receive is posted */
void stage_join(struct stage *t, const struct qp_opts *qo)
{
	t->psn = random_u32() & 0xffffff;
	t->sq_psn = random_u32() & 0xffffff;
	if (qo->type == IBV_QPT_UD) {
		end_datagram(&t->end, QKEY);
	} else {
		end_init(&t->end, qo);
		end_rtr(&t->end, qo, &t->s.gid, t->qpn, t->psn);
		end_rts(&t->end, qo, t->sq_psn);
	}
	for (unsigned int i = 0; i < RECVS; i++)
		stage_recv(t, 4096);
}

void stage_connect(struct stage *t, const struct qp_opts *qo)
{
	end_open(&t->end, &t->p.node[0], qo);
	stage_join(t, qo);
}

struct qp_opts stage_opts(void)
{
	struct qp_opts qo = qp_opts_default();

	qo.mtu = IBV_MTU_1024;
	qo.rd_atomic = 4;
	return qo;
}

void stage_open_with(struct stage *t, struct qp_opts qo)
{
	struct qp_opts honest = stage_opts();

	pair_open(&t->p, &honest);
	t->qpn = 0xabcde;
	stranger_open(&t->s, 0);
	region_open(&t->mem, t->p.node[0].pd, MEM_LEN, 0,
		    IBV_ACCESS_LOCAL_WRITE | RIGHTS_ALL);
	stage_connect(t, &qo);
}

void stage_open(struct stage *t)
{
	random_seed();
	stage_open_with(t, stage_opts());
}

void stage_close(struct stage *t)
{
	end_close(&t->end);
	region_close(&t->mem);
	close(t->s.fd);
	pair_close(&t->p);
}

/* Honest ends are not disturbed */
void stage_still_works(struct stage *t)
{
	struct region far;
	struct ibv_sge sge;

	region_open(&far, t->p.node[1].pd, 4096, 0,
		    IBV_ACCESS_LOCAL_WRITE | RIGHTS_ALL);
	memset(far.addr, 0, far.len);
	sge = sge_of(&t->mem, 0, 4096);
	CHECK_EQ(end_do(&t->p.end[0],
			wr_to(IBV_WR_RDMA_WRITE, &sge, &far, 0)),
		 IBV_WC_SUCCESS);
	CHECK(!memcmp(far.addr, t->mem.addr, 4096), "other data");
	region_close(&far);
}

/* A frame in order, to be spoiled: 16 bytes in a SEND that wants an ACK */
struct spec spec_of(struct stage *t)
{
	struct spec s = {
		.src = t->s.gid,
		.dst = t->p.node[0].gid,
		.ip_id = random_u32(),
		.sport = 0xc123,
		.dport = UDP_PORT,
		.opcode = SEND_ONLY,
		.flags = BTH_MIGREQ,
		.pkey = 0xffff,
		.dqpn = t->end.qp->qp_num,
		.apsn = t->psn | BTH_ACKREQ,
		.payload = "sixteen bytes...",
		.len = 16,
		.pad = -1,
		.v1 = net_is("v1"),
	};

	memcpy(s.dmac, t->s.their_mac, 6);
	memcpy(s.smac, t->s.mac, 6);
	return s;
}

void stage_note(struct stage *t)
{
	counters_read(&t->p.node[0], &t->before);
}

/* How one counter has moved */
uint64_t stage_moved(struct stage *t, const char *name)
{
	struct counters now;

	counters_read(&t->p.node[0], &now);
	return counters_moved(&t->before, &now, name);
}

void stage_counted(struct stage *t, const char *name, uint64_t times)
{
	struct spin spin = {};

	while (stage_moved(t, name) < times)
		spin_turn(&spin);
}

/* Is it a counter that moves with every packet? */
static bool is_traffic(const char *name)
{
	static const char *const traffic[] = {
		"sent_pkts", "sent_bytes", "rcvd_pkts", "rcvd_bytes",
		"rdma_recvs", "rdma_sends", "rx_icrc_skipped",
	};

	for (size_t i = 0; i < ARRAY_SIZE(traffic); i++)
		if (!strcmp(name, traffic[i]))
			return true;
	return false;
}

/*
 * These moved, once each, and no others but those of traffic. A name may be
 * followed by "=TIMES".
 */
void stage_expect(struct stage *t, const char *names)
{
	char wanted[256], *name, *times, *rest = wanted;
	struct counters now;

	snprintf(wanted, sizeof(wanted), "%s", names);
	while ((name = strsep(&rest, " "))) {
		times = strchr(name, '=');
		if (times)
			*times++ = '\0';
		if (*name)
			stage_counted(t, name, times ? atoi(times) : 1);
	}
	counters_read(&t->p.node[0], &now);
	snprintf(wanted, sizeof(wanted), " %s ", names);
	for (unsigned int i = 0; i < now.num; i++) {
		uint64_t moved = now.value[i] - t->before.value[i];
		char key[COUNTER_NAME + 2];

		if (!moved || is_traffic(now.name[i]))
			continue;
		snprintf(key, sizeof(key), " %s", now.name[i]);
		name = strstr(wanted, key);
		CHECK(name && strchr(" =", name[strlen(key)]),
		      "%s moved by %llu", now.name[i],
		      (unsigned long long)moved);
		times = name + strlen(key);
		CHECK(moved == (*times == '=' ? atoi(times + 1) : 1),
		      "%s moved by %llu", now.name[i],
		      (unsigned long long)moved);
	}
}

/* ---- outcomes -------------------------------------------------------- */

/* A SEND in order is acknowledged, and nothing was answered before */
void stage_alive(struct stage *t)
{
	struct spec s = spec_of(t);
	struct seen seen;
	struct ibv_wc wc;

	stranger_send(&t->s, &s);
	stranger_wait(&t->s, &seen);
	CHECK_EQ(seen.opcode, ACKNOWLEDGE);
	CHECK_EQ(seen.syndrome, ACK_OK);
	CHECK_EQ(seen.psn, t->psn);
	CHECK_EQ(seen.dqpn, t->qpn);
	cq_spin(t->end.rcq, &wc);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, 16);
	t->psn = (t->psn + 1) & 0xffffff;
	stage_recv(t, 4096);
}

/* Dropped: the counter, no answer, and all goes on */
void stage_drops(struct stage *t, const struct spec *s, const char *counter)
{
	stage_note(t);
	stranger_send(&t->s, s);
	stage_expect(t, counter);
	CHECK_EQ(stage_moved(t, "rcvd_pkts"), 0);
	CHECK_EQ(stage_moved(t, "sent_pkts"), 0);
	stage_alive(t);
}

/* Accepted: as if it were in order */
void stage_takes(struct stage *t, const struct spec *s)
{
	struct seen seen;
	struct ibv_wc wc;

	stage_note(t);
	stranger_send(&t->s, s);
	stranger_wait(&t->s, &seen);
	CHECK_EQ(seen.opcode, ACKNOWLEDGE);
	CHECK_EQ(seen.syndrome, ACK_OK);
	CHECK_EQ(seen.psn, t->psn);
	cq_spin(t->end.rcq, &wc);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	stage_expect(t, "");
	t->psn = (t->psn + 1) & 0xffffff;
	stage_recv(t, 4096);
	stage_alive(t);
}

/* Refused for good: this NAK, for this packet, and the QP is in error */
void stage_refuses(struct stage *t, const struct spec *s, uint8_t syndrome,
		   const char *counters)
{
	struct seen seen;

	stage_note(t);
	stranger_send(&t->s, s);
	stranger_wait(&t->s, &seen);
	CHECK_EQ(seen.opcode, ACKNOWLEDGE);
	CHECK_EQ(seen.syndrome, syndrome);
	CHECK_EQ(seen.psn, s->apsn & 0xffffff);
	CHECK_EQ(seen.dqpn, t->qpn);
	stage_expect(t, counters);
	CHECK_EQ(end_state(&t->end), IBV_QPS_ERR);
	stranger_hears_nothing(&t->s);
}
