#include "core/solo.hpp"

#include "base/fence.hpp"
#include "core/algorithm.hpp"
#include "core/apart.hpp"
#include "core/encounter.hpp"
#include "core/execution.hpp"
#include "core/kill.hpp"
#include "core/waiting.hpp"

namespace tutti::core {

void go_alone(descriptor& d) noexcept {
    if (d.alone) return;
    d.alone = true;
    if (d.algorithm->one_at_a_time) return;
    soloist.store(d.id + 1, std::memory_order_seq_cst);
    base::heavy_fence();  // partner: light_fence after the status in transaction::begin
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::activity_of(id));
        if (&other == &d || encloses(other, d)) continue;
        const word state = other.state.load(std::memory_order_acquire);
        if (!memory::is_running(state)) continue;
        note_kill(other, d);
        if (kill(other, state)) evict(other);
        wait_for(d, other, state);
    }
}

namespace {

/// d is idle while `wait` waits for another, and begins anew.
template <class F>
void idle_while(descriptor& d, F&& wait) noexcept {
    d.set_status(status::idle);
    wake_sleepers(d);
    wait();
    // A new number, so that a request to die that was meant for the begin before does not reach what follows.
    ++d.own_sequence;
    d.state.exchange(memory::make_state(d.own_sequence, d.mode), std::memory_order_seq_cst);
}

}  // namespace

void stand_aside(descriptor& d) noexcept {
    for (;;) {
        // Acquire: what the one before did is visible.
        const std::uint32_t who = soloist.load(std::memory_order_acquire);
        if (who != 0) {
            descriptor& other = descriptor::of(memory::activity_of(who - 1));
            if (&other == &d || encloses(other, d)) return;
            idle_while(d, [&] {
                const word state = other.state.load(std::memory_order_acquire);
                if (soloist.load(std::memory_order_acquire) == who) wait_for(d, other, state);
            });
            continue;
        }
        const word seen = favourite.load(std::memory_order_acquire);
        if (seen == 0 || may_run_beside(d, seen)) return;
        idle_while(d, [&] { dismiss(d, seen); });
    }
}

void end_solo(descriptor& d) noexcept {
    d.alone = false;
    // The favourite is alone without being the soloist.
    if (soloist.load(std::memory_order_relaxed) == d.id + 1) soloist.store(0, std::memory_order_release);
}

}  // namespace tutti::core
