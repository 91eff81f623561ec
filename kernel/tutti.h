/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program that has opened the device, and its registered threads.
 *
 * Ownership:
 *
 *	file	is held by the open file, by each thread and by each member
 *	thread	is a thread that has registered for ticks. Its task holds it in the task's list of preempt notifiers,
 *		until the task unregisters or dies
 *	member	is a thread that has registered for transactions, and is held in the same way
 *	module	is held by open files, and by threads and members, which may outlive the files
 *
 * `slots` and `members` change under `lock`, and are read under RCU.
 *
 * Calls by name between the files go down only. Only one call stays in a row: serialization.c calls extension.c.
 * For a dead thread, deferred_free.c calls `release` of ticks.c or serialization.c through a pointer.
 *
 *	device.c
 *	ticks.c		serialization.c	-> extension.c
 *	file.c		deferred_free.c
 */
#ifndef TUTTI_H
#define TUTTI_H

#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/user-return-notifier.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "uapi.h"

/* The timer sends signals, and sending a signal may sleep on a real-time kernel. */
#if defined(CONFIG_PREEMPT_RT)
#error "tutti does not support PREEMPT_RT"
#endif
#if !defined(CONFIG_X86_64) || !defined(CONFIG_PREEMPT_NOTIFIERS) || !defined(CONFIG_USER_RETURN_NOTIFIER)
#error "tutti needs an x86-64 kernel with PREEMPT_NOTIFIERS and USER_RETURN_NOTIFIER, which KVM selects"
#endif

struct tutti_thread;
struct tutti_member;

/* Increases a count in a page that the program may write at any time. */
#define tutti_count(in_page) WRITE_ONCE(in_page, READ_ONCE(in_page) + 1)

/* What a dead thread still holds. Its release may sleep, but the code that notices the thread's end must not sleep. */
struct tutti_deferred {
	struct llist_node node;
	void (*release)(struct tutti_deferred *deferred);	/* may sleep; then drops the module's reference */
};

struct tutti_file {
	struct kref ref;
	/* The program's memory. The reference to it ensures that no other program gets this address. After exec, a
	 * thread counts as part of another program. */
	struct mm_struct *mm;
	struct tutti_tick_entry *entries;
	bool closed;
	struct mutex lock;
	struct tutti_thread __rcu *slots[TUTTI_THREADS];
	unsigned int range_count;	/* stored with release after the range that it counts */
	struct tutti_range ranges[TUTTI_RANGES];

	/* serialization.c */
	struct tutti_transaction *transactions;
	struct tutti_member __rcu *members[TUTTI_THREADS];
	unsigned int generations[TUTTI_THREADS];	/* odd while a member has the entry; changes before the waiters wake up */
	wait_queue_head_t queues[TUTTI_THREADS];	/* threads that sleep until this member's transaction ends */
};

struct tutti_thread {
	struct preempt_notifier scheduled;
	struct user_return_notifier returns;	/* linked while the task runs on a processor */
	bool linked;
	int cpu;				/* the processor on which the thread runs; -1: not running */
	struct hrtimer timer;
	u64 pause_ns;				/* pause before the next try */
	bool stack_full;			/* the tick could not redirect, because the stack has no room for it */
	struct tutti_tick_register how;
	struct task_struct *task;		/* a reference, so that no other task is mistaken for this one */
	struct tutti_file *file;
	struct tutti_tick_entry *entry;
	struct tutti_deferred deferred;
	struct rcu_head rcu;
};

struct tutti_member {
	struct preempt_notifier scheduled;
	int cpu;				/* the processor on which the thread runs; -1: not running */
	struct task_struct *task;		/* a reference, so that no other task is mistaken for this one */
	struct tutti_file *file;
	struct tutti_transaction *entry;
	unsigned int number;
	/* Guarded by the file's lock: */
	u64 defers_to;				/* bit set of members; 0: the member does not defer */
	int nice, lowered_to;			/* the nice values before deferring and while deferring */
	struct delayed_work weight_timeout;	/* ends the lower weight after the time limit */
	/* Accessed by the thread and by interrupts on its processor, extension.c: */
	bool extended;				/* this turn on the processor has been extended */
	bool extension_runs;			/* the extension is still running; the timer may end it at any moment */
	struct hrtimer extension;		/* ends the extension */
	struct tutti_deferred deferred;
	struct rcu_head rcu;
};

/* Returns true if the calling thread is SCHED_OTHER or SCHED_BATCH. Other threads may change its policy at any
 * moment. */
static inline bool tutti_has_weight(void)
{
	unsigned int policy = READ_ONCE(current->policy);

	return policy == SCHED_NORMAL || policy == SCHED_BATCH;
}

/* Checks that the calling thread still runs the program that opened the device, and that the device is open. exec may
 * change the program in the middle of a turn on the processor. */
static inline bool tutti_is_same_program(const struct tutti_file *file)
{
	return current->mm == file->mm && !READ_ONCE(file->closed);
}

/* file.c. */
/* Returns a file with one reference, for the calling program, or an error (ERR_PTR). */
struct tutti_file *tutti_file_create(void);
/* Adds a reference. REQUIRES: the caller has one. */
void tutti_file_get(struct tutti_file *file);
void tutti_file_put(struct tutti_file *file);
/* Returns the calling thread's registration for ticks, or NULL. REQUIRES: file->lock. */
struct tutti_thread *tutti_own_thread(struct tutti_file *file);
/* Returns the calling thread's member, which only this thread can end, or NULL. */
struct tutti_member *tutti_own_member(struct tutti_file *file);
/*
 * Returns how many notifiers of that kind the calling thread has. The number must be limited, because each notifier
 * costs time at each context switch, with interrupts off. Some notifiers may belong to programs that the thread ran
 * before exec.
 */
unsigned int tutti_notifiers(const struct preempt_ops *ops);

/* deferred_free.c. The scheduler's notifier calls this for a task that has ended. */
void tutti_defer_free(struct tutti_deferred *deferred);
/* Waits for the deferred releases. REQUIRES: no registered thread is left; the release for the last thread may still be
 * running. */
void tutti_flush_deferred(void);

/* extension.c. All functions except the first two act on the calling thread's member. */
/* Starts to extend the turns of members. The notifiers of members have these operations. */
int tutti_begin_extensions(const struct preempt_ops *ops);
void tutti_end_extensions(void);
void tutti_prepare_extension(struct tutti_member *m);
/* Makes the thread leave its processor as soon as possible, if its turn has been extended. */
void tutti_return_extension(struct tutti_member *m);
/* The thread leaves its processor. REQUIRES: interrupts are off, or its notifier is no longer linked. */
void tutti_end_turn(struct tutti_member *m);

/* ticks.c. All functions except tutti_kick act on the calling thread and REQUIRE that file->lock is held. */
int tutti_tick_register(struct tutti_file *file, struct tutti_tick_register *how);
int tutti_tick_unregister(struct tutti_file *file);
int tutti_kick(struct tutti_file *file, unsigned long number);

/* serialization.c. All functions act on the calling thread and REQUIRE that the file's lock is free. */
extern struct preempt_ops tutti_member_ops;	/* the operations of members' notifiers */
long tutti_tx_register(struct tutti_file *file, u32 __user *number);
long tutti_tx_unregister(struct tutti_file *file);
long tutti_await(struct tutti_file *file, u64 max_ns);
long tutti_defer(struct tutti_file *file, u64 max_ns);
long tutti_resume(struct tutti_file *file);
long tutti_wake_waiters(struct tutti_file *file);

#endif
