/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What the sched_ext program and a program agree on, in place of the module's calls (../uapi.h).
 *
 * A program connects to TUTTI_SCHEDULER_SOCKET and receives one struct tutti_welcome, with a descriptor to map one
 * struct tutti_shared from. Nobody else has that map. It is the program's until it closes the connection or ends.
 *
 * Each thread that runs transactions takes a seat, and the entry of the same number: one of the TUTTI_PROBES from
 * gettid() % TUTTI_THREADS on whose `tid` is 0, by a compare-and-swap to its own. It gives it back by storing 0; the
 * scheduler does so where the thread ends, and to all of them where it leaves. So a thread whose seat is no longer its
 * own is served no longer.
 *
 * The entry is written as the module's is. There are no calls but sched_yield(), which says one of three things:
 *
 *	loser:	awaits, awaited; asks = TUTTI_ASKS_TO_WAIT, until_ns; sched_yield(); asks = TUTTI_ASKS_NOTHING
 *	winner:	running = 0; [its compiler's order]; waiters? sched_yield()
 *	anyone:	at a commit, if `extended` is not 0: sched_yield(), which pays back
 *
 * A loser leaves the processor in that call until the winner's entry no longer reads `awaited`, or its time is over. The
 * winner has no fence, so it may see too late that it has waiters: who waits is looked after TUTTI_LOOK_NS, too. A loser
 * with TUTTI_ASKS_FOR_LESS runs at a lower weight until the same, or until it asks for nothing, and makes no call.
 */
#ifndef TUTTI_SCHEDULER_H
#define TUTTI_SCHEDULER_H

#include "../uapi.h"

#define TUTTI_SCHEDULER_SOCKET "/run/tutti/scheduler"
/* Changes whenever anything below does, or TUTTI_ABI. */
#define TUTTI_SCHEDULER_ABI (TUTTI_ABI * 1000 + 1)

#define TUTTI_PROBES 8
#define TUTTI_PROGRAMS 256 /* that may be connected at a time */
#define TUTTI_PROGRAMS_OF_USER 64 /* of which one user other than root may have so many */

#define TUTTI_SLICE_NS 8000000ULL
#define TUTTI_EXTENSION_NS 4000000ULL /* one a slice */
#define TUTTI_LOOK_NS 2000000ULL
#define TUTTI_LESS 9 /* as nice(2) counts, TUTTI_NICER times a quarter more */

enum tutti_request {
	TUTTI_ASKS_NOTHING,
	TUTTI_ASKS_TO_WAIT,
	TUTTI_ASKS_FOR_LESS,
};

/* A cache line. What the program writes harms the program alone. */
struct tutti_seat {
	/* The thread writes: */
	__u32 tid;		/* gettid(), in the loader's PID namespace, which is to be the first; 0: nobody's */
	__u32 asks;
	__u64 until_ns;		/* CLOCK_MONOTONIC: waits end then, or TUTTI_LONGEST_WAIT_NS after the call */
	/* The scheduler writes: */
	__u64 extended;		/* extensions since the thread has last left the processor of its own accord */
	__u64 reserved[5];
};

struct tutti_shared {
	struct tutti_transaction transactions[TUTTI_THREADS];
	struct tutti_seat seats[TUTTI_THREADS];
};

/* Comes with the descriptor, which is absent unless `error` is 0. */
struct tutti_welcome {
	__u32 version;
	/* ENOSPC: there are TUTTI_PROGRAMS, or the user's; EEXIST: the program is connected; EXDEV: it is in another PID
	 * namespace than the scheduler's loader */
	__s32 error;
};

/* Of all programs, since the scheduler was started. */
struct tutti_counts {
	__u64 held;		/* threads that left the processor to wait, */
	__u64 released;		/* of which those whose winner said so, */
	__u64 found;		/* and those that a look found, */
	__u64 outlasted;	/* and those whose time was over, or that got a signal */
	__u64 extensions;
	__u64 extended_ns;	/* what threads ran beyond their slices */
	__u64 longest_turn_ns;	/* of a thread inside a transaction, while another could have run */
	__u64 migrations;	/* of threads outside transactions */
	__u64 migrations_inside;
};

/* What the loader sees of it. */
struct tutti_state {
	struct tutti_counts counts;
	char reason[64];	/* why it has left */
	char message[192];
	__u32 has_left;
};

#endif
