/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The frame around the tests of the windows contract: a program lists its
 * tests, each is run in a child of its own and gives one KTAP result. A test
 * returns when it has passed, and leaves from within a check when it has not;
 * what it had open then is closed by the kernel.
 */
#ifndef PANE_RUN_H
#define PANE_RUN_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * In which variants a test is run: the product of the groups it names. A group
 * that it does not name has its first member and is not part of the name. Other
 * transports than RC are not combined with V_LOOP.
 */
enum pane_variants {
	V_T1	= 1 << 0,	/* type 1 windows */
	V_T2A	= 1 << 1,	/* type 2 windows, the device makes them 2A */
	V_T2B	= 1 << 2,	/* likewise, 2B */
	V_POST	= 1 << 3,	/* ibv_post_send() */
	V_WR	= 1 << 4,	/* the ibv_wr_ functions */
	V_PAIR	= 1 << 5,	/* two devices on one link */
	V_LOOP	= 1 << 6,	/* one device talks to itself */
	V_RC	= 1 << 7,	/* transport of the endpoints */
	V_UC	= 1 << 8,
	V_XRC	= 1 << 9,
	V_T2	= V_T2A | V_T2B,
	V_TYPES	= V_T1 | V_T2,
	V_APIS	= V_POST | V_WR,
	V_PATHS	= V_PAIR | V_LOOP,
	V_QPS	= V_RC | V_UC | V_XRC,
};

/**
 * struct pane_config - the variant that is being run
 * @mw_type: of the windows
 * @mw2: 'A' or 'B', what type 2 windows are
 * @qp_type: of the queue pairs that send: RC, UC or XRC_SEND
 * @wr_api: post by the ibv_wr_ functions
 * @loopback: the peer is on the owner's device
 */
struct pane_config {
	enum ibv_mw_type mw_type;
	char mw2;
	enum ibv_qp_type qp_type;
	bool wr_api;
	bool loopback;
};

extern struct pane_config pane_cfg;

typedef void (*pane_test_fn)(const void *arg);

void pane_test(unsigned int variants, pane_test_fn run, const void *arg,
	       const char *name, ...) __attribute__((format(printf, 4, 5)));
int pane_run(int argc, char **argv, void (*list)(void));
int pane_run_bare(int argc, char **argv, void (*list)(void));

void pane_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void pane_skip(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

bool pane_kernel_checks(void);
bool pane_is_slow(void);
unsigned int pane_rounds(unsigned int rounds);
unsigned int pane_rounds_cheap(unsigned int rounds);
uint64_t pane_operations(unsigned int usual);
int pane_deadline_ms(void);
void pane_more_time(void);
long pane_available_kib(void);
bool pane_file_write(const char *dir, const char *name, const char *text);

/* Set by PANE_AT(): the line of the test that a helper works for */
extern const char *pane_where_file;
extern int pane_where_line;

#define PANE_AT(call)							\
	(pane_where_file = __FILE__, pane_where_line = __LINE__, (call))

#define CHECK(cond, fmt, ...) do {					\
	if (!(cond))							\
		pane_fail(__FILE__, __LINE__, "%s: " fmt, #cond,	\
			  ##__VA_ARGS__);				\
} while (0)

#define CHECK_EQ(got, wanted) do {					\
	long long got_ = (long long)(got);				\
	long long wanted_ = (long long)(wanted);			\
									\
	if (got_ != wanted_)						\
		pane_fail(__FILE__, __LINE__,				\
			  "%s is %lld (%#llx), not %lld (%#llx)", #got,	\
			  got_, got_, wanted_, wanted_);		\
} while (0)

/* For calls that return 0 or an errno value */
#define CHECK_OK(call) do {						\
	int ret_ = (call);						\
									\
	if (ret_)							\
		pane_fail(__FILE__, __LINE__, "%s: %s (%d)", #call,	\
			  strerror(ret_), ret_);			\
} while (0)

#endif
