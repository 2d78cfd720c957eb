// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a device makes of frames that no honest peer sends. They come from a
 * packet socket at the other end of the link, under an address that nobody has;
 * a QP of the device is connected to that address. Every case says which
 * counter moves, that no other does, and what is answered; after it a
 * connection between honest ends still works.
 *
 * lib.sh says in PANE_FRAMES where the packet socket is: namespace, interface,
 * the stranger's IPv4 and IPv6 address and Ethernet address, the device's
 * Ethernet address and namespace.
 */
#include <netinet/in.h>
#include <string.h>

#include "../kselftest.h"
#include "pane_frames.h"

/* ---- cases: frames that are dropped ---------------------------------- */

/**
 * struct drop - a frame that the device must not act on
 * @name: what it is
 * @counter: where it is counted
 * @spoil: makes it
 * @arg: for @spoil
 */
struct drop {
	const char *name;
	const char *counter;
	void (*spoil)(struct stage *t, struct spec *s, int arg);
	int arg;
};

static void cut(struct stage *t, struct spec *s, int arg)
{
	s->len = 0;
	s->cut = 16 - arg;
}

/* A header that is not there, by one byte */
static void cut_header(struct stage *t, struct spec *s, int arg)
{
	s->opcode = arg;
	s->len = 0;
	if (arg == WRITE_ONLY || arg == READ_REQUEST || arg == WRITE_FIRST)
		s->hdr_len = 15;
	else if (arg == WRITE_ONLY_IMM)
		s->hdr_len = 19;
	else if (arg == CMP_SWAP || arg == FETCH_ADD)
		s->hdr_len = 27;
	else if (arg == ATOMIC_ACK)
		s->hdr_len = 11;
	else
		s->hdr_len = 3;
}

/* Padding that is not there */
static void claim_pad(struct stage *t, struct spec *s, int arg)
{
	s->len = 0;
	s->pad = arg;
	s->cut = arg;
}

static void udp_len(struct stage *t, struct spec *s, int arg)
{
	s->udp_len_add = arg;
}

static void tver(struct stage *t, struct spec *s, int arg)
{
	s->flags |= arg;
}

static void opcode(struct stage *t, struct spec *s, int arg)
{
	s->opcode = arg;
}

static void dqpn(struct stage *t, struct spec *s, int arg)
{
	s->dqpn = arg;
}

/* The number of a QP that was destroyed just now */
static void dead_qpn(struct stage *t, struct spec *s, int arg)
{
	struct qp_opts qo = stage_opts();
	struct end e;

	end_open(&e, &t->p.node[0], &qo);
	s->dqpn = e.qp->qp_num;
	end_close(&e);
}

/* A QP of another device, in another namespace */
static void foreign_qpn(struct stage *t, struct spec *s, int arg)
{
	s->dqpn = t->p.end[1].qp->qp_num;
}

static void other_source(struct stage *t, struct spec *s, int arg)
{
	s->src.raw[15] ^= arg;
}

static void honest_source(struct stage *t, struct spec *s, int arg)
{
	s->src = t->p.node[1].gid;
}

/* An address that the device has as well; pane_frames.sh gives it that */
static void other_destination(struct stage *t, struct spec *s, int arg)
{
	s->dst.raw[15] ^= 0x80;
}

/* The honest connection's QP, from the stranger */
static void honest_qpn(struct stage *t, struct spec *s, int arg)
{
	s->dqpn = t->p.end[0].qp->qp_num;
}

static void pkey(struct stage *t, struct spec *s, int arg)
{
	s->pkey = arg;
}

static void icrc_flip(struct built *b)
{
	b->icrc[0] ^= 1;
}

static void icrc_flip_last(struct built *b)
{
	b->icrc[3] ^= 0x80;
}

static void icrc_zero(struct built *b)
{
	memset(b->icrc, 0, 4);
}

static void payload_flip(struct built *b)
{
	b->icrc[-1] ^= 0x10;
}

static void psn_flip(struct built *b)
{
	b->bth[10] ^= 1;
}

static void sport_flip(struct built *b)
{
	b->udp[1] ^= 1;
}

void (*const spoilers[SPOILERS])(struct built *b) = {
	icrc_flip, icrc_flip_last, icrc_zero, payload_flip, psn_flip,
	sport_flip,
};

static void spoil_icrc(struct stage *t, struct spec *s, int arg)
{
	s->after = spoilers[arg];
}

