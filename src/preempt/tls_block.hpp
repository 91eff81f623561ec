// A block of thread-local variables for a context that goes from thread to thread.
//
// Compilers take a thread's variables to stay where they are: `&errno` is computed once in a function, whatever is
// called in between. So a context that resumes on another thread brings its own block along, errno, malloc's cache and
// the exceptions in flight included, by way of the base of the segment FS, which addresses it.
//
// The C library knows how to make such a block, when it starts a thread. So the block is borrowed: from a thread
// that sleeps from its first moment on and ends with the block, running the destructors of what was made in it. To
// the C library a context is that thread. What the kernel keeps by thread (signal masks, priorities, gettid) stays the
// worker's.
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
