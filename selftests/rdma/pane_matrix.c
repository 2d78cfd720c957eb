// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operation by length by network, on one kind of addresses: every byte right,
 * every completion right, and each request executed once. By default all pairs
 * of an operation, a length and a network are met, with PANE_ALL=1 all three at
 * a time. pane_matrix.sh runs this for each kind of addresses.
 *
 * PANE_ENDS="NAMESPACE INTERFACE NAMESPACE INTERFACE" names the ends of the link,
 * for tc and ethtool; PANE_NET says what addresses to take, as for pane_data.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_counters.h"
#include "pane_matrix.h"

#define MIB		(1U << 20)
#define DARK_SECONDS	2
/* Until a network has shown itself: the rarest loss is one in 1000 packets */
#define ROUNDS_MAX	40
/* Polls for nothing before it sleeps */
#define IDLE_TURNS	50

/* ---- operations ------------------------------------------------------ */

static const struct matrix_op reliable_ops[] = {
	{ "SEND", IBV_QPT_RC, IBV_WR_SEND },
	{ "SEND with immediate", IBV_QPT_RC, IBV_WR_SEND_WITH_IMM },
	{ "SEND with invalidate", IBV_QPT_RC, IBV_WR_SEND_WITH_INV },
	{ "WRITE", IBV_QPT_RC, IBV_WR_RDMA_WRITE },
	{ "WRITE with immediate", IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM },
	{ "READ", IBV_QPT_RC, IBV_WR_RDMA_READ },
	{ "XRC SEND", IBV_QPT_XRC_SEND, IBV_WR_SEND },
	{ "XRC WRITE", IBV_QPT_XRC_SEND, IBV_WR_RDMA_WRITE },
};

static const struct matrix_op atomic_ops[] = {
	{ "CMP_SWAP", IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP },
	{ "FETCH_ADD", IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD },
};

static const struct matrix_op unreliable_ops[] = {
	{ "UC SEND", IBV_QPT_UC, IBV_WR_SEND },
	{ "UC WRITE", IBV_QPT_UC, IBV_WR_RDMA_WRITE },
};

#define NUM_OPS	(ARRAY_SIZE(reliable_ops) + ARRAY_SIZE(atomic_ops) +	\
		 ARRAY_SIZE(unreliable_ops))

/* ---- lengths --------------------------------------------------------- */

enum matrix_size {
	SIZE_0,
	SIZE_1,
	SIZE_BELOW,	/* of one MTU */
	SIZE_MTU,
	SIZE_ABOVE,
	SIZE_MIB,
	NUM_SIZES,
	SIZE_HUGE = NUM_SIZES,
};

static const char *const size_names[] = {
	[SIZE_0] = "0 bytes",
	[SIZE_1] = "1 byte",
	[SIZE_BELOW] = "MTU - 1",
	[SIZE_MTU] = "MTU",
	[SIZE_ABOVE] = "MTU + 1",
	[SIZE_MIB] = "1 MiB",
	[SIZE_HUGE] = "64 MiB",
};

static uint32_t size_bytes(enum matrix_size size, enum ibv_mtu mtu)
{
	switch (size) {
	case SIZE_0:
		return 0;
	case SIZE_1:
		return 1;
	case SIZE_BELOW:
		return mtu_bytes(mtu) - 1;
	case SIZE_MTU:
		return mtu_bytes(mtu);
	case SIZE_ABOVE:
		return mtu_bytes(mtu) + 1;
	case SIZE_MIB:
		return MIB;
	default:
		return 64 * MIB;
	}
}

/* ---- a run: cells side by side on one network ------------------------ */

#define CELLS_MAX	(NUM_OPS * NUM_SIZES)

struct run {
	const struct network *net;
	struct cell_opts cell[CELLS_MAX];
	unsigned int num_cells;
	uint32_t datagram;	/* bytes */
	unsigned int num_datagrams;
	bool trains;
	bool patient;	/* there are messages of 64 MiB */
};

