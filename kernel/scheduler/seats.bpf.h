/* SPDX-License-Identifier: GPL-2.0 */
/* Which threads have seats, what they say there, and what else is known of them. */
#ifndef TUTTI_SEATS_BPF_H
#define TUTTI_SEATS_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "faults.h"
#include "scheduler.h"

#define read_once(x) (*(volatile typeof(x) *)&(x))
#define write_once(x, value) (*(volatile typeof(x) *)&(x) = (value))
#define count(what) __sync_fetch_and_add(&state.counts.what, 1)

/* A section, and so a map, of its own, which the loader maps. */
struct tutti_state state SEC(".data.state");

/* A process that runs another user's program, after exec, is out of its reach. */
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

/* What is known of a thread beside what it says. */
struct thread {
	u64 charged_until, turn_began;	/* CLOCK_MONOTONIC; a turn is what it gets between two choices of who runs */
	u64 held_until;			/* 0: it need not be */
	u64 less_for, less_until;	/* runs at a lower weight for that `awaited` */
	u64 was_inside;			/* that transaction when it last stopped */
	s32 cpu;
	u32 extended;			/* in this turn */
	u32 yields;			/* others are to run, if there are any */
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

/* Who has not run for long is owed no more than a slice. */
static u64 no_older(u64 vtime)
{
	u64 oldest = vtime_now - TUTTI_SLICE_NS;

	return is_before(vtime, oldest) ? oldest : vtime;
}

/* --- What threads say. */

struct seat {
	struct tutti_shared *page;	/* null: the thread has none */
	u32 number;
};

static __always_inline struct seat seat_of(struct task_struct *p)
{
	struct seat found = {};
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

		if (read_once(page->seats[n].tid) == p->pid) {
			found.page = page;
			found.number = n;
			break;
		}
	}
	return found;
}

static __always_inline struct tutti_transaction *transaction_of(struct seat s)
{
	return &s.page->transactions[s.number % TUTTI_THREADS];
}

static __always_inline struct tutti_seat *place_of(struct seat s)
{
	return &s.page->seats[s.number % TUTTI_THREADS];
}

/* 0: none. */
static u64 inside(struct task_struct *p)
{
	struct seat s = seat_of(p);

	return s.page ? read_once(transaction_of(s)->running) : 0;
}

/* Inside a transaction for which its turn may be longer by now. */
static __always_inline bool asks_for_more(struct seat s)
{
	struct tutti_transaction *t = transaction_of(s);

	return read_once(t->running) && (broken(ahead_of_time) || bpf_ktime_get_ns() >= read_once(t->longer_from_ns));
}

/* What it has lost to runs still: that, or null. */
static __always_inline struct tutti_transaction *winner_of(struct seat s)
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
