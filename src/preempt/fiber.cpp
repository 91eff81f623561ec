#include "preempt/fiber.hpp"

#include <cxxabi.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/panic.hpp"
#include "preempt/sanitizers.hpp"
#include "preempt/stack.hpp"

// The symbol is hidden, because only the library calls the function, so it needs no entry in a procedure linkage table.
extern "C" __attribute__((visibility("hidden"))) void tutti_preempt_switch(void** save, void* load) noexcept;
asm(R"(
    .text
    .p2align 4
    .globl tutti_preempt_switch
    .hidden tutti_preempt_switch
    .type tutti_preempt_switch, @function
tutti_preempt_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size tutti_preempt_switch, . - tutti_preempt_switch
)");

namespace tutti::preempt {
namespace {

struct control_words {
    std::uint32_t mxcsr = 0x1f80;  // as at process start: exceptions masked, round to nearest
    std::uint32_t x87 = 0x037f;
};

/// The fiber that is being entered. The first code on the fiber's stack reads this variable, because it receives no
/// argument.
[[gnu::tls_model("initial-exec")]] thread_local fiber* arriving = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local fiber* departed = nullptr;

// The function is not inlined, so that the compiler keeps no address of a thread-local variable across a switch. The
// switch may return on another thread.
[[gnu::noinline]] void note_switch(fiber* from, fiber* to) noexcept {
    departed = from;
    arriving = to;
}
[[gnu::noinline]] fiber* who_arrives() noexcept { return arriving; }
[[gnu::noinline]] fiber* who_departed() noexcept { return departed; }
[[gnu::noinline]] int& current_errno() noexcept { return errno; }

}  // namespace

fiber::~fiber() {
#if defined(TUTTI_TSAN)
    if (own_shadow_) __tsan_destroy_fiber(shadow_);
#endif
}

void fiber::prepare(const stack& on, void (*run)(void*) noexcept, void* argument) noexcept {
    run_ = run;
    argument_ = argument;
    exceptions_ = {};
    errno_ = 0;
    bottom_ = on.bottom();
    bytes_ = on.bytes();
    fake_stack_ = nullptr;
#if defined(TUTTI_ASAN)
    __asan_unpoison_memory_region(on.bottom(), on.bytes());
#endif
#if defined(TUTTI_TSAN)
    if (own_shadow_) __tsan_destroy_fiber(shadow_);
    shadow_ = __tsan_create_fiber(0);
    own_shadow_ = true;
#endif
    // Builds the stack as if its code had called `enter` and had then switched away. The stack contains control words,
    // six registers, the return address, and a second return address of zero, which ends every walk of the stack. At
    // the first instruction of a function, rsp is 8 below a multiple of 16.
    auto* const top = reinterpret_cast<std::uint64_t*>(on.top()) - 1;
    top[0] = 0;
    top[-1] = reinterpret_cast<std::uint64_t>(&fiber::enter);
    std::memset(top - 7, 0, 6 * sizeof *top);
    const control_words initial;
    std::memcpy(top - 8, &initial, sizeof initial);
    stack_pointer_ = top - 8;
}

void fiber::enter() noexcept {
    fiber& self = *who_arrives();
    restore(self);
    current_errno() = self.errno_;
    self.run_(self.argument_);
    base::panic("a context's function returned to a stack that is no longer there");
}

void fiber::restore([[maybe_unused]] fiber& self) noexcept {
#if defined(TUTTI_ASAN)
    fiber& from = *who_departed();
    __sanitizer_finish_switch_fiber(self.fake_stack_, &from.bottom_, &from.bytes_);
#else
    static_cast<void>(&who_departed);
#endif
}

void fiber::switch_to(fiber& from, fiber& to, [[maybe_unused]] bool finished) noexcept {
    auto* const thread_exceptions = reinterpret_cast<exceptions*>(abi::__cxa_get_globals());
    from.exceptions_ = *thread_exceptions;
    *thread_exceptions = to.exceptions_;
    from.errno_ = current_errno();
    note_switch(&from, &to);
#if defined(TUTTI_TSAN)
    if (from.shadow_ == nullptr) from.shadow_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.shadow_, 0);
#endif
#if defined(TUTTI_ASAN)
    __sanitizer_start_switch_fiber(finished ? nullptr : &from.fake_stack_, to.bottom_, to.bytes_);
#endif
    tutti_preempt_switch(&from.stack_pointer_, to.stack_pointer_);
    restore(from);
    current_errno() = from.errno_;
}

void fiber::switch_between(fiber& from, fiber& to) noexcept { switch_to(from, to, false); }

void fiber::finish_for(fiber& from, fiber& to) noexcept {
    switch_to(from, to, true);
    base::panic("somebody switched to a context that had ended");
}

}  // namespace tutti::preempt
