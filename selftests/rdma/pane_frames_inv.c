// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Invalidates among packets that are sent by hand. A SEND_WITH_INV whose ACK was
 * lost comes again: it is acknowledged again and invalidates nothing, whatever
 * its key opens by then. And a message that is half-way delays no invalidate.
 */
#include <string.h>

#include "../kselftest.h"
#include "pane_frames.h"

#define WIN_OFF		4096
#define WIN_LEN		4096

/**
 * struct inv_case - a window on the stage
 * @t: the stage; its QP is what the window is bound on
 * @mem: memory
 * @mw: type 2 window over a part of it
 * @key: its key, the same with each bind
 */
struct inv_case {
	struct stage t;
	struct region mem;
	struct ibv_mw *mw;
	uint32_t key;
};

/* Post it, and it is done */
static void post_local(struct end *e, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	wr.wr_id = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	CHECK_OK(ibv_post_send(e->qp, &wr, &bad));
	CHECK_WC(e->scq, 1, IBV_WC_SUCCESS, NULL);
}

static void bind_on(struct inv_case *c, struct end *e, struct ibv_mw *mw,
		    uint32_t key)
{
	post_local(e, (struct ibv_send_wr) {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw,
			.rkey = key,
			.bind_info = bind_info(&c->mem, WIN_OFF, WIN_LEN,
					       RIGHTS_RW),
		},
	});
	CHECK_EQ(mw->rkey, key);
}

static void invalidate_on(struct end *e, uint32_t key)
{
	post_local(e, (struct ibv_send_wr) {
		.opcode = IBV_WR_LOCAL_INV,
		.invalidate_rkey = key,
	});
}

static void case_bind(struct inv_case *c)
{
	bind_on(c, &c->t.end, c->mw, c->key);
}

static void case_open(struct inv_case *c)
{
	stage_open(&c->t);
	region_open(&c->mem, c->t.p.node[0].pd, MEM_LEN, 0, MR_BINDABLE);
	c->mw = mw_open(c->t.p.node[0].pd, IBV_MW_TYPE_2);
	c->key = ibv_inc_rkey(c->mw->rkey);
	case_bind(c);
}

static void case_close(struct inv_case *c)
{
	stage_still_works(&c->t);
	mw_close(c->mw);
	region_close(&c->mem);
	stage_close(&c->t);
}

/* Send it; an ACK of it comes, or of what was acknowledged last */
static void case_acked(struct inv_case *c, const struct spec *s, uint32_t psn)
{
	struct seen seen;

	stranger_send(&c->t.s, s);
	stranger_wait(&c->t.s, &seen);
	CHECK_EQ(seen.opcode, ACKNOWLEDGE);
	CHECK_EQ(seen.syndrome, ACK_OK);
	CHECK_EQ(seen.psn, psn & 0xffffff);
}

static struct spec inv_packet(struct inv_case *c, uint8_t opcode)
{
	struct spec s = spec_of(&c->t);

	s.opcode = opcode;
	spec_word(&s, c->key);
	return s;
}

/* The first time, at the next PSN */
static void inv_first_time(struct inv_case *c, const struct spec *s)
{
	struct stage *t = &c->t;
	struct ibv_wc wc;

	stage_note(t);
	case_acked(c, s, t->psn);
	cq_spin(t->end.rcq, &wc);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_INV);
	CHECK_EQ(wc.invalidated_rkey, c->key);
	stage_expect(t, "mw_invalidated");
	t->psn = (t->psn + 1) & 0xffffff;
	stage_recv(t, 4096);
}

/* As if the ACK had been lost: nothing but another ACK */
static void inv_again(struct inv_case *c, const struct spec *s)
{
	struct stage *t = &c->t;
	struct ibv_wc wc;

	stage_note(t);
	case_acked(c, s, t->psn - 1);
	stage_expect(t, "duplicate_request");
	CHECK_EQ(ibv_poll_cq(t->end.rcq, 1, &wc), 0);
	CHECK_EQ(end_state(&t->end), IBV_QPS_RTS);
}

