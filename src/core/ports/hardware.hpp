// The port of hardware transactions: the operations of the processor that an algorithm uses, and the reasons why an
// attempt ends.
//
// The processor keeps the reads and writes of a hardware attempt apart from those of all other contexts. The writes
// become visible in one step, or not at all. The engine uses hardware for a whole attempt (algorithms/hybrid.hpp). Two
// types model the concept `hardware`: hardware/rtm.hpp uses the processor, and hardware/software_htm.hpp replaces the
// processor in tests.
//
//   exists()             Returns true if this machine has hardware transactions, which all other operations require.
//   begin(d)             Returns true when d runs in hardware. Returns false if an attempt has ended, or does not
//                        begin; all stores after the `begin` of that attempt are then undone.
//   read(d, place)       Returns the value in memory. Ends the attempt if the read is in conflict.
//   watch(d, word)       Does the same for a word of the engine. A store to it by another context ends the attempt.
//   commit(d, last)      Calls `last`, which does the final stores, or returns why the commit must not happen. Returns
//                        true if all values that the attempt has read are current at the one instant at which all its
//                        stores become visible.
//   leave(d)             Ends the attempt, of which only the stores to d itself remain. noexcept; the values that the
//                        attempt has read are consistent.
//   abort(d, why)        Ends the attempt and does not return.
//   refresh(d)           Checks that the values read so far are current; otherwise ends the attempt.
//
// When a running attempt ends without a commit, the processor jumps back to `begin`, which returns a second time. All
// memory and registers of the context are then as they were at the first return, so nothing needs to be undone. In
// contrast, hardware/software_htm.hpp rolls back and restarts like every software attempt (core::attempt_abort). Its
// `commit` does not restart but returns false, because the caller of `commit` may be code that no exception may leave.
// Code that uses the port must be correct with both types. Both types call hardware::record_abort.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/state/descriptor.hpp"
#include "tutti/hardware.hpp"

namespace tutti::core {

/// Returns the reason why a commit must not happen, or nullopt.
using hardware_verdict = std::optional<hardware_abort>;

template <class H>
concept hardware = requires(descriptor& d, const memory::var_location& v, const memory::plain_location& p,
                            const detail::shared<word>& w, hardware_abort why, hardware_verdict (*last)()) {
    { H::exists() } noexcept -> std::same_as<bool>;
    { H::begin(d) } -> std::same_as<bool>;
    { H::read(d, v) } -> std::same_as<word>;
    { H::read(d, p) } -> std::same_as<word>;
    { H::watch(d, w) } -> std::same_as<word>;
    { H::commit(d, last) } -> std::same_as<bool>;
    { H::leave(d) } noexcept -> std::same_as<void>;
    { H::abort(d, why) } -> std::same_as<void>;
    { H::refresh(d) } -> std::same_as<void>;
};

}  // namespace tutti::core
