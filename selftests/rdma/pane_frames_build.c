// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#include "pane_frames_build.h"

#define ETH_LEN		14
#define ETH_IP4		0x0800
#define ETH_IP6		0x86dd
#define ETH_ROCE	0x8915
#define IP4_LEN		20
#define IP6_LEN		40
#define UDP_LEN		8
#define BTH_LEN		12
#define ICRC_LEN	4
#define GRH_NEXT_BTH	0x1b

bool gid_is_ip4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

static void put16(uint8_t *to, uint16_t value)
{
	value = htobe16(value);
	memcpy(to, &value, sizeof(value));
}

static void put32(uint8_t *to, uint32_t value)
{
	value = htobe32(value);
	memcpy(to, &value, sizeof(value));
}

static void put64(uint8_t *to, uint64_t value)
{
	value = htobe64(value);
	memcpy(to, &value, sizeof(value));
}

static uint16_t get16(const uint8_t *from)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return be16toh(value);
}

static uint32_t get32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return be32toh(value);
}

/* RoCE v1 has a GRH, which looks like an IPv6 header, and no UDP */
static bool grh_is_v1(const uint8_t *ip)
{
	return *ip >> 4 == 6 && ip[6] == GRH_NEXT_BTH;
}

/* ---- checks ---------------------------------------------------------- */

static uint32_t crc32_bits(uint32_t crc)
{
	for (unsigned int bit = 0; bit < 8; bit++)
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	return crc;
}

/* Some tests make a million frames, so what a byte does is kept */
static uint32_t crc32_bytes(uint32_t crc, const uint8_t *data, size_t len)
{
	static uint32_t table[256];

	if (!table[1])
		for (unsigned int i = 0; i < 256; i++)
			table[i] = crc32_bits(i);
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *data++) & 0xff];
	return crc;
}

/* What changes on the way counts as ones */
static void mask_ip(uint8_t *ip)
{
	if (*ip >> 4 == 4) {
		ip[1] = 0xff;
		ip[8] = 0xff;
		ip[10] = 0xff;
		ip[11] = 0xff;
	} else {
		ip[0] |= 0x0f;
		ip[1] = 0xff;
		ip[2] = 0xff;
		ip[3] = 0xff;
		ip[7] = 0xff;
	}
}

/*
 * Of a packet from the IP header on, without options, or from the GRH on, up to
 * the ICRC. What comes before stands as eight bytes of ones.
 */
uint32_t icrc_of(const uint8_t *packet, const uint8_t *bth, size_t len)
{
	size_t hdr_len = bth - packet + BTH_LEN;
	uint8_t copy[8 + IP6_LEN + UDP_LEN + BTH_LEN];
	uint8_t *copied_bth = copy + 8 + (bth - packet);
	uint32_t crc;

	memset(copy, 0xff, 8);
	memcpy(copy + 8, packet, hdr_len);
	mask_ip(copy + 8);
	copied_bth[4] = 0xff;
	if (!grh_is_v1(packet))
		memset(copied_bth - 2, 0xff, 2);
	crc = crc32_bytes(~0U, copy, 8 + hdr_len);
	return ~crc32_bytes(crc, packet + hdr_len, len - hdr_len);
}

uint32_t icrc_more(uint32_t icrc, const uint8_t *data, size_t len)
{
	return ~crc32_bytes(~icrc, data, len);
}

static uint32_t sum16(uint32_t sum, const uint8_t *data, size_t len)
{
	for (; len > 1; len -= 2, data += 2)
		sum += get16(data);
	return len ? sum + (*data << 8) : sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static void fill_udp_check(const struct spec *s, uint8_t *udp, size_t len)
{
	size_t skip = gid_is_ip4(&s->src) ? 12 : 0;
	uint32_t sum = 17 + len;
	uint16_t check;

	sum = sum16(sum, s->src.raw + skip, 16 - skip);
	sum = sum16(sum, s->dst.raw + skip, 16 - skip);
	check = fold(sum16(sum, udp, len));
	put16(udp + 6, check ? check : 0xffff);
}

/* ---- building -------------------------------------------------------- */

static uint8_t *build_ip4(uint8_t *ip, const struct spec *s, size_t len)
{
	memset(ip, 0, IP4_LEN);
	ip[0] = 0x45;
	put16(ip + 2, IP4_LEN + len);
	put16(ip + 4, s->ip_id);
	put16(ip + 6, 0x4000);
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, s->src.raw + 12, 4);
	memcpy(ip + 16, s->dst.raw + 12, 4);
	return ip + IP4_LEN;
}

static uint8_t *build_ip6(uint8_t *ip, const struct spec *s, size_t len)
{
	memset(ip, 0, IP6_LEN);
	ip[0] = 0x60;
	put16(ip + 4, len);
	ip[6] = s->v1 ? GRH_NEXT_BTH : 17;
	ip[7] = 64;
	memcpy(ip + 8, s->src.raw, 16);
	memcpy(ip + 24, s->dst.raw, 16);
	return ip + IP6_LEN;
}

