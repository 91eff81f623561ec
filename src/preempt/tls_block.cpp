#include "preempt/tls_block.hpp"

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "base/futex.hpp"
#include "preempt/sanitizers.hpp"

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define TUTTI_HAS_RSEQ_AREA 1
#endif

namespace tutti::preempt {
namespace {

// Entries of the auxiliary vector: AT_RSEQ_FEATURE_SIZE and AT_RSEQ_ALIGN. Headers before Linux 6.3 do not define them.
[[maybe_unused]] constexpr unsigned long rseq_features = 27, rseq_alignment = 28;

// The C library allocates a thread's static thread-local storage on the thread's stack, and rejects a stack without
// enough room.
constexpr std::size_t min_stack = 128 * 1024, max_stack = std::size_t{1} << 30;

/// Starts a thread. Returns the error of pthread_create.
int start_thread(pthread_t& thread, void* (*run)(void*), void* argument) noexcept {
    int error = EINVAL;
    for (std::size_t stack = min_stack; error == EINVAL && stack <= max_stack; stack *= 2) {
        pthread_attr_t how;
        ::pthread_attr_init(&how);
        ::pthread_attr_setstacksize(&how, stack);
        error = ::pthread_create(&thread, &how, run, argument);
        ::pthread_attr_destroy(&how);
    }
    return error;
}

/// Makes the kernel stop writing to the calling thread's area of restartable sequences, and marks the area as unused.
void leave_restartable_sequences() noexcept {
#if defined(TUTTI_HAS_RSEQ_AREA)
    constexpr int unregister = 1;  // RSEQ_FLAG_UNREGISTER
    // The length must be the one that the C library has registered. Older versions of the library register the first
    // length, newer ones the second.
    constexpr std::size_t first_length = 32;
    if (__rseq_size == 0) return;  // never registered
    char* const area = reinterpret_cast<char*>(tls_block::current()) + __rseq_offset;
    if (::syscall(SYS_rseq, area, first_length, unregister, RSEQ_SIG) == 0) return;
    const std::size_t align = std::max(first_length, std::size_t{::getauxval(rseq_alignment)});
    const std::size_t length = (std::size_t{::getauxval(rseq_features)} + align - 1) / align * align;
    static_cast<void>(::syscall(SYS_rseq, area, length, unregister, RSEQ_SIG));
#endif
}

}  // namespace

bool tls_block::is_available() noexcept {
#if defined(TUTTI_ASAN) || defined(TUTTI_TSAN)
    return false;  // these sanitizers identify a thread by its block
#else
    constexpr unsigned long may_set_fs = 2;  // HWCAP2_FSGSBASE
    return (::getauxval(AT_HWCAP2) & may_set_fs) != 0;
#endif
}

std::uintptr_t tls_block::current() noexcept {
    std::uintptr_t base = 0;
    asm volatile("rdfsbase %0" : "=r"(base)::"memory");
    return base;
}

void tls_block::use(std::uintptr_t base) noexcept { asm volatile("wrfsbase %0" ::"r"(base) : "memory"); }

tls_block::tls_block() {
    // The lender's signals are blocked, because their handlers would use the variables of a context that runs on
    // another thread. SIGABRT is not blocked, because abort sends it to the calling thread, which is the lender
    // according to the C library.
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGABRT);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = start_thread(lender_, run_lender, this);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0)
        throw std::system_error{error, std::generic_category(),
                                "tutti: cannot start a thread for the thread-local storage of a context"};
    while (ready_.load(std::memory_order_acquire) == 0) base::futex_wait(ready_, 0);
}

tls_block::~tls_block() {
    ended_.store(1, std::memory_order_release);
    base::futex_wake_all(ended_);
    ::pthread_join(lender_, nullptr);
}

void* tls_block::run_lender(void* of) noexcept {
    auto& block = *static_cast<tls_block*>(of);
    ::pthread_setname_np(::pthread_self(), "tutti-storage");  // otherwise the thread has the name of its creator
    leave_restartable_sequences();
    block.base_ = current();
    block.ready_.store(1, std::memory_order_release);
    base::futex_wake_all(block.ready_);
    while (block.ended_.load(std::memory_order_acquire) == 0) base::futex_wait(block.ended_, 0);
    return nullptr;
}

}  // namespace tutti::preempt
