/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The interface between the module tutti and a program. A program opens /dev/tutti and checks the version. The
 * module has two functions, ticks and serialization; the program may use either. Each has its own page, which the
 * program maps.
 *
 * --- Ticks. The program says which of its code may be interrupted. Each thread that wants ticks
 * registers for them.
 *
 * A tick redirects a thread: the thread continues at its handler. All registers keep their values, except two:
 *
 *	rsp	the interrupted rsp - 128 (the red zone) - 8
 *	rip	the handler
 *
 * The interrupted rip is on top of the stack. The handler restores all other registers; then `ret $128` returns to
 * the interrupted code. If a tick arrives while the thread must not be interrupted, the module sets the thread's
 * PENDING_TICK and tries again later.
 *
 * --- Serialization. Each thread that runs transactions registers for this. Without a system call, it writes into its
 * entry which transaction it runs. The loser of a conflict waits until the winner's entry says that the transaction has
 * ended. Until then, the loser either sleeps in the kernel (TUTTI_AWAIT) or runs at a lower weight (TUTTI_DEFER). The
 * loser pays the cost of its wake-up: the winner makes a system call only if `waiters` says that it has waiters.
 *
 *	winner:	running = 0 -> [compiler fence] -> waiters? TUTTI_WAKE_WAITERS
 *	loser:	queues up -> waiters = 1 -> interrupts the winner's processor -> `running` unchanged? Sleeps.
 *
 * The winner has no fence of its own, because the loser's interrupt is the fence of both. So either the loser finds
 * that the transaction has ended, or the winner finds that it has waiters. If the winner does not run, a context switch
 * is its fence. A winner that exits or is ended by a signal also wakes its waiters, even if its entry is unchanged.
 *
 * If the kernel wants the processor of a thread inside a transaction, at `extend_from_ns` or later, then the thread
 * keeps the processor for up to TUTTI_TURN_EXTENSION_NS. The thread leaves earlier if it calls TUTTI_WAKE_WAITERS,
 * which `waiters` requests.
 */
#ifndef TUTTI_UAPI_H
#define TUTTI_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define TUTTI_DEVICE "/dev/tutti"
/* Changes whenever anything below changes. */
#define TUTTI_ABI 5

#define TUTTI_THREADS 64
#define TUTTI_DEVICES 4 /* devices at which a thread may be registered at a time, for each function */
#define TUTTI_RANGES 256
#define TUTTI_RED_ZONE 128
/* The module refuses shorter times. */
#define TUTTI_MIN_PERIOD_NS 10000
#define TUTTI_MAX_PERIOD_NS 1000000000
/* The maximum time for which a winner can block its losers, whatever it does. The module rejects longer times. */
#define TUTTI_MAX_WAIT_NS 100000000
/* A thread whose turn ends inside a transaction keeps its processor for this long, once a turn. */
#define TUTTI_TURN_EXTENSION_NS 50000
/* The increase of the nice value of a thread that defers, in the units of nice(2). */
#define TUTTI_DEFER_NICE 10

/* The offsets of the pages for mmap. Each page is mapped separately. */
#define TUTTI_TICKS_PAGE 0	/* struct tutti_tick_entry[TUTTI_THREADS] */
#define TUTTI_TRANSACTIONS_PAGE 4096	/* struct tutti_transaction[TUTTI_THREADS] */

/*
 * One thread's entry in the page of ticks. The program writes all fields except the counts, without a system call.
 * The module trusts none of these values: a wrong value harms only the program.
 */
struct tutti_tick_entry {
	__u32 wanted;		/* a tick is wanted; the module clears this when it redirects */
	__u32 preemptable;	/* PREEMPTABLE: the module clears this when it redirects, and the handler sets it again */
	__u64 pending_at;	/* address of the PENDING_TICK of the running code, a byte that becomes 1; 0: no such byte */
	__u64 stack_begin;	/* the module redirects only if stack_begin <= rsp < stack_end */
	__u64 stack_end;
	__u64 redirected;	/* count: ticks that went to the handler */
	__u64 deferred;		/* count: checks of a wanted tick that did not redirect */
	__u64 reserved[2];
};

/*
 * One thread's entry in the page of transactions, a cache line. The thread writes the first part by plain stores.
 * Readers of this part need only that each store is a single one; only `running` needs an order, which the top of
 * this file explains. The module trusts none of these values: a wrong value harms only the program, for at most
 * TUTTI_MAX_WAIT_NS.
 */
