// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/compiler.h>
#include <linux/crc32.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "copy.h"
#include "crc_sliced.h"

/* What is measured: the payload of a packet, some times */
#define MEASURE_BYTES	4096
#define MEASURE_TIMES	16

static DEFINE_STATIC_KEY_FALSE(copy_own);
static DEFINE_STATIC_KEY_FALSE(crc_own);

/* Registers in between, which keeps the compiler from calling memcpy() */
static void copy_words(u8 *dst, const u8 *src, size_t len)
{
	u64 piece[4];
	u8 byte;

	for (; len >= sizeof(piece); len -= sizeof(piece)) {
		memcpy(piece, src, sizeof(piece));
		OPTIMIZER_HIDE_VAR(piece[0]);
		OPTIMIZER_HIDE_VAR(piece[1]);
		OPTIMIZER_HIDE_VAR(piece[2]);
		OPTIMIZER_HIDE_VAR(piece[3]);
		memcpy(dst, piece, sizeof(piece));
		src += sizeof(piece);
		dst += sizeof(piece);
	}
	for (; len >= sizeof(piece[0]); len -= sizeof(piece[0])) {
		memcpy(piece, src, sizeof(piece[0]));
		OPTIMIZER_HIDE_VAR(piece[0]);
		memcpy(dst, piece, sizeof(piece[0]));
		src += sizeof(piece[0]);
		dst += sizeof(piece[0]);
	}
	for (; len; len--) {
		byte = *src++;
		OPTIMIZER_HIDE_VAR(byte);
		*dst++ = byte;
	}
}

/**
 * pane_copy - as memcpy()
 * @dst: where the bytes go
 * @src: the bytes
 * @len: how many
 */
void pane_copy(void *dst, const void *src, size_t len)
{
	if (static_branch_unlikely(&copy_own))
		copy_words(dst, src, len);
	else
		memcpy(dst, src, len);
}

/**
 * pane_crc - as crc32_le()
 * @crc: value so far
 * @data: bytes
 * @len: how many
 *
 * Return: the value over them, too
 */
u32 pane_crc(u32 crc, const void *data, size_t len)
{
	if (static_branch_unlikely(&crc_own))
		return pane_crc_sliced(crc, data, len);
	return crc32_le(crc, data, len);
}

/**
 * pane_copy_crc - copy bytes and take their CRC
 * @crc: value so far
 * @dst: where they go
 * @src: the bytes. Others may write to them meanwhile: the CRC is that of the copy.
 * @len: how many
 *
 * Return: the value over them, too
 */
u32 pane_copy_crc(u32 crc, void *dst, const void *src, size_t len)
{
	if (static_branch_unlikely(&crc_own))
		return pane_crc_sliced_copy(crc, dst, src, len);
	/* the copy is in the cache now, so memory is read once */
	pane_copy(dst, src, len);
	return crc32_le(crc, dst, len);
}

/* Take our own code, or the kernel's; for pane_copy_init(), and for tests */
void pane_copy_choose(bool own_copy, bool own_crc)
{
	if (own_copy)
		static_branch_enable(&copy_own);
	else
		static_branch_disable(&copy_own);
	if (own_crc)
		static_branch_enable(&crc_own);
	else
		static_branch_disable(&crc_own);
}

/* ---- measuring ------------------------------------------------------- */

enum way {
	WAY_COPY,
	WAY_COPY_CRC,
};

static void __init measure_once(enum way way, u8 *dst, const u8 *src)
{
	if (way == WAY_COPY)
		pane_copy(dst, src, MEASURE_BYTES);
	else
		pane_copy_crc(0, dst, src, MEASURE_BYTES);
}

/* Nanoseconds. The shortest time is that in which nothing else happened. */
static u64 __init measure(enum way way, u8 *dst, const u8 *src)
{
	u64 best = U64_MAX, from;
	int i;

	for (i = 0; i < MEASURE_TIMES; i++) {
		preempt_disable();
		from = ktime_get_ns();
		measure_once(way, dst, src);
		best = min(best, ktime_get_ns() - from);
		preempt_enable();
	}
	return best;
}

/* Ours may be as good by accident, or by the clock's grain: it has to be better */
static bool __init is_better(u64 own, u64 kernels)
{
	return own < kernels - kernels / 8;
}

/* Before the first packet. Without memory to measure in it is the kernel's code. */
void __init pane_copy_init(void)
{
	u8 *mem = kzalloc(2 * MEASURE_BYTES, GFP_KERNEL);
	u8 *dst = mem, *src = mem + MEASURE_BYTES;
	bool own_copy, own_crc;
	u64 kernels;

	pane_crc_sliced_init();
	if (!mem)
		return;
	kernels = measure(WAY_COPY, dst, src);
	pane_copy_choose(true, false);
	own_copy = is_better(measure(WAY_COPY, dst, src), kernels);
	pane_copy_choose(own_copy, false);
	kernels = measure(WAY_COPY_CRC, dst, src);
	pane_copy_choose(own_copy, true);
	own_crc = is_better(measure(WAY_COPY_CRC, dst, src), kernels);
	pane_copy_choose(own_copy, own_crc);
	pr_debug("pane: own copy: %d, own CRC: %d\n", own_copy, own_crc);
	kfree(mem);
}
