#include "fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tutti/detail/runtime.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define INTERLEAVING_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define INTERLEAVING_ASAN 1
#endif
#endif

#if defined(INTERLEAVING_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
// Saves the callee-saved registers of the System V ABI, and restores those of the other stack. The floating-point
// control words are skipped, because no code here changes them.
extern "C" void tutti_test_switch_stack(void** save, void* load) noexcept;
asm(R"(
    .text
    .p2align 4
    .type tutti_test_switch_stack, @function
tutti_test_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size tutti_test_switch_stack, . - tutti_test_switch_stack
)");
#endif

namespace interleaving {
namespace {

// The fiber that is entered for the first time, and the one that it is entered from. A new stack has no arguments yet.
fiber* arriving = nullptr;
[[maybe_unused]] const void* caller_stack = nullptr;
[[maybe_unused]] std::size_t caller_stack_bytes = 0;

}  // namespace

fiber::fiber(std::size_t stack_bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    stack_bytes_ = (stack_bytes + page - 1) / page * page;
    mapping_bytes_ = stack_bytes_ + page;
    mapping_ = ::mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc{};
    ::mprotect(mapping_, page, PROT_NONE);
    stack_ = static_cast<char*>(mapping_) + page;
}

fiber::~fiber() {
    if (mapping_ == nullptr) return;
    ::munmap(mapping_, mapping_bytes_);
}

void fiber::prepare(entry run, void* argument) noexcept {
    run_ = run;
    argument_ = argument;
    exceptions_ = {};
    transaction_ = nullptr;
    fake_stack_ = nullptr;
#if defined(INTERLEAVING_ASAN)
    __asan_unpoison_memory_region(stack_, stack_bytes_);
#endif
#if defined(__x86_64__)
    // The stack looks as if `enter` had been called and had then switched away: six registers, the return address, and
    // a return address of zero, which ends every stack walk. rsp is 8 below a multiple of 16 at a function's first
    // instruction.
    auto* top = reinterpret_cast<std::uintptr_t*>(static_cast<char*>(stack_) + stack_bytes_) - 1;
    top[0] = 0;
    top[-1] = reinterpret_cast<std::uintptr_t>(&fiber::enter);
    std::memset(top - 7, 0, 6 * sizeof(*top));
    stack_pointer_ = top - 7;
#else
    ::getcontext(&context_);
    context_.uc_stack.ss_sp = stack_;
    context_.uc_stack.ss_size = stack_bytes_;
    context_.uc_link = nullptr;
    ::makecontext(&context_, &fiber::enter, 0);
#endif
}

void fiber::enter() {
    fiber& self = *arriving;
    self.announce_arrival();
    self.run_(self.argument_);
    std::abort();  // a fiber ends with leave_for
}

void fiber::announce_arrival() noexcept {
#if defined(INTERLEAVING_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack_, &caller_stack, &caller_stack_bytes);
    // The first stack that was left is the only one that this file did not map.
    static const void* const first = caller_stack;
    static const std::size_t first_bytes = caller_stack_bytes;
    caller_stack = first;
    caller_stack_bytes = first_bytes;
#endif
}

void fiber::switch_stack(fiber& to) noexcept {
    arriving = &to;
#if defined(__x86_64__)
    tutti_test_switch_stack(&stack_pointer_, to.stack_pointer_);
#else
    ::swapcontext(&context_, &to.context_);
#endif
}

void fiber::change(fiber& from, fiber& to) noexcept {
    auto* const thread_exceptions = reinterpret_cast<exceptions*>(abi::__cxa_get_globals());
    from.exceptions_ = *thread_exceptions;
    from.transaction_ = tutti::detail::current_transaction;
    *thread_exceptions = to.exceptions_;
    tutti::detail::current_transaction = to.transaction_;
#if defined(INTERLEAVING_ASAN)
    __sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_ != nullptr ? to.stack_ : caller_stack,
                                   to.stack_ != nullptr ? to.stack_bytes_ : caller_stack_bytes);
#endif
    from.switch_stack(to);
    from.announce_arrival();
}

void fiber::leave_for(fiber& from, fiber& to) noexcept {
    auto* const thread_exceptions = reinterpret_cast<exceptions*>(abi::__cxa_get_globals());
    *thread_exceptions = to.exceptions_;
    tutti::detail::current_transaction = to.transaction_;
#if defined(INTERLEAVING_ASAN)
    __sanitizer_start_switch_fiber(nullptr, to.stack_ != nullptr ? to.stack_ : caller_stack,
                                   to.stack_ != nullptr ? to.stack_bytes_ : caller_stack_bytes);
#endif
    from.switch_stack(to);
    std::abort();  // no fiber switches back to one that has left
}

}  // namespace interleaving
