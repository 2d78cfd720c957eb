/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_CPUMASK_H
#define PANE_SHIM_CPUMASK_H

#include "../shim.h"

#define for_each_possible_cpu(cpu) \
	for ((cpu) = 0; (cpu) < SHIM_CPUS; (cpu)++)

#endif
