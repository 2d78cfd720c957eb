/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * The interface between the rdma_pane kernel module and its user-space
 * provider: what travels in the driver part of uverbs calls, the layout of the
 * rings both sides map, and the doorbell file.
 *
 * Rules that hold for all of it
 *  - A ring that user space writes holds small, immutable requests only. The
 *    kernel copies a request once and validates the copy. Nothing the kernel
 *    decides by is ever read back from memory that user space can write.
 *  - Indices (prod, cons) run freely over 32 bits; the slot of index i is
 *    i & (count - 1), count being a power of two.
 *  - The writer of an index publishes it with release semantics after the
 *    slots it covers; the reader loads it with acquire semantics.
 *  - Multi-byte members are in host byte order unless their type says so.
 *  - Reserved members and unknown comp_mask bits are zero; a request where
 *    they are not is refused with EINVAL (EOPNOTSUPP for a comp_mask bit), in
 *    a ring with the status IBV_WC_LOC_QP_OP_ERR.
 */
#ifndef PANE_ABI_H
#define PANE_ABI_H

#include <linux/types.h>
#include <linux/ioctl.h>

/*
 * Distinct from every driver in the kernel tree, so that no other provider
 * takes the device for its own whatever name the user gave it.
 */
#define PANE_ABI_VERSION	100

enum {
	/* "Pane"; far from the kernel's enum rdma_driver_id, which is dense */
	RDMA_DRIVER_PANE	= 0x50616e65,
};

/* ---- device context -------------------------------------------------- */

struct pane_alloc_ucontext_req {
	__u32 comp_mask;
	__u32 reserved;
};

struct pane_alloc_ucontext_resp {
	__u32 comp_mask;
	__u32 max_inline;	/* bytes; the most a QP can ask for */
};

/* ---- work requests --------------------------------------------------- */

/*
 * enum pane_wr_opcode - operations user space may put into a send ring
 *
 * Type 1 windows are bound by PANE_DB_BIND_MW only, fast registration exists
 * for kernel users only; neither has an opcode here.
 */
enum pane_wr_opcode {
	PANE_WR_SEND		= 0,
	PANE_WR_SEND_IMM	= 1,
	PANE_WR_SEND_INV	= 2,
	PANE_WR_WRITE		= 3,
	PANE_WR_WRITE_IMM	= 4,
	PANE_WR_READ		= 5,
	PANE_WR_CMP_SWAP	= 6,
	PANE_WR_FETCH_ADD	= 7,
	PANE_WR_BIND_MW		= 8,	/* type 2 windows */
	PANE_WR_LOCAL_INV	= 9,
	PANE_WR_FLUSH		= 10,
	PANE_WR_ATOMIC_WRITE	= 11,
	PANE_WR_USER_MAX	= 12,
};

enum pane_wr_flags {
	PANE_WR_SIGNALED	= 1 << 0,
	PANE_WR_SOLICITED	= 1 << 1,
	PANE_WR_FENCE		= 1 << 2,
	PANE_WR_INLINE		= 1 << 3,
};

/* pane_sq_wqe.flush.type */
enum pane_flush_type {
	PANE_FLUSH_GLOBAL	= 1 << 0,	/* visible to all */
	PANE_FLUSH_PERSISTENT	= 1 << 1,	/* there after a loss of power */
};

/* pane_sq_wqe.flush.level */
enum pane_flush_level {
	PANE_FLUSH_RANGE	= 0,
	PANE_FLUSH_MR		= 1,	/* all that the key opens */
};

