// SPDX-License-Identifier: GPL-2.0
/*
 * Ticks: when the module checks a thread, and how it delivers the tick.
 *
 * While a registered thread is on a processor, a notifier runs at each of its returns to user mode. The notifier checks
 * whether the thread's tick is wanted. So a tick needs only an interrupt, which the sender or a timer causes. The
 * module need not know whether the interrupt came in kernel mode or in user mode. The notifier always sees the
 * registers with which the thread is about to continue.
 *
 * No tick is lost. The sender stores `wanted`, then reads where the thread is. The scheduler's notifier stores where
 * the thread is, and the thread checks `wanted` at its next return to user mode:
 *
 *	sender:	wanted = 1 -> barrier -> on a processor? Interrupts it.
 *	thread:	cpu = this -> barrier -> returns to user mode: wanted?
 */
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <asm/prctl.h>
#include <asm/ptrace.h>
#include <asm/segment.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#include <trace/events/ipi.h>	/* for smp_send_reschedule */
#endif
#include <uapi/linux/rseq.h>

#include "tutti.h"

static bool in_ranges(const struct tutti_file *file, unsigned long ip)
{
	unsigned int count = smp_load_acquire(&file->range_count);
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (ip >= file->ranges[i].begin && ip < file->ranges[i].end)
			return true;
	}
	return false;
}

/* Returns true inside a restartable sequence, or if its data cannot be read. A redirection there would hide from the
 * kernel that the sequence was interrupted and has to be aborted. */
static bool in_rseq_section(unsigned long ip)
{
#ifdef CONFIG_RSEQ
	struct rseq __user *area;
	u64 section;
	struct rseq_cs cs;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	area = current->rseq.usrptr;
#else
	area = current->rseq;
#endif
	if (!area)
		return false;
	if (copy_from_user_nofault(&section, (void __user *)&area->rseq_cs, sizeof(section)))
		return true;
	if (!section)
		return false;
	if (copy_from_user_nofault(&cs, (void __user *)(unsigned long)section, sizeof(cs)))
		return true;
	return ip - cs.start_ip < cs.post_commit_offset;
#else
	return false;
#endif
}

/* With a shadow stack, a thread cannot be redirected, because the handler's `ret` would not match the addresses on the
 * shadow stack. */
static bool has_shadow_stack(void)
{
#ifdef CONFIG_X86_USER_SHADOW_STACK
	return current->thread.features & ARCH_SHSTK_SHSTK;
#else
	return false;
#endif
}

/* Checks whether the thread may be redirected, except for the room on its stack. */
static bool may_redirect(const struct tutti_thread *t, const struct pt_regs *regs)
{
	const struct tutti_tick_entry *e = t->entry;

	if (!READ_ONCE(e->preemptable) || regs->cs != __USER_CS || (regs->flags & X86_EFLAGS_TF))
		return false;
	if (regs->ip >= t->how.handler && regs->ip < t->how.handler_end)
		return false;
	if (regs->sp >= READ_ONCE(e->stack_end))
		return false;
	return in_ranges(t->file, regs->ip) && !in_rseq_section(regs->ip) && !has_shadow_stack();
}

static bool redirect(struct tutti_thread *t, struct pt_regs *regs)
{
	unsigned long sp = regs->sp - TUTTI_RED_ZONE - sizeof(regs->ip);

	/* The copy fails if the stack's page is not present: this code must not wait for the page. */
	t->stack_full = regs->sp < READ_ONCE(t->entry->stack_begin) ||
		     copy_to_user_nofault((void __user *)sp, &regs->ip, sizeof(regs->ip));
	if (t->stack_full)
		return false;
	regs->sp = sp;
	regs->ip = t->how.handler;
	WRITE_ONCE(t->entry->preemptable, 0);
	WRITE_ONCE(t->entry->wanted, 0);
	tutti_count(t->entry->redirected);
	return true;
}

static void start_timer(struct tutti_thread *t, u64 ns)
{
	hrtimer_start(&t->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
}

/* Sets PENDING_TICK and schedules another try. Each pause is twice the one before, up to max_pause_ns. */
static void defer_tick(struct tutti_thread *t)
{
	u64 at = READ_ONCE(t->entry->pending_at);
	u8 one = 1;

	tutti_count(t->entry->deferred);
	/* The copy may fail because the page is not present. That does no harm: the thread will be interrupted again in
	 * any case. */
	if (at && copy_to_user_nofault((void __user *)(unsigned long)at, &one, sizeof(one)))
		at = 0;
	if (t->how.period_ns || hrtimer_active(&t->timer))
		return;
	start_timer(t, t->pause_ns);
	t->pause_ns = min(2 * t->pause_ns, t->how.max_pause_ns);
}

/* REQUIRES: interrupts are off, and the current task is the thread's. */
static void on_return(struct user_return_notifier *n)
{
	struct tutti_thread *t = container_of(n, struct tutti_thread, returns);
	struct pt_regs *regs = task_pt_regs(current);

	if (likely(!READ_ONCE(t->entry->wanted)) || !tutti_is_same_program(t->file))
		return;
	t->stack_full = false;
	if (!may_redirect(t, regs) || !redirect(t, regs)) {
		defer_tick(t);
		return;
	}
	t->pause_ns = t->how.pause_ns;
	if (!t->how.period_ns)
		hrtimer_try_to_cancel(&t->timer);
}

/* The interrupt itself does nothing. Only the return from it matters, because the thread then checks `wanted`. */
static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct tutti_thread *t = container_of(timer, struct tutti_thread, timer);

	if (current != t->task)
		return HRTIMER_NORESTART;
	if (t->stack_full && t->how.signal && tutti_is_same_program(t->file))
		send_sig(t->how.signal, current, 0);
	if (!t->how.period_ns)
		return HRTIMER_NORESTART;
	WRITE_ONCE(t->entry->wanted, 1);
	hrtimer_forward_now(timer, ns_to_ktime(t->how.period_ns));
	return HRTIMER_RESTART;
}

