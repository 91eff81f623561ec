// SPDX-License-Identifier: GPL-2.0
/*
 * Loads the scheduler, and gives a separate map to each program that connects. When this process ends, for any reason,
 * the scheduler ends with it, and the kernel returns to its own scheduler.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "fault_injection.h"
#include "scheduler.h"

#define POLL_MS 200 /* interval at which the loader checks whether the kernel has ended the scheduler */

struct program {
	__u32 tgid, uid;
};

/* A program that is connected. The client ends when its process ends or closes the connection, whichever comes
 * first. */
struct client {
	struct program program;
	int connection, process;
};

static struct client clients[TUTTI_PROGRAMS];
static int client_count;
static int programs = -1; /* descriptor of the map */
static struct tutti_state *state;

static void report(const char *format, ...)
{
	va_list arguments;

	fputs("tutti-scheduler: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

static int print_warning(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}

static void print_counts(void)
{
	const struct tutti_counts *c = &state->counts;

	printf("blocked %llu released %llu found_by_poll %llu timed_out %llu extensions %llu extended_ns %llu "
	       "max_turn_ns %llu migrations %llu migrations_inside %llu programs %d\n",
	       c->blocked, c->released, c->found_by_poll, c->timed_out, c->extensions, c->extended_ns, c->max_turn_ns,
	       c->migrations, c->migrations_inside, client_count);
	fflush(stdout);
}

/* --- Clients. */

static int programs_of(__u32 uid)
{
	int n = 0, i;

	for (i = 0; i < client_count; i++)
		n += clients[i].program.uid == uid;
	return n;
}

static void drop(int i)
{
	bpf_map_delete_elem(programs, &clients[i].program);
	close(clients[i].connection);
	close(clients[i].process);
	clients[i] = clients[--client_count];
}

static void send_reply(int connection, int error, int map)
{
	struct tutti_connect_reply w = { .version = TUTTI_SCHEDULER_ABI, .error = error };
	struct iovec part = { .iov_base = &w, .iov_len = sizeof(w) };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (map >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &map, sizeof(map));
	}
	/* If the message cannot be sent, the client has ended. */
	if (sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		shutdown(connection, SHUT_RDWR);
}

static int new_map(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	static int first = -1;

	if (injected(one_map_for_all) && first >= 0)
		return dup(first);
	first = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tutti_shared", sizeof(__u32), sizeof(struct tutti_shared), 1, &options);
	return first;
}

/* Returns true if the process is in our PID namespace, so that the scheduler knows its threads by the same numbers.
 * False in a container with its own PID namespace. */
static bool shares_pid_namespace(pid_t process)
{
	struct stat its, ours;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", process);
	return stat(path, &its) == 0 && stat("/proc/self/ns/pid", &ours) == 0 && its.st_ino == ours.st_ino;
}

static void accept_client(int listener)
{
	struct client c = { .process = -1 };
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int map = -1, error = 0;

	c.connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (c.connection < 0)
		return;
	if (getsockopt(c.connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0) {
		close(c.connection);
		return;
	}
	c.program.tgid = peer.pid;
	c.program.uid = peer.uid;
	if (client_count == TUTTI_PROGRAMS || (peer.uid != 0 && programs_of(peer.uid) >= TUTTI_PROGRAMS_OF_USER))
		error = ENOSPC;
	if (!error && !shares_pid_namespace(peer.pid))
		error = EXDEV;
	/* The descriptor is opened before the map is added, so that the end of the process is noticed and its map is
	 * removed. */
	if (!error && (c.process = syscall(SYS_pidfd_open, peer.pid, 0)) < 0)
		error = errno;
	if (!error && (map = new_map()) < 0)
		error = errno;
	if (!error && bpf_map_update_elem(programs, &c.program, &map, BPF_NOEXIST))
		error = errno;
	send_reply(c.connection, error, error ? -1 : map);
	if (map >= 0)
		close(map);
	if (error) {
		close(c.process);
		close(c.connection);
		return;
	}
	clients[client_count++] = c;
}

static int listen_at(const char *group)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = TUTTI_SCHEDULER_SOCKET };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	gid_t gid = (gid_t)-1;
	mode_t mask;

	if (group) {
		const struct group *g = getgrnam(group);

		if (!g) {
			report("there is no group '%s'", group);
			return -1;
		}
		gid = g->gr_gid;
	}
	mkdir("/run/tutti", 0755);
	unlink(TUTTI_SCHEDULER_SOCKET);
	mask = umask(0117);
	if (listener < 0 || bind(listener, (struct sockaddr *)&name, sizeof(name)) ||
	    chown(TUTTI_SCHEDULER_SOCKET, (uid_t)-1, gid) || listen(listener, 64)) {
		report("cannot listen at " TUTTI_SCHEDULER_SOCKET ": %s", strerror(errno));
		listener = -1;
	}
	umask(mask);
	return listener;
}

/* Runs until a signal arrives or the kernel ends the scheduler. */
static int serve(int listener, int signals)
{
	struct pollfd all[2 + 2 * TUTTI_PROGRAMS];
	struct signalfd_siginfo signal;
	int i;

	for (;;) {
		int n = client_count;

		all[0] = (struct pollfd){ .fd = signals, .events = POLLIN };
		all[1] = (struct pollfd){ .fd = listener, .events = POLLIN };
		for (i = 0; i < n; i++) {
			/* Clients send nothing, so any input drops the client, as does the end of the connection. */
			all[2 + 2 * i] = (struct pollfd){ .fd = clients[i].connection, .events = POLLIN };
			all[3 + 2 * i] = (struct pollfd){ .fd = clients[i].process, .events = POLLIN };
		}
		if (poll(all, 2 + 2 * n, POLL_MS) < 0 && errno != EINTR) {
			report("poll: %s", strerror(errno));
			return 1;
		}
		if (__atomic_load_n(&state->has_left, __ATOMIC_ACQUIRE)) {
			report("the kernel has ended the scheduler: %s %s", state->reason, state->message);
			return 1;
		}
		/* The loop runs backwards, because drop() moves the last client into the gap. */
		for (i = n; i-- > 0;)
			if (all[2 + 2 * i].revents || all[3 + 2 * i].revents)
				drop(i);
		if (all[1].revents)
			accept_client(listener);
		if (all[0].revents && read(signals, &signal, sizeof(signal)) == sizeof(signal)) {
			print_counts();
			if (signal.ssi_signo != SIGUSR1)
				return 0;
		}
	}
}

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static struct bpf_object *load(const char *file)
{
	struct bpf_object *object = bpf_object__open_file(file, NULL);
	struct bpf_map *outer;
	int inner;

	if (!object) {
		report("cannot open %s: %s", file, strerror(errno));
		return NULL;
	}
	outer = bpf_object__find_map_by_name(object, "programs");
	inner = new_map(); /* a template for the maps that `programs` will hold */
	if (!outer || inner < 0 || bpf_map__set_inner_map_fd(outer, inner) || bpf_object__load(object)) {
		report("cannot load %s: %s", file, strerror(errno));
		return NULL;
	}
	if (!injected(one_map_for_all))
		close(inner);
	programs = bpf_map__fd(outer);
	state = mmap(NULL, sizeof(*state), PROT_READ, MAP_SHARED,
		     bpf_map__fd(bpf_object__find_map_by_name(object, ".data.state")), 0);
	if (state == MAP_FAILED) {
		report("cannot map its state: %s", strerror(errno));
		return NULL;
	}
	return object;
}

int main(int argc, char **argv)
{
	const char *group = NULL;
	struct bpf_object *object;
	struct bpf_link *link;
	int signals, listener, status;

	if (argc >= 3 && !strcmp(argv[1], "--group")) {
		group = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (argc != 2 || argv[1][0] == '-') {
		fputs("usage: tutti-scheduler [--group <group that may connect, in addition to root>] <scheduler.bpf.o>\n"
		      "Runs until SIGINT or SIGTERM. SIGUSR1 makes it print its counts.\n",
		      stderr);
		return 2;
	}
	if (access("/sys/kernel/sched_ext", F_OK)) {
		report("this kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT)");
		return 3;
	}
	signals = block_signals();
	libbpf_set_print(print_warning);
	object = load(argv[1]);
	if (!object)
		return 1;
	link = bpf_map__attach_struct_ops(bpf_object__find_map_by_name(object, "tutti"));
	if (!link) {
		report("the kernel refuses the scheduler%s: %s", errno == EBUSY ? ", because another sched_ext scheduler runs" : "",
		       strerror(errno));
		return 1;
	}
	listener = listen_at(group);
	status = listener < 0 ? 1 : serve(listener, signals);
	unlink(TUTTI_SCHEDULER_SOCKET);
	bpf_link__destroy(link);
	bpf_object__close(object);
	return status;
}
