// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <net/ip6_fib.h>

const struct rt6_info *probe(const struct dst_entry *dst)
{
	return dst_rt6_info(dst);
}
