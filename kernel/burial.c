// SPDX-License-Identifier: GPL-2.0
/*
 * Cleans up after threads that ended without leaving. The scheduler's notifier hears of the end under the run
 * queue's lock, where it may neither wake a task nor sleep. So an interrupt and then a work queue release what the
 * thread held.
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
		/* tutti_end_burials(), at the module's end, waits for this work. */
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
	/* A notifier that has reported its thread's end has also called for the burial: both happen with interrupts
	 * off. */
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
