#include "core/solo.hpp"

#include "base/fence.hpp"
#include "core/algorithm.hpp"
#include "core/apart.hpp"
#include "core/encounter.hpp"
#include "core/execution.hpp"
#include "core/fault.hpp"
#include "core/kill.hpp"
#include "core/waiting.hpp"

namespace tutti::core {

void go_alone(descriptor& d) noexcept {
    if (d.alone) return;
    d.alone = true;
    if (d.algorithm->one_at_a_time) return;
    soloist.store(d.id + 1, std::memory_order_seq_cst);
    base::heavy_fence();  // partner: light_fence after the status in transaction::begin
    if (broken(fault::alone_without_waiting)) return;
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

bool begin_as_only_one(descriptor& d) {
    // Acquire: who has gone since left behind what its last transaction did (release_descriptor).
    if (contexts.load(std::memory_order_acquire) != 1 || d.algorithm->one_at_a_time) return false;
    soloist.store(d.id + 1, std::memory_order_relaxed);
    base::light_fence();  // partner: heavy_fence in acquire_descriptor
    if (contexts.load(std::memory_order_acquire) != 1 && !broken(fault::only_one_without_recheck)) {
        soloist.store(0, std::memory_order_relaxed);
        return false;
    }
    d.alone = true;
    reset_attempt(d);
    d.logging = true;
    d.algorithm->begin(d);
    return true;
}

void stand_aside(descriptor& d) noexcept {
    for (;;) {
        // Acquire: what the one before did is visible.
        const std::uint32_t who = soloist.load(std::memory_order_acquire);
        if (who == 0 || broken(fault::begin_beside_who_is_alone)) return;
        descriptor& other = descriptor::of(memory::activity_of(who - 1));
        if (&other == &d || encloses(other, d)) return;
        d.set_status(status::idle);
        wake_sleepers(d);
        const word state = other.state.load(std::memory_order_acquire);
        if (soloist.load(std::memory_order_acquire) == who) wait_for(d, other, state);
        // A new number, so that a request to die that was meant for the begin above does not reach what follows.
        ++d.own_sequence;
        d.state.exchange(memory::make_state(d.own_sequence, d.mode), std::memory_order_seq_cst);
    }
}

void end_solo(descriptor& d) noexcept {
    d.alone = false;
    if (d.algorithm->one_at_a_time) return;
    soloist.store(0, std::memory_order_release);
}

}  // namespace tutti::core
