// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port is taken in a namespace while a device is there, and only there.
 * The sockets stand for it: no other program gets the port, and GRO joins
 * packets for it. What comes in is taken by a netfilter hook before it would
 * get to them. Where the host has no IPv6 there is one socket only.
 */
#include <linux/net.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
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

static const struct nf_hook_ops pane_hook = {
	.hook = pane_rx_hook,
	.pf = NFPROTO_INET,
	.hooknum = NF_INET_LOCAL_IN,
	.priority = NF_IP_PRI_LAST,
};

/*
 * Let trains come in whole: those that a sender on this host made, and those
 * that GRO makes of what an interface received. Without it they are cut first.
 */
static void sock_accept_trains(struct socket *sock)
{
	int one = 1;

	sock->ops->setsockopt(sock, SOL_UDP, UDP_GRO, KERNEL_SOCKPTR(&one),
			      sizeof(one));
}

static struct socket *sock_open(struct net *net, bool v6)
{
	struct udp_port_cfg cfg = {
		.family = v6 ? AF_INET6 : AF_INET,
		.ipv6_v6only = v6,
		.local_udp_port = htons(PANE_UDP_PORT),
	};
	struct socket *sock;
	int err;

	err = udp_sock_create(net, &cfg, &sock);
	if (err)
		return ERR_PTR(err);
	sock_accept_trains(sock);
	return sock;
}

static void sock_close(struct socket *sock)
{
	if (!sock)
		return;
	kernel_sock_shutdown(sock, SHUT_RDWR);
	sock_release(sock);
}

static void net_close(struct pane_net *pn)
{
	sock_close(pn->sock4);
	sock_close(pn->sock6);
	pn->sock4 = NULL;
	pn->sock6 = NULL;
}

static int net_open(struct net *net, struct pane_net *pn)
{
	struct socket *sock;
	int err;

	sock = sock_open(net, false);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	pn->sock4 = sock;

	sock = sock_open(net, true);
	err = PTR_ERR_OR_ZERO(sock);
	if (!err)
		pn->sock6 = sock;
	if (!err || err == -EAFNOSUPPORT)
		err = nf_register_net_hook(net, &pane_hook);
	if (err)
		net_close(pn);
	return err;
}

/**
 * pane_sock_get - receive packets in a namespace
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

/*
 * Context: RTNL. After the last one, and an RCU grace period, no packet comes
 * in any more.
 */
void pane_sock_put(struct net *net)
{
	struct pane_net *pn = net_generic(net, pane_net_id);

	ASSERT_RTNL();
	if (--pn->users)
		return;
	nf_unregister_net_hook(net, &pane_hook);
	net_close(pn);
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
