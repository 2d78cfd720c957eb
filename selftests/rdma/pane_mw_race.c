// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The revocation guarantee: when the end of an access right is visible to the
 * owner, not one more byte is read or written through it. A peer streams
 * through a window that the owner takes away by one of several ways, thousands
 * of times.
 *
 * For WRITEs and atomics the memory is copied as soon as the end is seen, and
 * compared with the copy when the stream has ended. For READs the memory is
 * overwritten with a secret then, of which the reader may not have a byte.
 */
#include <errno.h>

#include "../kselftest.h"
#include "pane_stream.h"
#include "pane_util.h"

#define ROUNDS		500
#define ROUNDS_SLOW	60
#define WIN_LEN		(16 * 1024)
#define SECRET		0xee	/* nowhere in memory before it is written */

/**
 * struct race - a window and a stream
 * @own: owner's device
 * @o: QP that the stream comes to
 * @o2: owner's other QP, connected to nobody; what it does races with @o
 * @mem: memory
 * @open: another registration of it, which is open to the network
 * @mw: window over all of it
 * @s: the stream
 * @shadow: copy of the memory when the right had ended
 */
struct race {
	struct node own;
	struct endpoint o, o2;
	struct region mem;
	struct ibv_mr *open;
	struct ibv_mw *mw;
	struct stream s;
	uint8_t shadow[WIN_LEN];
};

/**
 * struct revocation - a way to end a right
 * @name: of it
 * @types: V_T1, V_T2B
 * @revoke: does it, and returns when the end is visible
 * @mute: nobody is left to answer the peer
 * @inv_at: the peer's request that does it
 */
struct revocation {
	const char *name;
	unsigned int types;
	void (*revoke)(struct race *r);
	bool mute;
	unsigned int inv_at;
};

struct race_row {
	const struct revocation *how;
	enum ibv_wr_opcode opcode;
};

static unsigned int race_rounds(void)
{
	return pane_is_slow() ? ROUNDS_SLOW : ROUNDS;
}

/* A moment that varies, so that the end meets the stream everywhere */
static void pause_some(unsigned int round, unsigned int most)
{
	for (volatile unsigned int n = round * 7919 % most; n; n--)
		;
}

/* ---- ways to revoke -------------------------------------------------- */

static void await(struct ibv_cq *cq, uint64_t id)
{
	struct ibv_wc wc;

	cq_spin(cq, &wc);
	CHECK_EQ(wc.wr_id, id);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
}

static void by_local_inv(struct race *r)
{
	struct req req = {
		.opcode = IBV_WR_LOCAL_INV,
		.flags = IBV_SEND_SIGNALED,
		.id = 1,
		.ex = r->mw->rkey,
	};

	CHECK_OK(ep_post(&r->o, &req, 1));
	await(r->o.scq, 1);
}

static void by_bind(struct race *r, size_t len)
{
	struct ibv_mw_bind bind = {
		.wr_id = 2,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = bind_info(&r->mem, 0, len, RIGHTS_ALL),
	};

	CHECK_OK(ibv_bind_mw(r->o2.qp, r->mw, &bind));
	await(r->o2.scq, 2);
}

static void by_unbind(struct race *r)
{
	by_bind(r, 0);
}

static void by_rebind(struct race *r)
{
	by_bind(r, 8);
}

static void by_dealloc(struct race *r)
{
	mw_close(r->mw);
	r->mw = NULL;
}

/* No window, but the guarantee is the same */
static void by_dereg(struct race *r)
{
	CHECK_OK(ibv_dereg_mr(r->open));
	r->open = NULL;
}

static void by_destroy(struct race *r)
{
	CHECK_OK(ibv_destroy_qp(r->o.qp));
	r->o.qp = NULL;
}

static void by_reset(struct race *r)
{
	ep_modify(&r->o, IBV_QPS_RESET);
}

static void by_send_inv(struct race *r)
{
	await(r->o.rcq, STREAM_INV_ID);
}

static const struct revocation revocations[] = {
	{ "LOCAL_INV", V_T2B, by_local_inv, false, 0 },
	{ "SEND_WITH_INV", V_T2B, by_send_inv, false, 6 },
	{ "unbind", V_T1, by_unbind, false, 0 },
	{ "rebind", V_T1, by_rebind, false, 0 },
	{ "dealloc_mw", V_T1 | V_T2B, by_dealloc, false, 0 },
	{ "dereg_mr", V_T1, by_dereg, false, 0 },
	{ "destroy_qp", V_T2B, by_destroy, true, 0 },
	{ "RESET", V_T2B, by_reset, true, 0 },
};

/* ---- rounds ---------------------------------------------------------- */

