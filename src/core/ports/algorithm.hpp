// The concept `algorithm`: a concurrency control, and the table entry that makes it selectable at run time.
//
// An algorithm is a type with static members only; its state is in the descriptor and in its own globals. It knows no
// API, no policy and no scheduler: where it meets another transaction it calls core/conflict/conflict.hpp, where it
// must give up it calls core::attempt_abort. What each operation is told and owes:
//
//   begin(d)            the state says running, so a snapshot that it takes is seen as one; under one_at_a_time it does
//                       not yet. Takes a snapshot, opens the inlined paths if it can, keeps d.mode.
//   read(d, place)      the value in the snapshot, or what d wrote. May extend the snapshot, wait, or abort.
//   write(d, place, v)  likewise. Everything it needs to allocate, it allocates before it changes anything.
//   prepare(d)          d wrote something; the state says preparing. Acquires what is missing and validates:
//                       none, or why it must abort. After it no step of the algorithm can fail.
//   publish(d)          makes the writes visible and releases their orecs. If it privatizes by waiting, it calls
//                       announce_publication before the first of them; and prepare calls announce_draw before it draws
//                       a version that others could have in their snapshot before it is published.
//   draw_again(d)       between prepare and publish, when participants have decided: d's writes get a version that no
//                       snapshot holds which was taken before. A participant that shows data of its own needs that:
//                       otherwise a transaction could see its earlier data, and then d's writes, and nobody would be
//                       told. Nothing to do where no snapshot can be ahead of what is published.
//   end(d)              commit of a transaction that wrote nothing: gives up whatever else it holds.
//   roll_back(d)        gives back every orec, lock and token of the algorithm's. noexcept; idempotent; may run on
//                       another context when d is suspended.
//   rewind(d, mark)     the same for what was written since `mark`. Reads stay: the parent's path depends on them.
//   unchanged(d)        whether all reads are still current, for retry and for readers whose participants vote or whose
//                       at_commit actions run. The state says running.
//   become(d, s)        switches a running attempt to visible or irrevocable; false if it has to start over as such.
//                       The slot is taken and the state says s.
//   refresh(d)          moves the snapshot to now. Where reads have changed it calls core::attempt_rewind,
//                       which finds the way back or aborts.
//   load_outside(d, cell)  one read outside any transaction, on the context of d.
#pragma once

#include <concepts>
#include <string_view>

#include "core/state/descriptor.hpp"
#include "tutti/hardware.hpp"

namespace tutti::core {

template <class A>
concept algorithm = requires(descriptor& d, const memory::var_place& v, const memory::plain_place& p, word w,
                             const detail::savepoint& mark, const detail::cell& cell, status s) {
    { A::name } -> std::convertible_to<std::string_view>;
    { A::summary } -> std::convertible_to<std::string_view>;
    /// Whether plain memory made private by a commit may still be touched by others when it returns.
    { A::privatizes_by_waiting } -> std::convertible_to<bool>;
    /// Whether writes go to memory at once, so that code which is not instrumented sees them.
    { A::in_place } -> std::convertible_to<bool>;
    /// Whether no two transactions run at once.
    { A::one_at_a_time } -> std::convertible_to<bool>;
    /// The lowest bit of a version, and of a snapshot's bound, that orders commits.
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
    { A::rewind(d, mark) } noexcept -> std::same_as<void>;
    { A::unchanged(d) } -> std::same_as<bool>;
    { A::become(d, s) } -> std::same_as<bool>;
    { A::refresh(d) } -> std::same_as<void>;
    { A::load_outside(d, cell) } -> std::same_as<word>;
};

/// One selectable algorithm: what the barriers call (the base) and what the runtime calls.
struct instance : detail::operations {
    void (*begin)(descriptor&);  // an attempt; core/lifecycle/execution.cpp has set the mode
    // As `open`, for a block of the language.
    void (*open_plainly)(tx& t, detail::frame& f, detail::call_site where, const options& how);
    std::string_view name;
    std::string_view summary;
    const instance* preemptable;  // the same with critical regions
    bool privatizes_by_waiting;
    bool in_place;
    bool one_at_a_time;
    int first_version_bit;
    // Ends a hardware attempt, of its own or of a block of the language, which then runs in software. Null where there
    // are none.
    void (*leave_hardware)(descriptor&, hardware_abort);
    // Whether this machine has what it needs. Null where it needs nothing.
    bool (*is_served)() noexcept;
    void (*roll_back)(descriptor&) noexcept;
    void (*rewind)(descriptor&, const detail::savepoint&) noexcept;
    bool (*unchanged)(descriptor&);
    bool (*become)(descriptor&, status);
    void (*refresh)(descriptor&);
    word (*load_outside)(descriptor&, const detail::cell&);
    // After a commit that has raised slow_commit_late_clock: starts the clock anew if no transaction is in the way.
    // The descriptor is idle. Null where there is no such clock, or where the next begin does so.
    void (*renew_clock)(descriptor&) noexcept;
};

/// d is about to do what cannot be done in hardware: if it runs there it starts over in software, and this does not
/// return. What it does next may then be done.
inline void leave_hardware(descriptor& d, hardware_abort why) {
    if (d.kept.hardware.runs_in == hardware_state::place::hardware) [[unlikely]]
        d.algorithm->leave_hardware(d, why);
}

/// The instance that new descriptors get.
[[nodiscard]] const instance& chosen_instance() noexcept;

}  // namespace tutti::core
