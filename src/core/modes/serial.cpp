#include "core/modes/serial.hpp"

#include "base/fence.hpp"
#include "core/conflict/kill.hpp"
#include "core/ports/algorithm.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/attempt.hpp"
#include "core/state/fault.hpp"
#include "core/state/sleepers.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

/// Calls f(other, its state) for all but d and those around it.
template <class F>
void for_each_running(descriptor& d, F&& f) {
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::activity_of(id));
        if (&other == &d || is_ancestor(other, d)) continue;
        const word state = other.state.load(std::memory_order_acquire);
        if (memory::is_running(state)) f(other, state);
    }
}

/// d is idle while `wait` waits for another, and begins anew. False where its execution ends here.
template <class F>
bool idle_while(descriptor& d, F&& wait) {
    // A waiter that follows d's execution must not take the number below for that of a later one (is_settled).
    if (d.run.was_defeated) d.last_defeat.store(d.own_sequence, std::memory_order_release);
    d.set_status(status::idle);
    wake_sleepers(d);
    const before_attempt unbegun{d};
    wait();
    if (ends_here(d)) return false;
    // A new number, so that a request to die that was meant for the begin before does not reach what follows.
    ++d.own_sequence;
    d.state.exchange(memory::make_state(d.own_sequence, d.mode), std::memory_order_seq_cst);
    return true;
}

}  // namespace

void become_serial(descriptor& d) noexcept {
    if (d.serial) return;
    d.serial = true;
    if (d.algorithm->one_at_a_time) return;
    serial_owner.store(d.id + 1, std::memory_order_seq_cst);
    base::heavy_fence();  // partner: light_fence after the status in transaction::begin
    if (broken(fault::serial_without_waiting)) return;
    // All are asked before any is waited for: one may be waiting for another.
    for_each_running(d, [&d](descriptor& other, word state) { kill_before_waiting(d, other, state); });
    for_each_running(d, [&d](descriptor& other, word state) {
        // A transaction that was preparing could not be asked. It may have stopped preparing to wait for us, as a
        // commit under one lock does.
        constexpr auto a_moment = std::chrono::milliseconds{1};
        while (!is_over(other, state)) {
            const bool asked = kill_before_waiting(d, other, other.state.load(std::memory_order_acquire));
            wait_for(d, other, state, asked ? std::nullopt : std::optional{base::now() + a_moment});
        }
    });
}

bool yield_to_serial(descriptor& d) {
    // The transaction around d began before the serial owner's fence, or d's context would not have come this far. The
    // serial owner waits for that transaction, so it does nothing alone before it and d have ended.
    if (broken(fault::begin_beside_a_serial_transaction) || ancestor_runs(d)) return true;
    for (;;) {
        // Acquire: what the one before did is visible.
        const std::uint32_t who = serial_owner.load(std::memory_order_acquire);
        if (who != 0) {
            descriptor& other = descriptor::of(memory::activity_of(who - 1));
            if (&other == &d) return true;
            const bool goes_on = idle_while(d, [&] {
                const word state = other.state.load(std::memory_order_acquire);
                if (!memory::is_running(state)) base::spin_turn();  // a little time passes between the two
                else if (serial_owner.load(std::memory_order_acquire) == who) wait_for(d, other, state);
            });
            if (!goes_on) return false;
            continue;
        }
        const word seen = biased_owner.load(std::memory_order_acquire);
        if (seen == 0 || may_run_beside(d, seen)) return true;
        if (!idle_while(d, [&] { revoke_bias(d, seen); })) return false;
    }
}

}  // namespace tutti::core
