// The concept `algorithm`: a method of concurrency control. The table entry `instance` makes an algorithm selectable at
// run time.
//
// An algorithm is a type with static members only; its state is in the descriptor and in its own globals. An algorithm
// does not depend on any API, policy or scheduler. When the algorithm finds a conflict with another transaction, it
// calls core/conflict/conflict.hpp. When the attempt must end, it calls core::attempt_abort. The operations, with their
// preconditions and duties:
//
//   begin(d)            Takes a snapshot, opens the inlined paths if it can, and keeps d.mode. The state says running
//                       already, so other contexts can see that d may have a snapshot. Under one_at_a_time, the state
//                       says running only after this step.
//   read(d, place)      Returns the value in the snapshot, or the value that d wrote. May extend the snapshot, wait, or
//                       abort.
//   write(d, place, v)  Writes v. May extend the snapshot, wait, or abort. Allocates all that it needs before it
//                       changes anything.
//   prepare(d)          Acquires the orecs that are missing, and validates. d has written something; the state says
//                       preparing. Returns none, or the reason to abort. After it, no step of the algorithm can fail.
//   publish(d)          Makes the writes visible and releases their orecs. An algorithm that privatizes by waiting
//                       calls announce_publication before the first of these steps. Its prepare calls announce_draw
//                       before it draws a version that other snapshots could contain before that version is published.
//   draw_again(d)       Gives d's writes a version that no earlier snapshot contains. Called between prepare and
//                       publish, when participants have decided. A participant that shows data of its own needs the new
//                       version. Otherwise a transaction could see the participant's earlier data and then d's writes,
//                       and would not notice. Does nothing if no snapshot can be ahead of the published versions.
//   end(d)              Commits a transaction that wrote nothing: releases everything else that it holds.
//   roll_back(d)        Releases every orec, lock and token of the algorithm. noexcept; idempotent; may run on another
//                       context when d is suspended.
//   roll_back_to_savepoint(d, mark)
//                       Does the same for the writes since `mark`. Reads stay, because the parent's path depends on
//                       them.
//   unchanged(d)        Returns true if all reads are still current. Used by retry, and by readers whose participants
//                       vote or whose at_commit actions run. The state says running.
//   become(d, s)        Switches a running attempt to visible or irrevocable. Returns false if the attempt has to start
//                       over in mode s. The slot is taken already, and the state says s.
//   refresh(d)          Moves the snapshot to now. If reads have changed it calls core::attempt_roll_back_to_valid,
//                       which rolls back partially or aborts.
//   load_outside(d, cell)
//                       Reads once outside any transaction, on the context of d.
#pragma once

#include <concepts>
#include <string_view>

#include "core/state/descriptor.hpp"
#include "tutti/hardware.hpp"

namespace tutti::core {

/// An algorithm may also have `A::begin_optimistic(d, logging)`. The runtime may call this function instead of A::begin
/// for an optimistic attempt with d.logging == logging.
///
/// An algorithm may also have `A::begin_snapshot(d)`, for an optimistic attempt that only reads and logs nothing. This
/// function announces a snapshot that writers then respect. If it cannot, it sets d.logging and does what A::begin
/// does.
template <class A>
concept algorithm = requires(descriptor& d, const memory::var_location& v, const memory::plain_location& p, word w,
                             const detail::savepoint& mark, const detail::cell& cell, status s) {
    { A::name } -> std::convertible_to<std::string_view>;
    { A::summary } -> std::convertible_to<std::string_view>;
    /// True if a commit that makes plain memory private has to wait, because other transactions may still access that
    /// memory.
    { A::privatizes_by_waiting } -> std::convertible_to<bool>;
    /// True if writes change memory at once, so that uninstrumented code sees them.
    { A::in_place } -> std::convertible_to<bool>;
    /// True if at most one transaction runs at a time.
    { A::one_at_a_time } -> std::convertible_to<bool>;
    /// The number of the lowest bit that orders commits, both in a version and in a snapshot bound.
    { A::first_version_bit } -> std::convertible_to<int>;
    { A::begin(d) } -> std::same_as<void>;
    { A::read(d, v) } -> std::same_as<word>;
    { A::read(d, p) } -> std::same_as<word>;
    { A::write(d, v, w) } -> std::same_as<void>;
    { A::write(d, p, w) } -> std::same_as<void>;
    { A::prepare(d) } -> std::same_as<abort_cause>;
    { A::draw_again(d) } noexcept -> std::same_as<void>;
    { A::publish(d) } noexcept -> std::same_as<void>;
    { A::end(d) } noexcept -> std::same_as<void>;
    { A::roll_back(d) } noexcept -> std::same_as<void>;
    { A::roll_back_to_savepoint(d, mark) } noexcept -> std::same_as<void>;
    { A::unchanged(d) } -> std::same_as<bool>;
    { A::become(d, s) } -> std::same_as<bool>;
    { A::refresh(d) } -> std::same_as<void>;
    { A::load_outside(d, cell) } -> std::same_as<word>;
};

/// One selectable algorithm: the operations that barriers call (in the base class), and the operations that the runtime
/// calls.
struct instance : detail::operations {
    void (*begin)(descriptor&);           // begins an attempt whose mode core/lifecycle/execution.cpp has set
    void (*begin_snapshot)(descriptor&);  // the same with a snapshot; null if the algorithm has none
    // The counterpart of `open` for a block of the language.
    void (*open_plainly)(tx& t, detail::frame& f, detail::call_site where, const options& how);
    std::string_view name;
    std::string_view summary;
    const instance* preemptable;  // the same algorithm with critical regions
    bool privatizes_by_waiting;
    bool in_place;
    bool one_at_a_time;
    int first_version_bit;
    // Ends a hardware attempt of this algorithm or of a block of the language. The block then runs in software. Null
    // for an algorithm without hardware attempts.
    void (*leave_hardware)(descriptor&, hardware_abort);
    // Returns true if this machine has the features that the algorithm needs. Null if it needs none.
    bool (*is_served)() noexcept;
    void (*roll_back)(descriptor&) noexcept;
    void (*roll_back_to_savepoint)(descriptor&, const detail::savepoint&) noexcept;
    bool (*unchanged)(descriptor&);
    bool (*become)(descriptor&, status);
    void (*refresh)(descriptor&);
    word (*load_outside)(descriptor&, const detail::cell&);
    // Starts the clock anew, unless a transaction prevents that. Called after a commit that has raised
    // slow_commit_late_clock, when the descriptor is idle. Null if the algorithm has no such clock, or if its next
    // begin starts the clock anew.
    void (*renew_clock)(descriptor&) noexcept;
};

/// Prepares d for an action that hardware cannot do. If d runs in hardware, d starts over in software, and this call
/// does not return. If the call returns, the action is allowed.
inline void leave_hardware(descriptor& d, hardware_abort why) {
    if (d.algorithm_data.hardware.runs_in == hardware_state::run_mode::hardware) [[unlikely]]
        d.algorithm->leave_hardware(d, why);
}

/// Returns the instance that new descriptors get.
[[nodiscard]] const instance& chosen_instance() noexcept;

}  // namespace tutti::core