static uint8_t *build_udp(uint8_t *udp, const struct spec *s, size_t len)
{
	put16(udp, s->sport);
	put16(udp + 2, s->dport);
	put16(udp + 4, len);
	put16(udp + 6, 0);
	return udp + UDP_LEN;
}

/* What is before the BTH, behind which are @len bytes */
static void build_outer(struct built *b, const struct spec *s, size_t len)
{
	bool ip4 = gid_is_ip4(&s->src) && !s->v1;
	size_t udp_len = s->v1 ? len : UDP_LEN + len;

	memcpy(b->frame, s->dmac, 6);
	memcpy(b->frame + 6, s->smac, 6);
	put16(b->frame + 12, s->v1 ? ETH_ROCE : ip4 ? ETH_IP4 : ETH_IP6);
	b->ip = b->frame + ETH_LEN;
	b->udp = ip4 ? build_ip4(b->ip, s, udp_len) :
		       build_ip6(b->ip, s, udp_len);
	b->bth = s->v1 ? b->udp : build_udp(b->udp, s, udp_len);
	b->len = b->udp + udp_len - b->frame;
}

static unsigned int spec_pad(const struct spec *s)
{
	return s->pad < 0 ? -s->len & 3 : s->pad;
}

static void build_bth(uint8_t *bth, const struct spec *s)
{
	bth[0] = s->opcode;
	bth[1] = s->flags | spec_pad(s) << 4;
	put16(bth + 2, s->pkey);
	put32(bth + 4, s->dqpn);
	put32(bth + 8, s->apsn);
}

/* Behind the BTH; returns the place of the ICRC */
static uint8_t *build_body(uint8_t *to, const struct spec *s)
{
	memcpy(to, s->hdr, s->hdr_len);
	to += s->hdr_len;
	if (s->len)
		memcpy(to, s->payload, s->len);
	to += s->len;
	memset(to, 0, spec_pad(s));
	return to + spec_pad(s);
}

/* Move what is behind the IP header and put something before it */
static void insert_between(struct built *b, const struct spec *s)
{
	size_t ip_len = gid_is_ip4(&s->src) ? IP4_LEN : IP6_LEN;
	uint8_t *at = b->ip + ip_len;

	memmove(at + s->between_len, at, b->frame + b->len - at);
	memcpy(at, s->between, s->between_len);
	b->len += s->between_len;
	b->udp += s->between_len;
	b->bth += s->between_len;
	b->icrc += s->between_len;
	if (ip_len == IP4_LEN) {
		b->ip[0] += s->between_len / 4;
		put16(b->ip + 2, get16(b->ip + 2) + s->between_len);
	} else {
		b->ip[6] = s->between_type;
		put16(b->ip + 4, get16(b->ip + 4) + s->between_len);
	}
}

static void fill_ip_check(uint8_t *ip)
{
	if (*ip >> 4 != 4)
		return;
	put16(ip + 10, 0);
	put16(ip + 10, fold(sum16(0, ip, (*ip & 0xf) * 4)));
}

static void tell_lies(struct built *b, const struct spec *s)
{
	uint8_t *len = b->ip + (*b->ip >> 4 == 4 ? 2 : 4);

	if (s->between_len)
		insert_between(b, s);
	if (!s->v1)
		put16(b->udp + 4, get16(b->udp + 4) + s->udp_len_add);
	put16(len, get16(len) + s->ip_len_add);
	if (s->after)
		s->after(b);
}

void frame_build(struct built *b, const struct spec *s)
{
	size_t len = BTH_LEN + s->hdr_len + s->len + spec_pad(s) + ICRC_LEN -
		     s->cut;
	uint32_t icrc;

	build_outer(b, s, len);
	build_bth(b->bth, s);
	b->icrc = build_body(b->bth + BTH_LEN, s);
	icrc = htole32(icrc_of(b->ip, b->bth, b->icrc - b->ip));
	memcpy(b->icrc, &icrc, sizeof(icrc));
	tell_lies(b, s);
	fill_ip_check(b->ip);
	if (s->udp_check)
		fill_udp_check(s, b->udp, UDP_LEN + len);
	memset(b->frame + b->len, 0x99, s->tail);
	b->len += s->tail;
}

/* ---- headers --------------------------------------------------------- */

static uint8_t *spec_more(struct spec *s, size_t len)
{
	uint8_t *at = s->hdr + s->hdr_len;

	s->hdr_len += len;
	return at;
}

void spec_word(struct spec *s, uint32_t word)
{
	put32(spec_more(s, 4), word);
}

void spec_reth(struct spec *s, uint64_t va, uint32_t rkey, uint32_t length)
{
	put64(spec_more(s, 8), va);
	spec_word(s, rkey);
	spec_word(s, length);
}

void spec_atomic(struct spec *s, uint64_t va, uint32_t rkey, uint64_t swap_add,
		 uint64_t compare)
{
	put64(spec_more(s, 8), va);
	spec_word(s, rkey);
	put64(spec_more(s, 8), swap_add);
	put64(spec_more(s, 8), compare);
}