/* The window is open: 16 bytes at its start */
static void window_is_open(struct inv_case *c)
{
	struct stage *t = &c->t;
	struct spec s = spec_of(t);

	s.opcode = WRITE_ONLY;
	spec_reth(&s, region_at(&c->mem, WIN_OFF), c->key, s.len);
	memset(c->mem.addr + WIN_OFF, 0, s.len);
	case_acked(c, &s, t->psn);
	CHECK(!memcmp(c->mem.addr + WIN_OFF, s.payload, s.len), "not written");
	t->psn = (t->psn + 1) & 0xffffff;
}

static void window_is_shut(struct inv_case *c)
{
	struct stage *t = &c->t;
	struct spec s = spec_of(t);

	s.opcode = WRITE_ONLY;
	spec_reth(&s, region_at(&c->mem, WIN_OFF), c->key, s.len);
	memset(c->mem.addr + WIN_OFF, 0, s.len);
	stage_refuses(t, &s, NAK_ACCESS, "sent_rem_access access_key");
	CHECK_EQ(c->mem.addr[WIN_OFF], 0);
}

/* Several times, before and after the next bind with the same key */
static void duplicate_only(const void *arg)
{
	struct inv_case c;
	struct spec s;

	case_open(&c);
	window_is_open(&c);
	s = inv_packet(&c, SEND_ONLY_INV);
	inv_first_time(&c, &s);
	inv_again(&c, &s);
	case_bind(&c);
	inv_again(&c, &s);
	window_is_open(&c);
	inv_again(&c, &s);
	window_is_open(&c);
	/* a new one is another matter */
	s = inv_packet(&c, SEND_ONLY_INV);
	inv_first_time(&c, &s);
	inv_again(&c, &s);
	window_is_shut(&c);
	case_close(&c);
}

/* Of a message of two packets the last one, or both */
static void duplicate_last(const void *arg)
{
	static const uint8_t data[MTU];
	struct spec first, last;
	struct inv_case c;

	case_open(&c);
	first = spec_of(&c.t);
	first.opcode = SEND_FIRST;
	first.apsn = c.t.psn;
	first.payload = data;
	first.len = sizeof(data);
	stranger_send(&c.t.s, &first);
	c.t.psn = (c.t.psn + 1) & 0xffffff;
	last = inv_packet(&c, SEND_LAST_INV);
	inv_first_time(&c, &last);
	case_bind(&c);
	inv_again(&c, &last);
	first.apsn |= BTH_ACKREQ;
	inv_again(&c, &first);
	inv_again(&c, &last);
	window_is_open(&c);
	case_close(&c);
}

/* One that was refused is not repeated either: the QP is in error */
static void duplicate_refused(const void *arg)
{
	struct inv_case c;
	struct seen seen;
	struct ibv_wc wc;
	struct spec s;

	case_open(&c);
	c.key ^= 1;
	s = inv_packet(&c, SEND_ONLY_INV);
	stage_refuses(&c.t, &s, NAK_ACCESS, "sent_rem_access inv_refused");
	cq_spin(c.t.end.rcq, &wc);
	CHECK_EQ(wc.status, IBV_WC_REM_INV_REQ_ERR);
	stage_note(&c.t);
	stranger_send(&c.t.s, &s);
	stage_expect(&c.t, "rx_qp_state");
	CHECK(!stranger_look(&c.t.s, &seen), "answered");
	case_close(&c);
}

/* ---- half-way -------------------------------------------------------- */

static uint8_t half[MTU];

/* The first packet of two, which is in memory when it is acknowledged */
static void write_first(struct inv_case *c)
{
	struct spec s = spec_of(&c->t);

	memset(c->mem.addr + WIN_OFF, 0, 2 * MTU);
	memset(half, 0x77, MTU);
	s.opcode = WRITE_FIRST;
	s.payload = half;
	s.len = MTU;
	spec_reth(&s, region_at(&c->mem, WIN_OFF), c->key, 2 * MTU);
	case_acked(c, &s, c->t.psn);
	CHECK(!memcmp(c->mem.addr + WIN_OFF, half, MTU), "not written");
	c->t.psn = (c->t.psn + 1) & 0xffffff;
}

static struct spec write_last(struct inv_case *c)
{
	struct spec s = spec_of(&c->t);

