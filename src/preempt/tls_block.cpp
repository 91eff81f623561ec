#include "preempt/tls_block.hpp"

#include <sys/auxv.h>

#include <csignal>
#include <system_error>

#include "base/futex.hpp"
#include "preempt/sanitizers.hpp"

namespace tutti::preempt {
namespace {

constexpr std::size_t small_stack = 64 * 1024;

}  // namespace

bool tls_block::available() noexcept {
#if defined(TUTTI_ASAN) || defined(TUTTI_TSAN)
    return false;  // they know a thread by its block
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
    // The lender's own signals would be handled with the variables of a context that runs elsewhere. abort is for
    // the thread that calls it: to the C library, that is the lender.
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGABRT);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t how;
    ::pthread_attr_init(&how);
    ::pthread_attr_setstacksize(&how, small_stack);
    const int error = ::pthread_create(&lender_, &how, lend, this);
    ::pthread_attr_destroy(&how);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0)
        throw std::system_error{error, std::generic_category(), "tutti: no thread to borrow a TLS block of"};
    while (lent_.load(std::memory_order_acquire) == 0) base::futex_wait(lent_, 0);
}

tls_block::~tls_block() {
    over_.store(1, std::memory_order_release);
    base::futex_wake_all(over_);
    ::pthread_join(lender_, nullptr);
}

void* tls_block::lend(void* of) noexcept {
    auto& block = *static_cast<tls_block*>(of);
    block.base_ = current();
    block.lent_.store(1, std::memory_order_release);
    base::futex_wake_all(block.lent_);
    while (block.over_.load(std::memory_order_acquire) == 0) base::futex_wait(block.over_, 0);
    return nullptr;
}

}  // namespace tutti::preempt
