// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/pane-abi.h>

#include "../kselftest.h"
#include "pane_fabric.h"
#include "pane_run.h"
#include "pane_util.h"

struct ibv_device *pane_devices[2];
char pane_mw2_letter;
bool pane_mw2_choice;

static char first_tag[12];
char pane_second_tag[12];

static const char fabric_up[] =
	"set -e;"
	"ip netns add $1l; ip netns add $1r;"
	"ip -n $1l link add $1l type veth peer name $1r netns $1r;"
	"ip -n $1l addr add 10.99.0.1/24 dev $1l;"
	"ip -n $1r addr add 10.99.0.2/24 dev $1r;"
	"ip -n $1l link set $1l mtu 4200 up; ip -n $1l link set lo up;"
	"ip -n $1r link set $1r mtu 4200 up; ip -n $1r link set lo up;"
	"ip netns exec $1l rdma link add $1l type pane netdev $1l;"
	"ip netns exec $1r rdma link add $1r type pane netdev $1r";

/* A test may have taken away a part of it */
static const char fabric_down[] =
	"exec 2>/dev/null;"
	"rdma link delete $1l; rdma link delete $1r;"
	"ip netns del $1l; ip netns del $1r";

int pane_shell(const char *script, const char *arg)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		execlp("sh", "sh", "-c", script, "sh", arg, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

static bool fabric_exists(const char *tag)
{
	char path[64];

	snprintf(path, sizeof(path), "/run/netns/%sr", tag);
	return *tag && !access(path, F_OK);
}

static void fabric_remove(const char *tag)
{
	if (fabric_exists(tag))
		pane_shell(fabric_down, tag);
}

static void fabric_remove_all(void)
{
	fabric_remove(pane_second_tag);
	fabric_remove(first_tag);
}

static void fabric_on_signal(int sig)
{
	fabric_remove_all();
	_exit(128 + sig);
}

/* ---- finding --------------------------------------------------------- */

/* By the ABI version, since the user gives the devices any name */
static bool device_is_pane(const struct ibv_device *dev)
{
	char text[16] = "", path[IBV_SYSFS_PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/abi_version", dev->dev_path);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		*text = '\0';
	close(fd);
	return atoi(text) == PANE_ABI_VERSION;
}

/* Tests by plain verbs are of use between devices of different drivers, too */
static bool device_is_wanted(const struct ibv_device *dev)
{
	return getenv("PANE_ANY_DEVICE") || device_is_pane(dev);
}

/* The list is never freed, so the device stays good */
static struct ibv_device *device_find(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (unsigned int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return device_is_wanted(list[i]) ? list[i] : NULL;
	return NULL;
}

static bool devices_find(struct ibv_device *devices[2], const char *owner,
			 const char *peer)
{
	devices[0] = device_find(owner);
	devices[1] = device_find(peer);
	return devices[0] && devices[1];
}

static bool devices_find_tag(struct ibv_device *devices[2], const char *tag)
{
	char owner[16], peer[16];

	snprintf(owner, sizeof(owner), "%sl", tag);
	snprintf(peer, sizeof(peer), "%sr", tag);
	return devices_find(devices, owner, peer);
}

static bool devices_from_environment(void)
{
	char owner[IBV_SYSFS_NAME_MAX], peer[IBV_SYSFS_NAME_MAX];
	const char *names = getenv("PANE_DEVICES");

	if (!names)
		return false;
	if (sscanf(names, "%63s %63s", owner, peer) != 2 ||
	    !devices_find(pane_devices, owner, peer))
		ksft_exit_fail_msg("PANE_DEVICES: no such devices\n");
	return true;
}

/* ---- making ---------------------------------------------------------- */

static bool fabric_make(char *tag)
{
	if (!pane_shell(fabric_up, tag))
		return true;
	fabric_remove(tag);
	return false;
}

static void fabric_make_first(void)
{
	if (geteuid())
		ksft_exit_skip("needs root to make devices\n");
	if (pane_shell("command -v ip >/dev/null && command -v rdma >/dev/null", NULL))
		ksft_exit_skip("needs ip and rdma of iproute2\n");
	if (pane_shell("modprobe -q rdma_pane", NULL))
		ksft_exit_skip("no rdma_pane module\n");
	snprintf(first_tag, sizeof(first_tag), "pm%d", getpid());
	snprintf(pane_second_tag, sizeof(pane_second_tag), "px%d", getpid());
	atexit(fabric_remove_all);
	signal(SIGTERM, fabric_on_signal);
	signal(SIGINT, fabric_on_signal);
	if (!fabric_make(first_tag) ||
	    !devices_find_tag(pane_devices, first_tag))
		ksft_exit_fail_msg("no devices could be made\n");
}

/* ---- type 2 windows -------------------------------------------------- */

/* Say what they are; 0 or an errno value */
int pane_mw2_write(const struct ibv_device *dev, const char *type)
{
	char path[IBV_SYSFS_PATH_MAX + 16];
	int ret = 0, fd;

	snprintf(path, sizeof(path), "%s/mw_type2", dev->ibdev_path);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return errno;
	if (write(fd, type, strlen(type)) < 0)
		ret = errno;
	close(fd);
	return ret;
}

/* While there is no such window, whatever they were before */
void pane_mw2_set(char letter)
{
	const char text[] = { '2', letter, '\0' };

	for (unsigned int i = 0; i < 2; i++)
		CHECK_OK(pane_mw2_write(pane_devices[i], text));
	pane_mw2_letter = letter;
}

/* ---- opening --------------------------------------------------------- */

/* Also waits until both have their addresses */
static void devices_look(void)
{
	struct ibv_device_attr attr;
	struct node n;

	for (unsigned int i = 0; i < 2; i++) {
		node_open_device(&n, pane_devices[i]);
		CHECK_OK(ibv_query_device(n.ctx, &attr));
		pane_mw2_letter =
			attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A ?
			'A' : 'B';
		node_close(&n);
	}
	pane_mw2_choice = !pane_mw2_write(pane_devices[0], "2B") &&
			  !pane_mw2_write(pane_devices[1], "2B");
}

/* Before the tests are listed. The program ends here when there is no device */
void pane_fabric_open(void)
{
	if (!devices_from_environment())
		fabric_make_first();
	devices_look();
}

/* After a test: what it made and did not remove */
void pane_fabric_tidy(void)
{
	fabric_remove(pane_second_tag);
}

void pane_fabric_second(struct ibv_device *devices[2])
{
	if (!*pane_second_tag || !fabric_make(pane_second_tag) ||
	    !devices_find_tag(devices, pane_second_tag))
		pane_skip("a second pair of devices cannot be made");
}
