// SPDX-License-Identifier: GPL-2.0
/*
 * The losers of conflicts sleep, or run at a lower weight, until the winner's transaction has ended. These are SER-K
 * and SOFTSER-K of Maldonado et al., "Kernel-Assisted Scheduling and Deadline Support for Software Transactional
 * Memory", 5. In that paper the kernel checks the entries in each pass of the scheduler, so a loser may sleep one
 * time slice too long. Here a winner that has waiters tells the kernel, as uapi.h explains, and the module does not
 * poll.
 *
 * Winner and loser are threads of one program, and an entry affects only the loser that awaits it. So a program that
 * writes wrong values, or never clears `running`, only delays itself, for TUTTI_MAX_WAIT_NS a call.
 */
#include <linux/bits.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "tutti.h"

/* The transaction for which a loser waits. Read only once, because the program may change its entry at any time. */
struct wait_target {
	unsigned int number, generation;
	u64 awaited;
};

static int read_wait_target(const struct tutti_member *m, u64 max_ns, struct wait_target *wait_target)
{
	wait_target->awaited = READ_ONCE(m->entry->awaited);
	wait_target->number = READ_ONCE(m->entry->awaits);
	if (!max_ns || max_ns > TUTTI_MAX_WAIT_NS)
		return -EINVAL;
	if (!wait_target->awaited || wait_target->number >= TUTTI_THREADS || wait_target->number == m->number)
		return -EINVAL;
	wait_target->number = array_index_nospec(wait_target->number, TUTTI_THREADS);
	wait_target->generation = READ_ONCE(m->file->generations[wait_target->number]);
	return 0;
}

static bool is_over(const struct tutti_file *file, const struct wait_target *wait_target)
{
	unsigned int number = wait_target->number;

	return !(wait_target->generation & 1) || READ_ONCE(file->generations[number]) != wait_target->generation ||
	       READ_ONCE(file->transactions[number].running) != wait_target->awaited;
}

static void do_nothing(void *unused)
{
}

/*
 * Ensures that either the winner sees that it has waiters, or the caller sees that the winner's transaction has ended.
 * If the winner does not run when its processor is read, the winner passes the barrier of on_sched_in before it runs
 * again. After that barrier, the winner sees `waiters`.
 */
static void announce_waiter(struct tutti_file *file, unsigned int number)
{
	struct tutti_member *winner;
	int cpu = -1;

	WRITE_ONCE(file->transactions[number].waiters, 1);
	smp_mb();	/* pairs with the barrier in on_sched_in, and with the barrier in the switch that ends the winner's turn */
	preempt_disable();
	rcu_read_lock();
	winner = rcu_dereference(file->members[number]);
	if (winner)
		cpu = READ_ONCE(winner->cpu);
	rcu_read_unlock();
	/* The interrupt is a barrier on that processor. A processor that has gone offline has switched tasks before, so
	 * it has passed a barrier, too. */
	if (cpu >= 0 && cpu != smp_processor_id())
		smp_call_function_single(cpu, do_nothing, NULL, 1);
	preempt_enable();
}

/* The wait ends at the loser's own deadline at the latest. */
static ktime_t end_of_wait(const struct tutti_member *m, u64 max_ns)
{
	u64 end = ktime_get_ns() + max_ns;
	u64 deadline = READ_ONCE(m->entry->deadline_ns);

	return ns_to_ktime(deadline && deadline < end ? deadline : end);
}

long tutti_await(struct tutti_file *file, u64 max_ns)
{
	struct tutti_member *m = tutti_own_member(file);
	DEFINE_WAIT(wait);
	bool has_slept = false, timer_ended_it = false;
	struct wait_target wait_target;
	ktime_t end;
	long result;

	if (!m)
		return -ESRCH;
	result = read_wait_target(m, max_ns, &wait_target);
	if (result)
		return result;
	end = end_of_wait(m, max_ns);
	for (;;) {
		/* The loser is queued first, because TUTTI_WAKE_WAITERS clears `waiters` and then wakes all queued
		 * threads. */
		prepare_to_wait(&file->queues[wait_target.number], &wait, TASK_INTERRUPTIBLE);
		/* The condition is usually true after a wake-up, so that the winner's processor need not be
		 * interrupted. */
		if (is_over(file, &wait_target))
			break;
		announce_waiter(file, wait_target.number);
		if (is_over(file, &wait_target))
			break;
		result = signal_pending(current) ? -EINTR : ktime_compare(ktime_get(), end) >= 0 ? -ETIMEDOUT : 0;
		if (result)
			break;
		has_slept = true;
		timer_ended_it = !schedule_hrtimeout_range(&end, 0, HRTIMER_MODE_ABS);
	}
	finish_wait(&file->queues[wait_target.number], &wait);
	if (has_slept)
		tutti_count(m->entry->slept);
	if (timer_ended_it)
		tutti_count(m->entry->timed_out);
	return result;
}

