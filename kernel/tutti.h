/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program that has opened the device, and its threads that have joined.
 *
 * Who holds what:
 *
 *	file	is held by the open file, by each thread that has joined and by each member
 *	thread	is held by its task, whose list of preempt notifiers it is on, until the task leaves or dies
 *	member	the same: a thread that has enrolled
 *	module	is held by open files, and by threads and members, which may outlive them
 *
 * `slots` and `members` change under `lock`, and are read under RCU.
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
#include <linux/user-return-notifier.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "uapi.h"

/* The timer sends signals, for which RT may have to sleep. */
#if defined(CONFIG_PREEMPT_RT)
#error "tutti does not support PREEMPT_RT"
#endif
#if !defined(CONFIG_X86_64) || !defined(CONFIG_PREEMPT_NOTIFIERS) || !defined(CONFIG_USER_RETURN_NOTIFIER)
#error "tutti needs an x86-64 kernel with PREEMPT_NOTIFIERS and USER_RETURN_NOTIFIER, which KVM selects"
#endif

struct tutti_thread;
struct tutti_member;

/* A count in a page that the program may write at any time. */
#define tutti_count(in_page) WRITE_ONCE(in_page, READ_ONCE(in_page) + 1)

/* What a thread holds can be let go of only where one may sleep, which is not where its end is heard of. */
struct tutti_corpse {
	struct llist_node node;
	void (*bury)(struct tutti_corpse *corpse);	/* may sleep; the module is let go of after it */
};

struct tutti_file {
	struct kref ref;
	/* Held, so that no other program gets its address, one that a thread of this program turns into (exec) included. */
	struct mm_struct *mm;
	struct tutti_entry *entries;
	bool closed;
	struct mutex lock;
	struct tutti_thread __rcu *slots[TUTTI_THREADS];
	unsigned int range_count;	/* released after the range that it counts */
	struct tutti_range ranges[TUTTI_RANGES];

	/* serialization.c */
	struct tutti_transaction *transactions;
	struct tutti_member __rcu *members[TUTTI_THREADS];
	unsigned int tenures[TUTTI_THREADS];	/* odd while a member has the entry; changed before its waiters are woken */
	wait_queue_head_t queues[TUTTI_THREADS];	/* of those that sleep for the member */
};

struct tutti_thread {
	struct preempt_notifier scheduled;
	struct user_return_notifier returns;	/* linked while the task is on a processor */
	bool linked;
	int cpu;				/* which; -1: on none */
	struct hrtimer timer;
	u64 pause_ns;				/* the next */
	bool no_room;				/* on the stack, for the tick that stands */
	struct tutti_join how;
	struct task_struct *task;		/* held, so that no other task is taken for it */
	struct tutti_file *file;
	struct tutti_entry *entry;
	struct tutti_corpse corpse;
	struct rcu_head rcu;
};

struct tutti_member {
	struct preempt_notifier scheduled;
	int cpu;				/* where it runs; -1: nowhere */
	struct task_struct *task;		/* held, so that no other task is taken for it */
	struct tutti_file *file;
	struct tutti_transaction *entry;
	unsigned int number;
	/* Under the file's lock: */
	u64 defers_to;				/* members, a bit each; 0: it does not defer */
	int nice, lowered_to;			/* what it was before that, and what was made of it */
	struct delayed_work relief;		/* for when it has deferred for too long */
	/* The thread's and its processor's interrupts', extension.c: */
	bool extended;				/* its turn on the processor has been, */
	bool owes;				/* and is not over; the timer may take it away at any moment */
	struct hrtimer extension;		/* ends it */
	struct tutti_corpse corpse;
	struct rcu_head rcu;
};

void tutti_file_put(struct tutti_file *file);

/* extension.c. For the calling thread. */
int tutti_begin_extensions(void);
void tutti_end_extensions(void);
void tutti_prepare_extension(struct tutti_member *m);
/* The thread leaves its processor as soon as it may, if its turn has been extended. */
void tutti_pay_back(struct tutti_member *m);
/* It leaves its processor. Interrupts are off, or its notifier no longer linked. */
void tutti_end_turn(struct tutti_member *m);

/* ticks.c. All but tutti_kick for the calling thread. REQUIRES: file->lock, but for tutti_kick. */
int tutti_join(struct tutti_file *file, struct tutti_join *how);
int tutti_leave(struct tutti_file *file);
int tutti_kick(struct tutti_file *file, unsigned long number);

/* burial.c. Called where the scheduler's notifier finds a task that it will not hear of again. */
void tutti_call_for_burial(struct tutti_corpse *corpse);
/* REQUIRES: no thread is left, but what buries the last one may still be under way. */
void tutti_end_burials(void);
/*
 * How many notifiers of that kind the calling thread has. Each device that it has joined costs time at each switch, with
 * interrupts off; some may be of programs that the thread was before.
 */
unsigned int tutti_notifiers(const struct preempt_ops *ops);

/* serialization.c. All for the calling thread, and with the file's lock free. */
/* A member inside a transaction that asks for more time, of the program that the thread is, whose turn has not been
 * extended; NULL: none. To be called by an interrupt of user mode. */
struct tutti_member *tutti_may_extend(void);
void tutti_prepare_queues(struct tutti_file *file);
long tutti_enrol(struct tutti_file *file, u32 __user *number);
long tutti_resign(struct tutti_file *file);
long tutti_await(struct tutti_file *file, u64 longest_ns);
long tutti_defer(struct tutti_file *file, u64 longest_ns);
long tutti_resume(struct tutti_file *file);
long tutti_release(struct tutti_file *file);

#endif
