// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port is taken in a namespace while a device is there, and only there. In
 * namespaces without IPv6 there is one socket only.
 */
#include <linux/net.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>

#include "rx.h"
#include "sock.h"
#include "wire.h"

/* Devices in a namespace, and their sockets; changed under RTNL */
struct pane_net {
	unsigned int users;
	struct socket *sock4;
	struct socket *sock6;
};

static unsigned int pane_net_id;

static struct socket *sock_open(struct net *net, bool v6)
{
	/* peers may send no UDP checksum in IPv6 too, the ICRC is there */
	struct udp_port_cfg cfg = {
		.family = v6 ? AF_INET6 : AF_INET,
		.ipv6_v6only = v6,
		.local_udp_port = htons(PANE_UDP_PORT),
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = 1,
		.encap_rcv = pane_rx_encap,
	};
	struct socket *sock;
	int err;

	err = udp_sock_create(net, &cfg, &sock);
	if (err)
		return ERR_PTR(err);
	setup_udp_tunnel_sock(net, sock->sk, &tunnel);
	return sock;
}

static void sock_close(struct socket *sock)
{
	if (sock)
		udp_tunnel_sock_release(sock->sk);
}

static int net_open(struct net *net, struct pane_net *pn)
{
	struct socket *sock;

	sock = sock_open(net, false);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	pn->sock4 = sock;

	sock = sock_open(net, true);
	if (IS_ERR(sock) && PTR_ERR(sock) != -EAFNOSUPPORT) {
		sock_close(pn->sock4);
		pn->sock4 = NULL;
		return PTR_ERR(sock);
	}
	pn->sock6 = IS_ERR(sock) ? NULL : sock;
	return 0;
}

/**
 * pane_sock_get - have the sockets of a namespace open
 * @net: the namespace
 *
 * Context: RTNL.
 * Return: 0, and pane_sock_put() is due; -EADDRINUSE if somebody else has the
 * port; -ENOMEM
 */
int pane_sock_get(struct net *net)
{
	struct pane_net *pn = net_generic(net, pane_net_id);
	int err = 0;

	ASSERT_RTNL();
	if (!pn->users)
		err = net_open(net, pn);
	if (!err)
		pn->users++;
	return err;
}

/* Context: RTNL. After the last one no packet comes in. */
void pane_sock_put(struct net *net)
{
	struct pane_net *pn = net_generic(net, pane_net_id);

	ASSERT_RTNL();
	if (--pn->users)
		return;
	sock_close(pn->sock4);
	sock_close(pn->sock6);
	pn->sock4 = NULL;
	pn->sock6 = NULL;
}

static struct pernet_operations pane_net_ops = {
	.id = &pane_net_id,
	.size = sizeof(struct pane_net),
};

int pane_sock_init(void)
{
	return register_pernet_subsys(&pane_net_ops);
}

void pane_sock_exit(void)
{
	unregister_pernet_subsys(&pane_net_ops);
}
