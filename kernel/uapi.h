/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What the module tutti and a program agree on. A program opens /dev/tutti, asks for the version, maps one page of
 * entries, says which of its code may be interrupted, and has each thread that wants ticks join.
 *
 * A tick redirects a thread: it goes on at its handler, with everything as it was but two registers:
 *
 *	rsp	the interrupted one - 128 (the red zone) - 8
 *	rip	the handler
 *
 * and the interrupted rip at the stack's top, so that `ret $128` goes back once the handler has put everything else
 * back. Where a thread must not be interrupted, the tick is noted instead (STANDING_TICK), and tried again.
 */
#ifndef TUTTI_UAPI_H
#define TUTTI_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define TUTTI_DEVICE "/dev/tutti"
/* Changes whenever anything below does. */
#define TUTTI_ABI 1

#define TUTTI_THREADS 64
#define TUTTI_DEVICES 4 /* that a thread may have joined at a time */
#define TUTTI_RANGES 256
#define TUTTI_RED_ZONE 128
/* Shorter times are refused. */
#define TUTTI_SHORTEST_NS 10000
#define TUTTI_LONGEST_NS 1000000000

/*
 * One thread's entry in the mapped page. The program writes all but the counts, without a system call, and the module
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

#endif
