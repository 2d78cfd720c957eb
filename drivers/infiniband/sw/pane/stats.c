// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "pane.h"
#include "stats.h"

static const struct rdma_stat_desc pane_stat_descs[PANE_CNT_COUNT] = {
#define X(counter, text) [PANE_CNT_##counter] = { .name = #counter },
	PANE_COUNTERS(X)
#undef X
};

/* Clients hear of it from the core. */
void pane_stats_port_changed(struct pane_dev *dev, bool up)
{
	if (!up)
		pane_count(dev, link_downed);
}

struct rdma_hw_stats *pane_stats_alloc(void)
{
	return rdma_alloc_hw_stats_struct(pane_stat_descs, PANE_CNT_COUNT,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

struct rdma_hw_stats *pane_alloc_hw_port_stats(struct ib_device *ibdev,
					       u32 port_num)
{
	return pane_stats_alloc();
}

/* What all CPUs have counted */
void pane_stats_sum(const struct pane_stats __percpu *stats,
		    struct rdma_hw_stats *sum)
{
	unsigned int i;
	int cpu;

	for (i = 0; i < PANE_CNT_COUNT; i++)
		sum->value[i] = 0;
	for_each_possible_cpu(cpu) {
		for (i = 0; i < PANE_CNT_COUNT; i++)
			/* they go on counting */
			sum->value[i] +=
				READ_ONCE(per_cpu_ptr(stats, cpu)->c[i]);
	}
}

/* Called for port 0 as well, which has no counters */
int pane_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port_num, int index)
{
	if (port_num != 1 || !stats)
		return -EINVAL;

	pane_stats_sum(to_pane_dev(ibdev)->stats, stats);
	return PANE_CNT_COUNT;
}