/* REQUIRES: file->lock, as do the two functions below. */
static void restore_weight(struct tutti_member *m)
{
	m->defers_to = 0;
	WRITE_ONCE(m->entry->deferring, 0);
	/* A nice value that another thread has set remains in effect. No lock protects this check, so a change at this
	 * very moment is lost. */
	if (data_race(task_nice(m->task)) == m->lowered_to)
		set_user_nice(m->task, m->nice);
}

static bool lower_weight(struct tutti_member *m)
{
	if (m->defers_to)
		return true;
	if (!tutti_has_weight())
		return false;
	m->nice = data_race(task_nice(current));
	m->lowered_to = min(m->nice + TUTTI_DEFER_NICE, MAX_NICE);
	set_user_nice(current, m->lowered_to);
	WRITE_ONCE(m->entry->deferring, 1);
	return true;
}

static void restore_losers_of(struct tutti_file *file, unsigned int number)
{
	unsigned int i;

	for (i = 0; i < TUTTI_THREADS; i++) {
		struct tutti_member *m = rcu_dereference_protected(file->members[i], lockdep_is_held(&file->lock));

		if (!m || !(m->defers_to & BIT_ULL(number)))
			continue;
		m->defers_to &= ~BIT_ULL(number);
		if (!m->defers_to)
			restore_weight(m);
	}
}

static void on_weight_timeout(struct work_struct *work)
{
	struct tutti_member *m = container_of(to_delayed_work(work), struct tutti_member, weight_timeout);

	mutex_lock(&m->file->lock);
	if (m->defers_to)
		restore_weight(m);
	mutex_unlock(&m->file->lock);
}

long tutti_defer(struct tutti_file *file, u64 max_ns)
{
	struct tutti_member *m = tutti_own_member(file);
	struct wait_target wait_target;
	long result;

	BUILD_BUG_ON(TUTTI_THREADS > 64);	/* defers_to has 64 bits */
	if (!m)
		return -ESRCH;
	result = read_wait_target(m, max_ns, &wait_target);
	if (result)
		return result;
	mutex_lock(&file->lock);
	/* A winner that sees `waiters` in TUTTI_WAKE_WAITERS waits for the lock, and then finds this loser. */
	announce_waiter(file, wait_target.number);
	if (!is_over(file, &wait_target) && lower_weight(m)) {
		m->defers_to |= BIT_ULL(wait_target.number);
		mod_delayed_work(system_wq, &m->weight_timeout, nsecs_to_jiffies(max_ns) + 1);
		result = 1;
	}
	mutex_unlock(&file->lock);
	return result;
}

long tutti_resume(struct tutti_file *file)
{
	struct tutti_member *m = tutti_own_member(file);

	if (!m)
		return -ESRCH;
	mutex_lock(&file->lock);
	if (m->defers_to)
		restore_weight(m);
	mutex_unlock(&file->lock);
	return 0;
}

static void wake_losers(struct tutti_file *file, unsigned int number)
{
	wake_up_all(&file->queues[number]);
	mutex_lock(&file->lock);
	restore_losers_of(file, number);
	mutex_unlock(&file->lock);
}

long tutti_wake_waiters(struct tutti_file *file)
{
	struct tutti_member *m = tutti_own_member(file);

	if (!m)
		return -ESRCH;
	/* `waiters` is cleared before the queue is read: a loser that comes later sets `waiters` again, and then finds
	 * that `running` has changed. */
	WRITE_ONCE(m->entry->waiters, 0);
	smp_mb();	/* pairs with the queue's lock in prepare_to_wait */
	wake_losers(file, m->number);
	tutti_return_extension(m);
	return 0;
}

