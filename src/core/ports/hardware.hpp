// The port of hardware transactions: what an algorithm asks of the processor, and why the processor gives up.
//
// A hardware attempt is one whose reads and writes the processor keeps apart from all others, and makes visible as one
// step or not at all. The engine uses it for a whole attempt (algorithms/hybrid.hpp). Two types model the concept
// `hardware`: hardware/rtm.hpp is the processor's, hardware/software_htm.hpp stands in for it in tests.
//
//   exists()             whether this machine has it. The others may be called only then.
//   begin(d)             true: from here on d runs in hardware. False: an attempt has ended, or does not begin; all
//                        that was stored after the `begin` of that attempt is undone.
//   read(d, place)       what is in memory. Ends the attempt where it is in conflict.
//   watch(d, word)       the same for a word of the engine's: a store to it by another context ends the attempt.
//   commit(d, last)      calls `last`, which stores what is to be seen, or says why that must not happen. True: all
//                        that the attempt has read is current at the one instant at which all that it stored is seen.
//   leave(d)             ends the attempt, of which nothing is to be seen but what lies in d itself. noexcept; what the
//                        attempt has read is consistent.
//   abort(d, why)        does not return.
//   refresh(d)           what the attempt has read is current, or it ends here.
//
// How an attempt ends that has begun: a processor goes back to `begin`, which returns a second time, with all memory
// and all registers of the context as they were then; so nothing needs to be undone. The stand-in rolls back and
// restarts as every software attempt (core::attempt_abort); from `commit`, which may be called by code that must not be
// left, it returns false. Code that uses the port must be right under both. Both call hardware::note_abort.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/state/descriptor.hpp"
#include "tutti/hardware.hpp"

namespace tutti::core {

/// Why a commit must not happen, or nothing.
using hardware_verdict = std::optional<hardware_abort>;

template <class H>
concept hardware = requires(descriptor& d, const memory::var_place& v, const memory::plain_place& p,
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
