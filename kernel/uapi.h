/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What the module tutti and a program agree on. A program opens /dev/tutti, asks for the version, and maps one page for
 * each of the two things that the module does, of which it may use either.
 *
 * --- Ticks. The program says which of its code may be interrupted, and has each thread that wants ticks join.
 *
 * A tick redirects a thread: it goes on at its handler, with everything as it was but two registers:
 *
 *	rsp	the interrupted one - 128 (the red zone) - 8
 *	rip	the handler
 *
 * and the interrupted rip at the stack's top, so that `ret $128` goes back once the handler has put everything else
 * back. Where a thread must not be interrupted, the tick is noted instead (STANDING_TICK), and tried again.
 *
 * --- Serialization. Each thread that runs transactions enrols, and shows in its entry which one it runs, without a
 * system call. The loser of a conflict sleeps in the kernel until the winner's entry says that its transaction is over
 * (TUTTI_AWAIT), or runs at a lower weight until then (TUTTI_DEFER). Each wake-up is paid for by who asked for it: the
 * winner makes a call only where `waiters` tells it that there are any.
 *
 *	winner:	running = 0; [its compiler's order]; waiters? TUTTI_RELEASE
 *	loser:	queues up; waiters = 1; interrupts the winner's processor; running still that? sleeps
 *
 * That interrupt is the loser's fence and the winner's, which has none of its own. So either the loser finds that the
 * transaction is over, or the winner finds that it has waiters; a switch of tasks fences for a winner that does not run.
 * A winner that ends with its entry as it was, by exit or by a signal, releases its waiters, too.
 *
 * A thread that would have to leave its processor inside a transaction, at `longer_from_ns` or later, stays for
 * TUTTI_LONGER_NS, or until it has called TUTTI_RELEASE, which `waiters` tells it to.
 */
#ifndef TUTTI_UAPI_H
#define TUTTI_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define TUTTI_DEVICE "/dev/tutti"
/* Changes whenever anything below does. */
#define TUTTI_ABI 4

#define TUTTI_THREADS 64
#define TUTTI_DEVICES 4 /* that a thread may have joined at a time */
#define TUTTI_RANGES 256
#define TUTTI_RED_ZONE 128
/* Shorter times are refused. */
#define TUTTI_SHORTEST_NS 10000
#define TUTTI_LONGEST_NS 1000000000
/* Nothing that a winner does, or fails to do, holds its losers for longer. Longer times are refused. */
#define TUTTI_LONGEST_WAIT_NS 100000000
/* Who is inside a transaction where the time of its turn is over has its processor for so much longer, once a turn. */
#define TUTTI_LONGER_NS 50000
/* By how much who defers gets nicer, as nice(2) counts. */
#define TUTTI_NICER 10

/* Where mmap finds the pages. Each is mapped by itself. */
#define TUTTI_TICKS_PAGE 0	/* struct tutti_entry[TUTTI_THREADS] */
#define TUTTI_TRANSACTIONS_PAGE 4096	/* struct tutti_transaction[TUTTI_THREADS] */

/*
 * One thread's entry in the page of ticks. The program writes all but the counts, without a system call, and the module
 * believes none of it: a wrong value harms the program alone.
 */
struct tutti_entry {
	__u32 wanted;		/* a tick is; the module clears it as it redirects */
	__u32 preemptable;	/* PREEMPTABLE: the module clears it as it redirects, the handler sets it again */
	__u64 standing_at;	/* where STANDING_TICK of what runs is: a byte, which becomes 1; 0: nowhere */
	__u64 stack_begin;	/* only while rsp is in [stack_begin, stack_end); below it there is no room */
	__u64 stack_end;
	__u64 redirected;	/* counts: ticks that went to the handler, */
	__u64 stood;		/* and looks at a wanted tick that did not */
	__u64 reserved[2];
};

/*
 * One thread's entry in the page of transactions, a cache line. The thread writes the first part, by plain stores: who
 * reads it needs no more than that each is one store, but for `running`, whose order the top of this file speaks of.
 * The module believes none of it: a wrong value harms the program alone, and no longer than TUTTI_LONGEST_WAIT_NS.
 */
struct tutti_transaction {
	/* The thread writes: */
	__u64 running;		/* a number that it gives to one transaction (all of its attempts) only; 0: it runs none */
	__u64 awaited;		/* before TUTTI_AWAIT and TUTTI_DEFER: what `running` of entry `awaits` read; then 0 */
	__u32 awaits;
	__s32 priority;		/* of the transaction; for tools that look, the module does not */
	__u64 deadline_ns;	/* CLOCK_MONOTONIC: TUTTI_AWAIT ends then; 0: none */
	__u64 longer_from_ns;	/* the same: from when on its turn may be longer for the transaction; 0: from the start */
	/* The module writes, and clears it in TUTTI_RELEASE: */
	__u32 waiters;		/* some may wait for the end of `running`, or for the processor of its thread */
	/* The module writes: */
	__u32 deferring;	/* the thread runs at a lower weight */
	__u32 slept;		/* counts: calls of TUTTI_AWAIT that slept, */
	__u32 outlasted;	/* and of those, the ones that no wake-up ended, but the time; */
	__u64 extended;		/* turns on a processor that were longer for a transaction */
};

/* [begin, end): code that may be interrupted. */
struct tutti_range {
	__u64 begin;
	__u64 end;
};

struct tutti_join {
	__u64 handler;
	__u64 handler_end;	/* [handler, handler_end) is never redirected */
	__u64 period_ns;	/* a tick becomes wanted so often while the thread runs, counted anew from
				   each switch to it; 0: only when asked for */
	__u64 pause_ns;		/* from a tick that stood to the next try; twice as long each time, */
	__u64 longest_ns;	/* but no longer than this */
	__u32 number;		/* out: which entry is the thread's */
	__u32 signal;		/* in place of a tick for which the stack has no room, after a pause; 0: none */
};

#define TUTTI_VERSION _IOR('T', 0, __u32)
/* Of the whole program. ENOSPC: there are TUTTI_RANGES already. */
#define TUTTI_ALLOW _IOW('T', 1, struct tutti_range)
/* The calling thread. EBUSY: it has joined, or TUTTI_DEVICES others; ENOSPC: TUTTI_THREADS have; EOPNOTSUPP: it has a shadow stack. */
#define TUTTI_JOIN _IOWR('T', 2, struct tutti_join)
/* The same. Its entry is another's from then on. ESRCH: it has not joined. */
#define TUTTI_LEAVE _IO('T', 3)
/* Looks soon whether that thread's tick is wanted: at once if it runs, or else when it does. ESRCH: there is none. */
#define TUTTI_KICK _IO('T', 4)

/*
 * The calling thread gets an entry in the page of transactions, all of it 0; out: which. It has it until it resigns or
 * ends. EBUSY: it has one, or has joined TUTTI_DEVICES others; ENOSPC: TUTTI_THREADS have one.
 */
#define TUTTI_ENROL _IOR('T', 5, __u32)
/* ESRCH: it has none. The same for the calls below. */
#define TUTTI_RESIGN _IO('T', 6)
/*
 * Sleeps while `running` of the entry `awaits` reads `awaited`, for that many nanoseconds at most, which are passed in
 * place of a pointer. 0: it reads so no longer, or its thread has ended; ETIMEDOUT; EINTR: a signal came; EINVAL: no
 * such time, no such entry, the own one, or `awaited` is 0.
 */
#define TUTTI_AWAIT _IO('T', 7)
/*
 * The same, but does not sleep: the thread runs at a lower weight until then. One that defers to several does so until
 * all of them are over; the time is counted from the last call. 1: it runs at the lower weight now; 0: the transaction
 * is over, or the thread is not one of SCHED_OTHER or SCHED_BATCH.
 */
#define TUTTI_DEFER _IO('T', 8)
/* Ends that at once. What others have made of the thread's weight meanwhile stays. */
#define TUTTI_RESUME _IO('T', 9)
/*
 * After the thread has cleared `running`, if `waiters` is not 0: wakes those, and ends their deferring to it; and leaves
 * the processor to others where the thread's turn there was longer for its transaction.
 */
#define TUTTI_RELEASE _IO('T', 10)

#endif
