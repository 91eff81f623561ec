// Assembly for code that is interrupted and then checks its registers. It puts a value into each free register, and
// into the first, a middle and the last word of the red zone. The including file checks other state (flags, vectors,
// %rsi) and does the work in between; damage jumps to its label 9.
#pragma once

asm(R"(
    .macro tutti_test_save_registers
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    .endm

    .macro tutti_test_restore_registers
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    .endm

    .macro tutti_test_fill_registers
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
    .endm

    .macro tutti_test_look_at_registers
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
    .endm
)");