struct tutti_transaction {
	/* Written by the thread: */
	__u64 running;		/* the number of one transaction, for all its attempts; 0: the thread runs no transaction */
	__u64 awaited;		/* for TUTTI_AWAIT and TUTTI_DEFER: `running`, read from entry `awaits`; afterwards 0 */
	__u32 awaits;
	__s32 priority;		/* of the transaction; only monitoring tools read this, not the module */
	__u64 deadline_ns;	/* CLOCK_MONOTONIC: TUTTI_AWAIT ends at this time; 0: no deadline */
	__u64 extend_from_ns;	/* CLOCK_MONOTONIC: the turn may be extended from this time on; 0: from its start */
	/* Written by the module, which also clears it in TUTTI_WAKE_WAITERS: */
	__u32 waiters;		/* not 0: threads may wait for the end of `running`, or for the thread's processor */
	/* Written by the module: */
	__u32 deferring;	/* the thread runs at a lower weight */
	__u32 slept;		/* count: calls of TUTTI_AWAIT that slept */
	__u32 timed_out;	/* count: of these, the calls that ended by timeout instead of a wake-up */
	__u64 extended;		/* count: turns on a processor that were extended for a transaction */
};

/* [begin, end): code that may be interrupted. */
struct tutti_range {
	__u64 begin;
	__u64 end;
};

struct tutti_tick_register {
	__u64 handler;
	__u64 handler_end;	/* [handler, handler_end) is never redirected */
	__u64 period_ns;	/* interval of wanted ticks while the thread runs, counted anew from each
				   switch to it; 0: only on request */
	__u64 pause_ns;		/* time from a tick that did not redirect to the next try; doubles each time */
	__u64 max_pause_ns;	/* upper bound of that time */
	__u32 number;		/* out: the number of the thread's entry */
	__u32 signal;		/* sent after a pause if the stack has no room for the tick; 0: no signal */
};

#define TUTTI_VERSION _IOR('T', 0, __u32)
/* Allows one range for the whole program. ENOSPC: the program has already TUTTI_RANGES ranges. */
#define TUTTI_ALLOW _IOW('T', 1, struct tutti_range)
/* Registers the calling thread for ticks. EBUSY: the thread is registered at this device or at TUTTI_DEVICES others.
 * ENOSPC: TUTTI_THREADS threads are registered. EOPNOTSUPP: the thread has a shadow stack. */
#define TUTTI_TICK_REGISTER _IOWR('T', 2, struct tutti_tick_register)
/* Unregisters the calling thread from ticks. Another thread may then get its entry. ESRCH: the thread is not
 * registered. */
#define TUTTI_TICK_UNREGISTER _IO('T', 3)
/* Makes the thread of that entry check soon whether its tick is wanted: immediately if it runs, otherwise when it
 * next runs. ESRCH: the entry belongs to no thread. */
#define TUTTI_KICK _IO('T', 4)

/*
 * Gives the calling thread an entry in the page of transactions, filled with 0; out: the entry's number. The thread
 * keeps the entry until it unregisters or ends. EBUSY: the thread has an entry here, or at TUTTI_DEVICES other
 * devices. ENOSPC: TUTTI_THREADS threads have an entry.
 */
#define TUTTI_TX_REGISTER _IOR('T', 5, __u32)
/* Releases the calling thread's entry. ESRCH: the thread has no entry; this applies to all calls below as well. */
#define TUTTI_TX_UNREGISTER _IO('T', 6)
/*
 * Sleeps while `running` of the entry `awaits` equals `awaited`, for at most the given number of nanoseconds. The
 * number is passed in place of a pointer. Returns 0 if `running` has changed or its thread has ended. ETIMEDOUT: the
 * time is over. EINTR: a signal arrived. EINVAL: the time is out of range, `awaited` is 0, or `awaits` is the
 * caller's own entry or out of range.
 */
#define TUTTI_AWAIT _IO('T', 7)
/*
 * Takes the arguments of TUTTI_AWAIT, but does not sleep: the thread runs at a lower weight until TUTTI_AWAIT would
 * return. A thread that defers to several transactions does so until all of them have ended; the last call sets the
 * time limit. Returns 1 if the thread now runs at the lower weight. Returns 0 if the transaction has ended or the
 * thread is neither SCHED_OTHER nor SCHED_BATCH.
 */
#define TUTTI_DEFER _IO('T', 8)
/* Ends the lower weight immediately. A nice value that others have set meanwhile remains in effect. */
#define TUTTI_RESUME _IO('T', 9)
/*
 * The thread calls this after it has cleared `running`, if `waiters` is not 0. Wakes the waiting threads and ends the
 * lower weight of the threads that defer to the caller. If the caller's turn was extended for its transaction, the
 * caller yields the processor.
 */
#define TUTTI_WAKE_WAITERS _IO('T', 10)

#endif
