#include "server/net/helm.hpp"

#include "base/futex.hpp"

namespace tutti::server {

void helm::pass_on(holder to) noexcept {
    // Sequentially consistent, for `leave`. Only the holder of the helm stores, so no other store interferes.
    state_.store(changed(state_.load(std::memory_order_relaxed), to), std::memory_order_seq_cst);
}

void helm::wake() noexcept {
    calls_.fetch_add(1, std::memory_order_release);
    base::futex_wake_all(calls_.raw());
}

bool helm::take() noexcept {
    std::uint32_t now = state_.load(std::memory_order_relaxed);
    return holder_of(now) == holder::nobody &&
           state_.compare_exchange(now, changed(now, holder::worker), std::memory_order_acquire);
}

// Pairs with stand_by. The thread sets sleeps_ and then checks the state again; the worker leaves and then checks
// sleeps_. Both are sequentially consistent, so either the thread sees that the worker has left, or the worker sees
// that the thread sleeps.
void helm::leave() noexcept {
    pass_on(holder::nobody);
    if (sleeps_.load(std::memory_order_seq_cst) && sleeps_.exchange(false, std::memory_order_relaxed)) wake();
}

void helm::hand_over() noexcept {
    pass_on(holder::thread);
    wake();
}

helm::taken helm::stand_by() noexcept {
    // Differs from the state that the first check finds, so that the first check does not count as the second.
    std::uint32_t before = state_.load(std::memory_order_acquire) + holders;
    unsigned unchanged = 0;
    for (;;) {
        const std::uint32_t call = calls_.load(std::memory_order_acquire);  // read before the state: see hand_over
        std::uint32_t now = state_.load(std::memory_order_acquire);
        if (holder_of(now) == holder::thread) return taken::handed_over;
        if (now == before && holder_of(now) == holder::nobody &&
            state_.compare_exchange(now, changed(now, holder::thread), std::memory_order_acquire))
            return taken::deserted;
        unchanged = now == before ? unchanged + 1 : 0;
        before = now;
        if (unchanged < looks_before_sleep_) {
            base::futex_wait(calls_.raw(), call, base::real_now() + period);
            continue;
        }
        unchanged = 0;
        sleeps_.store(true, std::memory_order_seq_cst);
        if (state_.load(std::memory_order_seq_cst) == now) base::futex_wait(calls_.raw(), call);
        sleeps_.store(false, std::memory_order_relaxed);
    }
}

}  // namespace tutti::server