/* The counters of both devices before a run, and now */
struct proof {
	struct counters before[2];
	struct counters now[2];
};

static void proof_read(struct counters c[2], const struct pair *p)
{
	counters_read(&p->node[0], &c[0]);
	counters_read(&p->node[1], &c[1]);
}

static uint64_t proof_moved(const struct proof *pr, unsigned int i,
			    const char *name)
{
	return counters_moved(&pr->before[i], &pr->now[i], name);
}

/* Has the network done what it is there for? */
static bool proof_shown(const struct proof *pr, const struct network *net)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(net->shows); i++)
		if (net->shows[i] && !proof_moved(pr, 0, net->shows[i]) &&
		    !proof_moved(pr, 1, net->shows[i]))
			return false;
	return true;
}

/* However often packets came, messages were taken once */
static void proof_check_once(const struct proof *pr, const struct tally *t)
{
	for (unsigned int i = 0; i < 2; i++) {
		CHECK_EQ(proof_moved(pr, i, "rdma_recvs"), t->sends[i]);
		CHECK_EQ(proof_moved(pr, i, "mw_invalidated"),
			 t->invalidated[i]);
	}
}

static bool all_cells(struct cell *const cell[], unsigned int num,
		      bool (*is)(const struct cell *c))
{
	for (unsigned int i = 0; i < num; i++)
		if (!is(cell[i]))
			return false;
	return true;
}

static bool cells_turn(struct cell *const cell[], unsigned int num)
{
	bool progress = false;

	for (unsigned int i = 0; i < num; i++)
		progress |= cell_turn(cell[i]);
	return progress;
}

/*
 * Sleep until there may be something to poll for. The longest messages take as
 * long as the test may.
 */
static void cells_sleep(struct cell *const cell[], unsigned int num,
			bool patient)
{
	struct pollfd fd[CELLS_MAX][CELL_CQS];

	for (unsigned int i = 0; i < num; i++)
		cell_arm(cell[i], fd[i]);
	/* what came before that gives no event */
	if (cells_turn(cell, num))
		return;
	CHECK(poll(fd[0], num * CELL_CQS, patient ? -1 : pane_deadline_ms()) > 0,
	      "nothing happens");
	for (unsigned int i = 0; i < num; i++)
		cell_disarm(cell[i], fd[i]);
}

static void cells_until(struct cell *const cell[], const struct run *r,
			bool (*is)(const struct cell *c))
{
	unsigned int idle = 0;

	while (!all_cells(cell, r->num_cells, is)) {
		if (cells_turn(cell, r->num_cells))
			idle = 0;
		else if (++idle > IDLE_TURNS)
			cells_sleep(cell, r->num_cells, r->patient);
	}
}

/*
 * In all cells something was done when it becomes dark, and something is on its
 * way until it is light again.
 */
static void cells_black_out(struct cell *const cell[], const struct run *r)
{
	unsigned int num = r->num_cells;

	cells_until(cell, r, cell_begun);
	network_dark();
	for (unsigned int i = 0; i < num; i++)
		cell_dark(cell[i]);
	while (cells_turn(cell, num))
		;
	sleep(DARK_SECONDS);
	cells_turn(cell, num);
	for (unsigned int i = 0; i < num; i++)
		cell_light(cell[i]);
	network_light();
}

static void run_round(const struct run *r, struct pair *p, struct tally *t)
{
	struct cell *cell[CELLS_MAX];

	pane_more_time();
	for (unsigned int i = 0; i < r->num_cells; i++) {
		cell[i] = cell_open(p->node, &r->cell[i]);
		if (r->net->dark)
			cell_hold(cell[i], r->cell[i].depth / 2);
	}
	if (r->net->dark)
		cells_black_out(cell, r);
	cells_until(cell, r, cell_over);
	for (unsigned int i = 0; i < r->num_cells; i++)
		cell_close(cell[i], t);
	if (r->num_datagrams)
		datagrams_run(p->node, r->datagram, r->num_datagrams, t);
}