/* IPv4 options that mean nothing, or an IPv6 header with such options */
static void between(struct stage *t, struct spec *s, int arg)
{
	static const uint8_t nops[8] = { 1, 1, 1, 1, 1, 1, 1, 0 };
	static const uint8_t padn[8] = { 17, 0, 1, 4 };

	s->between = net_is("ip6") ? padn : nops;
	s->between_len = 8;
	s->between_type = IPPROTO_DSTOPTS;
}

static void fragment(struct stage *t, struct spec *s, int arg)
{
	static const uint8_t first_of_more[8] = { 17, 0, 0, 1, 0, 0, 0, 1 };

	s->between = first_of_more;
	s->between_len = sizeof(first_of_more);
	s->between_type = IPPROTO_FRAGMENT;
}

static void response(struct stage *t, struct spec *s, int arg)
{
	s->opcode = arg;
	s->apsn = t->sq_psn;
	s->len = 0;
	s->hdr_len = 12;
}

static const struct drop drops[] = {
	{ "no byte behind the UDP header", "rx_short", cut, 0 },
	{ "one byte behind the UDP header", "rx_short", cut, 1 },
	{ "a BTH that lacks a byte", "rx_short", cut, 11 },
	{ "a BTH without ICRC", "rx_short", cut, 12 },
	{ "an ICRC that lacks a byte", "rx_short", cut, 15 },
	{ "WRITE_FIRST lacks a byte of its RETH", "rx_length", cut_header,
	  WRITE_FIRST },
	{ "WRITE_ONLY lacks a byte of its RETH", "rx_length", cut_header,
	  WRITE_ONLY },
	{ "WRITE_ONLY_IMM lacks a byte of its immediate", "rx_length",
	  cut_header, WRITE_ONLY_IMM },
	{ "SEND_ONLY_IMM lacks a byte of its immediate", "rx_length",
	  cut_header, SEND_ONLY_IMM },
	{ "SEND_ONLY_INV lacks a byte of its key", "rx_length", cut_header,
	  SEND_ONLY_INV },
	{ "READ_REQUEST lacks a byte of its RETH", "rx_length", cut_header,
	  READ_REQUEST },
	{ "CMP_SWAP lacks a byte of its header", "rx_length", cut_header,
	  CMP_SWAP },
	{ "FETCH_ADD lacks a byte of its header", "rx_length", cut_header,
	  FETCH_ADD },
	{ "ACKNOWLEDGE lacks a byte of its AETH", "rx_length", cut_header,
	  ACKNOWLEDGE },
	{ "READ_RESP_ONLY lacks a byte of its AETH", "rx_length", cut_header,
	  READ_RESP_ONLY },
	{ "ATOMIC_ACK lacks a byte of its answer", "rx_length", cut_header,
	  ATOMIC_ACK },
	{ "1 byte of padding that is not there", "rx_length", claim_pad, 1 },
	{ "3 bytes of padding that are not there", "rx_length", claim_pad, 3 },
	{ "a UDP length beyond the IP packet", "rx_length", udp_len, 1 },
	{ "a UDP length far beyond it", "rx_length", udp_len, 9000 },
	{ "a UDP length below its header", "rx_length", udp_len, -37 },
	{ "a UDP length that ends in the BTH", "rx_short", udp_len, -28 },
	{ "transport version 1", "rx_tver", tver, 1 },
	{ "transport version 15", "rx_tver", tver, 15 },
	{ "QP number 0", "rx_no_qp", dqpn, 0 },
	{ "QP number 0xffffff", "rx_no_qp", dqpn, 0xffffff },
	{ "a QP that was destroyed", "rx_no_qp", dead_qpn, 0 },
	{ "a QP of another namespace", "rx_no_qp", foreign_qpn, 0 },
	{ "a connected request to QP 1", "rx_transport", dqpn, 1 },
	{ "a datagram to a connected QP", "rx_transport", opcode,
	  UD_SEND_ONLY },
	{ "another source address", "rx_source", other_source, 1 },
	{ "the source address of an honest peer", "rx_source", honest_source,
	  0 },
	{ "another destination address", "rx_source", other_destination, 0 },
	{ "the QP of an honest connection", "rx_source", honest_qpn, 0 },
	{ "P_Key 0", "rx_pkey", pkey, 0 },
	{ "P_Key 0xfffe", "rx_pkey", pkey, 0xfffe },
	{ "P_Key 0x8000", "rx_pkey", pkey, 0x8000 },
	{ "an ICRC wrong by a bit", "rx_icrc", spoil_icrc, 0 },
	{ "an ICRC wrong by its last bit", "rx_icrc", spoil_icrc, 1 },
	{ "an ICRC of 0", "rx_icrc", spoil_icrc, 2 },
	{ "a bit of the payload changed", "rx_icrc", spoil_icrc, 3 },
	{ "a bit of the PSN changed", "rx_icrc", spoil_icrc, 4 },
	{ "a bit of the UDP port changed", "rx_icrc", spoil_icrc, 5 },
	{ "something between IP and UDP header", "rx_length", between, 0 },
	{ "an ACK of nothing", NULL, response, ACKNOWLEDGE },
	{ "a READ response to nothing", NULL, response, READ_RESP_ONLY },
	{ "a READ response middle to nothing", NULL, response,
	  READ_RESP_MIDDLE },
	{ "an atomic response to nothing", NULL, response, ATOMIC_ACK },
};

