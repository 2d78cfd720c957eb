// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Regions over memory that another driver shares as a dma-buf */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_util.h"

#define LEN	(16 * 4096)
#define RIGHTS	(IBV_ACCESS_LOCAL_WRITE | RIGHTS_ALL)

/* ---- somebody who shares memory -------------------------------------- */

/* Of a file in memory; a file descriptor, or -1 */
static int share_file(void)
{
	int dev = open("/dev/udmabuf", O_RDWR), fd = -1;
	struct udmabuf_create create = { .size = LEN };

	if (dev < 0)
		return -1;
	create.memfd = memfd_create("pane", MFD_ALLOW_SEALING);
	if (!ftruncate(create.memfd, LEN) &&
	    !fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		fd = ioctl(dev, UDMABUF_CREATE, &create);
	close(create.memfd);
	close(dev);
	return fd;
}

/* Of the graphics interface, whose headers not every machine has */
struct drm_dumb {
	uint32_t height, width, bpp, flags, handle, pitch;
	uint64_t size;
};

struct drm_prime {
	uint32_t handle, flags;
	int32_t fd;
};

#define DRM_CREATE_DUMB		_IOWR('d', 0xb2, struct drm_dumb)
#define DRM_PRIME_HANDLE_TO_FD	_IOWR('d', 0x2d, struct drm_prime)

/* Of a graphics driver that has no hardware */
static int share_graphics(void)
{
	struct drm_dumb dumb = {
		.width = 4096, .height = LEN / 4096, .bpp = 8,
	};
	struct drm_prime prime = { .flags = O_CLOEXEC | O_RDWR };
	int dev;

	pane_shell("modprobe -q vgem", "");
	dev = open("/dev/dri/card0", O_RDWR);
	if (dev < 0)
		return -1;
	prime.fd = -1;
	if (!ioctl(dev, DRM_CREATE_DUMB, &dumb)) {
		prime.handle = dumb.handle;
		if (ioctl(dev, DRM_PRIME_HANDLE_TO_FD, &prime))
			prime.fd = -1;
	}
	close(dev);
	return prime.fd;
}

static int share(void)
{
	int fd = share_file();

	if (fd < 0)
		fd = share_graphics();
	if (fd < 0)
		pane_skip("nobody has a dma-buf in this kernel");
	return fd;
}

/**
 * struct shared - memory that is shared, and a region of the owner's over it
 * @d: the ends
 * @fd: the dma-buf
 * @mem: it, as its owner sees it
 * @mr: the region
 */
struct shared {
	struct duo d;
	int fd;
	uint8_t *mem;
	struct ibv_mr *mr;
};

/* The region is @len bytes from @off on, and has the address @iova */
static void shared_open(struct shared *t, size_t off, size_t len, uint64_t iova)
{
	duo_open(&t->d);
	t->fd = share();
	t->mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	CHECK(t->mem != MAP_FAILED, "%s", strerror(errno));
	t->mr = ibv_reg_dmabuf_mr(t->d.own.pd, off, len, iova, t->fd, RIGHTS);
	CHECK(t->mr, "%s", strerror(errno));
}

static void shared_close(struct shared *t)
{
	CHECK_OK(ibv_dereg_mr(t->mr));
	munmap(t->mem, LEN);
	duo_close(&t->d);
}

/* ---- tests ----------------------------------------------------------- */

static void traffic_at(size_t off, size_t len, uint64_t iova)
{
	size_t part = len < DUO_LEN ? len : DUO_LEN;
	struct shared t;
	struct duo *d = &t.d;

	shared_open(&t, off, len, iova);
	close(t.fd);	/* the region keeps it */

	fill_pattern(d->buf.addr, part, 1);
	CHECK_EQ(ep_write(&d->p, &d->buf, part, iova, t.mr->rkey),
		 IBV_WC_SUCCESS);
	CHECK(has_pattern(t.mem + off, part, 1), "other data");
	fill_pattern(t.mem + off, part, 2);
	CHECK_EQ(ep_read(&d->p, &d->buf, part, iova, t.mr->rkey),
		 IBV_WC_SUCCESS);
	CHECK(has_pattern(d->buf.addr, part, 2), "other data");
	CHECK_EQ(ep_write(&d->p, &d->buf, 1, iova + len, t.mr->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	shared_close(&t);
}

static void traffic(const void *arg)
{
	traffic_at(0, LEN, 0);
	traffic_at(0, LEN, 0x7000000000);
	traffic_at(4096 + 100, 3 * 4096, 100);
	traffic_at(LEN - 1, 1, 4095);
}

/* It is where a message goes */
static void local(const void *arg)
{
	struct shared t;
	struct duo *d = &t.d;
	struct ibv_wc wc;

	shared_open(&t, 0, LEN, 0);
	fill_pattern(d->buf.addr, LEN / 2, 3);
	CHECK_OK(ep_post_recv(&d->o, 5, (void *)8, LEN / 2, t.mr->lkey));
	CHECK_EQ(ep_do(&d->p, (struct req) {
		.opcode = IBV_WR_SEND,
		.addr = d->buf.addr,
		.len = LEN / 2,
		.lkey = d->buf.mr->lkey,
	}), IBV_WC_SUCCESS);
	CHECK_WC(d->o.rcq, 5, IBV_WC_SUCCESS, &wc);
	CHECK(has_pattern(t.mem + 8, LEN / 2, 3), "other data");
	close(t.fd);
	shared_close(&t);
}

static void refuse(struct duo *d, int fd, uint64_t off, size_t len,
		   uint64_t iova, int err)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(d->own.pd, off, len, iova, fd,
					      RIGHTS);

	CHECK(!mr, "%llu bytes at %llu", (unsigned long long)len,
	      (unsigned long long)off);
	CHECK_EQ(errno, err);
}

static void refused(const void *arg)
{
	int file = memfd_create("pane", 0);
	struct shared t;
	struct duo *d = &t.d;

	shared_open(&t, 0, LEN, 0);
	refuse(d, file, 0, 4096, 0, EINVAL);
	refuse(d, 999, 0, 4096, 0, EBADF);
	refuse(d, t.fd, 0, LEN + 1, 0, EINVAL);
	refuse(d, t.fd, LEN, 1, 0, EINVAL);
	refuse(d, t.fd, 0, 0, 0, EINVAL);
	refuse(d, t.fd, 4096, SIZE_MAX, 0, EINVAL);
	refuse(d, t.fd, 0, 8192, UINT64_MAX - 4095, EINVAL);
	CHECK(ibv_rereg_mr(t.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   IBV_ACCESS_LOCAL_WRITE), "re-registered");
	CHECK_EQ(errno, EINVAL);	/* says libibverbs */
	close(file);
	close(t.fd);
	shared_close(&t);
}

static void list(void)
{
	pane_test(V_PATHS, traffic, NULL, "remote access to a dma-buf");
	pane_test(0, local, NULL, "SEND to a dma-buf");
	pane_test(0, refused, NULL, "what is refused");
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
