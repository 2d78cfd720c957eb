// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#include "pane_frames_build.h"

#define ETH_LEN		14
#define IP4_LEN		20
#define IP6_LEN		40
#define UDP_LEN		8
#define BTH_LEN		12
#define ICRC_LEN	4

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

/* ---- checks ---------------------------------------------------------- */

static uint32_t crc32_bits(uint32_t crc, const uint8_t *data, size_t len)
{
	while (len--) {
		crc ^= *data++;
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
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

/* Of a packet from the IP header on, without options, up to the ICRC */
static uint32_t icrc_of(const uint8_t *packet, size_t len)
{
	size_t ip_len = *packet >> 4 == 4 ? IP4_LEN : IP6_LEN;
	uint8_t copy[FRAME_MAX + 8];

	memset(copy, 0xff, 8);
	memcpy(copy + 8, packet, len);
	mask_ip(copy + 8);
	memset(copy + 8 + ip_len + 6, 0xff, 2);
	copy[8 + ip_len + UDP_LEN + 4] = 0xff;
	return ~crc32_bits(~0U, copy, 8 + len);
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
	ip[6] = 17;
	ip[7] = 64;
	memcpy(ip + 8, s->src.raw, 16);
	memcpy(ip + 24, s->dst.raw, 16);
	return ip + IP6_LEN;
}

static void build_udp(uint8_t *udp, const struct spec *s, size_t len)
{
	put16(udp, s->sport);
	put16(udp + 2, s->dport);
	put16(udp + 4, len);
	put16(udp + 6, 0);
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
	uint8_t *len = b->ip + (gid_is_ip4(&s->src) ? 2 : 4);

	if (s->between_len)
		insert_between(b, s);
	put16(b->udp + 4, get16(b->udp + 4) + s->udp_len_add);
	put16(len, get16(len) + s->ip_len_add);
	if (s->after)
		s->after(b);
}

void frame_build(struct built *b, const struct spec *s)
{
	bool ip4 = gid_is_ip4(&s->src);
	size_t udp_len = UDP_LEN + BTH_LEN + s->hdr_len + s->len + spec_pad(s) +
			 ICRC_LEN - s->cut;
	uint32_t icrc;

	memcpy(b->frame, s->dmac, 6);
	memcpy(b->frame + 6, s->smac, 6);
	put16(b->frame + 12, ip4 ? 0x0800 : 0x86dd);
	b->ip = b->frame + ETH_LEN;
	b->udp = ip4 ? build_ip4(b->ip, s, udp_len) :
		       build_ip6(b->ip, s, udp_len);
	build_udp(b->udp, s, udp_len);
	b->bth = b->udp + UDP_LEN;
	build_bth(b->bth, s);
	b->icrc = build_body(b->bth + BTH_LEN, s);
	icrc = htole32(icrc_of(b->ip, b->icrc - b->ip));
	memcpy(b->icrc, &icrc, sizeof(icrc));
	b->len = b->udp + udp_len - b->frame;
	tell_lies(b, s);
	fill_ip_check(b->ip);
	if (s->udp_check)
		fill_udp_check(s, b->udp, udp_len);
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
	uint32_t want = htole32(icrc_of(ip, icrc - ip));

	for (unsigned int pad = bth[1] >> 4 & 3; pad; pad--)
		if (icrc[-(int)pad])
			return "padding not zero";
	return memcmp(icrc, &want, sizeof(want)) ? "ICRC wrong" : NULL;
}

static bool has_aeth(uint8_t opcode)
{
	return opcode >= READ_RESP_FIRST && opcode <= ATOMIC_ACK &&
	       opcode != READ_RESP_MIDDLE;
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

const char *frame_read(const uint8_t *frame, size_t len, struct seen *seen)
{
	const uint8_t *ip = frame + ETH_LEN, *udp, *bth;
	const char *wrong;
	size_t udp_len;

	if (len < ETH_LEN + IP4_LEN + UDP_LEN)
		return "";
	if (get16(frame + 12) == 0x0800 && ip[0] == 0x45 && ip[9] == 17)
		udp = ip + IP4_LEN;
	else if (get16(frame + 12) == 0x86dd && ip[6] == 17)
		udp = ip + IP6_LEN;
	else
		return "";
	if (get16(udp + 2) != UDP_PORT)
		return "";
	bth = udp + UDP_LEN;
	udp_len = get16(udp + 4);
	read_gids(ip, seen);
	if (frame + len != udp + udp_len)
		return "lengths differ";
	if (udp_len < UDP_LEN + BTH_LEN + ICRC_LEN)
		return "too short";
	if (get16(udp) < 0xc000)
		return "UDP source port below 0xc000";
	read_bth(bth, udp_len - UDP_LEN, seen);
	wrong = check_bth(bth);
	return wrong ? wrong : check_end(ip, bth, frame + len - ICRC_LEN);
}
