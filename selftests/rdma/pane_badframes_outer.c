// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What is wrong, or odd, outside of the RoCE packet: lengths that differ,
 * frames that were cut, fragments, options, checksums, addresses. What the
 * network stack drops before the driver has seen it is counted there.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_badframes.h"

#define ETH_LEN		14
#define UDP_LEN		8

/* ---- the stack's counters -------------------------------------------- */

/**
 * struct outer - a stage, and the stack's own counters
 * @b: the stage
 * @fd: /proc/net/snmp, netstat and snmp6 of the device's namespace
 * @before: what they said
 * @errors: what they are to say now
 */
struct outer {
	struct bad b;
	int fd[3];
	uint64_t before;
	uint64_t errors;
};

static const struct {
	const char *group;
	const char *name;
} snmp_errors[] = {
	{ "Ip:", "InHdrErrors" }, { "Ip:", "InUnknownProtos" },
	{ "IpExt:", "InTruncatedPkts" }, { "Udp:", "NoPorts" },
	{ "Udp:", "InErrors" },
};

static const char *const snmp6_errors[] = {
	"Ip6InHdrErrors", "Ip6InUnknownProtos", "Ip6InTruncatedPkts",
	"Udp6NoPorts", "Udp6InErrors",
};

/* A group is a line of names and a line of values */
static uint64_t snmp_value(const char *text, const char *group,
			   const char *name)
{
	const char *names = text, *values;
	size_t len = strlen(group);
	char word[64];
	int used;

	while (names && strncmp(names, group, len)) {
		names = strchr(names, '\n');
		names = names ? names + 1 : NULL;
	}
	if (!names)
		return 0;
	values = strchr(names, '\n') + 1;
	while (sscanf(names, "%63s%n", word, &used) == 1) {
		names += used;
		if (!strcmp(word, name))
			return strtoull(values, NULL, 10);
		values = strchr(values, ' ') + 1;
		if (*names == '\n')
			break;
	}
	return 0;
}