/* Removes the member from the file's table, so that its waiters find that it has ended. REQUIRES: file->lock. */
static void clear_entry(struct tutti_member *m)
{
	struct tutti_file *file = m->file;

	if (m->defers_to)
		restore_weight(m);
	RCU_INIT_POINTER(file->members[m->number], NULL);
	WRITE_ONCE(file->generations[m->number], file->generations[m->number] + 1);
	WRITE_ONCE(m->entry->running, 0);
	WRITE_ONCE(m->entry->waiters, 0);
}

/* Ends a member to which its task no longer has a reference. The caller drops the reference to the module. */
static void end_member(struct tutti_member *m)
{
	struct tutti_file *file = m->file;

	mutex_lock(&file->lock);
	clear_entry(m);
	mutex_unlock(&file->lock);
	wake_losers(file, m->number);
	/* Called without the file's lock, because the work acquires that lock. */
	cancel_delayed_work_sync(&m->weight_timeout);
	hrtimer_cancel(&m->extension);
	put_task_struct(m->task);
	kfree_rcu(m, rcu);
	tutti_file_put(file);
}

static void release(struct tutti_deferred *deferred)
{
	end_member(container_of(deferred, struct tutti_member, deferred));
}

static void on_sched_in(struct preempt_notifier *n, int cpu)
{
	struct tutti_member *m = container_of(n, struct tutti_member, scheduled);

	smp_store_mb(m->cpu, cpu);	/* pairs with the barrier in announce_waiter */
}

static void on_sched_out(struct preempt_notifier *n, struct task_struct *next)
{
	struct tutti_member *m = container_of(n, struct tutti_member, scheduled);

	WRITE_ONCE(m->cpu, -1);
	tutti_end_turn(m);
	if (READ_ONCE(current->__state) == TASK_DEAD)
		tutti_defer_free(&m->deferred);
}

struct preempt_ops tutti_member_ops = {
	.sched_in = on_sched_in,
	.sched_out = on_sched_out,
};

/* REQUIRES: file->lock */
static long find_entry(struct tutti_file *file)
{
	unsigned int i;

	for (i = 0; i < TUTTI_THREADS; i++) {
		if (!rcu_access_pointer(file->members[i]))
			return i;
	}
	return -ENOSPC;
}

long tutti_tx_register(struct tutti_file *file, u32 __user *number)
{
	struct tutti_member *m;
	long index;

	if (tutti_own_member(file) || tutti_notifiers(&tutti_member_ops) >= TUTTI_DEVICES)
		return -EBUSY;
	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return -ENOMEM;
	mutex_lock(&file->lock);
	index = find_entry(file);
	/* The number is copied out before the member is published, so that a failure has nothing to undo. */
	if (index >= 0 && put_user((u32)index, number))
		index = -EFAULT;
	if (index < 0) {
		mutex_unlock(&file->lock);
		kfree(m);
		return index;
	}
	m->number = index;
	m->entry = &file->transactions[index];
	m->file = file;
	m->task = get_task_struct(current);
	m->deferred.release = release;
	INIT_DELAYED_WORK(&m->weight_timeout, on_weight_timeout);
	tutti_prepare_extension(m);
	preempt_notifier_init(&m->scheduled, &tutti_member_ops);
	__module_get(THIS_MODULE);
	tutti_file_get(file);
	memset(m->entry, 0, sizeof(*m->entry));
	preempt_disable();
	preempt_notifier_register(&m->scheduled);
	smp_store_mb(m->cpu, smp_processor_id());
	preempt_enable();
	rcu_assign_pointer(file->members[index], m);
	WRITE_ONCE(file->generations[index], file->generations[index] + 1);
	mutex_unlock(&file->lock);
	return 0;
}

long tutti_tx_unregister(struct tutti_file *file)
{
	struct tutti_member *m = tutti_own_member(file);

	if (!m)
		return -ESRCH;
	tutti_return_extension(m);
	preempt_disable();
	preempt_notifier_unregister(&m->scheduled);
	tutti_end_turn(m);
	preempt_enable();
	end_member(m);
	module_put(THIS_MODULE);	/* not the last reference: the caller has one through the file */
	return 0;
}
