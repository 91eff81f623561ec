// Finds which transaction conflicted with an attempt, for reports that show a user which two blocks conflict. The
// results are hints, and no decision depends on them. The other descriptor may have begun another transaction since.
// Descriptors whose numbers are 4096 apart share an entry for killers, and a later killer overwrites an earlier one.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

void note_kill(const descriptor& victim, const descriptor& killer) noexcept;

/// Returns the descriptor that conflicted with the attempt of `d` that ended, or is about to end, for `cause`. Returns
/// null if no other descriptor caused the end, or if the cause is not known. REQUIRES: d belongs to the caller and has
/// not begun another attempt.
[[nodiscard]] const descriptor* conflicting_descriptor(const descriptor& d, abort_cause cause) noexcept;

}  // namespace tutti::core
