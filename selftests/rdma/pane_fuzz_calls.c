// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The system calls of the library go through here, since a program's own
 * ioctl() and mmap() come before those of libc.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/pane-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "../kselftest.h"
#include "pane_fuzz.h"
#include "pane_verbs.h"

#define ATTRS_MAX	24
/* Where numbers of drivers begin */
#define DRIVER_NS	UVERBS_ATTR_UHW_IN
#define SLOT_LEN	8192
/* Spoilt calls for each that is not */
#define TRIES		6

uint8_t *fuzz_arena;
struct fuzz_shared *fuzz_shared;

static bool fuzzing;

/* ---- memory ---------------------------------------------------------- */

/* Nothing is mapped around it, so that a range that leaves it is none */
static void arena_open(void)
{
	uint8_t *all = mmap(NULL, 3 * ARENA_LEN, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(all != MAP_FAILED, "%s", strerror(errno));
	fuzz_arena = all + ARENA_LEN;
	CHECK(!mprotect(fuzz_arena, ARENA_LEN, PROT_READ | PROT_WRITE), "%s",
	      strerror(errno));
}

void fuzz_begin(void)
{
	arena_open();
	fuzzing = true;
}

void fuzz_pause(bool pause)
{
	fuzzing = !pause;
}

bool fuzz_is_short(void)
{
	struct sysinfo info;

	return !sysinfo(&info) && info.freeram < info.totalram / 2;
}

static bool is_pointer(uint64_t value)
{
	return value >= 0x10000 && value < 1ULL << 47;
}

static bool in_arena(uint64_t value)
{
	uint64_t start = (uintptr_t)fuzz_arena;

	return value >= start && value - start < ARENA_LEN;
}

/* Bytes of the arena from there on, at most @len */
static size_t room_at(uint64_t value, size_t len)
{
	size_t room = (uintptr_t)fuzz_arena + ARENA_LEN - value;

	return len < room ? len : room;
}

/* A place that may be written, if there is anything at all */
static uint64_t random_place(void)
{
	const uint64_t places[] = {
		(uintptr_t)fuzz_arena + random_below(ARENA_LEN),
		(uintptr_t)fuzz_arena + ARENA_LEN - random_below(64),
		(uintptr_t)fuzz_arena - random_below(64),
		0, random_below(4096), -1, 1ULL << 63, -4096,
	};

	return places[random_below(ARRAY_SIZE(places))];
}

/* Addresses of this program's own memory become harmless ones */
static void defuse(void *data, size_t len)
{
	uint64_t value;

	for (size_t i = 0; i + 8 <= len; i += 4) {
		memcpy(&value, data + i, 8);
		if (!is_pointer(value) || in_arena(value))
			continue;
		value = (uintptr_t)fuzz_arena + value % (ARENA_LEN / 2);
		memcpy(data + i, &value, 8);
	}
}

/* ---- values ---------------------------------------------------------- */

static uint64_t random_number(void)
{
	const uint64_t numbers[] = {
		0, 1, 2, 3, -1, random_below(64), random_below(1 << 16),
		random_u32(), 1ULL << random_below(64),
		(1ULL << random_below(64)) - 1,
		(uint64_t)random_u32() << 32 | random_u32(),
	};

	return numbers[random_below(ARRAY_SIZE(numbers))];
}

/* A byte, a word, or more of it */
static void spoil_bytes(void *data, size_t len)
{
	uint64_t value = random_number();
	size_t width = 1U << random_below(4), at;

	if (len < width)
		width = 1;
	if (!len)
		return;
	at = random_below(len - width + 1);
	if (random_below(4))
		at -= at % width;
	if (random_below(3) == 0)
		*((uint8_t *)data + at) ^= 1 << random_below(8);
	else
		memcpy(data + at, &value, width);
	defuse(data, len);
}

/* ---- commands of ioctl(2) -------------------------------------------- */

struct command {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[ATTRS_MAX];
};

/* What attributes point to, at a place of its own for each */
static void *slot(unsigned int i)
{
	return fuzz_arena + ARENA_LEN / 2 + i * SLOT_LEN;
}

/* What a number points to, if it is an address at all */
static void peek(void *to, uint64_t addr, size_t len)
{
	const struct iovec local = { to, len };
	const struct iovec remote = { (void *)(uintptr_t)addr, len };

	process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
}

static bool command_copy(struct command *c, const struct ib_uverbs_ioctl_hdr *h)
{
	if (h->num_attrs > ATTRS_MAX)
		return false;
	memcpy(c, h, sizeof(*h) + h->num_attrs * sizeof(*c->attrs));
	for (unsigned int i = 0; i < c->hdr.num_attrs; i++) {
		struct ib_uverbs_attr *a = &c->attrs[i];

		if (is_pointer(a->data)) {
			memset(slot(i), 0, SLOT_LEN);
			if (a->len <= SLOT_LEN)
				peek(slot(i), a->data, a->len);
			defuse(slot(i), SLOT_LEN);
			a->data = (uintptr_t)slot(i);
		} else if (a->len == 8) {
			defuse(&a->data, 8);
		}
	}
	return true;
}

static void spoil_attr(struct command *c, struct ib_uverbs_attr *a)
{
	switch (random_below(8)) {
	case 0:
		a->attr_id = random_below(2) ? random_below(32) :
			     DRIVER_NS | random_below(8);
		break;
	case 1:
		a->len = random_number();
		break;
	case 2:
		a->flags ^= 1 << random_below(16);
		break;
	case 3:
		a->attr_data.reserved = random_number();
		break;
	case 4:
		a->data = random_place();
		break;
	case 5:
		a->data = random_number();
		break;
	default:
		if (in_arena(a->data))
			spoil_bytes((void *)(uintptr_t)a->data,
				    room_at(a->data, a->len));
		else
			spoil_bytes(&a->data, 8);
	}
	if (is_pointer(a->data) && !in_arena(a->data) &&
	    !in_arena(a->data + 64) && !in_arena(a->data - 64))
		defuse(&a->data, 8);
}

static void spoil_header(struct command *c)
{
	switch (random_below(6)) {
	case 0:
		c->hdr.object_id = random_below(2) ? random_below(24) :
				   DRIVER_NS | random_below(4);
		break;
	case 1:
		c->hdr.method_id = random_below(2) ? random_below(16) :
				   DRIVER_NS | random_below(4);
		break;
	case 2:
		c->hdr.driver_id = random_number();
		break;
	case 3:
		c->hdr.length = random_number();
		break;
	case 4:
		c->hdr.num_attrs = random_below(ATTRS_MAX + 8);
		break;
	default:
		c->hdr.reserved1 = random_below(2);
	}
}

/* An attribute twice, one less, or the order of two changed */
static void spoil_list(struct command *c)
{
	unsigned int num = c->hdr.num_attrs, a, b;
	struct ib_uverbs_attr held;

	if (!num)
		return;
	a = random_below(num);
	b = random_below(num);
	held = c->attrs[a];
	if (random_below(3) == 0 && num < ATTRS_MAX) {
		c->attrs[num] = held;
		c->hdr.num_attrs++;
	} else if (random_below(2)) {
		c->attrs[a] = c->attrs[num - 1];
		c->hdr.num_attrs--;
	} else {
		c->attrs[a] = c->attrs[b];
		c->attrs[b] = held;
	}
	c->hdr.length = sizeof(c->hdr) +
			c->hdr.num_attrs * sizeof(*c->attrs);
}

static void command_spoil(struct command *c)
{
	for (unsigned int i = 1 + random_below(3); i; i--) {
		unsigned int num = c->hdr.num_attrs;

		if (num > ATTRS_MAX)
			num = ATTRS_MAX;
		if (random_below(10) == 0)
			spoil_header(c);
		else if (random_below(10) == 0)
			spoil_list(c);
		else if (num)
			spoil_attr(c, &c->attrs[random_below(num)]);
	}
}

static void count(long ret)
{
	__atomic_add_fetch(&fuzz_shared->calls, 1, __ATOMIC_RELAXED);
	if (ret >= 0)
		__atomic_add_fetch(&fuzz_shared->taken, 1, __ATOMIC_RELAXED);
}

/* ---- commands of write(2) -------------------------------------------- */

static const struct ib_uverbs_attr *attr_of(const struct command *c,
					    unsigned int id)
{
	for (unsigned int i = 0; i < c->hdr.num_attrs && i < ATTRS_MAX; i++)
		if (c->attrs[i].attr_id == id)
			return &c->attrs[i];
	return NULL;
}

static size_t append(uint8_t *to, size_t len, const struct ib_uverbs_attr *a)
{
	if (!a || a->len > 1024)
		return len;
	if (in_arena(a->data))
		memcpy(to + len, (void *)(uintptr_t)a->data,
		       room_at(a->data, a->len));
	else
		memcpy(to + len, &a->data, a->len < 8 ? a->len : 8);
	return len + a->len;
}

/* The same in the old way, which takes the answer's place first */
static void write_spoilt(int fd, const struct command *c)
{
	const struct ib_uverbs_attr *cmd = attr_of(c, UVERBS_ATTR_WRITE_CMD);
	struct ib_uverbs_cmd_hdr hdr = { .out_words = random_below(64) };
	uint64_t response = random_below(8) ? (uintptr_t)slot(0) :
					      random_place();
	uint8_t buf[4096] = {};
	size_t len = sizeof(hdr);

	if (!cmd)
		return;
	len = append(buf, len, attr_of(c, UVERBS_ATTR_CORE_IN));
	len = append(buf, len, attr_of(c, UVERBS_ATTR_UHW_IN));
	hdr.command = cmd->data;
	hdr.in_words = len / 4;
	if (random_below(8) == 0)
		spoil_bytes(&hdr, sizeof(hdr));
	memcpy(buf, &hdr, sizeof(hdr));
	if (random_below(2))
		spoil_bytes(buf + sizeof(hdr), len - sizeof(hdr));
	memcpy(buf + sizeof(hdr), &response, sizeof(response));
	count(write(fd, buf, random_below(16) ? len : random_below(4096)));
}

/* ---- what the library calls ------------------------------------------ */

static void try_command(int fd, const struct ib_uverbs_ioctl_hdr *h)
{
	struct command c;

	for (unsigned int i = 0; i < TRIES; i++) {
		if (!command_copy(&c, h))
			return;
		if (c.hdr.object_id == UVERBS_OBJECT_DEVICE &&
		    random_below(3) == 0) {
			write_spoilt(fd, &c);
			continue;
		}
		command_spoil(&c);
		count(syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, &c));
	}
}

