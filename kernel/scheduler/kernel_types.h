/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's types and fields that scheduler.bpf.c uses, by name only. libbpf takes each field's offset from the
 * BTF of the running kernel. So kernel headers are not needed, and the program fits any kernel that has these names.
 */
#ifndef TUTTI_KERNEL_TYPES_H
#define TUTTI_KERNEL_TYPES_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;

#define PF_KTHREAD 0x00200000

enum {
	SCX_TASK_QUEUED = 1 << 0,
	SCX_KICK_IDLE = 1 << 0,
};
#define SCX_DSQ_LOCAL 0x8000000000000002ULL
#define SCX_OPS_ENQ_LAST (1ULL << 1)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct { unsigned long sig[1]; } sigset_t;
struct sigpending { sigset_t signal; };
struct signal_struct { struct sigpending shared_pending; };
typedef struct { u32 val; } kuid_t;
struct cred { kuid_t euid; };
struct cpumask { unsigned long bits[1]; };

struct sched_ext_entity {
	u32 flags;
	u32 weight;
	u64 slice;
	u64 dsq_vtime;
};

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	int nr_cpus_allowed;
	unsigned short migration_disabled;
	const struct cpumask *cpus_ptr;
	const struct cred *cred;
	struct signal_struct *signal;
	sigset_t blocked;
	struct sigpending pending;
	struct sched_ext_entity scx;
};

struct scx_init_task_args { bool fork; };
struct scx_exit_task_args { bool cancelled; };
struct scx_exit_info { const char *reason; const char *msg; };

#pragma clang attribute pop

/* libbpf also matches these fields by name. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev, u64 flags);
	void (*enqueue)(struct task_struct *p, u64 flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*enable)(struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

struct bpf_iter_scx_dsq { u64 opaque[6]; };
struct bpf_iter_num { u64 opaque[1]; };

#define KERNEL_FUNCTION extern __attribute__((weak, section(".ksyms")))

KERNEL_FUNCTION int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq, u64 flags);
KERNEL_FUNCTION struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it);
KERNEL_FUNCTION void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it);
KERNEL_FUNCTION s32 scx_bpf_create_dsq(u64 dsq, s32 node);
KERNEL_FUNCTION void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 flags);
KERNEL_FUNCTION void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 vtime, u64 flags);
KERNEL_FUNCTION bool scx_bpf_dsq_move_to_local(u64 dsq);
KERNEL_FUNCTION void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime);
KERNEL_FUNCTION bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq, u64 flags);
KERNEL_FUNCTION s32 scx_bpf_dsq_nr_queued(u64 dsq);
KERNEL_FUNCTION struct task_struct *scx_bpf_dsq_peek(u64 dsq);
KERNEL_FUNCTION void scx_bpf_kick_cpu(s32 cpu, u64 flags);
KERNEL_FUNCTION u32 scx_bpf_nr_cpu_ids(void);
KERNEL_FUNCTION s32 scx_bpf_pick_idle_cpu(const struct cpumask *allowed, u64 flags);
KERNEL_FUNCTION s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev, u64 flags, bool *is_idle);
KERNEL_FUNCTION s32 scx_bpf_task_cpu(const struct task_struct *p);
KERNEL_FUNCTION bool scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime);
KERNEL_FUNCTION bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice);
KERNEL_FUNCTION bool scx_bpf_test_and_clear_cpu_idle(s32 cpu);

#endif
