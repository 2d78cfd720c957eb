/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The tests of the provider, by the file that they are in */
#ifndef PANE_PROVIDER_TESTS_H
#define PANE_PROVIDER_TESTS_H

#include "../unit.h"
#include "fake_kernel.h"

/* send.c */
void test_layout(void);
void test_send_fields(void);
void test_send_inline(void);
void test_send_atomics(void);
void test_send_atomic_write(void);
void test_send_datagrams(void);
void test_send_types(void);
void test_send_capabilities(void);
void test_send_flags(void);
void test_send_refused(void);
void test_send_states(void);
void test_send_lists(void);
void test_send_doorbell(void);
void test_send_full(void);
void test_send_index_wraps(void);
void test_qp_refused(void);

/* bind.c */
void test_bind2(void);
void test_bind2_refused(void);
void test_bind1(void);
void test_bind1_unbind(void);
void test_bind1_refused(void);
void test_bind1_full(void);

/* batch.c */
void test_batch(void);
void test_batch_errors(void);
void test_batch_abandoned(void);
void test_batch_atomic_write(void);
void test_batch_flush(void);
void test_batch_datagrams(void);
void test_batch_xrc(void);

/* recv.c */
void test_recv(void);
void test_recv_doorbell(void);
void test_recv_reset(void);
void test_xrc_target(void);
void test_srq(void);
void test_srq_resize(void);

/* cq.c */
void test_poll(void);
void test_poll_index_wraps(void);
void test_poll_extended(void);
void test_poll_void(void);
void test_arm(void);
void test_resize(void);
void test_cq_attributes(void);

/* domain.c */
void test_domains(void);
void test_domains_refused(void);

/* stress.c */
void test_wake_up(void);
void test_stress(void);

/* A gather list, of which nothing is ever read */
extern struct ibv_sge four_sges[KERNEL_MAX_SGE];

int post(struct ibv_qp *qp, struct ibv_send_wr *wr);

#endif
