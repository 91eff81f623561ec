/* SPDX-License-Identifier: GPL-2.0 */
/* Losers that wait: how they leave the processor, and when they run again. */
#ifndef TUTTI_LOSERS_BPF_H
#define TUTTI_LOSERS_BPF_H

#include "sched_slots.bpf.h"

#define CLOCK_MONOTONIC 1
#define SHARED 0x10000ULL
#define BLOCKED 0x10001ULL
#define MAX_BLOCKED 256 /* each check visits all waiting losers; further losers do not wait */

struct poll {
	struct bpf_timer timer;
	u32 is_due;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct poll);
} polls SEC(".maps");

static bool has_signal(struct task_struct *p)
{
	u64 pending = BPF_CORE_READ(p, pending.signal.sig[0]) | BPF_CORE_READ(p, signal, shared_pending.signal.sig[0]);

	return pending & ~BPF_CORE_READ(p, blocked.sig[0]);
}

static void poll_soon(u64 ns)
{
	u32 zero = 0;
	struct poll *l = bpf_map_lookup_elem(&polls, &zero);

	/* A check that is already scheduled is not delayed. Otherwise a stream of new losers could delay it forever. */
	if (l && (__sync_lock_test_and_set(&l->is_due, 1) == 0 || ns == 0))
		bpf_timer_start(&l->timer, ns, 0);
}

/*
 * Returns the queue for a thread that can run. Sets `kick` to the processor to kick after that, or to -1. If the
 * processor is idle, it runs only this thread, so the winner that releases the thread need not leave its own processor.
 *
 * While a BPF program runs, the current thread counts as unable to migrate once more than otherwise. So a count of one
 * does not tell whether the current thread may migrate. Such a thread waits in SHARED, from which only a processor that
 * may run the thread takes it.
 */
static u64 queue_for(struct task_struct *p, s32 *kick)
{
	bool is_current = bpf_get_current_task_btf() == p;
	u32 by_this_program = is_current && !injected(stays_when_preempted) ? 1 : 0;

	if (p->nr_cpus_allowed == 1 || p->migration_disabled > by_this_program || (!injected(moves_inside) && inside(p)))
		return *kick = scx_bpf_task_cpu(p);
	*kick = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	return *kick >= 0 && !is_current ? *kick : SHARED;
}

static void kick_idle(s32 cpu)
{
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

enum wait_state { WAITS, IS_OVER, TIME_IS_OVER };

static enum wait_state wait_state_of(struct task_struct *p, struct thread *t)
{
	struct sched_slot s = sched_slot_of(p);

	if (!s.page || (!injected(no_release) && !winner_of(s)))
		return IS_OVER;
	if ((has_signal(p) && !injected(deaf_to_signals)) || !is_before(bpf_ktime_get_ns(), t->blocked_until)) {
		__sync_fetch_and_add(&transaction_of(s)->timed_out, 1);
		return TIME_IS_OVER;
	}
	return WAITS;
}

static void release_losers(bool by_winner)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	u64 queue;
	s32 kick;

	bpf_iter_scx_dsq_new(&it, BLOCKED, 0);
	while ((p = bpf_iter_scx_dsq_next(&it))) {
		struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
		enum wait_state wait_state = t ? wait_state_of(p, t) : IS_OVER;

		if (wait_state == WAITS)
			continue;
		queue = queue_for(p, &kick);
		/* A thread that waits here earns no more `dsq_vtime` credit than a thread that sleeps. */
		scx_bpf_dsq_move_set_vtime(&it, limit_credit(p->scx.dsq_vtime));
		if (!scx_bpf_dsq_move_vtime(&it, p, queue, 0))
			continue;
		kick_idle(kick);
		if (wait_state == TIME_IS_OVER)
			count(timed_out);
		else if (by_winner)
			count(released);
		else
			count(found_by_poll);
	}
	bpf_iter_scx_dsq_destroy(&it);
}

static int poll_losers(void *map, int *key, struct poll *l)
{
	/* Cleared before the check, so that a loser that begins to wait later requests another check. */
	__sync_lock_test_and_set(&l->is_due, 0);
	release_losers(false);
	if (scx_bpf_dsq_nr_queued(BLOCKED) > 0)
		poll_soon(TUTTI_POLL_NS);
	return 0;
}

/* Runs when the thread has called sched_yield(). */
SEC("struct_ops/yield") bool BPF_PROG(tutti_yield, struct task_struct *from, struct task_struct *to)
{
	struct thread *t = bpf_task_storage_get(&threads, from, 0, 0);
	struct sched_slot s = sched_slot_of(from);
	u64 now, until;

	scx_bpf_task_set_slice(from, 0);
	if (!t)
		return false;
	t->yields = 1;
	if (!s.page)
		return false;
	if (read_once(shared_slot_of(s)->request) == TUTTI_REQUEST_WAIT && winner_of(s) && !injected(no_wait)) {
		now = bpf_ktime_get_ns();
		until = read_once(shared_slot_of(s)->until_ns);
		t->blocked_until = now + TUTTI_MAX_WAIT_NS;
		if (is_before(until, t->blocked_until))
			t->blocked_until = until;
	} else if (read_once(transaction_of(s)->waiters) && !read_once(transaction_of(s)->running)) {
		/* tutti_dispatch checks the waiting losers next, and may let the winner continue. */
		write_once(transaction_of(s)->waiters, 0);
		t->yields = 0;
	}
	if (read_once(shared_slot_of(s)->extended)) {
		write_once(shared_slot_of(s)->extended, 0);
		t->yields = 1;
	}
	return false;
}

/* Queues the thread in BLOCKED if it has to wait. Returns true if it did. */
static bool block_loser(struct task_struct *p, struct thread *t)
{
	struct sched_slot s = sched_slot_of(p);
	struct tutti_transaction *winner = s.page ? winner_of(s) : NULL;

	if (!winner || !is_before(bpf_ktime_get_ns(), t->blocked_until) || scx_bpf_dsq_nr_queued(BLOCKED) >= MAX_BLOCKED)
		return false;
	write_once(winner->waiters, 1);
	__sync_fetch_and_add(&transaction_of(s)->slept, 1);
	count(blocked);
	scx_bpf_dsq_insert(p, BLOCKED, TUTTI_SLICE_NS, 0);
	poll_soon(TUTTI_POLL_NS);
	return true;
}

#endif
