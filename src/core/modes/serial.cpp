#include "core/modes/serial.hpp"

#include <algorithm>

#include "base/fence.hpp"
#include "core/conflict/kill.hpp"
#include "core/ports/algorithm.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/attempt.hpp"
#include "core/state/commit_flags.hpp"
#include "core/state/critical.hpp"
#include "core/state/fault_injection.hpp"
#include "core/state/sleepers.hpp"
#include "core/state/unfinished_handlers.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

/// Calls f(other, its state) for each running transaction except d and those around d.
template <class F>
void for_each_running(descriptor& d, F&& f) {
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::status_record_of(id));
        if (&other == &d || is_ancestor(other, d)) continue;
        const word state = other.state.load(std::memory_order_seq_cst);  // SER1
        if (memory::is_running(state)) f(other, state);
    }
}

/// Makes d idle while `wait` waits for another context, and then begins a new attempt. Returns false if d's execution
/// ends here.
template <class F>
bool wait_idle(descriptor& d, F&& wait) {
    // `last_defeat` is stored because the attempt gets a new number below. A waiter for d's execution must not mistake
    // that number for one of a later execution (has_execution_ended).
    if (d.run.was_defeated) d.last_defeat.store(d.own_sequence, std::memory_order_release);
    d.set_status(status::idle);
    wake_sleepers(d);
    const interruptible_wait interruptible{d};
    wait();
    if (is_interrupted_before_attempt(d)) return false;
    // The attempt gets a new number, so that a kill request for the earlier begin does not hit the next transaction.
    ++d.own_sequence;
    d.state.exchange(memory::make_state(d.own_sequence, d.mode), std::memory_order_seq_cst);
    return true;
}

/// Spins for a short time, until the running transactions have ended. Returns true if all have ended. Spinning pays,
/// because most blocks end sooner than they could be rolled back and begun again.
bool spin_while_they_run(descriptor& d) noexcept {
    if (d.hooks != nullptr) return false;  // one of them may need this processor
    const std::uint64_t start = base::ticks();
    bool all = true;
    for_each_running(d, [&](descriptor& other, word state) {
        while (!is_over(other, state) && base::ticks() - start < base::spin_ticks) base::spin_turn();
        all = all && is_over(other, state);
    });
    return all;
}

/// Kills all running transactions and waits for their end. Returns false if another context has seized the token.
bool wait_for_all(descriptor& d) noexcept {
    if (injected(fault::serial_without_waiting)) return true;
    static_cast<void>(spin_while_they_run(d));
    const word token = serial_token.load(std::memory_order_acquire);
    // All transactions are asked to abort before d waits for any of them, because one may be waiting for another.
    for_each_running(d, [&d](descriptor& other, word state) { kill_before_waiting(d, other, state); });
    for_each_running(d, [&](descriptor& other, word state) {
        // A transaction that was preparing could not be killed, so d repeats the request. Meanwhile, the transaction
        // may have stopped preparing. For example, a commit under one lock stops preparing, and then waits for d.
        constexpr auto one_millisecond = std::chrono::milliseconds{1};
        while (!is_over(other, state) && serial_token.load(std::memory_order_acquire) == token) {
            const bool asked = kill_before_waiting(d, other, other.state.load(std::memory_order_acquire));
            wait_for(d, other, state, serial_token, token,
                     asked ? std::nullopt : std::optional{base::now() + one_millisecond});
        }
    });
    return serial_owner() == &d || injected(fault::ignore_token_seizure);
}

/// Kills all running transactions and waits for their end. Returns false if one of them still runs at `until`.
bool end_all_by(descriptor& d, base::deadline until) noexcept {
    if (injected(fault::serial_without_waiting) || spin_while_they_run(d)) return true;
    for_each_running(d, [&d](descriptor& other, word state) { kill_before_waiting(d, other, state); });
    bool all = true;
    for_each_running(d, [&](descriptor& other, word state) {
        while (!is_over(other, state) && base::now() < until) {
            // A transaction that was preparing could not be killed. Asks again, because it may not be preparing any
            // more.
            constexpr auto one_millisecond = std::chrono::milliseconds{1};
            const bool asked = kill_before_waiting(d, other, other.state.load(std::memory_order_acquire));
            wait_for(d, other, state, asked ? until : std::min(until, base::now() + one_millisecond));
        }
        all = all && is_over(other, state);
    });
    return all;
}

/// Waits until the token has another owner, or no owner. REQUIRES: d is idle.
void wait_for_serial_owner(descriptor& d, descriptor& owner, word token) noexcept {
    const std::uint64_t began = base::ticks();
    wait_for_word(d, owner, serial_token, token);
    d.serial_wait.ticks += base::ticks() - began;
    d.serial_wait.owner = &owner;
}

/// Makes sure that d, the owner of the token, sees every running transaction from now on (SER1).
void order_begins(const descriptor& d, take_result how) noexcept {
    if (how != take_result::begins_unfenced) return;
    base::heavy_fence();  // partner: light_fence after the status in transaction::begin
    note_begins_have_fenced(d);
}

/// Waits until d, the owner of the token, is alone. Returns false if another context has seized the token.
bool await_alone(descriptor& d, take_result how) noexcept {
    if (how == take_result::world_stopped) return true;
    order_begins(d, how);
    if (!wait_for_all(d)) return false;
    // The transactions that have just ended run their handlers now. Most handlers are short.
    const std::uint64_t start = base::ticks();
    bool have_finished = others_have_finished_handlers(d);
    while (!have_finished && base::ticks() - start < base::spin_ticks) {
        base::spin_turn();
        have_finished = others_have_finished_handlers(d);
    }
    d.serial_takes.handlers_were_finished = have_finished;
    return true;
}

