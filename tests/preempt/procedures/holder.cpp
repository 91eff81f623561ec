#include "preempt/procedures/holder.hpp"

#include <cerrno>

extern "C" {
/// Both are looked at, and written, once a turn. Returns how many turns found something changed.
__attribute__((visibility("hidden"))) std::uint64_t tutti_test_hold_everything(
    const std::atomic<bool>* stop, std::atomic<std::uint64_t>* turns) noexcept;
}

// Values go everywhere, some time passes, and each is looked at; the carry has to survive, too. All sixteen vectors are
// in use, so they are looked at in the red zone.
asm(R"(
    .macro tutti_test_vector operation
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    \operation \n
    .endr
    .endm
    .macro tutti_test_fill n
    movabsq $(0x0123456789abcdef + 0x1111 * \n), %rcx
    vmovq %rcx, %xmm\n
    vpbroadcastq %xmm\n, %ymm\n
    .endm
    .macro tutti_test_look n
    movabsq $(0x0123456789abcdef + 0x1111 * \n), %rcx
    vmovdqu %ymm\n, -64(%rsp)
    cmpq %rcx, -64(%rsp)
    jne 9f
    cmpq %rcx, -56(%rsp)
    jne 9f
    cmpq %rcx, -48(%rsp)
    jne 9f
    cmpq %rcx, -40(%rsp)
    jne 9f
    .endm

    .text
    .p2align 4
    .globl tutti_test_hold_everything
    .hidden tutti_test_hold_everything
    .type tutti_test_hold_everything, @function
tutti_test_hold_everything:
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movl $0x7f80, -8(%rsp)
    ldmxcsr -8(%rsp)
    xorl %eax, %eax
1:
    tutti_test_vector tutti_test_fill
    movq $0x1111, %rbx
    movq $0x2222, %rcx
    movq $0x3333, %rdx
    movq $0x5555, %rbp
    movq $0x6666, %r8
    movq $0x7777, %r9
    movq $0x8888, %r10
    movq $0x9999, %r11
    movq $0xaaaa, %r12
    movq $0xbbbb, %r13
    movq $0xcccc, %r14
    movq %r14, -8(%rsp)
    movq %r13, -72(%rsp)
    movq %r12, -128(%rsp)
    movl $200, %r15d
    stc
2:
    decl %r15d
    jnz 2b
    jnc 9f
    cmpq $0x1111, %rbx
    jne 9f
    cmpq $0x2222, %rcx
    jne 9f
    cmpq $0x3333, %rdx
    jne 9f
    cmpq $0x5555, %rbp
    jne 9f
    cmpq $0x6666, %r8
    jne 9f
    cmpq $0x7777, %r9
    jne 9f
    cmpq $0x8888, %r10
    jne 9f
    cmpq $0x9999, %r11
    jne 9f
    cmpq $0xaaaa, %r12
    jne 9f
    cmpq $0xbbbb, %r13
    jne 9f
    cmpq $0xcccc, %r14
    jne 9f
    cmpq %r14, -8(%rsp)
    jne 9f
    cmpq %r13, -72(%rsp)
    jne 9f
    cmpq %r12, -128(%rsp)
    jne 9f
    tutti_test_vector tutti_test_look
    stmxcsr -8(%rsp)
    cmpl $0x7f80, -8(%rsp)
    jne 9f
    jmp 3f
9:
    incq %rax
3:
    incq (%rsi)
    cmpb $0, (%rdi)
    je 1b
    movl $0x1f80, -8(%rsp)
    ldmxcsr -8(%rsp)
    vzeroupper
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret
    .size tutti_test_hold_everything, . - tutti_test_hold_everything
)");

namespace procedures {

bool can_hold() noexcept { return __builtin_cpu_supports("avx2") != 0; }

void hold(void* of_holder) noexcept {
    auto& h = *static_cast<holder*>(of_holder);
    errno = 42;
    h.damage = tutti_test_hold_everything(&h.stop, &h.turns);
    h.error = errno;
}

}  // namespace procedures
