/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a RoCE packet looks like behind the UDP or global route header. Layout only; the fields
 * are those of the IBTA specification under their names there.
 */
#ifndef PANE_WIRE_H
#define PANE_WIRE_H

#include <linux/types.h>
#include <linux/bits.h>
#include <linux/build_bug.h>

#define PANE_UDP_PORT		4791
#define PANE_UDP_SPORT_MIN	0xc000
/* RoCE v1: the next header of a global route header that a BTH follows */
#define PANE_GRH_NEXT_BTH	0x1b

/* Base transport header: in every packet */
struct pane_bth {
	u8	opcode;
	u8	flags;		/* PANE_BTH_SE .. PANE_BTH_TVER */
	__be16	pkey;
	__be32	dqpn;		/* PANE_BTH_FECN .., destination QP */
	__be32	apsn;		/* PANE_BTH_ACKREQ, PSN */
};

#define PANE_BTH_SE		BIT(7)
#define PANE_BTH_MIGREQ		BIT(6)
#define PANE_BTH_PAD		GENMASK(5, 4)
#define PANE_BTH_PAD_SHIFT	4
#define PANE_BTH_TVER		GENMASK(3, 0)

#define PANE_BTH_FECN		BIT(31)
#define PANE_BTH_BECN		BIT(30)
#define PANE_BTH_QPN		GENMASK(23, 0)
#define PANE_BTH_ACKREQ		BIT(31)
#define PANE_BTH_PSN		GENMASK(23, 0)

/* RDMA extended transport header */
struct pane_reth {
	__be64	va;
	__be32	rkey;
	__be32	length;
} __packed;

struct pane_atomic_eth {
	__be64	va;
	__be32	rkey;
	__be64	swap_add;
	__be64	compare;
} __packed;

/* ACK extended transport header */
struct pane_aeth {
	__be32	smsn;		/* syndrome, MSN */
};

#define PANE_AETH_SYNDROME_SHIFT	24
#define PANE_AETH_MSN			GENMASK(23, 0)

#define PANE_AETH_TYPE		0xe0
#define PANE_AETH_VALUE		0x1f
#define PANE_AETH_ACK		0x00
#define PANE_AETH_RNR_NAK	0x20
#define PANE_AETH_NAK		0x60
/* Credit counting is end to end flow control, which this driver does not do */
#define PANE_AETH_ACK_UNLIMITED	(PANE_AETH_ACK | 0x1f)

#define PANE_NAK_PSN_SEQ	(PANE_AETH_NAK | 0)
#define PANE_NAK_INV_REQ	(PANE_AETH_NAK | 1)
#define PANE_NAK_REM_ACC	(PANE_AETH_NAK | 2)
#define PANE_NAK_REM_OP		(PANE_AETH_NAK | 3)

struct pane_atomic_ack_eth {
	__be64	orig;
} __packed;

/* Immediate data, or the key to invalidate */
struct pane_immdt {
	__be32	imm;
};

struct pane_ieth {
	__be32	rkey;
};

/* FLUSH extended transport header */
struct pane_feth {
	__be32	type_sel;	/* PANE_FETH_ */
};

#define PANE_FETH_GLOBAL	BIT(0)
#define PANE_FETH_PERSISTENT	BIT(1)
#define PANE_FETH_SEL		GENMASK(5, 4)
#define PANE_FETH_SEL_RANGE	(0 << 4)
#define PANE_FETH_SEL_MR	(1 << 4)

struct pane_xrceth {
	__be32	srqn;
};

/* Datagram extended transport header */
struct pane_deth {
	__be32	qkey;
	__be32	sqpn;
};

#define PANE_ICRC_SIZE		4
/* Reserved bytes behind the BTH of a congestion notification */
#define PANE_CNP_SIZE		16

static_assert(sizeof(struct pane_bth) == 12);
static_assert(sizeof(struct pane_reth) == 16);
static_assert(sizeof(struct pane_atomic_eth) == 28);
static_assert(sizeof(struct pane_aeth) == 4);
static_assert(sizeof(struct pane_atomic_ack_eth) == 8);
static_assert(sizeof(struct pane_immdt) == 4);
static_assert(sizeof(struct pane_ieth) == 4);
static_assert(sizeof(struct pane_feth) == 4);
static_assert(sizeof(struct pane_xrceth) == 4);
static_assert(sizeof(struct pane_deth) == 8);

/* The longest set of transport headers: XRC, atomic */
#define PANE_MAX_TRANSPORT_HDR \
	(sizeof(struct pane_bth) + sizeof(struct pane_xrceth) + \
	 sizeof(struct pane_atomic_eth))

/* Q_Keys with this bit come from the QP, not from the work request */
#define PANE_QKEY_CONTROLLED	BIT(31)
#define PANE_QPN_GSI		1
#define PANE_QPN_MULTICAST	0xffffff
#define PANE_PKEY_DEFAULT	0xffff

#endif /* PANE_WIRE_H */