/* All but the stream */
static void owner_open(struct race *r)
{
	node_open_owner(&r->own);
	ep_open(&r->o, &r->own, r->own.pd);
	ep_open(&r->o2, &r->own, r->own.pd);
	ep_connect_one(&r->o2, &r->o2);
	/* the longest copies there are */
	r->o.mtu = r->own.mtu;
	region_open(&r->mem, r->own.pd, WIN_LEN, 0, MR_BINDABLE);
	memset(r->mem.addr, 0, WIN_LEN);
}

static void race_open(struct race *r)
{
	memset(r, 0, sizeof(*r));
	stream_open(&r->s);
	owner_open(r);
}

static void owner_close(struct race *r)
{
	if (r->mw)
		mw_close(r->mw);
	region_close(&r->mem);
	if (!r->o.qp)
		ep_make_qp(&r->o);
	ep_close(&r->o);
	ep_close(&r->o2);
	node_close(&r->own);
}

static void race_close(struct race *r)
{
	stream_close(&r->s);
	owner_close(r);
}

/* Bytes that differ from place to place, none of them the secret */
static void fill_random(uint8_t *to, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		do {
			to[i] = rand_r(&seed);
		} while (to[i] == SECRET);
}

/* All as before, but for what a revocation ends for good */
static void round_begin(struct race *r, const struct race_row *row,
			unsigned int round)
{
	struct stream_order order = {
		.opcode = row->opcode,
		.va = region_at(&r->mem, 0),
		.len = WIN_LEN,
		.seed = round,
		.inv_at = row->how->inv_at,
	};

	if (!r->o.qp)
		ep_make_qp(&r->o);
	if (!r->mw)
		r->mw = mw_open(r->own.pd, pane_cfg.mw_type);
	stream_connect(&r->s, &r->o);
	if (row->how->inv_at)
		CHECK_OK(ep_post_recv(&r->o, STREAM_INV_ID, NULL, 0, 0));
	if (row->how->revoke == by_dereg) {
		r->open = ibv_reg_mr(r->own.pd, r->mem.addr, WIN_LEN,
				     MR_BINDABLE | RIGHTS_ALL);
		CHECK(r->open, "%s", strerror(errno));
		order.rkey = r->open->rkey;
	} else {
		mw_bind(&r->o, r->mw, &r->mem, 0, WIN_LEN, RIGHTS_ALL);
		order.rkey = r->mw->rkey;
	}
	stream_start(&r->s, &order);
	if (row->how->inv_at)
		return;
	stream_flowing(&r->s, 1 + round % 3);
	pause_some(round, 20000);
}

static void round_end(struct race *r, const struct revocation *how)
{
	if (how->mute)
		stream_abort(&r->s);
	CHECK_EQ(stream_join(&r->s), how->mute ? IBV_WC_WR_FLUSH_ERR :
						 IBV_WC_REM_ACCESS_ERR);
}

static void round_write(struct race *r, const struct revocation *how)
{
	how->revoke(r);
	memcpy(r->shadow, r->mem.addr, WIN_LEN);
	round_end(r, how);
	CHECK(!memcmp(r->shadow, r->mem.addr, WIN_LEN),
	      "written after the end");
}

static void round_read(struct race *r, const struct revocation *how)
{
	how->revoke(r);
	memset(r->mem.addr, SECRET, WIN_LEN);
	round_end(r, how);
	CHECK(!memchr(r->s.sh->buf, SECRET, STREAM_BUF),
	      "read after the end");
	memset(r->mem.addr, 0, WIN_LEN);
}

static void test_race(const void *arg)
{
	const struct race_row *row = arg;
	unsigned int rounds = race_rounds();
	static struct race r;

	race_open(&r);
	fill_random(r.s.sh->buf, STREAM_BUF, 1);
	for (unsigned int i = 0; i < rounds; i++) {
		round_begin(&r, row, i);
		if (row->opcode == IBV_WR_RDMA_READ)
			round_read(&r, row->how);
		else
			round_write(&r, row->how);
	}
	race_close(&r);
}

/* ---- several peers --------------------------------------------------- */

#define NUM_PEERS	4

/**
 * struct crowd - several peers with one window of type 1
 * @r: what there is of it but the peers; its own stream is not used
 * @o: owner's ends
 * @s: the streams
 */
struct crowd {
	struct race r;
	struct endpoint o[NUM_PEERS];
	struct stream s[NUM_PEERS];
};

static const enum ibv_wr_opcode crowd_opcodes[NUM_PEERS] = {
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
	IBV_WR_RDMA_WRITE,
};

