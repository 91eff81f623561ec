#include "preempt/stack_overflow.hpp"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/futex.hpp"
#include "preempt/worker.hpp"

namespace tutti::preempt {
namespace {

constexpr std::size_t handler_bytes = 64 * 1024;

struct sigaction fault_before, trap_before;
enum class catching : std::uint8_t { no, soon, yes };
std::atomic<catching> traps{catching::no};

void put_in_front(int signal, void (*mine)(int, siginfo_t*, void*) noexcept, struct sigaction& before) noexcept {
    struct sigaction how{};
    how.sa_sigaction = mine;
    how.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&how.sa_mask);
    sigaddset(&how.sa_mask, tick_signal);  // because the handler of ticks switches stacks
    ::sigaction(signal, &how, &before);
}

}  // namespace

signal_stack::signal_stack() {
    stack_t there{};
    ::sigaltstack(nullptr, &there);
    if ((there.ss_flags & SS_DISABLE) == 0) return;
    own_.reset(new char[handler_bytes]);
    stack_t mine{};
    mine.ss_sp = own_.get();
    mine.ss_size = handler_bytes;
    ::sigaltstack(&mine, nullptr);
}

signal_stack::~signal_stack() {
    if (own_ == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
}

void start_catching_faults() noexcept { put_in_front(SIGSEGV, &worker::handle_fault, fault_before); }

bool start_catching_traps() noexcept {
    catching now = catching::no;
    if (traps.compare_exchange_strong(now, catching::soon)) {
        put_in_front(SIGTRAP, &worker::handle_trap, trap_before);
        traps.store(catching::yes, std::memory_order_release);
    }
    // Waits until the worker that is installing the handler has finished, because the caller's first trap must find the
    // handler.
    while (traps.load(std::memory_order_acquire) != catching::yes) base::spin_turn();
    struct sigaction first{};
    ::sigaction(SIGTRAP, nullptr, &first);
    return first.sa_sigaction == &worker::handle_trap;
}

void stop_catching() noexcept {
    ::sigaction(SIGSEGV, &fault_before, nullptr);
    if (traps.exchange(catching::no) != catching::no) ::sigaction(SIGTRAP, &trap_before, nullptr);
}

void forward_fault(int signal, siginfo_t* what, void* interrupted) noexcept {
    const struct sigaction& before = signal == SIGTRAP ? trap_before : fault_before;
    if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, what, interrupted);
    const bool repeats = signal == SIGSEGV && what->si_code > 0;  // the instruction will fault again by itself
    if (before.sa_handler == SIG_IGN && !repeats) return;
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    ::sigaction(signal, &usual, nullptr);
    if (!repeats) ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal);
}

}  // namespace tutti::preempt
