// A block of thread-local storage for a context.
//
// A context may be interrupted while it changes a thread-local variable, and the next context of the same worker may
// use that variable. So each context has a block of its own: its thread_local variables, errno, malloc's cache and the
// exceptions in flight. The context activates its block by setting the base of the segment FS. For contexts that resume
// on another worker, there is one more reason: a compiler may compute an address such as `&errno` only once in a
// function.
//
// The C library makes such a block when it starts a thread. So each context borrows the block of a lender: a thread
// that sleeps from its start. The lender ends with the block, after running the destructors of the objects in the
// block. For the C library, the context is the lender's thread: pthread_self returns the lender. A library that is
// loaded later has its variables in each block.
//
// State that the kernel keeps per thread remains the worker's: signal masks, priorities, processors, gettid.
// Restartable sequences (rseq) are such state, but the C library keeps their area in the block. The kernel would
// continue to write to the lender's area, so sched_getcpu would return the processor on which the lender fell asleep.
// Therefore the lender unregisters its area, and the C library then asks the kernel for the processor. Older C
// libraries, without such areas, always ask the kernel.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace tutti::preempt {

class tls_block {
public:
    /// Returns true if processor and kernel let a program set the base of FS. Returns false under sanitizers that
    /// identify a thread by that base.
    [[nodiscard]] static bool is_available() noexcept;

    /// Throws std::system_error.
    tls_block();
    ~tls_block();
    tls_block(const tls_block&) = delete;
    tls_block& operator=(const tls_block&) = delete;

    [[nodiscard]] std::uintptr_t base() const noexcept { return base_; }

    /// Return the block that the calling thread uses, and switch to another block. REQUIRES: is_available()
    [[nodiscard]] static std::uintptr_t current() noexcept;
    static void use(std::uintptr_t base) noexcept;

private:
    static void* run_lender(void* of) noexcept;

    pthread_t lender_{};
    std::uintptr_t base_ = 0;
    std::atomic<std::uint32_t> ready_{0};
    std::atomic<std::uint32_t> ended_{0};
};

}  // namespace tutti::preempt