static void crowd_open(struct crowd *c)
{
	memset(c, 0, sizeof(*c));
	owner_open(&c->r);
	for (unsigned int i = 0; i < NUM_PEERS; i++) {
		stream_open(&c->s[i]);
		ep_open(&c->o[i], &c->r.own, c->r.own.pd);
		c->o[i].mtu = c->r.own.mtu;
		/* so small that no atomic makes the secret of it */
		fill_random(c->s[i].sh->buf, STREAM_BUF, i);
		for (unsigned int j = 0; j < STREAM_BUF; j++)
			c->s[i].sh->buf[j] &= 0x3f;
	}
}

static void crowd_close(struct crowd *c)
{
	for (unsigned int i = 0; i < NUM_PEERS; i++) {
		stream_close(&c->s[i]);
		ep_close(&c->o[i]);
	}
	owner_close(&c->r);
}

static void crowd_start(struct crowd *c, unsigned int round)
{
	struct stream_order order = {
		.va = region_at(&c->r.mem, 0),
		.len = WIN_LEN,
	};

	if (!c->r.mw)
		c->r.mw = mw_open(c->r.own.pd, IBV_MW_TYPE_1);
	memset(c->r.mem.addr, 0, WIN_LEN);
	mw_bind(&c->r.o2, c->r.mw, &c->r.mem, 0, WIN_LEN, RIGHTS_ALL);
	order.rkey = c->r.mw->rkey;
	for (unsigned int i = 0; i < NUM_PEERS; i++) {
		order.opcode = crowd_opcodes[i];
		order.seed = round * NUM_PEERS + i;
		stream_connect(&c->s[i], &c->o[i]);
		stream_start(&c->s[i], &order);
	}
	for (unsigned int i = 0; i < NUM_PEERS; i++)
		stream_flowing(&c->s[i], 1);
	pause_some(round, 20000);
}

/*
 * When the end is visible the memory is filled with the secret: nobody writes
 * there any more, and nobody has read it.
 */
static void crowd_round(struct crowd *c, const struct revocation *how)
{
	how->revoke(&c->r);
	memset(c->r.mem.addr, SECRET, WIN_LEN);
	for (unsigned int i = 0; i < NUM_PEERS; i++)
		CHECK_EQ(stream_join(&c->s[i]), IBV_WC_REM_ACCESS_ERR);
	for (unsigned int i = 0; i < WIN_LEN; i++)
		CHECK(c->r.mem.addr[i] == SECRET, "written after the end");
	for (unsigned int i = 0; i < NUM_PEERS; i++)
		CHECK(!memchr(c->s[i].sh->buf, SECRET, STREAM_BUF),
		      "read after the end");
}

static void test_crowd(const void *arg)
{
	/* with so many processes each takes its time */
	unsigned int rounds = race_rounds() / 8;
	static struct crowd c;

	crowd_open(&c);
	for (unsigned int i = 0; i < rounds; i++) {
		crowd_start(&c, i);
		crowd_round(&c, arg);
	}
	crowd_close(&c);
}

/* ---- the same key, another binding ----------------------------------- */

#define LONG_LEN	STREAM_BUF
#define LONG_ROUNDS	100
#define LONG_ROUNDS_SLOW	15

/* Post LOCAL_INV and a bind with the key it had, to other memory */
static void rebind_same_key(struct race *r, const struct region *to)
{
	struct req reqs[2] = {
		{ .opcode = IBV_WR_LOCAL_INV, .ex = r->mw->rkey },
		{
			.opcode = IBV_WR_BIND_MW,
			.flags = IBV_SEND_SIGNALED,
			.id = 4,
			.mw = r->mw,
			.rkey = r->mw->rkey,
			.bind = bind_info(to, 0, LONG_LEN, RIGHTS_RW |
					  IBV_ACCESS_ZERO_BASED),
		},
	};

	CHECK_OK(ep_post(&r->o, reqs, 2));
	await(r->o.scq, 4);
}

/* Until the first byte of the message has come, and a moment more */
static void write_begun(const uint8_t *first, unsigned int round)
{
	struct spin spin = {};

	while (__atomic_load_n(first, __ATOMIC_ACQUIRE) == 1)
		spin_turn(&spin);
	pause_some(round, 20000);
}

static bool all_bytes(const uint8_t *from, size_t len, uint8_t byte)
{
	for (size_t i = 0; i < len; i++)
		if (from[i] != byte)
			return false;
	return true;
}

/* A message that began under the old binding: nothing of it is in the new one */
static void check_write(const struct region *is)
{
	CHECK(all_bytes(is->addr, LONG_LEN, SECRET),
	      "written under the next binding");
}

/*
 * The owner cannot see when a READ begins, perhaps it did under the new binding.
 * It is then from there, all of it.
 */