/* A doorbell's argument is a number, or a request to bind */
static void try_doorbell(int fd, unsigned long request, unsigned long arg)
{
	struct pane_bind_mw *bind = slot(0);

	for (unsigned int i = 0; i < TRIES; i++) {
		unsigned long spoilt = arg;

		if (request == PANE_DB_BIND_MW) {
			memcpy(bind, (void *)arg, sizeof(*bind));
			spoil_bytes(bind, sizeof(*bind));
			spoilt = random_below(8) ? (uintptr_t)bind :
						   random_place();
		} else if (random_below(2)) {
			spoilt = random_number();
		}
		if (random_below(8) == 0)
			request = _IO(PANE_DB_IOC_MAGIC, random_below(5));
		/* whatever the request has become, it may not reach too far */
		if (is_pointer(spoilt))
			defuse(&spoilt, 8);
		count(syscall(SYS_ioctl, fd, request, spoilt));
	}
}

int ioctl(int fd, unsigned long request, ...)
{
	unsigned long arg;
	va_list args;
	int saved = errno;

	va_start(args, request);
	arg = va_arg(args, unsigned long);
	va_end(args);
	if (fuzzing && request == RDMA_VERBS_IOCTL)
		try_command(fd, (void *)arg);
	else if (fuzzing && _IOC_TYPE(request) == PANE_DB_IOC_MAGIC)
		try_doorbell(fd, request, arg);
	errno = saved;
	return syscall(SYS_ioctl, fd, request, arg);
}

