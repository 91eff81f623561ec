// A fiber is a position in the execution of a stack. A thread can leave the fiber, and enter it again later.
//
// To both fibers, a switch is a function call. The switch preserves only what the System V ABI requires a callee to
// preserve, including the control words of both floating-point units. This suffices for a context that a signal
// interrupts: the kernel has saved all registers of the context, with the extended state, in the handler's frame below
// the red zone. The handler then switches, and the kernel restores the registers when the handler returns.
//
// Boost.Context has a similar switch (fcontext). Tutti has its own switch, because a switch is only two dozen
// instructions, and a program that embeds the engine should not need another package for it.
//
// A fiber also contains state that belongs to the code on its stack, but that the system keeps per thread: errno and
// the exceptions in flight. Each switch is reported to the sanitizers.
#pragma once

#include <cstddef>

namespace tutti::preempt {

class stack;

class fiber {
public:
    /// Makes a fiber for the stack of the caller. The fiber becomes valid at the first switch away from it.
    fiber() noexcept = default;
    ~fiber();
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    /// Makes the next switch to this fiber call `run(argument)` at the top of the stack `on`. Discards the previous
    /// contents of that stack. REQUIRES: `run` never returns or throws; it ends with `finish_for`.
    void prepare(const stack& on, void (*run)(void*) noexcept, void* argument) noexcept;

    /// Switches from the running fiber, `from`, to the fiber `to`. Returns when another fiber switches back.
    static void switch_between(fiber& from, fiber& to) noexcept;
    /// Works like `switch_between`, from a fiber that will not run again before `prepare`.
    [[noreturn]] static void finish_for(fiber& from, fiber& to) noexcept;

private:
    /// The head of a thread's exception state in the Itanium C++ ABI (section 2.2.2).
    struct exceptions {
        void* caught = nullptr;
        unsigned uncaught = 0;
    };

    static void switch_to(fiber& from, fiber& to, bool finished) noexcept;
    static void restore(fiber& self) noexcept;
    [[noreturn]] static void enter() noexcept;

    void* stack_pointer_ = nullptr;
    void (*run_)(void*) noexcept = nullptr;
    void* argument_ = nullptr;
    exceptions exceptions_;
    int errno_ = 0;
    // Used for the sanitizers.
    const void* bottom_ = nullptr;
    std::size_t bytes_ = 0;
    [[maybe_unused]] void* fake_stack_ = nullptr;
    [[maybe_unused]] void* shadow_ = nullptr;
    [[maybe_unused]] bool own_shadow_ = false;
};

}  // namespace tutti::preempt
