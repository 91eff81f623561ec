// A place in the execution of a stack, which can be left and entered again on the same thread.
//
// A switch is a function call to both sides: it keeps what the System V ABI lets a callee keep, the control words of
// both floating-point units included, and nothing else. A context that a signal interrupts needs no more: the kernel
// has laid down all its registers, with the extended state, below its red zone, in the frame of the handler that then
// switches, and takes them up again when that handler returns.
//
// Boost.Context has such a switch (fcontext). This one is here because a program that embeds the engine should need
// nothing installed beside it, for what is two dozen instructions.
//
// With a fiber travel what belongs to the code on its stack but is kept per thread: errno and the exceptions in flight.
// The sanitizers are told of every switch.
#pragma once

#include <cstddef>

namespace tutti::preempt {

class stack;

class fiber {
public:
    /// The stack that the caller runs on; it becomes valid when it is first left.
    fiber() noexcept = default;
    ~fiber();
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    /// The next switch to this fiber calls `run(argument)` at the top of `on`. What was on it is forgotten.
    /// REQUIRES: `run` never returns and lets no exception out: it ends with `leave_for`.
    void prepare(const stack& on, void (*run)(void*) noexcept, void* argument) noexcept;

    /// Leaves the running fiber, `from`, for `to`; returns when another switches back.
    static void change(fiber& from, fiber& to) noexcept;
    /// The same for one that runs again only after `prepare`.
    [[noreturn]] static void leave_for(fiber& from, fiber& to) noexcept;

private:
    /// The head of the Itanium C++ ABI's exception state of a thread (section 2.2.2).
    struct exceptions {
        void* caught = nullptr;
        unsigned uncaught = 0;
    };

    static void switch_to(fiber& from, fiber& to, bool for_good) noexcept;
    static void arrive(fiber& self) noexcept;
    [[noreturn]] static void enter() noexcept;

    void* stack_pointer_ = nullptr;
    void (*run_)(void*) noexcept = nullptr;
    void* argument_ = nullptr;
    exceptions exceptions_;
    int errno_ = 0;
    // For the sanitizers.
    const void* bottom_ = nullptr;
    std::size_t bytes_ = 0;
    [[maybe_unused]] void* fake_stack_ = nullptr;
    [[maybe_unused]] void* shadow_ = nullptr;
    [[maybe_unused]] bool own_shadow_ = false;
};

}  // namespace tutti::preempt
