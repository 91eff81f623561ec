// SPDX-License-Identifier: GPL-2.0
/*
 * Creates and frees the data of an open device, and finds the registrations of the calling thread. This file calls no
 * other file of the module.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "tutti.h"

struct tutti_file *tutti_file_create(void)
{
	struct tutti_file *file;
	unsigned int i;

	BUILD_BUG_ON(sizeof(struct tutti_tick_entry) * TUTTI_THREADS > PAGE_SIZE);
	BUILD_BUG_ON(sizeof(struct tutti_transaction) * TUTTI_THREADS > PAGE_SIZE);
	if (!current->mm)
		return ERR_PTR(-EPERM);
	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return ERR_PTR(-ENOMEM);
	file->entries = (struct tutti_tick_entry *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	file->transactions = (struct tutti_transaction *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!file->entries || !file->transactions) {
		free_page((unsigned long)file->entries);
		free_page((unsigned long)file->transactions);
		kfree(file);
		return ERR_PTR(-ENOMEM);
	}
	for (i = 0; i < TUTTI_THREADS; i++)
		init_waitqueue_head(&file->queues[i]);
	kref_init(&file->ref);
	mutex_init(&file->lock);
	file->mm = current->mm;
	mmgrab(file->mm);
	return file;
}

static void free_file(struct kref *ref)
{
	struct tutti_file *file = container_of(ref, struct tutti_file, ref);

	mmdrop(file->mm);
	free_page((unsigned long)file->entries);
	free_page((unsigned long)file->transactions);
	kfree(file);
}

void tutti_file_get(struct tutti_file *file)
{
	kref_get(&file->ref);
}

void tutti_file_put(struct tutti_file *file)
{
	kref_put(&file->ref, free_file);
}

struct tutti_thread *tutti_own_thread(struct tutti_file *file)
{
	unsigned int i;

	for (i = 0; i < TUTTI_THREADS; i++) {
		struct tutti_thread *t = rcu_dereference_protected(file->slots[i], lockdep_is_held(&file->lock));

		if (t && t->task == current)
			return t;
	}
	return NULL;
}

struct tutti_member *tutti_own_member(struct tutti_file *file)
{
	struct tutti_member *m = NULL;
	unsigned int i;

	/* RCU keeps the members of other threads while this loop reads them. The caller's member needs no such
	 * protection, because only the caller can end it. */
	rcu_read_lock();
	for (i = 0; i < TUTTI_THREADS; i++) {
		m = rcu_dereference(file->members[i]);
		if (m && m->task == current)
			break;
		m = NULL;
	}
	rcu_read_unlock();
	return m;
}

unsigned int tutti_notifiers(const struct preempt_ops *ops)
{
	struct preempt_notifier *n;
	unsigned int count = 0;

	preempt_disable();
	hlist_for_each_entry(n, &current->preempt_notifiers, link)
		count += n->ops == ops;
	preempt_enable();
	return count;
}
