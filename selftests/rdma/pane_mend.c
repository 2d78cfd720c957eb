// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A FLUSH of rdma_rxe has an ICRC like no other's, seen in Linux 6.12 to 7.3: in
 * its table of opcodes this one has no place where the payload begins, so all
 * headers from the BTH on are counted a second time, as payload. It drops
 * FLUSHes that are right, and everybody else drops its own. One that it sends
 * again, moreover, has the address 0.
 *
 * This program stands beside the wire. For each FLUSH of the first end it sends
 * another one, with the ICRC that rdma_rxe wants; and for each of rdma_rxe's one
 * as it should be. Those that they are made from are dropped at their ends. Where
 * rdma_rxe is right there is nothing to mend, and no harm is done.
 *
 *	pane_mend NETNS INTERFACE RXE-NETNS RXE-INTERFACE
 *
 * Says so when it is ready, and goes on until it is killed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <err.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../kselftest.h"
#include "pane_frames_build.h"

#define IP4_LEN		20
#define IP6_LEN		40
#define UDP_LEN		8
#define ICRC_LEN	4
/* UDP, BTH, FETH, RETH, ICRC */
#define FLUSH_LEN	(UDP_LEN + 12 + 4 + 16 + ICRC_LEN)

/* A socket for whole frames; @protocol: of those that are received */
static int open_wire(const char *netns, const char *interface,
		     uint16_t protocol)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
	};
	int ns = open(netns, O_RDONLY | O_CLOEXEC), fd;

	if (ns < 0 || setns(ns, CLONE_NEWNET))
		err(KSFT_FAIL, "%s", netns);
	close(ns);
	to.sll_ifindex = if_nametoindex(interface);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)))
		err(KSFT_FAIL, "%s", interface);
	return fd;
}

static uint16_t get16(const uint8_t *from)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return be16toh(value);
}

/* The UDP header, if it is one and all of it is there */
static uint8_t *find_udp(uint8_t *frame, size_t len)
{
	uint8_t *ip = frame + ETH_HLEN, *udp;
	bool ip4 = get16(frame + 12) == ETHERTYPE_IP && *ip == 0x45;

	if (len < ETH_HLEN + IP6_LEN + UDP_LEN ||
	    (!ip4 && get16(frame + 12) != ETHERTYPE_IPV6) ||
	    ip[ip4 ? 9 : 6] != IPPROTO_UDP)
		return NULL;
	udp = ip + (ip4 ? IP4_LEN : IP6_LEN);
	return udp + get16(udp + 4) == frame + len ? udp : NULL;
}

static bool is_flush(const uint8_t *udp)
{
	return get16(udp + 2) == UDP_PORT && get16(udp + 4) == FLUSH_LEN &&
	       udp[UDP_LEN] == FLUSH;
}

/* The checksum changes by what it is made of; 0 says that there is none */
static void udp_replace(uint8_t *udp, uint8_t *at, uint32_t value)
{
	uint32_t sum = 0;
	uint16_t half[2];
	uint16_t check;

	memcpy(&check, udp + 6, sizeof(check));
	memcpy(half, at, sizeof(half));
	sum = (uint16_t)~check + (uint16_t)~half[0] + (uint16_t)~half[1];
	memcpy(at, &value, sizeof(value));
	memcpy(half, at, sizeof(half));
	sum += half[0] + half[1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff ?: 0xffff;
	if (check)
		memcpy(udp + 6, &(uint16_t){ sum }, sizeof(check));
}

/* Is the ICRC the first one? Then it becomes the second. */
static bool icrc_replace(uint8_t *udp, uint8_t *icrc, uint32_t is,
			 uint32_t becomes)
{
	is = htole32(is);
	if (memcmp(icrc, &is, sizeof(is)))
		return false;
	udp_replace(udp, icrc, htole32(becomes));
	return true;
}

/* A frame that passed the first end, which has sent it if it is @outgoing */
static void mend(uint8_t *frame, size_t len, bool outgoing, int to_rxe,
		 int from_rxe)
{
	uint8_t *udp = find_udp(frame, len), *ip = frame + ETH_HLEN, *bth;
	uint8_t *icrc = frame + len - ICRC_LEN;
	uint32_t right, wrong;
	bool mended;

	if (!udp || !is_flush(udp))
		return;
	bth = udp + UDP_LEN;
	right = icrc_of(ip, bth, icrc - ip);
	wrong = icrc_more(right, bth, icrc - bth);
	if (outgoing)
		mended = icrc_replace(udp, icrc, right, wrong);
	else
		mended = icrc_replace(udp, icrc, wrong, right);
	if (mended && send(outgoing ? to_rxe : from_rxe, frame, len, 0) != len)
		err(KSFT_FAIL, "send");
}

int main(int argc, char **argv)
{
	struct sockaddr_ll from;
	socklen_t from_len;
	uint8_t frame[FRAME_MAX];
	int here, there;
	ssize_t len;

	if (argc != 5)
		errx(KSFT_FAIL, "usage: pane_mend NETNS INTERFACE RXE-NETNS RXE-INTERFACE");
	here = open_wire(argv[1], argv[2], ETH_P_ALL);
	there = open_wire(argv[3], argv[4], 0);
	puts("mending");
	fflush(stdout);
	for (;;) {
		from_len = sizeof(from);
		len = recvfrom(here, frame, sizeof(frame), MSG_TRUNC,
			       (struct sockaddr *)&from, &from_len);
		if (len < 0)
			err(KSFT_FAIL, "recvfrom");
		if (len <= sizeof(frame))
			mend(frame, len, from.sll_pkttype == PACKET_OUTGOING,
			     here, there);
	}
}
