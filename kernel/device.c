// SPDX-License-Identifier: GPL-2.0
/*
 * The device: the calls of programs, who may make them, and the start and end of the module. A program that may open
 * the device can only act on its own threads, for a bounded time. It can interrupt them while they run, make them
 * sleep, or lower their weight.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "tutti.h"

static int open_device(struct inode *inode, struct file *f)
{
	struct tutti_file *file = tutti_file_create();

	if (IS_ERR(file))
		return PTR_ERR(file);
	f->private_data = file;
	return 0;
}

static int release_device(struct inode *inode, struct file *f)
{
	struct tutti_file *file = f->private_data;

	WRITE_ONCE(file->closed, true);
	mutex_lock(&file->lock);
	tutti_tick_unregister(file);
	mutex_unlock(&file->lock);
	tutti_tx_unregister(file);
	tutti_file_put(file);
	return 0;
}

static int map_device(struct file *f, struct vm_area_struct *vma)
{
	struct tutti_file *file = f->private_data;
	void *page = vma->vm_pgoff ? (void *)file->transactions : file->entries;

	BUILD_BUG_ON(TUTTI_TRANSACTIONS_PAGE != PAGE_SIZE);
	if (current->mm != file->mm)
		return -EPERM;
	if (vma->vm_pgoff > 1 || vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
#else
	vma->vm_flags |= VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP;
#endif
	return vm_insert_page(vma, vma->vm_start, virt_to_page(page));
}

/* REQUIRES: file->lock */
static int allow(struct tutti_file *file, const struct tutti_range *range)
{
	if (range->begin >= range->end || range->end > TASK_SIZE_MAX)
		return -EINVAL;
	if (file->range_count == TUTTI_RANGES)
		return -ENOSPC;
	file->ranges[file->range_count] = *range;
	smp_store_release(&file->range_count, file->range_count + 1);	/* pairs with the acquire in in_ranges */
	return 0;
}

static long control_locked(struct tutti_file *file, unsigned int command, void __user *argument)
{
	struct tutti_range range;
	struct tutti_tick_register how;
	long result;

	switch (command) {
	case TUTTI_ALLOW:
		if (copy_from_user(&range, argument, sizeof(range)))
			return -EFAULT;
		return allow(file, &range);
	case TUTTI_TICK_REGISTER:
		if (copy_from_user(&how, argument, sizeof(how)))
			return -EFAULT;
		result = tutti_tick_register(file, &how);
		if (!result && copy_to_user(argument, &how, sizeof(how))) {
			tutti_tick_unregister(file);
			return -EFAULT;
		}
		return result;
	case TUTTI_TICK_UNREGISTER:
		return tutti_tick_unregister(file);
	}
	return -ENOTTY;
}

static long control(struct file *f, unsigned int command, unsigned long argument)
{
	struct tutti_file *file = f->private_data;
	long result;

	if (command == TUTTI_VERSION)
		return put_user((u32)TUTTI_ABI, (u32 __user *)argument);
	if (current->mm != file->mm)
		return -EPERM;
	switch (command) {
	case TUTTI_KICK:
		return tutti_kick(file, argument);
	case TUTTI_TX_REGISTER:
		return tutti_tx_register(file, (u32 __user *)argument);
	case TUTTI_TX_UNREGISTER:
		return tutti_tx_unregister(file);
	case TUTTI_AWAIT:
		return tutti_await(file, argument);
	case TUTTI_DEFER:
		return tutti_defer(file, argument);
	case TUTTI_RESUME:
		return tutti_resume(file);
	case TUTTI_WAKE_WAITERS:
		return tutti_wake_waiters(file);
	}
	mutex_lock(&file->lock);
	result = control_locked(file, command, (void __user *)argument);
	mutex_unlock(&file->lock);
	return result;
}

/* There is no compat_ioctl: a 32-bit program gets ENOTTY. */
static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open_device,
	.release = release_device,
	.mmap = map_device,
	.unlocked_ioctl = control,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tutti",
	.fops = &operations,
	.mode = 0660,
};

static int __init start(void)
{
	int bad;

	preempt_notifier_inc();
	bad = tutti_begin_extensions(&tutti_member_ops);
	if (bad)
		goto no_extensions;
	bad = misc_register(&device);
	if (bad)
		goto no_device;
	return 0;

no_device:
	tutti_end_extensions();
no_extensions:
	preempt_notifier_dec();
	return bad;
}

static void __exit end(void)
{
	misc_deregister(&device);
	tutti_flush_deferred();
	tutti_end_extensions();
	preempt_notifier_dec();
}

module_init(start);
module_exit(end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Ticks and serialization for transactions (Tutti)");