/* IPv4 has no header of its own for it, and its fragments are joined before */
static const struct drop ip6_drop = {
	"a fragment of IPv6", "rx_length", fragment, 0
};

static void drop(const void *arg)
{
	const struct drop *d = arg;
	struct stage t;
	struct spec s;

	stage_open(&t);
	s = spec_of(&t);
	d->spoil(&t, &s, d->arg);
	if (d->counter) {
		stage_drops(&t, &s, d->counter);
	} else {
		stage_note(&t);
		stranger_send(&t.s, &s);
		stage_expect(&t, "unexpected_response");
		stage_alive(&t);
	}
	stage_still_works(&t);
	stage_close(&t);
}

/* ---- cases: frames that differ in what does not matter --------------- */

static void tos_change(struct built *b)
{
	if (*b->ip >> 4 == 4)
		b->ip[1] = 0x5a;
	else
		b->ip[1] = 0x2c;
}

static void ttl_change(struct built *b)
{
	b->ip[*b->ip >> 4 == 4 ? 8 : 7] = 3;
}

static void bth_bits(struct built *b)
{
	b->bth[4] = 0xff;
}

static void udp_check_change(struct built *b)
{
	b->udp[6] = 0x12;
}

static void (*const changes[])(struct built *b) = {
	tos_change, ttl_change, bth_bits, udp_check_change,
};

static void change(struct stage *t, struct spec *s, int arg)
{
	s->after = changes[arg];
}

static void tail(struct stage *t, struct spec *s, int arg)
{
	s->tail = arg;
}

static void sport(struct stage *t, struct spec *s, int arg)
{
	s->sport = arg;
}

static void udp_check(struct stage *t, struct spec *s, int arg)
{
	s->udp_check = true;
}

static void reserved_apsn(struct stage *t, struct spec *s, int arg)
{
	s->apsn |= 0x7f000000;
}

static void no_migreq(struct stage *t, struct spec *s, int arg)
{
	s->flags = 0;
}

static void length(struct stage *t, struct spec *s, int arg)
{
	static uint8_t data[MTU];

	s->payload = data;
	s->len = arg;
}

static const struct drop accepted[] = {
	{ "another traffic class", NULL, change, 0 },
	{ "another hop limit", NULL, change, 1 },
	{ "FECN, BECN and reserved bits", NULL, change, 2 },
	{ "a UDP checksum that is wrong", NULL, change, 3 },
	{ "a UDP checksum that is right", NULL, udp_check, 0 },
	{ "bytes behind the IP packet", NULL, tail, 11 },
	{ "a UDP source port below 0xc000", NULL, sport, 77 },
	{ "reserved bits beside AckReq", NULL, reserved_apsn, 0 },
	{ "MigReq not set", NULL, no_migreq, 0 },
	{ "a limited P_Key", NULL, pkey, 0x7fff },
	{ "a message without data", NULL, length, 0 },
	{ "a message of one byte", NULL, length, 1 },
	{ "a message of the path MTU", NULL, length, MTU },
};

static void accept_it(const void *arg)
{
	const struct drop *d = arg;
	struct stage t;
	struct spec s;

	stage_open(&t);
	s = spec_of(&t);
	d->spoil(&t, &s, d->arg);
	stage_takes(&t, &s);
	stage_still_works(&t);
	stage_close(&t);
}

/* ---- the list -------------------------------------------------------- */

void list_drops(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(drops); i++)
		pane_test(0, drop, &drops[i], "dropped: %s", drops[i].name);
	if (net_is("ip6"))
		pane_test(0, drop, &ip6_drop, "dropped: %s", ip6_drop.name);
	for (unsigned int i = 0; i < ARRAY_SIZE(accepted); i++)
		pane_test(0, accept_it, &accepted[i], "accepted: %s",
			  accepted[i].name);
}

static void list(void)
{
	list_drops();
	list_requests();
	list_answers();
	list_invalidates();
	list_others();
}

int main(int argc, char **argv)
{
	return pane_run(argc, argv, list);
}
