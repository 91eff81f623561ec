// A stack that can be left and entered again. The scheduler runs each thread of a program on one.
//
// All fibers of the process run on one OS thread, one at a time. A switch also exchanges the C++ runtime's state of a
// thread and the engine's state of a context: the exceptions in flight, and `current_transaction`. The sanitizers are
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
    /// Represents the caller's own stack.
    fiber() noexcept = default;
    /// Creates a fiber with its own stack of `stack_bytes` bytes, below which a page faults. Throws std::bad_alloc.
    explicit fiber(std::size_t stack_bytes);
    ~fiber();
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    using entry = void (*)(void*);
    /// Prepares the fiber: the next switch to it calls `run(argument)` on an empty stack, without a transaction or an
    /// exception. A fiber may be prepared again whether or not it has ended; objects on its stack are dropped without
    /// destruction. REQUIRES: the fiber has a stack. `run` never returns, lets no exception out, and ends with
    /// `leave_for`.
    void prepare(entry run, void* argument) noexcept;

    /// Switches from `from` to `to`. Returns when another fiber switches back. REQUIRES: `from` is the running fiber.
    static void change(fiber& from, fiber& to) noexcept;
    /// Switches to `to` for good: `from` runs again only after `prepare`.
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
    [[maybe_unused]] void* fake_stack_ = nullptr;  // used by AddressSanitizer
#if defined(__x86_64__)
    void* stack_pointer_ = nullptr;
#else
    ucontext_t context_{};
#endif
};

}  // namespace interleaving
