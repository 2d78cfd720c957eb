/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The UDP sockets that packets come in through: a pair for each namespace */
#ifndef PANE_SOCK_H
#define PANE_SOCK_H

struct net;

int pane_sock_get(struct net *net);
void pane_sock_put(struct net *net);
int pane_sock_init(void);
void pane_sock_exit(void);

#endif /* PANE_SOCK_H */
