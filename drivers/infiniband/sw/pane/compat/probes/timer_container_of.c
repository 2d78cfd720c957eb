// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/timer.h>

struct x {
	struct timer_list t;
};

struct x *probe(struct timer_list *timer)
{
	struct x *x = timer_container_of(x, timer, t);

	return x;
}