static uint64_t snmp6_value(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Frames that the stack found something wrong with */
static uint64_t stack_errors(const struct outer *o)
{
	static char text[16384];
	uint64_t all = 0;
	ssize_t len;

	for (unsigned int i = 0; i < ARRAY_SIZE(o->fd); i++) {
		len = pread(o->fd[i], text, sizeof(text) - 1, 0);
		CHECK(len >= 0, "%s", strerror(errno));
		text[len] = '\0';
		for (unsigned int n = 0; i < 2 && n < ARRAY_SIZE(snmp_errors);
		     n++)
			all += snmp_value(text, snmp_errors[n].group,
					  snmp_errors[n].name);
		for (unsigned int n = 0; i == 2 && n < ARRAY_SIZE(snmp6_errors);
		     n++)
			all += snmp6_value(text, snmp6_errors[n]);
	}
	return all;
}

static void outer_open(struct outer *o)
{
	static const char *const paths[] = {
		"/proc/net/snmp", "/proc/net/netstat", "/proc/net/snmp6",
	};
	const char *where = getenv("PANE_FRAMES");
	char netns[64];
	int own;

	bad_open(&o->b);
	CHECK(where && sscanf(where, "%*s %*s %*s %*s %*s %*s %63s",
			      netns) == 1, "PANE_FRAMES names no namespace");
	own = netns_enter(netns);
	for (unsigned int i = 0; i < ARRAY_SIZE(paths); i++) {
		o->fd[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
		CHECK(o->fd[i] >= 0, "%s: %s", paths[i], strerror(errno));
	}
	netns_leave(own);
	o->before = stack_errors(o);
	o->errors = 0;
}

/* A frame that is counted for sure: when it is, all before it are through */
static void outer_close(struct outer *o)
{
	bad_frame(&o->b, (struct frame) { .size = 64, .faults = F_TVER });
	bad_flush(&o->b);
	CHECK_EQ(stack_errors(o) - o->before, o->errors);
	for (unsigned int i = 0; i < ARRAY_SIZE(o->fd); i++)
		close(o->fd[i]);
	bad_close(&o->b);
}

/* ---- frames ---------------------------------------------------------- */

/* Good ones but for their PSN, or what is the like of it */
static const struct frame bases[] = {
	{ WRITE_ONLY, .size = 96, .target = T_RC },
	{ UC_BASE + WRITE_ONLY, .size = 96, .target = T_UC },
	{ XRC_BASE + WRITE_ONLY, .size = 100, .target = T_XRC_TGT },
	{ UD_SEND_ONLY, .size = 88, .target = T_UD_EMPTY },
	{ UD_SEND_ONLY_IMM, .size = 92, .target = T_UD_SHORT },
	{ XRC_BASE + ACKNOWLEDGE, .size = 20, .target = T_XRC_INI },
};

/* Sent as @s says, and counted as @as would be */
static void send_as(struct outer *o, const struct spec *s,
		    const struct frame *as, const char *what)
{
	uint64_t moves[M_COUNT] = {};

	model_moves(&o->b.m, as, moves);
	bad_spec(&o->b, s, moves, what);
}

static void send_ending(struct outer *o, const struct spec *s, enum move reason,
			const char *what)
{
	uint64_t moves[M_COUNT] = {};

	moves[reason] = 1;
	bad_spec(&o->b, s, moves, what);
}

/* The stack finds it wrong, and counts that */
static void send_wrong(struct outer *o, const struct spec *s, const char *what)
{
	o->errors++;
	send_ending(o, s, R_STACK, what);
}

/* ---- lengths --------------------------------------------------------- */

/* The datagram, or the GRH, says @size where there are @f->size bytes */
static void send_size(struct outer *o, const struct spec *s,
		      const struct frame *f, int size, const char *what)
{
	struct frame as = *f;

	if (size < 0 || size > (int)f->size) {
		send_ending(o, s, R_LENGTH, what);
		return;
	}
	as.size = size;
	/* what stands at its end is no ICRC */
	if (size != (int)f->size)
		as.faults |= F_ICRC;
	send_as(o, s, &as, what);
}

static void udp_lengths(const void *arg)
{
	static const int far[] = { 1500, 0x7fff, 0x8000, 0xffff };
	struct outer o;
	struct spec s;

	outer_open(&o);
	for (unsigned int i = 0; i < ARRAY_SIZE(bases); i++) {
		const struct frame *f = &bases[i];
		int full = UDP_LEN + f->size;

		for (int len = 0; len < full + 100; len++) {
			s = bad_spec_of(&o.b, f);
			s.udp_len_add = len - full;
			send_size(&o, &s, f, len - UDP_LEN, "UDP length");
		}
		for (unsigned int n = 0; n < ARRAY_SIZE(far); n++) {
			s = bad_spec_of(&o.b, f);
			s.udp_len_add = far[n] - full;
			send_size(&o, &s, f, far[n] - UDP_LEN, "UDP length");
		}
	}
	outer_close(&o);
}

static void grh_lengths(const void *arg)
{
	struct outer o;
	struct spec s;

	outer_open(&o);
	for (unsigned int i = 0; i < ARRAY_SIZE(bases); i++) {
		const struct frame *f = &bases[i];

		for (int len = 0; len < (int)f->size + 100; len++) {
			s = bad_spec_of(&o.b, f);
			s.ip_len_add = len - (int)f->size;
			if (len > (int)f->size)
				send_ending(&o, &s, R_GRH, "GRH length");
			else
				send_size(&o, &s, f, len, "GRH length");
		}
	}
	outer_close(&o);
}

/* What the IP header says is another length than the frame's */
static void send_ip_length(struct outer *o, const struct frame *f, int add)
{
	int udp_len = UDP_LEN + (int)f->size + add;
	struct spec s = bad_spec_of(&o->b, f);

	s.ip_len_add = add;
	if (add > 0 || udp_len < UDP_LEN)
		send_wrong(o, &s, "IP length");
	else if (add < 0)
		send_ending(o, &s, R_LENGTH, "IP length");
	else
		send_as(o, &s, f, "IP length");
}

static void ip_lengths(const void *arg)
{
	struct outer o;

	outer_open(&o);
	for (unsigned int i = 0; i < ARRAY_SIZE(bases); i++) {
		/* below 0 there is no length in IPv6 */
		int least = -UDP_LEN - (int)bases[i].size -
			    (net_is("ip6") ? 0 : 20);

		for (int add = least; add <= 100; add++)
			send_ip_length(&o, &bases[i], add);
		send_ip_length(&o, &bases[i], 4000);
		send_ip_length(&o, &bases[i], 60000);
	}
	outer_close(&o);
}

static size_t cut_to;

static void cut_frame(struct built *built)
{
	built->len = cut_to;
}

/* Nothing but the Ethernet header is there for sure */
static void cut_frames(const void *arg)
{
	struct outer o;
	struct spec s;

	outer_open(&o);
	for (unsigned int i = 0; i < ARRAY_SIZE(bases); i++) {
		size_t len = ETH_LEN + (net_is("ip6") ? 40 : 20) + UDP_LEN +
			     bases[i].size;

		for (cut_to = ETH_LEN + 1; cut_to < len; cut_to++) {
			s = bad_spec_of(&o.b, &bases[i]);
			s.after = cut_frame;
			send_wrong(&o, &s, "a frame that was cut");
		}
	}
	outer_close(&o);
}

/* Ethernet pads, and what it pads with is not looked at */
static void tails(const void *arg)
{
	struct outer o;
	struct spec s;

	outer_open(&o);
	for (unsigned int i = 0; i < ARRAY_SIZE(bases); i++) {
		for (unsigned int tail = 1; tail < 100; tail++) {
			s = bad_spec_of(&o.b, &bases[i]);
			s.tail = tail;
			send_as(&o, &s, &bases[i], "bytes behind the packet");
		}
	}
	outer_close(&o);
}

/* ---- fragments ------------------------------------------------------- */

static size_t piece_from, piece_len;
static bool piece_is_last;

/* A part of what follows the IPv4 header, still with DF */
static void cut_piece(struct built *built)
{
	uint16_t off = htons(0x4000 | (piece_is_last ? 0 : 0x2000) |
			     piece_from / 8);
	uint16_t len = htons(20 + piece_len);

	memmove(built->udp, built->udp + piece_from, piece_len);
	memcpy(built->ip + 2, &len, 2);
	memcpy(built->ip + 6, &off, 2);
	built->len = ETH_LEN + 20 + piece_len;
}

static struct spec piece_of(struct outer *o, const struct frame *f, size_t from,
			    size_t to, unsigned int id)
{
	struct spec s = bad_spec_of(&o->b, f);

	piece_from = from;
	piece_len = to - from;
	piece_is_last = to == UDP_LEN + f->size;
	s.ip_id = id;
	s.after = cut_piece;
	return s;
}

/* The stack keeps them until the last one comes: it is one packet then */
static void fragments_ip4(struct outer *o)
{
	unsigned int id = 0x100;

	for (unsigned int i = 0; i < ARRAY_SIZE(bases); i++) {
		const struct frame *f = &bases[i];
		size_t all = UDP_LEN + f->size;

		for (size_t cut = 8; cut < all; cut += 8, id++) {
			struct spec s = piece_of(o, f, 0, cut, id);

			send_ending(o, &s, R_STACK, "a first fragment");
			s = piece_of(o, f, cut, all, id);
			send_as(o, &s, f, "a last fragment");
		}
		for (size_t cut = 8; cut < all; cut += 8, id++) {
			bool first = cut / 8 % 2;
			struct spec s = piece_of(o, f, first ? 0 : cut,
						 first ? cut : all, id);

			send_ending(o, &s, R_STACK, "a fragment alone");
		}
	}
}

/*
 * Here the driver sees each one: the first tells that it is for us. The others
 * are kept, if others can follow them.
 */
static void fragment_ip6(struct outer *o, const struct frame *f,
			 unsigned int off, unsigned int id)
{
	const uint8_t header[8] = {
		IPPROTO_UDP, 0, off >> 8, off | 1, 0, 0, id >> 8, id,
	};
	struct spec s = bad_spec_of(&o->b, f);

	s.between = header;
	s.between_len = sizeof(header);
	s.between_type = IPPROTO_FRAGMENT;
	if (!off)
		send_ending(o, &s, R_LENGTH, "a first fragment");
	else if ((UDP_LEN + f->size) % 8)
		send_wrong(o, &s, "a fragment that ends within 8 bytes");
	else
		send_ending(o, &s, R_STACK, "a fragment");
}

static void fragments_ip6(struct outer *o)
{
	unsigned int id = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(bases); i++)
		for (unsigned int off = 0; off < 1280; off += 8)
			fragment_ip6(o, &bases[i], off, ++id);
}

static void fragments(const void *arg)
{
	struct outer o;

	outer_open(&o);
	if (net_is("ip6"))
		fragments_ip6(&o);
	else
		fragments_ip4(&o);
	outer_close(&o);
}

/* ---- headers --------------------------------------------------------- */

/**
 * struct between - what stands before the UDP header
 * @len: bytes of it
 * @type: of an IPv6 extension header
 * @bytes: the header, or IPv4 options
 * @wrong: the stack does not take it
 */
static const struct between {
	size_t len;
	uint8_t type;
	uint8_t bytes[40];
	bool wrong;
} options_ip4[] = {
	{ 4, 0, { 1, 1, 1, 1 } },
	{ 4, 0, { 0 } },
	{ 8, 0, { 1, 1, 1, 1, 1, 1, 1, 0 } },
	{ 40, 0, { 1, 1, 1 } },
	{ 12, 0, { 7, 11, 4 } },	/* record route */
	{ 4, 0, { 7, 40, 4 }, true },
	{ 4, 0, { 68, 1, 5 }, true },
}, headers_ip6[] = {
	{ 8, IPPROTO_DSTOPTS, { IPPROTO_UDP, 0, 1, 4 } },
	{ 8, IPPROTO_HOPOPTS, { IPPROTO_UDP, 0, 1, 4 } },
	{ 8, IPPROTO_ROUTING, { IPPROTO_UDP, 0, 4 } },
	{ 8, IPPROTO_AH, { IPPROTO_UDP, 0 } },
	{ 16, IPPROTO_DSTOPTS, { IPPROTO_DSTOPTS, 0, 1, 4, 0, 0, 0, 0,
				 IPPROTO_UDP, 0, 1, 4 } },
	{ 24, IPPROTO_DSTOPTS, { IPPROTO_UDP, 2, 1, 20 } },
	/* an option that is to be dropped when it is not known */
	{ 8, IPPROTO_HOPOPTS, { IPPROTO_UDP, 0, 0x7e, 4 }, true },
};

static void send_between(struct outer *o, const struct between *x,
			 const struct frame *f)
{
	struct spec s = bad_spec_of(&o->b, f);

	s.between = x->bytes;
	s.between_len = x->len;
	s.between_type = x->type;
	if (x->wrong)
		send_wrong(o, &s, "options");
	else
		send_ending(o, &s, R_LENGTH, "options or extension headers");
}

static void extensions(const void *arg)
{
	struct outer o;

	outer_open(&o);
	for (unsigned int i = 0; i < ARRAY_SIZE(bases); i++) {
		if (net_is("ip6"))
			for (size_t n = 0; n < ARRAY_SIZE(headers_ip6); n++)
				send_between(&o, &headers_ip6[n], &bases[i]);
		else
			for (size_t n = 0; n < ARRAY_SIZE(options_ip4); n++)
				send_between(&o, &options_ip4[n], &bases[i]);
	}
	outer_close(&o);
}

/* ---- checksums ------------------------------------------------------- */

static uint16_t udp_check;

static void set_udp_check(struct built *built)
{
	memcpy(built->udp + 6, &udp_check, 2);
}

/* The ICRC tells more, so no value of it matters */
static void udp_checks(const void *arg)
{
	unsigned int step = all_wanted() ? 5 : 613;
	struct outer o;
	struct spec s;

	outer_open(&o);
	for (unsigned int i = 0; i < ARRAY_SIZE(bases); i++) {
		pane_more_time();
		for (unsigned int sum = 0; sum <= 0xffff; sum += step) {
			udp_check = sum;
			s = bad_spec_of(&o.b, &bases[i]);
			s.after = set_udp_check;
			send_as(&o, &s, &bases[i], "UDP checksum");
		}
		s = bad_spec_of(&o.b, &bases[i]);
		s.udp_check = true;
		send_as(&o, &s, &bases[i], "the right UDP checksum");
	}
	outer_close(&o);
}

/* ---- others' ---------------------------------------------------------- */

static void to_many(struct spec *s)
{
	static const uint8_t all_nodes[16] = { 0xff, 2, [15] = 1 };
	static const uint8_t all_hosts[4] = { 224, 0, 0, 1 };

	if (net_is("ip6"))
		memcpy(s->dst.raw, all_nodes, sizeof(all_nodes));
	else
		memcpy(s->dst.raw + 12, all_hosts, sizeof(all_hosts));
}

static void set_protocol(struct built *built)
{
	built->ip[*built->ip >> 4 == 4 ? 9 : 6] = 253;
}

static void set_ethertype(struct built *built)
{
	built->frame[12] = 0x88;
	built->frame[13] = 0xb5;
}

static void set_version(struct built *built)
{
	built->ip[0] ^= 0x50;
}

static void not_ours(const void *arg)
{
	static const uint16_t ports[] = { 0, 1, 4790, 4792, 18515, 0xffff };
	struct outer o;
	struct spec s;

	outer_open(&o);
	for (unsigned int i = 0; i < ARRAY_SIZE(bases); i++) {
		const struct frame *f = &bases[i];

		for (unsigned int n = 0; n < ARRAY_SIZE(ports); n++) {
			s = bad_spec_of(&o.b, f);
			s.dport = ports[n];
			send_wrong(&o, &s, "another port");
		}
		s = bad_spec_of(&o.b, f);
		s.after = set_protocol;
		send_wrong(&o, &s, "another protocol");
		s = bad_spec_of(&o.b, f);
		s.after = set_version;
		send_wrong(&o, &s, "another version of IP");
		s = bad_spec_of(&o.b, f);
		s.after = set_ethertype;
		send_ending(&o, &s, R_STACK, "another EtherType");
		s = bad_spec_of(&o.b, f);
		s.dmac[5] ^= 1;
		send_ending(&o, &s, R_STACK, "to another station");
		s = bad_spec_of(&o.b, f);
		s.dst.raw[15] ^= 0x40;
		send_ending(&o, &s, R_STACK, "to another host");
	}
	s = bad_spec_of(&o.b, &bases[0]);
	to_many(&s);
	send_ending(&o, &s, R_SOURCE, "to all hosts");
	outer_close(&o);
}

static void set_next_header(struct built *built)
{
	built->ip[6] ^= 1;
}

/* The GRH of RoCE v1 has its own version and next header */
static void grh_fields(const void *arg)
{
	struct outer o;
	struct spec s;

	outer_open(&o);
	for (unsigned int i = 0; i < ARRAY_SIZE(bases); i++) {
		s = bad_spec_of(&o.b, &bases[i]);
		s.after = set_next_header;
		send_ending(&o, &s, R_GRH, "another next header");
		s = bad_spec_of(&o.b, &bases[i]);
		s.after = set_version;
		send_ending(&o, &s, R_GRH, "another version of the GRH");
	}
	outer_close(&o);
}

/* ---- what is to be ignored ------------------------------------------- */

/* One in order is taken, whatever stands in the reserved bits of its BTH */
static void reserved_bits(const void *arg)
{
	const struct frame f = { SEND_ONLY, .size = 32, .target = T_RC };
	const uint64_t moves[M_COUNT] = {
		[R_TAKEN] = 1, [M_RECVS] = 1, [M_SENT] = 1, [M_RCVD] = 1,
		[M_RCVD_BYTES] = 32,
	};
	struct outer o;
	struct ibv_wc wc;

	outer_open(&o);
	for (unsigned int i = 0; i < 256; i++) {
		struct stage *t = &o.b.t;
		struct spec s = bad_spec_of(&o.b, &f);

		s.flags = i & 1 ? BTH_MIGREQ : 0;
		s.flags |= i & 2 ? BTH_SE : 0;
		s.dqpn |= i << 24;
		s.apsn = t->psn | BTH_ACKREQ | (i * 5 & 0x7f) << 24;
		bad_spec(&o.b, &s, moves, "reserved bits");
		bad_flush(&o.b);
		cq_expect(t->end.rcq, 0x4ec, IBV_WC_SUCCESS, &wc);
		CHECK_EQ(wc.byte_len, 16);
		t->psn = (t->psn + 1) & 0xffffff;
		stage_recv(t, 4096);
	}
	o.b.m.latched[T_RC] = false;
	/* what they brought is no harm */
	fill_pattern(o.b.t.mem.addr, MEM_LEN, 0);
	outer_close(&o);
}

void list_outer(void)
{
	pane_test(0, tails, NULL, "bytes behind the packet");
	pane_test(0, reserved_bits, NULL,
		  "every value of FECN, BECN and reserved bits is ignored");
	if (net_is("v1")) {
		pane_test(0, grh_lengths, NULL, "every length in the GRH");
		pane_test(0, grh_fields, NULL,
			  "version and next header of the GRH");
		return;
	}
	pane_test(0, udp_lengths, NULL, "every UDP length");
	pane_test(0, ip_lengths, NULL, "every IP length");
	pane_test(0, cut_frames, NULL, "frames cut anywhere");
	pane_test(0, fragments, NULL, "fragments");
	pane_test(0, extensions, NULL, "options and extension headers");
	pane_test(0, udp_checks, NULL, "UDP checksums, right and wrong");
	pane_test(0, not_ours, NULL, "what is not for the device");
}
