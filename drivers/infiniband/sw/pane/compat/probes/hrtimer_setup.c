// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/hrtimer.h>

static enum hrtimer_restart probe_over(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

void probe(struct hrtimer *timer)
{
	hrtimer_setup(timer, probe_over, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}
