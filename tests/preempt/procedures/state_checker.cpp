#include "preempt/procedures/state_checker.hpp"

#include <cerrno>

#include "support/registers.hpp"

extern "C" {
/// Writes and checks all values once in each round. Returns the number of rounds that found a changed value.
__attribute__((visibility("hidden"))) std::uint64_t tutti_test_hold_everything(
    const std::atomic<bool>* stop, std::atomic<std::uint64_t>* turns) noexcept;
}

// Sets all values, waits, and checks each; the carry flag must survive as well. All sixteen vectors are in use, so they
// are compared in the red zone.
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
    tutti_test_save_registers
    movl $0x7f80, -8(%rsp)
    ldmxcsr -8(%rsp)
    xorl %eax, %eax
1:
    tutti_test_vector tutti_test_fill
    tutti_test_fill_registers
    movl $200, %r15d
    stc
2:
    decl %r15d
    jnz 2b
    jnc 9f
    tutti_test_look_at_registers
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
    tutti_test_restore_registers
    ret
    .size tutti_test_hold_everything, . - tutti_test_hold_everything
)");

namespace procedures {

bool can_check_state() noexcept { return __builtin_cpu_supports("avx2") != 0; }

void check_state(void* of_state_checker) noexcept {
    auto& h = *static_cast<state_checker*>(of_state_checker);
    errno = 42;
    h.damage = tutti_test_hold_everything(&h.stop, &h.turns);
    h.error = errno;
}

}  // namespace procedures
