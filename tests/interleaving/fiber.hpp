// A stack that can be left and entered again: what the scheduler runs each of a program's threads on.
//
// All fibers of the process run on one OS thread, one at a time. With a fiber travel what the C++ runtime keeps per
// thread and what the engine keeps per context: the exceptions in flight and `current_transaction`. The sanitizers are
// told of every switch, so that the same tests run under them.
#pragma once

#include <cstddef>

#include "tutti/tx.hpp"

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace interleaving {

class fiber {
public:
    /// The stack that the caller runs on.
    fiber() noexcept = default;
    /// A fiber with a stack of its own, `stack_bytes` long, below it a page that faults. Throws std::bad_alloc.
    explicit fiber(std::size_t stack_bytes);
    ~fiber();
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    using entry = void (*)(void*);
    /// The next switch to this fiber calls `run(argument)` on an empty stack, with no transaction and no exception. A
    /// fiber may be prepared again whether or not it has ended; what was on its stack is forgotten, not destroyed.
    /// REQUIRES: it has a stack. `run` must never return and let no exception out; it ends with `leave_for`.
    void prepare(entry run, void* argument) noexcept;

    /// Leaves the running fiber for `to`; returns when another switches back.
    /// REQUIRES: `from` is the one that runs.
    static void change(fiber& from, fiber& to) noexcept;
    /// The same for a fiber that will only run again after `prepare`.
    [[noreturn]] static void leave_for(fiber& from, fiber& to) noexcept;

private:
    /// The head of the Itanium C++ ABI's per-thread exception state (section 2.2.2).
    struct exceptions {
        void* caught = nullptr;
        unsigned int uncaught = 0;
    };

    static void enter();
    void switch_stack(fiber& to) noexcept;
    void announce_arrival() noexcept;

    void* mapping_ = nullptr;
    std::size_t mapping_bytes_ = 0;
    void* stack_ = nullptr;
    std::size_t stack_bytes_ = 0;

    entry run_ = nullptr;
    void* argument_ = nullptr;
    exceptions exceptions_;
    tutti::tx* transaction_ = nullptr;
    [[maybe_unused]] void* fake_stack_ = nullptr;  // AddressSanitizer's
#if defined(__x86_64__)
    void* stack_pointer_ = nullptr;
#else
    ucontext_t context_{};
#endif
};

}  // namespace interleaving