/* One element of a gather or scatter list */
struct pane_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/**
 * struct pane_sq_wqe - one request in a send ring
 * @wr_id: returned in the completion
 * @opcode: enum pane_wr_opcode
 * @num_sge: elements in @sge; 0 with PANE_WR_INLINE and for requests that
 *           carry no data
 * @flags: enum pane_wr_flags
 * @ex: the immediate (big endian), or the key to invalidate
 * @rdma: sends, READ, WRITE, ATOMIC_WRITE (8 bytes of data); @rdma.srqn for
 *        every operation of an XRC QP; @rdma.inline_len: bytes of inline data
 *        with PANE_WR_INLINE, else 0
 * @atomic: CMP_SWAP (compare, swap), FETCH_ADD (compare_add)
 * @flush: FLUSH, which has no data; @flush.type is made of enum pane_flush_type,
 *         @flush.level enum pane_flush_level
 * @ud: sends of a UD QP; @ud.ah is the number from pane_create_ah_resp,
 *      @ud.inline_len as in @rdma
 * @bind: BIND_MW; @bind.mw_rkey names the window by its upper 24 bits,
 *        @bind.rkey gives the new low 8 bits, @bind.access is made of
 *        IBV_ACCESS_ bits
 * @sge: @num_sge elements, or inline data in the same place
 */
struct pane_sq_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 num_sge;
	__u16 flags;
	__u32 ex;
	union {
		struct {
			__aligned_u64 remote_addr;
			__u32 rkey;
			__u32 srqn;
			__u32 inline_len;
			__u32 reserved[3];
		} rdma;
		struct {
			__u32 ah;
			__u32 remote_qpn;
			__u32 remote_qkey;
			__u32 reserved0;
			__u32 inline_len;
			__u32 reserved[3];
		} ud;
		struct {
			__aligned_u64 remote_addr;
			__u32 rkey;
			__u32 srqn;
			__aligned_u64 compare_add;
			__aligned_u64 swap;
		} atomic;
		struct {
			__aligned_u64 remote_addr;
			__u32 rkey;
			__u32 srqn;
			__u32 length;
			__u32 type;
			__u32 level;
			__u32 reserved;
		} flush;
		struct {
			__aligned_u64 addr;
			__aligned_u64 length;
			__u32 mw_rkey;
			__u32 rkey;
			__u32 lkey;
			__u32 access;
		} bind;
	};
	struct pane_sge sge[];
};

/* One request in a receive ring or a shared receive ring */
struct pane_rq_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
	struct pane_sge sge[];
};

/* ---- queue pairs ----------------------------------------------------- */

enum pane_db_flags {
	/*
	 * The kernel is not looking at the queue: after publishing an index
	 * and a full barrier, user space that reads this bit rings the
	 * doorbell. Without the bit the kernel finds the request by itself.
	 */
	PANE_NEED_DOORBELL	= 1 << 0,
};

/**
 * struct pane_qp_ctl - the head of a QP's mapping
 * @sq_prod: written by user space: requests put into the send ring
 * @pad0: unused, as all pads: each index has a cache line of its own
 * @rq_prod: written by user space: requests put into the receive ring
 * @pad1: unused
 * @sq_cons: written by the kernel: send requests that have ended; their
 *           slots may be used again
 * @sq_flags: written by the kernel: enum pane_db_flags for PANE_DB_SEND
 * @pad2: unused
 * @rq_cons: written by the kernel: receive requests taken out of the ring
 * @rq_flags: written by the kernel: enum pane_db_flags for PANE_DB_RECV
 * @pad3: unused
 *
 * The kernel only writes its own members, it never reads them back.
 *
 * A move to RESET empties both rings: the kernel sets sq_cons and rq_cons to
 * its own counts, and user space then sets sq_prod and rq_prod to these. The
 * indices do not start at 0 again.
 */
struct pane_qp_ctl {
	__u32 sq_prod;
	__u32 pad0[15];
	__u32 rq_prod;
	__u32 pad1[15];
	__u32 sq_cons;
	__u32 sq_flags;
	__u32 pad2[14];
	__u32 rq_cons;
	__u32 rq_flags;
	__u32 pad3[14];
};

struct pane_create_qp_req {
	__u32 comp_mask;
	__u32 reserved;
};

