// hytm and htm: a block runs in a hardware transaction, or in software if its hardware attempts fail.
//
// The software half is NOrec (norec.hpp), because NOrec shares only one word with hardware attempts. With an orec for
// each variable, every variable would take two cache lines of the hardware's read set instead of one. Storing versions
// in orecs at the commit would add another line to the hardware's write set. Lines matter because hardware attempts
// fail for lack of capacity. Dalessandro, Carouge, White, Lev, Moir, Scott, Spear: "Hybrid NOrec: A Case Study in the
// Effectiveness of Best Effort Hardware Transactional Memory", ASPLOS 2011. This is the paper's variant with two
// locations: all hardware commits read the first location, and would end each other if they also wrote it.
//
//   sequence            locked by a software commit while it writes back (norec.hpp)
//   hardware_commits    the number of commits in hardware
//
//   hardware attempt    begin; watch the sequence: locked? abort. Reads are loads; writes wait in the write set, as in
//                       software. Commit: a slot is taken? abort; hardware_commits + 1; store the values; end
//   software attempt    as in norec.hpp, where "the sequence" is the sum of both
//   software commit     lock the sequence; have hardware commits been counted since the snapshot? unlock, revalidate
//
// An execution stops using hardware after max_hardware_attempts failed attempts, or earlier if another try would fail
// as well. If hardware attempts of a block have often failed, an execution may skip the hardware attempts
// (core/state/hardware_history.hpp). The two algorithms differ in what follows. Under `hytm` the block runs as any
// optimistic transaction of NOrec, at the same time as other software and hardware transactions. Under `htm` the block
// becomes irrevocable at its first access, so only one such block runs at a time, and no transaction commits beside it.
//
// A hardware attempt begins at the first access of the block, not when the block begins. By then the context's state
// says that a transaction runs, because other contexts could not see a state that was stored in hardware. So everything
// that waits for transactions (reclamation, serial-irrevocable transactions, quiescence) sees hardware attempts in the
// same way as software attempts. If an exception, a cancel or a restart leaves the block, the block ends its hardware
// attempt (`leave`) while all its writes are still in the write set, and continues in software. So all kinds of nesting
// work in hardware, too. A block that needs a log of the reads, a vote, an undo, or a transaction inside the
// transaction runs in software from the beginning: core::leave_hardware.
//
// Why it is opaque. Hardware guarantees that the values an attempt has read are current at each of its instructions,
// and that all its stores take effect at one instant, its end.
//   1  A hardware attempt sees no part of a software commit. It found the sequence unlocked and watches it, so any
//      software commit that stores something afterwards ends the attempt.
//   2  A hardware attempt sees all or nothing of a hardware commit, because that commit is one step. So all reads of
//      the attempt belong to one instant: its commit if it writes, or its last read.
//   3  While a software commit holds the sequence, no hardware attempt commits: an attempt that watched the sequence
//      has ended, and an attempt that begins finds the sequence locked.
//   4  A software attempt accepts a value only while the sum is that of its snapshot. So no commit of either kind has
//      taken effect between its snapshot and this check of the sum (norec.hpp, at the top), because a hardware commit
//      counts itself in the step in which it stores.
//   5  A software commit takes the lock at the sequence of its snapshot. By 3 the count of hardware commits does not
//      change under the lock, where the commit reads it. So all reads of the software commit are current when it writes
//      back.
//   6  Visible and irrevocable transactions: a hardware commit finds their slot taken, in the step in which it commits,
//      and ends without effect. If they take the slot later, the snapshot that they take after that (norec.hpp)
//      contains the commit. A hardware attempt that only reads need not check slots.
//   7  Serial-irrevocable transactions wait for all running transactions, including those in hardware. Later
//      transactions wait for the serial owner at their begin. Hardware attempts also watch the serial token, so that
//      taking the token ends them immediately and shortens the wait.
//   8  Kills: the kill request is a store to a word that the attempt reads in each barrier, or reads in its commit.
//   9  Privatization by a software commit: by 1 it has ended all hardware attempts when it publishes. By a hardware
//      commit: its announcement (core/privatization/quiescence.hpp) is part of the step, and its context is in the
//      quiescence set. A reader of the published values has a snapshot whose sum includes this commit, and so finds the
//      announcement.
#pragma once

#include "algorithms/norec.hpp"
#include "core/modes/mode_switch.hpp"
#include "core/tokens/serial_token.hpp"
#include "hardware/aborts.hpp"
#include "hardware/selected.hpp"

