// SPDX-License-Identifier: GPL-2.0
/*
 * Cleans up after threads that ended without unregistering. The scheduler's notifier finds the end of a thread under
 * the run queue's lock, where it may neither wake a task nor sleep. So what the thread held is released later, by an
 * interrupt and then a work queue.
 */
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "tutti.h"

static LLIST_HEAD(deferred_list);

static void free_deferred(struct work_struct *unused)
{
	struct tutti_deferred *c, *next;

	llist_for_each_entry_safe(c, next, llist_del_all(&deferred_list), node) {
		c->release(c);
		/* tutti_flush_deferred(), which runs when the module is unloaded, waits for this work. */
		module_put(THIS_MODULE);
	}
}
static DECLARE_WORK(free_work, free_deferred);

static void on_irq_work(struct irq_work *unused)
{
	schedule_work(&free_work);
}
static DEFINE_IRQ_WORK(irq_work, on_irq_work);

void tutti_defer_free(struct tutti_deferred *deferred)
{
	llist_add(&deferred->node, &deferred_list);
	irq_work_queue(&irq_work);
}

void tutti_flush_deferred(void)
{
	/* If a notifier has reported the end of its thread, it has also queued the release, because it does both with
	 * interrupts off. */
	synchronize_rcu();
	irq_work_sync(&irq_work);
	flush_work(&free_work);
}
