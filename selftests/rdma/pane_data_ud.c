// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams: what arrives, what precedes it in the buffer, and what does not
 * arrive because it may not.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest.h"
#include "pane_data.h"

#define GRH	40
#define QKEY	0x12345
#define TCLASS	0x28

/**
 * struct mail - a UD QP on each node, which write to each other
 * @p: the QPs
 * @mem: memory of each
 * @ah: how each gets to the other
 */
struct mail {
	struct pair p;
	struct region mem[2];
	struct ibv_ah *ah[2];
};

static void mail_open(struct mail *m)
{
	struct qp_opts qo = qp_opts_default();

	random_seed();
	qo.type = IBV_QPT_UD;
	pair_open(&m->p, &qo);
	for (unsigned int i = 0; i < 2; i++) {
		end_datagram(&m->p.end[i], QKEY);
		region_open(&m->mem[i], m->p.node[i].pd, 64 * 1024, 0,
			    IBV_ACCESS_LOCAL_WRITE);
		m->ah[i] = node_make_ah(&m->p.node[i], &m->p.node[!i].gid,
					TCLASS);
	}
}

static void mail_close(struct mail *m)
{
	for (unsigned int i = 0; i < 2; i++) {
		CHECK_OK(ibv_destroy_ah(m->ah[i]));
		region_close(&m->mem[i]);
	}
	pair_close(&m->p);
}

static struct ibv_send_wr mail_wr(struct mail *m, struct ibv_sge *sge,
				  uint32_t qkey)
{
	return (struct ibv_send_wr) {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htobe32(0xfeed),
		.sg_list = sge,
		.num_sge = 1,
		.wr.ud.ah = m->ah[0],
		.wr.ud.remote_qpn = m->p.end[1].qp->qp_num,
		.wr.ud.remote_qkey = qkey,
	};
}

static enum ibv_wc_status mail_send(struct mail *m, uint32_t len, uint32_t qkey)
{
	struct ibv_sge sge = sge_of(&m->mem[0], 0, len);

	return end_do(&m->p.end[0], mail_wr(m, &sge, qkey));
}

static void mail_recv(struct mail *m, uint64_t id, uint32_t len)
{
	struct ibv_sge sge = sge_of(&m->mem[1], 0, len);

	CHECK_OK(end_post_recv(&m->p.end[1], &sge, 1, id));
}

/* ---- what precedes the data ------------------------------------------ */

#define NEXT_HEADER_BTH	0x1b

/* An IPv4 header is at the end of the room for the larger one */
static void check_ip4(const uint8_t *grh, const struct mail *m, uint32_t len)
{
	static const uint8_t zero[20];
	struct iphdr ip;

	CHECK(!memcmp(grh, zero, sizeof(zero)), "not empty");
	memcpy(&ip, grh + sizeof(zero), sizeof(ip));
	CHECK_EQ(ip.version, 4);
	CHECK_EQ(ip.ihl, 5);
	CHECK_EQ(ip.tos, TCLASS);
	CHECK_EQ(ip.protocol, IPPROTO_UDP);
	CHECK(!memcmp(&ip.saddr, m->p.node[0].gid.raw + 12, 4), "source");
	CHECK(!memcmp(&ip.daddr, m->p.node[1].gid.raw + 12, 4), "destination");
	CHECK_EQ(ntohs(ip.tot_len), len);
}

/* The global route header of RoCE v1 looks the same */
static void check_ip6(const uint8_t *grh, const struct mail *m, uint32_t len)
{
	struct ip6_hdr ip;

	memcpy(&ip, grh, sizeof(ip));
	CHECK_EQ(ntohl(ip.ip6_flow) >> 20, 0x6 << 8 | TCLASS);
	CHECK_EQ(ip.ip6_nxt, net_is("v1") ? NEXT_HEADER_BTH : IPPROTO_UDP);
	CHECK(!memcmp(&ip.ip6_src, &m->p.node[0].gid, 16), "source");
	CHECK(!memcmp(&ip.ip6_dst, &m->p.node[1].gid, 16), "destination");
	CHECK_EQ(ntohs(ip.ip6_plen) + sizeof(ip), len);
}

