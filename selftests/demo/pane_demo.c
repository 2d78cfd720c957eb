// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a memory window is for, told in a screen of text: a peer gets access to
 * a piece of a buffer and to nothing else, and loses it the moment its owner
 * says so. One program plays both ends, each on a device of its own.
 */
#include <pthread.h>
#include <stdio.h>

#include "../kselftest.h"
#include "../rdma/pane_fabric.h"
#include "../rdma/pane_util.h"

#define WINDOW_AT	1024
#define WINDOW_LEN	2048
#define STREAM_MSG	4096

static const char *owner_name, *peer_name;

static const char *verdict(enum ibv_wc_status status)
{
	return status == IBV_WC_SUCCESS ? "done" : ibv_wc_status_str(status);
}

/* The peer writes, and what became of it at both ends */
static void show_write(struct duo *d, const char *what, size_t at, size_t len,
		       const struct ibv_mw *mw)
{
	enum ibv_wc_status status;
	size_t i, changed = 0;

	memset(d->mem.addr, 0, d->mem.len);
	memset(d->buf.addr, 0x5a, len);
	status = ep_write(&d->p, &d->buf, len, region_at(&d->mem, at),
			  mw->rkey);
	for (i = 0; i < d->mem.len; i++)
		changed += d->mem.addr[i] != 0;
	printf("    %s writes bytes %zu..%zu: %-22s %s; bytes changed at %s: %zu\n",
	       peer_name, at, at + len - 1, what, verdict(status), owner_name,
	       changed);
	if (status)
		PANE_AT(ep_reconnect(&d->o, &d->p));
}

static void show_window(struct duo *d, enum ibv_mw_type type)
{
	struct ibv_mw *mw = mw_open(d->own.pd, type);

	mw_bind(&d->o, mw, &d->mem, WINDOW_AT, WINDOW_LEN,
		IBV_ACCESS_REMOTE_WRITE);
	printf("  a type %s window over bytes %d..%d of %zu, remote write only\n",
	       type == IBV_MW_TYPE_1 ? "1" : "2B", WINDOW_AT,
	       WINDOW_AT + WINDOW_LEN - 1, d->mem.len);
	show_write(d, "inside the window,", WINDOW_AT, WINDOW_LEN, mw);
	show_write(d, "one byte too far,", WINDOW_AT + 1, WINDOW_LEN, mw);
	mw_close(mw);
}

/* A peer that writes as fast as it can until it is refused */
struct stream {
	struct duo *d;
	uint32_t rkey;
	unsigned long writes;
	enum ibv_wc_status status;
};

static void *stream_run(void *arg)
{
	struct stream *s = arg;
	struct duo *d = s->d;

	do {
		memset(d->buf.addr, ++s->writes | 1, STREAM_MSG);
		s->status = ep_write(&d->p, &d->buf, STREAM_MSG,
				     region_at(&d->mem, 0), s->rkey);
	} while (!s->status && s->writes < 100000);
	return NULL;
}

/* Bytes that differ from @shadow */
static size_t compare(const struct duo *d, const uint8_t *shadow)
{
	size_t i, differ = 0;

	for (i = 0; i < STREAM_MSG; i++)
		differ += ((volatile uint8_t *)d->mem.addr)[i] != shadow[i];
	return differ;
}

static void show_revoke(struct duo *d)
{
	struct ibv_mw *mw = mw_open(d->own.pd, IBV_MW_TYPE_2);
	struct stream s = { .d = d };
	uint8_t shadow[STREAM_MSG];
	pthread_t thread;

	mw_bind(&d->o, mw, &d->mem, 0, STREAM_MSG, IBV_ACCESS_REMOTE_WRITE);
	s.rkey = mw->rkey;
	if (pthread_create(&thread, NULL, stream_run, &s))
		exit(KSFT_FAIL);
	/* the stream is at work when it has written something */
	while (!((volatile uint8_t *)d->mem.addr)[STREAM_MSG - 1])
		;
	if (ep_local_inv(&d->o, mw->rkey))
		exit(KSFT_FAIL);
	memcpy(shadow, d->mem.addr, STREAM_MSG);
	pthread_join(thread, NULL);
	printf("  a stream of writes through a type 2B window, cut by LOCAL_INV\n");
	printf("    write %lu of the stream: %s\n", s.writes, verdict(s.status));
	printf("    bytes that landed after the completion of LOCAL_INV: %zu\n",
	       compare(d, shadow));
	PANE_AT(ep_reconnect(&d->o, &d->p));
	mw_close(mw);
}

int main(void)
{
	struct duo d;

	pane_cfg.qp_type = IBV_QPT_RC;
	pane_fabric_open();
	owner_name = ibv_get_device_name(pane_devices[0]);
	peer_name = ibv_get_device_name(pane_devices[1]);
	duo_open(&d);
	show_window(&d, IBV_MW_TYPE_1);
	show_window(&d, IBV_MW_TYPE_2);
	show_revoke(&d);
	duo_close(&d);
	return KSFT_PASS;
}