static void run(const void *arg)
{
	const struct run *r = arg;
	static struct proof proof;
	struct tally tally = {};
	unsigned int rounds = 0;
	struct pair p;

	random_seed();
	network_open(r->net, r->trains);
	pair_nodes_open(&p);
	proof_read(proof.before, &p);
	do {
		run_round(r, &p, &tally);
		proof_read(proof.now, &p);
	} while (!proof_shown(&proof, r->net) && ++rounds < ROUNDS_MAX);
	CHECK(proof_shown(&proof, r->net), "the link does not do its work");
	proof_check_once(&proof, &tally);
	pair_nodes_close(&p);
	/* cells are the same ones in every round */
	ksft_print_msg("matrix: %u cells, %llu messages, %llu bytes\n",
		       r->num_cells + !!r->num_datagrams,
		       (unsigned long long)tally.messages,
		       (unsigned long long)tally.bytes);
}

/* ---- which cells ----------------------------------------------------- */

/* Packets can be made to come in the order in which they were sent */
static bool order_kept;

static bool is_all(void)
{
	const char *all = getenv("PANE_ALL");

	return all && !strcmp(all, "1");
}

/* Number of the kind of addresses, so that cells differ between them */
static unsigned int family(void)
{
	if (net_is("v1"))
		return 0;
	return net_is("ip6") ? 2 : 1;
}

/*
 * Can what is sent without acknowledgments be relied on to arrive? RoCE v1 has
 * no trains, and a processor's queue does not hold so many packets.
 */
static bool is_safe(const struct network *net)
{
	return !net->loses && order_kept && !net_is("v1");
}

static bool op_reads(const struct matrix_op *op)
{
	return op->opcode == IBV_WR_RDMA_READ || opcode_is_atomic(op->opcode);
}

static unsigned int num_short(void)
{
	unsigned int num = is_all() ? 200 : 100;

	return pane_is_slow() ? num / 2 : num;
}

/*
 * Requests that need an answer of their own run out of retries first: each
 * attempt needs two packets that are not lost.
 */
static unsigned int num_messages(const struct network *net,
				 const struct matrix_op *op,
				 enum matrix_size size)
{
	if (size == SIZE_HUGE)
		return 1;
	if (size == SIZE_MIB)
		return net->loses && !net->dark ? 2 : 4;
	if (net->harsh)
		return op_reads(op) ? 12 : 32;
	return num_short();
}

static unsigned int run_depth(enum matrix_size size)
{
	switch (size) {
	case SIZE_HUGE:
		return 1;
	case SIZE_MIB:
		return 4;
	default:
		return CELL_DEPTH;
	}
}

/*
 * Codes for half a second, because an answer that comes late on a busy machine is
 * not a loss, and for two: within eight times that the dark has to end, tc's work
 * included, and a slow machine to get done with the longest of answers.
 */
static uint8_t run_timeout(const struct network *net, enum matrix_size size)
{
	return net->dark || size == SIZE_HUGE ? 19 : 17;
}

static enum ibv_mtu run_mtu(const struct network *net, unsigned int op,
			    enum matrix_size size)
{
	/* each packet of a long message may be lost */
	if (size == SIZE_HUGE || (size == SIZE_MIB && net->loses))
		return IBV_MTU_4096;
	if (size == SIZE_MIB)
		return IBV_MTU_1024;
	return IBV_MTU_256 + (op + size + family()) % 5;
}

/* @index: number of the operation among all of them */
static void run_add(struct run *r, const struct matrix_op *op,
		    unsigned int index, enum matrix_size size)
{
	struct cell_opts *o = &r->cell[r->num_cells++];

	*o = (struct cell_opts) {
		.op = op,
		.num = num_messages(r->net, op, size),
		.depth = run_depth(size),
		.mtu = run_mtu(r->net, index, size),
		.timeout = run_timeout(r->net, size),
		.wraps = (index + size) % 2,
		/* binds are posted at the other end */
		.one_way = op->opcode == IBV_WR_SEND_WITH_INV ||
			   (r->net->harsh && size == SIZE_MIB),
		.wr_api = (index + size / 2) % 2,
	};
	o->len = opcode_is_atomic(op->opcode) ? sizeof(uint64_t) :
						size_bytes(size, o->mtu);
}