static void check_read(const uint8_t *got, enum ibv_wc_status status)
{
	const uint8_t *secret = memchr(got, SECRET, LONG_LEN);

	if (!secret)
		return;
	CHECK(status == IBV_WC_SUCCESS && all_bytes(got, LONG_LEN, SECRET),
	      "read under both bindings: %s, byte 0 is %u, %zu the next one's",
	      ibv_wc_status_str(status), *got, secret - got);
}

/* One message of many packets. Returns whether it was cut. */
static bool long_round(struct race *r, enum ibv_wr_opcode opcode,
		       struct region *was, struct region *is,
		       unsigned int round)
{
	struct stream_order order = {
		.opcode = opcode,
		.len = LONG_LEN,
		.whole = true,
		.limit = 1,
	};
	uint8_t *local = r->s.sh->buf;
	enum ibv_wc_status status;

	stream_connect(&r->s, &r->o);
	mw_bind(&r->o, r->mw, was, 0, LONG_LEN,
		RIGHTS_RW | IBV_ACCESS_ZERO_BASED);
	memset(was->addr, 1, LONG_LEN);
	memset(is->addr, SECRET, LONG_LEN);
	memset(local, 2, LONG_LEN);
	order.rkey = r->mw->rkey;
	stream_start(&r->s, &order);
	if (opcode == IBV_WR_RDMA_READ)
		pause_some(round, pane_is_slow() ? 4000000 : 400000);
	else
		write_begun(was->addr, round);
	rebind_same_key(r, is);
	status = stream_join(&r->s);
	if (opcode == IBV_WR_RDMA_READ)
		check_read(local, status);
	else
		check_write(is);
	if (status != IBV_WC_SUCCESS)
		CHECK_EQ(status, IBV_WC_REM_ACCESS_ERR);
	return status != IBV_WC_SUCCESS;
}

/*
 * A message begins under one binding (A6). If it is not through when that is
 * replaced, it is refused; the rest of it never meets the memory of the next
 * binding, though that has the same key and addresses.
 */
static void test_same_key(const void *arg)
{
	const enum ibv_wr_opcode *opcode = arg;
	unsigned int rounds = pane_is_slow() ? LONG_ROUNDS_SLOW : LONG_ROUNDS;
	struct region was, is;
	static struct race r;
	unsigned int cut = 0;
	uint64_t dead;

	race_open(&r);
	/* many packets, so that there is time between the first and the last */
	r.o.mtu = IBV_MTU_512;
	region_open(&was, r.own.pd, LONG_LEN, 0, MR_BINDABLE);
	region_open(&is, r.own.pd, LONG_LEN, 0, MR_BINDABLE);
	r.mw = mw_open(r.own.pd, IBV_MW_TYPE_2);
	dead = counter_read(&r.own, "access_dead");
	for (unsigned int i = 0; i < rounds; i++)
		cut += long_round(&r, *opcode, &was, &is, i);
	ksft_print_msg("%u of %u messages were cut\n", cut, rounds);
	/* a READ may also have met the window between its bindings */
	if (*opcode == IBV_WR_RDMA_WRITE)
		CHECK_EQ(counter_read(&r.own, "access_dead"), dead + cut);
	mw_close(r.mw);
	r.mw = NULL;
	region_close(&was);
	region_close(&is);
	race_close(&r);
}

/* ---- the list -------------------------------------------------------- */

static const enum ibv_wr_opcode opcodes[] = {
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static const char * const opcode_names[] = { "WRITE", "READ", "atomics" };

static struct race_row race_rows[ARRAY_SIZE(revocations)]
				[ARRAY_SIZE(opcodes)];

static void list(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(revocations); i++)
		for (unsigned int j = 0; j < ARRAY_SIZE(opcodes); j++) {
			const struct revocation *how = &revocations[i];
			struct race_row *row = &race_rows[i][j];

			row->how = how;
			row->opcode = opcodes[j];
			pane_test(how->types, test_race, row,
				  "revocation: %s against %s", how->name,
				  opcode_names[j]);
		}
	for (unsigned int i = 0; i < ARRAY_SIZE(revocations); i++) {
		const struct revocation *how = &revocations[i];

		if (how->revoke == by_unbind || how->revoke == by_rebind ||
		    how->revoke == by_dealloc)
			pane_test(V_T1, test_crowd, how,
				  "revocation: %s against several peers",
				  how->name);
	}
	for (unsigned int i = 0; i < 2; i++)
		pane_test(V_PATHS, test_same_key, &opcodes[i],
			  "A6 %s: not carried on by the same key",
			  opcode_names[i]);
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
