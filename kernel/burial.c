// SPDX-License-Identifier: GPL-2.0
/*
 * The end of threads that did not leave. The scheduler's notifier hears of it under the lock of the run queue, where
 * nothing may be woken and nothing may sleep; so an interrupt, then a work queue, let go of what the thread held.
 */
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "tutti.h"

static LLIST_HEAD(dead);

static void bury_dead(struct work_struct *unused)
{
	struct tutti_corpse *c, *next;

	llist_for_each_entry_safe(c, next, llist_del_all(&dead), node) {
		c->bury(c);
		/* The end of the module waits for this work. */
		module_put(THIS_MODULE);
	}
}
static DECLARE_WORK(burial, bury_dead);

static void on_call(struct irq_work *unused)
{
	schedule_work(&burial);
}
static DEFINE_IRQ_WORK(caller, on_call);

void tutti_call_for_burial(struct tutti_corpse *corpse)
{
	llist_add(&corpse->node, &dead);
	irq_work_queue(&caller);
}

void tutti_end_burials(void)
{
	/* One that has told of its thread's end has called for the burial, too: it does both without interrupts. */
	synchronize_rcu();
	irq_work_sync(&caller);
	flush_work(&burial);
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
