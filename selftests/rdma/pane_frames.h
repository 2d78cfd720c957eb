/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The stage on which frames made by hand are sent to a device: the device, an
 * honest connection that must not notice, and a stranger with a packet socket.
 */
#ifndef PANE_FRAMES_H
#define PANE_FRAMES_H

#include "pane_counters.h"
#include "pane_frames_build.h"
#include "pane_verbs.h"

#define MTU		1024
/* As in rdma/ib_user_verbs.h, which may be older */
#define CAP_ATOMIC_WRITE	(1ULL << 40)
#define QKEY		0x77007
#define MEM_LEN		(64 * 1024)
#define RECVS		8

/**
 * struct stranger - who sends frames by hand
 * @fd: packet socket
 * @gid: its address
 * @mac: likewise
 * @their_mac: the device's
 */
struct stranger {
	int fd;
	union ibv_gid gid;
	uint8_t mac[6];
	uint8_t their_mac[6];
};

/**
 * struct stage - the device, the stranger, and an honest connection
 * @p: honest connection between the two devices
 * @end: QP of the first device that is connected to the stranger
 * @mem: memory of the first device
 * @s: the stranger
 * @qpn: number that the stranger's QP has, to the device
 * @psn: of the next request of the stranger
 * @sq_psn: of the first request of the device
 * @before: counters
 */
struct stage {
	struct pair p;
	struct end end;
	struct region mem;
	struct stranger s;
	uint32_t qpn;
	uint32_t psn;
	uint32_t sq_psn;
	struct counters before;
};

int netns_enter(const char *netns);
void netns_leave(int own);

void stranger_open(struct stranger *s, int vnet_hdr);
void stranger_send(struct stranger *s, const struct spec *spec);
bool stranger_look(struct stranger *s, struct seen *seen);
void stranger_wait(struct stranger *s, struct seen *seen);
void stranger_hears_nothing(struct stranger *s);

struct qp_opts stage_opts(void);
void stage_open(struct stage *t);
void stage_open_with(struct stage *t, struct qp_opts qo);
void stage_close(struct stage *t);
void stage_join(struct stage *t, const struct qp_opts *qo);
void stage_connect(struct stage *t, const struct qp_opts *qo);
void stage_recv(struct stage *t, uint32_t len);

struct spec spec_of(struct stage *t);

void stage_note(struct stage *t);
uint64_t stage_moved(struct stage *t, const char *name);
void stage_counted(struct stage *t, const char *name, uint64_t times);
void stage_expect(struct stage *t, const char *names);

void stage_alive(struct stage *t);
void stage_drops(struct stage *t, const struct spec *s, const char *counter);
void stage_takes(struct stage *t, const struct spec *s);
void stage_refuses(struct stage *t, const struct spec *s, uint8_t syndrome,
		   const char *counters);
void stage_still_works(struct stage *t);

static inline uint64_t mem_at(const struct stage *t, size_t offset)
{
	return region_at(&t->mem, offset);
}

/* Ways to spoil a frame whose ICRC is there, so that it is wrong */
#define SPOILERS	6
extern void (*const spoilers[SPOILERS])(struct built *b);

/* Each file's tests */
void list_drops(void);
void list_requests(void);
void list_answers(void);
void list_invalidates(void);
void list_others(void);

#endif
