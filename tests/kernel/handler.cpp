#include "kernel/handler.hpp"

#include <cstddef>

#include "support/registers.hpp"

static_assert(offsetof(tutti_tick_entry, wanted) == 0 && offsetof(tutti_tick_entry, preemptable) == 4);
static_assert(offsetof(tutti_transaction, running) == 0 && offsetof(tutti_transaction, waiters) == 40);

[[gnu::tls_model("initial-exec")]] thread_local tutti_tick_entry* handler_entry_of_thread = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local std::uint64_t handled = 0;
std::uint64_t arrived = 0;

// `grind` sets all values, waits a while, and checks each. The carry flag must survive as well.
asm(R"(
    .text
    .globl handler_entry
handler_entry:
    endbr64
    pushfq
    pushq %rax
    movq handled@gottpoff(%rip), %rax
    incq %fs:(%rax)
    movq handler_entry_of_thread@gottpoff(%rip), %rax
    movq %fs:(%rax), %rax
    movl $1, 4(%rax)
    popq %rax
    popfq
    ret $128
    .globl handler_end
handler_end:

    .globl grind
grind:
    tutti_test_save_registers
    xorl %eax, %eax
1:
    movq $0x4444, %rsi
    movq $0x1111, %rcx
    movq %rcx, %xmm7
    tutti_test_fill_registers
    movl $200, %r15d
    stc
2:
    decl %r15d
    jnz 2b
    jnc 9f
    tutti_test_look_at_registers
    cmpq $0x4444, %rsi
    jne 9f
    movq %xmm7, %rcx
    cmpq %rbx, %rcx
    jne 9f
    jmp 3f
9:
    incq %rax
3:
    cmpb $0, (%rdi)
    je 1b
    tutti_test_restore_registers
    ret
    .globl grind_end
grind_end:

    .globl kick_self
kick_self:
    movq %rsi, %rdx
    movl $0x5404, %esi
    movl $16, %eax
    syscall
    ret
    .globl kick_self_end
kick_self_end:

    .globl saving_entry
saving_entry:
    endbr64
    pushfq
    cld
    pushq %rax
    pushq %rdx
    rdtsc
    shlq $32, %rdx
    orq %rdx, %rax
    movq %rax, arrived(%rip)
    pushq %rcx
    pushq %rbx
    pushq %rbp
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, %rbp
    subq $4096, %rsp
    andq $-64, %rsp
    xorl %eax, %eax
    movq %rax, 512(%rsp)
    movq %rax, 520(%rsp)
    movq %rax, 528(%rsp)
    movq %rax, 536(%rsp)
    movq %rax, 544(%rsp)
    movq %rax, 552(%rsp)
    movq %rax, 560(%rsp)
    movq %rax, 568(%rsp)
    movl $7, %eax
    xorl %edx, %edx
    xsave64 (%rsp)
    fninit
    movl $7, %eax
    xorl %edx, %edx
    xrstor64 (%rsp)
    movq %rbp, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rbp
    popq %rbx
    popq %rcx
    popq %rdx
    popq %rax
    popfq
    ret $128
    .globl saving_end
saving_end:

    .globl calling_entry
calling_entry:
    endbr64
    pushfq
    pushq %rax
    pushq %rcx
    pushq %r11
    movl $110, %eax
    syscall
    popq %r11
    popq %rcx
    popq %rax
    popfq
    ret $128
    .globl calling_end
calling_end:

    .globl restartable
restartable:
    leaq restartable_section(%rip), %rax
1:
    cmpb $0, (%rsi)
    jne restartable_end
    movq %rax, 8(%rdi)
    .globl restartable_begin
restartable_begin:
    cmpb $0, (%rsi)
    je restartable_begin
    .globl restartable_end
restartable_end:
    movq $0, 8(%rdi)
    ret
    .long 0x53053053
restartable_abort:
    jmp 1b

    .globl end_late
end_late:
    movq %rsp, %r8
    .globl end_late_again
end_late_again:
    endbr64
    movq %r8, %rsp
    movl $1, 4(%rsi)
    movl $1, (%rsi)
    .globl end_late_begin
end_late_begin:
    movl 40(%rdi), %eax
    testl %eax, %eax
    jnz 3f
1:
    pause
    cmpl $0, 40(%rdi)
    je 1b
    movl $50000, %ecx
2:
    decl %ecx
    jnz 2b
3:
    movq $0, (%rdi)
    .globl end_late_end
end_late_end:
    movl $0, (%rsi)
    ret

    .section .data.rel.ro, "aw"
    .balign 32
restartable_section:
    .long 0, 0
    .quad restartable_begin, restartable_end - restartable_begin, restartable_abort
    .text
)");
