/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How long a receiver that is not ready asks its peer to wait */
#ifndef PANE_RNR_H
#define PANE_RNR_H

#include <linux/types.h>

/* Microseconds that a 5-bit timer code stands for; 0 is the longest */
static inline u32 pane_rnr_usecs(u8 code)
{
	static const u32 usecs[32] = {
		655360, 10, 20, 30, 40, 60, 80, 120,
		160, 240, 320, 480, 640, 960, 1280, 1920,
		2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720,
		40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520,
	};

	return usecs[code & 31];
}

#endif /* PANE_RNR_H */
