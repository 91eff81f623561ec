// One transaction at a time: `serial` and `global-lock`, the baselines. They differ in the lock or token that a
// transaction acquires first.
//
//   serial       the irrevocable slot, so that no other transaction can abort it
//   global-lock  a lock
//
// Writes go to memory under locked orecs with an undo log, although no other transaction runs. The orecs are needed
// because accesses outside transactions read orecs, and `retry` waits until an orec changes. The log is needed because
// an exception or a cancel rolls back the writes.
#pragma once

#include "algorithms/undo.hpp"
#include "core/lifecycle/interrupt.hpp"
#include "core/state/attempt.hpp"
#include "core/tokens/serial_token.hpp"
#include "core/tokens/slots.hpp"

namespace tutti::algorithms {

/// `Token::acquire(d)` waits, and fails only if the execution of d has to end here; `Token::release(d)` is idempotent.
template <class Token>
struct exclusive {
    static constexpr std::string_view name = Token::name;
    static constexpr std::string_view summary = Token::summary;
    static constexpr bool privatizes_by_waiting = false;
    static constexpr bool in_place = true;
    static constexpr bool one_at_a_time = true;
    static constexpr int first_version_bit = memory::writer_bits;

    static void begin(descriptor& d) {
        {
            const core::interruptible_wait interruptible{d};
            if (!Token::acquire(d)) core::execution_interrupt(d);
        }
        if (version_clock::is_late()) [[unlikely]]
            version_clock::start_era();  // no other transaction runs, and no version is announced or awaited
        d.snapshot_bound = version_clock::sample(d);
        d.inlined = false;
        d.close_bounds();
    }

    template <class Location>
    static word read(descriptor& d, const Location& location) {
        if (d.logging) log_for_retry(d, location.orec());
        return location.read();
    }

    template <class Location>
    static void write(descriptor& d, const Location& location, word value) {
        memory::orec& r = location.orec();
        const word there = r.load(std::memory_order_relaxed);
        if (d.owns(there)) return undo::write_owned(d, location, there, value);
        d.writes.reserve_one();
        // seq_cst, as is the draw that follows: see version_clock.hpp, 1. No other transaction stores orecs.
        r.store(d.self_lock | d.writes.size(), std::memory_order_seq_cst);
        undo::write_taken(d, location, {memory::version_of(there), false}, value);
    }

    static abort_cause prepare(descriptor& d) noexcept {
        d.algorithm_data.commit_version = version_clock::draw(d).version;
        return abort_cause::none;
    }
    static void publish(descriptor& d) noexcept {
        undo::publish(d);
        end(d);
    }
    static void end(descriptor& d) noexcept { Token::release(d); }
    static void roll_back(descriptor& d) noexcept {
        undo::roll_back(d);
        Token::release(d);
    }
    static void roll_back_to_savepoint(descriptor& d, const detail::savepoint& mark) noexcept {
        undo::roll_back_to_savepoint(d, mark);
    }

    static void draw_again(descriptor&) noexcept {}
    static bool unchanged(descriptor& d) noexcept { return time_based::validate(d); }
    static bool become(descriptor&, memory::status) noexcept { return true; }
    static void refresh(descriptor&) noexcept {}
    static word load_outside(descriptor& d, const detail::cell& cell) noexcept {
        return time_based::load_outside<in_place>(d, cell);
    }

private:
    /// Logs a read. `unchanged` compares orecs with the snapshot bound, so the bound has to reach the versions that
    /// were read. No other transaction commits meanwhile.
    static void log_for_retry(descriptor& d, memory::orec& r) {
        for (;;) {
            const word seen = r.load(std::memory_order_acquire);
            if (d.owns(seen)) return;  // its own write, which no other transaction can change
            if (!memory::is_version(seen) || seen <= d.snapshot_bound) break;
            version_clock::advance_to(r, seen);
            d.snapshot_bound = version_clock::sample(d);
        }
        d.log_read(r);
    }
};

struct irrevocable_token {
    static constexpr std::string_view name = "serial";
    static constexpr std::string_view summary = "every transaction irrevocable, one at a time";

    [[nodiscard]] static bool acquire(descriptor& d) noexcept {
        if (d.slot == core::irrevocable_slot) return true;
        // A visible reader does not need its slot, because no other transaction runs.
        if (d.strict()) core::release_tokens(d);
        if (!core::wait_for_slot(d, memory::status::irrevocable)) return false;
        d.slow_commit |= core::slow_commit_strict;
        return true;
    }
    static void release(descriptor&) noexcept {}  // the runtime releases the token together with the slot
};

struct global_lock_token {
    static constexpr std::string_view name = "global-lock";
    static constexpr std::string_view summary = "one lock around every transaction, for comparison";

    [[nodiscard]] static bool acquire(descriptor& d) noexcept {
        while (!lock_.acquire(base::recheck_deadline(std::nullopt))) {
            if (core::is_interrupted_before_attempt(d)) return false;
        }
        d.algorithm_data.holds_lock = true;
        return true;
    }
    static void release(descriptor& d) noexcept {
        if (!d.algorithm_data.holds_lock) return;
        d.algorithm_data.holds_lock = false;
        lock_.unlock();
    }

private:
    static inline constinit base::lock lock_;
};

using serial = exclusive<irrevocable_token>;
using global_lock = exclusive<global_lock_token>;

}  // namespace tutti::algorithms
