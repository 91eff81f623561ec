/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program that has opened the device, and its threads that have joined.
 *
 * Who holds what:
 *
 *	file	is held by the open file and by each thread that has joined
 *	thread	is held by its task, whose list of preempt notifiers it is on, until the task leaves or dies
 *	module	is held by open files, and by threads, which may outlive them
 *
 * `slots` change under `lock`, and are read under RCU.
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

#include "uapi.h"

/* The timer sends signals, for which RT may have to sleep. */
#if defined(CONFIG_PREEMPT_RT)
#error "tutti does not support PREEMPT_RT"
#endif
#if !defined(CONFIG_X86_64) || !defined(CONFIG_PREEMPT_NOTIFIERS) || !defined(CONFIG_USER_RETURN_NOTIFIER)
#error "tutti needs an x86-64 kernel with PREEMPT_NOTIFIERS and USER_RETURN_NOTIFIER, which KVM selects"
#endif

struct tutti_thread;

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
	struct llist_node dead;
	struct rcu_head rcu;
};

void tutti_file_put(struct tutti_file *file);

/* ticks.c. All but tutti_kick for the calling thread. REQUIRES: file->lock, but for tutti_kick. */
int tutti_join(struct tutti_file *file, struct tutti_join *how);
int tutti_leave(struct tutti_file *file);
int tutti_kick(struct tutti_file *file, unsigned long number);
void tutti_ticks_start(void);
void tutti_ticks_end(void);

#endif