/* Runs without interrupts, because KVM may remove its own notifier from the same list in an interrupt. */
static void link_thread(struct tutti_thread *t)
{
	unsigned long flags;

	local_irq_save(flags);
	user_return_notifier_register(&t->returns);
	t->linked = true;
	local_irq_restore(flags);
	smp_store_mb(t->cpu, smp_processor_id());	/* pairs with tutti_kick; see the top */
	if (t->how.period_ns)
		start_timer(t, t->how.period_ns);
}

static void unlink_thread(struct tutti_thread *t)
{
	unsigned long flags;

	WRITE_ONCE(t->cpu, -1);
	local_irq_save(flags);
	if (t->linked)
		user_return_notifier_unregister(&t->returns);
	t->linked = false;
	local_irq_restore(flags);
	hrtimer_try_to_cancel(&t->timer);
}

static void release(struct tutti_deferred *deferred)
{
	struct tutti_thread *t = container_of(deferred, struct tutti_thread, deferred);
	struct tutti_file *file = t->file;

	mutex_lock(&file->lock);
	RCU_INIT_POINTER(file->slots[t->entry - file->entries], NULL);
	mutex_unlock(&file->lock);
	hrtimer_cancel(&t->timer);
	put_task_struct(t->task);
	kfree_rcu(t, rcu);
	tutti_file_put(file);
}

static void on_sched_in(struct preempt_notifier *n, int cpu)
{
	struct tutti_thread *t = container_of(n, struct tutti_thread, scheduled);

	if (tutti_is_same_program(t->file))
		link_thread(t);
}

/* Runs under the run queue's lock and must not wake any task. The walk over the notifiers ends before interrupts are
 * enabled. */
static void on_sched_out(struct preempt_notifier *n, struct task_struct *next)
{
	struct tutti_thread *t = container_of(n, struct tutti_thread, scheduled);

	unlink_thread(t);
	if (READ_ONCE(current->__state) == TASK_DEAD)
		tutti_defer_free(&t->deferred);
}

static struct preempt_ops sched_ops = {
	.sched_in = on_sched_in,
	.sched_out = on_sched_out,
};

static bool is_time(u64 ns)
{
	return ns >= TUTTI_MIN_PERIOD_NS && ns <= TUTTI_MAX_PERIOD_NS;
}

static int check(const struct tutti_tick_register *how)
{
	if (!valid_signal(how->signal) || how->handler >= TASK_SIZE_MAX || how->handler_end < how->handler)
		return -EINVAL;
	if ((how->period_ns && !is_time(how->period_ns)) || !is_time(how->pause_ns) || !is_time(how->max_pause_ns))
		return -EINVAL;
	return has_shadow_stack() ? -EOPNOTSUPP : 0;
}

int tutti_tick_register(struct tutti_file *file, struct tutti_tick_register *how)
{
	struct tutti_thread *t;
	int bad = check(how);

	if (bad)
		return bad;
	if (tutti_own_thread(file) || tutti_notifiers(&sched_ops) >= TUTTI_DEVICES)
		return -EBUSY;
	for (how->number = 0; how->number < TUTTI_THREADS; how->number++) {
		if (!rcu_access_pointer(file->slots[how->number]))
			break;
	}
	if (how->number == TUTTI_THREADS)
		return -ENOSPC;

	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (!t)
		return -ENOMEM;
	t->how = *how;
	t->pause_ns = how->pause_ns;
	t->task = get_task_struct(current);
	t->file = file;
	t->entry = &file->entries[how->number];
	t->cpu = -1;
	t->deferred.release = release;
	t->returns.on_user_return = on_return;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&t->timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&t->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	t->timer.function = on_timer;
#endif
	preempt_notifier_init(&t->scheduled, &sched_ops);
	__module_get(THIS_MODULE);
	tutti_file_get(file);
	memset(t->entry, 0, sizeof(*t->entry));
	rcu_assign_pointer(file->slots[how->number], t);

	preempt_disable();
	preempt_notifier_register(&t->scheduled);
	link_thread(t);
	preempt_enable();
	return 0;
}

int tutti_tick_unregister(struct tutti_file *file)
{
	struct tutti_thread *t = tutti_own_thread(file);

	if (!t)
		return -ESRCH;
	preempt_disable();
	preempt_notifier_unregister(&t->scheduled);
	unlink_thread(t);
	preempt_enable();
	RCU_INIT_POINTER(file->slots[t->entry - file->entries], NULL);
	hrtimer_cancel(&t->timer);
	put_task_struct(t->task);
	kfree_rcu(t, rcu);
	tutti_file_put(file);	/* not the last reference: the caller has one */
	module_put(THIS_MODULE);	/* not the last reference: the caller has one */
	return 0;
}

int tutti_kick(struct tutti_file *file, unsigned long number)
{
	struct tutti_thread *t;
	int cpu;

	if (number >= TUTTI_THREADS)
		return -EINVAL;
	number = array_index_nospec(number, TUTTI_THREADS);
	/* The lock also keeps the processor from going offline. */
	preempt_disable();
	rcu_read_lock();
	t = rcu_dereference(file->slots[number]);
	if (t) {
		WRITE_ONCE(t->entry->wanted, 1);
		smp_mb();	/* pairs with link_thread; see the top */
		cpu = READ_ONCE(t->cpu);
		if (cpu >= 0 && cpu != smp_processor_id() && cpu_online(cpu))
			smp_send_reschedule(cpu);
	}
	rcu_read_unlock();
	preempt_enable();
	return t ? 0 : -ESRCH;
}