/**
 * struct pane_create_qp_resp - where the rings of a new QP are
 * @comp_mask: 0
 * @ring_offset: offset for mmap(2) of the context's file
 * @ring_size: bytes to map, readable and writable; starts with pane_qp_ctl
 * @sq_offset: bytes from the start of the mapping to the send ring
 * @sq_stride: bytes from one pane_sq_wqe to the next
 * @sq_count: slots of the send ring
 * @rq_offset: bytes from the start of the mapping to the receive ring; 0, as
 *             the two that follow, when the QP uses a shared receive queue
 * @rq_stride: bytes from one pane_rq_wqe to the next
 * @rq_count: slots of the receive ring
 * @max_inline: bytes of inline data that fit into a slot
 */
struct pane_create_qp_resp {
	__u32 comp_mask;
	__u32 max_inline;
	__aligned_u64 ring_offset;
	__aligned_u64 ring_size;
	__u32 sq_offset;
	__u32 sq_stride;
	__u32 sq_count;
	__u32 rq_offset;
	__u32 rq_stride;
	__u32 rq_count;
};

/* ---- completion queues ----------------------------------------------- */

/*
 * enum pane_vendor_err - which rule a refused request broke
 *
 * The bind rules carry the numbers of the table in
 * Documentation/infiniband/pane.rst.
 */
enum pane_vendor_err {
	PANE_VERR_NONE		= 0,
	PANE_VERR_BIND_MW	= 1,	/* B1: no such window */
	PANE_VERR_BIND_MR	= 2,	/* B2: no such MR, or not registered */
	PANE_VERR_BIND_PD	= 3,	/* B3: QP, window and MR differ in PD */
	PANE_VERR_BIND_MR_ACCESS = 4,	/* B4: MR without MW_BIND */
	PANE_VERR_BIND_LOCAL_WRITE = 5,	/* B5: MR without LOCAL_WRITE */
	PANE_VERR_BIND_FLAGS	= 7,	/* B7: access flags */
	PANE_VERR_BIND_RANGE	= 8,	/* B8: outside the MR */
	PANE_VERR_BIND_STATE	= 9,	/* B9: type 2 window not free */
	PANE_VERR_BIND_LENGTH	= 10,	/* type 2 of length 0 */
	PANE_VERR_INV_KEY	= 16,	/* invalidate: unknown key */
	PANE_VERR_INV_TYPE	= 17,	/* invalidate: MR or type 1 window */
	PANE_VERR_INV_STATE	= 18,	/* invalidate: not bound */
	PANE_VERR_INV_QP	= 19,	/* invalidate: bound on another QP */
	PANE_VERR_INV_MR_BOUND	= 20,	/* invalidate: MR with bound windows */
	PANE_VERR_INV_PD	= 21,	/* invalidate: MR of another PD */
	PANE_VERR_WQE_OPCODE	= 32,	/* send ring: opcode not for this QP */
	PANE_VERR_WQE_FLAGS	= 33,	/* send ring: flag not for this opcode */
	PANE_VERR_WQE_SGE	= 34,	/* ring: too many elements */
	PANE_VERR_WQE_LENGTH	= 35,	/* message or inline data too long */
	PANE_VERR_WQE_RESERVED	= 36,	/* ring: reserved member not zero */
	PANE_VERR_WQE_AH	= 37,	/* send ring: no such address handle */
	PANE_VERR_LKEY		= 48,	/* local key, range or right */
	PANE_VERR_NO_MEMORY	= 64,	/* the kernel is short of memory */
};

enum pane_cqe_flags {
	PANE_CQE_GRH		= 1 << 0,
	PANE_CQE_IMM		= 1 << 1,
	PANE_CQE_INV		= 1 << 2,
	/* of a QP that was reset or destroyed since: to be passed over */
	PANE_CQE_VOID		= 1 << 7,
};