namespace tutti::algorithms {

/// The count of hardware commits, which software transactions read. All hybrids share one count; a process uses one
/// hybrid.
struct hardware_commits {
    static constexpr bool has_hardware = true;
    static word commits() noexcept { return count_.value.load(std::memory_order_seq_cst); }
    /// REQUIRES: called in a hardware attempt.
    static void count_one(word one) noexcept {
        count_.value.store(count_.value.load(std::memory_order_relaxed) + one, std::memory_order_relaxed);
    }

private:
    struct alignas(128) cache_line {
        detail::shared<word> value;
    };
    static inline constinit cache_line count_{};
};

/// `Kind` has the name and the summary; `falls_back_to_irrevocable` says whether a block becomes irrevocable after its
/// hardware attempts have failed.
template <class Kind, core::hardware H>
struct hybrid {
    using software = norec_beside<hardware_commits>;

    static constexpr std::string_view name = Kind::name;
    static constexpr std::string_view summary = Kind::summary;
    static constexpr bool privatizes_by_waiting = software::privatizes_by_waiting;
    static constexpr bool in_place = false;
    static constexpr bool one_at_a_time = false;
    static constexpr int first_version_bit = software::first_version_bit;

    [[nodiscard]] static bool is_served() noexcept { return H::exists(); }

    static void begin(descriptor& d) noexcept {
        if (d.run.attempt == 1) {
            d.algorithm_data.hardware.tries_left = hardware::max_hardware_attempts;
            d.algorithm_data.hardware.trial = {};
        }
        if (!may_run_in_hardware(d)) {
            d.algorithm_data.hardware.runs_in = run_mode::software;
            return software::begin(d);
        }
        d.algorithm_data.hardware.runs_in = run_mode::undecided;
        d.algorithm_data.values.clear();
        d.inlined = false;
        d.close_bounds();
    }

    template <class Location>
    static word read(descriptor& d, const Location& at) {
        if (d.algorithm_data.hardware.runs_in == run_mode::undecided) decide(d);
        if (!in_hardware(d)) return software::read(d, at);
        return redo::read_indexed(d, at, [&] { return H::read(d, at); });
    }

    template <class Location>
    static void write(descriptor& d, const Location& at, word value) {
        if (d.algorithm_data.hardware.runs_in == run_mode::undecided) decide(d);
        redo::write_indexed(d, at, value);
    }

    static abort_cause prepare(descriptor& d) {
        if (!in_hardware(d)) return software::prepare(d);
        if (injected(fault::replay_before_commit)) replay(d);
        return H::commit(d, [&d] { return store(d); }) ? abort_cause::none : abort_cause::hardware;
    }

    static void publish(descriptor& d) noexcept {
        if (!in_hardware(d)) return software::publish(d);
        d.algorithm_data.index.clear();
        close(d);
    }

    static void end(descriptor& d) noexcept {
        if (!in_hardware(d)) return;
        // If this context later waits for memory that it has received, its snapshot must contain all commits that it
        // can have seen.
        if (core::plain_memory_is_used()) d.snapshot_bound = software::now(std::memory_order_relaxed);
        H::leave(d);
        close(d);
    }

    static void roll_back(descriptor& d) noexcept {
        if (in_hardware(d)) H::leave(d);
        d.algorithm_data.hardware.runs_in = run_mode::software;
        software::roll_back(d);
    }
    static void roll_back_to_savepoint(descriptor& d, const detail::savepoint& mark) noexcept {
        software::roll_back_to_savepoint(d, mark);
    }
    static void draw_again(descriptor&) noexcept {}

    static bool unchanged(descriptor& d) {
        return d.algorithm_data.hardware.runs_in != run_mode::software || software::unchanged(d);
    }
    static bool become(descriptor& d, memory::status s) {
        if (in_hardware(d)) return false;
        if (d.algorithm_data.hardware.runs_in == run_mode::undecided) take_software_snapshot(d);
        return software::become(d, s);
    }
    static void refresh(descriptor& d) {
        switch (d.algorithm_data.hardware.runs_in) {
            case run_mode::undecided: return;  // the attempt has no snapshot yet
            case run_mode::hardware: return H::refresh(d);
            case run_mode::software: return software::refresh(d);
        }
    }
    static word load_outside(descriptor& d, const detail::cell& cell) noexcept {
        return software::load_outside(d, cell);
    }

    /// core::leave_hardware.
    static void leave_hardware(descriptor& d, hardware_abort why) { H::abort(d, why); }

private:
    using run_mode = core::hardware_state::run_mode;
    using fault = core::fault;
    static bool injected(fault f) noexcept { return core::injected(f); }

    static bool in_hardware(const descriptor& d) noexcept {
        return d.algorithm_data.hardware.runs_in == run_mode::hardware;
    }

    /// Flags of the work that a hardware attempt could not execute at its end.
    static constexpr std::uint32_t software_only = core::slow_commit_handlers | core::slow_commit_resources;

