// SPDX-License-Identifier: GPL-2.0
/*
 * Lets a thread whose time is over inside a transaction keep its processor a little longer. The thread returns that
 * time when the transaction ends ("slice extension" of Maldonado et al., "Kernel-Assisted Scheduling and
 * Deadline Support for Software Transactional Memory", 5).
 *
 * The timer's interrupt requests the thread's processor (TIF_NEED_RESCHED), and the thread leaves the processor when it
 * returns to user mode. Before that, at the end of the interrupt, the kernel passes a tracepoint. This module's probe
 * at the tracepoint cancels the request and starts a timer that repeats the request. If the transaction ends earlier,
 * the thread itself repeats the request: `waiters` makes it call TUTTI_WAKE_WAITERS.
 *
 * The probe cannot know which task requests the processor. Usually the scheduler's tick requests it for a thread of the
 * same class. But the interrupt may have woken a real-time thread, which then waits, too. So the extension is short:
 * it equals the longest one that administrators can configure for Linux 7's own extension, for the same reason
 * (slice_ext_nsec of rseq). The thread is charged for the extension as for all time, so a false claim of a
 * transaction gains nothing.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/tracepoint.h>
#include <linux/version.h>
#include <asm/irq_regs.h>
#include <asm/ptrace.h>

#include "tutti.h"

static struct tracepoint *end_of_timer_interrupt;
/* Distinguishes the notifiers of members from the calling thread's other notifiers. device.c passes these operations,
 * because serialization.c calls this file. */
static const struct preempt_ops *member_ops;

/* Requests the calling thread's processor, so that the thread leaves the processor as soon as possible. */
static void request_reschedule(void)
{
	set_tsk_need_resched(current);
	set_preempt_need_resched();
}

static void cancel_reschedule(void)
{
	clear_tsk_need_resched(current);
#ifdef CONFIG_PREEMPT_LAZY
	clear_tsk_thread_flag(current, TIF_NEED_RESCHED_LAZY);
#endif
	clear_preempt_need_resched();
}

static bool reschedule_requested(void)
{
#ifdef CONFIG_PREEMPT_LAZY
	if (test_thread_flag(TIF_NEED_RESCHED_LAZY))
		return true;
#endif
	return test_thread_flag(TIF_NEED_RESCHED);
}

static enum hrtimer_restart on_end(struct hrtimer *timer)
{
	struct tutti_member *m = container_of(timer, struct tutti_member, extension);

	if (current == m->task) {
		WRITE_ONCE(m->extension_runs, false);
		request_reschedule();
	}
	return HRTIMER_NORESTART;
}

static bool wants_extension(const struct tutti_member *m)
{
	const struct tutti_transaction *e = m->entry;

	return READ_ONCE(e->running) && ktime_get_ns() >= READ_ONCE(e->extend_from_ns);
}

/* Returns a member of the current program that is inside a transaction and wants more time. Returns NULL if there
 * is no such member, or if its turn has already been extended. REQUIRES: an interrupt of user mode is the caller. */
static struct tutti_member *extendable_member(void)
{
	struct preempt_notifier *n;
	struct tutti_member *found = NULL;

	if (!tutti_has_weight())
		return NULL;
	/* Only the thread itself changes the list, and it does so in kernel mode. */
	hlist_for_each_entry(n, &current->preempt_notifiers, link) {
		struct tutti_member *m = container_of(n, struct tutti_member, scheduled);

		if (n->ops != member_ops)
			continue;
		if (m->extended)
			return NULL;
		if (wants_extension(m) && tutti_is_same_program(m->file))
			found = m;
	}
	return found;
}

/* REQUIRES: interrupts are off. */
static void on_timer_interrupt(void *unused, int vector)
{
	struct pt_regs *regs = get_irq_regs();
	struct tutti_member *m;

	if (!reschedule_requested() || !regs || !user_mode(regs))
		return;
	m = extendable_member();
	if (!m)
		return;
	m->extended = true;
	WRITE_ONCE(m->extension_runs, true);
	tutti_count(m->entry->extended);
	WRITE_ONCE(m->entry->waiters, 1);
	cancel_reschedule();
	hrtimer_start(&m->extension, ns_to_ktime(TUTTI_TURN_EXTENSION_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

void tutti_prepare_extension(struct tutti_member *m)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&m->extension, on_end, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&m->extension, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	m->extension.function = on_end;
#endif
}

void tutti_return_extension(struct tutti_member *m)
{
	preempt_disable();
	if (READ_ONCE(m->extension_runs)) {
		hrtimer_try_to_cancel(&m->extension);
		WRITE_ONCE(m->extension_runs, false);
		request_reschedule();
	}
	preempt_enable();
}

void tutti_end_turn(struct tutti_member *m)
{
	if (READ_ONCE(m->extension_runs))
		hrtimer_try_to_cancel(&m->extension);
	WRITE_ONCE(m->extension_runs, false);
	m->extended = false;
}

static void match_tracepoint(struct tracepoint *tracepoint, void *unused)
{
	if (!strcmp(tracepoint->name, "local_timer_exit"))
		end_of_timer_interrupt = tracepoint;
}

int tutti_begin_extensions(const struct preempt_ops *ops)
{
	/* The registration below publishes the probe with a release, so each call of the probe sees `ops`. */
	member_ops = ops;
	for_each_kernel_tracepoint(match_tracepoint, NULL);
	if (end_of_timer_interrupt)
		return tracepoint_probe_register(end_of_timer_interrupt, on_timer_interrupt, NULL);
	pr_info("tutti: no slice is extended, because this kernel was built without tracepoints\n");
	return 0;
}

void tutti_end_extensions(void)
{
	if (!end_of_timer_interrupt)
		return;
	tracepoint_probe_unregister(end_of_timer_interrupt, on_timer_interrupt, NULL);
	tracepoint_synchronize_unregister();
}
