// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/timer.h>

int probe(struct timer_list *timer)
{
	return timer_shutdown_sync(timer) + timer_delete_sync(timer);
}