/* Headers and ICRC of a datagram with an immediate, from the outer one on */
static uint32_t wire_len(uint32_t len)
{
	uint32_t outer = net_is("v1") ? 40 : net_is("ip6") ? 40 + 8 : 20 + 8;

	return outer + 12 + 8 + 4 + (len + 3) / 4 * 4 + 4;
}

static void mail_check(struct mail *m, uint32_t len)
{
	const uint8_t *buf = m->mem[1].addr;
	struct ibv_wc wc;

	CHECK_WC(m->p.end[1].rcq, len, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	CHECK_EQ(wc.byte_len, GRH + len);
	CHECK_EQ(wc.src_qp, m->p.end[0].qp->qp_num);
	CHECK_EQ(wc.qp_num, m->p.end[1].qp->qp_num);
	CHECK_EQ(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	CHECK_EQ(wc.imm_data, htobe32(0xfeed));
	if (net_is("ip6") || net_is("v1"))
		check_ip6(buf, m, wire_len(len));
	else
		check_ip4(buf, m, wire_len(len));
	CHECK(!memcmp(buf + GRH, m->mem[0].addr, len), "other data");
	CHECK_EQ(buf[GRH + len], 0x77);
}

static void all_lengths(const void *arg)
{
	const unsigned int step = pane_is_slow() ? 97 : 13;
	uint32_t mtu;
	struct mail m;

	mail_open(&m);
	mtu = 128U << m.p.node[0].mtu;
	for (uint32_t len = 0; len <= mtu;
	     len += len < 9 || len + step > mtu ? 1 : step) {
		memset(m.mem[1].addr, 0x77, GRH + mtu + 1);
		random_fill(m.mem[0].addr, len);
		mail_recv(&m, len, GRH + mtu);
		CHECK_EQ(mail_send(&m, len, QKEY), IBV_WC_SUCCESS);
		mail_check(&m, len);
	}
	mail_close(&m);
}

static void too_long(const void *arg)
{
	struct mail m;

	mail_open(&m);
	CHECK_EQ(mail_send(&m, (128U << m.p.node[0].mtu) + 1, QKEY),
		 IBV_WC_LOC_LEN_ERR);
	mail_close(&m);
}

/* Room, data and canaries in pieces of any size */
static void pieces(const void *arg)
{
	struct ibv_sge sge[32];
	struct mail m;
	uint8_t *at;

	mail_open(&m);
	for (unsigned int i = 0; i < ARRAY_SIZE(sge); i++)
		sge[i] = sge_of(&m.mem[1], i * 100, i < 20 ? 3 : 50);
	memset(m.mem[1].addr, 0x77, 4096);
	CHECK_OK(end_post_recv(&m.p.end[1], sge, ARRAY_SIZE(sge), 1));
	CHECK_EQ(mail_send(&m, 500, QKEY), IBV_WC_SUCCESS);
	CHECK_WC(m.p.end[1].rcq, 1, IBV_WC_SUCCESS, NULL);
	/* the header ends with byte 0 of the 14th element */
	CHECK(!memcmp(m.mem[1].addr + 1301, m.mem[0].addr, 2), "other data");
	at = m.mem[1].addr + 2000;
	CHECK(!memcmp(at, m.mem[0].addr + 20, 50), "other data");
	CHECK_EQ(at[50], 0x77);
	mail_close(&m);
}

/* An answer to where the completion and the header say it came from */
static void answer(const void *arg)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct mail m;

	mail_open(&m);
	mail_recv(&m, 1, GRH + 100);
	sge = sge_of(&m.mem[0], 4096, GRH + 100);
	CHECK_OK(end_post_recv(&m.p.end[0], &sge, 1, 2));
	CHECK_EQ(mail_send(&m, 100, QKEY), IBV_WC_SUCCESS);
	CHECK_WC(m.p.end[1].rcq, 1, IBV_WC_SUCCESS, &wc);
	ah = ibv_create_ah_from_wc(m.p.node[1].pd, &wc,
				   (struct ibv_grh *)m.mem[1].addr, 1);
	CHECK(ah, "%s", strerror(errno));
	sge = sge_of(&m.mem[1], GRH, 100);
	wr = mail_wr(&m, &sge, QKEY);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = wc.src_qp;
	CHECK_EQ(end_do(&m.p.end[1], wr), IBV_WC_SUCCESS);
	CHECK_WC(m.p.end[0].rcq, 2, IBV_WC_SUCCESS, &wc);
	CHECK_EQ(wc.src_qp, m.p.end[1].qp->qp_num);
	CHECK(!memcmp(m.mem[0].addr + 4096 + GRH, m.mem[0].addr, 100),
	      "other data");
	CHECK_OK(ibv_destroy_ah(ah));
	mail_close(&m);
}

/* ---- what does not arrive -------------------------------------------- */

static void counted(struct mail *m, const char *name, uint64_t before)
{
	struct spin spin = {};

	while (counter_read(&m->p.node[1], name) != before + 1)
		spin_turn(&spin);
}

/* The sender has sent it; the receiver drops it, counts it, and goes on */
static void dropped(const void *arg)
{
	uint64_t before;
	struct mail m;

	mail_open(&m);
	before = counter_read(&m.p.node[1], "rx_ud_no_recv");
	CHECK_EQ(mail_send(&m, 10, QKEY), IBV_WC_SUCCESS);
	counted(&m, "rx_ud_no_recv", before);

	mail_recv(&m, 50, GRH + 50);
	before = counter_read(&m.p.node[1], "rx_ud_length");
	CHECK_EQ(mail_send(&m, 51, QKEY), IBV_WC_SUCCESS);
	counted(&m, "rx_ud_length", before);
	before = counter_read(&m.p.node[1], "rx_qkey");
	CHECK_EQ(mail_send(&m, 50, QKEY + 1), IBV_WC_SUCCESS);
	counted(&m, "rx_qkey", before);

	/* the receive request is still there */
	memset(m.mem[1].addr, 0x77, 100);
	CHECK_EQ(mail_send(&m, 50, QKEY), IBV_WC_SUCCESS);
	mail_check(&m, 50);
	mail_close(&m);
}

/* Memory that the receiver may not use is its own fault, and ends its QP */
static void refused(const void *arg)
{
	uint64_t before;
	struct ibv_sge sge;
	struct mail m;

	mail_open(&m);
	sge = sge_of(&m.mem[1], 0, GRH + 50);
	sge.lkey ^= 0xff;
	CHECK_OK(end_post_recv(&m.p.end[1], &sge, 1, 1));
	mail_recv(&m, 2, GRH + 50);
	before = counter_read(&m.p.node[1], "local_prot_err");
	CHECK_EQ(mail_send(&m, 50, QKEY), IBV_WC_SUCCESS);
	CHECK_WC(m.p.end[1].rcq, 1, IBV_WC_LOC_PROT_ERR, NULL);
	CHECK_WC(m.p.end[1].rcq, 2, IBV_WC_WR_FLUSH_ERR, NULL);
	counted(&m, "local_prot_err", before);
	mail_close(&m);
}

/* A datagram is not kept until its memory is there, but the memory comes */
static void on_demand(const void *arg)
{
	struct spin spin = {};
	struct ibv_wc wc;
	struct mail m;

	mail_open(&m);
	if (!node_has_odp(&m.p.node[1]))
		pane_skip("no memory on demand in this kernel");
	region_close(&m.mem[1]);
	region_open(&m.mem[1], m.p.node[1].pd, 64 * 1024, 0,
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	CHECK_OK(madvise(m.mem[1].addr, m.mem[1].len, MADV_DONTNEED) ? errno :
								       0);
	mail_recv(&m, 1, GRH + 50);
	do {
		CHECK_EQ(mail_send(&m, 50, QKEY), IBV_WC_SUCCESS);
		spin_turn(&spin);
	} while (!ibv_poll_cq(m.p.end[1].rcq, 1, &wc));
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, GRH + 50);
	CHECK(!memcmp((uint8_t *)m.mem[1].addr + GRH, m.mem[0].addr, 50),
	      "other data");
	mail_close(&m);
}

/* With the upper bit set, the QP's own Q_Key is sent */
static void controlled_qkey(const void *arg)
{
	struct mail m;

	mail_open(&m);
	memset(m.mem[1].addr, 0x77, 100);
	mail_recv(&m, 50, GRH + 50);
	CHECK_EQ(mail_send(&m, 50, 0x80000000), IBV_WC_SUCCESS);
	mail_check(&m, 50);
	mail_close(&m);
}

/* The number of an address handle of another domain opens nothing */
static void foreign_handle(const void *arg)
{
	struct ibv_send_wr wr;
	struct ibv_pd *own;
	struct ibv_sge sge;
	struct mail m;

	mail_open(&m);
	own = m.p.node[0].pd;
	m.p.node[0].pd = ibv_alloc_pd(m.p.node[0].ctx);
	CHECK(m.p.node[0].pd, "%s", strerror(errno));
	sge = sge_of(&m.mem[0], 0, 10);
	wr = mail_wr(&m, &sge, QKEY);
	wr.wr.ud.ah = node_make_ah(&m.p.node[0], &m.p.node[1].gid, TCLASS);
	CHECK_EQ(end_do(&m.p.end[0], wr), IBV_WC_LOC_QP_OP_ERR);
	CHECK_OK(ibv_destroy_ah(wr.wr.ud.ah));
	CHECK_OK(ibv_dealloc_pd(m.p.node[0].pd));
	m.p.node[0].pd = own;
	mail_close(&m);
}

/* ---- what is posted is sent ------------------------------------------ */

#define BURST	16	/* datagrams, posted one by one, nobody looking */

static void burst_expect(struct mail *m)
{
	for (unsigned int i = 0; i < BURST; i++)
		mail_recv(m, i, GRH + 1);
}

static void burst_send(struct mail *m)
{
	struct ibv_sge sge = sge_of(&m->mem[0], 0, 1);
	struct ibv_send_wr wr = mail_wr(m, &sge, QKEY), *bad;

	for (unsigned int i = 0; i < BURST; i++)
		CHECK_OK(ibv_post_send(m->p.end[0].qp, &wr, &bad));
}

static void burst_arrives(struct mail *m)
{
	for (unsigned int i = 0; i < BURST; i++)
		CHECK_WC(m->p.end[1].rcq, i, IBV_WC_SUCCESS, NULL);
}

/*
 * Programs ask for no completion of their last datagrams, and take away what
 * they were sent with at once: mckey is one.
 */
static void handle_goes(const void *arg)
{
	struct mail m;

	mail_open(&m);
	for (unsigned int i = 0; i < 100; i++) {
		burst_expect(&m);
		burst_send(&m);
		CHECK_OK(ibv_destroy_ah(m.ah[0]));
		burst_arrives(&m);
		m.ah[0] = node_make_ah(&m.p.node[0], &m.p.node[1].gid, TCLASS);
		/* the requests are given back with the next completion */
		mail_recv(&m, BURST, GRH + 1);
		CHECK_EQ(mail_send(&m, 1, QKEY), IBV_WC_SUCCESS);
		CHECK_WC(m.p.end[1].rcq, BURST, IBV_WC_SUCCESS, NULL);
	}
	mail_close(&m);
}

static void sender_goes(const void *arg)
{
	for (unsigned int i = 0; i < (pane_is_slow() ? 10 : 50); i++) {
		struct mail m;

		mail_open(&m);
		burst_expect(&m);
		burst_send(&m);
		CHECK_OK(ibv_destroy_qp(m.p.end[0].qp));
		m.p.end[0].qp = NULL;
		burst_arrives(&m);
		mail_close(&m);
	}
}

/* What any two devices can do */
void list_datagrams_plain(void)
{
	pane_test(V_APIS, all_lengths, NULL, "datagrams of all lengths");
	pane_test(0, pieces, NULL, "a datagram in pieces");
	pane_test(0, answer, NULL, "a datagram is answered");
}

void list_datagrams(void)
{
	pane_test(V_APIS | V_PATHS, all_lengths, NULL, "datagrams of all lengths");
	pane_test(0, too_long, NULL, "a datagram that is too long");
	pane_test(0, pieces, NULL, "a datagram in pieces");
	pane_test(V_PATHS, answer, NULL, "a datagram is answered");
	pane_test(0, dropped, NULL, "datagrams that are dropped");
	pane_test(0, refused, NULL, "a datagram to memory that is not the QP's");
	pane_test(0, on_demand, NULL, "a datagram to memory that is not there");
	pane_test(0, controlled_qkey, NULL, "the Q_Key of the QP");
	pane_test(0, foreign_handle, NULL, "an address handle of another domain");
	pane_test(0, handle_goes, NULL, "posted, then the handle is destroyed");
	pane_test(0, sender_goes, NULL, "posted, then the QP is destroyed");
}