/// Returns true if d owns the token and is alone; false if d may try once more. REQUIRES: d is idle.
bool try_become_alone(descriptor& d) noexcept {
    const take_result how = try_serial_token(d);
    if (how == take_result::has_owner) {
        core::wait_for_serial_owner(d);
        return false;
    }
    // seq_cst, as is the exchange of the token. Partner: become_biased_owner. Either that function finds an owner of
    // the token, or d finds the word that it has stored.
    const word biased = biased_owner.load(std::memory_order_seq_cst);
    if (biased != 0 && !may_run_beside(d, biased)) {
        drop_serial_token(d);
        wake_sleepers(d);
        revoke_bias(d, biased);
        return false;
    }
    if (await_alone(d, how)) return true;
    wake_sleepers(d);  // wakes the contexts that wait until d is no longer the owner
    return false;
}

}  // namespace

bool begin_alone(descriptor& d) {
    if (d.algorithm->one_at_a_time || d.hooks != nullptr || ancestor_runs(d)) return false;
    // Checked here, too, because the wait below kills the running transactions.
    const bool is_stopped = (serial_token.load(std::memory_order_relaxed) & world_is_stopped) != 0;
    if (!is_stopped && !others_have_finished_handlers(d)) return false;
    attempt_reset(d);
    while (!try_become_alone(d)) continue;
    if (!d.serial_takes.handlers_were_finished) {
        drop_serial_token(d);
        attempt_close(d);  // wakes the contexts that wait until d is no longer the owner
        return false;
    }
    d.serial = true;
    d.mode = status::irrevocable;
    d.logging = true;
    d.slow_commit |= slow_commit_serial;
    d.algorithm->begin(d);
    return true;
}

void wait_for_serial_owner(descriptor& d) noexcept {
    const word token = serial_token.load(std::memory_order_acquire);
    if (descriptor* const owner = serial_owner_in(token)) wait_for_serial_owner(d, *owner, token);
}

void try_stop_the_world(descriptor& d) noexcept {
    if ((commit_flags.load(std::memory_order_relaxed) & flag_retry_waiters) != 0) return;
    mark_serial_frequent(d);
    const take_result how = try_serial_token(d);
    if (how == take_result::has_owner) return;
    order_begins(d, how);
    const bool is_biased = biased_owner.load(std::memory_order_seq_cst) != 0;  // as in try_become_alone
    // A transaction that seizes the token runs. So once no transaction runs, d still has the token, or the token has
    // passed to the next owner.
    const bool is_alone =
        !is_biased && (how == take_result::world_stopped || spin_while_they_run(d)) && serial_owner() == &d;
    if (is_alone && (how == take_result::world_stopped || others_have_finished_handlers(d))) {
        d.serial_takes.handlers_were_finished = true;
        end_serial(d);
    } else {
        drop_serial_token(d);
    }
    wake_sleepers(d);  // wakes the contexts that wait until d is no longer the owner
}

bool run_while_alone(descriptor& d, base::deadline until,
                     bool (*act)(descriptor& d, base::deadline until) noexcept) noexcept {
    return in_critical_region(d, [&] {
        const take_result how = try_serial_token(d);
        if (how == take_result::has_owner) return false;
        const word biased = biased_owner.load(std::memory_order_seq_cst);  // as in try_become_alone
        bool alone = biased == 0 || may_run_beside(d, biased);
        if (alone && how != take_result::world_stopped) {
            order_begins(d, how);
            alone = end_all_by(d, until);
        }
        // A transaction that seizes the token runs. So once no transaction runs, d still has the token, or the token
        // has passed to the next owner.
        alone = alone && serial_owner() == &d;
        bool done = false;
        if (alone) {
            done = act(d, until);
            end_serial(d);
        } else {
            drop_serial_token(d);
        }
        wake_sleepers(d);  // wakes the contexts that wait until d is no longer the owner
        return done;
    });
}

void become_serial(descriptor& d) noexcept {
    if (d.serial) return;
    d.serial = true;
    if (d.algorithm->one_at_a_time) return;
    const take_result how = seize_serial_token(d);
    // If d has seized the token from another context, that context may sleep for d. The sleeping context need not be
    // woken, because it would only wait for the serial owner again.
    (void)await_alone(d, how);  // no other context seizes the token from the owner of the irrevocable slot
}

bool yield_to_serial(descriptor& d) {
    // Inside another transaction, d need not wait. The transaction around d began before the serial owner checked which
    // transactions run, and has cleared the `stopped` bit. So the owner waits for that transaction, and does nothing
    // alone before both transactions have ended.
    if (injected(fault::begin_beside_a_serial_transaction) || ancestor_runs(d)) return true;
    // At this point, only a block of the language in a stopped world runs in hardware.
    leave_hardware(d, hardware_abort::software);
    for (;;) {
        std::atomic_thread_fence(std::memory_order_seq_cst);  // SER1
        // Acquire: makes the actions of the previous owner visible.
        const word token = serial_token.load(std::memory_order_acquire);
        if (descriptor* const owner = serial_owner_in(token)) {
            if (owner == &d) return true;
            if (!wait_idle(d, [&] { wait_for_serial_owner(d, *owner, token); })) return false;
            continue;
        }
        const word seen = biased_owner.load(std::memory_order_acquire);
        if (seen == 0 || may_run_beside(d, seen)) {
            if (token == 0 || begin_under(d, token)) return true;
            continue;
        }
        if (!wait_idle(d, [&] { revoke_bias(d, seen); })) return false;
    }
}

}  // namespace tutti::core
