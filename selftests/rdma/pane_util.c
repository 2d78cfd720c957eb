// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_util.h"

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

bool node_has_odp(const struct node *n)
{
	struct ibv_device_attr_ex attr;

	CHECK_OK(ibv_query_device_ex(n->ctx, NULL, &attr));
	return attr.odp_caps.general_caps & IBV_ODP_SUPPORT;
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

/* Refused accesses end a connection: a READ through one of its own, of RC */
enum ibv_wc_status duo_probe(struct duo *d, uint64_t raddr, uint32_t rkey)
{
	enum ibv_wc_status status;
	struct endpoint o, p;

	ep_open_type(&o, &d->own, d->own.pd, IBV_QPT_RC);
	ep_open_type(&p, &d->peer, d->peer.pd, IBV_QPT_RC);
	ep_connect(&o, &p);
	status = ep_read(&p, &d->buf, 1, raddr, rkey);
	duo_unlink(&o, &p);
	return status;
}

/*
 * A WRITE and, where there is one, a READ of @len bytes at @raddr succeed, and
 * mean those at @offset of the owner's memory
 */
void duo_check_access(struct duo *d, struct endpoint *p, uint64_t raddr,
		      uint32_t rkey, size_t offset, size_t len)
{
	static unsigned int seed;

	fill_pattern(d->buf.addr, len, ++seed);
	CHECK_EQ(ep_write(p, &d->buf, len, raddr, rkey), IBV_WC_SUCCESS);
	CHECK(has_pattern(d->mem.addr + offset, len, seed),
	      "other data at %zu", offset);
	if (p->type == IBV_QPT_UC)
		return;

	fill_pattern(d->mem.addr + offset, len, ++seed);
	CHECK_EQ(ep_read(p, &d->buf, len, raddr, rkey), IBV_WC_SUCCESS);
	CHECK(has_pattern(d->buf.addr, len, seed),
	      "other data from %zu", offset);
}