/**
 * struct pane_cqe - one completion
 * @wr_id: of the request
 * @byte_len: bytes transferred (receive, READ, atomics)
 * @ex: the immediate (big endian), or the key that was invalidated
 * @qp_num: local QP
 * @src_qp: remote QP (UD)
 * @status: enum ibv_wc_status
 * @opcode: enum ibv_wc_opcode; valid when @status is success
 * @flags: enum pane_cqe_flags
 * @pkey_index: of the packet (UD)
 * @reserved0: 0
 * @sl: service level (UD)
 * @vendor_err: the reason behind @status: 0, or enum pane_vendor_err
 * @reserved1: 0
 * @timestamp: when it was made, CLOCK_MONOTONIC_RAW in ns; only in a CQ that was
 *             created with IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION
 * @reserved2: 0
 * @seq: index of this entry plus one. An entry of index i is there when @seq
 *       equals (u32)(i + 1), loaded with acquire semantics.
 */
struct pane_cqe {
	__aligned_u64 wr_id;
	__u32 byte_len;
	__u32 ex;
	__u32 qp_num;
	__u32 src_qp;
	__u8 status;
	__u8 opcode;
	__u8 flags;
	__u8 sl;
	__u16 pkey_index;
	__u16 reserved0;
	__u32 vendor_err;
	__u32 reserved1;
	__aligned_u64 timestamp;
	__u32 reserved2[3];
	__u32 seq;
};

enum pane_cq_arm {
	PANE_CQ_ARM_NEXT	= 1 << 0,	/* any completion */
	PANE_CQ_ARM_SOLICITED	= 1 << 1,	/* a solicited one, or an error */
};

/**
 * struct pane_cq_ctl - what user space tells the kernel about a CQ
 * @cons: completions taken out. The kernel uses it to notice an overrun; a
 *        wrong value harms its writer only.
 * @pad0: unused; each member has a cache line of its own
 * @arm: enum pane_cq_arm. Set by user space, followed by a full barrier and
 *       one more poll; cleared by the kernel when it raises the event.
 * @pad1: unused
 */
struct pane_cq_ctl {
	__u32 cons;
	__u32 pad0[15];
	__u32 arm;
	__u32 pad1[15];
};

struct pane_create_cq_req {
	__u32 comp_mask;
	__u32 reserved;
};

/**
 * struct pane_create_cq_resp - where a new CQ is
 * @comp_mask: 0
 * @ring_offset: offset for mmap(2), read only
 * @ring_size: bytes to map
 * @ctl_offset: offset for mmap(2) of one page with pane_cq_ctl, readable and
 *              writable
 * @ring_count: slots of the ring
 */
struct pane_create_cq_resp {
	__u32 comp_mask;
	__u32 ring_count;
	__aligned_u64 ring_offset;
	__aligned_u64 ring_size;
	__aligned_u64 ctl_offset;
};

/*
 * The entries that were not taken out stand in the new ring under their old
 * indices; the old ring stays mapped until user space unmaps it.
 */
struct pane_resize_cq_resp {
	__u32 comp_mask;
	__u32 ring_count;
	__aligned_u64 ring_offset;
	__aligned_u64 ring_size;
};

/* ---- shared receive queues ------------------------------------------- */

/* The head of an SRQ's mapping; as pane_qp_ctl */
struct pane_srq_ctl {
	__u32 prod;
	__u32 pad0[15];
	__u32 cons;
	__u32 pad1[15];
};

struct pane_create_srq_resp {
	__u32 comp_mask;
	__u32 srqn;
	__aligned_u64 ring_offset;
	__aligned_u64 ring_size;
	__u32 rq_offset;
	__u32 rq_stride;
	__u32 rq_count;
	__u32 reserved;
};

/*
 * A method of uverbs' SRQ object gives a queue another size, which the call that
 * modifies one has no answer for. Requests that were not taken stand in the new
 * ring under their old indices; user space posts nothing during the call, and
 * continues in the new ring. Errors: EINVAL (over the device's limit, or less
 * than what waits, or than the queue's limit event), ENOMEM, EFAULT.
 */
enum pane_uverbs_methods_srq {
	PANE_METHOD_SRQ_RESIZE	= 1U << 12,
};

