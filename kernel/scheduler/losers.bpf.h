/* SPDX-License-Identifier: GPL-2.0 */
/* Losers that wait: how they leave the processor, and when they return. */
#ifndef TUTTI_LOSERS_BPF_H
#define TUTTI_LOSERS_BPF_H

#include "seats.bpf.h"

#define CLOCK_MONOTONIC 1
#define SHARED 0x10000ULL
#define HELD 0x10001ULL
#define MOST_HELD 256 /* each check goes through all of them; further losers do not wait */

struct look {
	struct bpf_timer timer;
	u32 is_due;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct look);
} looks SEC(".maps");

static bool has_signal(struct task_struct *p)
{
	u64 pending = BPF_CORE_READ(p, pending.signal.sig[0]) | BPF_CORE_READ(p, signal, shared_pending.signal.sig[0]);

	return pending & ~BPF_CORE_READ(p, blocked.sig[0]);
}

static void look_soon(u64 ns)
{
	u32 zero = 0;
	struct look *l = bpf_map_lookup_elem(&looks, &zero);

	/* A check that is already due is not postponed; otherwise many losers could postpone it forever. */
	if (l && (__sync_lock_test_and_set(&l->is_due, 1) == 0 || ns == 0))
		bpf_timer_start(&l->timer, ns, 0);
}

/*
 * Returns the queue for a loser that runs again. Sets `kick` to the processor to kick after that, or to -1. An idle
 * processor takes only this thread, so the winner that releases it need not make room.
 */
static u64 queue_for(struct task_struct *p, s32 *kick)
{
	if (p->nr_cpus_allowed == 1 || p->migration_disabled || (!broken(moves_inside) && inside(p)))
		*kick = scx_bpf_task_cpu(p);
	else
		*kick = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	return *kick >= 0 ? *kick : SHARED;
}

static void kick_idle(s32 cpu)
{
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

enum why { WAITS, IS_OVER, TIME_IS_OVER };

static enum why why_held(struct task_struct *p, struct thread *t)
{
	struct seat s = seat_of(p);

	if (!s.page || (!broken(no_release) && !winner_of(s)))
		return IS_OVER;
	if ((has_signal(p) && !broken(deaf_to_signals)) || !is_before(bpf_ktime_get_ns(), t->held_until)) {
		__sync_fetch_and_add(&transaction_of(s)->outlasted, 1);
		return TIME_IS_OVER;
	}
	return WAITS;
}

static void release_losers(bool winner_says_so)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	u64 queue;
	s32 kick;

	bpf_iter_scx_dsq_new(&it, HELD, 0);
	while ((p = bpf_iter_scx_dsq_next(&it))) {
		struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
		enum why why = t ? why_held(p, t) : IS_OVER;

		if (why == WAITS)
			continue;
		queue = queue_for(p, &kick);
		/* Waiting here earns no more `dsq_vtime` credit than sleeping. */
		scx_bpf_dsq_move_set_vtime(&it, no_older(p->scx.dsq_vtime));
		if (!scx_bpf_dsq_move_vtime(&it, p, queue, 0))
			continue;
		kick_idle(kick);
		if (why == TIME_IS_OVER)
			count(outlasted);
		else if (winner_says_so)
			count(released);
		else
			count(found);
	}
	bpf_iter_scx_dsq_destroy(&it);
}

static int look_at_losers(void *map, int *key, struct look *l)
{
	/* Cleared before the check: a loser that comes later asks for another check. */
	__sync_lock_test_and_set(&l->is_due, 0);
	release_losers(false);
	if (scx_bpf_dsq_nr_queued(HELD) > 0)
		look_soon(TUTTI_LOOK_NS);
	return 0;
}

/* Runs when the thread has called sched_yield(). */
SEC("struct_ops/yield") bool BPF_PROG(tutti_yield, struct task_struct *from, struct task_struct *to)
{
	struct thread *t = bpf_task_storage_get(&threads, from, 0, 0);
	struct seat s = seat_of(from);
	u64 now, until;

	scx_bpf_task_set_slice(from, 0);
	if (!t)
		return false;
	t->yields = 1;
	if (!s.page)
		return false;
	if (read_once(place_of(s)->asks) == TUTTI_ASKS_TO_WAIT && winner_of(s) && !broken(no_wait)) {
		now = bpf_ktime_get_ns();
		until = read_once(place_of(s)->until_ns);
		t->held_until = now + TUTTI_LONGEST_WAIT_NS;
		if (is_before(until, t->held_until))
			t->held_until = until;
	} else if (read_once(transaction_of(s)->waiters) && !read_once(transaction_of(s)->running)) {
		/* tutti_dispatch checks the waiting losers next, and may let the winner continue. */
		write_once(transaction_of(s)->waiters, 0);
		t->yields = 0;
	}
	if (read_once(place_of(s)->extended)) {
		write_once(place_of(s)->extended, 0);
		t->yields = 1;
	}
	return false;
}

/* Queues the thread in HELD if it has to wait. Returns true if it did. */
static bool hold(struct task_struct *p, struct thread *t)
{
	struct seat s = seat_of(p);
	struct tutti_transaction *winner = s.page ? winner_of(s) : NULL;

	if (!winner || !is_before(bpf_ktime_get_ns(), t->held_until) || scx_bpf_dsq_nr_queued(HELD) >= MOST_HELD)
		return false;
	write_once(winner->waiters, 1);
	__sync_fetch_and_add(&transaction_of(s)->slept, 1);
	count(held);
	scx_bpf_dsq_insert(p, HELD, TUTTI_SLICE_NS, 0);
	look_soon(TUTTI_LOOK_NS);
	return true;
}

#endif
