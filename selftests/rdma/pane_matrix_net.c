// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the link of the matrix is made to do. PANE_ENDS names its ends.
 */
#include <stdarg.h>
#include <sys/sysinfo.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_matrix.h"

#define PLAIN	"noqueue"
#define NETEM	"netem limit 20000 "

const struct network networks[NUM_NETWORKS] = {
	{
		.name = "plain",
		.qdisc = PLAIN,
	}, {
		.name = "delay",
		.qdisc = NETEM "delay 2ms",
	}, {
		.name = "loss 0.1 %",
		.qdisc = NETEM "loss 0.1%",
		.shows = { "retransmits" },
		.loses = true,
	}, {
		.name = "loss 1 %",
		.qdisc = NETEM "loss 1%",
		.shows = { "retransmits" },
		.loses = true,
	}, {
		.name = "loss 10 %",
		.qdisc = NETEM "loss 10%",
		.shows = { "retransmits", "ack_timeouts" },
		.loses = true,
		.harsh = true,
		.trains = true,
	}, {
		.name = "duplicate",
		.qdisc = NETEM "duplicate 5%",
		.shows = { "duplicate_request" },
		.loses = true,
	}, {
		.name = "reorder",
		.qdisc = NETEM "delay 1ms reorder 98%",
		.shows = { "out_of_seq_request" },
		.loses = true,
		.trains = true,
	}, {
		.name = "corrupt",
		.qdisc = NETEM "corrupt 2%",
		.shows = { "rx_icrc", "retransmits" },
		.loses = true,
	}, {
		.name = "black-out",
		.qdisc = PLAIN,
		.shows = { "ack_timeouts", "retransmits" },
		.loses = true,
		.dark = true,
	},
};

/* Shell commands for each end, in which $1 is the interface. False if not. */
static bool at_ends(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static bool at_ends(const char *fmt, ...)
{
	char commands[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(commands, sizeof(commands), fmt, args);
	va_end(args);
	return !pane_shell("set -e -- \"$1\" $PANE_ENDS;"
			   "ip netns exec $2 sh -ec \"$1\" sh $3;"
			   "ip netns exec $4 sh -ec \"$1\" sh $5", commands);
}

#define REPLACE	"tc qdisc replace dev $1 root %s;"
#define TRAINS	"ethtool -K $1 tx-udp-segmentation %s >/dev/null;"
/* A mask of processors; with none, who sends a packet sees to its receipt */
#define RECEIVE	"f=/sys/class/net/$1/queues/rx-0/rps_cpus;"		\
		"[ ! -e $f ] || echo %d >$f;"

/*
 * Processors overtake each other: packets stay in order when there is one that
 * receives all of them.
 */
bool network_can_keep_order(void)
{
	return get_nprocs() == 1 || at_ends(RECEIVE "[ -e $f ]", 1);
}

/*
 * In trains, where the link has them, several packets, or messages, are lost
 * together.
 */
void network_open(const struct network *net, bool trains)
{
	/* without a plain one between them options of the old one would stay */
	CHECK(at_ends(REPLACE REPLACE TRAINS RECEIVE, PLAIN, net->qdisc,
		      trains ? "on" : "off", !net->loses),
	      "the link cannot do it");
}

void network_dark(void)
{
	CHECK(at_ends(REPLACE, NETEM "loss 100%"), "not dark");
}

void network_light(void)
{
	CHECK(at_ends(REPLACE, PLAIN), "not light");
}
