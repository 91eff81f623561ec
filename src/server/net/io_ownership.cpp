#include "server/net/io_ownership.hpp"

#include "base/futex.hpp"

namespace tutti::server {

void io_ownership::transfer(owner to) noexcept {
    // Sequentially consistent, for `release`. Only the owner stores, so no other store interferes.
    state_.store(with_owner(state_.load(std::memory_order_relaxed), to), std::memory_order_seq_cst);
}

void io_ownership::wake() noexcept {
    wakeups_.fetch_add(1, std::memory_order_release);
    base::futex_wake_all(wakeups_.raw());
}

bool io_ownership::try_acquire() noexcept {
    std::uint32_t now = state_.load(std::memory_order_relaxed);
    return owner_of(now) == owner::free &&
           state_.compare_exchange(now, with_owner(now, owner::worker), std::memory_order_acquire);
}

// Pairs with wait_for_ownership. The thread sets thread_sleeps_ and then checks the state again; the worker releases
// the ownership and then checks thread_sleeps_. Both are sequentially consistent, so either the thread sees that the
// worker has left, or the worker sees that the thread sleeps.
void io_ownership::release() noexcept {
    transfer(owner::free);
    if (thread_sleeps_.load(std::memory_order_seq_cst) && thread_sleeps_.exchange(false, std::memory_order_relaxed))
        wake();
}

// Pairs with wait_for_ownership, where the thread loads wakeups_ before the state. This function stores the state
// before wake() increments wakeups_. If the thread loads the incremented wakeups_, the thread also sees the new state,
// and does not sleep. Otherwise futex_wait finds wakeups_ changed and returns at once, or wake() ends the sleep.
void io_ownership::return_to_thread() noexcept {
    transfer(owner::thread);
    wake();
}

io_ownership::regained io_ownership::wait_for_ownership() noexcept {
    // The initial value differs from the state that the first check finds. So at least two checks are necessary to find
    // that the state has not changed.
    std::uint32_t before = state_.load(std::memory_order_acquire) + change_step;
    unsigned unchanged = 0;
    for (;;) {
        const std::uint32_t call =
            wakeups_.load(std::memory_order_acquire);  // read before the state: see return_to_thread
        std::uint32_t now = state_.load(std::memory_order_acquire);
        if (owner_of(now) == owner::thread) return regained::handed_over;
        if (now == before && owner_of(now) == owner::free &&
            state_.compare_exchange(now, with_owner(now, owner::thread), std::memory_order_acquire))
            return regained::reclaimed;
        unchanged = now == before ? unchanged + 1 : 0;
        before = now;
        if (unchanged < checks_before_sleep_) {
            base::futex_wait(wakeups_.raw(), call, base::real_now() + period);
            continue;
        }
        unchanged = 0;
        thread_sleeps_.store(true, std::memory_order_seq_cst);
        if (state_.load(std::memory_order_seq_cst) == now) base::futex_wait(wakeups_.raw(), call);
        thread_sleeps_.store(false, std::memory_order_relaxed);
    }
}

}  // namespace tutti::server
