/* SPDX-License-Identifier: GPL-2.0 */
/* The threads that have slots, the data that they have written there, and the scheduler's own data about them. */
#ifndef TUTTI_SCHED_SLOTS_BPF_H
#define TUTTI_SCHED_SLOTS_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "fault_injection.h"
#include "scheduler.h"

#define read_once(x) (*(volatile typeof(x) *)&(x))
#define write_once(x, value) (*(volatile typeof(x) *)&(x) = (value))
#define count(what) __sync_fetch_and_add(&state.counts.what, 1)

/* These data have a section of their own, and so a separate BPF map, which the loader maps into memory. */
struct tutti_state state SEC(".data.state");

/* The key of a program. A process that runs another user's program after exec does not match this key. */
struct program {
	u32 tgid, uid;
};
struct page {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct tutti_shared));
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, TUTTI_PROGRAMS);
	__type(key, struct program);
	__array(values, struct page);
} programs SEC(".maps");

/* The scheduler's own data about a thread. */
struct thread {
	u64 charged_until, turn_began;	/* CLOCK_MONOTONIC; a turn lasts from one scheduling decision to the next */
	u64 blocked_until;		/* 0: the thread need not wait */
	u64 lower_for, lower_until;	/* the thread runs at a lower weight for this `awaited`, until this time */
	u64 was_inside;			/* the transaction in which the thread last stopped */
	s32 cpu;
	u32 extended;			/* in this turn */
	u32 yields;			/* the thread has yielded: other threads run first, if any can run */
};
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static bool is_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* The largest `dsq_vtime` that has run. */
static u64 vtime_now;

/* Limits the credit of a thread that has not run for a long time to one slice. */
static u64 limit_credit(u64 vtime)
{
	u64 oldest = vtime_now - TUTTI_SLICE_NS;

	return is_before(vtime, oldest) ? oldest : vtime;
}

/* --- What threads have written. */

struct sched_slot {
	struct tutti_shared *page;	/* null: the thread has no slot */
	u32 number;
};

static __always_inline struct sched_slot sched_slot_of(struct task_struct *p)
{
	struct sched_slot found = {};
	struct program key = { .tgid = p->tgid };
	struct tutti_shared *page;
	u32 zero = 0, i;
	void *map;

	if (p->flags & PF_KTHREAD)
		return found;
	key.uid = BPF_CORE_READ(p, cred, euid.val);
	map = bpf_map_lookup_elem(&programs, &key);
	page = map ? bpf_map_lookup_elem(map, &zero) : NULL;
	if (!page)
		return found;
	for (i = 0; i < TUTTI_PROBES; i++) {
		u32 n = (p->pid + i) % TUTTI_THREADS;

		if (read_once(page->slots[n].tid) == p->pid) {
			found.page = page;
			found.number = n;
			break;
		}
	}
	return found;
}

static __always_inline struct tutti_transaction *transaction_of(struct sched_slot s)
{
	return &s.page->transactions[s.number % TUTTI_THREADS];
}

static __always_inline struct tutti_sched_slot *shared_slot_of(struct sched_slot s)
{
	return &s.page->slots[s.number % TUTTI_THREADS];
}

/* Returns the thread's transaction, or 0. */
static u64 inside(struct task_struct *p)
{
	struct sched_slot s = sched_slot_of(p);

	return s.page ? read_once(transaction_of(s)->running) : 0;
}

/* Returns true inside a transaction whose turn may be extended by now. */
static __always_inline bool wants_extension(struct sched_slot s)
{
	struct tutti_transaction *t = transaction_of(s);

	return read_once(t->running) && (injected(ahead_of_time) || bpf_ktime_get_ns() >= read_once(t->extend_from_ns));
}

/* Returns the transaction to which this thread has lost a conflict. Returns null if that transaction no longer runs. */
static __always_inline struct tutti_transaction *winner_of(struct sched_slot s)
{
	u64 awaited = read_once(transaction_of(s)->awaited);
	u32 number = read_once(transaction_of(s)->awaits);
	struct tutti_transaction *winner;

	if (!awaited || number >= TUTTI_THREADS || number == s.number)
		return NULL;
	winner = &s.page->transactions[number % TUTTI_THREADS];
	return read_once(winner->running) == awaited ? winner : NULL;
}

#endif
