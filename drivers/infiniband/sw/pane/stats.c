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

struct rdma_hw_stats *pane_alloc_hw_port_stats(struct ib_device *ibdev,
					       u32 port_num)
{
	return rdma_alloc_hw_stats_struct(pane_stat_descs, PANE_CNT_COUNT,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/* Called for port 0 as well, which has no counters */
int pane_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port_num, int index)
{
	struct pane_dev *dev = to_pane_dev(ibdev);
	unsigned int i;
	int cpu;

	if (port_num != 1 || !stats)
		return -EINVAL;

	for (i = 0; i < PANE_CNT_COUNT; i++)
		stats->value[i] = 0;
	for_each_possible_cpu(cpu)
		for (i = 0; i < PANE_CNT_COUNT; i++)
			stats->value[i] += per_cpu_ptr(dev->stats, cpu)->c[i];

	return PANE_CNT_COUNT;
}
