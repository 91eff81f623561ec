// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler for sched_ext that helps transactions (Maldonado et al., "Kernel-Assisted Scheduling and Deadline
 * Support for Software Transactional Memory", 5). Losers leave the processor, or run at a lower weight, until the
 * winner's transaction has ended. A thread inside a transaction gets more time at the end of its slice, and stays on
 * its processor.
 *
 * Apart from that, it is weighted fair queueing: the thread that has had the least time for its weight, by
 * `dsq_vtime`, runs next. Each nanosecond that a thread runs is charged, also in an extension. So a thread gains
 * nothing if it falsely claims to run a transaction. Queues: SHARED for threads that may run anywhere, one per
 * processor for threads that may not move, BLOCKED for losers that wait.
 *
 * The scheduler believes a program only about its own threads.
 */
#include "losers.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* --- The charge for running time. */

/* Returns the factor of the charge. Like a wait, the lower weight ends at its time limit. */
static __always_inline u32 charge_factor(struct sched_slot s, struct thread *t, u64 now)
{
	u64 awaited;
	bool lower;

	if (!s.page)
		return 1;
	awaited = read_once(transaction_of(s)->awaited);
	lower = read_once(shared_slot_of(s)->request) == TUTTI_REQUEST_LOWER_WEIGHT && winner_of(s);
	if (lower && t->lower_for != awaited) {
		t->lower_for = awaited;
		t->lower_until = now + TUTTI_MAX_WAIT_NS;
	}
	lower = lower && is_before(now, t->lower_until);
	write_once(transaction_of(s)->deferring, lower);
	return lower && !injected(same_weight) ? TUTTI_DEFER_WEIGHT_DIVISOR : 1;
}

static void charge(struct task_struct *p, struct thread *t, u64 now)
{
	u64 ran = now - t->charged_until;

	/* The extension of a turn is the time after its slice. */
	if (injected(free_extension) && t->extended) {
		u64 slice_ends = t->turn_began + TUTTI_SLICE_NS;

		ran = is_before(t->charged_until, slice_ends) ? slice_ends - t->charged_until : 0;
	}
	t->charged_until = now;
	ran = ran * charge_factor(sched_slot_of(p), t, now) * 100 / (p->scx.weight ?: 1);
	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + ran);
}

static void begin_turn(struct thread *t, u64 now)
{
	t->turn_began = now;
	t->extended = 0;
	t->yields = 0;
	t->blocked_until = 0;
}

static void end_turn(struct thread *t, u64 now, bool others_waited, bool is_inside)
{
	u64 took = now - t->turn_began;

	if (t->extended && took > TUTTI_SLICE_NS)
		__sync_fetch_and_add(&state.counts.extended_ns, took - TUTTI_SLICE_NS);
	if (others_waited && is_inside && took > state.counts.max_turn_ns)
		state.counts.max_turn_ns = took;
}

/* --- Which thread runs next, and for how long. */

SEC("struct_ops/select_cpu") s32 BPF_PROG(tutti_select_cpu, struct task_struct *p, s32 prev, u64 flags)
{
	bool is_idle = false;
	s32 cpu = prev;

	if (!injected(moves_inside) && inside(p))
		is_idle = scx_bpf_test_and_clear_cpu_idle(prev);
	else
		cpu = scx_bpf_select_cpu_dfl(p, prev, flags, &is_idle);
	if (is_idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, TUTTI_SLICE_NS, 0);
	return cpu;
}

SEC("struct_ops/enqueue") void BPF_PROG(tutti_enqueue, struct task_struct *p, u64 flags)
{
	struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
	u64 queue;
	s32 kick;

	scx_bpf_task_set_dsq_vtime(p, limit_credit(p->scx.dsq_vtime));
	if (t && t->blocked_until && block_loser(p, t))
		return;
	queue = queue_for(p, &kick);
	scx_bpf_dsq_insert_vtime(p, queue, TUTTI_SLICE_NS, p->scx.dsq_vtime, flags);
	kick_idle(kick);
	/* This processor may find no other thread, and the kicked one may not be able to run this thread. */
	if (queue == SHARED && bpf_get_current_task_btf() == p)
		kick_idle(scx_bpf_task_cpu(p));
}

/*
 * Returns true if thread `p` may have another turn before `next`: if its `dsq_vtime` after that turn would not
 * exceed that of `next`. After an extension, other threads always run first.
 */
static bool may_continue(struct task_struct *p, struct thread *t, struct task_struct *next)
{
	u64 after = p->scx.dsq_vtime + TUTTI_SLICE_NS * 100 / (p->scx.weight ?: 1);

	return !t->yields && !t->extended && !is_before(next->scx.dsq_vtime, after);
}

