// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_util.h"

#define EP_RECV_WR	64
#define EP_SGE		4
#define EP_INLINE	64

#define SEND_OPS	(IBV_QP_EX_WITH_RDMA_WRITE |			\
			 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |		\
			 IBV_QP_EX_WITH_SEND |				\
			 IBV_QP_EX_WITH_SEND_WITH_IMM |			\
			 IBV_QP_EX_WITH_RDMA_READ |			\
			 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |		\
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |		\
			 IBV_QP_EX_WITH_LOCAL_INV |			\
			 IBV_QP_EX_WITH_BIND_MW |			\
			 IBV_QP_EX_WITH_SEND_WITH_INV)

/* No machine of interest has smaller ones */
#define HUGE_PAGE_MIN	(1 << 20)

/* Until @fd is readable; what did not come is a failure */
void fd_wait(int fd, const char *what)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int ret;

	do {
		ret = poll(&pfd, 1, pane_deadline_ms());
	} while (ret < 0 && errno == EINTR);
	CHECK(ret == 1, "no %s", what);
}

/* ---- devices --------------------------------------------------------- */

/* RoCE v2 over IPv4: the GID that holds an IPv4 address */
static bool node_find_gid(struct node *n, int num)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entry;

	for (int i = 0; i < num; i++) {
		if (ibv_query_gid_ex(n->ctx, 1, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    memcmp(entry.gid.raw, mapped, sizeof(mapped)))
			continue;
		n->gid = entry.gid;
		n->gid_index = i;
		return true;
	}
	return false;
}

static bool node_is_ready(struct node *n)
{
	struct ibv_port_attr port;

	CHECK_OK(ibv_query_port(n->ctx, 1, &port));
	n->mtu = port.active_mtu;
	return port.state == IBV_PORT_ACTIVE &&
	       node_find_gid(n, port.gid_tbl_len);
}

/* With a device just made, addresses and link come a little later */
void node_open_device(struct node *n, struct ibv_device *dev)
{
	struct ibv_async_event event;

	memset(n, 0, sizeof(*n));
	n->ctx = ibv_open_device(dev);
	CHECK(n->ctx, "%s", strerror(errno));
	while (!node_is_ready(n)) {
		fd_wait(n->ctx->async_fd, "address of the device");
		CHECK_OK(ibv_get_async_event(n->ctx, &event));
		ibv_ack_async_event(&event);
	}
	n->pd = ibv_alloc_pd(n->ctx);
	CHECK(n->pd, "%s", strerror(errno));
}

void node_open_owner(struct node *n)
{
	node_open_device(n, pane_devices[0]);
}

void node_open_peer(struct node *n)
{
	node_open_device(n, pane_devices[pane_cfg.loopback ? 0 : 1]);
}

void node_close(struct node *n)
{
	CHECK_OK(ibv_dealloc_pd(n->pd));
	CHECK_OK(ibv_close_device(n->ctx));
}

/* ---- memory ---------------------------------------------------------- */

static void region_map(struct region *r, size_t len, size_t offset, int flags)
{
	r->len = len;
	r->map_len = offset + len;
	r->map = mmap(NULL, r->map_len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	r->addr = (uint8_t *)r->map + offset;
}

static void region_reg(struct region *r, struct ibv_pd *pd, int access)
{
	r->mr = ibv_reg_mr(pd, r->addr, r->len, access);
	CHECK(r->mr, "%s", strerror(errno));
}

/* Register @len bytes that begin at @offset in a page */
void region_open(struct region *r, struct ibv_pd *pd, size_t len,
		 size_t offset, int access)
{
	region_map(r, len, offset, 0);
	CHECK(r->map != MAP_FAILED, "%s", strerror(errno));
	fill_pattern(r->addr, r->len, 0);
	region_reg(r, pd, access);
}

/* Register memory that is there, and stays when the region is closed */
void region_open_at(struct region *r, struct ibv_pd *pd, void *addr,
		    size_t len, int access)
{
	*r = (struct region) { .addr = addr, .len = len };
	region_reg(r, pd, access);
}

/* The number of huge pages in the machine becomes @num; returns what it was */
static long huge_pages_set(long num)
{
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "r+");
	long old = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &old) != 1)
		old = -1;
	rewind(f);
	if (num >= 0)
		fprintf(f, "%ld", num);
	fclose(f);
	return old;
}

