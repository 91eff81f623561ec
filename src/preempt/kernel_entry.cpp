#include "preempt/kernel_entry.hpp"

#include <cpuid.h>

#include <cstdint>

#include "preempt/worker.hpp"

extern "C" {
__attribute__((visibility("hidden"))) std::uint64_t tutti_preempt_state_components = 0;
__attribute__((visibility("hidden"))) std::uint64_t tutti_preempt_state_bytes = 0;
__attribute__((visibility("hidden"))) void tutti_preempt_redirected() noexcept {
    tutti::preempt::worker::handle_redirection();
}
}

// The call frame information describes where the interrupted code continues, and with which registers, so that
// debuggers can unwind through the entry. The code writes zeros to the area's header before XSAVE. XSAVE changes only a
// part of the header, and XRSTOR requires zeros in the rest.
asm(R"(
    .macro tutti_save register
    pushq %\register
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset \register, 0
    .endm
    .macro tutti_restore register
    popq %\register
    .cfi_adjust_cfa_offset -8
    .cfi_restore \register
    .endm

    .text
    .p2align 4
    .globl tutti_preempt_entry
    .hidden tutti_preempt_entry
    .type tutti_preempt_entry, @function
tutti_preempt_entry:
    .cfi_startproc
    .cfi_signal_frame
    .cfi_def_cfa_offset 136
    .cfi_offset rip, -136
    endbr64
    pushfq
    .cfi_adjust_cfa_offset 8
    cld
    tutti_save rax
    tutti_save rcx
    tutti_save rdx
    tutti_save rbx
    tutti_save rbp
    tutti_save rsi
    tutti_save rdi
    tutti_save r8
    tutti_save r9
    tutti_save r10
    tutti_save r11
    tutti_save r12
    tutti_save r13
    tutti_save r14
    tutti_save r15
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    subq tutti_preempt_state_bytes(%rip), %rsp
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
    movl tutti_preempt_state_components(%rip), %eax
    movl 4+tutti_preempt_state_components(%rip), %edx
    xsave64 (%rsp)
    fninit
    pushq $0x1f80
    ldmxcsr (%rsp)
    addq $8, %rsp
    call tutti_preempt_redirected
    movl tutti_preempt_state_components(%rip), %eax
    movl 4+tutti_preempt_state_components(%rip), %edx
    xrstor64 (%rsp)
    movq %rbp, %rsp
    .cfi_def_cfa_register rsp
    tutti_restore r15
    tutti_restore r14
    tutti_restore r13
    tutti_restore r12
    tutti_restore r11
    tutti_restore r10
    tutti_restore r9
    tutti_restore r8
    tutti_restore rdi
    tutti_restore rsi
    tutti_restore rbp
    tutti_restore rbx
    tutti_restore rdx
    tutti_restore rcx
    tutti_restore rax
    popfq
    .cfi_adjust_cfa_offset -8
    ret $128
    .cfi_endproc
    .size tutti_preempt_entry, . - tutti_preempt_entry
    .globl tutti_preempt_entry_end
    .hidden tutti_preempt_entry_end
tutti_preempt_entry_end:
)");

namespace tutti::preempt {
namespace {

/// The stack size that the worker's check of the queue needs, including the frame of a signal that arrives meanwhile.
constexpr std::size_t check_bytes = 16 * 1024;
/// The state component of protection keys, which must stay as the interrupted code left it.
constexpr std::uint64_t protection_keys = 0x200;

/// Returns the size of the extended state, including the header of the area.
std::size_t measure_state() noexcept {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return 0;
    unsigned low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d) == 0) return 0;
    tutti_preempt_state_components = ((std::uint64_t{high} << 32) | low) & ~protection_keys;
    tutti_preempt_state_bytes = b;
    return b;
}

}  // namespace

std::size_t entry_stack_bytes() noexcept {
    static const std::size_t state = measure_state();
    return state == 0 ? 0 : state + check_bytes;
}

}  // namespace tutti::preempt
