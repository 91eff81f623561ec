// A block of thread-local storage for one context.
//
// A context may be interrupted in the middle of changing a thread-local variable, and the next context of the same
// worker may use that variable. So each context has a block of its own, which it brings along by way of the base of the
// segment FS: its thread_local variables, errno, malloc's cache and the exceptions in flight. A context that resumes on
// another worker needs the same for one more reason: compilers compute an address such as `&errno` once in a function.
//
// The C library knows how to make such a block, when it starts a thread. So the block is borrowed: from a thread
// that sleeps from its first moment on and ends with the block, running the destructors of what was made in it. To
// the C library a context is that thread: pthread_self names the lender, and an object that is loaded later has its
// variables in each block.
//
// What the kernel keeps by thread stays the worker's: signal masks, priorities, processors, gettid. Restartable
// sequences (rseq) are of that kind, and the C library keeps their area in the block. The kernel would go on to write
// the lender's area, so that sched_getcpu told where the lender fell asleep. The lender therefore takes its
// registration back, and the C library asks the kernel instead, as before there were such areas.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace tutti::preempt {

class tls_block {
public:
    /// Whether processor and kernel let a program set the base of FS. False under sanitizers that know a thread by it.
    [[nodiscard]] static bool available() noexcept;

    /// Throws std::system_error.
    tls_block();
    ~tls_block();
    tls_block(const tls_block&) = delete;
    tls_block& operator=(const tls_block&) = delete;

    [[nodiscard]] std::uintptr_t base() const noexcept { return base_; }

    /// The block that the calling thread uses, and another one from here on. REQUIRES: available()
    [[nodiscard]] static std::uintptr_t current() noexcept;
    static void use(std::uintptr_t base) noexcept;

private:
    static void* lend(void* of) noexcept;

    pthread_t lender_{};
    std::uintptr_t base_ = 0;
    std::atomic<std::uint32_t> lent_{0};
    std::atomic<std::uint32_t> over_{0};
};

}  // namespace tutti::preempt