    /// Returns true if d may run in hardware. Excludes a context that can be preempted: a switch ends every hardware
    /// attempt, and a context that evicts d must be able to roll it back. Excludes a transaction inside another one,
    /// and an undo. Excludes an attempt with handlers, which may have to vote.
    static bool may_run_in_hardware(const descriptor& d) noexcept {
        return d.algorithm_data.hardware.tries_left != 0 && d.mode == memory::status::active && !d.serial &&
               !d.run.log_reads && d.hooks == nullptr && d.outer == nullptr && !d.running_undo &&
               d.frame_->receive == nullptr && (d.slow_commit & software_only) == 0 && H::exists();
    }

    /// Decides at the first access whether the attempt runs in hardware.
    TUTTI_NOINLINE static void decide(descriptor& d) {
        core::hardware_state& h = d.algorithm_data.hardware;
        // Whether to try hardware is decided once for each execution. Later attempts notice this, because each try
        // decrements tries_left.
        const bool has_tried = h.tries_left != hardware::max_hardware_attempts;
        if (!has_tried && !hardware::tries_hardware(d)) h.tries_left = 0;
        while (h.tries_left != 0 && (d.slow_commit & software_only) == 0) {
            --h.tries_left;
            core::attempt_abort_if_doomed(d);
            if (core::plain_memory_is_used() && !core::in_quiescence_set(d)) core::join_quiescence_set(d);
            static_cast<void>(software::stable(d));  // a software commit in progress would immediately end the attempt
            const bool is_locked = (software::sequence().load(std::memory_order_acquire) & software::held) != 0;
            if (H::begin(d)) {
                h.runs_in = run_mode::hardware;
                // The attempt starts without handlers; if it fails, the hardware also undoes the registration of its
                // own handlers (core/rollback/deferred.cpp).
                d.logging = false;  // so that code that needs a log of the reads requests one: core::need_current_reads
                if (injected(fault::subscribe_before_begin)) {
                    if (is_locked) H::abort(d, hardware_abort::busy);
                } else if (!injected(fault::hardware_without_subscription)) {
                    subscribe(d);
                }
                return;
            }
        }
        take_software_snapshot(d);
        if constexpr (Kind::falls_back_to_irrevocable) become_irrevocable(d);
    }

    static void subscribe(descriptor& d) {
        if ((H::watch(d, software::sequence()) & software::held) != 0) H::abort(d, hardware_abort::busy);
        const descriptor* const alone = core::serial_owner_in(H::watch(d, core::serial_token));
        if (alone != nullptr && alone != &d) H::abort(d, hardware_abort::busy);
    }

    static void take_software_snapshot(descriptor& d) noexcept {
        d.algorithm_data.hardware.runs_in = run_mode::software;
        d.snapshot_bound = software::stable(d);
    }

    static void become_irrevocable(descriptor& d) {
        if (d.hooks != nullptr || d.outer != nullptr || d.running_undo || d.mode != memory::status::active) return;
        constexpr const char* reason = "hardware transactions failed";
        d.run.irrevocable_only_to_commit = true;
        d.run.irrevocable_reason = reason;
        core::become_strict(d, memory::status::irrevocable, abort_cause::irrevocable_switch);
        if ((d.slow_commit & core::slow_commit_counting) != 0) d.counters.count_irrevocable(d.run.block(), reason);
    }

    /// Executes the last steps of a hardware attempt that writes. The hardware makes them one atomic step.
    static core::hardware_verdict store(descriptor& d) noexcept {
        if (!injected(fault::ignore_visible_readers) && core::any_occupant()) return hardware_abort::strict;
        // The process has begun to use plain memory during this attempt. Joining the quiescence set needs a lock that
        // this attempt cannot acquire, so the next try joins the set.
        if (core::plain_memory_is_used() && !core::in_quiescence_set(d)) return hardware_abort::busy;
        if (!injected(fault::commit_uncounted)) hardware_commits::count_one(software::one_commit);
        d.snapshot_bound = software::now(std::memory_order_relaxed);
        core::announce_publication(d, d.snapshot_bound, first_version_bit);
        redo::store_values(d);
        return std::nullopt;
    }

    /// Records that the hardware attempt has committed.
    static void close(descriptor& d) noexcept {
        d.algorithm_data.hardware.runs_in = run_mode::software;
        hardware::record_commit(d);
    }

    static void replay(descriptor& d) {
        for (const core::deferred& e : d.deferred_log) {
            if (e.what == core::deferred::kind::on_commit)
                static_cast<detail::handler*>(e.object)->run(d, abort_cause::none);
        }
    }
};

struct hytm_kind {
    static constexpr std::string_view name = "hytm";
    static constexpr std::string_view summary = "hardware transactions beside norec";
    static constexpr bool falls_back_to_irrevocable = false;
};
struct htm_kind {
    static constexpr std::string_view name = "htm";
    static constexpr std::string_view summary = "hardware transactions; a block that fails there runs irrevocably";
    static constexpr bool falls_back_to_irrevocable = true;
};

using hytm = hybrid<hytm_kind, hardware::selected>;
using htm = hybrid<htm_kind, hardware::selected>;

}  // namespace tutti::algorithms
