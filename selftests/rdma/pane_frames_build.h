/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames made and read by hand, without anything of the driver's: what the
 * IBTA specification says a packet of RoCE v1 and v2 looks like.
 */
#ifndef PANE_FRAMES_BUILD_H
#define PANE_FRAMES_BUILD_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX	9000
#define UDP_PORT	4791

/* Opcodes of the reliable connection; those of datagrams are at 0x60 */
enum {
	SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY,
	SEND_ONLY_IMM, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM,
	WRITE_ONLY, WRITE_ONLY_IMM, READ_REQUEST, READ_RESP_FIRST,
	READ_RESP_MIDDLE, READ_RESP_LAST, READ_RESP_ONLY, ACKNOWLEDGE,
	ATOMIC_ACK, CMP_SWAP, FETCH_ADD,
	SEND_LAST_INV = 0x16, SEND_ONLY_INV,
	FLUSH = 0x1c, ATOMIC_WRITE,
	UD_SEND_ONLY = 0x64, UD_SEND_ONLY_IMM,
	CNP = 0x81,
};

#define BTH_SE		0x80
#define BTH_MIGREQ	0x40
#define BTH_PAD_SHIFT	4
#define BTH_TVER	0x0f
#define BTH_ACKREQ	0x80000000U

#define ACK_OK		0x1f
#define NAK_SEQUENCE	0x60
#define NAK_INVALID	0x61
#define NAK_ACCESS	0x62
#define NAK_OPERATION	0x63

/**
 * struct built - where the parts of a frame are
 * @frame: the frame, from the Ethernet header on
 * @len: bytes of it
 * @ip: IP header, or GRH
 * @udp: UDP header; RoCE v1 has none, and this is what follows the GRH
 * @bth: base transport header
 * @icrc: last four bytes
 */
struct built {
	uint8_t frame[FRAME_MAX];
	size_t len;
	uint8_t *ip;
	uint8_t *udp;
	uint8_t *bth;
	uint8_t *icrc;
};

/**
 * struct spec - a frame to build
 * @dmac: Ethernet addresses
 * @smac: likewise
 * @src: addresses, IPv4 if mapped
 * @dst: likewise
 * @ip_id: identification of an IPv4 packet
 * @sport: UDP source port
 * @dport: UDP destination port
 * @opcode: of the BTH, and so on
 * @flags: likewise; the pad count is added
 * @pkey: likewise
 * @dqpn: likewise, with the bits above it
 * @apsn: likewise, with the bits above it
 * @hdr: headers behind the BTH
 * @hdr_len: bytes of them
 * @payload: data
 * @len: bytes of it
 * @pad: pad count that is claimed and added, or -1 for the right one
 * @cut: bytes that are taken away at the end, ICRC and all
 * @between: bytes between IP and UDP header: options, extension headers
 * @between_len: how many; a multiple of 4 or 8
 * @between_type: of an extension header, whose first byte says that UDP is next
 * @udp_len_add: added to the UDP length
 * @ip_len_add: added to the IP length
 * @tail: bytes behind the IP packet
 * @udp_check: with a UDP checksum
 * @v1: a frame of RoCE v1, whatever the addresses are
 * @after: changes something when the ICRC is there
 */
struct spec {
	uint8_t dmac[6];
	uint8_t smac[6];
	union ibv_gid src;
	union ibv_gid dst;
	uint16_t ip_id;
	uint16_t sport;
	uint16_t dport;
	uint8_t opcode;
	uint8_t flags;
	uint16_t pkey;
	uint32_t dqpn;
	uint32_t apsn;
	uint8_t hdr[64];
	size_t hdr_len;
	const void *payload;
	size_t len;
	int pad;
	size_t cut;
	const uint8_t *between;
	size_t between_len;
	uint8_t between_type;
	int udp_len_add;
	int ip_len_add;
	size_t tail;
	bool udp_check;
	bool v1;
	void (*after)(struct built *b);
};

bool gid_is_ip4(const union ibv_gid *gid);

void frame_build(struct built *b, const struct spec *s);

uint32_t icrc_of(const uint8_t *packet, const uint8_t *bth, size_t len);
/* That of a packet with @data behind all that makes up @icrc */
uint32_t icrc_more(uint32_t icrc, const uint8_t *data, size_t len);

/* Headers behind the BTH, appended to those that are there */
void spec_reth(struct spec *s, uint64_t va, uint32_t rkey, uint32_t length);
void spec_atomic(struct spec *s, uint64_t va, uint32_t rkey, uint64_t swap_add,
		 uint64_t compare);
void spec_aeth(struct spec *s, uint8_t syndrome, uint32_t msn);
void spec_atomic_ack(struct spec *s, uint64_t orig);
void spec_word(struct spec *s, uint32_t word);
void spec_deth(struct spec *s, uint32_t qkey, uint32_t sqpn);

/**
 * struct seen - a packet that was received
 * @opcode: of its BTH, and so on
 * @flags: likewise
 * @dqpn: likewise
 * @psn: likewise
 * @ack_req: likewise
 * @syndrome: of its AETH
 * @msn: likewise
 * @hdr: what is behind the BTH, at most up to the ICRC
 * @hdr_len: bytes of that, padding included
 * @src: addresses
 * @dst: likewise
 */
struct seen {
	uint8_t opcode;
	uint8_t flags;
	uint32_t dqpn;
	uint32_t psn;
	bool ack_req;
	uint8_t syndrome;
	uint32_t msn;
	uint8_t hdr[FRAME_MAX];
	size_t hdr_len;
	union ibv_gid src;
	union ibv_gid dst;
};

/*
 * Read a frame. NULL if it is a RoCE packet in order, "" if it is something
 * else, or what is wrong with it.
 */
const char *frame_read(const uint8_t *frame, size_t len, struct seen *seen);

#endif