	s.opcode = WRITE_LAST;
	s.payload = half;
	s.len = MTU;
	return s;
}

/*
 * Windows on the same QP and on another one go; the message, which has all the
 * time of the world, goes on
 */
static void half_way_others(const void *arg)
{
	struct ibv_mw *other[2], *type1;
	struct end *ends[2];
	struct inv_case c;
	struct spec s;

	case_open(&c);
	ends[0] = &c.t.end;
	ends[1] = &c.t.p.end[0];
	type1 = mw_open(c.t.p.node[0].pd, IBV_MW_TYPE_1);
	for (unsigned int i = 0; i < 2; i++) {
		other[i] = mw_open(c.t.p.node[0].pd, IBV_MW_TYPE_2);
		bind_on(&c, ends[i], other[i], other[i]->rkey);
	}
	write_first(&c);
	for (unsigned int i = 0; i < 2; i++) {
		invalidate_on(ends[i], other[i]->rkey);
		bind_on(&c, ends[i], other[i], other[i]->rkey);
		mw_close(other[i]);
	}
	mw_close(type1);
	s = write_last(&c);
	case_acked(&c, &s, c.t.psn);
	CHECK(!memcmp(c.mem.addr + WIN_OFF + MTU, half, MTU), "not written");
	c.t.psn = (c.t.psn + 1) & 0xffffff;
	case_close(&c);
}

/* The message's own window goes at once, and the rest of it finds nothing */
static void half_way_own(const void *arg)
{
	static const uint8_t zeros[MTU];
	const bool *again = arg;
	struct inv_case c;
	struct spec s;

	case_open(&c);
	write_first(&c);
	invalidate_on(&c.t.end, c.key);
	if (*again)
		case_bind(&c);
	s = write_last(&c);
	stage_refuses(&c.t, &s, NAK_ACCESS, "sent_rem_access access_dead");
	CHECK(!memcmp(c.mem.addr + WIN_OFF + MTU, zeros, MTU), "written");
	case_close(&c);
}

static void read_window(struct inv_case *c, uint32_t psn, struct seen *seen)
{
	struct spec s = spec_of(&c->t);

	s.opcode = READ_REQUEST;
	s.apsn = psn;
	s.len = 0;
	spec_reth(&s, region_at(&c->mem, WIN_OFF), c->key, 16);
	stranger_send(&c->t.s, &s);
	stranger_wait(&c->t.s, seen);
	CHECK_EQ(seen->psn, psn);
}

/*
 * A READ that was answered, and is asked for again when its key has been taken
 * back: it is refused. Who asks may have been late, and the key was taken back
 * because it was done: nothing else happens.
 */
static void late_read(const void *arg)
{
	struct inv_case c;
	struct seen seen;
	uint32_t psn;

	case_open(&c);
	psn = c.t.psn;
	read_window(&c, psn, &seen);
	CHECK_EQ(seen.opcode, READ_RESP_ONLY);
	c.t.psn = (c.t.psn + 1) & 0xffffff;
	invalidate_on(&c.t.end, c.key);
	stage_note(&c.t);
	read_window(&c, psn, &seen);
	CHECK_EQ(seen.opcode, ACKNOWLEDGE);
	CHECK_EQ(seen.syndrome, NAK_ACCESS);
	stage_expect(&c.t, "duplicate_request access_dead sent_rem_access");
	stage_alive(&c.t);
	case_close(&c);
}

static const bool once, again = true;

void list_invalidates(void)
{
	pane_test(0, half_way_others, NULL,
		  "LOCAL_INV does not wait for a message to another window");
	pane_test(0, half_way_own, &once,
		  "LOCAL_INV does not wait for a message to its window");
	pane_test(0, half_way_own, &again,
		  "LOCAL_INV, and a bind with the same key, in a message");
	pane_test(0, late_read, NULL, "a duplicate READ whose key is gone");
	pane_test(0, duplicate_only, NULL, "a duplicate SEND_WITH_INV");
	pane_test(0, duplicate_last, NULL,
		  "a duplicate SEND_WITH_INV of two packets");
	pane_test(0, duplicate_refused, NULL,
		  "a duplicate SEND_WITH_INV that was refused");
}