/* False if the machine has no huge pages to spare; @len is made of them */
bool region_open_huge(struct region *r, struct ibv_pd *pd, size_t len,
		      int access)
{
	long num = huge_pages_set(-1);

	if (num < 0)
		return false;
	huge_pages_set(num + len / HUGE_PAGE_MIN);
	region_map(r, len, 0, MAP_HUGETLB | MAP_POPULATE);
	/* pages in use stay until they are given back */
	huge_pages_set(num);
	if (r->map == MAP_FAILED)
		return false;
	fill_pattern(r->addr, r->len, 0);
	region_reg(r, pd, access);
	return true;
}

void region_close(struct region *r)
{
	CHECK_OK(ibv_dereg_mr(r->mr));
	if (r->map)
		munmap(r->map, r->map_len);
}

/* Each byte tells its place, over more than a page, and whose turn it was */
static uint8_t pattern_byte(size_t i, unsigned int seed)
{
	return i ^ i >> 8 ^ i >> 16 ^ seed * 151;
}

void fill_pattern(void *addr, size_t len, unsigned int seed)
{
	uint8_t *to = addr;

	for (size_t i = 0; i < len; i++)
		to[i] = pattern_byte(i, seed);
}

bool has_pattern(const void *addr, size_t len, unsigned int seed)
{
	const uint8_t *from = addr;

	for (size_t i = 0; i < len; i++)
		if (from[i] != pattern_byte(i, seed))
			return false;
	return true;
}

/* ---- queue pairs ----------------------------------------------------- */

static struct ibv_cq *cq_open(struct node *n)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(n->ctx);
	struct ibv_cq *cq;

	CHECK(channel, "%s", strerror(errno));
	cq = ibv_create_cq(n->ctx, EP_SEND_WR + EP_RECV_WR, NULL, channel, 0);
	CHECK(cq, "%s", strerror(errno));
	return cq;
}

static void cq_close(struct ibv_cq *cq)
{
	struct ibv_comp_channel *channel = cq->channel;

	CHECK_OK(ibv_destroy_cq(cq));
	CHECK_OK(ibv_destroy_comp_channel(channel));
}

/* A QP for an endpoint that has none, or whose QP was destroyed */
void ep_make_qp(struct endpoint *ep)
{
	struct ibv_qp_init_attr_ex init = {
		.cap = {
			.max_send_wr = EP_SEND_WR,
			.max_recv_wr = EP_RECV_WR,
			.max_send_sge = EP_SGE,
			.max_recv_sge = EP_SGE,
			.max_inline_data = EP_INLINE,
		},
		.qp_type = pane_cfg.qp_type,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = ep->pd,
		.send_ops_flags = SEND_OPS,
		.send_cq = ep->scq,
		.recv_cq = ep->rcq,
	};

	ep->qp = ibv_create_qp_ex(ep->node->ctx, &init);
	CHECK(ep->qp, "%s", strerror(errno));
	ep->qpx = ibv_qp_to_qp_ex(ep->qp);
	CHECK(ep->qpx, "no ibv_wr_ functions");
}

void ep_open(struct endpoint *ep, struct node *n, struct ibv_pd *pd)
{
	*ep = (struct endpoint) {
		.node = n,
		.pd = pd,
		.scq = cq_open(n),
		.rcq = cq_open(n),
		.access = RIGHTS_ALL,
		/* several packets for a message of moderate size */
		.mtu = IBV_MTU_1024,
		.timeout = 14,
		.retry_cnt = 7,
		.psn = (uintptr_t)ep >> 4,
	};
	ep_make_qp(ep);
}

void ep_close(struct endpoint *ep)
{
	CHECK_OK(ibv_destroy_qp(ep->qp));
	cq_close(ep->scq);
	cq_close(ep->rcq);
}

static void ep_to_init(struct endpoint *ep)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ep->access,
	};

	CHECK_OK(ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE |
			       IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       IBV_QP_ACCESS_FLAGS));
}

static void ep_to_rtr(struct endpoint *ep, const struct endpoint *remote)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = ep->mtu,
		.dest_qp_num = remote->qp->qp_num,
		.rq_psn = remote->psn & 0xffffff,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 1,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = remote->node->gid,
				.sgid_index = ep->node->gid_index,
				.hop_limit = 64,
			},
		},
	};

	CHECK_OK(ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			       IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			       IBV_QP_MIN_RNR_TIMER));
}