enum pane_uverbs_attrs_srq_resize {
	PANE_ATTR_SRQ_RESIZE_HANDLE = 1U << 12,
	PANE_ATTR_SRQ_RESIZE_MAX_WR,	/* __u32: at least so many slots */
	PANE_ATTR_SRQ_RESIZE_RESP,	/* struct pane_resize_srq_resp */
};

struct pane_resize_srq_resp {
	__aligned_u64 ring_offset;
	__aligned_u64 ring_size;
	__u32 rq_offset;
	__u32 rq_stride;
	__u32 rq_count;
	__u32 reserved;
};

/* ---- address handles ------------------------------------------------- */

struct pane_create_ah_resp {
	__u32 ah;	/* for pane_sq_wqe.ud.ah */
	__u32 reserved;
};

/* ---- doorbell file --------------------------------------------------- */

/*
 * A file per context, made by PANE_METHOD_DOORBELL_ALLOC. Its ioctls do what
 * a doorbell register of hardware would do, without the parsing that a uverbs
 * call needs. They return -1 with
 *  ENODEV  the device is gone
 *  EINVAL  no QP of this context has that number
 *  ENOTTY  unknown request
 */
enum pane_uverbs_objects {
	PANE_OBJECT_DOORBELL	= 1U << 12,
};

enum pane_uverbs_methods_doorbell {
	PANE_METHOD_DOORBELL_ALLOC = 1U << 12,
};

enum pane_uverbs_attrs_doorbell_alloc {
	PANE_ATTR_DOORBELL_ALLOC_FD = 1U << 12,
};

/* Beside PANE_WR_ flags */
enum pane_bind_flags {
	PANE_BIND_BY_HANDLE	= 1 << 16,
};

/**
 * struct pane_bind_mw - bind or unbind a type 1 window
 * @comp_mask: 0
 * @qp_num: QP whose send queue executes the request, after all that its ring
 *          holds up to sq_prod
 * @wr_id: returned in the completion
 * @addr: first byte of the MR that the window opens
 * @length: bytes that it opens; 0 unbinds
 * @lkey: of the MR; ignored with @length 0
 * @rkey: in: the window's current key, see also @mw_handle; out: its new key,
 *        reserved for it and valid once the request has completed
 * @access: IBV_ACCESS_ bits
 * @flags: PANE_WR_SIGNALED, PANE_WR_FENCE, PANE_BIND_BY_HANDLE
 * @mw_handle: with PANE_BIND_BY_HANDLE uverbs' handle of the window, which is
 *             of the same context: then the key that the last such request for
 *             it gave names it too, whatever became of that request
 * @reserved: 0
 *
 * The request takes the next index of the send ring without using its slot:
 * user space holds its lock over the call and, after success, advances
 * sq_prod by one.
 *
 * Whether window, MR and range fit each other is found out when the request is
 * executed and told by its completion (IBV_WC_MW_BIND_ERR); a key reserved for
 * a bind that fails is never valid.
 *
 * Errors: EINVAL (QP state or type, flags, reserved), ENOMEM (send queue full,
 * no key left), EOPNOTSUPP (comp_mask), EFAULT.
 */
struct pane_bind_mw {
	__u32 comp_mask;
	__u32 qp_num;
	__aligned_u64 wr_id;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 lkey;
	__u32 rkey;
	__u32 access;
	__u32 flags;
	__u32 mw_handle;
	__u32 reserved;
};

#define PANE_DB_IOC_MAGIC	0xf1
/* arg: the number of the QP whose send ring has new requests */
#define PANE_DB_SEND		_IO(PANE_DB_IOC_MAGIC, 1)
/* arg: the number of the QP whose receive ring has new requests */
#define PANE_DB_RECV		_IO(PANE_DB_IOC_MAGIC, 2)
#define PANE_DB_BIND_MW		_IOWR(PANE_DB_IOC_MAGIC, 3, struct pane_bind_mw)

#endif /* PANE_ABI_H */
