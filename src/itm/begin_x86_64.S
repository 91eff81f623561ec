// _ITM_beginTransaction, which returns once for every attempt, and the jump that makes begin return again.
//
// begin first tries two quick ways. Either the block runs in hardware (hardware.hpp), and the processor saves the
// registers. Or the block belongs to the biased owner, and its begin never returns again. Otherwise begin saves the
// callee-saved registers in a `registers` (abi.hpp) on its own stack, and passes them to tutti_itm_begin, which copies
// them. The jump loads such a copy and returns from begin again, with the stack pointer of the first return. On a
// shadow stack, the jump pops the entries of the frames that it skips.

#if defined(__CET__)
#include <cet.h>
#else
#define _CET_ENDBR
#endif

	// Pops %rcx > 0 entries of the shadow stack. Clobbers %rcx and %rdx.
	.macro pop_shadow
1:	movl	$255, %edx
	cmpq	%rdx, %rcx
	cmovbq	%rcx, %rdx
	incsspq	%rdx
	subq	%rdx, %rcx
	ja	1b
	.endm

	.text

	.globl	_ITM_beginTransaction
	.type	_ITM_beginTransaction, @function
	.p2align 4
_ITM_beginTransaction:
	.cfi_startproc
	_CET_ENDBR
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	call	tutti_itm_begin_quickly
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testl	%eax, %eax
	jz	1f
	ret
1:	leaq	8(%rsp), %rax
	movq	(%rsp), %rdx
	subq	$72, %rsp
	.cfi_adjust_cfa_offset 72
	movq	%rax, (%rsp)
	movq	%rbx, 8(%rsp)
	movq	%rbp, 16(%rsp)
	movq	%r12, 24(%rsp)
	movq	%r13, 32(%rsp)
	movq	%r14, 40(%rsp)
	movq	%r15, 48(%rsp)
	movq	%rdx, 56(%rsp)
	// Without a shadow stack, rdsspq does nothing.
	xorl	%eax, %eax
	rdsspq	%rax
	movq	%rax, 64(%rsp)
	movq	%rsp, %rsi
	call	tutti_itm_begin
	addq	$72, %rsp
	.cfi_adjust_cfa_offset -72
	ret
	.cfi_endproc
	.size	_ITM_beginTransaction, .-_ITM_beginTransaction

	// [[noreturn]] void tutti_itm_return_again(std::uint32_t actions, const registers* from)
	.globl	tutti_itm_return_again
	.hidden	tutti_itm_return_again
	.type	tutti_itm_return_again, @function
	.p2align 4
tutti_itm_return_again:
	.cfi_startproc
	_CET_ENDBR
	movl	%edi, %eax
	// From here on the frame that returns is begin's, which the registers at rsi describe.
	.cfi_def_cfa %rsi, 0
	.cfi_undefined %rip
	xorl	%edx, %edx
	rdsspq	%rdx
	testq	%rdx, %rdx
	jz	2f
	movq	64(%rsi), %rcx
	subq	%rdx, %rcx
	jbe	2f
	// The saved pointer is that inside begin, so begin's own return address is popped, too.
	shrq	$3, %rcx
	incq	%rcx
	pop_shadow
2:	movq	8(%rsi), %rbx
	movq	16(%rsi), %rbp
	movq	24(%rsi), %r12
	movq	32(%rsi), %r13
	movq	40(%rsi), %r14
	movq	48(%rsi), %r15
	movq	56(%rsi), %rdx
	movq	(%rsi), %rsp
	.cfi_def_cfa %rsp, 0
	.cfi_register %rip, %rdx
	jmp	*%rdx
	.cfi_endproc
	.size	tutti_itm_return_again, .-tutti_itm_return_again

	// [[noreturn]] void tutti_itm_throw_from(const registers* from)
	// Calls tutti_itm_throw as if from the frame that the registers describe; the return address is `resume`. `shadow`
	// counts how many frames further out that frame is than the caller's.
	.globl	tutti_itm_throw_from
	.hidden	tutti_itm_throw_from
	.type	tutti_itm_throw_from, @function
	.p2align 4
tutti_itm_throw_from:
	.cfi_startproc
	_CET_ENDBR
	xorl	%edx, %edx
	rdsspq	%rdx
	testq	%rdx, %rdx
	jz	2f
	movq	64(%rdi), %rcx
	testq	%rcx, %rcx
	jz	2f
	pop_shadow
2:	movq	8(%rdi), %rbx
	movq	16(%rdi), %rbp
	movq	24(%rdi), %r12
	movq	32(%rdi), %r13
	movq	40(%rdi), %r14
	movq	48(%rdi), %r15
	movq	56(%rdi), %rdx
	movq	(%rdi), %rsp
	.cfi_def_cfa %rsp, 0
	.cfi_register %rip, %rdx
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rip, -8
	jmp	tutti_itm_throw
	.cfi_endproc
	.size	tutti_itm_throw_from, .-tutti_itm_throw_from

	.section .note.GNU-stack, "", @progbits