SEC("struct_ops/dispatch") void BPF_PROG(tutti_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_struct *own, *any, *next;
	struct thread *t = NULL;
	u64 now;

	if (scx_bpf_dsq_nr_queued(BLOCKED) > 0)
		release_losers(true);
	own = scx_bpf_dsq_peek(cpu);
	any = scx_bpf_dsq_peek(SHARED);
	next = own && (!any || !is_before(any->scx.dsq_vtime, own->scx.dsq_vtime)) ? own : any;

	if (prev && prev->scx.flags & SCX_TASK_QUEUED)
		t = bpf_task_storage_get(&threads, prev, 0, 0);
	if (t && !t->blocked_until) {
		now = bpf_ktime_get_ns();
		charge(prev, t, now);
		if (!next || may_continue(prev, t, next)) {
			end_turn(t, now, next, inside(prev));
			begin_turn(t, now);
			scx_bpf_task_set_slice(prev, TUTTI_SLICE_NS);
			return;
		}
	}
	if (!next)
		return;
	/* Uses the other queue if no thread in the first queue may run here. */
	if (!scx_bpf_dsq_move_to_local(next == own ? cpu : SHARED))
		scx_bpf_dsq_move_to_local(next == own ? SHARED : cpu);
}

SEC("struct_ops/running") void BPF_PROG(tutti_running, struct task_struct *p)
{
	struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
	s32 cpu = bpf_get_smp_processor_id();

	if (is_before(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
	if (!t)
		return;
	if (t->cpu != cpu && t->charged_until) {
		if (t->was_inside && t->was_inside == inside(p))
			count(migrations_inside);
		else
			count(migrations);
	}
	t->cpu = cpu;
	t->charged_until = bpf_ktime_get_ns();
	begin_turn(t, t->charged_until);
}

/* The kernel checks the slice after this call. */
SEC("struct_ops/tick") void BPF_PROG(tutti_tick, struct task_struct *p)
{
	struct thread *t;
	struct sched_slot s;

	if (p->scx.slice)
		return;
	s = sched_slot_of(p);
	t = bpf_task_storage_get(&threads, p, 0, 0);
	if (!s.page || !t || !wants_extension(s) || (t->extended && !injected(endless_extension)))
		return;
	t->extended = 1;
	scx_bpf_task_set_slice(p, TUTTI_EXTENSION_NS);
	__sync_fetch_and_add(&shared_slot_of(s)->extended, 1);
	count(extensions);
}

SEC("struct_ops/stopping") void BPF_PROG(tutti_stopping, struct task_struct *p, bool runnable)
{
	struct thread *t = bpf_task_storage_get(&threads, p, 0, 0);
	struct sched_slot s = sched_slot_of(p);
	u64 now;

	if (!t)
		return;
	now = bpf_ktime_get_ns();
	charge(p, t, now);
	t->was_inside = s.page ? read_once(transaction_of(s)->running) : 0;
	end_turn(t, now, runnable, t->was_inside);
	/* The thread goes to sleep, and so also returns the extension. */
	if (!runnable && s.page)
		write_once(shared_slot_of(s)->extended, 0);
}

/* --- Threads that start and end. */

SEC("struct_ops.s/init_task") s32 BPF_PROG(tutti_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -12 /* ENOMEM */;
}

/* Called when the thread has ended, for any reason, or when the scheduler ends. Marks its transaction as ended. */
SEC("struct_ops/exit_task") void BPF_PROG(tutti_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct sched_slot s = sched_slot_of(p);

	if (!s.page || injected(ignores_ends))
		return;
	write_once(transaction_of(s)->running, 0);
	write_once(shared_slot_of(s)->tid, 0);
	if (scx_bpf_dsq_nr_queued(BLOCKED) > 0)
		poll_soon(0);
}

SEC("struct_ops/enable") void BPF_PROG(tutti_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

SEC("struct_ops.s/init") s32 BPF_PROG(tutti_init)
{
	u32 zero = 0, n = scx_bpf_nr_cpu_ids(), i;
	struct poll *l = bpf_map_lookup_elem(&polls, &zero);
	s32 error;

	if (!l || bpf_timer_init(&l->timer, &polls, CLOCK_MONOTONIC) || bpf_timer_set_callback(&l->timer, poll_losers))
		return -22 /* EINVAL */;
	bpf_for(i, 0, n) {
		error = scx_bpf_create_dsq(i, -1);
		if (error)
			return error;
	}
	error = scx_bpf_create_dsq(SHARED, -1);
	return error ?: scx_bpf_create_dsq(BLOCKED, -1);
}

SEC("struct_ops/exit") void BPF_PROG(tutti_exit, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(state.reason, sizeof(state.reason), BPF_CORE_READ(info, reason));
	bpf_probe_read_kernel_str(state.message, sizeof(state.message), BPF_CORE_READ(info, msg));
	write_once(state.has_left, 1);
}

SEC(".struct_ops.link") struct sched_ext_ops tutti = {
	.select_cpu = (void *)tutti_select_cpu,
	.enqueue = (void *)tutti_enqueue,
	.dispatch = (void *)tutti_dispatch,
	.tick = (void *)tutti_tick,
	.running = (void *)tutti_running,
	.stopping = (void *)tutti_stopping,
	.yield = (void *)tutti_yield,
	.init_task = (void *)tutti_init_task,
	.exit_task = (void *)tutti_exit_task,
	.enable = (void *)tutti_enable,
	.init = (void *)tutti_init,
	.exit = (void *)tutti_exit,
	.flags = SCX_OPS_ENQ_LAST,
	.timeout_ms = 5000,
	.name = "tutti",
};
