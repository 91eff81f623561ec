// What a context does when a hardware attempt of a library block has ended.
#pragma once

#include "core/state/descriptor.hpp"
#include "tutti/hardware.hpp"

namespace tutti::hardware {

/// The number of attempts that one execution makes in hardware before it runs in software.
inline constexpr std::uint8_t max_hardware_attempts = 8;

/// Returns the key by which the hardware_history of d finds d's block. Calls of `atomically` from several places share
/// a slot if their functions have the same type. So the key also contains the line, which differs for most of these
/// calls.
[[nodiscard]] inline core::hardware_history::key block_of(const core::descriptor& d) noexcept {
    const detail::call_site& where = d.run.where;
    return reinterpret_cast<std::uintptr_t>(where.slot) ^ std::uintptr_t{where.at.line()} << 48;
}

/// Returns true if d's execution is to try hardware at its first access. REQUIRES: called once for each execution.
[[nodiscard]] inline bool tries_hardware(core::descriptor& d) noexcept {
    return d.algorithm_data.hardware.history.tries_hardware(block_of(d));
}

/// Records that a hardware attempt of d has ended for the reason `why`, and counts the end. Drops the execution's
/// remaining tries if they would end for the same reason. If the block itself is the cause, records the block in the
/// context's history. REQUIRES: no hardware attempt runs; otherwise the stores of this function would be lost.
void record_abort(core::descriptor& d, hardware_abort why) noexcept;
/// Records that an attempt of d has committed in hardware.
inline void record_commit(core::descriptor& d) noexcept {
    d.algorithm_data.hardware.history.note_commit(block_of(d));
    if ((d.slow_commit & core::slow_commit_counting) != 0) d.counters.count_hardware_commit(d.run.block());
}

}  // namespace tutti::hardware
