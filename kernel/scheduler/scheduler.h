/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The interface between the sched_ext program and a program that uses it, in place of the module's calls
 * (../uapi.h).
 *
 * A program connects to TUTTI_SCHEDULER_SOCKET and receives one struct tutti_connect_reply with a descriptor, from
 * which it maps one struct tutti_shared. No other program gets this map, until this program closes the connection or
 * ends.
 *
 * Each thread that runs transactions acquires a slot, and the entry of the same number. The thread checks TUTTI_PROBES
 * slots, beginning at gettid() % TUTTI_THREADS. It acquires a slot whose `tid` is 0 by a compare-and-swap of `tid` to
 * its own thread number. The thread releases the slot by storing 0. The scheduler does the same when the thread ends,
 * and for all threads when the scheduler ends. The scheduler no longer serves a thread whose slot it has released.
 *
 * The program writes the entry as it does for the module. The only call is sched_yield(), which has three meanings:
 *
 *	loser:	awaits, awaited -> request = TUTTI_REQUEST_WAIT, until_ns -> sched_yield() -> request = TUTTI_REQUEST_NONE
 *	winner:	running = 0 -> [compiler fence] -> waiters? sched_yield()
 *	anyone:	at a commit, if `extended` is not 0: sched_yield(), which returns the extra time
 *
 * In sched_yield(), a loser leaves the processor until the winner's entry differs from `awaited`, or until the loser's
 * time is over. The winner has no fence and may see its waiters too late, so the scheduler also checks all waiting
 * losers after TUTTI_POLL_NS. A loser with TUTTI_REQUEST_LOWER_WEIGHT makes no call. The loser runs at a lower weight
 * until the same event, or until it stores TUTTI_REQUEST_NONE.
 */
#ifndef TUTTI_SCHEDULER_H
#define TUTTI_SCHEDULER_H

#include "../uapi.h"

#define TUTTI_SCHEDULER_SOCKET "/run/tutti/scheduler"
/* Changes whenever anything below or TUTTI_ABI changes. */
#define TUTTI_SCHEDULER_ABI (TUTTI_ABI * 1000 + 1)

#define TUTTI_PROBES 8
#define TUTTI_PROGRAMS 256 /* programs that may be connected at a time */
#define TUTTI_PROGRAMS_OF_USER 64 /* programs that one user, other than root, may have connected */

#define TUTTI_SLICE_NS 8000000ULL
#define TUTTI_EXTENSION_NS 4000000ULL /* once per slice */
#define TUTTI_POLL_NS 2000000ULL
/* The factor by which the running time of a loser with a lower weight is charged: about 1.25 to the power of
 * TUTTI_DEFER_NICE. */
#define TUTTI_DEFER_WEIGHT_DIVISOR 9

enum tutti_request {
	TUTTI_REQUEST_NONE,
	TUTTI_REQUEST_WAIT,
	TUTTI_REQUEST_LOWER_WEIGHT,
};

/* A cache line. Wrong values from the program harm only the program. */
struct tutti_sched_slot {
	/* Written by the thread: */
	__u32 tid;		/* gettid() in the loader's PID namespace, which has to be the initial one; 0: the slot is free */
	__u32 request;
	__u64 until_ns;		/* CLOCK_MONOTONIC: waits end at this time, or TUTTI_MAX_WAIT_NS after the call */
	/* Written by the scheduler: */
	__u64 extended;		/* extensions since the thread last left the processor voluntarily */
	__u64 reserved[5];
};

struct tutti_shared {
	struct tutti_transaction transactions[TUTTI_THREADS];
	struct tutti_sched_slot slots[TUTTI_THREADS];
};

/* Sent with the descriptor, which is absent unless `error` is 0. */
struct tutti_connect_reply {
	__u32 version;
	/* ENOSPC: TUTTI_PROGRAMS programs are connected, or as many as the user may have. EEXIST: this program is
	 * already connected. EXDEV: this program is in another PID namespace than the scheduler's loader. */
	__s32 error;
};

/* Totals over all programs, since the scheduler was started. */
struct tutti_counts {
	__u64 blocked;		/* threads that left the processor to wait */
	__u64 released;		/* of `blocked`: the winner released them */
	__u64 found_by_poll;	/* of `blocked`: a check found that the winner's transaction had ended */
	__u64 timed_out;	/* of `blocked`: the time limit was over, or the thread got a signal */
	__u64 extensions;
	__u64 extended_ns;	/* time that threads ran beyond their slices */
	__u64 max_turn_ns;	/* longest turn of a thread inside a transaction while another thread could have run */
	__u64 migrations;	/* of threads outside transactions */
	__u64 migrations_inside;
};

/* The scheduler's data that the loader reads. */
struct tutti_state {
	struct tutti_counts counts;
	char reason[64];	/* why the scheduler has ended */
	char message[192];
	__u32 has_left;
};

#endif
