/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PANE_SHIM_COMPILER_H
#define PANE_SHIM_COMPILER_H

#define __always_unused __attribute__((unused))
#define __maybe_unused __attribute__((unused))
#define __must_check __attribute__((warn_unused_result))
#define __packed __attribute__((packed))
#define __aligned(n) __attribute__((aligned(n)))
#define noinline __attribute__((noinline))
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define fallthrough __attribute__((fallthrough))

/* for sparse alone */
#define __force
#define __user
#define __rcu
#define __percpu
#define __iomem

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * A test can have a function called here, which does what another thread might
 * do just then.
 */
extern __thread void (*shim_at_barrier)(void);

#define barrier() do {					\
	__asm__ __volatile__("" : : : "memory");	\
	if (shim_at_barrier)				\
		shim_at_barrier();			\
} while (0)

#define OPTIMIZER_HIDE_VAR(var) __asm__ ("" : "=r" (var) : "0" (var))

/* As in the kernel, what is reached through a pointer read is read after it. */
#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_CONSUME)
#define WRITE_ONCE(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELAXED)

#endif
