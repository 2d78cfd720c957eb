/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Networking and memory management */
#ifndef PANE_COMPAT_NET_H
#define PANE_COMPAT_NET_H

#include <linux/mm.h>
#include <net/ip6_fib.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>

#ifndef HAVE_VM_FLAGS_CLEAR
static inline void vm_flags_clear(struct vm_area_struct *vma,
				  vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#ifndef HAVE_DST_RT6_INFO
#define dst_rt6_info(dst) container_of(dst, struct rt6_info, dst)
#endif

#ifndef HAVE_UDP_TUNNEL_SK
static inline void compat_setup_udp_tunnel_sock(struct net *net,
						struct sock *sk,
						struct udp_tunnel_sock_cfg *cfg)
{
	setup_udp_tunnel_sock(net, sk->sk_socket, cfg);
}

static inline void compat_udp_tunnel_sock_release(struct sock *sk)
{
	udp_tunnel_sock_release(sk->sk_socket);
}

#define setup_udp_tunnel_sock compat_setup_udp_tunnel_sock
#define udp_tunnel_sock_release compat_udp_tunnel_sock_release
#endif

#endif /* PANE_COMPAT_NET_H */