static void ep_to_rts(struct endpoint *ep)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = ep->psn & 0xffffff,
		.timeout = ep->timeout,
		.retry_cnt = ep->retry_cnt,
		.rnr_retry = 7,
		.max_rd_atomic = 16,
	};

	CHECK_OK(ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
}

/* One end only, from RESET to RTS; the other end may be another's */
void ep_connect_one(struct endpoint *ep, const struct endpoint *remote)
{
	ep_to_init(ep);
	ep_to_rtr(ep, remote);
	ep_to_rts(ep);
}

/* Both are in RESET, then both in RTS */
void ep_connect(struct endpoint *a, struct endpoint *b)
{
	a->psn += 0x1000;
	b->psn += 0x1000;
	ep_to_init(a);
	ep_to_init(b);
	ep_to_rtr(a, b);
	ep_to_rtr(b, a);
	ep_to_rts(a);
	ep_to_rts(b);
}

/* Whatever state they are in, and with nothing left of what they did */
void ep_reconnect(struct endpoint *a, struct endpoint *b)
{
	ep_modify(a, IBV_QPS_RESET);
	ep_modify(b, IBV_QPS_RESET);
	ep_drain(a);
	ep_drain(b);
	ep_connect(a, b);
}

void ep_modify(struct endpoint *ep, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	CHECK_OK(ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE));
}

enum ibv_qp_state ep_state(struct endpoint *ep)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(ep->qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

/* Throw away what stands in the completion queues */
void ep_drain(struct endpoint *ep)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(ep->scq, 1, &wc) > 0)
		;
	while (ibv_poll_cq(ep->rcq, 1, &wc) > 0)
		;
}

/* ---- the usual set-up ------------------------------------------------ */

void duo_open(struct duo *d)
{
	node_open_owner(&d->own);
	node_open_peer(&d->peer);
	duo_link(d, &d->o, &d->p);
	region_open(&d->mem, d->own.pd, DUO_LEN, 0, MR_BINDABLE);
	region_open(&d->buf, d->peer.pd, DUO_LEN, 0, IBV_ACCESS_LOCAL_WRITE);
}

/* Everything must go: a reference that was not given back shows here */
void duo_close(struct duo *d)
{
	duo_unlink(&d->o, &d->p);
	region_close(&d->mem);
	region_close(&d->buf);
	node_close(&d->own);
	node_close(&d->peer);
}

/* Another connection between the same two domains */
void duo_link(struct duo *d, struct endpoint *o, struct endpoint *p)
{
	ep_open(o, &d->own, d->own.pd);
	ep_open(p, &d->peer, d->peer.pd);
	ep_connect(o, p);
}

void duo_unlink(struct endpoint *o, struct endpoint *p)
{
	ep_close(o);
	ep_close(p);
}

/* Refused accesses end a connection: a READ through one of its own */
enum ibv_wc_status duo_probe(struct duo *d, uint64_t raddr, uint32_t rkey)
{
	enum ibv_wc_status status;
	struct endpoint o, p;

	duo_link(d, &o, &p);
	status = ep_read(&p, &d->buf, 1, raddr, rkey);
	duo_unlink(&o, &p);
	return status;
}

/*
 * A WRITE and a READ of @len bytes at @raddr succeed, and mean those at
 * @offset of the owner's memory
 */
void duo_check_access(struct duo *d, struct endpoint *p, uint64_t raddr,
		      uint32_t rkey, size_t offset, size_t len)
{
	static unsigned int seed;

	fill_pattern(d->buf.addr, len, ++seed);
	CHECK_EQ(ep_write(p, &d->buf, len, raddr, rkey), IBV_WC_SUCCESS);
	CHECK(has_pattern(d->mem.addr + offset, len, seed),
	      "other data at %zu", offset);

	fill_pattern(d->mem.addr + offset, len, ++seed);
	CHECK_EQ(ep_read(p, &d->buf, len, raddr, rkey), IBV_WC_SUCCESS);
	CHECK(has_pattern(d->buf.addr, len, seed),
	      "other data from %zu", offset);
}