static struct run *run_make(const struct network *net, bool trains)
{
	struct run *r = calloc(1, sizeof(*r));

	CHECK(r, "no memory");
	r->net = net;
	r->trains = trains;
	return r;
}

static void run_add_datagrams(struct run *r, enum matrix_size size)
{
	r->datagram = size_bytes(size, IBV_MTU_4096);
	r->num_datagrams = num_short();
}

/* ---- all of it ------------------------------------------------------- */

static void list_size(const struct network *net, enum matrix_size size)
{
	struct run *r = run_make(net, size >= SIZE_MIB);
	unsigned int index = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(reliable_ops); i++)
		run_add(r, &reliable_ops[i], index++, size);
	for (unsigned int i = 0; i < ARRAY_SIZE(unreliable_ops); i++)
		if (is_safe(net))
			run_add(r, &unreliable_ops[i], index++, size);
	if (is_safe(net) && size <= SIZE_MTU)
		run_add_datagrams(r, size);
	pane_test(0, run, r, "%s: %s", net->name, size_names[size]);
}

static void list_atomics(const struct network *net)
{
	struct run *r = run_make(net, false);

	for (unsigned int i = 0; i < ARRAY_SIZE(atomic_ops); i++)
		run_add(r, &atomic_ops[i], i, SIZE_1);
	pane_test(0, run, r, "%s: atomics", net->name);
}

/* One after the other, for they are long */
static void list_huge(const struct network *net)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(reliable_ops); i++) {
		const struct matrix_op *op = &reliable_ops[i];
		struct run *r = run_make(net, true);

		r->patient = true;
		run_add(r, op, i, SIZE_HUGE);
		pane_test(0, run, r, "%s: 64 MiB, %s", net->name, op->name);
	}
}

static void list_all(void)
{
	for (unsigned int i = 0; i < NUM_NETWORKS; i++) {
		for (unsigned int size = 0; size < NUM_SIZES; size++)
			list_size(&networks[i], size);
		list_atomics(&networks[i]);
	}
	list_huge(&networks[0]);
}

/* ---- a part of it ---------------------------------------------------- */

/*
 * A Latin square: each operation on each network, each length on each network,
 * each operation with each length.
 */
static enum matrix_size latin_size(unsigned int net, unsigned int op)
{
	return (net + op + 2 * family()) % NUM_SIZES;
}

/* Where nothing is lost a processor's queue could not hold all the packets */
static bool latin_trains(unsigned int num)
{
	const struct network *net = &networks[num];

	return !net->loses || net->trains || (num + family()) % 2;
}

static void list_latin(unsigned int num)
{
	const struct network *net = &networks[num];
	struct run *r = run_make(net, latin_trains(num));
	unsigned int index = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(reliable_ops); i++, index++)
		run_add(r, &reliable_ops[i], index, latin_size(num, index));
	for (unsigned int i = 0; i < ARRAY_SIZE(unreliable_ops); i++, index++)
		if (is_safe(net))
			run_add(r, &unreliable_ops[i], index,
				latin_size(num, index));
	for (unsigned int i = 0; i < ARRAY_SIZE(atomic_ops); i++)
		run_add(r, &atomic_ops[i], i, SIZE_1);
	if (is_safe(net))
		run_add_datagrams(r, latin_size(num, 0) % SIZE_ABOVE);
	pane_test(0, run, r, "%s", net->name);
}

static void list(void)
{
	order_kept = network_can_keep_order();
	if (is_all()) {
		list_all();
		return;
	}
	for (unsigned int i = 0; i < NUM_NETWORKS; i++)
		list_latin(i);
}

int main(int argc, char **argv)
{
	if (!getenv("PANE_ENDS"))
		ksft_exit_skip("PANE_ENDS: run pane_matrix.sh instead\n");
	return pane_run(argc, argv, list);
}