void spec_aeth(struct spec *s, uint8_t syndrome, uint32_t msn)
{
	spec_word(s, (uint32_t)syndrome << 24 | (msn & 0xffffff));
}

void spec_atomic_ack(struct spec *s, uint64_t orig)
{
	put64(spec_more(s, 8), orig);
}

void spec_deth(struct spec *s, uint32_t qkey, uint32_t sqpn)
{
	spec_word(s, qkey);
	spec_word(s, sqpn);
}

/* ---- reading --------------------------------------------------------- */

static void read_gids(const uint8_t *ip, struct seen *seen)
{
	memset(&seen->src, 0, sizeof(seen->src));
	memset(&seen->dst, 0, sizeof(seen->dst));
	if (*ip >> 4 == 4) {
		memset(seen->src.raw + 10, 0xff, 2);
		memset(seen->dst.raw + 10, 0xff, 2);
		memcpy(seen->src.raw + 12, ip + 12, 4);
		memcpy(seen->dst.raw + 12, ip + 16, 4);
	} else {
		memcpy(&seen->src, ip + 8, 16);
		memcpy(&seen->dst, ip + 24, 16);
	}
}

/* What every packet has to keep, whatever it is */
static const char *check_bth(const uint8_t *bth)
{
	if (bth[1] & 0x0f)
		return "transport version not 0";
	if (!(bth[1] & BTH_MIGREQ))
		return "MigReq not set";
	if (get16(bth + 2) != 0xffff)
		return "P_Key is not the default";
	/* BECN is what a congestion notification says */
	if (bth[4] != (bth[0] == CNP ? 0x40 : 0))
		return "FECN, BECN or reserved bits";
	if (bth[8] & 0x7f)
		return "reserved bits beside AckReq set";
	return NULL;
}

static const char *check_end(const uint8_t *ip, const uint8_t *bth,
			     const uint8_t *icrc)
{
	uint32_t want = htole32(icrc_of(ip, bth, icrc - ip));

	for (unsigned int pad = bth[1] >> 4 & 3; pad; pad--)
		if (icrc[-(int)pad])
			return "padding not zero";
	return memcmp(icrc, &want, sizeof(want)) ? "ICRC wrong" : NULL;
}

/* Of RC and of XRC, whose numbers are behind 0xa0 */
static bool has_aeth(uint8_t opcode)
{
	uint8_t op = opcode & 0x1f;

	return (opcode == op || opcode == (0xa0 | op)) &&
	       op >= READ_RESP_FIRST && op <= ATOMIC_ACK &&
	       op != READ_RESP_MIDDLE;
}

static void read_bth(const uint8_t *bth, size_t len, struct seen *seen)
{
	seen->opcode = bth[0];
	seen->flags = bth[1];
	seen->dqpn = get32(bth + 4) & 0xffffff;
	seen->psn = get32(bth + 8) & 0xffffff;
	seen->ack_req = bth[8] & 0x80;
	seen->hdr_len = len - BTH_LEN - ICRC_LEN;
	memcpy(seen->hdr, bth + BTH_LEN, seen->hdr_len);
	seen->syndrome = 0;
	seen->msn = 0;
	if (has_aeth(seen->opcode)) {
		seen->syndrome = seen->hdr[0];
		seen->msn = get32(seen->hdr) & 0xffffff;
	}
}

/* The BTH and what is behind it, up to the frame's end */
static const char *read_packet(const uint8_t *ip, const uint8_t *bth,
			       const uint8_t *end, struct seen *seen)
{
	const char *wrong;

	if (end - bth < BTH_LEN + ICRC_LEN)
		return "too short";
	read_gids(ip, seen);
	read_bth(bth, end - bth, seen);
	wrong = check_bth(bth);
	return wrong ? wrong : check_end(ip, bth, end - ICRC_LEN);
}

/* The GRH of a frame of RoCE v1 */
static const char *read_v1(const uint8_t *grh, const uint8_t *end,
			   struct seen *seen)
{
	if (end - grh < IP6_LEN || !grh_is_v1(grh))
		return "no GRH";
	if (grh + IP6_LEN + get16(grh + 4) != end)
		return "lengths differ";
	return read_packet(grh, grh + IP6_LEN, end, seen);
}

const char *frame_read(const uint8_t *frame, size_t len, struct seen *seen)
{
	const uint8_t *ip = frame + ETH_LEN, *end = frame + len, *udp;

	if (len < ETH_LEN + IP4_LEN + UDP_LEN)
		return "";
	if (get16(frame + 12) == ETH_ROCE)
		return read_v1(ip, end, seen);
	if (get16(frame + 12) == ETH_IP4 && ip[0] == 0x45 && ip[9] == 17)
		udp = ip + IP4_LEN;
	else if (get16(frame + 12) == ETH_IP6 && ip[6] == 17)
		udp = ip + IP6_LEN;
	else
		return "";
	if (get16(udp + 2) != UDP_PORT)
		return "";
	if (udp + get16(udp + 4) != end)
		return "lengths differ";
	if (get16(udp) < 0xc000)
		return "UDP source port below 0xc000";
	return read_packet(ip, udp + UDP_LEN, end, seen);
}
