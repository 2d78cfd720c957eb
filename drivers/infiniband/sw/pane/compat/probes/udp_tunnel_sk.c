// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <net/udp_tunnel.h>

void probe(struct net *net, struct sock *sk, struct udp_tunnel_sock_cfg *cfg)
{
	setup_udp_tunnel_sock(net, sk, cfg);
	udp_tunnel_sock_release(sk);
}