/* ---- mappings -------------------------------------------------------- */

#define OFFSETS		16
static uint64_t offsets[OFFSETS];
static unsigned int num_offsets;

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (fuzzing && fd >= 0)
		offsets[num_offsets++ % OFFSETS] = offset;
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

void fuzz_map(int fd)
{
	static const int prots[] = {
		PROT_READ, PROT_READ | PROT_WRITE, PROT_WRITE, PROT_NONE,
		PROT_READ | PROT_EXEC,
	};
	uint64_t page = sysconf(_SC_PAGESIZE);
	uint64_t at = offsets[random_below(OFFSETS)];
	int prot = prots[random_below(ARRAY_SIZE(prots))];
	size_t len = page * (1 + random_below(random_below(2) ? 4 : 600));
	volatile uint8_t *map;

	if (random_below(2))
		at += page * random_below(8);
	if (random_below(8) == 0)
		at = random_number() & ~(page - 1);
	map = (void *)syscall(SYS_mmap, NULL, len, prot, random_below(4) ?
			      MAP_SHARED : MAP_PRIVATE, fd, at);
	__atomic_add_fetch(&fuzz_shared->maps, 1, __ATOMIC_RELAXED);
	if (map == MAP_FAILED)
		return;
	if (prot & PROT_READ)
		(void)map[random_below(len)];
	mprotect((void *)map, len, PROT_READ | PROT_WRITE);
	munmap((void *)map, len);
}
