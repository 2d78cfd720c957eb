// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The provider's data path against a kernel that is a piece of memory */
#include "provider/tests.h"

static const struct unit_test tests[] = {
	{ "layout of rings", test_layout },
	{ "members of a send request", test_send_fields },
	{ "inline data", test_send_inline },
	{ "atomics", test_send_atomics },
	{ "atomic writes", test_send_atomic_write },
	{ "datagrams", test_send_datagrams },
	{ "operations of each type of QP", test_send_types },
	{ "operations that the device lacks", test_send_capabilities },
	{ "send flags", test_send_flags },
	{ "send requests that are refused", test_send_refused },
	{ "states in which sends are accepted", test_send_states },
	{ "lists of sends", test_send_lists },
	{ "send doorbell", test_send_doorbell },
	{ "full send ring", test_send_full },
	{ "send index wraps", test_send_index_wraps },
	{ "QPs that are refused", test_qp_refused },
	{ "bind of type 2 windows", test_bind2 },
	{ "binds of type 2 that are refused", test_bind2_refused },
	{ "bind of type 1 windows", test_bind1 },
	{ "unbind of type 1 windows", test_bind1_unbind },
	{ "binds of type 1 that are refused", test_bind1_refused },
	{ "bind with a full ring", test_bind1_full },
	{ "batch", test_batch },
	{ "batches with an error", test_batch_errors },
	{ "batches that are abandoned", test_batch_abandoned },
	{ "batch of atomic writes", test_batch_atomic_write },
#ifdef HAVE_IBV_WR_FLUSH
	{ "batch of flushes", test_batch_flush },
#endif
	{ "batch of datagrams", test_batch_datagrams },
	{ "batch of XRC", test_batch_xrc },
	{ "receive requests", test_recv },
	{ "receive doorbell", test_recv_doorbell },
	{ "reset takes requests back", test_recv_reset },
	{ "XRC target has no queues", test_xrc_target },
	{ "shared receive queue", test_srq },
	{ "shared receive queue of another size", test_srq_resize },
	{ "poll", test_poll },
	{ "completion index wraps", test_poll_index_wraps },
	{ "extended poll", test_poll_extended },
	{ "entries to be passed over", test_poll_void },
	{ "arm", test_arm },
	{ "resize under a poller", test_resize },
	{ "CQs that are refused", test_cq_attributes },
	{ "thread and parent domains", test_domains },
	{ "domains that are refused", test_domains_refused },
	{ "a poster and a consumer that sleeps", test_wake_up },
	{ "four posters and a consumer that sleeps", test_stress },
};

int main(void)
{
	kernel_init();
	return unit_main(tests, ARRAY_SIZE(tests));
}
